//! What steers this server, and lies where a run may write.
//!
//! In: the policy files (those too that nobody has written yet), this server's program and its state, and what a run may
//! write. Out: findings at the rule that lets it: errors under `require`, since who changes these changes what holds
//! for the next run.

use std::path::{Path, PathBuf};

use crate::path::locate::{canonical, locate};
use crate::policy::confinement::ProjectAccess;
use crate::policy::diagnostic::{Diagnostic, DiagnosticCode};
use crate::policy::origin::Origin;
use crate::policy::review::Review;
use crate::policy::source::{LayerSource, USER_POLICY};

/// The rule by which a run may write something.
pub(super) struct WritingRule {
    key: &'static str,
    entry: String,
    origin: Origin,
    /// What to do about the rule.
    instead: &'static str,
}

/// What no run may write.
pub(super) struct Victim<'a> {
    pub(super) code: DiagnosticCode,
    /// Where it stands, or itself.
    pub(super) origin: Origin,
    /// What it is, by its name.
    pub(super) what: String,
    /// What to do instead of changing the rule, if anything.
    pub(super) move_it: &'a str,
}

impl Review<'_> {
    pub(super) fn own_files(&self) -> Vec<Diagnostic> {
        let mut findings = self.policy_files();
        findings.extend(self.policy_dirs());
        findings.extend(self.program());
        findings.extend(self.state_dir());
        findings
    }

    fn policy_files(&self) -> Vec<Diagnostic> {
        let own: Vec<_> = self.own_policy_dirs().map(|dir| canonical(&dir)).collect();
        let files = self.policy.layers().iter().filter_map(|layer| match &layer.source {
            LayerSource::File { path, facts, .. } => facts.as_ref().map(|facts| (path, &facts.canonical)),
            LayerSource::Environment | LayerSource::Builtin => None,
        });
        // Those in the server's own directories are told with them.
        let files = files.filter(|(_, canonical)| !own.iter().any(|dir| canonical.starts_with(dir)));
        files
            .filter_map(|(path, canonical)| {
                // Who may write a symlink on the way may turn it elsewhere.
                let rule = self.lets_write(canonical).or_else(|| self.lets_write(path))?;
                Some(self.told(
                    Victim {
                        code: DiagnosticCode::PolicyInGrantedDir,
                        origin: Origin::file(path),
                        what: format!("the policy `{}`", path.display()),
                        move_it: "put the policy into ~/.config/playwright-warden",
                    },
                    rule,
                ))
            })
            .collect()
    }

    /// Where a policy is looked for, so that a run could write one that is not there yet.
    fn policy_dirs(&self) -> Vec<Diagnostic> {
        let findings = self.own_policy_dirs().filter_map(|named| {
            let mut dirs = [canonical(&named), named.clone()].into_iter();
            let rule = dirs.find_map(|dir| {
                self.lets_write(&dir.join("policy.toml")).or_else(|| self.tree(|tree| tree.starts_with(&dir)))
            })?;
            let victim = Victim {
                code: DiagnosticCode::PolicyInGrantedDir,
                origin: Origin::file(&named),
                what: format!("`{}`, where this server looks for its policy,", named.display()),
                move_it: "",
            };
            Some(self.told(victim, rule))
        });
        findings.collect()
    }

    /// The user's and the system's.
    fn own_policy_dirs(&self) -> impl Iterator<Item = PathBuf> {
        let user = self.base.home.as_ref().map(|home| home.join(USER_POLICY));
        let user = user.as_deref().and_then(Path::parent).map(Path::to_owned);
        user.into_iter().chain([self.inputs.system_dir.path.clone()])
    }

    fn program(&self) -> Option<Diagnostic> {
        let program = locate(self.inputs.program.as_ref()?).ok()?.path;
        let rule = self.lets_write(&program)?;
        let victim = Victim {
            code: DiagnosticCode::ProgramInGrantedDir,
            origin: Origin::file(&program),
            what: format!("this server's program `{}`", program.display()),
            move_it: "install this server elsewhere",
        };
        Some(self.told(victim, rule))
    }

    fn state_dir(&self) -> Option<Diagnostic> {
        let state = locate(self.inputs.state_dir.as_ref()?).ok()?.path;
        // What lies in it counts, so that it must not be a project itself either.
        let rule =
            self.lets_write(&state.join("runs")).or_else(|| self.tree(|tree| tree.starts_with(&state)))?;
        let victim = Victim {
            code: DiagnosticCode::StateInGrantedDir,
            origin: Origin::file(&state),
            what: format!("`{}`, where all runs are kept,", state.display()),
            move_it: "keep runs elsewhere by --state-dir",
        };
        Some(self.told(victim, rule))
    }

    /// Gives the rule by which a run in one of the allowed directories may write what lies at a canonical path, be it
    /// there or not.
    pub(super) fn lets_write(&self, path: &Path) -> Option<WritingRule> {
        let sandbox = self.policy.sandbox();
        let mut projects = path.ancestors().skip(1).filter(|dir| self.is_granted(dir));
        let in_project = match sandbox.project().value {
            ProjectAccess::ReadOnly => None,
            ProjectAccess::Outputs => projects.find_map(|dir| {
                let output =
                    sandbox.outputs().iter().find(|output| path.starts_with(dir.join(&output.value)))?;
                Some(WritingRule {
                    key: "sandbox.outputs",
                    entry: output.value.display().to_string(),
                    origin: output.origin.clone(),
                    instead: "take it out",
                })
            }),
            ProjectAccess::ReadWrite => projects.next().and_then(|dir| self.allowing_rule(dir)),
        };
        in_project.or_else(|| self.tree(|tree| path.starts_with(tree)))
    }

    /// Says by which entry a directory is a project that a run may write whole.
    fn allowing_rule(&self, dir: &Path) -> Option<WritingRule> {
        let entries = self.policy.dirs().allow().admits(|glob| glob.matches(dir).is_some()).ok()?;
        let written = entries.iter().find(|entry| entry.origin != Origin::Builtin);
        written.or(entries.first()).map(|entry| WritingRule {
            key: "dirs.allow",
            entry: entry.value.to_string(),
            origin: entry.origin.clone(),
            instead: "name only the projects beside it, or write `project = \"outputs\"` under `[sandbox]`",
        })
    }

    fn tree(&self, is_meant: impl Fn(&Path) -> bool) -> Option<WritingRule> {
        let tree = self.policy.sandbox().write().iter().find(|tree| is_meant(&tree.value))?;
        Some(WritingRule {
            key: "sandbox.write",
            entry: tree.value.display().to_string(),
            origin: tree.origin.clone(),
            instead: "name only the directory that the tests write, or take it out",
        })
    }

    /// The finding stands where the rule is written; where nobody wrote it, at what it lets a run write.
    pub(super) fn told(&self, victim: Victim<'_>, rule: WritingRule) -> Diagnostic {
        let Victim { code, origin, what, move_it } = victim;
        let WritingRule { key, entry, origin: place, instead } = rule;
        let (origin, instead) = match place {
            Origin::Builtin => {
                (origin, format!("write a `{key}` of your own: where nobody does, it holds `{entry}`"))
            }
            written @ (Origin::File { .. } | Origin::Variable { .. }) => (written, instead.to_owned()),
        };
        let hint = if move_it.is_empty() { instead } else { format!("{instead}; or {move_it}") };
        Diagnostic::new(self.unless_held(), code, origin, format!("{what} lies where a run may write"))
            .key(key)
            .label(format!("by `{key}`, a run may write in `{entry}`"))
            .hint(hint)
    }
}
