//! The helper `supervise`, driven in a world: orders in, events out, and a look at what is left in the process table.

#![expect(clippy::disallowed_methods, reason = "tests start the binary and look at the world from outside")]

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use playwright_warden::runner::supervision::{Event, Order, Stopped};
use playwright_warden::sandbox::Plan;
use playwright_warden::sandbox::invocation::Invocation;
use rustix::process::{Pid, Signal, kill_process};

use crate::confined::{WARDEN, World, invocation};

/// How long a test waits for what must come; far more than it takes.
const PATIENCE: Duration = Duration::from_secs(30);

/// A word that all processes of one test bear in their arguments. A test that fails leaves none of them either.
pub(crate) struct Mark(String);

pub(crate) fn mark() -> Mark {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    Mark(format!("mark-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed)))
}

impl std::ops::Deref for Mark {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl Drop for Mark {
    fn drop(&mut self) {
        self.kill();
    }
}

impl Mark {
    /// The living processes that bear the mark, with the first of their arguments.
    fn bearers(&self) -> Vec<(Pid, String)> {
        let mut found = Vec::new();
        for entry in fs::read_dir("/proc").unwrap() {
            let path = entry.unwrap().path();
            let Some(pid) = path.file_name().and_then(|name| Pid::from_raw(name.to_str()?.parse().ok()?))
            else {
                continue;
            };
            let Ok(line) = fs::read(path.join("cmdline")) else { continue };
            let line = String::from_utf8_lossy(&line).into_owned();
            let words: Vec<&str> = line.split_terminator('\0').collect();
            if words.contains(&self.0.as_str()) {
                found.push((pid, (*words.get(1).unwrap()).to_owned()));
            }
        }
        found
    }

    /// Kills all that bear the mark.
    pub(crate) fn kill(&self) {
        for (pid, _) in self.bearers() {
            kill_process(pid, Signal::KILL).unwrap_or_default();
        }
    }
}

/// The first arguments of all living processes that bear a mark, in order.
pub(crate) fn alive(mark: &Mark) -> Vec<String> {
    let mut acts: Vec<_> = mark.bearers().into_iter().map(|(_, act)| act).collect();
    acts.sort_unstable();
    acts
}

/// Waits until the acts of the living processes with that mark are these.
pub(crate) fn await_alive(mark: &Mark, acts: &[&str]) {
    await_that(&format!("{acts:?} are alive"), || alive(mark) == acts);
}

/// Waits until something holds.
pub(crate) fn await_that(what: &str, mut holds: impl FnMut() -> bool) {
    let give_up = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < give_up, "never: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// An order for one act of the program of attacks: a short grace, and a time limit for a test that fails.
pub(crate) fn order(plan: &Plan, act: &[&str]) -> Order {
    order_for(plan, invocation(act))
}

pub(crate) fn order_for(plan: &Plan, invocation: Invocation) -> Order {
    Order { plan: plan.clone(), invocation, timeout_ms: 60_000, grace_ms: 200, output_tail_bytes: 1000 }
}

/// A supervisor at work.
pub(crate) struct Supervisor {
    process: Child,
    pub(crate) input: Option<ChildStdin>,
    pub(crate) events: Option<BufReader<ChildStdout>>,
}

impl Supervisor {
    pub(crate) fn start(world: &World, order: &Order) -> Self {
        Self::start_by(world.command(WARDEN.as_ref()).arg("supervise"), order)
    }

    pub(crate) fn start_by(command: &mut Command, order: &Order) -> Self {
        Self::start_with(command, &format!("{}\n", serde_json::to_string(order).unwrap()))
    }

    pub(crate) fn start_with(command: &mut Command, lines: &str) -> Self {
        let mut process =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit()).spawn().unwrap();
        let mut input = process.stdin.take().unwrap();
        let events = process.stdout.take().map(BufReader::new);
        input.write_all(lines.as_bytes()).unwrap();
        Self { process, input: Some(input), events }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.process.id()
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_raw(self.process.id().cast_signed()).unwrap(), signal).unwrap();
    }

    pub(crate) fn say(&mut self, line: &str) {
        writeln!(self.input.as_mut().unwrap(), "{line}").unwrap();
    }

    /// Reads the next event; nothing at the end.
    pub(crate) fn next(&mut self) -> Option<Event> {
        let mut line = String::new();
        self.events.as_mut().unwrap().read_line(&mut line).unwrap();
        (!line.is_empty()).then(|| serde_json::from_str(&line).unwrap_or_else(|_| panic!("no event: {line}")))
    }

    /// Reads all events to the end, and waits for the supervisor's own.
    pub(crate) fn finish(mut self) -> (Vec<Event>, Option<i32>) {
        let mut events = Vec::new();
        while let Some(event) = self.next() {
            events.push(event);
        }
        (events, self.process.wait().unwrap().code())
    }

    /// Waits until the run is over.
    pub(crate) fn stopped(self) -> Stopped {
        let (mut events, code) = self.finish();
        assert_eq!(code, Some(0), "{events:?}");
        match events.pop() {
            Some(Event::Stopped(stopped)) => stopped,
            Some(last @ (Event::Started { .. } | Event::Enforced { .. } | Event::Refused(_))) => {
                panic!("the last event is {last:?}")
            }
            None => panic!("there was no event"),
        }
    }

    /// Waits until the supervisor itself has ended.
    pub(crate) fn wait(mut self) {
        self.process.wait().unwrap();
    }
}
