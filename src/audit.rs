//! The audit log: who asked for what, what was decided, by which rule, and how it ended.
//!
//! It owns its record types; other rooms convert into them. This version has the type and its place in the way of a
//! call, with no sink: nothing is written yet. A sink that fails will refuse the call, so `record` can fail.

use std::fmt;

use thiserror::Error;

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

/// Why a record was not written.
#[derive(Debug, Error)]
pub enum AuditError {
    /// The kernel gives no random bytes.
    #[error("no random bytes for a decision id")]
    Random(#[source] getrandom::Error),
}

/// One event of the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Record {
    /// A call was allowed or denied, before anything is read or spawned.
    Decided {
        /// The call.
        decision: DecisionId,
        /// The tool's name.
        tool: &'static str,
        /// Whether it may go on.
        verdict: Verdict,
        /// The policy key that decided.
        rule: String,
        /// Where that key stands.
        origin: String,
        /// What the rule was held against: a path, a name, a number.
        subject: String,
    },
    /// What was allowed has come to its end.
    Ended {
        /// The call.
        decision: DecisionId,
        /// How it ended, in a word: `completed`, `failed`, `timedOut`, `cancelled`, `not_run`.
        outcome: &'static str,
        /// The exit status of Playwright.
        exit_code: Option<i32>,
        /// How much of the asked confinement held.
        sandbox: Option<String>,
    },
}

/// Whether a call may go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It may.
    Allow,
    /// It may not.
    Deny,
}

/// Where records go. There is no sink yet, so they go nowhere; the gate grants nothing without having asked it.
#[derive(Debug, Default)]
pub struct AuditLog {
    _private: (),
}

impl AuditLog {
    /// A log without sinks.
    pub fn without_sinks() -> Self {
        Self::default()
    }

    /// Writes a record to every sink.
    ///
    /// # Errors
    /// [`AuditError`] when a sink can't take it; the call it stands for must not go on.
    pub fn record(&self, _record: &Record) -> Result<(), AuditError> {
        Ok(())
    }
}
