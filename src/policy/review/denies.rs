//! Denied directories, and what they leave of the allowed ones.
//!
//! In: `dirs.deny` beside `dirs.allow`. Out: findings.

use crate::path::locate::Found;
use crate::policy::diagnostic::{Diagnostic, DiagnosticCode, Severity};
use crate::policy::origin::Sourced;
use crate::policy::pattern::path_glob::PathGlob;
use crate::policy::review::found::{matches_nothing, through_symlink};
use crate::policy::review::{Review, missing};

impl Review<'_> {
    pub(super) fn denied_dirs(&self) -> Vec<Diagnostic> {
        let mut findings = Vec::new();
        for deny in self.policy.dirs().deny().entries() {
            findings.extend(through_symlink("dirs.deny", deny));
            let absent = self.denies_nothing(deny);
            // A grant that can't hold is told in every case; a question about what is not there, in none.
            let below = self.below_a_grant(deny);
            findings.extend(below.filter(|it| absent.is_none() || it.severity == Severity::Error));
            findings.extend(absent);
        }
        findings.extend(self.shadowed());
        findings
    }

    /// A deny of what is not there may be misspelt. A list of the system may well name more than one machine has.
    fn denies_nothing(&self, deny: &Sourced<PathGlob>) -> Option<Diagnostic> {
        if !self.is_somebodys(&deny.origin) {
            return None;
        }
        let hint = "correct it, or take it out; a directory that is made later would be denied";
        if deny.value.literal().is_some() {
            let absent = deny.value.found() == Found::Missing;
            return absent.then(|| missing("dirs.deny", &deny.origin, deny.value.fixed_part()).hint(hint));
        }
        // What matches nearly anywhere is meant for what comes.
        if self.starts_wide(&deny.value) { None } else { matches_nothing("dirs.deny", deny, hint) }
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
