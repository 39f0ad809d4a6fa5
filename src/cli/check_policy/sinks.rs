//! The sinks of the audit log as they would work here.
//!
//! In: a policy. Out: what each sink would do with a record, and a finding for each that could not take one. Nothing is
//! written; that is left to `audit`.

use std::path::Path;

use serde::Serialize;

use crate::{
    audit::{
        file::{LogFile, open::Outlook},
        journal,
    },
    policy::{
        Policy,
        diagnostic::{Diagnostic, DiagnosticCode},
        origin::Sourced,
        recording::{AuditFailure, AuditSink},
    },
    text::chain,
};

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

/// Looks at each sink of a policy.
pub(super) fn look(policy: &Policy, home: Option<&Path>) -> (Vec<SinkAnswer>, Vec<Diagnostic>) {
    let path = &policy.audit().file().value;
    let mut findings = Vec::new();
    let answers = policy.audit().sinks().iter().map(|sink| {
        let (path, looked) = match sink.value {
            AuditSink::Journald => (None, journal::look().map(|()| "listens").map_err(|error| chain(&error))),
            AuditSink::File => {
                let looked = LogFile::new(path, home).look().map(|outlook| match outlook {
                    Outlook::Appended => "would be appended to",
                    Outlook::Made => "would be made",
                });
                (Some(path.display().to_string()), looked.map_err(|error| chain(&error)))
            }
        };
        let state = match looked {
            Ok(outlook) => outlook.to_owned(),
            Err(problem) => {
                findings.push(unavailable(policy, sink, &problem));
                problem
            }
        };
        SinkAnswer { sink: sink.value.word(), path, state }
    });
    (answers.collect(), findings)
}

fn unavailable(policy: &Policy, sink: &Sourced<AuditSink>, problem: &str) -> Diagnostic {
    let then = match policy.audit().on_error().value {
        AuditFailure::Deny => "each call is refused until it can",
        AuditFailure::Continue => "calls go on, and nothing is written there",
    };
    let summary = format!("the sink `{}` can't take a record here: {problem}", sink.value);
    Diagnostic::warning(DiagnosticCode::AuditUnavailable, sink.origin.clone(), summary)
        .key("audit.sinks")
        .hint(format!("{then}; mend it, or name another sink"))
}
