//! What the agent is told of the policy: all of it that concerns its calls, true to the letter, and nothing else.

use serde_json::{Value, json};

use crate::harness::{
    project::Project,
    schema::faults,
    server::{Reply, Server, Setup},
    wire::{LEGACY, MODERN, Wire, initialize},
};

fn told(server: &Server) -> Reply {
    let reply = server.call("get_policy", json!({}));
    assert!(!reply.is_error, "{}", reply.text);
    reply
}

fn strings<'reply>(reply: &'reply Reply, pointer: &str) -> Vec<&'reply str> {
    let list = reply.at(pointer).as_array().map(Vec::as_slice).unwrap_or_default();
    list.iter().map(|item| item.as_str().unwrap()).collect()
}

/// What a client is told when it connects.
fn instructions(setup: &Setup) -> String {
    let opened = Wire::silent(setup).ask("initialize", initialize(LEGACY[0]));
    opened["result"]["instructions"].as_str().unwrap().to_owned()
}

/// A project with directories to be allowed and denied; there is no Playwright, so an allowed run ends at its look-up.
fn project() -> Project {
    Project::empty().file("shop/x", "").file("shop/private/x", "").file("admin/x", "").file("secret/x", "")
}

/// A policy of a file, narrowed by the environment.
fn layered(project: &Project) -> Setup {
    let allowed = format!("{}:/usr/share", project.at("shop").display());
    Setup::in_directory(project.path())
        .policy(
            "dirs.allow = ['.', '/usr/lib']
             dirs.deny = ['*/private', '/usr/lib/secret', '/opt/of-bob']
             tools.allow = ['run_tests', 'get_policy']
             [run]
             headed = true
             update_snapshots = false
             projects = ['chromium', 'Mobile ?hrome']
             [env]
             allow = ['ENV', 'BASE_URL', 'X_*', 'NODE_OPTIONS', 'Y_?']
             values = { ENV = ['qa', 'staging', '/etc/profile'], X_1 = ['one'], Z = ['z'] }
             [limits]
             run_seconds = 60
             workers = 2
             retries = 1",
        )
        .variable("PW_ALLOWED_DIRS", &allowed)
        .variable("PW_ALLOWED_ENV", "ENV,X_1,Y_1,BASE_URL,OTHER")
}

fn is_allowed(reply: &Reply) -> bool {
    assert!(reply.is_error, "nothing here can really be run or read: {}", reply.text);
    reply.at("/code") != "policy_denied"
}

#[test]
fn the_default_policy_is_told_in_few_words() {
    let project = project();
    let reply = told(&Server::start(project.path()));
    assert!(reply.text.len() < 1_000, "{} bytes", reply.text.len());
    let text = reply.text.replace(project.path().to_str().unwrap(), "[PROJECT]");
    insta::assert_json_snapshot!(serde_json::from_str::<Value>(&text).unwrap());
}

#[test]
fn what_several_layers_allow_together_is_told() {
    let project = project();
    let reply = told(&layered(&project).start());
    let text = reply.text.replace(project.path().to_str().unwrap(), "[PROJECT]");
    insta::assert_json_snapshot!(serde_json::from_str::<Value>(&text).unwrap());
}

#[test]
fn a_strict_policy_is_told() {
    let project = project();
    let strict = "dirs.owner = 'self'
        run.projects = []
        env.inherit = ['BASE_URL', 'E2E_*']
        env.withhold = ['PATH', 'TERM', 'E2E_KEY']
        [sandbox]
        mode = 'require'
        project = 'outputs'
        outputs = ['test-results']
        network = 'none'";
    let setup = || Setup::in_directory(project.path()).policy(strict);
    let reply = told(&setup().start());
    assert_eq!(reply.at("/directories/owner"), "self");
    assert_eq!(strings(&reply, "/runTests/projects"), [""; 0]);
    assert_eq!(strings(&reply, "/runTests/sees"), ["BASE_URL", "E2E_*"]);
    assert_eq!(
        strings(&reply, "/runTests/neverSees"),
        ["E2E_KEY"],
        "what always passes is not told as withheld"
    );
    assert_eq!(reply.at("/sandbox/mode"), "require");
    assert_eq!(
        *reply.at("/sandbox/asked"),
        json!({ "network": "none", "unixSockets": "deny", "project": "outputs", "outputs": ["test-results"] })
    );
    let said = instructions(&setup());
    for words in ["or not run at all", "only output directories", "no network", "no unix sockets"] {
        assert!(said.contains(words), "{words}: {said}");
    }
}

/// A name that one layer lists and the pattern of another matches is told as the name.
#[test]
fn patterns_of_a_layer_are_narrowed_by_the_names_of_another() {
    let project = project();
    let setup = Setup::in_directory(project.path())
        .policy("run.projects = ['*chrome*', 'setup']\nenv.allow = ['A_*', 'B']")
        .variable("PW_ALLOWED_ENV", "A_1,C");
    let reply = told(&setup.start());
    assert_eq!(strings(&reply, "/runTests/projects"), ["*chrome*", "setup"]);
    assert_eq!(*reply.at("/runTests/env"), json!([{ "name": "A_1" }]));
    assert_eq!(*reply.at("/runTests/envWithin"), Value::Null);
}

#[test]
fn what_is_told_is_permitted_and_what_is_not_told_is_denied() {
    let project = project();
    for setup in [Setup::in_directory(project.path()), layered(&project)] {
        let server = setup.start();
        let reply = told(&server);
        let directory = strings(&reply, "/directories/allowed")[0].to_owned();
        let run = |extra: Value| {
            let mut arguments = json!({ "workingDirectory": directory, "project": "chromium" });
            arguments.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
            is_allowed(&server.run(arguments))
        };
        assert!(run(json!({})), "the control");

        let tools: Vec<_> = server.tools().iter().map(|tool| tool["name"].clone()).collect();
        assert_eq!(*reply.at("/tools"), json!(tools));

        for allowed in strings(&reply, "/directories/allowed") {
            assert!(run(json!({ "workingDirectory": allowed })), "{allowed}");
        }
        for denied in
            strings(&reply, "/directories/denied").into_iter().chain(["/usr/lib", "/usr/share", "/etc"])
        {
            let denied = denied.replace('*', "shop");
            assert!(!run(json!({ "workingDirectory": denied })), "{denied}");
        }
        assert_eq!(
            run(json!({ "workingDirectory": project.at("admin") })),
            directory == project.path().to_str().unwrap()
        );

        for named in strings(&reply, "/runTests/projects") {
            assert!(run(json!({ "project": named.replace(['*', '?'], "c") })), "{named}");
        }
        let all = strings(&reply, "/runTests/projects").contains(&"*");
        assert_eq!(run(json!({ "project": "firefox" })), all);
        let unnamed = server.run(json!({ "workingDirectory": directory }));
        assert_eq!(is_allowed(&unnamed), reply.at("/runTests/projectRequired") == false);

        assert_eq!(run(json!({ "headed": true })), reply.at("/runTests/headed") == true);
        assert_eq!(run(json!({ "updateSnapshots": "all" })), reply.at("/runTests/updateSnapshots") == true);

        let variables = reply.at("/runTests/env").as_array().unwrap();
        for variable in variables {
            let name = variable["name"].as_str().unwrap();
            let values = variable["values"].as_array().cloned().unwrap_or(vec![json!("anything")]);
            for value in values {
                assert!(run(json!({ "env": { name: value } })), "{name} {value}");
            }
            assert_eq!(run(json!({ "env": { name: "another" } })), variable["values"].is_null(), "{name}");
        }
        for name in ["ENV", "BASE_URL", "X_1", "X_2", "Y_1", "Z", "NODE_OPTIONS", "OTHER"] {
            let is_told = variables.iter().any(|variable| variable["name"] == name);
            let value = if name == "ENV" { "qa" } else { "one" };
            assert_eq!(run(json!({ "env": { name: value } })), is_told, "{name}");
        }

        for (limit, argument) in [("timeoutMs", "timeout"), ("workers", "workers"), ("retries", "retries")] {
            let most = reply.at(&format!("/limits/{limit}")).as_u64();
            assert!(run(json!({ argument: most.unwrap_or(1_000_000) })), "{limit}");
            assert!(most.is_none_or(|most| !run(json!({ argument: most + 1 }))), "{limit}");
        }
    }
}

#[test]
fn what_holds_of_the_sandbox_is_what_a_run_tells() {
    let project = Project::new().spec("tests/a.spec.ts", "test('passes', () => {});");
    for policy in ["", "sandbox.network = 'none'", "sandbox.project = 'read-only'", "sandbox.mode = 'off'"] {
        let server = Setup::in_directory(project.path()).policy(policy).start();
        let (reply, run) = (told(&server), server.run_all());
        for pointer in ["/sandbox/level", "/sandbox/missing"] {
            assert_eq!(reply.at(pointer), run.at(pointer), "{policy}: {}", reply.text);
        }
        assert_eq!(reply.at("/sandbox/asked").is_null(), policy.contains("off"), "{}", reply.text);
    }
    // `protect` can't be held, and here it is required.
    let server = Setup::in_directory(project.path()).policy("sandbox.mode = 'require'").start();
    let (reply, run) = (told(&server), server.run_all());
    run.assert_refused("sandbox_unavailable");
    assert_eq!(reply.text_at("/sandbox/problem"), run.text_at("/message"));
    assert_eq!(strings(&reply, "/sandbox/missing"), ["protect"]);
}

#[test]
fn where_no_run_is_allowed_only_the_rest_is_told() {
    let project = project();
    let setup =
        || Setup::in_directory(project.path()).policy("tools.allow = ['get_policy', 'get_failed_tests']");
    let reply = told(&setup().start());
    let keys: Vec<_> = reply.json.as_object().unwrap().keys().collect();
    assert_eq!(keys, ["tools", "directories", "limits"]);
    let said = instructions(&setup());
    assert!(!said.contains("run_tests") && said.contains("get_policy"), "{said}");
}

#[test]
fn a_policy_that_is_not_to_be_told_is_not() {
    let project = project();
    let setup = || Setup::in_directory(project.path()).policy("tools.allow = ['run_tests']");
    let server = setup().start();
    assert!(server.tools().iter().all(|tool| tool["name"] != "get_policy"));
    let refused = server.call("get_policy", json!({}));
    assert_eq!(refused.assert_refused("policy_denied").at("/rule"), "tools.allow");
    assert!(refused.text_at("/decision").starts_with('d'));
    assert!(!instructions(&setup()).contains("get_policy"));
    assert!(!told(&Server::start(project.path())).text.is_empty(), "the control");
}

#[test]
fn get_policy_takes_no_arguments() {
    let project = project();
    let server = Server::start(project.path());
    let refused = server.call("get_policy", json!({ "workingDirectory": "." }));
    refused.assert_refused("invalid_arguments");
    assert_eq!(refused.at("/hint"), "this tool takes no arguments");
}

/// Neither where the policy stands, nor what it says of others.
#[test]
fn nothing_else_of_the_policy_leaks() {
    let project = project();
    let parent = project.parent().to_str().unwrap();
    let policy = format!(
        "dirs.allow = ['{parent}/app', '{parent}/app/*/e2e']
         dirs.deny = ['/home/bob', '{parent}/{{app,of-carol}}/secret', '{parent}/{{of-dave,of-erin}}/*', '~/.ssh']"
    );
    let setup = || Setup::in_directory(project.path()).policy(&policy);
    let server = setup().start();
    let reply = told(&server);
    assert!(strings(&reply, "/directories/denied").contains(&format!("{parent}/app/secret").as_str()));
    for said in [reply.text, instructions(&setup())] {
        for word in ["policy.toml", "warden-own", "sha256", "builtin", "bob", "carol", "dave", "erin", ".ssh"]
        {
            assert!(!said.contains(word), "{word}: {said}");
        }
    }
}

#[test]
fn answers_and_instructions_keep_their_bounds() {
    let project = project();
    let many: Vec<String> = (0..200).map(|number| format!("/srv/{}{number}", "long/".repeat(40))).collect();
    let setup = |bytes: u64| {
        let policy = format!("dirs.allow = {many:?}\n[limits]\nanswer_bytes = {bytes}");
        Setup::in_directory(project.path()).policy(&policy)
    };
    for bytes in [1_500, 2_000, 5_000, 20_000] {
        let reply = told(&setup(bytes).start());
        assert!(u64::try_from(reply.text.len()).unwrap() <= bytes, "{} bytes", reply.text.len());
        let named = strings(&reply, "/directories/allowed").len() as u64;
        assert!(named > 0, "an empty list would permit nothing: {}", reply.text);
        assert!(reply.at("/omitted").as_u64().unwrap() >= 200 - named, "{}", reply.text);
    }
    let said = instructions(&setup(20_000));
    assert!(said.len() <= 1_200, "{} bytes: {said}", said.len());
    assert!(said.contains("and 197 more"), "{said}");
}

#[test]
fn texts_of_the_policy_are_shown_printable() {
    let project = Project::empty().file("a\u{202e}b\u{200b}/x", "");
    let setup =
        || Setup::in_directory(project.path()).policy("dirs.allow = ['*']\nrun.projects = ['\u{202e}p']");
    let reply = told(&setup().start());
    assert_eq!(strings(&reply, "/runTests/projects"), ["\\u{202e}p"]);
    let setup = || Setup::in_directory(project.path()).policy("dirs.allow = ['a\u{202e}b\u{200b}']");
    let said = [told(&setup().start()).text, instructions(&setup())];
    assert!(said.iter().all(|said| !said.contains(['\u{202e}', '\u{200b}'])), "{said:?}");
    assert!(said[1].contains("/a\\u{202e}b\\u{200b}`"), "{}", said[1]);
}

#[test]
fn both_eras_are_told_the_same_and_as_announced() {
    let project = project();
    let setup = layered(&project);
    let (mut legacy, mut modern) = (Wire::legacy(&setup), Wire::modern(&setup));
    let listed = modern.ask("tools/list", json!({}))["result"]["tools"].clone();
    let tool = listed.as_array().unwrap().iter().find(|tool| tool["name"] == "get_policy").unwrap().clone();
    let answers = [legacy.call("get_policy", &json!({})), modern.call("get_policy", &json!({}))];
    for answer in &answers {
        assert_eq!(faults(&tool["outputSchema"], &answer["structuredContent"], "get_policy"), [""; 0]);
    }
    assert_eq!(answers[0]["structuredContent"], answers[1]["structuredContent"]);
    let discovered = modern.ask("server/discover", json!({}))["result"]["instructions"].clone();
    assert_eq!(discovered, instructions(&setup), "{MODERN}");
}
