//! What an ordinary user can do on a machine whose `/etc` has a policy: nothing that widens it. Each attempt is also
//! made on the same machine without that policy, where it succeeds.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt as _, symlink};

use serde_json::{Value, json};

use crate::harness::{
    machine::{Machine, give_to_user},
    program::Finished,
    server::{Reply, Setup},
};

/// What root allows every user.
const LIMIT: &str = r#"
[dirs]
allow = ["{work}public"]
[tools]
allow = ["run_tests"]
[env]
allow = ["ENV"]
[limits]
workers = 2
[sandbox]
mode = "best-effort"
network = "none"
"#;

/// What the user would like: everything.
const WIDE: &str = r#"
[dirs]
allow = ["{work}"]
[env]
inherit = ["*"]
allow = ["*"]
[limits]
workers = "unlimited"
[sandbox]
mode = "off"
network = "open"
"#;

fn machine() -> Machine {
    Machine::with_work(&["public", "secret"])
}

/// Calls that the policy of root forbids.
fn forbidden(machine: &Machine) -> Vec<(&'static str, Value)> {
    let secret = machine.work("secret");
    vec![
        ("run_tests", json!({ "workingDirectory": secret })),
        ("run_tests", json!({ "workingDirectory": machine.work("public/../secret") })),
        ("run_tests", json!({ "workingDirectory": machine.work("public"), "env": { "STAGE": "x" } })),
        ("run_tests", json!({ "workingDirectory": machine.work("public"), "workers": 3 })),
        ("get_failed_tests", json!({ "workingDirectory": machine.work("public") })),
    ]
}

/// Says whether a call is allowed, and fails unless the server and `--check-policy` agree.
fn is_allowed(setup: impl Fn() -> Setup, tool: &str, arguments: &Value) -> bool {
    let (status, verdict) = setup().judge(tool, arguments);
    let reply: Reply = setup().start().call(tool, arguments.clone());
    let denied = reply.at("/code") == "policy_denied";
    assert_eq!(status, Some(if denied { 4 } else { 0 }), "{tool} {arguments}: {verdict}\n{}", reply.text);
    assert_eq!(verdict["decision"] == "deny", denied, "{tool} {arguments}: {verdict}\n{}", reply.text);
    // There is no Playwright in these directories: what is allowed comes as far as the look for it.
    assert!(reply.is_error, "{}", reply.text);
    !denied
}

/// Tries all that root forbids, on a machine that root left alone and on one with root's policy.
fn assert_nothing_is_gained(
    attempt: impl Fn(&Machine) -> Setup,
    calls: impl Fn(&Machine) -> Vec<(&'static str, Value)>,
) {
    let open = machine();
    for (tool, arguments) in calls(&open) {
        assert!(is_allowed(|| attempt(&open), tool, &arguments), "the control: {tool} {arguments}");
    }
    for exclusive in ["", "exclusive = true\n"] {
        for name in ["policy.toml", "policy.d/50-limits.toml"] {
            let limited = machine().policy(name, &format!("{exclusive}{LIMIT}"));
            for (tool, arguments) in calls(&limited) {
                assert!(
                    !is_allowed(|| attempt(&limited), tool, &arguments),
                    "{exclusive}{name}: {tool} {arguments}"
                );
            }
        }
    }
}

#[test]
fn users_own_policy_gains_nothing() {
    assert_nothing_is_gained(
        |machine| {
            machine.users_file(".config/playwright-warden/policy.toml", WIDE);
            machine.launched_in("public")
        },
        forbidden,
    );
    let limited = machine().policy("policy.toml", LIMIT).users_policy(WIDE);
    let call = json!({ "workingDirectory": limited.work("public"), "workers": 2, "env": { "ENV": "x" } });
    assert!(is_allowed(|| limited.launched_in("public"), "run_tests", &call), "what root allows is allowed");
}

#[test]
fn named_policy_gains_nothing() {
    assert_nothing_is_gained(
        |machine| {
            let file = machine.users_file("wide/policy.toml", WIDE);
            machine.launched_in("public").argument("--policy").argument(file.to_str().unwrap())
        },
        forbidden,
    );
    assert_nothing_is_gained(
        |machine| {
            let file = machine.users_file("wide/policy.toml", WIDE);
            machine.launched_in("public").variable("PW_POLICY_FILE", file.to_str().unwrap())
        },
        forbidden,
    );
}

#[test]
fn variables_gain_nothing_wherever_home_is_said_to_be() {
    assert_nothing_is_gained(
        |machine| {
            let home = machine.home().join("elsewhere");
            machine.users_file("elsewhere/.config/playwright-warden/policy.toml", WIDE);
            machine
                .launched_in("secret")
                .variable("PW_ALLOWED_DIRS", machine.work("").to_str().unwrap())
                .variable("PW_ALLOWED_ENV", "ENV,STAGE")
                .variable("HOME", home.to_str().unwrap())
                .variable("XDG_CONFIG_HOME", home.join(".config").to_str().unwrap())
                .variable("XDG_CONFIG_DIRS", home.join(".config").to_str().unwrap())
        },
        forbidden,
    );
}

#[test]
fn symlink_to_elsewhere_gains_nothing() {
    assert_nothing_is_gained(
        |machine| {
            symlink("../secret", machine.work("public/way")).ok();
            machine.launched_in("public").variable("PW_ALLOWED_DIRS", machine.work("").to_str().unwrap())
        },
        |machine| vec![("run_tests", json!({ "workingDirectory": machine.work("public/way") }))],
    );
}

#[test]
fn another_launch_directory_gains_nothing() {
    assert_nothing_is_gained(
        |machine| machine.launched_in("secret"),
        |_| vec![("run_tests", json!({})), ("run_tests", json!({ "workingDirectory": "." }))],
    );
}

#[test]
fn user_can_not_be_exclusive() {
    for policy in [None, Some(LIMIT)] {
        let start = |text: &str| {
            let machine = match policy {
                Some(policy) => machine().policy("policy.toml", policy),
                None => machine(),
            };
            machine.users_policy(text).launched_in("public").try_start()
        };
        assert_eq!(start(WIDE).status, Some(0), "the control");
        let refused = start(&format!("exclusive = true\n{WIDE}"));
        assert_eq!(refused.status, Some(1), "{}", refused.stderr);
        assert!(refused.stderr.contains("error[exclusive-outside-system]"), "{}", refused.stderr);
    }
}

/// The value of a key of the effective policy, and where it stands.
fn value(finished: &Finished, key: &str) -> (String, String) {
    let json = finished.json();
    let rows = json["effective"].as_array().unwrap_or_else(|| panic!("{finished:?}"));
    let row = rows.iter().find(|row| row["key"] == key).unwrap();
    let value = &row["lists"][0][0];
    (
        value["value"].as_str().unwrap().to_owned(),
        value["source"]["path"].as_str().unwrap_or_default().to_owned(),
    )
}

#[test]
fn user_can_not_remove_the_sandbox_or_raise_a_limit() {
    let rows = [
        ("sandbox.mode", "off", "best-effort"),
        ("sandbox.network", "open", "none"),
        ("limits.workers", "unlimited", "2"),
    ];
    let check = |machine: Machine| {
        machine.users_policy(WIDE).launched_in("public").finish(&["--check-policy", "--format", "json"], "")
    };
    let (open, limited) = (check(machine()), check(machine().policy("policy.d/a.toml", LIMIT)));
    for (key, without, with) in rows {
        assert_eq!(value(&open, key).0, without, "the control");
        assert_eq!(
            value(&limited, key),
            (with.to_owned(), "/etc/playwright-warden/policy.d/a.toml".to_owned())
        );
    }
}

#[test]
fn user_narrows_an_exclusive_policy() {
    let exclusive = || {
        Machine::with_work(&["public/a", "public/b"])
            .policy("policy.toml", &format!("exclusive = true\n{LIMIT}"))
    };
    let call = |machine: &Machine, directory: &str| {
        is_allowed(
            || machine.launched_in("public"),
            "run_tests",
            &json!({ "workingDirectory": machine.work(directory) }),
        )
    };
    let alone = exclusive();
    assert!(call(&alone, "public/a") && call(&alone, "public/b"));
    let narrowed = exclusive().users_policy("[dirs]\nallow = [\"{work}public/a\"]");
    assert!(call(&narrowed, "public/a") && !call(&narrowed, "public/b"));
    let twice = exclusive().policy("policy.d/b.toml", "exclusive = true\ndirs.allow = [\"{work}public/b\"]");
    assert!(!call(&twice, "public/a") && call(&twice, "public/b"));
    let silent = exclusive().policy("policy.d/none.toml", "exclusive = true");
    assert!(!call(&silent, "public/a"), "an exclusive file allows no directory that it does not name");
}

/// A policy of the system that can't be believed, as it is made on a machine with a good one.
struct Untrusted {
    what: &'static str,
    make: fn(&Machine),
    status: i32,
    code: &'static str,
}

fn set_mode(machine: &Machine, name: &str, mode: u32) {
    fs::set_permissions(machine.etc("playwright-warden").join(name), Permissions::from_mode(mode)).unwrap();
}

/// Puts something else in the place of a policy or a directory.
fn replace(machine: &Machine, name: &str, with: impl Fn(&std::path::Path)) {
    let path = machine.etc("playwright-warden").join(name);
    if path.is_dir() {
        fs::remove_dir_all(&path).unwrap();
    } else {
        fs::remove_file(&path).unwrap();
    }
    with(&path);
}

fn fifo(path: &std::path::Path) {
    let mode = rustix::fs::Mode::from_raw_mode(0o644);
    rustix::fs::mknodat(rustix::fs::CWD, path, rustix::fs::FileType::Fifo, mode, 0).unwrap();
}

fn untrusted() -> Vec<Untrusted> {
    let row = |what, code, status, make: fn(&Machine)| Untrusted { what, make, status, code };
    let mut rows = vec![
        row("file, group may write", "insecure-mode", 1, |it| set_mode(it, "policy.toml", 0o664)),
        row("file, everyone may write", "insecure-mode", 1, |it| set_mode(it, "policy.d/a.toml", 0o646)),
        row("directory, group may write", "insecure-parent", 1, |it| set_mode(it, "", 0o775)),
        row("policy.d, everyone may write", "insecure-parent", 1, |it| set_mode(it, "policy.d", 0o1777)),
        row("/etc, group may write", "insecure-parent", 1, |it| set_mode(it, "..", 0o775)),
        row("file, not readable", "unreadable-file", 2, |it| set_mode(it, "policy.toml", 0o000)),
        row("directory, not listable", "unreadable-file", 2, |it| set_mode(it, "", 0o111)),
        row("directory, closed", "unreadable-file", 2, |it| set_mode(it, "", 0o000)),
        row("policy.d, not listable", "unreadable-file", 2, |it| set_mode(it, "policy.d", 0o000)),
        row("symlink into the home", "not-a-file", 1, |it| {
            let own = it.users_file("own/policy.toml", WIDE);
            replace(it, "policy.toml", |path| symlink(&own, path).unwrap());
        }),
        row("directory that is a symlink into the home", "not-a-file", 1, |it| {
            let own = it.users_file("own/policy.toml", WIDE);
            replace(it, "", |path| {
                symlink(own.parent().unwrap(), path.to_str().unwrap().trim_end_matches('/')).unwrap();
            });
        }),
        row("policy.d that is a symlink to nothing", "not-a-file", 1, |it| {
            replace(it, "policy.d", |path| symlink("/nowhere", path).unwrap());
        }),
        row("dangling symlink", "not-a-file", 1, |it| {
            replace(it, "policy.toml", |path| symlink("/nowhere", path).unwrap());
        }),
        row("FIFO", "not-a-file", 1, |it| replace(it, "policy.toml", fifo)),
        row("FIFO in policy.d", "not-a-file", 1, |it| replace(it, "policy.d/a.toml", fifo)),
        row("directory in a policy's place", "not-a-file", 1, |it| {
            replace(it, "policy.toml", |path| fs::create_dir(path).unwrap());
        }),
        row("file in policy.d's place", "not-a-file", 1, |it| {
            replace(it, "policy.d", |path| fs::write(path, "").unwrap());
        }),
        row("no version", "missing-version", 1, |it| {
            replace(it, "policy.toml", |path| fs::write(path, "").unwrap());
        }),
        row("no TOML", "syntax", 1, |it| {
            replace(it, "policy.d/a.toml", |path| fs::write(path, "version = 1\n[dirs").unwrap());
        }),
    ];
    if rustix::process::geteuid().is_root() {
        rows.extend([
            row("file of the user", "insecure-owner", 1, |it| {
                give_to_user(&it.etc("playwright-warden/policy.toml"));
            }),
            row("directory of the user", "insecure-parent", 1, |it| {
                give_to_user(&it.etc("playwright-warden"));
            }),
            row("policy.d of the user", "insecure-parent", 1, |it| {
                give_to_user(&it.etc("playwright-warden/policy.d"));
            }),
            row("/etc of the user", "insecure-parent", 1, |it| give_to_user(&it.etc(""))),
        ]);
    }
    rows
}

#[test]
fn system_policy_that_can_not_be_trusted_or_read_stops_the_server() {
    for Untrusted { what, make, status, code } in untrusted() {
        let machine =
            machine().policy("policy.toml", LIMIT).policy("policy.d/a.toml", LIMIT).users_policy(WIDE);
        let control = machine.launched_in("public").try_start();
        assert_eq!(control.status, Some(0), "the control: {what}: {}", control.stderr);
        make(&machine);
        for arguments in [&[][..], &["--check-policy"]] {
            let refused = machine.launched_in("public").finish(arguments, "");
            assert_eq!(refused.status, Some(status), "{what} {arguments:?}: {}", refused.stderr);
            assert!(refused.stderr.contains(&format!("error[{code}]")), "{what}: {}", refused.stderr);
        }
        // So that the machine can be removed.
        for name in ["", "policy.d"] {
            if machine.etc("playwright-warden").join(name).symlink_metadata().is_ok_and(|it| it.is_dir()) {
                set_mode(&machine, name, 0o755);
            }
        }
    }
}

#[test]
fn what_the_checker_shows_of_an_exclusive_machine() {
    let machine = machine()
        .policy("policy.toml", &format!("exclusive = true\n{LIMIT}"))
        .policy("policy.d/10-teams.toml", "[limits]\nrun_seconds = 600")
        .policy("policy.d/20-teams.tml", "[limits]\nrun_seconds = 60")
        .users_policy("[env]\nallow = [\"ENV\"]");
    let setup =
        machine.launched_in("public").variable("PW_ALLOWED_DIRS", machine.work("public").to_str().unwrap());
    let shown = setup.finish(&["--check-policy"], "");
    let layers = shown.stdout.split("  limits").next().unwrap();
    let mut settings = insta::Settings::clone_current();
    // Columns and breaks depend on names.
    settings.add_filter(r"\n? {12,}", "  ");
    settings.add_filter(r"(\S) {3,}", "$1  ");
    settings.add_filter("sha256 [0-9a-f]+…", "sha256 [HASH]");
    settings.add_filter("(root|tester) [(](65534|0)[)]", "[OWNER]");
    settings.add_filter(machine.home().parent().unwrap().to_str().unwrap(), "[ROOT]");
    settings.bind(|| insta::assert_snapshot!("exclusive", format!("{}\n{layers}", shown.stderr)));
}
