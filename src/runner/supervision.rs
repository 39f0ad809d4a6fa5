//! What the server and a run's supervisor say to each other: one JSON value a line.
//!
//! In: an [`Order`], the first line of the supervisor's standard input; later the line [`STOP`], or the end of the input,
//! to end everything. Out: [`Event`]s on its standard output; the last one is `refused` or `stopped`,
//! and where neither comes the supervisor itself has failed. Doing it is left to `supervise`.

use serde::{Deserialize, Serialize};

use crate::sandbox::Enforcement;
use crate::sandbox::Plan;
use crate::sandbox::confine::Refusal;
use crate::sandbox::invocation::Invocation;

/// The line that orders the end of a run.
pub const STOP: &str = "stop";

/// What a supervisor shall do. Its working directory is the project.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Order {
    /// What shall hold for the run.
    pub plan: Plan,
    /// What is executed.
    pub invocation: Invocation,
    /// How long the run may take, in milliseconds from its start.
    pub timeout_ms: u64,
    /// How long the program may take to end itself after SIGINT, in milliseconds.
    pub grace_ms: u64,
    /// How much of the end of each output is kept, in bytes.
    pub output_tail_bytes: u64,
}

/// What a supervisor tells.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// The child exists; it is not yet confined.
    Started {
        /// Its process id, which stays the program's.
        pid: i32,
    },
    /// The child is confined and becomes the program.
    Enforced {
        /// What holds for it.
        enforcement: Enforcement,
    },
    /// Nothing was executed; the last event.
    Refused(Refusal),
    /// The run is over and none of its processes is left; the last event.
    Stopped(Stopped),
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stopped {
    /// The program's exit status, if it exited by itself.
    pub exit_code: Option<i32>,
    /// The number of the signal that ended the program, if one did.
    pub signal: Option<i32>,
    /// Why the run ended.
    pub reason: StopReason,
    /// What ended the program.
    pub method: StopMethod,
    /// How many processes the program left behind, which were killed then; processes, without the program itself.
    pub swept: u64,
    /// Whether something could not be killed: processes that are still there; 0 but for a broken system.
    pub survivors: u64,
    /// From the start to the last process's end, in milliseconds.
    pub duration_ms: u64,
    /// The end of the program's standard output.
    pub stdout: Tail,
    /// The end of its standard error.
    pub stderr: Tail,
}

/// Why a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// The program ended by itself.
    Exited,
    /// It took longer than its order allows.
    TimedOut,
    /// The server said so, went away, or the supervisor was signalled.
    Ordered,
}

/// What ended a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopMethod {
    /// Nothing: it ended by itself.
    None,
    /// It ended within the grace after SIGINT.
    Interrupt,
    /// It did not, and was killed.
    Kill,
}

/// The end of an output.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tail {
    /// The last bytes; what is no UTF-8 is replaced.
    pub text: String,
    /// How many bytes there were in all.
    pub total_bytes: u64,
}
