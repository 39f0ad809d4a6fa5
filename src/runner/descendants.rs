//! All processes that descend from this one: found, killed, reaped.
//!
//! In: `/proc`, and the kernel's promise that an orphan becomes the child of its nearest subreaper. Out: none of them left.
//! Whatever a program does (new session, double fork, signals ignored), its processes stay below the subreaper.
//! When to do it is left to `supervise`.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use rustix::io::{self, Errno};
use rustix::process::{Pid, PidfdFlags, Signal, WaitOptions, WaitStatus};

/// How long killing may take; more than a process in an uninterruptible sleep needs on a sound system.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long the kernel gets between two rounds.
const PAUSE: Duration = Duration::from_millis(1);
/// How often a round kills the direct children before it walks all of `/proc` again.
const QUICK_ROUNDS: u32 = 64;

/// One process, told apart from a later one with the same number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Process {
    pid: i32,
    /// In clock ticks after boot.
    started: u64,
    /// Whether its first thread has ended; others of it may go on.
    is_dead: bool,
}

/// What `/proc/PID/stat` says of one process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stat {
    parent: i32,
    is_dead: bool,
    started: u64,
}

/// The children of this process and what became of the one that matters.
#[derive(Debug)]
pub struct Family {
    program: Pid,
    ended: Option<WaitStatus>,
    /// How many quick rounds come before the next walk.
    quick_rounds: u32,
}

/// What a sweep did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Swept {
    /// Processes killed, without the program itself.
    pub killed: u64,
    /// Processes that are still there.
    pub survivors: u64,
}

/// Whether this process has children.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Children {
    /// At least one is alive.
    Some,
    /// There is none; then, this being a subreaper, there are no descendants either.
    None,
}

impl Family {
    /// Takes charge of all children of this process, `program` being the one whose end matters.
    pub const fn new(program: Pid) -> Self {
        Self { program, ended: None, quick_rounds: 0 }
    }

    /// Tells how the program ended, once it was reaped.
    pub const fn ended(&self) -> Option<WaitStatus> {
        self.ended
    }

    /// Reaps all children that ended, the program among them.
    ///
    /// # Errors
    ///
    /// The kernel refused to wait.
    pub fn reap(&mut self) -> io::Result<Children> {
        loop {
            match rustix::process::wait(WaitOptions::NOHANG) {
                Ok(Some((pid, status))) if pid == self.program => self.ended = Some(status),
                Ok(Some(_)) | Err(Errno::INTR) => {}
                Ok(None) => return Ok(Children::Some),
                Err(Errno::CHILD) => return Ok(Children::None),
                Err(error) => return Err(error),
            }
        }
    }

    /// Kills all descendants of this process, which must be a subreaper, until there are none.
    ///
    /// It is over when the kernel says that there are no children: a walk could miss what forks while it goes on. It gives
    /// up after ten seconds, and then says how many are left.
    ///
    /// # Errors
    ///
    /// The kernel refused to wait.
    pub fn sweep(&mut self) -> std::io::Result<Swept> {
        let own = rustix::process::getpid();
        let give_up = Instant::now() + PATIENCE;
        let mut killed = BTreeSet::new();
        let mut survivors = 0;
        while self.kill_children(own)? == Children::Some {
            // Where `/proc` can't be listed the direct children are still killed, round by round.
            let living = descendants(own.as_raw_nonzero().get()).unwrap_or_default();
            if Instant::now() >= give_up {
                // At least one, though a walk may have missed it: there are children.
                survivors = living.iter().filter(|process| !process.is_dead).count().max(1);
                break;
            }
            for process in living {
                // Refused (a setuid program outside the sandbox) or gone: the next round sees which.
                if kill(process).is_ok()
                    && !process.is_dead
                    && process.pid != self.program.as_raw_nonzero().get()
                {
                    killed.insert(process);
                }
            }
            std::thread::sleep(PAUSE);
        }
        let count = |number: usize| u64::try_from(number).unwrap_or(u64::MAX);
        Ok(Swept { killed: count(killed.len()), survivors: count(survivors) })
    }

    /// Kills and reaps the direct children as fast as the kernel lists them, a bounded number of times: a process that forks
    /// and exits over and over is always one, and is another before a walk through a long `/proc` is over. Their numbers
    /// can't be reused, for only this process reaps them.
    ///
    /// The list needs `CONFIG_PROC_CHILDREN`; without it the walk alone must do.
    fn kill_children(&mut self, own: Pid) -> io::Result<Children> {
        let list = format!("/proc/self/task/{}/children", own.as_raw_nonzero());
        // In the first round the walk comes first, so that what is killed is counted.
        for _ in 0..std::mem::replace(&mut self.quick_rounds, QUICK_ROUNDS) {
            if self.reap()? == Children::None {
                return Ok(Children::None);
            }
            let Ok(children) = read(&list) else { break };
            for pid in children.split_ascii_whitespace().filter_map(|pid| Pid::from_raw(pid.parse().ok()?)) {
                // One that ended already stays as it is; one that may not be killed is counted by the walk.
                rustix::process::kill_process(pid, Signal::KILL).unwrap_or_default();
            }
        }
        self.reap()
    }
}

/// Kills one process and never another that got its number since.
fn kill(process: Process) -> io::Result<()> {
    let pid = Pid::from_raw(process.pid).ok_or(Errno::SRCH)?;
    let handle = rustix::process::pidfd_open(pid, PidfdFlags::empty())?;
    match stat_of(process.pid) {
        Some(stat) if stat.started == process.started => {
            rustix::process::pidfd_send_signal(&handle, Signal::KILL)
        }
        Some(_) | None => Err(Errno::SRCH),
    }
}

/// Lists all processes below `root`.
fn descendants(root: i32) -> std::io::Result<BTreeSet<Process>> {
    let mut table = BTreeMap::new();
    for entry in std::fs::read_dir("/proc")? {
        let name = entry?.file_name();
        let Some(pid) = name.to_str().and_then(|name| name.parse::<i32>().ok()) else { continue };
        if let Some(stat) = stat_of(pid) {
            table.insert(pid, stat);
        }
    }
    let mut below = BTreeSet::new();
    let mut found = vec![root];
    while let Some(parent) = found.pop() {
        for (&pid, stat) in table.iter().filter(|(_, stat)| stat.parent == parent) {
            if below.insert(Process { pid, started: stat.started, is_dead: stat.is_dead }) {
                found.push(pid);
            }
        }
    }
    Ok(below)
}

fn stat_of(pid: i32) -> Option<Stat> {
    parse_stat(&read(&format!("/proc/{pid}/stat")).ok()?)
}

/// Reads the fields of `/proc/PID/stat`; the name, in parentheses, may hold anything, parentheses too.
/// <https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html>
fn parse_stat(line: &str) -> Option<Stat> {
    let (_, fields) = line.rsplit_once(')')?;
    let mut fields = fields.split_ascii_whitespace();
    let state = fields.next()?;
    let parent = fields.next()?.parse().ok()?;
    let started = fields.nth(17)?.parse().ok()?;
    Some(Stat { parent, is_dead: matches!(state, "Z" | "X"), started })
}

fn read(path: &str) -> std::io::Result<String> {
    #[expect(clippy::disallowed_methods, reason = "the kernel's own files, not a project's")]
    std::fs::read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_name_does_not_confuse_its_line() {
        let rest = "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 4711 19 20";
        let rows = [
            ("plain", format!("12 (node) S {rest}"), Some((false, 1))),
            ("spaces and parentheses", format!("12 (a) R 9 (b) S {rest}"), Some((false, 1))),
            ("zombie", format!("12 (node) Z {rest}"), Some((true, 1))),
            ("cut short", "12 (node) S 1 2 3".to_owned(), None),
            ("empty", String::new(), None),
        ];
        for (name, line, expected) in rows {
            let expected = expected.map(|(is_dead, parent)| Stat { parent, is_dead, started: 19 });
            assert_eq!(parse_stat(&line), expected, "{name}");
        }
    }
}
