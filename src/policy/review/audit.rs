//! What a reviewer would ask about the audit log.
//!
//! In: `[audit]`, and what a run may write. Out: warnings, and an error under `require` where a run could write the log.
//! Whether a sink works is left to who tries it.

use crate::policy::diagnostic::{Diagnostic, DiagnosticCode};
use crate::policy::origin::Origin;
use crate::policy::recording::AuditSink;
use crate::policy::review::Review;

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
        let is_written = audit.sinks().iter().any(|sink| sink.value == AuditSink::File);
        (is_written && self.a_run_may_write(&file.value)).then(|| {
            Diagnostic::new(
                self.unless_held(),
                DiagnosticCode::AuditInGrantedDir,
                file.origin.clone(),
                format!("the audit log `{}` lies where a run may write", file.value.display()),
            )
            .key("audit.file")
            .hint("leave `file` out for one in your home, or name one outside of every allowed directory")
        })
    }
}
