//! `audit verify`: every line that was changed, removed, put in or moved is found, and what heads find besides.

use std::{collections::BTreeSet, fmt::Write as _, sync::LazyLock};

use playwright_warden::{
    audit::{
        chain::Link,
        heads::{Heads, Owners},
        verify::{Verification, Verifier, Weight},
    },
    digest::sha256,
};
use serde_json::json;

use crate::harness::{audit_log::AuditLog, project::Project, server::Setup, user::User};

const OWNER: u32 = 1_000;
const PATH: &str = "/var/log/warden/audit.jsonl";

/// A log that a server wrote.
static SAMPLE: LazyLock<Vec<String>> = LazyLock::new(|| {
    let log = AuditLog::new(User::Same);
    let project = Project::empty();
    let server = Setup::in_directory(project.path()).policy(&log.policy("[\"file\"]", "")).start();
    for directory in ["/etc", ".", "/usr", "."] {
        assert!(server.call("get_failed_tests", json!({ "workingDirectory": directory })).is_error);
    }
    drop(server);
    log.text().lines().map(str::to_owned).collect()
});

fn text(lines: &[String]) -> String {
    lines.join("\n") + "\n"
}

/// What `journalctl -o json` prints of these records, if this user sent them for this file.
fn journal(lines: &[String], uid: u32, file: &str) -> String {
    lines.iter().fold(String::new(), |mut all, line| {
        let link = Link::parse(line.as_bytes()).unwrap();
        let entry = json!({
            "_UID": uid.to_string(), "PW_CHAIN": link.chain, "PW_SEQ": link.seq.to_string(),
            "PW_HASH": sha256(line.as_bytes()), "PW_FILE": file, "MESSAGE": "x", "PW_RECORD": null,
        });
        writeln!(all, "{entry}").unwrap();
        all
    })
}

fn verified(files: &[&str], heads: Option<&str>) -> Verification {
    let owners = Owners { uids: BTreeSet::from([OWNER]), files: BTreeSet::from([PATH.into()]) };
    let heads = heads.map(|heads| Heads::read(heads.as_bytes(), &owners).unwrap());
    let mut verifier = Verifier::new(heads);
    for (number, file) in files.iter().enumerate() {
        verifier.file(number, &number.to_string(), file.as_bytes()).unwrap();
    }
    verifier.finish()
}

fn first_fault(lines: &[String], heads: Option<&str>) -> Option<(&'static str, u64)> {
    let found = verified(&[&text(lines)], heads);
    let fault = found.findings.iter().find(|finding| finding.weight == Weight::Fault);
    assert_eq!(found.sound, fault.is_none());
    fault.map(|fault| (fault.code, fault.line.unwrap_or(0)))
}

#[test]
fn a_log_that_nobody_touched_is_sound() {
    let heads = journal(&SAMPLE, OWNER, PATH);
    assert_eq!(first_fault(&SAMPLE, None), None);
    assert_eq!(first_fault(&SAMPLE, Some(&heads)), None);
    let found = verified(&[&text(&SAMPLE)], Some(&heads));
    assert_eq!((found.records, found.anchored), (SAMPLE.len() as u64, true));
    assert!(!verified(&[&text(&SAMPLE)], None).anchored);
}

#[test]
fn each_change_of_each_character_is_found() {
    let heads = journal(&SAMPLE, OWNER, PATH);
    for index in 0..SAMPLE.len() {
        for at in 0..SAMPLE[index].len() {
            let mut lines = SAMPLE.clone();
            let old = lines[index].as_bytes()[at];
            let new = if old == b'1' { "2" } else { "1" };
            lines[index].replace_range(at..=at, new);
            let what = format!("line {}, character {at}", index + 1);
            // Nothing is tied to the last line but the journal's hash of it.
            if index + 1 < SAMPLE.len() {
                assert!(first_fault(&lines, None).is_some(), "{what}");
            }
            assert!(first_fault(&lines, Some(&heads)).is_some(), "{what}, with heads");
        }
    }
}

#[test]
fn a_changed_line_is_named() {
    for index in 0..SAMPLE.len() - 1 {
        let mut lines = SAMPLE.clone();
        lines[index] = lines[index].replace("\"uid\":", "\"gid\":");
        assert_eq!(first_fault(&lines, None), Some(("changed-record", index as u64 + 1)));
    }
}

#[test]
fn removed_repeated_inserted_and_swapped_lines_are_found_at_their_place() {
    let count = SAMPLE.len();
    for index in 0..count {
        let line = index as u64 + 1;
        let mut removed = SAMPLE.clone();
        removed.remove(index);
        let expected = match index {
            // What came before may be in an older file.
            0 => None,
            last if last + 1 == count => None,
            _ => Some(("missing-records", line)),
        };
        assert_eq!(first_fault(&removed, None), expected, "line {line} removed");
        let mut repeated = SAMPLE.clone();
        repeated.insert(index, SAMPLE[index].clone());
        assert_eq!(first_fault(&repeated, None), Some(("out-of-order", line + 1)), "line {line} repeated");
        let mut inserted = SAMPLE.clone();
        inserted.insert(index, "{\"v\":1}".to_owned());
        let (code, at) = first_fault(&inserted, None).unwrap();
        assert!(
            at == line && ["no-record", "changed-record"].contains(&code) || index == 0,
            "{code} at {at}"
        );
        if index + 1 < count {
            let mut swapped = SAMPLE.clone();
            swapped.swap(index, index + 1);
            assert!(
                first_fault(&swapped, None).is_some_and(|(_, at)| at.abs_diff(line) <= 2),
                "line {line} swapped"
            );
        }
    }
    let mut appended = SAMPLE.clone();
    appended.push("{\"v\":1}".to_owned());
    assert_eq!(first_fault(&appended, None), Some(("no-record", count as u64 + 1)));
}

#[test]
fn a_removed_end_is_found_with_heads_alone() {
    let heads = journal(&SAMPLE, OWNER, PATH);
    for kept in 1..SAMPLE.len() {
        assert_eq!(first_fault(&SAMPLE[..kept], None), None);
        assert_eq!(first_fault(&SAMPLE[..kept], Some(&heads)), Some(("missing-records", 0)));
        // So is a removed beginning.
        assert_eq!(first_fault(&SAMPLE[kept..], Some(&heads)), Some(("missing-records", 0)));
    }
}

/// The same log, written anew as its owner can: consistent in itself.
fn forged(chain: Option<&str>) -> Vec<String> {
    let mut prev = "0".repeat(64);
    let forge = |line: &String| {
        let mut record: serde_json::Value = serde_json::from_str(line).unwrap();
        record["prev"] = json!(prev);
        if let Some(chain) = chain {
            record["chain"] = json!(chain);
        }
        if record["verdict"] == "deny" {
            record["subject"] = json!("/innocent");
        }
        let line = record.to_string();
        prev = sha256(line.as_bytes());
        line
    };
    SAMPLE.iter().map(forge).collect()
}

#[test]
fn a_log_that_was_written_anew_is_found_with_heads_alone() {
    let heads = journal(&SAMPLE, OWNER, PATH);
    let same_chain = forged(None);
    assert_eq!(first_fault(&same_chain, None), None);
    assert_eq!(first_fault(&same_chain, Some(&heads)), Some(("not-as-in-journal", 2)));
    let other_chain = forged(Some(&"a".repeat(32)));
    assert_eq!(first_fault(&other_chain, None), None);
    assert_eq!(first_fault(&other_chain, Some(&heads)), Some(("missing-records", 0)));
    // A file of which nothing is left is missed by its path.
    let found = verified(&[""], Some(&heads));
    assert!(!found.sound && found.findings[0].code == "missing-records", "{found:?}");
}

#[test]
fn heads_of_other_users_do_not_count_and_roots_do() {
    let truth = journal(&SAMPLE, OWNER, PATH);
    let lies = journal(&forged(None), OWNER + 1, PATH);
    let found = verified(&[&text(&SAMPLE)], Some(&format!("{truth}{lies}no json\n")));
    assert!(found.sound, "{found:?}");
    assert_eq!(found.anchoring.unwrap().ignored_entries, SAMPLE.len() as u64 + 1);
    // The control: of the owner himself they do, and so do root's.
    for uid in [OWNER, 0] {
        let lies = journal(&forged(None), uid, PATH);
        assert_eq!(first_fault(&SAMPLE, Some(&format!("{truth}{lies}"))), Some(("not-as-in-journal", 2)));
    }
    assert_eq!(first_fault(&SAMPLE, Some(&lies)), Some(("no-heads", 0)));
    assert_eq!(first_fault(&SAMPLE, Some("")), Some(("no-heads", 0)));
}

#[test]
fn heads_of_another_log_are_no_fault() {
    let other = journal(&forged(Some(&"a".repeat(32))), OWNER, "/elsewhere/audit.jsonl");
    let truth = journal(&SAMPLE, OWNER, PATH);
    assert_eq!(first_fault(&SAMPLE, Some(&format!("{truth}{other}"))), None);
}

#[test]
fn files_are_read_as_one_log_in_their_order() {
    let whole = text(&SAMPLE);
    let lines: Vec<&str> = whole.split_inclusive('\n').collect();
    for cut in 1..lines.len() {
        let (older, newer) = (lines[..cut].concat(), lines[cut..].concat());
        assert!(verified(&[&older, &newer], None).sound);
        assert!(!verified(&[&newer, &older], None).sound);
    }
    // Chains that nothing ties together are told.
    let other = text(&forged(Some(&"a".repeat(32))));
    let found = verified(&[&whole, &other], None);
    assert_eq!((found.sound, found.chains.len(), found.findings[0].code), (true, 2, "new-chain"));
    let within = verified(&[&format!("{whole}{other}")], None);
    assert_eq!((within.sound, within.findings[0].code), (false, "another-chain"));
}

#[test]
fn lines_without_end_take_no_memory_and_are_no_records() {
    let junk = "x".repeat(5_000_000);
    let found = verified(&[&format!("{}{junk}\n{}", text(&SAMPLE[..3]), text(&SAMPLE[3..]))], None);
    let fault = &found.findings[0];
    assert_eq!((found.sound, fault.code, fault.line), (false, "no-record", Some(4)));
}
