//! The sandbox a policy asks for: the values of `[sandbox]`, from the strictest to the most open.
//!
//! In: the words of a policy. Out: closed enums, ordered so that combining layers is `min`. What they mean to the
//! kernel is left to `sandbox`.

use serde::{Deserialize, Serialize};

/// Whether a run may start without the protection that was asked for (`sandbox.mode`).
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum SandboxMode {
    /// A run is refused unless all that was asked for is enforced.
    Require,
    /// A run starts with what this kernel has, and says what is missing.
    BestEffort,
    /// No confinement.
    Off,
}

/// What a run may do to its own project (`sandbox.project`).
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum ProjectAccess {
    /// The project is read, never written.
    ReadOnly,
    /// Only the directories of `sandbox.outputs` are written.
    Outputs,
    /// The whole project is written.
    ReadWrite,
}

/// What network a run has (`sandbox.network`).
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Network {
    /// Neither TCP nor UDP, loopback included.
    None,
    /// TCP and UDP are free.
    Open,
}

/// Whether a run may make unix sockets (`sandbox.unix_sockets`); socket pairs are always allowed.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum UnixSockets {
    /// Only socket pairs.
    Deny,
    /// Path and abstract sockets too: full Chromium, Chrome and headed browsers need them.
    Allow,
}
