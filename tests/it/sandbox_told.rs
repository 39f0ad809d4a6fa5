//! What a run says about its sandbox: what holds, what is missing, and which key opens what was refused.

use std::{fs, net::TcpListener, os::unix::net::UnixListener};

use serde_json::json;

use crate::harness::{
    browser,
    project::{Project, open_to_all},
    server::{Reply, Setup},
    user::User,
};

fn run(user: User, project: &Project, policy: &str) -> Reply {
    Setup::in_directory(project.path()).policy(policy).user(user).start().run_all()
}

/// Fails unless the run failed with a hint that names the key and nothing else went to waste.
fn assert_hint(reply: &Reply, key: &str, subject: &str) {
    assert_eq!(reply.at("/ok"), false, "{}", reply.text);
    let hints = reply.at("/hints").as_array().unwrap_or_else(|| panic!("no hints: {}", reply.text));
    let told = hints.iter().filter_map(|hint| hint.as_str());
    let named: Vec<&str> = told.filter(|hint| hint.contains(key) && hint.contains(subject)).collect();
    assert_eq!(named.len(), 1, "{key} for {subject}: {}", reply.text);
}

#[test]
fn a_hint_names_the_key_that_opens_what_was_refused() {
    for &user in User::all() {
        let project = Project::new();
        let outside = project.parent().join("outside");
        fs::create_dir(&outside).unwrap();
        open_to_all(&outside);
        fs::write(outside.join("data.json"), "{}").unwrap();
        fs::copy("/bin/true", outside.join("tool")).unwrap();
        let unix = outside.join("socket");
        let _unix = UnixListener::bind(&unix).unwrap();
        open_to_all(&unix);
        let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = tcp.local_addr().unwrap().port();
        let outside = outside.to_str().unwrap();
        let sandbox = |keys: &str| format!("[sandbox]\nmode = \"best-effort\"\n{keys}");
        let read_only = "project = \"read-only\"\n";

        // What a test does; the policy under which that is refused; the one that lets it; the key and the subject of the hint.
        let rows = [
            (
                format!("fs.readFileSync('{outside}/data.json');"),
                sandbox(""),
                sandbox(&format!("read = [\"{outside}\"]")),
                ("`sandbox.read`", "data.json"),
            ),
            (
                format!("fs.writeFileSync('{outside}/shot.png', 'x');"),
                sandbox(""),
                sandbox(&format!("write = [\"{outside}\"]")),
                ("`sandbox.write`", "shot.png"),
            ),
            (
                format!("fs.mkdirSync('{outside}/shots');"),
                sandbox(""),
                sandbox(&format!("write = [\"{outside}\"]")),
                ("`sandbox.write`", "shots"),
            ),
            (
                "fs.mkdirSync('shots');".to_owned(),
                sandbox("project = \"outputs\""),
                sandbox("project = \"read-write\""),
                ("`sandbox.project`", "shots"),
            ),
            (
                format!("execFileSync('{outside}/tool');"),
                sandbox(""),
                sandbox(&format!("read = [\"{outside}\"]")),
                ("`sandbox.read`", "start a program"),
            ),
            (
                format!(
                    "await (await fetch('http://127.0.0.1:{port}', {{ signal: AbortSignal.timeout(500) }}).catch(e => {{ if (e.name !== 'TimeoutError') throw e; }}));"
                ),
                sandbox("network = \"none\""),
                sandbox("network = \"open\""),
                ("`sandbox.network", "network"),
            ),
            (
                format!(
                    "await new Promise((resolve, reject) => net.connect('{}').on('connect', resolve).on('error', reject));",
                    unix.display()
                ),
                sandbox(read_only),
                sandbox("unix_sockets = \"allow\""),
                ("`sandbox.unix_sockets", "unix socket"),
            ),
        ];
        for (statement, refusing, allowing, (key, subject)) in rows {
            let spec = format!(
                "import fs from 'node:fs';\nimport net from 'node:net';\nimport {{ execFileSync }} from 'node:child_process';\n\
                 test('acts', async () => {{ {statement} }});"
            );
            fs::create_dir_all(project.at("tests")).unwrap();
            fs::write(
                project.at("tests/acts.spec.ts"),
                format!("import {{ test }} from '@playwright/test';\n{spec}\n"),
            )
            .unwrap();
            assert_hint(&run(user, &project, &refusing), key, subject);
            let allowed = run(user, &project, &allowing);
            allowed.assert_counts(1, 0);
            assert!(allowed.at("/hints").is_null(), "{}", allowed.text);
        }
    }
}

#[test]
fn a_failure_that_has_nothing_to_do_with_the_sandbox_has_no_hint() {
    for &user in User::all() {
        let project = Project::new().spec("tests/a.spec.ts", "test('fails', () => { expect(1).toBe(2); });");
        let reply = run(user, &project, "");
        reply.assert_counts(0, 1);
        assert!(reply.at("/hints").is_null(), "{}", reply.text);
    }
}

#[test]
fn a_required_sandbox_that_cannot_be_had_refuses_the_run_and_names_what_is_missing() {
    for &user in User::all() {
        let project = Project::new().spec(
            "tests/a.spec.ts",
            "import fs from 'node:fs'; test('runs', () => { fs.writeFileSync('trace-of-a-run', ''); });",
        );
        let refused = run(user, &project, "[sandbox]\nmode = \"require\"");
        refused.assert_refused("sandbox_unavailable");
        assert!(refused.text_at("/message").contains("protect"), "{}", refused.text);
        assert!(refused.text_at("/hint").contains("`sandbox.protect`"), "{}", refused.text);
        assert!(!project.at("trace-of-a-run").exists(), "nothing was run");

        let nothing_to_protect = run(user, &project, "[sandbox]\nmode = \"require\"\nprotect = []");
        nothing_to_protect.assert_counts(1, 0);
        assert_eq!(nothing_to_protect.at("/sandbox"), &json!({ "level": "full" }));
        assert!(project.at("trace-of-a-run").exists(), "the control");
    }
}

#[test]
fn what_holds_is_told_with_each_run() {
    for &user in User::all() {
        let project = Project::new().spec("tests/a.spec.ts", "test('runs', () => {});");
        let rows = [
            ("", json!({ "level": "partial", "missing": ["protect"] })),
            ("[sandbox]\nmode = \"require\"\nproject = \"read-only\"", json!({ "level": "full" })),
            (
                "[sandbox]\nmode = \"require\"\nproject = \"outputs\"\nnetwork = \"none\"",
                json!({ "level": "full" }),
            ),
            ("[sandbox]\nmode = \"off\"", json!({ "level": "absent" })),
        ];
        for (policy, told) in rows {
            let reply = run(user, &project, policy);
            reply.assert_counts(1, 0);
            assert_eq!(reply.at("/sandbox"), &told, "{policy} as {user:?}");
        }
    }
}

#[test]
fn browsers_elsewhere_are_started_once_their_directory_may_be_read() {
    for &user in User::all() {
        let project = Project::new().spec(
            "tests/a.spec.ts",
            "test('page', async ({ page }) => { await page.setContent('<h1>hello</h1>'); \
             await expect(page.locator('h1')).toHaveText('hello'); });",
        );
        let browsers = browser::directory();
        let browsers = browsers.path().to_str().unwrap();
        let run = |policy: &str| {
            let setup = Setup::in_directory(project.path()).policy(policy).user(user);
            setup.variable("PLAYWRIGHT_BROWSERS_PATH", browsers).start().run_all()
        };
        // A variable of the client widens nothing.
        assert_hint(&run(""), "`sandbox.read`", "");
        run(&format!("[sandbox]\nread = [\"{browsers}\"]")).assert_counts(1, 0);
    }
}
