//! What becomes of a run's processes: however it ends, none is left.

#![expect(clippy::disallowed_methods, reason = "tests look at the world from outside")]

use std::fs;

use playwright_warden::policy::confinement::{ProjectAccess, SandboxMode};
use playwright_warden::runner::supervision::{Event, StopMethod, StopReason};
use playwright_warden::sandbox::invocation::Invocation;
use playwright_warden::sandbox::{Feature, Plan};
use rustix::process::Signal;

use crate::confined::{WARDEN, World, attack, feed, users};
use crate::supervised::{Supervisor, alive, await_alive, await_that, mark, order, order_for};

/// A line of shell as the program of a run.
fn shell(script: &str, mark: &str) -> Invocation {
    Invocation {
        program: "/bin/sh".into(),
        argv: ["-c", script, mark, mark].map(Into::into).to_vec(),
        env: [("PATH".into(), "/usr/bin".into())].into(),
        cwd: "/".into(),
    }
}

/// Does the same in a sandbox and without one: no process may be left in either.
fn everywhere(mut test: impl FnMut(&World, &Plan)) {
    for user in users() {
        let world = World::new(user);
        for plan in [world.plan(), world.off()] {
            test(&world, &plan);
        }
    }
}

#[test]
fn a_run_that_ends_by_itself_tells_how() {
    everywhere(|world, plan| {
        let (events, code) = Supervisor::start(world, &order(plan, &["say", "hello"])).finish();
        let [Event::Started { .. }, Event::Enforced { enforcement }, Event::Stopped(stopped)] =
            events.as_slice()
        else {
            panic!("{events:?}");
        };
        assert_eq!((code, enforcement.missing.as_slice()), (Some(0), [].as_slice()));
        assert_eq!((stopped.exit_code, stopped.signal), (Some(0), None));
        assert_eq!((stopped.reason, stopped.method), (StopReason::Exited, StopMethod::None));
        assert_eq!((stopped.swept, stopped.survivors), (0, 0));
        assert_eq!((stopped.stdout.text.as_str(), stopped.stdout.total_bytes), ("hello\n", 6));

        let failed = Supervisor::start(world, &order(plan, &["exit", "7"])).stopped();
        assert_eq!((failed.exit_code, failed.signal), (Some(7), None));
        let died = Supervisor::start(world, &order(plan, &["die"])).stopped();
        assert_eq!((died.exit_code, died.signal), (None, Some(Signal::ABORT.as_raw())));
    });
}

#[test]
fn a_run_is_over_when_its_program_is_whoever_holds_its_output() {
    everywhere(|world, plan| {
        let mark = mark();
        let stopped = Supervisor::start(world, &order(plan, &["hold-output", &mark])).stopped();
        assert_eq!((stopped.reason, stopped.exit_code, stopped.swept), (StopReason::Exited, Some(0), 1));
        assert_eq!(stopped.stdout.text, "ok\n");
        assert_eq!(alive(&mark), [""; 0]);
    });
}

#[test]
fn a_daemon_in_its_own_session_does_not_outlive_its_run() {
    everywhere(|world, plan| {
        let mark = mark();
        let stopped = Supervisor::start(world, &order(plan, &["leave-daemon", &mark])).stopped();
        assert_eq!((stopped.reason, stopped.exit_code, stopped.swept), (StopReason::Exited, Some(0), 1));
        assert_eq!(alive(&mark), [""; 0]);
    });
}

/// The chain ends by itself after a while, long after the supervisor would have given up: a failing test must not take the
/// machine along.
#[test]
fn a_program_that_forks_and_exits_over_and_over_is_caught() {
    everywhere(|world, plan| {
        let mark = mark();
        let comets = shell("f() { [ $1 = 0 ] || f $(($1 - 1)) & }; f 30000; sleep 0.2", &mark);
        let stopped = Supervisor::start(world, &order_for(plan, comets)).stopped();
        assert_eq!((stopped.reason, stopped.survivors), (StopReason::Exited, 0));
        assert_eq!(alive(&mark), [""; 0]);
    });
}

#[test]
fn an_ordered_stop_interrupts_the_program_and_sweeps_the_rest() {
    everywhere(|world, plan| {
        let mark = mark();
        let mut supervisor = Supervisor::start(world, &order(plan, &["polite", &mark]));
        await_alive(&mark, &["daemon", "polite"]);
        supervisor.say("go on"); // not the word
        supervisor.say("stop");
        let stopped = supervisor.stopped();
        assert_eq!((stopped.reason, stopped.method), (StopReason::Ordered, StopMethod::Interrupt));
        assert_eq!((stopped.signal, stopped.swept), (Some(Signal::INT.as_raw()), 1));
        assert_eq!(alive(&mark), [""; 0]);
    });
}

#[test]
fn who_ignores_the_interrupt_is_killed_after_the_grace() {
    everywhere(|world, plan| {
        let mark = mark();
        let mut supervisor = Supervisor::start(world, &order(plan, &["stubborn-family", &mark]));
        await_alive(&mark, &["daemon", "stubborn", "stubborn-family"]);
        supervisor.say("stop");
        let stopped = supervisor.stopped();
        assert_eq!((stopped.reason, stopped.method), (StopReason::Ordered, StopMethod::Kill));
        assert_eq!((stopped.signal, stopped.swept), (Some(Signal::KILL.as_raw()), 2));
        assert_eq!(alive(&mark), [""; 0]);
    });
}

#[test]
fn a_second_order_does_not_shorten_the_grace() {
    everywhere(|world, plan| {
        let mark = mark();
        let ready = world.path("run/ready");
        let script =
            format!("trap 'sleep 1; exit 5' INT; : > {}; while :; do sleep 0.05; done", ready.display());
        let mut order = order_for(plan, shell(&script, &mark));
        order.grace_ms = 60_000;
        let mut supervisor = Supervisor::start(world, &order);
        await_that("the trap is set", || ready.exists());
        supervisor.say("stop");
        supervisor.say("stop");
        supervisor.signal(Signal::TERM);
        supervisor.input = None;
        let stopped = supervisor.stopped();
        assert_eq!((stopped.reason, stopped.method), (StopReason::Ordered, StopMethod::Interrupt));
        assert_eq!(stopped.exit_code, Some(5));
        fs::remove_file(ready).unwrap();
    });
}

#[test]
fn the_end_of_its_input_ends_the_run() {
    everywhere(|world, plan| {
        let mark = mark();
        let mut supervisor = Supervisor::start(world, &order(plan, &["stubborn-family", &mark]));
        await_alive(&mark, &["daemon", "stubborn", "stubborn-family"]);
        supervisor.input = None;
        let stopped = supervisor.stopped();
        assert_eq!(
            (stopped.reason, stopped.method, stopped.swept),
            (StopReason::Ordered, StopMethod::Kill, 2)
        );
        assert_eq!(alive(&mark), [""; 0]);
    });
}

#[test]
fn a_run_ends_when_nobody_reads_its_events() {
    everywhere(|world, plan| {
        let mark = mark();
        let mut supervisor = Supervisor::start(world, &order(plan, &["stubborn-family", &mark]));
        await_alive(&mark, &["daemon", "stubborn", "stubborn-family"]);
        supervisor.events = None;
        await_alive(&mark, &[]);
        supervisor.wait();
    });
}

#[test]
fn a_run_ends_when_who_started_it_is_killed() {
    everywhere(|world, plan| {
        let (run, starter) = (mark(), mark());
        let (orders, events) = (world.path("run/order"), world.path("run/events"));
        let line = serde_json::to_string(&order(plan, &["stubborn-family", &run])).unwrap();
        fs::write(&orders, line + "\n").unwrap();
        world.hand_over("run/order");
        let script = format!(
            "{{ cat {}; exec {} sleep {}; }} | {WARDEN} supervise > {}",
            orders.display(),
            attack().display(),
            &*starter,
            events.display()
        );
        let mut pipeline = world.command("/bin/sh".as_ref()).args(["-c", &script]).spawn().unwrap();
        await_alive(&run, &["daemon", "stubborn", "stubborn-family"]);
        starter.kill();
        assert!(pipeline.wait().unwrap().success());
        assert_eq!(alive(&run), [""; 0]);
        let events = fs::read_to_string(events).unwrap();
        let last: Event = serde_json::from_str(events.lines().last().unwrap()).unwrap();
        assert!(matches!(last, Event::Stopped(stopped) if stopped.reason == StopReason::Ordered));
    });
}

#[test]
fn a_signalled_supervisor_ends_its_run_first() {
    everywhere(|world, plan| {
        for signal in [Signal::TERM, Signal::INT, Signal::HUP] {
            let mark = mark();
            let supervisor = Supervisor::start(world, &order(plan, &["stubborn-family", &mark]));
            await_alive(&mark, &["daemon", "stubborn", "stubborn-family"]);
            supervisor.signal(signal);
            let stopped = supervisor.stopped();
            assert_eq!((stopped.reason, stopped.swept), (StopReason::Ordered, 2), "{signal:?}");
            assert_eq!(alive(&mark), [""; 0]);
        }
    });
}

#[test]
fn a_killed_supervisor_takes_its_program_along() {
    everywhere(|world, plan| {
        let mark = mark();
        let supervisor = Supervisor::start(world, &order(plan, &["stubborn", &mark]));
        await_alive(&mark, &["stubborn"]);
        supervisor.signal(Signal::KILL);
        supervisor.wait();
        await_alive(&mark, &[]);
    });
}

#[test]
fn a_run_that_takes_too_long_is_stopped() {
    everywhere(|world, plan| {
        let mark = mark();
        let mut order = order(plan, &["polite", &mark]);
        order.timeout_ms = 300;
        let stopped = Supervisor::start(world, &order).stopped();
        assert_eq!((stopped.reason, stopped.method), (StopReason::TimedOut, StopMethod::Interrupt));
        assert_eq!(alive(&mark), [""; 0]);
    });
}

#[test]
fn a_flood_of_output_neither_blocks_the_program_nor_fills_the_memory() {
    everywhere(|world, plan| {
        let done = world.path("run/done");
        let bytes = 200_000_000;
        let act = ["flood", &bytes.to_string(), &world.text("run/done")];
        let mut supervisor = Supervisor::start(world, &order(plan, &act));
        await_that("the program has written all", || done.exists());
        let status = fs::read_to_string(format!("/proc/{}/status", supervisor.pid())).unwrap();
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        let peak: u64 = peak.trim().trim_end_matches(" kB").parse().unwrap();
        assert!(peak < 20_000, "{peak} kB");
        supervisor.say("stop");
        let stopped = supervisor.stopped();
        assert!(stopped.stdout.total_bytes >= bytes - 8192, "{}", stopped.stdout.total_bytes);
        assert_eq!(stopped.stdout.text.len(), 1000);
        assert!(stopped.stdout.text.ends_with("the end"), "{}", stopped.stdout.text);
        fs::remove_file(done).unwrap();
    });
}

#[test]
fn a_refused_plan_runs_nothing() {
    for user in users() {
        let world = World::new(user);
        let plan = Plan { project: ProjectAccess::ReadWrite, ..world.plan() };
        assert_eq!(plan.mode, SandboxMode::Require);
        let (events, code) =
            Supervisor::start(&world, &order(&plan, &["write", &world.text("run/new")])).finish();
        let [Event::Started { .. }, Event::Refused(refusal)] = events.as_slice() else {
            panic!("{events:?}")
        };
        assert_eq!((code, refusal.missing.as_slice()), (Some(0), [Feature::Protect].as_slice()));
        assert!(!world.path("run/new").exists());
    }
}

#[test]
fn a_stop_that_comes_with_the_order_holds() {
    everywhere(|world, plan| {
        let mark = mark();
        let order = serde_json::to_string(&order(plan, &["polite", &mark])).unwrap();
        let mut command = world.command(WARDEN.as_ref());
        // One write, so that both lines are read at once; the input stays open.
        let supervisor = Supervisor::start_with(command.arg("supervise"), &format!("{order}\nstop\n"));
        assert_eq!(supervisor.stopped().reason, StopReason::Ordered);
        assert_eq!(alive(&mark), [""; 0]);
    });
}

#[test]
fn a_lost_exit_status_does_not_keep_a_run_going() {
    everywhere(|world, plan| {
        let mark = mark();
        let mut command = world.command("/usr/bin/env".as_ref());
        command.args(["--ignore-signal=CHLD", WARDEN, "supervise"]);
        let stopped = Supervisor::start_by(&mut command, &order(plan, &["hold-output", &mark])).stopped();
        assert_eq!((stopped.reason, stopped.exit_code, stopped.swept), (StopReason::Exited, None, 1));
        assert_eq!(alive(&mark), [""; 0]);
    });
}

#[test]
fn an_order_that_makes_no_sense_starts_nothing() {
    for user in users() {
        let world = World::new(user);
        let whole = serde_json::to_string(&order(&world.plan(), &["say", "hello"])).unwrap();
        let half = whole.split_at(whole.len() / 2).0;
        for order in ["", "\n", "{}\n", "stop\n", half, &whole] {
            let (line, _, errors, code) =
                feed(world.command(WARDEN.as_ref()).arg("supervise"), order.as_bytes());
            assert_eq!((line.as_str(), code), ("", Some(2)), "{errors}");
            assert_eq!(errors.lines().count(), 1, "{errors}");
        }
    }
}
