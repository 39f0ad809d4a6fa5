//! Processes that test tools leave behind or hang on: whatever ends a run, nothing of it is left, and the server lives on.

use std::{
    fs,
    net::TcpListener,
    os::unix::{fs::symlink, net::UnixListener},
    path::Path,
};

use rustix::{
    fs::{CWD, FileType, Mode, mknodat},
    process::{Pid, Signal, kill_process},
};
use serde_json::json;

use crate::harness::{
    leftovers::{self, assert_none_of},
    project::Project,
    server::{Reply, Server, Setup},
    user::User,
};

/// A test that says that it is there and then holds its worker, which hears nothing any more.
const STUCK: &str = "import fs from 'fs';
test('stuck', () => {
    fs.writeFileSync('stuck', String(process.pid));
    for (;;) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1_000);
});";
/// A test that waits for a file.
const WAITING: &str = "import fs from 'fs';
test('waits', async () => {
    fs.writeFileSync('waiting', '');
    while (!fs.existsSync('go')) await new Promise(done => setTimeout(done, 20));
});";
/// A web server that ignores every signal that it can, in a process group of its own as Playwright starts it.
const WEB_SERVER: &str = "
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => {});
require('http').createServer((_, answer) => answer.end('ok')).listen(Number(process.argv[2]), '127.0.0.1');";

/// A port that was free just now.
fn free_port() -> u16 {
    TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap().port()
}

/// A project with a web server and a test that is stuck.
fn stuck(port: u16) -> Project {
    let server = format!("webServer: {{ command: 'node server.cjs {port}', port: {port} }}");
    Project::new().config(&server).file("server.cjs", WEB_SERVER).spec("tests/a.spec.ts", STUCK)
}

fn fifo(path: &Path) {
    mknodat(CWD, path, FileType::Fifo, Mode::from_raw_mode(0o666), 0).unwrap();
}

/// Fails unless the server still answers.
fn assert_alive(server: &Server) {
    assert!(server.tools().len() >= 2);
}

#[test]
fn a_run_that_hit_its_timeout_leaves_no_process_and_no_port() {
    let port = free_port();
    let project = stuck(port);
    let server = Setup::in_directory(project.path())
        .policy("[dirs]\nallow = [\".\"]\n[limits]\ngrace_seconds = 1")
        .start();
    let run = server.run(json!({ "timeout": 15_000 }));
    run.assert_refused("run_timed_out");
    assert!(run.text_at("/message").contains("15000 ms"), "{}", run.text);
    assert_eq!((run.at("/result/state"), run.at("/result/ok")), (&json!("timedOut"), &json!(false)));
    assert!(run.at("/result/runId").is_string(), "{}", run.text);
    assert!(project.at("stuck").exists(), "the test was on its way");
    assert_none_of(project.path(), Some(server.pid()));
    drop(TcpListener::bind(("127.0.0.1", port)).expect("the port is free again"));
    assert_alive(&server);
}

#[test]
fn a_run_that_hit_its_timeout_tells_what_there_is() {
    let project = Project::new().spec(
        "tests/a.spec.ts",
        "test('passes', () => {});\ntest('waits', async () => { await new Promise(() => {}) });",
    );
    let run = Server::start(project.path()).run(json!({ "timeout": 15_000, "include": "all" }));
    run.assert_refused("run_timed_out");
    assert_eq!(run.at("/result/state"), "timedOut", "{}", run.text);
    let stats = run.at("/result/stats");
    assert_eq!((&stats["passed"], &stats["interrupted"]), (&json!(1), &json!(1)), "{}", run.text);
    assert_eq!(run.at("/result/tests/1/title"), "waits", "{}", run.text);
}

#[test]
fn a_timeout_of_weeks_is_no_timeout_of_nothing() {
    let project = Project::new().spec("tests/a.spec.ts", "test('good', () => {});");
    let policy = "[dirs]\nallow = [\".\"]\n[limits]\nrun_seconds = \"unlimited\"";
    let server = Setup::in_directory(project.path()).policy(policy).start();
    for timeout in [3_000_000_000, u64::MAX] {
        server.run(json!({ "timeout": timeout })).assert_counts(1, 0);
    }
}

/// The answer waits for the run, not for who holds its output, and what was left behind is gone.
#[test]
fn a_detached_child_that_holds_the_output_neither_delays_nor_survives() {
    let setup = "import { spawn } from 'child_process';
        export default () => {
            const stay = (command: string) => spawn('/bin/sh', ['-c', command], { detached: true, stdio: 'inherit' }).unref();
            stay('exec sleep 600');
            stay('setsid sleep 600 & exit');
            stay('trap \"\" INT TERM HUP; while :; do sleep 600; done');
        };";
    let project = Project::new()
        .config("globalSetup: './setup.ts'")
        .file("setup.ts", setup)
        .spec("tests/a.spec.ts", "test('good', () => {});");
    let server = Server::start(project.path());
    server.run_all().assert_counts(1, 0);
    assert_none_of(project.path(), Some(server.pid()));
}

#[test]
fn when_the_client_or_the_server_is_gone_so_are_the_processes() {
    // Whoever may become another user tries it as one.
    let other = *User::all().last().unwrap();
    for (way, user) in
        [("client", other), ("SIGTERM", User::Same), ("SIGKILL", other), ("SIGKILL", User::Same)]
    {
        let project = stuck(free_port());
        let server = Setup::in_directory(project.path()).user(user).start();
        let pid = server.pid();
        let pending = server.begin("run_tests", json!({}));
        server.until("the test is stuck", || project.at("stuck").exists());
        assert!(leftovers::of(project.path()).len() > 3, "the control: there are processes to end");
        let signal = |signal| {
            let pid = Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
            kill_process(pid, signal).unwrap();
        };
        match way {
            "SIGTERM" => signal(Signal::TERM),
            "SIGKILL" => signal(Signal::KILL),
            _ => {}
        }
        let state = server.state();
        drop((pending, server));
        assert_none_of(project.path(), None);
        assert_none_of(&state, None);
    }
}

#[test]
fn a_cancelled_call_ends_its_run_and_gives_its_place_back() {
    let project = Project::new().spec("tests/a.spec.ts", WAITING);
    let server = Server::start(project.path());
    let pending = server.begin("run_tests", json!({}));
    server.until("the test waits", || project.at("waiting").exists());
    server.cancel(pending);
    assert_none_of(project.path(), Some(server.pid()));
    project.write("go", "");
    // The place is given back when the supervisor has reported the end.
    let again = server.run(json!({ "include": "all" }));
    again.assert_counts(1, 0);
}

#[test]
fn a_project_has_one_run_at_a_time_and_the_server_stays_awake() {
    let project = Project::new().spec("tests/a.spec.ts", WAITING);
    let other = project.neighbour("other");
    let link = project.parent().join("link");
    symlink(project.path(), &link).unwrap();
    let policy = "[dirs]\nallow = [\".\"]\n[limits]\nactive_runs = 1";
    let server = Setup::in_directory(project.parent()).policy(policy).start();
    let run = |directory: &Path| server.run(json!({ "workingDirectory": directory }));
    let first = server.begin("run_tests", json!({ "workingDirectory": "app" }));
    server.until("the test waits", || project.at("waiting").exists());

    assert_alive(&server);
    let meanwhile = server.call("get_failed_tests", json!({ "workingDirectory": "app" }));
    meanwhile.assert_refused("report_not_found");
    let second = run(project.path());
    second.assert_refused("run_active");
    let holder = second.text_at("/message").split('`').nth(1).unwrap().to_owned();
    run(&link).assert_refused("run_active");
    let elsewhere = run(&other);
    elsewhere.assert_refused("run_active");
    assert!(!elsewhere.text.contains(&holder), "another project's run is not named: {}", elsewhere.text);

    project.write("go", "");
    let first = server.answer(first);
    first.assert_counts(1, 0);
    assert_eq!(first.text_at("/runId"), holder, "the refusal named the run that held the place");
    run(project.path()).assert_counts(1, 0);
}

/// What a run or anybody else may leave where a report is looked for.
#[test]
fn a_results_file_that_is_no_file_is_told_and_never_waited_for() {
    let project = Project::empty().file("test-results/keep", "").file("secret.txt", "hush");
    let outside = project.neighbour("outside");
    fs::write(outside.join("results.json"), "{\"suites\": [], \"hush\": 1}").unwrap();
    let results = project.at("test-results/results.json");
    let server = Server::start(project.path());
    let ask = || server.call("get_failed_tests", json!({}));
    ask().assert_refused("report_not_found");

    let unreadable = |what: &str, words: &str| {
        let reply: Reply = ask();
        reply.assert_refused("report_unreadable");
        assert!(reply.text_at("/message").contains(words), "{what}: {}", reply.text);
        assert!(!reply.text.contains("hush"), "{what}: {}", reply.text);
        if results.is_dir() {
            fs::remove_dir(&results).unwrap();
        } else {
            fs::remove_file(&results).unwrap();
        }
        assert_alive(&server);
    };
    fifo(&results);
    unreadable("FIFO", "FIFO");
    fs::create_dir(&results).unwrap();
    unreadable("directory", "directory");
    let socket = UnixListener::bind(&results).unwrap();
    unreadable("socket", "socket");
    drop(socket);
    for target in ["/dev/zero", "/etc/passwd", "/proc/self/environ", "../../outside/results.json"] {
        symlink(target, &results).unwrap();
        unreadable(target, "leads out");
    }
    fs::hard_link(outside.join("results.json"), &results).unwrap();
    unreadable("hard link", "more than one link");
    symlink("../secret.txt", &results).unwrap();
    unreadable("a file of the project", "no Playwright JSON report");
    symlink("results.json", &results).unwrap();
    unreadable("a loop", "leads out");
    ask().assert_refused("report_not_found");
}

/// A run can do what it likes in its own directory, also to its report: then its events are what is told, and never green.
#[test]
fn a_run_that_replaces_its_own_report_is_answered() {
    let project = Project::new().spec("tests/a.spec.ts", "test('good', () => {});");
    let outside = project.neighbour("outside");
    fs::write(outside.join("report.json"), "{\"suites\": [], \"hush\": 1}").unwrap();
    let server = Server::start(project.path());
    for (act, words) in [
        ("execFileSync('mkfifo', [report])", "FIFO"),
        ("fs.mkdirSync(report)", "directory"),
        ("fs.symlinkSync('/etc/passwd', report)", "leads out"),
        ("fs.symlinkSync('../../../../../../../../../../../../../../etc/passwd', report)", "leads out"),
        ("fs.writeFileSync(report, 'root:x:0:0')", "no Playwright JSON report"),
    ] {
        let config = format!(
            "import fs from 'fs';\nimport {{ execFileSync }} from 'child_process';\n\
             const report = process.env.PLAYWRIGHT_JSON_OUTPUT_FILE!;\n\
             if (!process.env.TEST_WORKER_INDEX) process.on('exit', () => {{ fs.rmSync(report); {act} }});\n\
             export default {{ testDir: './tests' }};\n"
        );
        project.write("playwright.config.ts", &config);
        let run = server.run_all();
        assert!(!run.is_error, "{act}: {}", run.text);
        assert_eq!((run.at("/ok"), run.at("/exitCode")), (&json!(false), &json!(0)), "{act}: {}", run.text);
        assert!(run.text_at("/errors/0/message").contains(words), "{act}: {}", run.text);
        assert!(!run.text.contains("root:"), "{act}: {}", run.text);
        let again = server.call("get_failed_tests", json!({}));
        assert!(again.text_at("/incomplete").contains(words), "{act}: {}", again.text);
        assert!(!again.text.contains("root:"), "{act}: {}", again.text);
    }
}

#[test]
fn without_playwright_nothing_is_downloaded_and_what_to_do_is_said() {
    let config = "export default {};";
    let project = Project::empty().file("playwright.config.ts", config);
    let bare = Server::start(project.path()).run_all();
    bare.assert_refused("playwright_not_found");
    assert!(bare.text_at("/hint").contains("npm install --save-dev @playwright/test"), "{}", bare.text);
    let left: Vec<_> =
        fs::read_dir(project.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["playwright.config.ts"], "nothing was downloaded");

    let monorepo = Project::empty()
        .file("apps/web/playwright.config.ts", config)
        .file("e2e/playwright.config.mts", config)
        .file("node_modules/x/playwright.config.js", config);
    let elsewhere = Server::start(monorepo.path()).run_all();
    elsewhere.assert_refused("playwright_not_found");
    let message = elsewhere.text_at("/message");
    assert!(message.contains("apps/web") && message.contains("e2e"), "{message}");
    assert!(!message.contains("node_modules"), "{message}");
    assert!(elsewhere.text_at("/hint").contains("workingDirectory"), "{}", elsewhere.text);

    let pnp = Project::empty().file(".pnp.cjs", "").file("playwright.config.ts", config);
    let pnp = Server::start(pnp.path()).run_all();
    pnp.assert_refused("playwright_not_found");
    assert!(pnp.text_at("/hint").contains("nodeLinker: node-modules"), "{}", pnp.text);
}

#[test]
fn without_node_what_to_do_is_said() {
    let project = Project::new().spec("tests/a.spec.ts", "test('good', () => {});");
    for path in ["/nonexistent", "", "tests:./tests"] {
        let server = Setup::in_directory(project.path()).variable("PATH", path).start();
        let run = server.run_all();
        run.assert_refused("node_not_found");
        assert!(run.text_at("/hint").contains("PATH"), "{}", run.text);
    }
}
