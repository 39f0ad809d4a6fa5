//! Secrets: which of the server's variables tests see, and what of them comes back in answers.

use serde_json::json;

use crate::harness::{
    project::Project,
    server::{Server, Setup},
};

/// Fails with all that the test can see of its environment.
const SHOW: &str = "test('shows', () => {
    const seen = Object.entries(process.env).filter(([name]) => /^(SEEN|AWS_|MY_|PW_(POLICY|TEST_REPORTER)|CI|GIVEN)/.test(name));
    throw new Error('seen: ' + seen.map(pair => pair.join('=')).sort().join(' '));
});";

/// The error of the one test.
fn shown(setup: Setup, arguments: serde_json::Value) -> String {
    let reply = setup.start().run(arguments);
    reply.assert_counts(0, 1);
    reply.text_at("/tests/0/error").to_owned()
}

#[test]
fn a_test_sees_the_variables_that_are_inherited_and_no_other() {
    let project = Project::new().spec("tests/a.spec.ts", SHOW);
    let setup = || {
        Setup::in_directory(project.path())
            .variable("SEEN", "plain")
            .variable("AWS_REGION", "withheld")
            .variable("PW_POLICY_FILE", "")
            .variable("PW_TEST_REPORTER", "/tmp/evil.js")
    };
    assert_eq!(shown(setup(), json!({})), "seen: SEEN=plain");
    assert_eq!(shown(setup().policy("env.withhold = []"), json!({})), "seen: AWS_REGION=withheld SEEN=plain");
    assert_eq!(shown(setup().policy("env.inherit = []"), json!({})), "seen:");
    let given = setup().policy("env.inherit = []\nenv.allow = [\"GIVEN\"]");
    assert_eq!(shown(given, json!({ "env": { "GIVEN": "by the call" } })), "seen: GIVEN=by the call");
}

/// Outside a sandbox each process of the user can read the environment of each other.
#[test]
fn the_environment_of_the_server_is_out_of_reach_of_confined_tests() {
    let look = "import fs from 'fs';\ntest('looks', () => {
        const environ = (pid: string) => { try { return fs.readFileSync(`/proc/${pid}/environ`, 'latin1') } catch { return '' } };
        const found = fs.readdirSync('/proc').filter(name => /^\\d+$/.test(name)).map(environ)
            .filter(text => text.includes('WARDEN_PROBE=')).length;
        throw new Error(`found ${found > 0}`);
    });";
    let project = Project::new().spec("tests/a.spec.ts", look);
    for (mode, found) in [("best-effort", "found false"), ("off", "found true")] {
        let policy = format!("env.inherit = []\nsandbox.mode = \"{mode}\"");
        let setup = Setup::in_directory(project.path()).variable("WARDEN_PROBE", "x").policy(&policy);
        assert_eq!(shown(setup, json!({})), found, "{mode}");
    }
}

/// A courtesy against carelessness, wherever it would come out; what is encoded in another way passes.
#[test]
fn known_secrets_are_taken_out_of_answers() {
    let token = "s3cr3t/tok+en=with \u{fc}mlaut";
    let leak = "import fs from 'fs';\ntest('leaks', () => {
        const token = process.env.MY_API_TOKEN!;
        console.log('out ' + token, '\\nurl postgres://ann:open-sesame@db/x');
        console.error('err ' + token);
        const env = fs.readFileSync('.env', 'utf8') + fs.readFileSync('.env.local', 'utf8');
        throw new Error([token, encodeURIComponent(token), Buffer.from(token).toString('base64'), env, 'plain'].join('\\n'));
    });\ntest(`title ${process.env.MY_API_TOKEN}`, () => { throw new Error('two') });";
    let project = Project::new()
        .file(".env", "DB_PASSWORD=\"hunter2 hunter2\"\nPORT=12345678\nDEBUG=false\n")
        .file(".env.local", "# local\nexport SIGNING=abcdefgh1234\n")
        .config("reporter: [['json', { outputFile: 'test-results/results.json' }]]")
        .spec("tests/a.spec.ts", leak);
    let server = Setup::in_directory(project.path()).variable("MY_API_TOKEN", token).start();
    let run = server.run_all();
    run.assert_counts(0, 2);
    let again = server.call("get_failed_tests", json!({}));
    let base64 = "czNjcjN0L3Rvaytlbj13aXRoIMO8bWxhdXQ";
    for reply in [&run, &again] {
        for secret in [token, "s3cr3t", "mlaut", base64, "hunter2", "abcdefgh1234", "open-sesame"] {
            assert!(!reply.text.contains(secret), "{secret} is in {}", reply.text);
        }
        for kept in ["plain", "12345678", "false", "title ", "DB_PASSWORD", "postgres://"] {
            assert!(reply.text.contains(kept), "no {kept} in {}", reply.text);
        }
    }
    // The config's own output is an answer too.
    project.write("playwright.config.ts", "throw new Error(`bad token ${process.env.MY_API_TOKEN}`);");
    let broken = server.run_all();
    assert!(broken.text.contains("bad token"), "{}", broken.text);
    assert!(!broken.text.contains("s3cr3t"), "{}", broken.text);
    // The control: what is no known secret comes back.
    let open = Setup::in_directory(project.path()).variable("MY_API_KEYRING", token).start();
    project.write("playwright.config.ts", "throw new Error(`bad token ${process.env.MY_API_KEYRING}`);");
    assert!(open.run_all().text.contains("s3cr3t"), "the control");
}

#[test]
fn a_hostile_env_file_costs_neither_memory_nor_time() {
    // Each line is twice the one before, to who substitutes; and a long text that repeats itself is hard to search for.
    let doubled = |line| format!("A{line}=${{A{0}}}${{A{0}}}", line - 1);
    let doubling = (1..40).map(doubled).collect::<Vec<_>>().join(
        "
",
    );
    let text = format!("A0=hunter2hunter2\n{doubling}\nLONG={}\n", "ab".repeat(10_000));
    let project = Project::new().file(".env", &text).spec(
        "tests/a.spec.ts",
        "test('tells', () => { throw new Error('hunter2hunter2 ' + 'ab'.repeat(200)) });",
    );
    let server = Setup::in_directory(project.path()).start();
    let run = server.run_all();
    run.assert_counts(0, 1);
    assert!(!run.text.contains("hunter2") && run.text.contains("[redacted LONG]"), "{}", run.text);
    drop(server.call("get_failed_tests", json!({})));
}

/// What a call sets is a secret as well if its name says so; the value of another name comes back.
#[test]
fn values_in_arguments_are_not_repeated_by_errors() {
    let project = Project::empty();
    let server = Server::start(project.path());
    for arguments in [
        json!({ "env": { "API_TOKEN": "hush-hush" } }),
        json!({ "env": { "A": ["hush-hush"] } }),
        json!({ "env": "hush-hush" }),
    ] {
        let refused = server.run(arguments.clone());
        assert!(refused.is_error, "{arguments}: {}", refused.text);
        assert!(!refused.text.contains("hush"), "{arguments}: {}", refused.text);
    }
}
