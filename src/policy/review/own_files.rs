//! What steers this server, and lies where a run may write.
//!
//! In: the policy files, this server's program and its state, and what a run may write. Out: findings: errors under
//! `require`, since who changes these changes what holds for the next run.

use std::path::Path;

use crate::path::locate::locate;
use crate::policy::confinement::ProjectAccess;
use crate::policy::diagnostic::{Diagnostic, DiagnosticCode};
use crate::policy::origin::Origin;
use crate::policy::review::Review;
use crate::policy::source::LayerSource;

impl Review<'_> {
    pub(super) fn own_files(&self) -> Vec<Diagnostic> {
        self.policy_files().into_iter().chain(self.program()).chain(self.state_dir()).collect()
    }

    fn policy_files(&self) -> Vec<Diagnostic> {
        let files = self.policy.layers().iter().filter_map(|layer| match &layer.source {
            LayerSource::File { path, facts, .. } => facts.as_ref().map(|facts| (path, &facts.canonical)),
            LayerSource::Environment | LayerSource::Builtin => None,
        });
        files
            .filter(|(_, canonical)| self.a_run_may_write(canonical))
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

    /// Says whether a run in one of the allowed directories may write what lies at a canonical path.
    pub(super) fn a_run_may_write(&self, path: &Path) -> bool {
        let sandbox = self.policy.sandbox();
        let mut projects = path.ancestors().skip(1).filter(|dir| self.is_granted(dir));
        let in_project = match sandbox.project().value {
            ProjectAccess::ReadOnly => false,
            ProjectAccess::Outputs => projects
                .any(|dir| sandbox.outputs().iter().any(|output| path.starts_with(dir.join(&output.value)))),
            ProjectAccess::ReadWrite => projects.next().is_some(),
        };
        in_project || sandbox.write().iter().any(|tree| path.starts_with(&tree.value))
    }

    fn program(&self) -> Option<Diagnostic> {
        let program = locate(self.inputs.program.as_ref()?).ok()?.path;
        self.a_run_may_write(&program).then(|| {
            Diagnostic::new(
                self.unless_held(),
                DiagnosticCode::ProgramInGrantedDir,
                Origin::file(&program),
                format!("this server's program `{}` lies where a run may write", program.display()),
            )
            .hint("install it outside of every allowed directory")
        })
    }

    fn state_dir(&self) -> Option<Diagnostic> {
        let state = locate(self.inputs.state_dir.as_ref()?).ok()?.path;
        let holds_a_tree = self.policy.sandbox().write().iter().any(|tree| tree.value.starts_with(&state));
        // What lies in it counts, so that it must not be a project itself either.
        (holds_a_tree || self.a_run_may_write(&state.join("runs"))).then(|| {
            Diagnostic::new(
                self.unless_held(),
                DiagnosticCode::StateInGrantedDir,
                Origin::file(&state),
                format!("`{}`, where all runs are kept, lies where each of them may write", state.display()),
            )
            .hint("allow less, or keep runs elsewhere by --state-dir")
        })
    }
}
