//! The child of a supervisor: `confine`, which becomes the program.
//!
//! In: a plan and an invocation. Out: its handle, its report, the ends of its outputs. How long it lives is left to
//! `supervise`.

use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use rustix::fs::OFlags;
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal};

use crate::runner::supervision::Tail;
use crate::runner::tail::OutputTail;
use crate::sandbox::confine::{ConfineOrder, ConfineReport};

/// How much is read at once, in bytes.
const CHUNK: usize = 16 * 1024;
/// The longest report, in bytes.
const REPORT_BYTES: usize = 256 * 1024;
/// How often an output is read before something else has its turn.
const TURNS: u32 = 64;

/// The child, from its start on.
#[derive(Debug)]
pub struct Confined {
    pid: Pid,
    handle: OwnedFd,
    stdout: Output,
    stderr: Output,
    report: Report,
}

/// One output of the child: its pipe until it ends, and what is kept of it.
#[derive(Debug)]
struct Output {
    pipe: Option<OwnedFd>,
    tail: OutputTail,
}

/// The report, which comes before the program's own output.
#[derive(Debug)]
enum Report {
    Awaited(Vec<u8>),
    Came,
}

/// One of the child's outputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

impl Confined {
    /// Starts the helper in this process's working directory, with no environment, and gives it its order.
    ///
    /// # Errors
    ///
    /// This binary can't be started again.
    pub fn start(order: &ConfineOrder, tail_bytes: u64) -> io::Result<Self> {
        #[expect(clippy::disallowed_methods, reason = "the runner is what spawns")]
        let mut child = Command::new("/proc/self/exe")
            .arg0("playwright-warden")
            .arg("confine")
            .env_clear()
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw).ok_or(Errno::SRCH)?;
        let handle = rustix::process::pidfd_open(pid, PidfdFlags::empty())?;
        if let Some(mut input) = child.stdin.take() {
            match input.write_all(&serde_json::to_vec(order)?) {
                // It ended before it had read its order; standard error says why.
                Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {}
                written => written?,
            }
        }
        let stdout = Output::new(child.stdout.take().map(OwnedFd::from), tail_bytes)?;
        let stderr = Output::new(child.stderr.take().map(OwnedFd::from), tail_bytes)?;
        Ok(Self { pid, handle, stdout, stderr, report: Report::Awaited(Vec::new()) })
    }

    /// Gives the process id, which stays the program's.
    pub const fn pid(&self) -> Pid {
        self.pid
    }

    /// Gives the pidfd, which becomes readable when the child ends.
    pub fn handle(&self) -> BorrowedFd<'_> {
        self.handle.as_fd()
    }

    /// Gives the pipe of an output, while it is open.
    pub fn pipe(&self, stream: Stream) -> Option<BorrowedFd<'_>> {
        match stream {
            Stream::Stdout => self.stdout.pipe.as_ref(),
            Stream::Stderr => self.stderr.pipe.as_ref(),
        }
        .map(AsFd::as_fd)
    }

    /// Sends SIGINT to the child alone: a runner ends its workers, browsers and web servers in order then.
    pub fn interrupt(&self) {
        // One that has ended already is found by its handle.
        rustix::process::pidfd_send_signal(&self.handle, Signal::INT).unwrap_or_default();
    }

    /// Reads what is there of an output, without waiting and within bounds; gives the report when it is complete.
    ///
    /// # Errors
    ///
    /// What should be the report is none.
    pub fn read(&mut self, stream: Stream) -> io::Result<Option<ConfineReport>> {
        match stream {
            Stream::Stderr => {
                self.stderr.read(OutputTail::feed);
                Ok(None)
            }
            Stream::Stdout => {
                let mut line = None;
                let report = &mut self.report;
                self.stdout.read(|tail, bytes| match report {
                    Report::Came => tail.feed(bytes),
                    Report::Awaited(so_far) => {
                        so_far.extend_from_slice(bytes);
                        let mut halves = so_far.splitn(2, |&byte| byte == b'\n');
                        if let (Some(first), Some(rest)) = (halves.next(), halves.next()) {
                            tail.feed(rest);
                            line = Some(first.to_vec());
                            *report = Report::Came;
                        } else if so_far.len() > REPORT_BYTES {
                            line = Some(std::mem::take(so_far));
                            *report = Report::Came;
                        }
                    }
                });
                line.map(|line| serde_json::from_slice(&line).map_err(io::Error::from)).transpose()
            }
        }
    }

    /// Ends reading, and gives what was kept of the outputs: standard output, standard error.
    pub fn into_tails(self) -> (Tail, Tail) {
        (self.stdout.tail.finish(), self.stderr.tail.finish())
    }
}

impl Output {
    fn new(pipe: Option<OwnedFd>, tail_bytes: u64) -> io::Result<Self> {
        if let Some(pipe) = &pipe {
            rustix::fs::fcntl_setfl(pipe, OFlags::NONBLOCK)?;
        }
        Ok(Self { pipe, tail: OutputTail::new(tail_bytes) })
    }

    /// Feeds what is there, at most 1 MiB, to `take`; closes the pipe at its end.
    fn read(&mut self, mut take: impl FnMut(&mut OutputTail, &[u8])) {
        let mut buffer = [0; CHUNK];
        for _ in 0..TURNS {
            let Some(pipe) = &self.pipe else { return };
            match rustix::io::read(pipe, &mut buffer) {
                Ok(0) => self.pipe = None,
                Ok(length) => take(&mut self.tail, buffer.get(..length).unwrap_or_default()),
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return,
                Err(_) => self.pipe = None,
            }
        }
    }
}
