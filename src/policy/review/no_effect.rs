//! Entries that another layer takes away whole.
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
            self.told("dirs.allow", policy.dirs().allow(), PathGlob::may_overlap, PathGlob::to_string);
        findings.extend(self.told("tools.allow", policy.tools().allow(), ToolName::eq, ToolName::to_string));
        let names = [
            ("run.projects", policy.run().projects()),
            ("env.inherit", env.inherit()),
            ("env.allow", env.allow()),
        ];
        for (key, list) in names {
            findings.extend(self.told(key, list, NamePattern::may_overlap, NamePattern::to_string));
        }
        for (name, values) in env.values() {
            findings.extend(self.told(&format!("env.values.{name}"), values, String::eq, String::clone));
        }
        for (key, trees) in policy.sandbox().written_trees() {
            findings.extend(self.told(
                key,
                trees,
                |one, other| one.starts_with(other) || other.starts_with(one),
                |tree| tree.display().to_string(),
            ));
        }
        findings
    }

    fn told<P>(
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

    /// Says whether somebody wrote it for this very server: a list of the system is for every user of a machine, and may
    /// well name more than one of them has.
    fn is_somebodys(&self, origin: &Origin) -> bool {
        match origin {
            Origin::File { path, .. } => !path.starts_with(&self.inputs.system_dir.path),
            Origin::Variable { .. } => true,
            Origin::Builtin => false,
        }
    }
}
