//! What protects other processes from a run, and what a run takes along from the server: nothing.

#![expect(clippy::disallowed_methods, reason = "tests start processes to attack")]

use std::process::{Child, Command};

use playwright_warden::sandbox::{Plan, ProcessLimits};

use crate::confined::{User, WARDEN, World, confine, invocation, is_root, users};

/// A process of the same user, outside the sandbox, with a secret in its environment.
struct Victim(Child);

impl Victim {
    fn new(world: &World) -> Self {
        let mut command: Command = world.command("/bin/sleep".as_ref());
        let victim = Self(command.arg("60").env("SECRET", "hush").spawn().unwrap());
        // It is `sleep`, with its own environment, only after the second `execve`.
        while !std::fs::read(format!("/proc/{}/cmdline", victim.0.id())).unwrap().starts_with(b"/bin/sleep") {
            std::thread::yield_now();
        }
        victim
    }

    fn pid(&self) -> String {
        self.0.id().to_string()
    }
}

impl Drop for Victim {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

#[test]
fn processes_outside_are_not_signalled() {
    for user in users() {
        let world = World::new(user);
        let victim = Victim::new(&world);
        world.assert_denied(&world.plan(), &["signal", &victim.pid()], "EPERM", "ok");
        world.assert_allowed(&world.plan(), &["signal-own-child"]);
    }
}

#[test]
fn the_limits_of_processes_outside_are_not_changed() {
    for user in users() {
        let world = World::new(user);
        let victim = Victim::new(&world);
        world.assert_denied(&world.plan(), &["limit", &victim.pid()], "EPERM", "ok");
        // Its own a process may lower.
        world.assert_allowed(&world.plan(), &["lower-own-limit"]);
    }
}

#[test]
fn the_environment_of_processes_outside_is_not_read() {
    for user in users() {
        let world = World::new(user);
        let victim = Victim::new(&world);
        world.assert_denied(&world.plan(), &["environ", &victim.pid()], "EACCES", "ok");
    }
}

#[test]
fn no_capability_and_no_way_to_one_is_left() {
    for user in users() {
        let world = World::new(user);
        let plan = world.plan();
        let none = "0000000000000000";
        for set in ["CapEff", "CapPrm", "CapInh", "CapAmb"] {
            assert_eq!(world.act(&plan, &["status", set]).output, none, "{set} as {user:?}");
        }
        assert_eq!(world.act(&plan, &["status", "NoNewPrivs"]).output, "1");
        assert_eq!(world.act(&plan, &["status", "Seccomp"]).output, "2");
        assert_eq!(world.act(&world.off(), &["status", "NoNewPrivs"]).output, "0", "the control");
        assert_eq!(world.act(&world.off(), &["status", "Seccomp"]).output, "0", "the control");
        if is_root() && user == User::Own {
            assert_eq!(world.act(&plan, &["status", "CapBnd"]).output, none);
            assert_ne!(world.act(&world.off(), &["status", "CapEff"]).output, none, "the control");
            assert_ne!(world.act(&world.off(), &["status", "CapBnd"]).output, none, "the control");
        }
    }
}

#[test]
fn limits_are_lowered_and_never_raised() {
    for user in users() {
        let world = World::new(user);
        let limits = |open_files, file_bytes, memory_bytes| {
            let limits = ProcessLimits { open_files, file_bytes, memory_bytes };
            [Plan { limits, ..world.plan() }, Plan { limits, ..world.off() }]
        };
        for plan in limits(Some(123), Some(1 << 20), Some(1 << 32)) {
            let expected =
                "Some(123)/Some(123) Some(1048576)/Some(1048576) Some(4294967296)/Some(4294967296)";
            assert_eq!(world.act(&plan, &["limits"]).output, expected);
        }
        for plan in limits(Some(u64::MAX - 1), None, None) {
            let inherited = rustix::process::getrlimit(rustix::process::Resource::Nofile).maximum.unwrap();
            let found = world.act(&plan, &["limits"]).output;
            assert!(found.starts_with(&format!("Some({inherited})/Some({inherited})")), "{found}");
        }
    }
}

#[test]
fn a_program_gets_its_own_environment_session_and_input() {
    for user in users() {
        let world = World::new(user);
        for plan in [world.plan(), world.off()] {
            let mut command = world.command(WARDEN.as_ref());
            command.arg("confine").env("SERVER_SECRET", "hush");
            let found = confine(&mut command, &plan, Some(invocation(&["environment"])));
            assert_eq!(found.output, "GIVEN=value");
            assert_eq!(world.act(&plan, &["session"]).output, "true");
            assert_eq!(world.act(&plan, &["stdin"]).output, "0 bytes of /dev/null");
            assert_eq!(world.act(&plan, &["status", "SigBlk"]).output, "0000000000000000");
        }
    }
}
