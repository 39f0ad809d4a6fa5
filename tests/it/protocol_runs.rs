//! The wire while a run goes on: what is answered meanwhile, and what is left when either side ends it.

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::harness::{
    leftovers::{assert_none_naming, await_that, naming},
    project::Project,
    server::Setup,
    wire::Wire,
};

/// A test that waits without an end, after it has started a daemon whose arguments name the project.
const WAITS: &str = "await new Promise(() => {});";
/// One that does not even look up.
const SPINS: &str = "for (;;) {}";

fn endless(how: &str) -> Project {
    let statements = format!(
        "import {{ spawn }} from 'node:child_process';
         import {{ writeFileSync }} from 'node:fs';
         test('has no end', async () => {{
           test.setTimeout(0);
           const daemon = ['-e', 'setInterval(() => {{}}, 1000)', process.cwd()];
           spawn(process.execPath, daemon, {{ detached: true, stdio: 'ignore' }}).unref();
           writeFileSync('started', '');
           {how}
         }});"
    );
    Project::new().spec("tests/endless.spec.ts", &statements)
}

/// Begins a run and waits until its test is at work.
fn begin(wire: &mut Wire, project: &Project) -> u64 {
    drop(std::fs::remove_file(project.at("started")));
    let call = wire.begin("tools/call", json!({ "name": "run_tests", "arguments": {} }));
    await_that("the test has started", || project.at("started").exists());
    assert!(
        naming(project.path()).len() >= 3,
        "command line, worker and daemon: {:?}",
        naming(project.path())
    );
    call
}

fn structured(answer: &Value) -> &Value {
    &answer["result"]["structuredContent"]
}

#[test]
fn end_of_input_ends_the_run_and_then_the_server() {
    let project = endless(WAITS);
    let mut wire = Wire::legacy(&Setup::in_directory(project.path()));
    let call = begin(&mut wire, &project);
    let (status, rest) = wire.close();
    // The server has waited for the run, so nothing is left when it is gone, and the answer came all the same.
    assert_eq!(naming(project.path()), [""; 0]);
    assert_eq!(status.code(), Some(0));
    let [answer] = rest.as_slice() else { panic!("{rest:?}") };
    assert_eq!((&answer["id"], &structured(answer)["state"]), (&json!(call), &json!("cancelled")));
}

#[test]
fn end_of_input_does_not_wait_for_a_run_that_ignores_it() {
    let project = endless(SPINS);
    let mut wire = Wire::legacy(&Setup::in_directory(project.path()).policy("limits.grace_seconds = 8"));
    begin(&mut wire, &project);
    let (status, rest) = wire.close();
    // The server is gone before the grace is over; the supervisor sees to the rest.
    assert!(!naming(project.path()).is_empty());
    assert_eq!((status.code(), rest), (Some(0), vec![]));
    assert_none_naming(project.path());
}

#[test]
fn signal_that_ends_the_server_ends_the_run() {
    let project = endless(WAITS);
    for signal in [Signal::TERM, Signal::INT, Signal::HUP, Signal::KILL] {
        let mut wire = Wire::legacy(&Setup::in_directory(project.path()));
        begin(&mut wire, &project);
        wire.signal(signal);
        drop(wire.end());
        assert_none_naming(project.path());
    }
}

#[test]
fn cancelled_call_ends_its_run_and_is_not_answered() {
    let project = endless(WAITS);
    let mut wire = Wire::legacy(&Setup::in_directory(project.path()));
    let call = begin(&mut wire, &project);
    let cancel = json!({ "requestId": call, "reason": "the user pressed escape" });
    wire.say(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": cancel }));
    assert_none_naming(project.path());
    wire.assert_alive_and_quiet();
    // The place of the run is free again; a call that names no file tells, and starts nothing.
    let nothing = json!({ "spec": "nothing.spec.ts" });
    await_that("the place is free", || {
        let refused = wire.call("run_tests", &nothing);
        refused["content"][0]["text"].as_str().unwrap().contains("spec_not_found")
    });
    let call = begin(&mut wire, &project);
    wire.say(
        &json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": call } }),
    );
    assert_none_naming(project.path());
    wire.assert_alive_and_quiet();
}

#[test]
fn other_calls_are_answered_while_a_run_goes_on() {
    let project = endless(WAITS);
    let mut wire = Wire::legacy(&Setup::in_directory(project.path()));
    begin(&mut wire, &project);
    assert_eq!(wire.ask("ping", json!({}))["result"], json!({}));
    assert_eq!(wire.call("get_failed_tests", &json!({}))["isError"], true);
    let second = wire.call("run_tests", &json!({}));
    assert!(second["content"][0]["text"].as_str().unwrap().contains("run_active"), "{second}");
    assert!(!naming(project.path()).is_empty());
    drop(wire.close());
}

#[test]
fn what_tests_print_never_reaches_the_protocol() {
    let flood = r#"
        const answer = '{"jsonrpc":"2.0","id":1,"result":{}}\n';
        test('floods', () => {
          for (let line = 0; line < 20_000; line++) { process.stdout.write(answer); process.stderr.write(answer); }
          console.log('x'.repeat(1_000_000));
          require('node:fs').writeSync(1, answer.repeat(1000));
          require('node:child_process').execFileSync('/bin/sh', ['-c', 'echo loose; echo loose >&2'], { stdio: 'inherit' });
        });"#;
    let project = Project::new().spec("tests/flood.spec.ts", flood);
    let mut wire = Wire::legacy(&Setup::in_directory(project.path()));
    // Each line that comes must be a message, and the first one is the answer.
    let answer = wire.ask("tools/call", json!({ "name": "run_tests", "arguments": { "include": "all" } }));
    let counts = &structured(&answer)["stats"];
    assert_eq!((&counts["passed"], &counts["failed"]), (&json!(1), &json!(0)), "{answer}");
    assert!(answer["result"]["content"][0]["text"].as_str().unwrap().len() <= 20_000);
    wire.assert_alive_and_quiet();
    let (status, rest) = wire.close();
    assert_eq!((status.code(), rest), (Some(0), vec![]));
}
