//! How terms bind a child: the plan as data, and what of it really holds.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::policy::confinement::{Network, ProjectAccess, SandboxMode, UnixSockets};

/// What shall hold for one run: plain data, so that it can be shown, compared and sent to the helper.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// Whether the run may start with less than the plan asks.
    pub mode: SandboxMode,
    /// What may be read, listed and executed, besides the project: absolute paths, symlinks resolved.
    pub read: Vec<PathBuf>,
    /// What may be written as well: absolute paths, symlinks resolved.
    pub write: Vec<PathBuf>,
    /// What may be done to the project, which is the helper's working directory.
    pub project: ProjectAccess,
    /// Output directories beneath the project that may be written under `outputs`, relative to it.
    pub outputs: Vec<PathBuf>,
    /// Names in the project that shall stay as they are; they need mounts, which this version does not make.
    pub protect: Vec<PathBuf>,
    /// What network the run has.
    pub network: Network,
    /// Whether the run may make unix sockets.
    pub unix_sockets: UnixSockets,
    /// Bounds of each process.
    pub limits: ProcessLimits,
}

/// Resource limits of each process of a run; `None` leaves the inherited limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessLimits {
    /// `RLIMIT_NOFILE`, in descriptors.
    pub open_files: Option<u64>,
    /// `RLIMIT_FSIZE`, in bytes.
    pub file_bytes: Option<u64>,
    /// `RLIMIT_DATA`, in bytes.
    pub memory_bytes: Option<u64>,
}

/// One thing that a plan asks of the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Feature {
    /// Files outside the scopes can be neither read nor written.
    Files,
    /// Processes outside the run can't be signalled.
    Signals,
    /// No unix sockets but socket pairs.
    UnixSockets,
    /// No TCP.
    Tcp,
    /// No UDP, no other transport.
    Udp,
    /// The names of `sandbox.protect` stay as they are.
    Protect,
}

/// Which part of the kernel enforces a feature.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Enforcer {
    /// Landlock rules.
    Landlock,
    /// A seccomp filter.
    Seccomp,
}

/// How much of what was asked is enforced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// All of it.
    Full,
    /// Some of it; [`Enforcement::missing`] says what is not.
    Partial,
    /// Nothing.
    Absent,
}

/// What really holds for one run, by which layer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Enforcement {
    /// How much of what was asked is enforced.
    pub level: Level,
    /// What is enforced, and by what.
    pub enforced: Vec<(Feature, Enforcer)>,
    /// What was asked and is not enforced.
    pub missing: Vec<Feature>,
    /// The Landlock ABI in use; absent where the kernel has none.
    pub landlock_abi: Option<u32>,
}
