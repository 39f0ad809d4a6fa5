//! The audit log holds each decision before anything is done, in lines that nobody else can shape.

use std::{collections::BTreeSet, fs};

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::harness::{
    audit_log::AuditLog,
    project::Project,
    server::Setup,
    user::User,
    wire::{Wire, initialize},
};

const FILE: &str = "[\"file\"]";

/// A call that is denied, and whose answer names its decision.
fn denied() -> Value {
    json!({ "workingDirectory": "/etc" })
}

fn fields(record: &Value) -> Vec<&str> {
    record.as_object().unwrap().keys().map(String::as_str).collect()
}

#[test]
fn each_call_leaves_its_decision_and_its_end() {
    for user in User::all() {
        let log = AuditLog::new(*user);
        let project = Project::new().spec("tests/a.spec.ts", "test('passes', () => {});");
        let server = Setup::in_directory(project.path()).policy(&log.policy(FILE, "")).user(*user).start();
        server.run_all().assert_counts(1, 0);
        let reply = server.call("run_tests", denied());
        let decision = reply.assert_refused("policy_denied").text_at("/decision").to_owned();
        server.run(json!({ "spec": "-c evil" })).assert_refused("invalid_arguments");
        server.run(json!({ "spec": "none.spec.ts" })).assert_refused("spec_not_found");
        server.run(json!({ "workingDirectory": "none" })).assert_refused("no_such_directory");
        assert!(!server.call("get_failed_tests", json!({})).is_error);
        drop(server);
        let records = log.records();
        let told: Vec<String> = records
            .iter()
            .map(|record| {
                let of = |name: &str| record[name].as_str().unwrap_or("-").to_owned();
                ["event", "tool", "verdict", "rule", "outcome", "error"].map(of).join(" ")
            })
            .collect();
        let expected = [
            "started - - - - -",
            "decided run_tests allow dirs.allow - -",
            "ended - - - completed -",
            "decided run_tests deny dirs.allow - -",
            "decided run_tests deny builtin.arguments - -",
            "decided run_tests allow dirs.allow - -",
            "ended - - - not_run spec_not_found",
            "decided run_tests allow dirs.allow - -",
            "ended - - - not_run no_such_directory",
            "decided get_failed_tests allow dirs.allow - -",
            "ended - - - answered -",
            "stopped - - - - -",
        ];
        assert_eq!(told, expected, "as {user:?}");
        let run = &records[2];
        assert_eq!((&run["exit_code"], run["run"].is_string()), (&json!(0), true), "{run}");
        assert!(run["report_bytes"].as_u64() > Some(0) && run["duration_ms"].as_u64() > Some(0), "{run}");
        assert!(run["sandbox"]["level"].is_string(), "{run}");
        assert_eq!(run["decision"], records[1]["decision"]);
        assert_eq!(records[1]["sandbox"]["mode"], "best-effort");
        assert_eq!(records[1]["client"]["claimed"], true);
        assert_eq!(records[3]["decision"], decision);
        assert_eq!(records[3]["subject"], "/etc");
        assert!(records[3]["place"].as_str().is_some_and(|place| !place.is_empty()), "{}", records[3]);
        assert_eq!(records[4]["arguments"], json!({ "spec": "-c evil" }));
        log.assert_sound(&[&log.path()]);
    }
}

#[test]
fn nothing_is_written_without_a_sink() {
    let log = AuditLog::new(User::Same);
    let project = Project::empty();
    let server = Setup::in_directory(project.path()).policy(&log.policy("[]", "")).start();
    server.call("run_tests", denied()).assert_refused("policy_denied");
    assert!(!log.path().exists());
}

#[test]
fn values_of_variables_and_unwanted_arguments_are_not_written() {
    let call =
        json!({ "env": { "API": "hunter2hunter2" }, "tag": "@smoke", "environment": ["A=hunter2hunter2"] });
    for (args, expected) in [
        ("args = \"redacted\"", json!({ "env": ["API"], "tag": "@smoke", "environment": "[withheld]" })),
        ("args = \"none\"", Value::Null),
    ] {
        let log = AuditLog::new(User::Same);
        let project = Project::empty();
        let server = Setup::in_directory(project.path()).policy(&log.policy(FILE, args)).start();
        server.run(call.clone()).assert_refused("invalid_arguments");
        let decided = &log.of_event("decided")[0];
        assert_eq!(decided["arguments"], expected, "{args}");
        assert!(!log.text().contains("hunter2"), "{args}");
    }
}

#[test]
fn no_text_of_a_client_can_shape_a_line() {
    let forged = "\n{\"v\":1,\"event\":\"decided\",\"verdict\":\"allow\"}\n";
    let texts = [
        "\r\n",
        "\u{1b}[2K\u{1b}[1A",
        "\u{9b}31m",
        "\u{202e}evil",
        "\u{2028}\u{2029}",
        "\u{7f}",
        "\u{e0041}",
        forged,
    ];
    let log = AuditLog::new(User::Same);
    let project = Project::empty();
    let policy = log.policy(FILE, "");
    for text in texts {
        let mut wire = Wire::silent(&Setup::in_directory(project.path()).policy(&policy));
        let mut opening = initialize("2025-11-25");
        opening["clientInfo"] = json!({ "name": text, "version": text });
        wire.ask("initialize", opening);
        wire.say(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        wire.call(
            "run_tests",
            &json!({ "workingDirectory": format!("/etc/{text}"), "project": format!("a{text}") }),
        );
        wire.call("run_tests", &json!({ "workingDirectory": format!("/etc/{text}") }));
        wire.ask("tools/call", json!({ "name": format!("no{text}"), "arguments": { text: text } }));
        wire.close();
    }
    // Each is read as a line of its own, and nothing else is.
    let decided = log.of_event("decided");
    assert_eq!(decided.len(), texts.len() * 3);
    for (calls, text) in decided.chunks(3).zip(texts) {
        assert!(
            calls.iter().all(|call| call["verdict"] == "deny" && call["client"]["name"] == text),
            "{calls:?}"
        );
        assert_eq!(calls[1]["arguments"]["workingDirectory"], format!("/etc/{text}"));
        assert_eq!(calls[2]["rule"], "builtin.tools");
    }
    log.assert_sound(&[&log.path()]);
    let shown =
        Setup::in_directory(project.path()).finish(&["audit", "show", log.path().to_str().unwrap()], "");
    let seen = |c: char| {
        c == '\n' || (!c.is_control() && !('\u{2028}'..='\u{202e}').contains(&c) && c < '\u{e0000}')
    };
    assert!(shown.stdout.chars().all(seen), "{}", shown.stdout);
    assert_eq!(shown.stdout.lines().count(), 2 * (1 + decided.len()));
    assert!(shown.stdout.lines().all(|line| line.chars().count() <= 110), "{}", shown.stdout);
}

#[test]
fn a_line_has_at_most_8_kib_whatever_the_arguments() {
    let log = AuditLog::new(User::Same);
    let project = Project::empty();
    let server = Setup::in_directory(project.path()).policy(&log.policy(FILE, "")).start();
    for arguments in [
        json!({ "spec": "\u{9b}".repeat(40_000) }),
        json!({ "project": vec!["\u{1}".repeat(2_000); 10] }),
        json!({ "workingDirectory": "/etc/".to_owned() + &"\u{e9}/".repeat(1_300) }),
    ] {
        assert!(server.run(arguments).is_error);
    }
    let decided = log.of_event("decided");
    assert_eq!(decided.len(), 3);
    let cut: Vec<bool> = decided.iter().map(|record| record["truncated"] == true).collect();
    // The first has one long text, which is cut before it could make the line too long.
    assert_eq!(cut, [false, true, true]);
    log.assert_sound(&[&log.path()]);
}

#[test]
fn a_killed_server_loses_no_decision_that_was_answered() {
    let log = AuditLog::new(User::Same);
    let project = Project::empty();
    let setup = Setup::in_directory(project.path()).policy(&log.policy(FILE, ""));
    let mut answered = BTreeSet::new();
    for round in 0..25 {
        let mut wire = Wire::legacy(&setup);
        for _ in 0..20 {
            wire.begin("tools/call", json!({ "name": "run_tests", "arguments": denied() }));
        }
        // Killed after more or fewer of the answers, while it writes the rest.
        for _ in 0..round % 10 {
            let answer = wire.next();
            let text = answer["result"]["content"][0]["text"].as_str().unwrap().to_owned();
            let reply: Value = serde_json::from_str(&text).unwrap();
            answered.insert(reply["decision"].as_str().unwrap().to_owned());
        }
        wire.signal(Signal::KILL);
        let (_, rest) = wire.end();
        for answer in rest {
            let text = answer["result"]["content"][0]["text"].as_str().unwrap();
            let reply: Value = serde_json::from_str(text).unwrap();
            answered.insert(reply["decision"].as_str().unwrap().to_owned());
        }
    }
    let text = log.text();
    assert!(answered.len() > 50);
    for decision in &answered {
        assert!(text.contains(decision.as_str()), "{decision} was answered and is not in the log");
    }
    log.assert_sound(&[&log.path()]);
}

#[test]
fn show_joins_each_decision_with_its_end() {
    let log = AuditLog::new(User::Same);
    let project = Project::empty();
    let server = Setup::in_directory(project.path()).policy(&log.policy(FILE, "")).start();
    server.call("run_tests", denied()).assert_refused("policy_denied");
    server.call("get_failed_tests", json!({})).assert_refused("report_not_found");
    drop(server);
    let path = log.path();
    let show = |more: &[&str]| {
        let mut arguments = vec!["audit", "show", path.to_str().unwrap()];
        arguments.extend(more);
        Setup::in_directory(project.path()).finish(&arguments, "")
    };
    let human = show(&[]);
    let rows: Vec<&str> = human.stdout.lines().collect();
    assert_eq!(rows.len(), 6, "a title and two decisions in two lines each: {human:?}");
    assert!(
        rows[0].starts_with("WHEN") && rows[2].contains(" deny ") && rows[5].contains("report_not_found"),
        "{human:?}"
    );
    let json = show(&["--format", "json", "--last", "1"]).json();
    assert_eq!(json["format_version"], "1.0");
    assert_eq!(json["earlier_decisions"], 1);
    assert_eq!(json["decisions"][0]["decided"]["decision"], json["decisions"][0]["ended"]["decision"]);
    // A file that is none is told, not waited for.
    let fifo = log.at("fifo");
    rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, rustix::fs::Mode::RUSR, 0)
        .unwrap();
    for (command, file) in [("show", &fifo), ("verify", &fifo), ("verify", &log.at("none"))] {
        let finished =
            Setup::in_directory(project.path()).finish(&["audit", command, file.to_str().unwrap()], "");
        assert_eq!(finished.status, Some(2), "{finished:?}");
        let json = Setup::in_directory(project.path())
            .finish(&["audit", command, file.to_str().unwrap(), "--format", "json"], "");
        assert_eq!((json.status, json.stderr.as_str()), (Some(2), ""), "{json:?}");
        assert!(json.json()["error"].is_string(), "{json:?}");
    }
}

#[test]
fn show_takes_the_files_of_one_log_and_an_empty_one_has_no_records() {
    let log = AuditLog::new(User::Same);
    let project = Project::empty();
    let setup = || Setup::in_directory(project.path());
    let server = setup().policy(&log.policy(FILE, "")).start();
    server.call("get_failed_tests", json!({})).assert_refused("report_not_found");
    drop(server);
    let text = log.text();
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    // Between the decision and its end.
    let (first, rest) = lines.split_at(2);
    let (older, newer, empty) = (log.at("older"), log.at("newer"), log.at("empty"));
    for (path, text) in [(&older, first.concat()), (&newer, rest.concat()), (&empty, String::new())] {
        fs::write(path, text).unwrap();
    }
    let show = |files: &[&std::path::Path]| {
        let mut arguments = vec!["audit", "show", "--format", "json"];
        arguments.extend(files.iter().map(|file| file.to_str().unwrap()));
        setup().finish(&arguments, "").json()["decisions"].take()
    };
    let whole = log.path();
    assert_eq!(show(&[&older, &newer]), show(&[&whole]));
    assert_eq!(show(&[&whole])[0]["ended"]["error"], "report_not_found");
    assert_eq!(show(&[&older])[0]["ended"], Value::Null, "the control");
    for command in ["show", "verify"] {
        let finished = setup().finish(&["audit", command, empty.to_str().unwrap()], "");
        // A log without records is nothing to show, and nothing that is sound.
        assert_eq!(finished.status, Some(i32::from(command == "verify")), "{finished:?}");
        assert!(finished.stdout.contains("no record"), "{command}: {finished:?}");
        let finished = setup().finish(&["audit", command, whole.to_str().unwrap()], "");
        assert!(!finished.stdout.contains("no record"), "the control: {finished:?}");
    }
}

#[test]
fn documented_records_are_those_of_the_product() {
    let log = AuditLog::new(User::Same);
    let project = Project::new().spec("tests/a.spec.ts", "test('passes', () => {});");
    let server = Setup::in_directory(project.path()).policy(&log.policy(FILE, "")).start();
    server.run(json!({ "spec": "tests/a.spec.ts" })).assert_counts(1, 0);
    drop(server);
    let text =
        fs::read_to_string(std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/audit.md")).unwrap();
    let block = text.split("```json\n").nth(1).unwrap().split("```").next().unwrap();
    let documented: Vec<Value> =
        serde_json::Deserializer::from_str(block).into_iter().collect::<Result<_, _>>().unwrap();
    let written: Vec<Value> = log.records();
    let (written, documented) = (&written[1..3], &documented[..]);
    assert_eq!(written.len(), documented.len());
    for (written, documented) in written.iter().zip(documented) {
        assert_eq!(fields(written), fields(documented));
    }
}
