//! What protects files outside the scopes of a run, and those in its project.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use playwright_warden::policy::confinement::{Network, ProjectAccess, SandboxMode, UnixSockets};
use playwright_warden::sandbox::{Enforcer, Feature, Level, Plan};

use crate::confined::{WARDEN, World, attack, confine, feed, invocation, users};

#[test]
fn files_outside_the_scopes_are_out_of_reach() {
    for user in users() {
        let world = World::new(user);
        let plan = world.plan();
        let secret = world.text("outside/secret");
        fs::write(world.path("run/own"), "own").unwrap();
        world.hand_over("run/own");
        let (own, new) = (world.text("run/own"), world.text("outside/new"));
        let link = |name: &str| world.text(&format!("run/{name}"));
        let rows: [(&[&str], &str); 9] = [
            (&["read", &secret], "EACCES"),
            (&["list", &world.text("outside")], "EACCES"),
            (&["read-through-symlink", &secret, &link("symlink-1")], "EACCES"),
            (&["hardlink", &secret, &link("hardlink-1")], "EXDEV"),
            (&["write", &secret], "EACCES"),
            (&["truncate", &secret], "EACCES"),
            (&["write", &new], "EACCES"),
            (&["rename", &own, &world.text("outside/own")], "EXDEV"),
            (&["mkdir", &world.text("outside/directory")], "EACCES"),
        ];
        for (act, expected) in rows {
            let inside = world.act(&plan, act).output;
            assert!([expected, "EACCES"].contains(&inside.as_str()), "{act:?} as {user:?}: {inside}");
        }
        // Links that were left by the acts inside would stand in the way of the control.
        for act in [
            ["read-through-symlink", &secret, &link("symlink-2")],
            ["hardlink", &secret, &link("hardlink-2")],
            ["rename", &own, &world.text("outside/own")],
        ] {
            assert_eq!(world.act(&world.off(), &act).output, "ok", "{act:?} as {user:?}: the control");
        }
        for act in [
            ["read", &secret],
            ["list", &world.text("outside")],
            ["write", &secret],
            ["truncate", &secret],
            ["write", &new],
            ["mkdir", &world.text("outside/directory")],
        ] {
            assert_eq!(world.act(&world.off(), &act).output, "ok", "{act:?} as {user:?}: the control");
        }
        let victim = world.text("outside/secret");
        world.assert_denied(&plan, &["unlink", &victim], "EACCES", "ok");
    }
}

#[test]
fn the_read_scope_is_read_and_executed_and_never_written() {
    for user in users() {
        let world = World::new(user);
        let plan = Plan { read: [world.plan().read, vec![world.path("outside")]].concat(), ..world.plan() };
        let secret = world.text("outside/secret");
        world.assert_allowed(&plan, &["read", &secret]);
        world.assert_allowed(&plan, &["execute", attack().to_str().unwrap()]);
        world.assert_denied(&plan, &["write", &secret], "EACCES", "ok");
        world.assert_denied(&plan, &["truncate", &secret], "EACCES", "ok");
    }
}

#[test]
fn the_write_scope_is_written_and_never_executed() {
    for user in users() {
        let world = World::new(user);
        let plan = world.plan();
        world.assert_allowed(&plan, &["write", &world.text("run/new")]);
        world.assert_allowed(&plan, &["truncate", &world.text("run/new")]);
        world.assert_allowed(&plan, &["write", "/dev/null"]);
        world.assert_allowed(&plan, &["unlink", &world.text("run/new")]);
        let copy = world.text("run/copy");
        world.assert_denied(&plan, &["copy-and-execute", attack().to_str().unwrap(), &copy], "EACCES", "ok");
    }
}

#[test]
fn the_project_is_written_as_far_as_the_plan_says() {
    for user in users() {
        let world = World::new(user);
        fs::create_dir(world.path("project/coverage")).unwrap();
        world.hand_over("project/coverage");
        let outputs = ["test-results", "playwright-report", "coverage", "dist"].map(PathBuf::from).to_vec();
        let plan = |project, outputs| Plan { project, outputs, protect: vec![], ..world.plan() };
        let read_only = plan(ProjectAccess::ReadOnly, outputs.clone());
        let some = plan(ProjectAccess::Outputs, outputs);
        let all = plan(ProjectAccess::ReadWrite, vec![]);

        world.assert_allowed(&read_only, &["read", "spec.ts"]);
        world.assert_denied(&read_only, &["write", "spec.ts"], "EACCES", "ok");
        world.assert_denied(&read_only, &["write", "coverage/new"], "EACCES", "ok");
        assert!(!world.path("project/test-results").exists(), "outputs are made under `outputs` alone");

        world.assert_allowed(&some, &["write", "coverage/new"]);
        world.assert_allowed(&some, &["write", "test-results/new"]);
        world.assert_allowed(&some, &["write", "playwright-report/new"]);
        assert!(!world.path("project/dist").exists(), "only the first two outputs are made");
        world.assert_denied(&some, &["write", "spec.ts"], "EACCES", "ok");
        world.assert_denied(&some, &["mkdir", "dist"], "EACCES", "ok");

        world.assert_allowed(&all, &["write", "spec.ts"]);
        world.assert_allowed(&all, &["mkdir", "new"]);
        world.assert_denied(&all, &["write", &world.text("outside/secret")], "EACCES", "ok");
    }
}

#[test]
fn an_output_that_is_a_symlink_opens_nothing() {
    for user in users() {
        let world = World::new(user);
        symlink(world.path("outside"), world.path("project/test-results")).unwrap();
        symlink(world.path("outside"), world.path("project/way")).unwrap();
        let outputs = ["test-results", "way/deeper", "../outside"].map(PathBuf::from).to_vec();
        let plan = Plan { project: ProjectAccess::Outputs, outputs: outputs.clone(), ..world.plan() };
        world.assert_denied(&plan, &["write", "test-results/secret"], "EACCES", "ok");
        assert_eq!(world.probe(&plan).enforcement().unusable, outputs);
        assert!(!world.path("outside/deeper").exists(), "nothing is made beyond a symlink");
    }
}

#[test]
fn a_scope_that_became_a_symlink_opens_nothing() {
    for user in users() {
        let world = World::new(user);
        symlink(world.path("outside"), world.path("swapped")).unwrap();
        let swapped = world.path("swapped");
        let plan = Plan {
            read: [world.plan().read, vec![swapped.clone()]].concat(),
            write: vec![swapped.clone()],
            ..world.plan()
        };
        world.assert_denied(&plan, &["read", &world.text("outside/secret")], "EACCES", "ok");
        assert_eq!(world.probe(&plan).enforcement().unusable, [swapped.clone(), swapped]);
    }
}

#[test]
fn a_missing_place_is_told_if_it_was_to_be_written() {
    for user in users() {
        let world = World::new(user);
        let plan = Plan { write: vec![world.path("run"), world.path("nowhere")], ..world.plan() };
        assert_eq!(world.probe(&plan).enforcement().unusable, [world.path("nowhere")]);
    }
}

#[test]
fn an_inherited_descriptor_is_closed() {
    for user in users() {
        let world = World::new(user);
        let secret = world.text("outside/secret");
        let shell = |program: &str, act: &[&str]| {
            let mut command = world.command("/bin/sh".as_ref());
            command.args(["-c", r#"exec 9<"$0"; exec "$@""#, &secret, program]).args(act);
            command
        };
        let act = ["descriptor", "9"];
        let (control, ..) = feed(&mut shell(attack().to_str().unwrap(), &act), b"");
        assert_eq!(control, "ok", "as {user:?}: the control");
        for plan in [world.plan(), world.off()] {
            let inside = confine(&mut shell(WARDEN, &["confine"]), &plan, Some(invocation(&act)));
            assert_eq!(inside.output, "ENOENT", "{:?} as {user:?}", plan.mode);
        }
    }
}

#[test]
fn all_that_a_strict_plan_asks_is_enforced_here() {
    for user in users() {
        let world = World::new(user);
        let found = world.probe(&world.plan());
        assert_eq!(found.code, Some(0), "{}", found.errors);
        let found = found.enforcement();
        assert_eq!((found.level, found.missing.as_slice()), (Level::Full, [].as_slice()));
        assert!(found.landlock_abi.is_some_and(|abi| abi >= 6), "{found:?}");
        assert!(found.enforced.contains(&(Feature::Files, Enforcer::Landlock)), "{found:?}");
    }
}

#[test]
fn off_asks_and_enforces_nothing() {
    for user in users() {
        let world = World::new(user);
        let found = world.probe(&world.off()).enforcement();
        assert_eq!((found.level, found.enforced, found.missing), (Level::Absent, vec![], vec![]));
    }
}

#[test]
fn without_landlock_a_required_sandbox_is_refused_and_best_effort_says_what_is_missing() {
    for user in users() {
        let world = World::new(user);
        let act = ["read", &world.text("outside/secret")];
        let refusal = world.act_on("no-landlock", &world.plan(), &act).refusal();
        assert_eq!(refusal.missing, [Feature::Files, Feature::Signals]);
        assert_eq!(refusal.keys, ["sandbox.mode"]);
        assert!(refusal.message.contains("files, signals"), "{}", refusal.message);

        let best_effort = Plan { mode: SandboxMode::BestEffort, ..world.plan() };
        let found = world.act_on("no-landlock", &best_effort, &act);
        assert_eq!(found.output, "ok", "nothing but Landlock keeps files: {}", found.errors);
        let found = found.enforcement();
        assert_eq!((found.level, found.landlock_abi), (Level::Partial, None));
        assert_eq!(found.missing, [Feature::Files, Feature::Signals]);

        let nothing_asked_of_seccomp =
            Plan { network: Network::Open, unix_sockets: UnixSockets::Allow, ..best_effort };
        assert_eq!(
            world.act_on("no-landlock", &nothing_asked_of_seccomp, &act).enforcement().level,
            Level::Absent
        );
    }
}

#[test]
fn protected_names_in_a_writable_project_are_told_as_missing() {
    for user in users() {
        let world = World::new(user);
        let plan = Plan { project: ProjectAccess::ReadWrite, ..world.plan() };
        let found = world.probe(&plan);
        assert_eq!(found.code, Some(1));
        let refusal = found.refusal();
        assert_eq!(
            (refusal.missing.as_slice(), refusal.keys),
            ([Feature::Protect].as_slice(), vec!["sandbox.protect".to_owned()])
        );
        assert!(refusal.hint.contains("sandbox.project"), "{}", refusal.hint);

        let best_effort = Plan { mode: SandboxMode::BestEffort, ..plan };
        let found = world.probe(&best_effort).enforcement();
        assert_eq!((found.level, found.missing), (Level::Partial, vec![Feature::Protect]));
    }
}

#[test]
fn an_order_that_makes_no_sense_runs_nothing() {
    for user in users() {
        let world = World::new(user);
        for order in [&b""[..], b"{}", b"{\"plan\":{}}", b"\xff"] {
            let (line, _, errors, code) = feed(world.command(WARDEN.as_ref()).arg("confine"), order);
            assert_eq!((line.as_str(), code), ("", Some(2)), "{errors}");
            assert_eq!(errors.lines().count(), 1, "{errors}");
        }
    }
}

#[test]
fn a_program_that_is_not_there_is_told() {
    for user in users() {
        let world = World::new(user);
        let mut missing = invocation(&[]);
        missing.program = "/usr/bin/no-such-program".into();
        let found = confine(world.command(WARDEN.as_ref()).arg("confine"), &world.plan(), Some(missing));
        assert_eq!(found.code, Some(127));
        assert!(found.errors.contains("`/usr/bin/no-such-program` can't be executed"), "{}", found.errors);
    }
}
