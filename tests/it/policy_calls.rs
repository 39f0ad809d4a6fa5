//! What a policy says of calls, as a table: each denial with its rule, its words and its positive control; the server
//! and `--check-policy` are both asked, and say the same.

use serde_json::{Map, Value, json};

use crate::harness::{project::Project, server::Setup};

/// A call under a policy, and the rule that denies it; none where it is allowed.
struct Row {
    policy: &'static str,
    arguments: Value,
    denied: Option<&'static str>,
}

fn allowed(policy: &'static str, arguments: Value) -> Row {
    Row { policy, arguments, denied: None }
}

fn denied(policy: &'static str, arguments: Value, rule: &'static str) -> Row {
    Row { policy, arguments, denied: Some(rule) }
}

/// A call with these variables, each with the value that no answer may repeat.
fn variables(names: &[&str]) -> Value {
    let set: Map<String, Value> =
        names.iter().map(|name| ((*name).to_owned(), json!("hush-value"))).collect();
    json!({ "env": set })
}

fn projects_flags_and_limits() -> Vec<Row> {
    let two = "run.projects = [\"chrom*\", \"setup\"]";
    let none = "run.projects = []";
    let fixed = "run.update_snapshots = false";
    let read_only = "sandbox.project = \"read-only\"";
    let limits = "[limits]\nrun_seconds = 60\nworkers = 2\nretries = 1";
    vec![
        denied(two, json!({ "project": "firefox" }), "run.projects"),
        denied(two, json!({ "project": ["chromium", "firefox"] }), "run.projects"),
        denied(two, json!({ "project": "*" }), "run.projects"),
        denied(two, json!({ "project": "chromium*" }), "run.projects"),
        denied(two, json!({ "browser": "Webkit" }), "run.projects"),
        allowed(two, json!({ "project": ["Chromium", "SETUP"] })),
        allowed(two, json!({ "project": "chrom*" })),
        allowed(two, json!({ "browser": "Chromium" })),
        allowed(two, json!({})),
        denied(none, json!({}), "run.projects"),
        denied(none, json!({ "project": "chromium" }), "run.projects"),
        denied("", json!({ "headed": true }), "run.headed"),
        allowed("run.headed = true", json!({ "headed": true })),
        allowed("", json!({ "headed": false })),
        denied(fixed, json!({ "updateSnapshots": "all" }), "run.update_snapshots"),
        denied(fixed, json!({ "updateSnapshots": "changed" }), "run.update_snapshots"),
        denied(fixed, json!({ "updateSnapshots": "missing" }), "run.update_snapshots"),
        allowed(fixed, json!({ "updateSnapshots": "none" })),
        allowed("", json!({ "updateSnapshots": "all" })),
        denied(read_only, json!({ "updateSnapshots": "all" }), "sandbox.project"),
        denied(limits, json!({ "timeout": 60_001 }), "limits.run_seconds"),
        denied(limits, json!({ "timeout": u64::MAX }), "limits.run_seconds"),
        allowed(limits, json!({ "timeout": 60_000 })),
        allowed(limits, json!({})),
        denied("", json!({ "timeout": 3_600_001 }), "limits.run_seconds"),
        allowed("", json!({ "timeout": 3_600_000 })),
        denied(limits, json!({ "workers": 3 }), "limits.workers"),
        denied(limits, json!({ "workers": u64::MAX }), "limits.workers"),
        allowed(limits, json!({ "workers": 2 })),
        allowed("", json!({ "workers": 1_000_000_000 })),
        denied(limits, json!({ "retries": 2 }), "limits.retries"),
        allowed(limits, json!({ "retries": 1 })),
    ]
}

fn directories_and_tools() -> Vec<Row> {
    let without = "tools.allow = [\"get_failed_tests\"]";
    let nothing = "tools.allow = []";
    let deny = "dirs.deny = [\"private\", \"*/secret\"]";
    let at = |directory: &str| json!({ "workingDirectory": directory });
    vec![
        denied(without, json!({}), "tools.allow"),
        denied(nothing, json!({}), "tools.allow"),
        // What comes first decides: the tool is not even there.
        denied(without, at("/etc"), "tools.allow"),
        denied("dirs.allow = []", json!({}), "dirs.allow"),
        denied("dirs.allow = [\"public\"]", json!({}), "dirs.allow"),
        allowed("dirs.allow = [\"public\"]", at("public")),
        allowed("dirs.allow = [\"pub*\"]", at("public/secret")),
        denied("dirs.allow = [\"pub*\"]", at("private"), "dirs.allow"),
        denied(deny, at("private"), "dirs.deny"),
        denied(deny, at("private/deep"), "dirs.deny"),
        denied(deny, at("public/../private"), "dirs.deny"),
        denied(deny, at("way-to-private"), "dirs.deny"),
        denied(deny, at("public/secret"), "dirs.deny"),
        allowed(deny, at("public")),
        allowed(deny, at("public/secrets")),
    ]
}

fn variables_of_a_call() -> Vec<Row> {
    let some = "[env]\nallow = [\"ENV\", \"BASE_URL\", \"X_*\"]\nvalues = { ENV = [\"qa\", \"staging\"] }";
    let much = "[env]\nallow = [\"*\"]";
    let mut rows = vec![
        denied("", variables(&["A"]), "env.allow"),
        denied(some, variables(&["OTHER"]), "env.allow"),
        denied(some, variables(&["base_url"]), "env.allow"),
        denied(some, variables(&["BASE_URL", "OTHER"]), "env.allow"),
        allowed(some, variables(&["BASE_URL", "X_1", "X_"])),
        denied(some, json!({ "env": { "ENV": "production-eu" } }), "env.values"),
        denied(some, json!({ "env": { "ENV": "QA" } }), "env.values"),
        denied(some, json!({ "env": { "ENV": "" } }), "builtin.env"),
        denied(some, json!({ "env": { "ENV": "/etc/profile" } }), "builtin.env"),
        allowed(some, json!({ "env": { "ENV": "qa" } })),
        allowed(some, json!({ "env": {} })),
        denied(much, json!({ "env": { "A": "hush-value\nB=2" } }), "builtin.env"),
        denied(much, json!({ "env": { "A": "hush-value\u{1b}[0m" } }), "builtin.env"),
        denied(much, json!({ "env": { "A": "hush-value\u{0}" } }), "builtin.env"),
        denied(much, json!({ "env": { "A": "x".repeat(257) } }), "builtin.env"),
        allowed(much, json!({ "env": { "A": "ä".repeat(256) } })),
        allowed(much, variables(&["A", "_a1", "PLAYWRIGHT_TEST_BASE_URL"])),
    ];
    // No policy lifts these: they make Node, npm, Playwright, a browser, a shell or a loader do something else.
    for name in [
        "NODE_OPTIONS",
        "node_options",
        "Path",
        "PATH",
        "HOME",
        "TMPDIR",
        "LD_PRELOAD",
        "DYLD_X",
        "BASH_ENV",
        "IFS",
        "NPM_CONFIG_REGISTRY",
        "npm_config_script_shell",
        "PW_TEST_REPORTER",
        "PWDEBUG",
        "PLAYWRIGHT_JSON_OUTPUT_FILE",
        "PLAYWRIGHT_BROWSERS_PATH",
        "PLAYWRIGHT_HTML_OPEN",
        "GIT_SSH_COMMAND",
        "SSH_AUTH_SOCK",
        "HTTPS_PROXY",
        "no_proxy",
        "PYTHONPATH",
        "SSL_CERT_FILE",
        "XDG_CONFIG_HOME",
        "DISPLAY",
        "CHROME_PATH",
        "MY_PASSWORD",
        "API_TOKEN",
        "",
        "1A",
        "A=B",
        "A B",
        "A-B",
        "É",
        "ａ",
        "A\u{0}",
        "A\n",
    ] {
        rows.push(denied(much, variables(&[name]), "builtin.env"));
    }
    let many: Vec<String> = (0..17).map(|number| format!("A{number}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    rows.push(denied(much, variables(&many), "builtin.env"));
    rows.push(allowed(much, variables(&many[..16])));
    rows
}

/// Asks the server and the checker about each row.
fn assert_table(rows: Vec<Row>) {
    let project =
        Project::empty().file("public/secret/x", "").file("public/secrets/x", "").file("private/deep/x", "");
    std::os::unix::fs::symlink("private", project.at("way-to-private")).unwrap();
    let mut by_policy: Vec<(&str, Vec<Row>)> = Vec::new();
    for row in rows {
        match by_policy.iter_mut().find(|(policy, _)| *policy == row.policy) {
            Some((_, rows)) => rows.push(row),
            None => by_policy.push((row.policy, vec![row])),
        }
    }
    for (policy, rows) in by_policy {
        let setup = || Setup::in_directory(project.path()).policy(policy);
        let server = setup().start();
        for Row { arguments, denied, .. } in rows {
            let reply = server.run(arguments.clone());
            let (status, verdict) = setup().judge("run_tests", &arguments);
            let context = format!("{policy}\n{arguments}\n{}\n{verdict}", reply.text);
            let Some(rule) = denied else {
                // Allowed calls come as far as the look-up of Playwright, which is not there.
                reply.assert_refused("playwright_not_found");
                assert_eq!((status, &verdict["decision"]), (Some(0), &json!("allow")), "{context}");
                continue;
            };
            reply.assert_refused("policy_denied");
            assert_eq!(reply.at("/rule"), rule, "{context}");
            assert!(reply.text_at("/hint").contains("operator's rule"), "{context}");
            assert!(!reply.text.contains("hush") && !reply.text.contains("policy.toml"), "{context}");
            assert_eq!((status, &verdict["decision"]), (Some(4), &json!("deny")), "{context}");
            assert_eq!(verdict["message"], reply.json["message"], "{context}");
            let checks = verdict["checks"].as_array().unwrap();
            let failed: Vec<_> = checks.iter().filter(|check| check["outcome"] == "failed").collect();
            assert_eq!(failed.len(), 1, "{context}");
            assert_eq!(failed[0]["rule"], rule, "{context}");
            let place = failed[0]["source"].as_str().unwrap();
            assert!(place.contains("policy.toml:") || place == "builtin", "{context}");
            assert!(!verdict.to_string().contains("hush"), "{context}");
        }
        assert_eq!(server.runs(), 0, "nothing was laid out for a run");
    }
}

#[test]
fn projects_flags_and_limits_are_judged() {
    assert_table(projects_flags_and_limits());
}

#[test]
fn directories_and_tools_are_judged() {
    assert_table(directories_and_tools());
}

#[test]
fn variables_of_a_call_are_judged() {
    assert_table(variables_of_a_call());
}

/// For the agent a tool that is not allowed does not exist; one that calls it all the same is told the rule.
#[test]
fn a_tool_that_is_not_allowed_is_absent() {
    let project = Project::empty();
    for (policy, listed) in [
        ("", &["run_tests", "get_failed_tests", "get_policy"][..]),
        ("tools.allow = [\"get_failed_tests\"]", &["get_failed_tests"]),
        ("tools.allow = []", &[]),
    ] {
        let server = Setup::in_directory(project.path()).policy(policy).start();
        let tools = server.tools();
        let names: Vec<_> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
        assert_eq!(names, listed, "{policy}");
        for tool in ["run_tests", "get_failed_tests", "get_policy"] {
            let reply = server.call(tool, json!({}));
            assert_eq!(
                reply.at("/code") == "policy_denied",
                !listed.contains(&tool),
                "{policy}: {}",
                reply.text
            );
        }
    }
}

/// On machines that others use, a project that somebody else owns may hold a trap.
#[test]
fn a_project_of_another_user_is_denied_where_the_policy_says_so() {
    let project = Project::empty().file("own/x", "").file("other/x", "");
    let owner = if rustix::process::geteuid().is_root() {
        std::os::unix::fs::chown(project.at("other"), Some(12_345), None).unwrap();
        "dirs.owner = \"self\""
    } else {
        // Without privilege no directory can be given away; that of root is as good as one's own.
        "dirs.owner = \"self\"\ndirs.allow = [\"/usr\", \".\"]"
    };
    let ask = |policy: &str, directory: &str| {
        let server = Setup::in_directory(project.path()).policy(policy).start();
        server.call("get_failed_tests", json!({ "workingDirectory": directory }))
    };
    ask(owner, "own").assert_refused("report_not_found");
    ask("", "other").assert_refused("report_not_found");
    if rustix::process::geteuid().is_root() {
        let denied = ask(owner, "other");
        denied.assert_refused("policy_denied");
        assert_eq!(denied.at("/rule"), "dirs.owner", "{}", denied.text);
    } else {
        ask(owner, "/usr").assert_refused("report_not_found");
    }
}
