//! `--check-policy`: what it prints, how it exits, and what it says of a call.

use serde_json::{Value, json};

use crate::harness::{journal::Journal, project::Project, server::Setup};

/// A policy without any warning.
const STRICT: &str = "[dirs]\nallow = [\"public\"]\n[env]\ninherit = [\"LANG\"]\n[run]\nprojects = [\"chromium\"]\n\
                      [sandbox]\nmode = \"require\"\nproject = \"outputs\"\nnetwork = \"none\"\n[audit]\nsinks = [\"file\"]\n";

fn project() -> Project {
    let project = Project::empty().file("public/x", "").file("other/x", "");
    for directory in ["public", "other"] {
        use std::os::unix::fs::PermissionsExt;
        let permissions = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(project.at(directory), permissions).unwrap();
    }
    project
}

fn call(arguments: &Value) -> String {
    json!({ "tool": "run_tests", "arguments": arguments }).to_string()
}

#[test]
fn exit_statuses_tell_what_was_found() {
    let project = project();
    let strict = Setup::in_directory(project.path()).policy(STRICT);
    let loose = Setup::in_directory(project.path());
    let broken = Setup::in_directory(project.path()).policy("[dirs]\nalow = []");
    let (allow, deny) =
        (call(&json!({ "workingDirectory": "public" })), call(&json!({ "workingDirectory": "other" })));
    let rows: [(&Setup, &[&str], i32); 20] = [
        (&strict, &["--check-policy"], 0),
        (&strict, &["--check-policy", "--deny-warnings"], 0),
        (&strict, &["--check-policy", "--call", &allow], 0),
        (&broken, &["--check-policy"], 1),
        (&broken, &["--check-policy", "--call", &allow], 1),
        (&loose, &["--check-policy", "--policy", "/no/such"], 2),
        (&loose, &["--check-policy", "--format", "xml"], 2),
        (&loose, &["--no-such-option"], 2),
        (&loose, &["--call", &allow], 2),
        (&strict, &["--check-policy", "--call", "no JSON"], 2),
        (&loose, &["--check-policy"], 0),
        (&loose, &["--check-policy", "--deny-warnings"], 3),
        (&loose, &["--check-policy", "--deny-warnings", "--call", &allow], 3),
        (&strict, &["--check-policy", "--call", &deny], 4),
        (&strict, &["--check-policy", "--deny-warnings", "--call", &deny], 4),
        (&loose, &["--print-denylist"], 0),
        (&loose, &["--print-schema"], 0),
        (&loose, &["--print-schema", "--print-denylist"], 2),
        (&loose, &["--print-schema", "--format", "json"], 2),
        (&loose, &["--print-schema", "audit", "show", "x"], 2),
    ];
    for (setup, arguments, status) in rows {
        let finished = setup.finish(arguments, "");
        assert_eq!(finished.status, Some(status), "{arguments:?}: {finished:?}");
        if arguments.contains(&"--check-policy") && !arguments.contains(&"xml") {
            let json = setup.finish(&[arguments, &["--format", "json"]].concat(), "");
            assert_eq!(json.status, Some(status), "{arguments:?}: {json:?}");
            assert_eq!(json.json()["format_version"], "1.1", "one object in every case");
            assert_eq!(json.stderr, "", "all is in the object");
        }
    }
}

#[test]
fn what_is_asked_for_at_once_conflicts() {
    let project = project();
    for other in ["--print-schema", "--print-denylist"] {
        let finished = Setup::in_directory(project.path()).finish(&["--check-policy", other], "");
        assert_eq!((finished.status, finished.stdout.as_str()), (Some(2), ""), "{finished:?}");
    }
}

/// What a machine lacks is no fault of the policy: the strict sample has no other finding.
#[test]
fn findings_about_this_system_do_not_count_for_deny_warnings() {
    let project = project();
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/policy.strict.toml");
    let sample = std::fs::read_to_string(path).unwrap();
    let sample = sample.replace("~/work/shop", "public").replace("version = 1\n", "");
    let open = sample.replace("network = \"none\"", "network = \"open\"");
    assert_ne!(sample, open);
    let (listening, closed) = (Journal::new(), Journal::closed());
    for (policy, journal, here, status) in [
        (&sample, &listening, 0, 0),
        (&sample, &closed, 1, 0),
        // The controls: a finding about the policy counts, with and without one about the system.
        (&open, &listening, 0, 3),
        (&open, &closed, 1, 3),
    ] {
        let setup = Setup::in_directory(project.path()).policy(policy).namespace(journal.namespace());
        let human = setup.finish(&["--check-policy", "--deny-warnings"], "");
        assert_eq!(human.status, Some(status), "{human:?}");
        assert_eq!(human.stderr.matches("warning[audit-unavailable]").count(), here, "{human:?}");
        let json = setup.finish(&["--check-policy", "--deny-warnings", "--format", "json"], "");
        assert_eq!(json.status, Some(status), "{json:?}");
        for finding in json.json()["diagnostics"].as_array().unwrap() {
            let of_system = finding["code"] == "audit-unavailable";
            assert_eq!(finding.get("here"), of_system.then_some(&Value::Bool(true)), "{finding}");
        }
    }
}

/// Text for people is in `check_policy_calls`.
#[test]
fn the_object_holds_layers_values_sandbox_and_the_call() {
    let project = project();
    let setup =
        Setup::in_directory(project.path()).policy(STRICT).variable("PW_ALLOWED_DIRS", "public:other");
    let allowed =
        call(&json!({ "workingDirectory": "public", "project": "chromium", "tag": "@smoke", "workers": 2 }));
    let mut json = setup.finish(&["--check-policy", "--format", "json", "--call", &allowed], "").json();
    assert!(json["sandbox"]["level"].is_string(), "found by trying it: {}", json["sandbox"]);
    json["sandbox"] = json!("[AS THIS KERNEL HAS IT]");
    // One row stands for all: the example policy has a test of its own.
    json["effective"].as_array_mut().unwrap().retain(|row| row["key"] == "dirs.allow");
    let mut settings = insta::Settings::clone_current();
    settings.add_filter(r#"[^\s"(]+/policy/policy\.toml"#, "[POLICY]");
    settings.add_filter(r"[0-9a-f]{64}", "[HASH]");
    settings.add_filter(r#""owner_uid": \d+"#, "\"owner_uid\": [UID]");
    settings.add_filter(r#""[^"]+/\.local/state/"#, "\"[HOME]/.local/state/");
    settings.add_filter(project.parent().to_str().unwrap(), "[ROOT]");
    settings.bind(|| insta::assert_snapshot!("json", serde_json::to_string_pretty(&json).unwrap()));
}

#[test]
fn a_call_is_read_from_standard_input() {
    let project = project();
    let setup = Setup::in_directory(project.path()).policy(STRICT);
    let ask = |input: &str| setup.finish(&["--check-policy", "--call", "-"], input);
    for (directory, status, word) in [("public", 0, "ALLOW"), ("other", 4, "DENY")] {
        let finished = ask(&call(&json!({ "workingDirectory": directory })));
        assert_eq!(finished.status, Some(status), "{finished:?}");
        assert!(finished.stdout.lines().any(|line| line.starts_with(word)), "{finished:?}");
        assert!(finished.stdout.contains("policy.toml:3:"), "where the rule stands: {finished:?}");
    }
    assert_eq!(ask("").status, Some(2));
    assert_eq!(ask(&format!("{{\"tool\": \"{}\"}}", "x".repeat(2 << 20))).status, Some(2));
}

#[test]
fn a_call_that_is_none_is_told_what_is_wrong() {
    let project = project();
    let setup = Setup::in_directory(project.path()).policy(STRICT);
    for (call, words) in [
        ("", "--call"),
        ("[]", "a call looks like {"),
        ("nonsense", "a call looks like {"),
        (r#"{"tool":"get_policy","tool":"get_policy"}"#, "duplicate"),
        ("{}", "tool"),
        (r#"{"tool":"run_tests","args":{}}"#, "args"),
        (r#"{"tool":"run_test"}"#, "run_test"),
        (r#"{"tool":"run_tests","arguments":[]}"#, "expected a map"),
        (r#"{"tool":"run_tests","arguments":{"projct":"x"}}"#, "did you mean `project`?"),
        (r#"{"tool":"run_tests","arguments":{"workers":0}}"#, "`workers`"),
        (r#"{"tool":"run_tests","arguments":{"tag":""}}"#, "`tag`"),
        (r#"{"tool":"get_failed_tests","arguments":{"spec":"x"}}"#, "unknown argument `spec`"),
    ] {
        let human = setup.finish(&["--check-policy", "--call", call], "");
        assert_eq!(human.status, Some(2), "{call}: {human:?}");
        assert!(human.stdout.contains("INVALID") && human.stdout.contains(words), "{call}: {human:?}");
        let json = setup.finish(&["--check-policy", "--format", "json", "--call", call], "");
        assert_eq!(json.status, Some(2), "{call}: {json:?}");
        let answer = json.json()["call"].take();
        assert_eq!(answer["decision"], "invalid", "{call}: {answer}");
        assert!(answer["message"].as_str().unwrap().contains(words), "{call}: {answer}");
    }
}

/// A call that a reviewer pastes must not steer his terminal, nor fake a verdict.
#[test]
fn what_a_call_says_is_shown_with_everything_visible() {
    let project = project();
    let setup = Setup::in_directory(project.path()).policy(STRICT);
    let evil = "/x\u{1b}[2J\u{9b}1m\u{202e}\nALLOW  ";
    for call in [
        call(&json!({ "workingDirectory": evil })),
        call(&json!({ "workingDirectory": "public", "env": { evil: "" } })),
        call(&json!({ "workingDirectory": "public", "spec": evil, "project": "x\u{202e}y" })),
        json!({ "tool": evil }).to_string(),
        call(&json!({ evil: 1 })),
    ] {
        let finished = setup.finish(&["--check-policy", "--call", &call], "");
        let steers = |character: char| character != '\n' && character.is_control() || character == '\u{202e}';
        assert!(!finished.stdout.contains(steers), "{call}: {:?}", finished.stdout);
        assert!(
            !finished.stdout.lines().any(|line| line.starts_with("ALLOW")),
            "{call}: {}",
            finished.stdout
        );
        assert_ne!(finished.status, Some(0), "{call}");
    }
}

#[test]
fn checking_runs_no_project_code_and_writes_nothing() {
    let mark = "require('fs').writeFileSync(__dirname + '/ran', '');";
    let project = Project::new()
        .spec("tests/a.spec.ts", "import fs from 'fs';\nfs.writeFileSync('ran', '');\ntest('x', () => {});");
    std::fs::remove_file(project.at("playwright.config.ts")).unwrap();
    project.write("playwright.config.js", &format!("{mark}\nmodule.exports = {{}};"));
    let before = listing(&project);
    let policy = "[dirs]\nallow = [\".\"]\n[sandbox]\nproject = \"outputs\"";
    let setup = || Setup::in_directory(project.path()).policy(policy);
    let (status, verdict) = setup().judge("run_tests", &json!({ "spec": "tests/a.spec.ts" }));
    assert_eq!((status, &verdict["decision"]), (Some(0), &json!("allow")));
    assert_eq!(listing(&project), before, "nothing was written");
    Setup::in_directory(project.path()).start().run_all().assert_counts(1, 0);
    assert!(project.at("ran").exists(), "the control");
}

fn listing(project: &Project) -> Vec<std::ffi::OsString> {
    let mut names: Vec<_> =
        std::fs::read_dir(project.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    names
}

#[test]
fn what_no_policy_can_lift_is_printed() {
    let printed = Setup::in_directory(Project::empty().path()).finish(&["--print-denylist"], "").stdout;
    for name in ["NODE_", "LD_", "PW_", "PLAYWRIGHT_", "PATH", "HOME", "BASH_", "HTTPS_PROXY", "GIT_"] {
        assert!(printed.lines().any(|line| line.contains(name)), "no {name} in {printed}");
    }
}
