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

/// Where layers are for every user of a machine: such a list may well name more than one user has.
const SYSTEM: &str = "/etc";

impl Review<'_> {
    pub(super) fn taken_away(&self) -> Vec<Diagnostic> {
        let (policy, env) = (self.policy, self.policy.env());
        let mut findings =
            told("dirs.allow", policy.dirs().allow(), PathGlob::may_overlap, PathGlob::to_string);
        findings.extend(told("tools.allow", policy.tools().allow(), ToolName::eq, ToolName::to_string));
        let names = [
            ("run.projects", policy.run().projects()),
            ("env.inherit", env.inherit()),
            ("env.allow", env.allow()),
        ];
        for (key, list) in names {
            findings.extend(told(key, list, NamePattern::may_overlap, NamePattern::to_string));
        }
        for (name, values) in env.values() {
            findings.extend(told(&format!("env.values.{name}"), values, String::eq, String::clone));
        }
        for (key, trees) in policy.sandbox().written_trees() {
            findings.extend(told(
                key,
                trees,
                |one, other| one.starts_with(other) || other.starts_with(one),
                |tree| tree.display().to_string(),
            ));
        }
        findings
    }
}

fn told<P>(
    key: &str,
    list: &AllowList<P>,
    may_overlap: impl Fn(&P, &P) -> bool,
    show: impl Fn(&P) -> String,
) -> Vec<Diagnostic> {
    let taken = list.taken_away(may_overlap).into_iter().filter(|(entry, _)| somebodys(&entry.origin));
    taken
        .map(|(entry, by)| {
            Diagnostic::warning(
                DiagnosticCode::NoEffect,
                entry.origin.clone(),
                format!("`{}` is taken away by another layer, so this allows nothing", show(&entry.value)),
            )
            .key(key)
            .label(format!("not in the `{key}` of {by}"))
            .hint("every layer that sets the key must allow: take it out here, or allow it there too")
        })
        .collect()
}

/// Says whether somebody wrote it for this very server.
fn somebodys(origin: &Origin) -> bool {
    match origin {
        Origin::File { path, .. } => !path.starts_with(SYSTEM),
        Origin::Variable { .. } => true,
        Origin::Builtin => false,
    }
}
