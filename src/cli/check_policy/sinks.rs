//! The sinks of the audit log as they would work here.
//!
//! In: a policy. Out: one line for each sink. Writing records is left to `audit`.

use serde::Serialize;

use crate::policy::Policy;

/// One sink.
#[derive(Debug, Serialize)]
pub(super) struct SinkAnswer {
    /// Its name in `audit.sinks`.
    pub(super) sink: String,
    /// `ok`, or why it would not take a record.
    pub(super) state: String,
}

/// Looks at each sink of a policy; nothing is written.
pub(super) fn answers(_policy: &Policy) -> Vec<SinkAnswer> {
    Vec::new()
}
