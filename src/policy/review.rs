//! What a reviewer would ask about a policy whose entries are right.
//!
//! In: a compiled policy and the inputs that it was made from. Out: warnings, and errors for what is allowed by
//! nobody's decision or can't hold.

use std::path::{Path, PathBuf};

use crate::path::locate::{Found, locate};
use crate::policy::Policy;
use crate::policy::combine::LayerList;
use crate::policy::confinement::{ProjectAccess, SandboxMode};
use crate::policy::denylist::{verdict, verdict_on_start};
use crate::policy::diagnostic::{Diagnostic, DiagnosticCode, Severity};
use crate::policy::origin::{Origin, Sourced};
use crate::policy::pattern::name::NamePattern;
use crate::policy::pattern::path_glob::{PathBase, PathGlob};
use crate::policy::source::{Inputs, LayerSource};

mod writable;

/// Looks over a policy.
pub(in crate::policy) fn review(policy: &Policy, base: &PathBase, inputs: &Inputs) -> Vec<Diagnostic> {
    let review = Review { policy, base };
    let mut findings = Vec::new();
    findings.extend(review.implicit_dir());
    findings.extend(review.results_file());
    findings.extend(review.wide_dirs());
    findings.extend(review.dirs_as_they_are());
    findings.extend(review.sandbox_paths());
    findings.extend(review.denies_below_grants());
    findings.extend(review.denied_names());
    findings.extend(review.inherited());
    findings.extend(review.sandbox());
    findings.extend(review.policy_files());
    findings.extend(review.program(inputs));
    findings.extend(review.state_dir(inputs));
    findings
}

struct Review<'a> {
    policy: &'a Policy,
    base: &'a PathBase,
}

impl Review<'_> {
    fn allowing(&self) -> &LayerList<PathGlob> {
        self.policy.dirs().allow().granted()
    }

    /// Says whether every layer allows a directory, whatever is denied in it.
    fn is_granted(&self, dir: &Path) -> bool {
        self.policy.dirs().allow().admits(|glob| glob.matches(dir).is_some()).is_ok()
    }

    /// The severity of what can't hold: under `require` an error.
    fn unless_held(&self) -> Severity {
        match self.policy.sandbox().mode().value {
            SandboxMode::Require => Severity::Error,
            SandboxMode::BestEffort | SandboxMode::Off => Severity::Warning,
        }
    }

    /// Clients do start servers in `/` and in homes: what nobody named must not be all of that.
    fn implicit_dir(&self) -> Option<Diagnostic> {
        let dir = &self.base.launch_dir;
        // A limit grants nothing: it counts where it leaves less than the whole directory.
        let unnamed = self.allowing().key == Origin::Builtin && self.is_granted(dir);
        let what = self.width_of(dir).filter(|_| unnamed)?.1;
        Some(
            Diagnostic::error(
                DiagnosticCode::ImplicitDirTooWide,
                Origin::Builtin,
                format!("nobody named a directory, and the server was started in `{}`, {what}", dir.display()),
            )
            .key("dirs.allow")
            .hint("set PW_ALLOWED_DIRS to the projects whose tests may be run, or write a policy with `dirs.allow`"),
        )
    }

    /// Says which wide directory this is, if it is one.
    fn width_of(&self, dir: &Path) -> Option<(DiagnosticCode, &'static str)> {
        let home = self.base.home.as_deref();
        if dir.parent().is_none() {
            Some((DiagnosticCode::DirIsRoot, "the whole file system"))
        } else if home == Some(dir) || dir == Path::new("/root") || dir.parent() == Some(Path::new("/home")) {
            Some((DiagnosticCode::DirIsHome, "a whole home directory"))
        } else if dir == Path::new("/home") || home.is_some_and(|home| home.starts_with(dir)) {
            Some((DiagnosticCode::DirAboveHome, "a directory that holds homes"))
        } else {
            None
        }
    }

    fn results_file(&self) -> Option<Diagnostic> {
        let file = self.policy.results_file()?;
        let dir = file.value.parent().unwrap_or(&file.value);
        self.policy.dirs().admits(dir).err()?;
        Some(
            Diagnostic::error(
                DiagnosticCode::ResultsOutsideDirs,
                file.origin.clone(),
                format!("the results file `{}` is in no allowed directory", file.value.display()),
            )
            .hint("allow its directory, or name a file in an allowed one"),
        )
    }

    /// Names each entry by which `/`, a home or a directory above it is allowed, be it written out or by wildcards.
    fn wide_dirs(&self) -> Vec<Diagnostic> {
        let above_home = self.base.home.iter().flat_map(|home| home.ancestors().map(PathBuf::from));
        let mut fixed: Vec<_> = above_home.chain(["/", "/home", "/root"].map(PathBuf::from)).collect();
        fixed.sort_by_key(|dir| dir.as_os_str().len());
        fixed.dedup();
        let mut findings = Vec::new();
        for entry in &self.allowing().entries {
            let own = entry.value.literal().map(PathBuf::from);
            let candidates = fixed.iter().chain(&own);
            let widest = candidates
                .filter(|dir| entry.value.matches(dir).is_some() && self.is_granted(dir))
                .find_map(|dir| Some((dir, self.width_of(dir)?)));
            if let Some((dir, (code, what))) = widest.filter(|_| entry.origin != Origin::Builtin) {
                let summary = format!("this allows `{}`, {what}", dir.display());
                findings.push(
                    Diagnostic::warning(code, entry.origin.clone(), summary)
                        .key("dirs.allow")
                        .hint("name the projects, or a directory that holds only projects"),
                );
            }
        }
        findings
    }

    fn dirs_as_they_are(&self) -> Vec<Diagnostic> {
        let lists = self.policy.dirs().allow().lists().enumerate();
        let entries = lists.flat_map(|(index, list)| list.entries.iter().map(move |entry| (index, entry)));
        entries
            .filter_map(|(index, entry)| {
                let dir = entry.value.literal()?;
                match entry.value.found() {
                    Found::Directory { mode } if mode & 0o002 != 0 && index == 0 && self.is_granted(dir) => {
                        Some(
                            Diagnostic::warning(
                                DiagnosticCode::DirWorldWritable,
                                entry.origin.clone(),
                                format!("everyone may write `{}`, and so put projects there", dir.display()),
                            )
                            .key("dirs.allow")
                            .hint(r#"name the projects in it, or set `dirs.owner = "self"`"#),
                        )
                    }
                    Found::Directory { .. } => None,
                    Found::Missing => Some(missing("dirs.allow", &entry.origin, dir)),
                    Found::Other => Some(
                        Diagnostic::warning(
                            DiagnosticCode::DirMissing,
                            entry.origin.clone(),
                            format!("`{}` is not a directory", dir.display()),
                        )
                        .key("dirs.allow")
                        .hint("name the directory of a project, or one above it"),
                    ),
                }
            })
            .collect()
    }

    fn sandbox_paths(&self) -> Vec<Diagnostic> {
        let sandbox = self.policy.sandbox();
        let paths = [("sandbox.read", sandbox.read()), ("sandbox.write", sandbox.write())];
        let paths = paths.into_iter().flat_map(|(key, paths)| paths.iter().map(move |path| (key, path)));
        paths
            .filter(|(_, path)| !matches!(locate(&path.value), Ok(it) if it.found != Found::Missing))
            .map(|(key, path)| missing(key, &path.origin, &path.value))
            .collect()
    }

    /// A run in an allowed directory can do to a denied one below it what it can do to the rest.
    fn denies_below_grants(&self) -> Vec<Diagnostic> {
        let denies = self.policy.dirs().deny().entries().iter();
        denies
            .filter(|deny| self.lies_below_a_grant(&deny.value))
            .map(|deny| {
                Diagnostic::new(
                    self.unless_held(),
                    DiagnosticCode::DenyBelowGrant,
                    deny.origin.clone(),
                    format!("`{}` is denied below an allowed directory, where no sandbox denies it", deny.value),
                )
                .key("dirs.deny")
                .hint("calls for it are refused, but a run in a directory above it can read it; allow less instead")
            })
            .collect()
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

    fn denied_names(&self) -> Vec<Diagnostic> {
        let lists = self.policy.env().allow().lists();
        lists.flat_map(|list| &list.entries).filter_map(denied_name).collect()
    }

    fn inherited(&self) -> Option<Diagnostic> {
        let everything = self.policy.env().inherit().admits(NamePattern::is_everything).ok()?;
        Some(
            Diagnostic::warning(
                DiagnosticCode::EnvInheritAll,
                everything.first()?.origin.clone(),
                "the tests see every variable of the server that is not withheld",
            )
            .key("env.inherit")
            .hint("name the variables that the tests need"),
        )
    }

    fn sandbox(&self) -> Option<Diagnostic> {
        let sandbox = self.policy.sandbox();
        if sandbox.mode().value == SandboxMode::Off {
            let summary = "test code is not confined: it can do all that you can";
            return Some(
                Diagnostic::warning(DiagnosticCode::SandboxOff, sandbox.mode().origin.clone(), summary)
                    .key("sandbox.mode")
                    .hint(r#"use "best-effort", and give what a run needs by `sandbox.read` and `sandbox.write`"#),
            );
        }
        if sandbox.project().value != ProjectAccess::ReadWrite {
            return None;
        }
        let but = if sandbox.protect().is_empty() { "" } else { ", what `sandbox.protect` names included" };
        Some(
            Diagnostic::warning(
                DiagnosticCode::WriteCoversProject,
                sandbox.project().origin.clone(),
                format!("a run may write its whole project{but}"),
            )
            .key("sandbox.project")
            .hint(r#"use "outputs", and name the directories that tests write in `sandbox.outputs`"#),
        )
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
}

fn missing(key: &str, origin: &Origin, path: &Path) -> Diagnostic {
    Diagnostic::warning(
        DiagnosticCode::DirMissing,
        origin.clone(),
        format!("`{}` does not exist, or can't be seen", path.display()),
    )
    .key(key)
    .hint("correct the path, or take it out")
}

fn denied_name(entry: &Sourced<NamePattern>) -> Option<Diagnostic> {
    let pattern = &entry.value;
    let (because, subject) = match pattern.literal() {
        Some(name) => (verdict(name)?, format!("`{name}` can never be set by a call")),
        None => (
            verdict_on_start(pattern.fixed_part())?,
            format!("nothing that fits `{pattern}` can be set by a call"),
        ),
    };
    Some(
        Diagnostic::warning(DiagnosticCode::EnvNameDenied, entry.origin.clone(), subject)
            .key("env.allow")
            .label(because.to_string())
            .hint("take it out; what the tests need of it is inherited from the server's environment"),
    )
}
