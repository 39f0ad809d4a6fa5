//! `--check-policy --call`: it decides as the server does, and what it shows is what a run is started with.

use std::{fs, path::Path};

use serde_json::{Map, Value, json};

use crate::harness::{
    project::Project,
    server::{Reply, Setup},
};

/// A Playwright that writes down how it was started.
const WRITES_DOWN: &str = "const fs = require('fs');
const bounds = fs.readFileSync('/proc/self/limits', 'utf8');
const bound = name => Number(new RegExp(`^${name} +(\\\\d+)`, 'm').exec(bounds)[1]);
fs.writeFileSync('seen.json', JSON.stringify({
    program: process.execPath, argv: process.argv.slice(1), cwd: process.cwd(), env: Object.keys(process.env).sort(),
    open_files: bound('Max open files'), file_bytes: bound('Max file size'),
}));
";

/// A project whose Playwright is this script.
fn project(cli: &str) -> Project {
    Project::empty()
        .file("node_modules/@playwright/test/package.json", "{ \"version\": \"1.60.0\" }")
        .file("node_modules/@playwright/test/cli.js", cli)
        .file("tests/a b.spec.ts", "")
}

/// A path of one server as that of any.
fn anywhere(text: &str, run: &str) -> String {
    let named = text.replace(run, "<run>");
    match named.split_once("/state/") {
        Some((before, after)) => format!("{}[STATE]/{after}", before.split('/').next().unwrap()),
        None => named,
    }
}

#[test]
fn the_plan_shown_is_what_a_run_is_started_with() {
    let project = project(WRITES_DOWN);
    let policy = "[env]\nallow = [\"STAGE\"]\n[limits]\nopen_files = 1000\nfile_bytes = 5000000";
    let setup = || {
        Setup::in_directory(project.path()).policy(policy).variable("SEEN", "x").variable("AWS_REGION", "x")
    };
    let calls = [
        json!({}),
        json!({
            "spec": "tests/a b.spec.ts:3", "project": ["one", "two"], "tag": "@smoke", "workers": "50%", "retries": 1,
            "maxFailures": 2, "trace": "on", "updateSnapshots": "missing", "env": { "STAGE": "hush-value" },
        }),
    ];
    let server = setup().start();
    for call in calls {
        let (status, verdict) = setup().judge("run_tests", &call);
        assert_eq!((status, &verdict["would_fail"]), (Some(0), &Value::Null), "{verdict}");
        assert!(!verdict.to_string().contains("hush"), "names and no values: {verdict}");
        let reply = server.run(call.clone());
        let run = reply.text_at("/runId");
        let seen: Value = serde_json::from_slice(&fs::read(project.at("seen.json")).unwrap()).unwrap();
        let plan = &verdict["plan"];
        let argv = |value: &Value| {
            let argv = value["argv"].as_array().unwrap().iter();
            argv.map(|argument| anywhere(argument.as_str().unwrap(), run)).collect::<Vec<_>>()
        };
        assert_eq!(argv(plan), argv(&seen), "{call}");
        assert!(argv(plan).iter().any(|argument| argument.contains("[STATE]/runs/<run>/out")), "{plan}");
        let mut names: Vec<&str> =
            plan["env"].as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect();
        names.sort_unstable();
        assert_eq!(json!(names), seen["env"], "{call}");
        for key in ["program", "cwd"] {
            assert_eq!(plan[key], seen[key], "{call}");
        }
        for key in ["open_files", "file_bytes"] {
            assert_eq!(plan["limits"][key], seen[key], "{call}");
        }
        assert_eq!(plan["playwright_version"], "1.60.0");
        let told = |key: &str| (plan["sandbox"][key].clone(), reply.at(&format!("/sandbox/{key}")).clone());
        for (shown, held) in [told("level"), told("missing")] {
            assert_eq!(shown, held, "the level of the very run: {}", reply.text);
        }
    }
}

/// Under `outputs` a real run makes two directories.
#[test]
fn a_plan_is_shown_without_making_anything() {
    let project = project("");
    for sandbox in ["project = \"outputs\"", "unix_sockets = \"allow\"", "mode = \"off\""] {
        let setup = Setup::in_directory(project.path()).policy(&format!("[sandbox]\n{sandbox}"));
        let before = names(project.path());
        let (mut command, own) = setup.command();
        let call = json!({ "tool": "run_tests" }).to_string();
        let ended = command.args(["--check-policy", "--call", &call]).output().unwrap();
        assert!(ended.status.success(), "{ended:?}");
        assert!(String::from_utf8_lossy(&ended.stdout).contains("\nALLOW  run_tests\n"), "{ended:?}");
        assert_eq!(names(project.path()), before, "{sandbox}");
        assert_eq!(names(&own.path().join("state")), Vec::<String>::new(), "{sandbox}");
    }
    drop(Setup::in_directory(project.path()).policy("sandbox.project = \"outputs\"").start().run_all());
    assert!(project.at("test-results").exists(), "the control");
}

fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).unwrap();
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn what_would_keep_an_allowed_call_from_being_done_is_told_beside_it() {
    let project = project("").file("public/x", "");
    let required = "[sandbox]\nmode = \"require\"";
    let rows = [
        ("", "run_tests", json!({ "workingDirectory": "public" }), None),
        ("", "run_tests", json!({ "workingDirectory": "missing" }), Some("no_such_directory")),
        ("", "run_tests", json!({ "spec": "tests/none.spec.ts" }), Some("spec_not_found")),
        ("", "run_tests", json!({}), None),
        ("", "get_failed_tests", json!({}), Some("report_not_found")),
        ("", "get_failed_tests", json!({ "runId": "r00000000000000000000000000000001" }), None),
        // `sandbox.protect` can't be held, so the policy itself is not valid here; the call is answered all the same.
        (required, "run_tests", json!({}), Some("sandbox_unavailable")),
    ];
    for (policy, tool, arguments, code) in rows {
        let setup = || Setup::in_directory(project.path()).policy(policy);
        let (status, verdict) = setup().judge(tool, &arguments);
        let context = format!("{policy} {tool} {arguments}: {verdict}");
        assert_eq!(status, Some(i32::from(!policy.is_empty())), "{context}");
        assert_eq!(verdict["decision"], "allow", "{context}");
        assert_eq!(verdict["would_fail"]["code"], json!(code), "{context}");
        let call = json!({ "tool": tool, "arguments": arguments }).to_string();
        let human = setup().finish(&["--check-policy", "--call", &call], "");
        assert!(human.stdout.contains(&format!("\nALLOW  {tool}\n")), "{human:?}");
        assert_eq!(human.stdout.contains("but would fail"), code.is_some(), "{human:?}");
        if let Some(code) = code {
            setup().start().call(tool, arguments).assert_refused(code);
        }
    }
}

/// Numbers that look random and are the same in each run (xorshift).
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % u64::try_from(end).unwrap()).unwrap()
    }

    fn one<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.below(of.len())]
    }
}

/// Each key with some of its values; a policy has about half of the keys.
const KEYS: &[(&str, &[&str])] = &[
    ("dirs.allow", &["[\".\"]", "[\"public\"]", "[\"pub*\", \"private\"]", "[\".\", \"/etc\"]", "[\".\"]"]),
    ("dirs.deny", &["[\"private\"]", "[\"*/secret\"]", "[]"]),
    ("tools.allow", &["[\"run_tests\"]", "[\"run_tests\", \"get_failed_tests\"]", "[\"get_failed_tests\"]"]),
    ("run.headed", &["true", "false"]),
    ("run.update_snapshots", &["true", "false"]),
    ("run.projects", &["[\"chrom*\", \"setup\"]", "[\"*\"]", "[]"]),
    ("env.allow", &["[\"ENV\", \"X_*\"]", "[\"*\"]", "[]"]),
    ("env.values", &["{ ENV = [\"qa\"] }"]),
    ("limits.run_seconds", &["60", "\"unlimited\""]),
    ("limits.workers", &["2", "\"unlimited\""]),
    ("limits.retries", &["1"]),
    ("sandbox.project", &["\"read-only\"", "\"outputs\"", "\"read-write\""]),
    ("sandbox.mode", &["\"off\"", "\"best-effort\""]),
];

fn random_policy(dice: &mut Dice) -> String {
    let mut keys = Vec::new();
    for (key, values) in KEYS {
        if dice.below(2) == 0 {
            keys.push(format!("{key} = {}", dice.one(values)));
        }
    }
    keys.join("\n")
}

fn random_call(dice: &mut Dice) -> (&'static str, Value) {
    let directories =
        [".", "public", "private", "public/secret", "/etc", "missing", "public/../private", "way-to-private"];
    let mut arguments = Map::new();
    let mut give = |dice: &mut Dice, name: &str, values: &[Value]| {
        if dice.below(4) == 0 {
            arguments.insert(name.to_owned(), dice.one(values).clone());
        }
    };
    let directories = directories.map(Value::from);
    give(dice, "workingDirectory", &directories);
    give(dice, "workingDirectory", &directories);
    if dice.below(4) == 0 {
        give(dice, "runId", &[json!("r1"), json!(1)]);
        give(dice, "include", &[json!("all"), json!("flaky"), json!("none")]);
        give(dice, "limit", &[json!(1), json!(0)]);
        return ("get_failed_tests", arguments.into());
    }
    give(dice, "project", &[json!("chromium"), json!(["setup", "firefox"]), json!("*"), json!([])]);
    give(dice, "headed", &[json!(true), json!(false), json!("yes")]);
    give(dice, "updateSnapshots", &[json!("all"), json!("none"), json!("some")]);
    give(dice, "timeout", &[json!(60_000), json!(60_001), json!(4_000_000), json!(-1)]);
    give(dice, "workers", &[json!(2), json!(3), json!("100%"), json!(0)]);
    give(dice, "retries", &[json!(1), json!(2)]);
    give(dice, "spec", &[json!("x"), json!("none.spec.ts"), json!("--config=x")]);
    give(dice, "env", &[json!({ "ENV": "qa" }), json!({ "ENV": "prod", "X_1": "" }), json!({ "PATH": "/" })]);
    give(dice, "projct", &[json!("x")]);
    ("run_tests", arguments.into())
}

/// Fails unless the server answered what the checker said.
fn assert_alike(reply: &Reply, verdict: &Value, context: &str) {
    match verdict["decision"].as_str() {
        Some("allow") => match verdict["would_fail"]["code"].as_str() {
            Some(code) => {
                reply.assert_refused(code);
                assert_eq!(reply.json["message"], verdict["would_fail"]["message"], "{context}");
            }
            None => assert!(!reply.is_error || reply.at("/code") == "run_not_found", "{context}"),
        },
        Some("deny") => {
            reply.assert_refused("policy_denied");
            for key in ["rule", "message"] {
                assert_eq!(reply.json[key], verdict[key], "{context}");
            }
        }
        Some("invalid") => {
            reply.assert_refused("invalid_arguments");
            let (_, problem) = reply.text_at("/message").split_once(": ").unwrap();
            assert!(verdict["message"].as_str().unwrap().starts_with(problem), "{context}");
        }
        _ => panic!("{context}"),
    }
}

#[test]
fn policies_and_calls_made_by_chance_are_decided_alike_by_the_server_and_the_checker() {
    let report = include_str!("../fixtures/reports/1.65.1/hooks.json");
    let project = Project::empty()
        .file("x", "")
        .file("public/secret/x", "")
        .file("private/x", "")
        .file("public/test-results/results.json", report);
    std::os::unix::fs::symlink("private", project.at("way-to-private")).unwrap();
    let mut dice = Dice(0x00c0_ffee);
    let mut seen: Map<String, Value> = Map::new();
    for _ in 0..12 {
        let policy = random_policy(&mut dice);
        let setup = || Setup::in_directory(project.path()).policy(&policy);
        let server = setup().start();
        for _ in 0..25 {
            let (tool, arguments) = random_call(&mut dice);
            let (_, verdict) = setup().judge(tool, &arguments);
            let reply = server.call(tool, arguments.clone());
            let context = format!("{policy}\n{tool} {arguments}\n{verdict}\n{}", reply.text);
            assert_alike(&reply, &verdict, &context);
            let kind = verdict["would_fail"]["code"].as_str().or(verdict["rule"].as_str());
            let kind = kind.unwrap_or(verdict["decision"].as_str().unwrap());
            let count = seen.get(kind).and_then(Value::as_u64).unwrap_or(0);
            seen.insert(kind.to_owned(), json!(count + 1));
        }
        assert_eq!(server.runs(), 0, "nothing was laid out for a run");
    }
    for kind in ["playwright_not_found", "report_not_found", "no_such_directory", "invalid", "dirs.allow"] {
        assert!(seen.contains_key(kind), "chance made no {kind}: {seen:?}");
    }
    assert!(seen.len() >= 15, "chance made too little: {seen:?}");
}

/// Takes out what differs from machine to machine, and puts what was wrapped on one line again.
fn assert_snapshot(name: &str, text: &str, project: &Project) {
    let mut settings = insta::Settings::clone_current();
    for (pattern, shown) in [
        (r"\n {20,}(\S)", " $1"),
        (r"(\S) {2,}", "$1  "),
        (r#"[^\s"(,]+/policy/policy\.toml"#, "[POLICY]"),
        (r#"[^\s"(,=]+/state/"#, "[STATE]/"),
        (r"[0-9a-f]{64}", "[HASH]"),
        (r"sha256 [0-9a-f]{12}…", "sha256 [HASH]"),
        (r"\S+ \(\d+\) 0644", "[OWNER] 0644"),
        (r#""owner_uid": \d+"#, "\"owner_uid\": [UID]"),
        (r"Landlock ABI \d+", "Landlock ABI [N]"),
        (r"by (Landlock and seccomp|Landlock|seccomp)", "by [LAYER]"),
        (r"may read .*", "may read [AS THIS SYSTEM HAS IT]"),
        (r#""[^"]*/node""#, "\"[NODE]\""),
        (r"/\^/.*?/app/", "/^[ROOT]/app/"),
    ] {
        settings.add_filter(pattern, shown);
    }
    settings.add_filter(project.parent().to_str().unwrap(), "[ROOT]");
    settings.bind(|| insta::assert_snapshot!(name, text));
}

#[test]
fn each_kind_of_answer_is_as_it_was_reviewed() {
    let project = project("").file("public/x", "");
    let policy = "[dirs]\nallow = [\".\"]\ndeny = [\"private\"]\n[env]\ninherit = [\"LANG\"]\nallow = [\"STAGE\"]\n\
                  values = { STAGE = [\"qa\", \"staging\"] }\n[sandbox]\nproject = \"outputs\"\nnetwork = \"none\"";
    let setup = Setup::in_directory(project.path()).policy(policy).variable("PW_ALLOWED_DIRS", ".");
    let calls = [
        ("allow", json!({ "spec": "tests", "env": { "STAGE": "qa" } })),
        ("deny-explicit", json!({ "workingDirectory": "private" })),
        ("deny-implicit", json!({ "env": { "STAGE": "production" } })),
        ("invalid", json!({ "projct": "x" })),
    ];
    for (name, arguments) in calls {
        let call = json!({ "tool": "run_tests", "arguments": arguments }).to_string();
        let human = setup.finish(&["--check-policy", "--call", &call], "").stdout;
        let answer = human.split("\n\n").nth(1).unwrap();
        assert_snapshot(&format!("call-{name}.txt"), answer, &project);
        let mut json = setup.finish(&["--check-policy", "--format", "json", "--call", &call], "").json();
        let mut answer = json["call"].take();
        if let Some(plan) = answer.get_mut("plan") {
            assert!(plan["read"].as_array().unwrap().contains(&json!(project.path().to_str().unwrap())));
            plan["read"] = json!("[AS THIS SYSTEM HAS IT]");
            plan["sandbox"] = json!("[AS THIS KERNEL HAS IT]");
        }
        assert_snapshot(
            &format!("call-{name}.json"),
            &serde_json::to_string_pretty(&answer).unwrap(),
            &project,
        );
    }
    // The whole is shown once; what is above the call is the same in each.
    let whole = setup.finish(&["--check-policy"], "").stdout;
    assert!(whole.lines().all(|line| line.chars().count() <= 130), "{whole}");
    assert_snapshot("whole.txt", &whole, &project);
}
