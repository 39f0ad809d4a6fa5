//! Entries that another layer takes away whole, and those that this version can do nothing with.
//!
//! In: each list of which every layer must allow. Out: findings.

use crate::policy::combine::AllowList;
use crate::policy::diagnostic::{Diagnostic, DiagnosticCode};
use crate::policy::origin::Origin;
use crate::policy::pattern::name::NamePattern;
use crate::policy::pattern::path_glob::PathGlob;
use crate::policy::review::Review;
use crate::policy::tool::ToolName;

impl Review<'_> {
    pub(super) fn taken_away(&self) -> Vec<Diagnostic> {
        let (policy, env) = (self.policy, self.policy.env());
        let mut findings =
            self.taken_from("dirs.allow", policy.dirs().allow(), PathGlob::may_overlap, PathGlob::to_string);
        findings.extend(self.taken_from(
            "tools.allow",
            policy.tools().allow(),
            ToolName::eq,
            ToolName::to_string,
        ));
        let names = [
            ("run.projects", policy.run().projects()),
            ("env.inherit", env.inherit()),
            ("env.allow", env.allow()),
        ];
        for (key, list) in names {
            findings.extend(self.taken_from(key, list, NamePattern::may_overlap, NamePattern::to_string));
        }
        for (name, values) in env.values() {
            findings.extend(self.taken_from(
                &format!("env.values.{name}"),
                values,
                String::eq,
                String::clone,
            ));
        }
        for (key, trees) in policy.sandbox().written_trees() {
            findings.extend(self.taken_from(
                key,
                trees,
                |one, other| one.starts_with(other) || other.starts_with(one),
                |tree| tree.display().to_string(),
            ));
        }
        findings
    }

    fn taken_from<P>(
        &self,
        key: &str,
        list: &AllowList<P>,
        may_overlap: impl Fn(&P, &P) -> bool,
        show: impl Fn(&P) -> String,
    ) -> Vec<Diagnostic> {
        let taken =
            list.taken_away(may_overlap).into_iter().filter(|(entry, _)| self.is_somebodys(&entry.origin));
        taken
            .map(|(entry, by)| {
                Diagnostic::warning(
                    DiagnosticCode::NoEffect,
                    entry.origin.clone(),
                    format!(
                        "`{}` is taken away by another layer, so this allows nothing",
                        show(&entry.value)
                    ),
                )
                .key(key)
                .label(format!("not in the `{key}` of {by}"))
                .hint("every layer that sets the key must allow: take it out here, or allow it there too")
            })
            .collect()
    }

    /// Tools of a later version.
    pub(super) fn tools_of_later(&self) -> Vec<Diagnostic> {
        let entries = self.policy.tools().allow().lists().flat_map(|list| &list.entries);
        let later = entries.filter(|entry| !entry.value.exists() && self.is_somebodys(&entry.origin));
        later
            .map(|entry| {
                Diagnostic::warning(
                    DiagnosticCode::NoEffect,
                    entry.origin.clone(),
                    format!("this version has no tool `{}`, so it allows nothing yet", entry.value),
                )
                .key("tools.allow")
                .hint("take it out: as soon as a version has the tool, this entry would allow it")
            })
            .collect()
    }

    /// Says whether somebody wrote it for this very server: a list of the system is for every user of a machine, and may
    /// well name more than one of them has.
    pub(super) fn is_somebodys(&self, origin: &Origin) -> bool {
        match origin {
            Origin::File { path, .. } => !path.starts_with(&self.inputs.system_dir.path),
            Origin::Variable { .. } => true,
            Origin::Builtin => false,
        }
    }
}
