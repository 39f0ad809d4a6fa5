//! The arguments of tools: strict where a dropped one would change what runs, lenient where it is safe, and refused in
//! words that a model can act on.

use std::fmt::Write as _;

use playwright_warden::{
    path::handle::DirHandle,
    policy::{
        request::{
            Request,
            run_tests::{RunOptions, RunTests, Workers},
        },
        tool::ToolName,
    },
};
use serde_json::{Value, json};

use crate::harness::{project::Project, server::Setup, wire::Wire};

fn parsed(arguments: &Value) -> RunTests {
    let project = Project::empty();
    let launch = DirHandle::open(project.path()).unwrap();
    let given = arguments.as_object().unwrap().clone();
    match Request::parse(ToolName::RunTests, given, &launch) {
        Ok(Request::RunTests(request)) => *request,
        other => panic!("{arguments}: {other:?}"),
    }
}

#[test]
fn null_is_absent() {
    let absent = parsed(
        &json!({ "project": null, "workers": null, "tag": null, "workingDirectory": null, "spec": null }),
    );
    assert_eq!(
        (absent.projects, absent.options, absent.spec.is_none()),
        (vec![], RunOptions::default(), true)
    );
}

#[test]
fn string_is_an_array_of_one() {
    assert_eq!(parsed(&json!({ "project": "firefox" })).projects, ["firefox"]);
    assert_eq!(parsed(&json!({ "project": ["firefox", "webkit"] })).projects, ["firefox", "webkit"]);
}

#[test]
fn whole_number_is_an_integer_however_it_is_written() {
    for (written, number) in [(json!(5), 5), (json!(5.0), 5), (json!(5e0), 5), (json!(1e3), 1_000)] {
        assert_eq!(parsed(&json!({ "retries": written })).options.retries, Some(number), "{written}");
    }
    assert_eq!(parsed(&json!({ "retries": 0 })).options.retries, Some(0));
}

#[test]
fn workers_are_a_count_or_a_share() {
    let processors = std::thread::available_parallelism().unwrap().get() as u64;
    let share = |share| Workers::Percent { share, processors };
    let table = [
        (json!(3), Workers::Count(3)),
        (json!(3.0), Workers::Count(3)),
        (json!("50%"), share(50)),
        (json!("100%"), share(100)),
    ];
    for (written, workers) in table {
        assert_eq!(parsed(&json!({ "workers": written })).options.workers, Some(workers), "{written}");
    }
}

/// Arguments that are refused, each with the tool.
fn refused() -> Vec<(&'static str, Value)> {
    let run = [
        // Unknown names: near a known one, near none, of another tool.
        json!({ "Workers": 2 }),
        json!({ "working_directory": "." }),
        json!({ "projects": ["a"] }),
        json!({ "retry": 1 }),
        json!({ "reporter": "html" }),
        json!({ "limit": 1 }),
        // Wrong types.
        json!({ "workingDirectory": 5 }),
        json!({ "spec": ["a.spec.ts"] }),
        json!({ "headed": "yes" }),
        json!({ "wait": 1 }),
        json!({ "project": { "name": "a" } }),
        json!({ "project": ["a", 5] }),
        json!({ "env": ["A=1"] }),
        json!({ "env": { "A": 1 } }),
        // Numbers out of range, or none.
        json!({ "workers": 0 }),
        json!({ "workers": 1.5 }),
        json!({ "workers": "2" }),
        json!({ "workers": "0%" }),
        json!({ "workers": "101%" }),
        json!({ "workers": "-5%" }),
        json!({ "retries": -1 }),
        json!({ "retries": 1e300 }),
        json!({ "maxFailures": 0 }),
        json!({ "timeout": 0 }),
        json!({ "timeout": "60s" }),
        // Words that are no choice.
        json!({ "browser": "chromium" }),
        json!({ "trace": "always" }),
        json!({ "updateSnapshots": true }),
        json!({ "include": "passed" }),
        // Nothing, where something is meant: it would run everything.
        json!({ "spec": "" }),
        json!({ "tag": "" }),
        json!({ "project": "" }),
        json!({ "project": [] }),
        json!({ "project": ["a", ""] }),
        json!({ "workingDirectory": "" }),
        // What would mean something else on a command line.
        json!({ "spec": "--config=other.ts" }),
        json!({ "spec": "../other/a.spec.ts" }),
        json!({ "spec": "a\u{0}b" }),
        json!({ "workingDirectory": "a\u{0}b" }),
        json!({ "project": "a\nb" }),
        json!({ "tag": "a\u{1b}[31m" }),
        json!({ "browser": "Firefox", "project": "a" }),
        json!({ "wait": false }),
    ];
    let read = [
        json!({ "run_id": "r1" }),
        json!({ "spec": "a.spec.ts" }),
        json!({ "limit": 0 }),
        json!({ "limit": "all" }),
        json!({ "cursor": "last" }),
        json!({ "cursor": 5 }),
        json!({ "include": "skipped" }),
        json!({ "runId": "" }),
        json!({ "runId": "r1" }),
    ];
    let run = run.into_iter().map(|arguments| ("run_tests", arguments));
    let read = read.into_iter().map(|arguments| ("get_failed_tests", arguments));
    let policy = [("get_policy", json!({ "workingDirectory": "." }))];
    run.chain(read).chain(policy).collect()
}

#[test]
fn refusals_name_the_argument_and_what_would_be_right() {
    let project = Project::empty();
    let mut wire = Wire::legacy(&Setup::in_directory(project.path()));
    // Good arguments come further: to a project that has no Playwright.
    assert!(wire.call("run_tests", &json!({ "workers": 2 })).to_string().contains("playwright_not_found"));

    let mut told = String::new();
    for (tool, arguments) in refused() {
        let result = wire.call(tool, &arguments);
        let error: Value = serde_json::from_str(result["content"][0]["text"].as_str().unwrap()).unwrap();
        let (code, message) = (&error["code"], error["message"].as_str().unwrap());
        writeln!(told, "{tool} {arguments}\n    {}: {message}", code.as_str().unwrap()).unwrap();
        if let Some(hint) = error["hint"].as_str() {
            writeln!(told, "    {hint}").unwrap();
        }
        assert_eq!(
            (&result["isError"], code),
            (&json!(true), &json!("invalid_arguments")),
            "{arguments}: {error}"
        );
        let name = arguments.as_object().unwrap().keys().next().unwrap();
        assert!(message.contains(&format!("`{name}")), "the argument is named: {message}");
    }
    insta::assert_snapshot!(told);
}
