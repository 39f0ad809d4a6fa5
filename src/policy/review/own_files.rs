//! What steers this server, and lies where a run may write.
//!
//! In: the layers, and what a run may write. Out: findings: errors under `require`, since nothing would hold.

use crate::policy::confinement::ProjectAccess;
use crate::policy::diagnostic::{Diagnostic, DiagnosticCode};
use crate::policy::origin::Origin;
use crate::policy::review::Review;
use crate::policy::source::LayerSource;

impl Review<'_> {
    pub(super) fn own_files(&self) -> Vec<Diagnostic> {
        let sandbox = self.policy.sandbox();
        let writes_project = sandbox.project().value == ProjectAccess::ReadWrite;
        let files = self.policy.layers().iter().filter_map(|layer| match &layer.source {
            LayerSource::File { path, facts } => facts.as_ref().map(|facts| (path, &facts.canonical)),
            LayerSource::Environment | LayerSource::Builtin => None,
        });
        files
            .filter(|(_, canonical)| {
                let in_project = writes_project && canonical.parent().is_some_and(|dir| self.is_granted(dir));
                in_project || sandbox.write().iter().any(|tree| canonical.starts_with(&tree.value))
            })
            .map(|(path, _)| {
                Diagnostic::new(
                    self.unless_held(),
                    DiagnosticCode::PolicyInGrantedDir,
                    Origin::file(path),
                    format!("the policy `{}` lies where a run may write", path.display()),
                )
                .hint("put it into ~/.config/playwright-warden, or outside of every allowed directory")
            })
            .collect()
    }
}
