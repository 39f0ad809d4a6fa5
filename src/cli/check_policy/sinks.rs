//! The sinks of the audit log as they would work here.
//!
//! In: a policy. Out: one line for each sink. Writing records is left to `audit`.

use serde::Serialize;

use crate::policy::{Policy, recording::AuditSink};

/// One sink.
#[derive(Debug, Serialize)]
pub(super) struct SinkAnswer {
    /// Its name in `audit.sinks`.
    pub(super) sink: &'static str,
    /// Where it writes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) path: Option<String>,
    /// Whether it would take a record, or why not.
    pub(super) state: String,
}

/// Looks at each sink of a policy; nothing is written.
pub(super) fn answers(policy: &Policy) -> Vec<SinkAnswer> {
    let audit = policy.audit();
    let path = |sink| match sink {
        AuditSink::Journald => None,
        AuditSink::File => Some(audit.file().value.display().to_string()),
    };
    let answer =
        |sink: AuditSink| SinkAnswer { sink: sink.word(), path: path(sink), state: "not tried".to_owned() };
    audit.sinks().iter().map(|sink| answer(sink.value)).collect()
}
