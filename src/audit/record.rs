//! What is written down: calls, decisions, ends, as plain data.
//!
//! In: what the rooms above know of a call. Out: [`Record`]s. How they become lines is left to `line`, where the lines go
//! to the sinks.

use std::fmt;

use serde_json::Value;

use crate::audit::{AuditError, chain::Tip};

/// Ties the records of one call together; an agent sees it, an operator looks it up.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct DecisionId(u64);

impl DecisionId {
    /// Draws a new id from the kernel.
    ///
    /// # Errors
    /// [`AuditError::Random`] when the kernel gives no random bytes.
    pub fn draw() -> Result<Self, AuditError> {
        let mut bytes = [0; 8];
        getrandom::fill(&mut bytes).map_err(AuditError::Random)?;
        Ok(Self(u64::from_ne_bytes(bytes)))
    }
}

impl fmt::Display for DecisionId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "d{:016x}", self.0)
    }
}

impl fmt::Debug for DecisionId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{self}")
    }
}

/// Who is at the other end of the connection, by his own account.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Client {
    /// The name that it claims.
    pub name: String,
    /// The version that it claims.
    pub version: String,
}

/// A call, as far as it is written down; made by [`crate::audit::AuditLog::call`].
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    pub(super) tool: String,
    pub(super) client: Option<Client>,
    pub(super) arguments: Option<Value>,
}

/// Whether a call may go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It may.
    Allow,
    /// It may not.
    Deny,
}

impl Verdict {
    /// The word in a record.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Deny => "deny",
        }
    }
}

/// A call was allowed or denied, before anything is read or spawned.
#[derive(Clone, Debug, PartialEq)]
pub struct Decided {
    /// The decision.
    pub decision: DecisionId,
    /// What was asked.
    pub call: Call,
    /// Whether it may go on.
    pub verdict: Verdict,
    /// The policy key that decided.
    pub rule: String,
    /// Where that key stands.
    pub place: String,
    /// What the rule was held against: a path, a name, a number.
    pub subject: String,
    /// The confinement that the policy asks for, if the call starts something.
    pub sandbox: Option<Value>,
}

/// What was allowed has come to its end.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ended {
    /// How, in a word: `completed`, `failed`, `timedOut`, `cancelled`, `answered`, `not_run`, `not_audited`.
    pub outcome: &'static str,
    /// The code of the error that was answered.
    pub error: Option<String>,
    /// The run, if there was one.
    pub run: Option<String>,
    /// The exit status of Playwright.
    pub exit_code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// From the start of the run, or of the reading, to its end, in milliseconds.
    pub duration_ms: Option<u64>,
    /// The size of the report.
    pub report_bytes: Option<u64>,
    /// The confinement that was in force.
    pub sandbox: Option<Value>,
}

/// Why a chain does not simply go on where the file ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Break {
    /// The file was renamed or replaced: another one has its name.
    Renamed,
    /// The file was removed.
    Removed,
    /// The end of the file was cut off.
    Truncated,
    /// The last record that this server knew was changed.
    Rewritten,
}

impl Break {
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Renamed => "renamed",
            Self::Removed => "removed",
            Self::Truncated => "truncated",
            Self::Rewritten => "rewritten",
        }
    }
}

/// One event of the log.
#[derive(Clone, Debug, PartialEq)]
pub enum Record {
    /// A server began, under a policy of these layers.
    Started {
        /// The layers, as `--check-policy` tells them.
        layers: Value,
    },
    /// A call was decided on.
    Decided(Box<Decided>),
    /// An allowed call has ended.
    Ended {
        /// Its decision.
        decision: DecisionId,
        /// How it ended.
        ended: Ended,
    },
    /// A server ended by itself.
    Stopped {
        /// Why: `client_gone`, `failed`.
        reason: &'static str,
    },
    /// The file is not the one, or not as, it was before.
    Continued {
        /// What happened to it.
        reason: Break,
        /// The last record that this server knew.
        after: Tip,
    },
}

impl Record {
    /// The word in a record.
    pub const fn event(&self) -> &'static str {
        match self {
            Self::Started { .. } => "started",
            Self::Decided(_) => "decided",
            Self::Ended { .. } => "ended",
            Self::Stopped { .. } => "stopped",
            Self::Continued { .. } => "continued",
        }
    }

    /// The call that it is about.
    pub fn decision(&self) -> Option<DecisionId> {
        match self {
            Self::Decided(decided) => Some(decided.decision),
            Self::Ended { decision, .. } => Some(*decision),
            Self::Started { .. } | Self::Stopped { .. } | Self::Continued { .. } => None,
        }
    }
}
