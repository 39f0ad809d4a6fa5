//! Denied directories, and what they leave of the allowed ones.
//!
//! In: `dirs.deny` beside `dirs.allow`. Out: findings.

use crate::policy::diagnostic::{Diagnostic, DiagnosticCode};
use crate::policy::origin::Sourced;
use crate::policy::pattern::path_glob::PathGlob;
use crate::policy::review::Review;
use crate::policy::review::found::through_symlink;

impl Review<'_> {
    pub(super) fn denied_dirs(&self) -> Vec<Diagnostic> {
        let mut findings = Vec::new();
        for deny in self.policy.dirs().deny().entries() {
            findings.extend(through_symlink("dirs.deny", deny));
            findings.extend(self.below_a_grant(deny));
        }
        findings.extend(self.shadowed());
        findings
    }

    /// A run in an allowed directory can do to a denied one below it what it can do to the rest.
    fn below_a_grant(&self, deny: &Sourced<PathGlob>) -> Option<Diagnostic> {
        self.lies_below_a_grant(&deny.value).then(|| {
            Diagnostic::new(
                self.unless_held(),
                DiagnosticCode::DenyBelowGrant,
                deny.origin.clone(),
                format!("`{}` is denied below an allowed directory, where no sandbox denies it", deny.value),
            )
            .key("dirs.deny")
            .hint(
                "calls for it are refused, but a run in a directory above it can read it: take it out here, and name \
                 in `allow` only the directories beside it",
            )
        })
    }

    fn lies_below_a_grant(&self, deny: &PathGlob) -> bool {
        if let Some(dir) = deny.literal() {
            // What is denied whole holds no project above it.
            return dir.parent().is_some_and(|parent| self.is_granted(parent));
        }
        // `**` may match anywhere below where it starts, so also within what is allowed there.
        let (fixed, spans) = (deny.fixed_part(), deny.as_written().contains("**"));
        let reaches = |allow: &PathGlob| {
            allow.matches(fixed).is_some() || (spans && allow.fixed_part().starts_with(fixed))
        };
        self.policy.dirs().allow().admits(reaches).is_ok()
    }

    /// Allowed directories that are denied whole.
    fn shadowed(&self) -> Vec<Diagnostic> {
        let dirs = self.policy.dirs();
        let entries = dirs.allow().lists().flat_map(|list| &list.entries);
        entries
            .filter_map(|entry| {
                let deny = dirs.deny().denies(|deny| deny.covers(&entry.value))?;
                Some(
                    Diagnostic::warning(
                        DiagnosticCode::ShadowedByDeny,
                        entry.origin.clone(),
                        format!("`{}` is denied whole, so this allows nothing", entry.value),
                    )
                    .key("dirs.allow")
                    .label(format!("denied by `{}` ({})", deny.value, deny.origin))
                    .hint("take it out here, or in `dirs.deny`"),
                )
            })
            .collect()
    }
}
