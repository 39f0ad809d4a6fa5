//! The journal as a sink: its entries are heads for `audit verify`, and without it nothing is done.

use std::fs;

use serde_json::json;

use crate::harness::{audit_log::AuditLog, journal::Journal, project::Project, server::Setup, user::User};

const JOURNAL: &str = "[\"journald\"]";
const BOTH: &str = "[\"file\", \"journald\"]";

/// The uid that owns what a server of this user writes.
fn uid(log: &AuditLog) -> u32 {
    std::os::unix::fs::MetadataExt::uid(&fs::metadata(log.path()).unwrap())
}

#[test]
fn each_record_is_an_entry_with_the_hash_of_its_line() {
    for user in User::all() {
        let (log, journal, project) = (AuditLog::new(*user), Journal::new(), Project::empty());
        let policy = log.policy(BOTH, "");
        let setup =
            Setup::in_directory(project.path()).policy(&policy).user(*user).namespace(journal.namespace());
        let server = setup.start();
        server.call("run_tests", json!({ "workingDirectory": "/etc\n/x" })).assert_refused("policy_denied");
        server.call("get_failed_tests", json!({})).assert_refused("report_not_found");
        drop(server);
        let entries = journal.entries();
        let lines: Vec<String> = log.text().lines().map(str::to_owned).collect();
        assert_eq!(entries.len(), 5);
        for (entry, line) in entries.iter().zip(&lines) {
            assert_eq!(&entry["PW_RECORD"], line);
            assert_eq!(entry["PW_HASH"], playwright_warden::digest::sha256(line.as_bytes()));
            assert_eq!(entry["PW_FILE"], log.path().to_str().unwrap());
            assert_eq!(entry["SYSLOG_IDENTIFIER"], "playwright-warden");
            assert_eq!(entry["MESSAGE_ID"].len(), 32);
        }
        let of = |name: &str| entries.iter().map(|entry| entry[name].clone()).collect::<Vec<_>>();
        assert_eq!(of("PW_EVENT"), ["started", "decided", "decided", "ended", "stopped"]);
        assert_eq!(of("PRIORITY"), ["6", "5", "6", "6", "6"]);
        assert_eq!(of("PW_SEQ"), ["1", "2", "3", "4", "5"]);
        assert!(entries[1]["MESSAGE"].starts_with("deny run_tests (d"), "{}", entries[1]["MESSAGE"]);

        // The file against its heads: whole, without its end, replaced.
        let heads = journal.json(uid(&log));
        let sound = log.verify(&[&log.path()], Some(&heads));
        assert_eq!((sound.status, &sound.json()["anchored"]), (Some(0), &json!(true)), "{sound:?}");
        let cut = lines[..3].join("\n") + "\n";
        fs::write(log.path(), cut).unwrap();
        log.assert_sound(&[&log.path()]);
        log.assert_fault(&[&log.path()], Some(&heads), "missing-records");
        fs::write(log.path(), "").unwrap();
        log.assert_fault(&[&log.path()], None, "no-records");
        log.assert_fault(&[&log.path()], Some(&heads), "missing-records");
        log.assert_fault(&[&log.path()], Some(&journal.json(uid(&log) + 7)), "no-heads");
    }
}

#[test]
fn the_journal_alone_has_one_chain_a_server() {
    let (log, journal, project) = (AuditLog::new(User::Same), Journal::new(), Project::empty());
    let policy = log.policy(JOURNAL, "");
    let server = Setup::in_directory(project.path()).policy(&policy).namespace(journal.namespace()).start();
    server.call("get_failed_tests", json!({})).assert_refused("report_not_found");
    drop(server);
    assert!(!log.path().exists());
    let records: Vec<String> = journal.entries().iter().map(|entry| entry["PW_RECORD"].clone()).collect();
    fs::write(log.path(), records.join("\n")).unwrap();
    assert_eq!(log.assert_sound(&[&log.path()])["records"], 4);
}

#[test]
fn a_closed_journal_refuses_each_call_and_continue_is_the_control() {
    for (sinks, on_error, code) in [
        (JOURNAL, "deny", "audit_unavailable"),
        (BOTH, "deny", "audit_unavailable"),
        (JOURNAL, "continue", "report_not_found"),
        (BOTH, "continue", "report_not_found"),
    ] {
        let (log, journal, project) = (AuditLog::new(User::Same), Journal::closed(), Project::empty());
        let policy = log.policy(sinks, &format!("on_error = \"{on_error}\""));
        let server =
            Setup::in_directory(project.path()).policy(&policy).namespace(journal.namespace()).start();
        for _ in 0..2 {
            server.call("get_failed_tests", json!({})).assert_refused(code);
        }
        let said = server.said();
        assert_eq!(said.matches("the audit log can't be written").count(), 1, "{said}");
        assert!(!said.contains("(file `"), "it is not the file that failed: {said}");
        drop(server);
        if sinks == BOTH {
            let outcomes: Vec<_> =
                log.of_event("ended").iter().map(|record| record["outcome"].clone()).collect();
            let outcome = if on_error == "deny" { "not_audited" } else { "failed" };
            assert_eq!(outcomes, [outcome, outcome]);
            log.assert_sound(&[&log.path()]);
        }
    }
}

#[test]
fn a_journal_that_closes_or_is_full_refuses_from_then_on() {
    let (log, journal, project) = (AuditLog::new(User::Same), Journal::new(), Project::empty());
    let policy = log.policy(BOTH, "");
    let server = Setup::in_directory(project.path()).policy(&policy).namespace(journal.namespace()).start();
    server.call("get_failed_tests", json!({})).assert_refused("report_not_found");
    journal.close();
    server.call("get_failed_tests", json!({})).assert_refused("audit_unavailable");
    let full = Journal::full();
    let policy = log.policy(JOURNAL, "");
    let server = Setup::in_directory(project.path()).policy(&policy).namespace(full.namespace()).start();
    let refused = (0..2_000).any(|_| {
        server.call("run_tests", json!({ "workingDirectory": "/etc" })).text.contains("audit_unavailable")
    });
    assert!(refused, "a journal that nobody reads is full one day");
}

#[test]
fn what_the_file_did_not_take_is_no_head() {
    let (log, journal, project) = (AuditLog::new(User::Same), Journal::new(), Project::empty());
    fs::create_dir(log.path()).unwrap();
    let policy = log.policy(BOTH, "");
    let server = Setup::in_directory(project.path()).policy(&policy).namespace(journal.namespace()).start();
    server.call("get_failed_tests", json!({})).assert_refused("audit_unavailable");
    let entries = journal.entries();
    let events: Vec<&str> = entries.iter().map(|entry| entry["PW_EVENT"].as_str()).collect();
    assert_eq!(events, ["started", "decided", "ended"]);
    assert!(entries[2]["PW_RECORD"].contains("not_audited"));
    for entry in entries {
        assert!(!entry.contains_key("PW_HASH") && !entry.contains_key("PW_SEQ"), "{entry:?}");
        assert!(
            entry["MESSAGE"].starts_with("not in the audit file: ") && entry["PRIORITY"] == "4",
            "{entry:?}"
        );
    }
}
