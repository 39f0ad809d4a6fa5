//! The helper `confine`: binds itself to a plan, says what holds, and becomes the program.
//!
//! In: a [`ConfineOrder`] as JSON on standard input, to its end; the project as working directory. Out: a
//! [`ConfineReport`] as the first line of standard output, which then is the program's. Whatever happens later is left to
//! `runner::supervise`, which starts this helper.
//!
//! The order of the steps is fixed: each one would be harder, or void, after the next.

use std::io::{self, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};

use nix::sys::signal::SigSet;
use rustix::fs::{CWD, Mode, OFlags};
use rustix::io::Errno;
use rustix::process::Signal;
use serde::{Deserialize, Serialize};

use crate::policy::confinement::SandboxMode;
use crate::sandbox::invocation::Invocation;
use crate::sandbox::landlock::{self, LandlockError};
use crate::sandbox::{Enforcement, Feature, Plan, SocketFilter};
use crate::sandbox::{descriptors, privileges, seccomp};
use crate::text::chain;

/// The longest order that is read, in bytes.
const ORDER_BYTES: u64 = 16 * 1024 * 1024;

/// Exit status after a refusal, and after an order that makes no sense.
const REFUSED: u8 = 1;
const MALFORMED: u8 = 2;
/// Exit status, as a shell has it, when the program can't be executed, and when it is not there.
const NOT_EXECUTABLE: u8 = 126;
const NOT_FOUND: u8 = 127;

/// What `confine` is told.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConfineOrder {
    /// What shall hold.
    pub plan: Plan,
    /// What is then executed; with nothing the helper reports and exits: a probe of what holds here.
    pub invocation: Option<Invocation>,
}

/// What `confine` answers, before it executes anything.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ConfineReport {
    /// The plan holds, as far as this says; the program follows.
    Enforced(Enforcement),
    /// Nothing was executed.
    Refused(Refusal),
}

/// Why a run was not started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    /// What happened.
    pub message: String,
    /// What the plan requires and is not enforced; empty if the cause is another.
    pub missing: Vec<Feature>,
    /// The policy keys that ask for it.
    pub keys: Vec<String>,
    /// What to do.
    pub hint: String,
}

/// Why a plan could not be applied.
#[derive(Debug, thiserror::Error)]
pub enum ConfineError {
    /// The kernel refused one of the steps that always work on a sound system.
    #[error("{step} failed")]
    Step {
        /// What was tried.
        step: &'static str,
        /// What the kernel said.
        #[source]
        source: Errno,
    },
    /// The project can't be opened, so that no rule can be made for it.
    #[error(transparent)]
    Project(LandlockError),
    /// The plan requires what this system does not enforce.
    #[error("the sandbox is required, and this system does not enforce {}", names(.0))]
    Missing(Vec<Feature>),
}

impl ConfineError {
    /// Says what to do.
    pub fn hint(&self) -> String {
        match self {
            Self::Step { .. } => "the system forbids a basic step of every sandbox; see the message".to_owned(),
            Self::Project(_) => "let the user of the server enter the project directory".to_owned(),
            Self::Missing(missing) if missing.as_slice() == [Feature::Protect] => {
                "`sandbox.protect` needs mounts, which this version does not make: use `sandbox.project = \"outputs\"` \
                 or `\"read-only\"`, or an empty `sandbox.protect`"
                    .to_owned()
            }
            Self::Missing(missing) => format!(
                "change {}, use a newer kernel, or set `sandbox.mode = \"best-effort\"`",
                keys(missing).iter().map(|key| format!("`{key}`")).collect::<Vec<_>>().join(", ")
            ),
        }
    }
}

impl From<&ConfineError> for Refusal {
    fn from(error: &ConfineError) -> Self {
        let missing = match error {
            ConfineError::Missing(missing) => missing.clone(),
            ConfineError::Step { .. } | ConfineError::Project(_) => Vec::new(),
        };
        Self { message: chain(error), keys: keys(&missing), missing, hint: error.hint() }
    }
}

fn names(features: &[Feature]) -> String {
    features.iter().map(|feature| feature.name()).collect::<Vec<_>>().join(", ")
}

fn keys(features: &[Feature]) -> Vec<String> {
    let mut keys: Vec<_> = features.iter().map(|feature| feature.policy_key().to_owned()).collect();
    keys.dedup();
    keys
}

/// Runs the helper; it returns only if nothing was executed.
pub fn main() -> ExitCode {
    match run() {
        Ok(code) => code,
        Err(error) => {
            complain(&error.to_string());
            ExitCode::from(MALFORMED)
        }
    }
}

fn run() -> io::Result<ExitCode> {
    descriptors::close_inherited()?;
    // Before the report: writing that fails once the supervisor is gone, so a supervisor that dies at any moment is noticed.
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
    let mut order = Vec::new();
    io::stdin().lock().take(ORDER_BYTES).read_to_end(&mut order)?;
    let order: ConfineOrder = serde_json::from_slice(&order).map_err(|error| {
        io::Error::new(io::ErrorKind::InvalidData, format!("the order makes no sense: {error}"))
    })?;
    let nothing = rustix::fs::openat(CWD, "/dev/null", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
    rustix::stdio::dup2_stdin(&nothing)?;
    drop(nothing);

    let (report, invocation) = match apply(&order.plan) {
        Ok(enforcement) => (ConfineReport::Enforced(enforcement), order.invocation),
        Err(error) => (ConfineReport::Refused(Refusal::from(&error)), None),
    };
    let mut line = serde_json::to_vec(&report)?;
    line.push(b'\n');
    let mut stdout = io::stdout();
    stdout.write_all(&line)?;
    stdout.flush()?;
    match (report, invocation) {
        (ConfineReport::Enforced(_), Some(invocation)) => Ok(execute(&invocation)),
        (ConfineReport::Enforced(_), None) => Ok(ExitCode::SUCCESS),
        (ConfineReport::Refused(_), _) => Ok(ExitCode::from(REFUSED)),
    }
}

/// Binds this process to the plan.
///
/// # Errors
///
/// [`ConfineError`]; this process must not execute anything then.
fn apply(plan: &Plan) -> Result<Enforcement, ConfineError> {
    let step = |step| move |source| ConfineError::Step { step, source };
    privileges::limit_resources(&plan.limits).map_err(step("lowering the resource limits"))?;
    match rustix::process::setsid() {
        // PERM: already the leader of a group, as when started from a shell.
        Ok(_) | Err(Errno::PERM) => {}
        Err(error) => return Err(step("making a session")(error)),
    }
    if plan.mode == SandboxMode::Off {
        return Ok(Enforcement::judge(plan, None, SocketFilter::Missing, Vec::new()));
    }
    privileges::drop_capabilities().map_err(step("dropping the capabilities"))?;
    rustix::thread::set_no_new_privs(true).map_err(step("setting no_new_privs"))?;
    let (abi, unusable) = match landlock::restrict(plan) {
        Ok(restriction) => (restriction.abi, restriction.unusable),
        Err(error @ LandlockError::Project(_)) => return Err(ConfineError::Project(error)),
        Err(error @ LandlockError::Rules(_)) => {
            complain(&chain(&error));
            (None, Vec::new())
        }
    };
    let filter = match seccomp::install(plan) {
        Ok(()) => SocketFilter::Installed,
        Err(error) => {
            complain(&chain(&error));
            SocketFilter::Missing
        }
    };
    let enforcement = Enforcement::judge(plan, abi, filter, unusable);
    if plan.mode == SandboxMode::Require && !enforcement.missing.is_empty() {
        return Err(ConfineError::Missing(enforcement.missing));
    }
    Ok(enforcement)
}

/// Becomes the program; returns only if that failed.
fn execute(invocation: &Invocation) -> ExitCode {
    // A blocked signal stays blocked through `execve`; SIGPIPE is put back to its default by the standard library.
    if let Err(error) = SigSet::empty().thread_set_mask() {
        complain(&format!("the signal mask can't be emptied: {error}"));
        return ExitCode::from(NOT_EXECUTABLE);
    }
    #[expect(
        clippy::disallowed_methods,
        reason = "this helper is what the runner spawns; here it becomes the program"
    )]
    let error =
        Command::new(&invocation.program).args(&invocation.argv).env_clear().envs(&invocation.env).exec();
    complain(&format!("`{}` can't be executed: {error}", invocation.program.display()));
    ExitCode::from(if error.kind() == io::ErrorKind::NotFound { NOT_FOUND } else { NOT_EXECUTABLE })
}

/// Says on standard error what went wrong.
fn complain(message: &str) {
    // Nobody is left to tell if that fails.
    writeln!(io::stderr(), "playwright-warden confine: {message}").unwrap_or_default();
}
