//! The helper `supervise`: one a run. It starts the program confined, and ends all that descends from it.
//!
//! In: an [`Order`] on standard input, then its end as the order to stop; the project as working directory. Out:
//! [`Event`]s on standard output. What binds the program is left to `sandbox::confine`; who starts this helper does not
//! matter.
//!
//! A run is over when its program is, whoever still holds its pipes. Then everything below this process is killed.

use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::DumpableBehavior;

use crate::runner::confined::{Confined, Stream};
use crate::runner::descendants::{Children, Family, Swept};
use crate::runner::orders::Orders;
use crate::runner::supervision::{Event, Order, StopMethod, StopReason, Stopped};
use crate::sandbox::confine::{ConfineOrder, ConfineReport, Refusal};
use crate::sandbox::descriptors;

/// Exit status when the helper itself failed, and when its order makes no sense.
const FAILED: u8 = 1;
const MALFORMED: u8 = 2;

/// Runs the helper to the end of its run.
pub fn main() -> ExitCode {
    let order = descriptors::close_inherited().and_then(|()| {
        let mut orders = Orders::default();
        orders.first().map(|order| (order, orders))
    });
    let (order, orders) = match order {
        Ok(read) => read,
        Err(error) => {
            complain(&error);
            return ExitCode::from(MALFORMED);
        }
    };
    let last = match Supervisor::start(order, orders) {
        Ok(supervisor) => supervisor.run(),
        Err(error) => Ok(Event::Refused(broken(format!("the confinement can't be started: {error}")))),
    };
    match last.and_then(|last| tell(&last)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            complain(&error);
            ExitCode::from(FAILED)
        }
    }
}

/// Where a run stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// The program runs.
    Running,
    /// It was told to end, and has until then; with nothing, for ever.
    Interrupted { reason: StopReason, until: Option<Instant> },
}

/// What there is to be done next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wake {
    Program,
    Signals,
    Orders,
    Listener,
    Output(Stream),
}

/// What was said of the confinement.
#[derive(Debug)]
enum Verdict {
    Awaited,
    Enforced,
    Refused(Refusal),
}

struct Supervisor {
    started: Instant,
    deadline: Option<Instant>,
    grace: Duration,
    orders: Orders,
    signals: SignalFd,
    child: Confined,
    family: Family,
    phase: Phase,
    /// Whether the program's handle told its end.
    is_gone: bool,
    verdict: Verdict,
}

impl Supervisor {
    fn start(order: Order, orders: Orders) -> io::Result<Self> {
        let started = Instant::now();
        rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
        // A second lock: a process of the same user can't read this one's memory and environment.
        rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
        let mut mask = SigSet::empty();
        for signal in [Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP, Signal::SIGCHLD] {
            mask.add(signal);
        }
        mask.thread_block()?;
        let signals = SignalFd::with_flags(&mask, SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC)?;
        let tail_bytes = order.output_tail_bytes;
        let child = Confined::start(
            &ConfineOrder { plan: order.plan, invocation: Some(order.invocation) },
            tail_bytes,
        )?;
        let family = Family::new(child.pid());
        Ok(Self {
            started,
            deadline: started.checked_add(Duration::from_millis(order.timeout_ms)),
            grace: Duration::from_millis(order.grace_ms),
            orders,
            signals,
            child,
            family,
            phase: Phase::Running,
            is_gone: false,
            verdict: Verdict::Awaited,
        })
    }

    /// Follows the program to its end, kills what is left, and gives the last event.
    fn run(mut self) -> io::Result<Event> {
        let followed = self.follow();
        // First what the program itself wrote, then what came from those who held its pipes.
        self.drain();
        let swept = self.family.sweep()?;
        self.drain();
        Ok(self.conclusion(followed?, swept))
    }

    /// Follows the program to its end, or to the end of its grace.
    fn follow(&mut self) -> io::Result<StopMethod> {
        self.tell(&Event::Started { pid: self.child.pid().as_raw_nonzero().get() });
        if self.orders.holds_stop() {
            self.stop(StopReason::Ordered);
        }
        loop {
            let until = match self.phase {
                Phase::Running => self.deadline,
                Phase::Interrupted { until, .. } => until,
            };
            for wake in self.wait(until)? {
                self.handle(wake)?;
            }
            match (self.phase, self.has_ended()?) {
                (Phase::Running, true) => return Ok(StopMethod::None),
                (Phase::Interrupted { .. }, true) => return Ok(StopMethod::Interrupt),
                (Phase::Running, false) if has_passed(self.deadline) => self.stop(StopReason::TimedOut),
                (Phase::Interrupted { until, .. }, false) if has_passed(until) => {
                    return Ok(StopMethod::Kill);
                }
                (Phase::Running | Phase::Interrupted { .. }, false) => {}
            }
        }
    }

    /// Waits until something happens, or until then.
    fn wait(&self, until: Option<Instant>) -> io::Result<Vec<Wake>> {
        let stdout = io::stdout();
        let mut sources: Vec<(Wake, BorrowedFd<'_>, PollFlags)> = vec![
            (Wake::Program, self.child.handle(), PollFlags::IN),
            (Wake::Signals, self.signals.as_fd(), PollFlags::IN),
        ];
        if self.phase == Phase::Running {
            sources.push((Wake::Orders, self.orders.source(), PollFlags::IN));
            sources.push((Wake::Listener, stdout.as_fd(), PollFlags::empty())); // errors are always told
        }
        for stream in [Stream::Stdout, Stream::Stderr] {
            if let Some(pipe) = self.child.pipe(stream) {
                sources.push((Wake::Output(stream), pipe, PollFlags::IN));
            }
        }
        let mut polled: Vec<_> =
            sources.iter().map(|&(_, source, events)| PollFd::from_borrowed_fd(source, events)).collect();
        let left = until.map(|until| until.saturating_duration_since(Instant::now()));
        // A wait too long for the kernel's clock is no bound.
        let timeout = left.and_then(|left| Timespec::try_from(left).ok());
        match poll(&mut polled, timeout.as_ref()) {
            Ok(_) => {}
            Err(Errno::INTR) => return Ok(Vec::new()),
            Err(error) => return Err(error.into()),
        }
        let ready = sources.iter().zip(&polled).filter(|(_, polled)| !polled.revents().is_empty());
        Ok(ready.map(|(&(wake, ..), _)| wake).collect())
    }

    fn handle(&mut self, wake: Wake) -> io::Result<()> {
        match wake {
            Wake::Program => self.is_gone = true,
            Wake::Signals => {
                let children = Signal::SIGCHLD as u32;
                while let Some(signal) = self.signals.read_signal()? {
                    if signal.ssi_signo != children {
                        self.stop(StopReason::Ordered);
                    }
                }
            }
            Wake::Orders => {
                if self.orders.read_stop() {
                    self.stop(StopReason::Ordered);
                }
            }
            Wake::Listener => self.stop(StopReason::Ordered),
            Wake::Output(stream) => self.read(stream),
        }
        Ok(())
    }

    /// Says whether the program has ended, and reaps the orphans that did.
    fn has_ended(&mut self) -> io::Result<bool> {
        // Gone without a status: whoever started this process ignores SIGCHLD, and the kernel reaped the program.
        let children = self.family.reap()?;
        Ok(self.family.ended().is_some() || self.is_gone || children == Children::None)
    }

    /// Tells the program to end; a second order changes nothing.
    fn stop(&mut self, reason: StopReason) {
        if self.phase == Phase::Running {
            self.phase = Phase::Interrupted { reason, until: Instant::now().checked_add(self.grace) };
            self.child.interrupt();
        }
    }

    fn read(&mut self, stream: Stream) {
        match self.child.read(stream) {
            Ok(None) => {}
            Ok(Some(ConfineReport::Enforced(enforcement))) => {
                self.verdict = Verdict::Enforced;
                self.tell(&Event::Enforced { enforcement });
            }
            Ok(Some(ConfineReport::Refused(refusal))) => self.verdict = Verdict::Refused(refusal),
            Err(error) => {
                self.verdict = Verdict::Refused(broken(format!(
                    "the report of the confinement makes no sense: {error}"
                )));
                self.stop(StopReason::Ordered);
            }
        }
    }

    fn drain(&mut self) {
        self.read(Stream::Stdout);
        self.read(Stream::Stderr);
    }

    /// Tells an event; one that can't be told is the order to end.
    fn tell(&mut self, event: &Event) {
        if tell(event).is_err() {
            self.stop(StopReason::Ordered);
        }
    }

    /// Sums the run up.
    fn conclusion(self, method: StopMethod, swept: Swept) -> Event {
        let status = self.family.ended();
        let (stdout, stderr) = self.child.into_tails();
        let reason = match self.phase {
            Phase::Running => StopReason::Exited,
            Phase::Interrupted { reason, .. } => reason,
        };
        match (self.verdict, reason) {
            (Verdict::Refused(refusal), _) => Event::Refused(refusal),
            (Verdict::Awaited, StopReason::Exited) => Event::Refused(broken(format!(
                "the confinement ended before it reported: {}",
                stderr.text.trim_end()
            ))),
            (Verdict::Awaited | Verdict::Enforced, _) => Event::Stopped(Stopped {
                exit_code: status.and_then(rustix::process::WaitStatus::exit_status),
                signal: status.and_then(rustix::process::WaitStatus::terminating_signal),
                reason,
                method,
                swept: swept.killed,
                survivors: swept.survivors,
                duration_ms: u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX),
                stdout,
                stderr,
            }),
        }
    }
}

fn has_passed(until: Option<Instant>) -> bool {
    until.is_some_and(|until| until <= Instant::now())
}

fn broken(message: String) -> Refusal {
    let hint = "this is a fault of the server or of the system it runs on; see the message".to_owned();
    Refusal { message, missing: Vec::new(), keys: Vec::new(), hint }
}

fn tell(event: &Event) -> io::Result<()> {
    let mut line = serde_json::to_vec(event)?;
    line.push(b'\n');
    let mut stdout = io::stdout().lock();
    stdout.write_all(&line)?;
    stdout.flush()
}

fn complain(error: &io::Error) {
    // Nobody is left to tell if that fails.
    writeln!(io::stderr(), "playwright-warden supervise: {error}").unwrap_or_default();
}
