//! What a reviewer would ask about the audit log.
//!
//! In: `[audit]`, and what a run may write. Out: warnings, and an error under `require` where a run could write the log.
//! Whether a sink works is left to who tries it.

use crate::policy::diagnostic::{Diagnostic, DiagnosticCode};
use crate::policy::origin::Origin;
use crate::policy::recording::{AuditFailure, AuditSink};
use crate::policy::review::Review;
use crate::policy::review::own_files::Victim;

impl Review<'_> {
    pub(super) fn audit(&self) -> Option<Diagnostic> {
        let audit = self.policy.audit();
        if audit.sinks().is_empty() {
            return Some(
                Diagnostic::warning(DiagnosticCode::AuditOff, Origin::Builtin, "no decision is written down")
                    .key("audit.sinks")
                    .hint(r#"write `sinks = ["journald", "file"]` under `[audit]`"#),
            );
        }
        let file = audit.file();
        if !audit.sinks().iter().any(|sink| sink.value == AuditSink::File) {
            return None;
        }
        let victim = Victim {
            code: DiagnosticCode::AuditInGrantedDir,
            origin: file.origin.clone(),
            what: format!("the audit log `{}`", file.value.display()),
            move_it: "name another `file` under `[audit]`, as in your home",
        };
        Some(self.told(victim, self.lets_write(&file.value)?))
    }

    /// What goes on without a record.
    pub(super) fn audit_continues(&self) -> Option<Diagnostic> {
        let (audit, code) = (self.policy.audit(), DiagnosticCode::AuditContinues);
        let on_error = audit.on_error();
        (!audit.sinks().is_empty() && on_error.value == AuditFailure::Continue).then(|| {
            Diagnostic::warning(code, on_error.origin.clone(), "what can't be recorded is done all the same")
                .key("audit.on_error")
                .hint("write `on_error = \"deny\"` under `[audit]`, or take it out: that is the default")
        })
    }
}
