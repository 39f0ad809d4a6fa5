//! The file of the audit log: what is taken for one, what happens to it while a server runs, and that nothing is done
//! that it does not take.

use std::{
    collections::BTreeSet,
    fs::{self, OpenOptions, Permissions},
    io::Write as _,
    os::unix::{
        fs::{MetadataExt, PermissionsExt, symlink},
        net::UnixListener,
    },
    path::Path,
    thread,
};

use rustix::fs::{CWD, FileType, FlockOperation, Mode, flock, mknodat};
use serde_json::{Value, json};

use crate::harness::{
    audit_log::AuditLog,
    namespace::Namespace,
    project::Project,
    server::{Server, Setup},
    user::{NOBODY, User},
};

const FILE: &str = "[\"file\"]";

fn denied() -> Value {
    json!({ "workingDirectory": "/etc" })
}

/// Makes a call that is denied, and gives its decision.
fn deny(server: &Server) -> String {
    server.call("run_tests", denied()).assert_refused("policy_denied").text_at("/decision").to_owned()
}

/// What stands in the file's place, and the world in which it does.
struct Obstacle {
    name: &'static str,
    make: fn(&AuditLog),
    world: Option<fn(&AuditLog) -> String>,
}

const fn obstacle(name: &'static str, make: fn(&AuditLog)) -> Obstacle {
    Obstacle { name, make, world: None }
}

fn write(path: &Path, text: &str, mode: u32) {
    fs::write(path, text).unwrap();
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

fn obstacles() -> Vec<Obstacle> {
    vec![
        obstacle("a FIFO", |log| mknodat(CWD, log.path(), FileType::Fifo, Mode::RWXU, 0).unwrap()),
        obstacle("a directory", |log| fs::create_dir(log.path()).unwrap()),
        obstacle("a socket", |log| drop(UnixListener::bind(log.path()).unwrap())),
        obstacle("a symlink", |log| {
            write(&log.at("target"), "", 0o600);
            symlink(log.at("target"), log.path()).unwrap();
        }),
        obstacle("a symlink to nothing", |log| symlink(log.at("target"), log.path()).unwrap()),
        obstacle("a hard link", |log| {
            write(&log.at("target"), "", 0o600);
            fs::hard_link(log.at("target"), log.path()).unwrap();
        }),
        obstacle("group-writable", |log| write(&log.path(), "", 0o660)),
        obstacle("writable by all", |log| write(&log.path(), "", 0o602)),
        obstacle("another text", |log| write(&log.path(), "export A=1\n", 0o600)),
        obstacle("a directory that others may write", |log| {
            fs::set_permissions(log.path().parent().unwrap(), Permissions::from_mode(0o777)).unwrap();
        }),
        Obstacle {
            name: "a device",
            make: |log| write(&log.path(), "", 0o600),
            world: Some(|log| format!("mount --bind /dev/null '{}'", log.path().display())),
        },
        Obstacle {
            name: "another user's",
            make: |log| write(&log.path(), "", 0o600),
            // Where this user is root in a namespace of his, the real root is another one.
            world: Some(|log| {
                let act = if rustix::process::geteuid().is_root() {
                    format!("chown {NOBODY}")
                } else {
                    "mount --bind /etc/passwd".to_owned()
                };
                format!("{act} '{}'", log.path().display())
            }),
        },
        Obstacle {
            name: "a read-only place",
            make: |log| write(&log.path(), "", 0o600),
            world: Some(|log| {
                let directory = log.path().parent().unwrap().display().to_string();
                format!("mount --bind '{directory}' '{directory}'\nmount -o remount,ro,bind '{directory}'")
            }),
        },
        Obstacle {
            name: "a full disk",
            make: |_| {},
            world: Some(|log| {
                let directory = log.path().parent().unwrap().display().to_string();
                format!(
                    "mount -t tmpfs -o size=4k,mode=0700 none '{directory}'\n\
                     head -c 4096 /dev/zero > '{directory}/full' || true"
                )
            }),
        },
    ]
}

#[test]
fn without_a_record_nothing_is_decided_and_continue_is_the_control() {
    for Obstacle { name, make, world } in obstacles() {
        for on_error in ["deny", "continue"] {
            let log = AuditLog::new(User::Same);
            make(&log);
            let before = fs::symlink_metadata(log.path()).ok().map(|found| (found.len(), found.mtime_nsec()));
            let project = Project::empty();
            let policy = log.policy(FILE, &format!("on_error = \"{on_error}\""));
            let mut setup = Setup::in_directory(project.path()).policy(&policy);
            if let Some(world) = world {
                setup = setup.namespace(Namespace::prepared_by(&world(&log)));
            }
            let server = setup.start();
            let replies =
                [server.call("get_failed_tests", json!({})), server.call("get_failed_tests", json!({}))];
            for reply in replies {
                if on_error == "deny" {
                    reply.assert_refused("audit_unavailable");
                    assert!(!reply.text.contains("warden-log-"), "{name}: {}", reply.text);
                } else {
                    reply.assert_refused("report_not_found");
                }
            }
            let said = server.said();
            assert_eq!(said.matches("the audit log can't be written").count(), 1, "{name}: {said}");
            assert!(said.contains("warden-log-"), "{name}: {said}");
            drop(server);
            let after = fs::symlink_metadata(log.path()).ok().map(|found| (found.len(), found.mtime_nsec()));
            assert_eq!(before, after, "{name} is as it was");
            assert!(
                fs::metadata(log.at("target")).is_ok_and(|target| target.len() == 0)
                    || !log.at("target").exists()
            );
        }
    }
}

#[test]
fn nothing_is_spawned_and_no_run_directory_made_without_a_record() {
    for user in User::all() {
        for on_error in ["deny", "continue"] {
            let log = AuditLog::new(*user);
            fs::create_dir(log.path()).unwrap();
            let project = Project::new()
                .spec("tests/a.spec.ts", "require('fs').writeFileSync('ran', ''); test('a', () => {});");
            let policy = log.policy(FILE, &format!("on_error = \"{on_error}\""));
            let server = Setup::in_directory(project.path()).policy(&policy).user(*user).start();
            let reply = server.run_all();
            if on_error == "deny" {
                reply.assert_refused("audit_unavailable");
            } else {
                reply.assert_counts(1, 0);
            }
            let went_on = on_error == "continue";
            assert_eq!((server.runs() > 0, project.at("ran").exists()), (went_on, went_on), "{on_error}");
        }
    }
}

#[test]
fn a_disk_that_fills_up_refuses_from_then_on_and_goes_on_when_there_is_room() {
    let log = AuditLog::new(User::Same);
    let directory = log.path().parent().unwrap().display().to_string();
    let world = format!(
        "mount -t tmpfs -o size=8k,mode=0700 none '{directory}'\nhead -c 4096 /dev/zero > '{directory}/rest'"
    );
    let project = Project::empty();
    let server = Setup::in_directory(project.path())
        .policy(&log.policy(FILE, ""))
        .namespace(Namespace::prepared_by(&world))
        .start();
    let mut decisions = 0;
    while !server.call("run_tests", denied()).text.contains("audit_unavailable") {
        decisions += 1;
        assert!(decisions < 10, "4 KiB hold no more");
    }
    server.call("run_tests", denied()).assert_refused("audit_unavailable");
    // What the server sees, seen through its own root.
    let inside = Path::new("/proc")
        .join(server.pid().to_string())
        .join("root")
        .join(directory.trim_start_matches('/'));
    fs::remove_file(inside.join("rest")).unwrap();
    deny(&server);
    let text = fs::read_to_string(inside.join("audit.jsonl")).unwrap();
    fs::write(log.at("copy"), &text).unwrap();
    let found = log.assert_sound(&[&log.at("copy")]);
    assert_eq!(found["records"], decisions + 2, "{text}");
    assert!(server.said().contains("is written again"), "{}", server.said());
}

#[test]
fn a_bound_of_file_sizes_refuses_and_is_no_deadly_signal() {
    for on_error in ["deny", "continue"] {
        let log = AuditLog::new(User::Same);
        let project = Project::empty();
        let server = Setup::in_directory(project.path())
            .policy(&log.policy(FILE, &format!("on_error = \"{on_error}\"")))
            .namespace(Namespace::prepared_by("ulimit -f 8"))
            .start();
        let refused =
            (0..20).filter(|_| server.call("run_tests", denied()).text.contains("audit_unavailable"));
        assert_eq!(refused.count() > 10, on_error == "deny");
        assert!(log.text().len() <= 8 * 1024);
        log.assert_sound(&[&log.path()]);
    }
}

#[test]
fn missing_directories_are_made_below_the_home_only() {
    let log = AuditLog::new(User::Same);
    let project = Project::empty();
    let policy = format!("[audit]\nsinks = {FILE}\nfile = \"{}\"", log.at("none/audit.jsonl").display());
    let server = Setup::in_directory(project.path()).policy(&policy).start();
    server.call("get_failed_tests", json!({})).assert_refused("audit_unavailable");
    assert!(!log.at("none").exists());
    fs::create_dir(log.at("none")).unwrap();
    fs::set_permissions(log.at("none"), Permissions::from_mode(0o755)).unwrap();
    server.call("get_failed_tests", json!({})).assert_refused("report_not_found");
    let made = fs::metadata(log.at("none/audit.jsonl")).unwrap();
    assert_eq!(made.permissions().mode() & 0o7777, 0o600);
}

#[test]
fn two_servers_on_one_file_make_one_chain() {
    for user in User::all() {
        let log = AuditLog::new(*user);
        let project = Project::empty();
        let policy = log.policy(FILE, "");
        let serve = || {
            let server = Setup::in_directory(project.path()).policy(&policy).user(*user).start();
            (0..120).map(|_| deny(&server)).collect::<BTreeSet<String>>()
        };
        let decisions = thread::scope(|scope| {
            let servers = [scope.spawn(serve), scope.spawn(serve)];
            servers.map(|server| server.join().unwrap())
        });
        let written: BTreeSet<String> = log
            .of_event("decided")
            .iter()
            .map(|record| record["decision"].as_str().unwrap().to_owned())
            .collect();
        assert_eq!(written.len(), 240);
        assert!(decisions.iter().flatten().all(|decision| written.contains(decision)));
        let found = log.assert_sound(&[&log.path()]);
        assert_eq!(
            (&found["chains"].as_array().unwrap().len(), &found["findings"]),
            (&1, &json!([])),
            "{found}"
        );
    }
}

#[test]
fn a_lock_that_is_never_given_back_is_an_error_and_no_hang() {
    let log = AuditLog::new(User::Same);
    let project = Project::empty();
    let server = Setup::in_directory(project.path()).policy(&log.policy(FILE, "")).start();
    deny(&server);
    let file = OpenOptions::new().append(true).open(log.path()).unwrap();
    flock(&file, FlockOperation::LockExclusive).unwrap();
    let reply = server.call("get_failed_tests", json!({}));
    assert!(reply.assert_refused("audit_unavailable").text.contains("locked"), "{}", reply.text);
    drop(file);
    deny(&server);
    log.assert_sound(&[&log.path()]);
}

#[test]
fn a_renamed_file_is_left_and_its_chain_goes_on_in_the_next() {
    let log = AuditLog::new(User::Same);
    let project = Project::empty();
    let setup = || Setup::in_directory(project.path()).policy(&log.policy(FILE, ""));
    let servers = [setup().start(), setup().start()];
    let mut files = Vec::new();
    for round in 0..3 {
        // Both have seen the file; each is the last once.
        for server in &servers {
            deny(server);
        }
        deny(&servers[round % 2]);
        let old = log.at(&format!("audit.jsonl.{round}"));
        fs::rename(log.path(), &old).unwrap();
        files.push(old);
    }
    for server in &servers {
        deny(server);
    }
    files.push(log.path());
    assert_eq!(log.records()[0]["event"], "continued");
    assert_eq!(log.records()[0]["reason"], "renamed");
    let files: Vec<&Path> = files.iter().map(AsRef::as_ref).collect();
    let found = log.assert_sound(&files);
    assert_eq!(
        (&found["chains"].as_array().unwrap().len(), &found["records"]),
        (&1, &json!(2 + 11 + 3)),
        "{found}"
    );
    // The order is the chain's, and a file that is left out is missed.
    log.assert_fault(&[files[1], files[0]], None, "out-of-order");
    log.assert_fault(&[files[0], files[2], files[3]], None, "missing-records");
    let alone = log.assert_sound(&files[2..]);
    assert_eq!(alone["findings"][0]["code"], "starts-late");
}

#[test]
fn what_is_taken_from_the_file_while_a_server_runs_is_found() {
    type Tamper = fn(&AuditLog);
    let rows: [(&str, Tamper, Option<&str>, &str); 6] = [
        ("removed", |log| fs::remove_file(log.path()).unwrap(), None, "removed"),
        ("emptied", |log| drop(fs::File::create(log.path()).unwrap()), None, "truncated"),
        (
            "the end cut off",
            |log| rewrite(log, |lines| drop(lines.pop())),
            Some("missing-records"),
            "truncated",
        ),
        (
            "the last line changed in place",
            |log| rewrite(log, |lines| change(lines.last_mut().unwrap())),
            Some("changed-record"),
            "rewritten",
        ),
        (
            "replaced by a copy without its end",
            |log| replace(log, |lines| drop(lines.pop())),
            Some("missing-records"),
            "removed",
        ),
        (
            "replaced by a copy with a changed end",
            |log| replace(log, |lines| change(lines.last_mut().unwrap())),
            Some("changed-record"),
            "removed",
        ),
    ];
    for (name, tamper, fault, reason) in rows {
        let log = AuditLog::new(User::Same);
        let project = Project::empty();
        let server = Setup::in_directory(project.path()).policy(&log.policy(FILE, "")).start();
        for _ in 0..4 {
            deny(&server);
        }
        tamper(&log);
        deny(&server);
        let continued = log.of_event("continued");
        assert_eq!(continued.len(), 1, "{name}");
        assert_eq!((&continued[0]["reason"], &continued[0]["seq"]), (&json!(reason), &json!(6)), "{name}");
        match fault {
            Some(fault) => drop(log.assert_fault(&[&log.path()], None, fault)),
            None => {
                assert_eq!(log.assert_sound(&[&log.path()])["findings"][0]["code"], "starts-late", "{name}");
            }
        }
    }
}

#[test]
fn an_end_that_is_cut_off_before_the_file_is_renamed_is_missed() {
    let log = AuditLog::new(User::Same);
    let project = Project::empty();
    let server = Setup::in_directory(project.path()).policy(&log.policy(FILE, "")).start();
    for _ in 0..4 {
        deny(&server);
    }
    rewrite(&log, |lines| drop(lines.pop()));
    let old = log.at("audit.jsonl.1");
    fs::rename(log.path(), &old).unwrap();
    deny(&server);
    log.assert_fault(&[&old, &log.path()], None, "missing-records");
}

fn rewrite(log: &AuditLog, edit: impl FnOnce(&mut Vec<String>)) {
    let mut lines: Vec<String> = log.text().lines().map(str::to_owned).collect();
    edit(&mut lines);
    fs::write(log.path(), lines.join("\n") + "\n").unwrap();
}

fn replace(log: &AuditLog, edit: impl FnOnce(&mut Vec<String>)) {
    let text = log.text();
    write(&log.at("new"), &text, 0o600);
    fs::rename(log.at("new"), log.path()).unwrap();
    rewrite(log, edit);
}

fn change(line: &mut String) {
    *line = line.replace("\"verdict\":\"deny\"", "\"verdict\":\"also\"");
}

#[test]
fn a_torn_line_stays_is_told_and_can_not_be_changed_later() {
    let log = AuditLog::new(User::Same);
    let project = Project::empty();
    let setup = || Setup::in_directory(project.path()).policy(&log.policy(FILE, ""));
    for cut in [1, 40, 300] {
        let server = setup().start();
        deny(&server);
        drop(server);
        let text = log.text();
        let torn = text.len() - cut;
        OpenOptions::new().write(true).open(log.path()).unwrap().set_len(torn as u64).unwrap();
        let whole = cut == 1;
        let found = log.assert_sound(&[&log.path()]);
        let codes: Vec<&str> =
            found["findings"].as_array().unwrap().iter().map(|one| one["code"].as_str().unwrap()).collect();
        assert_eq!(codes.contains(&"torn-end"), !whole, "{found}");
    }
    deny(&setup().start());
    let found = log.assert_sound(&[&log.path()]);
    let torn: Vec<u64> = found["findings"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|one| one["code"] == "torn-line")
        .map(|one| one["line"].as_u64().unwrap())
        .collect();
    assert_eq!(torn.len(), 2, "{found}");
    // The torn piece, and the record before it, are covered by the record after it.
    for line in [torn[0], torn[0] - 1] {
        let text = log.text();
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        let changed = &mut lines[usize::try_from(line).unwrap() - 1];
        *changed = changed.replace("\"time\":\"2", "\"time\":\"3");
        write(&log.at("changed"), &(lines.join("\n") + "\n"), 0o600);
        log.assert_fault(&[&log.at("changed")], None, "no-record");
    }
}

#[test]
fn a_first_line_that_is_torn_is_covered_too() {
    let log = AuditLog::new(User::Same);
    let project = Project::empty();
    write(&log.path(), "{\"v\":1,\"time\":\"2026-01-01T00:00:00.000Z\",\"chain\":\"0", 0o600);
    let server = Setup::in_directory(project.path()).policy(&log.policy(FILE, "")).start();
    deny(&server);
    log.assert_sound(&[&log.path()]);
    write(&log.at("changed"), &log.text().replacen("2026", "2027", 1), 0o600);
    log.assert_fault(&[&log.at("changed")], None, "changed-record");
}

#[test]
fn a_line_of_somebody_else_is_told() {
    let log = AuditLog::new(User::Same);
    let project = Project::empty();
    let server = Setup::in_directory(project.path()).policy(&log.policy(FILE, "")).start();
    deny(&server);
    OpenOptions::new().append(true).open(log.path()).unwrap().write_all(b"hello\n").unwrap();
    log.assert_fault(&[&log.path()], None, "no-record");
    deny(&server);
    assert_eq!(log.assert_sound(&[&log.path()])["findings"][0]["code"], "torn-line");
}
