//! Allowed directories as they are on the disk now.
//!
//! In: `dirs.allow`, and what was found when the policy was compiled. Out: findings. A pattern is looked up within a
//! bound, and nothing is said where the bound was reached.

use std::collections::VecDeque;
use std::path::Path;

use crate::path::handle::{DirHandle, EntryKind};
use crate::path::locate::{Found, locate};
use crate::path::{PathError, RelPath};
use crate::policy::confinement::{ProjectAccess, ProjectOwner, SandboxMode};
use crate::policy::diagnostic::{Diagnostic, DiagnosticCode};
use crate::policy::origin::Sourced;
use crate::policy::pattern::path_glob::PathGlob;
use crate::policy::review::{Review, entry, missing};

/// So many directories are listed for a pattern.
const LISTED: usize = 200;
/// A package manager's store, whose files are hard links into one that all projects share.
const STORE: &str = "node_modules/.pnpm";

impl Review<'_> {
    pub(super) fn dirs_as_they_are(&self) -> Vec<Diagnostic> {
        let lists = self.policy.dirs().allow().lists().enumerate();
        let entries = lists.flat_map(|(index, list)| list.entries.iter().map(move |entry| (index, entry)));
        let mut findings = Vec::new();
        for (index, entry) in entries {
            findings.extend(through_symlink("dirs.allow", entry));
            findings.extend(match entry.value.literal() {
                Some(dir) => self.as_it_is(entry, dir).filter(|finding| {
                    // Who may put projects into it is asked of what is granted; the layers that limit it only name it.
                    finding.code == DiagnosticCode::DirMissing || (index == 0 && self.is_granted(dir))
                }),
                // What matches nearly anything is told as that.
                None if self.starts_wide(&entry.value) => None,
                None => matches_nothing(
                    "dirs.allow",
                    entry,
                    "correct it, or take it out; a directory that is made later would be allowed",
                ),
            });
            if index == 0 {
                findings.extend(self.reaches_store(entry));
            }
        }
        findings
    }

    fn as_it_is(&self, entry: &Sourced<PathGlob>, dir: &Path) -> Option<Diagnostic> {
        let shown = dir.display();
        let warning =
            |code, summary| Diagnostic::warning(code, entry.origin.clone(), summary).key("dirs.allow");
        let anybody = self.policy.dirs().owner().value == ProjectOwner::Any;
        let others =
            "write `owner = \"self\"` under `[dirs]`: then only projects of yours and of root are run";
        match entry.value.found() {
            Found::Directory { mode, .. } if mode & 0o002 != 0 && anybody => Some(
                warning(
                    DiagnosticCode::DirWorldWritable,
                    format!("everyone may write `{shown}`, and so put projects there"),
                )
                .hint(others),
            ),
            Found::Directory { owner_uid, .. }
                if owner_uid != 0 && owner_uid != self.inputs.uid && anybody =>
            {
                Some(
                    warning(
                        DiagnosticCode::DirNotOwned,
                        format!("`{shown}` belongs to user {owner_uid}, who decides what runs as you there"),
                    )
                    .hint(others),
                )
            }
            Found::Directory { .. } => None,
            Found::Missing => Some(missing("dirs.allow", &entry.origin, dir)),
            Found::Other => Some(
                warning(DiagnosticCode::DirMissing, format!("`{shown}` is not a directory"))
                    .hint("name the directory of a project, or one above it"),
            ),
        }
    }

    /// Files of a package store have other names outside the project, and no sandbox tells names apart.
    fn reaches_store(&self, entry: &Sourced<PathGlob>) -> Option<Diagnostic> {
        let sandbox = self.policy.sandbox();
        let written =
            sandbox.project().value == ProjectAccess::ReadWrite && sandbox.mode().value != SandboxMode::Off;
        let store = entry.value.literal().filter(|dir| written && self.is_granted(dir))?.join(STORE);
        let there = matches!(locate(&store), Ok(found) if matches!(found.found, Found::Directory { .. }));
        there.then(|| {
            Diagnostic::warning(
                DiagnosticCode::WriteReachesStore,
                entry.origin.clone(),
                format!(
                    "files in `{}` may be hard links: a run that writes them changes other projects too",
                    store.display()
                ),
            )
            .key("dirs.allow")
            .hint(r#"write `project = "outputs"` under `[sandbox]`"#)
        })
    }
}

/// Says where an entry leads that goes through a symlink.
pub(super) fn through_symlink(key: &str, found: &Sourced<PathGlob>) -> Option<Diagnostic> {
    let target = found.value.fixed_part();
    let alias = found.value.alias()?;
    let instead = match found.value.wildcards() {
        None => entry(target),
        Some(wildcards) => {
            let fixed = entry(target);
            format!("{}/{wildcards}\"", fixed.trim_end_matches('"').trim_end_matches('/'))
        }
    };
    Some(
        Diagnostic::warning(
            DiagnosticCode::DirIsSymlink,
            found.origin.clone(),
            format!("`{}` is a symlink, or lies behind one: what counts is where it leads", alias.display()),
        )
        .key(key)
        .label(format!("leads to `{}`", target.display()))
        .hint(format!("write `{instead}`, which nobody can turn elsewhere")),
    )
}

/// Tells of a pattern that matches no directory now, as far as that can be seen.
pub(super) fn matches_nothing(key: &str, entry: &Sourced<PathGlob>, hint: &str) -> Option<Diagnostic> {
    if looked_up(&entry.value) != Some(false) {
        return None;
    }
    Some(
        Diagnostic::warning(
            DiagnosticCode::GlobMatchesNothing,
            entry.origin.clone(),
            format!("`{}` matches no directory now", entry.value),
        )
        .key(key)
        .hint(hint),
    )
}

/// Says whether a pattern matches a directory now; `None` where that would take too long to find out, or can't be seen.
fn looked_up(glob: &PathGlob) -> Option<bool> {
    let root = match DirHandle::open(glob.fixed_part()) {
        Ok(root) => root,
        Err(PathError::Missing(_)) => return Some(false),
        Err(_) => return None,
    };
    let mut complete = true;
    let mut waiting = VecDeque::from([None::<RelPath>]);
    let depth = glob.depth();
    for _ in 0..LISTED {
        let Some(directory) = waiting.pop_front() else { return complete.then_some(false) };
        let Ok(entries) = root.list(directory.as_ref()) else {
            complete = false;
            continue;
        };
        for (name, kind) in entries {
            if kind != EntryKind::Directory {
                continue;
            }
            let beneath = match &directory {
                Some(parent) => parent.join(&name),
                None => name.to_str().and_then(|name| RelPath::parse(name).ok()),
            };
            let Some(beneath) = beneath else { continue };
            let path = root.path().join(beneath.as_path());
            if glob.matches(&path).is_some() {
                return Some(true);
            }
            if depth.is_none_or(|depth| path.components().count() < depth) {
                waiting.push_back(Some(beneath));
            }
        }
    }
    None
}
