//! The trees that a run may read and write besides its project.
//!
//! In: `sandbox.read` and `sandbox.write`. Out: findings where one leads nowhere, or lets a test read secrets or write
//! what is run outside the sandbox.

use std::path::{Path, PathBuf};

use crate::path::locate::{Found, canonical, locate};
use crate::policy::confinement::{ProjectAccess, SandboxMode};
use crate::policy::diagnostic::{Diagnostic, DiagnosticCode};
use crate::policy::origin::Sourced;
use crate::policy::review::dirs::{SYSTEM_DIRS, SYSTEM_TREES};
use crate::policy::review::{Review, beneath, missing};
use crate::policy::toolchains::TOOLCHAINS;

/// What in a home lets its reader act as the user elsewhere.
const SECRETS: &[&str] = &[
    ".ssh",
    ".gnupg",
    ".aws",
    ".azure",
    ".config/gcloud",
    ".config/gh",
    ".kube",
    ".docker",
    ".netrc",
    ".npmrc",
    ".git-credentials",
    ".pypirc",
    ".password-store",
    ".local/share/keyrings",
    ".mozilla",
    ".config/chromium",
    ".config/google-chrome",
    ".bash_history",
    ".claude",
];

/// The same outside of homes.
const SYSTEM_SECRETS: &[&str] = &["/etc/shadow", "/etc/ssh", "/etc/ssl/private", "/run/secrets"];

/// The hidden directory of a home that holds nothing that is run or trusted.
const CACHE: &str = ".cache";

impl Review<'_> {
    pub(super) fn trees(&self) -> Vec<Diagnostic> {
        let sandbox = self.policy.sandbox();
        let mut findings = Vec::new();
        if sandbox.mode().value == SandboxMode::Off {
            return findings;
        }
        for tree in sandbox.read() {
            findings.extend(leads_nowhere("sandbox.read", tree).or_else(|| self.reads_secrets(tree)));
        }
        for tree in sandbox.write() {
            findings.extend(
                leads_nowhere("sandbox.write", tree)
                    .or_else(|| self.writes_protected(tree))
                    .or_else(|| self.writes_home(tree))
                    .or_else(|| self.writes_programs(tree))
                    .or_else(|| writes_system(tree))
                    .or_else(|| self.writes_projects(tree))
                    .or_else(|| writes_shared(tree)),
            );
        }
        findings
    }

    /// What a project's names are protected from, a tree within the project lets a run do.
    fn writes_protected(&self, tree: &Sourced<PathBuf>) -> Option<Diagnostic> {
        let mut projects = tree.value.ancestors().filter(|dir| self.is_granted(dir));
        let protected = projects.find_map(|project| {
            let mut names = self.policy.sandbox().protect().iter();
            names.find(|name| {
                let protected = project.join(&name.value);
                // A tree may be a project itself, and is one where it holds what projects hold.
                let is_there =
                    || matches!(locate(&protected), Ok(location) if location.found != Found::Missing);
                touches(&tree.value, &protected) && (project != tree.value || is_there())
            })
        })?;
        Some(self.covers_protected("sandbox.write", tree, protected))
    }

    fn reads_secrets(&self, tree: &Sourced<PathBuf>) -> Option<Diagnostic> {
        let home = self.base.home.as_ref();
        let secrets = beneath(home, SECRETS).chain(SYSTEM_SECRETS.iter().map(PathBuf::from));
        let secret = secrets.into_iter().find(|secret| touches(&tree.value, secret));
        let what = match (self.width_of(&tree.value), secret) {
            (Some(wide), _) => wide.what.to_owned(),
            (None, Some(secret)) if secret.starts_with(&tree.value) => {
                format!("`{}` with it", secret.display())
            }
            (None, Some(_)) => "where secrets are kept".to_owned(),
            (None, None) => return None,
        };
        let summary = format!("a run may read `{}`, {what}", tree.value.display());
        Some(
            Diagnostic::warning(DiagnosticCode::ReadCoversSecrets, tree.origin.clone(), summary)
                .key("sandbox.read")
                .hint("name only the directory that the tests read, and give secrets by `env.inherit`"),
        )
    }

    fn writes_home(&self, tree: &Sourced<PathBuf>) -> Option<Diagnostic> {
        let in_home = self.base.home.as_ref().and_then(|home| tree.value.strip_prefix(home).ok());
        let hidden = in_home
            .and_then(|path| path.iter().next())
            .filter(|name| name.as_encoded_bytes().starts_with(b".") && *name != CACHE);
        let what = match (self.width_of(&tree.value), hidden) {
            (Some(wide), _) => wide.what,
            (None, Some(_)) => "where programs keep what they run and trust",
            (None, None) => return None,
        };
        // Toolchains have a finding of their own.
        if hidden.is_some() && self.programs().any(|programs| touches(&tree.value, &programs)) {
            return None;
        }
        Some(covers(DiagnosticCode::WriteCoversHome, tree, &format!(", {what}")))
    }

    fn writes_programs(&self, tree: &Sourced<PathBuf>) -> Option<Diagnostic> {
        let programs = self.programs().find(|programs| touches(&tree.value, programs))?;
        let where_from = if programs == tree.value {
            ", where programs are started from".to_owned()
        } else {
            format!(" and so `{}`, where programs are started from", programs.display())
        };
        Some(covers(DiagnosticCode::WriteCoversPathDir, tree, &where_from))
    }

    /// The directories of `PATH`, and the toolchains.
    fn programs(&self) -> impl Iterator<Item = PathBuf> {
        let path = self.inputs.environment.get("PATH").map(std::env::split_paths);
        let path = path.into_iter().flatten().filter(|dir| dir.is_absolute());
        let path = path.map(|dir| canonical(&dir));
        path.chain(beneath(self.base.home.as_ref(), TOOLCHAINS))
    }

    /// A tree that makes `sandbox.project` a word.
    fn writes_projects(&self, tree: &Sourced<PathBuf>) -> Option<Diagnostic> {
        if self.policy.sandbox().project().value == ProjectAccess::ReadWrite {
            return None;
        }
        let mut allowed = self.allowing().entries.iter().map(|entry| entry.value.fixed_part());
        let project = allowed.find(|dir| dir.starts_with(&tree.value) && self.is_granted(dir))?;
        let what = format!(", the projects in `{}` included", project.display());
        Some(covers(DiagnosticCode::WriteCoversProject, tree, &what))
    }
}

fn leads_nowhere(key: &str, tree: &Sourced<PathBuf>) -> Option<Diagnostic> {
    let found = matches!(locate(&tree.value), Ok(location) if location.found != Found::Missing);
    (!found).then(|| missing(key, &tree.origin, &tree.value))
}

/// What others read and write too, and whose names they choose.
fn writes_shared(tree: &Sourced<PathBuf>) -> Option<Diagnostic> {
    let Ok(Found::Directory { mode, .. }) = locate(&tree.value).map(|location| location.found) else {
        return None;
    };
    (mode & 0o002 != 0).then(|| {
        covers(DiagnosticCode::WriteCoversShared, tree, ", which everyone may write, and put links into")
    })
}

fn writes_system(tree: &Sourced<PathBuf>) -> Option<Diagnostic> {
    // Devices are named one by one, as `/dev/shm` is.
    let a_device = tree.value.starts_with("/dev") && tree.value != Path::new("/dev");
    let is_system = SYSTEM_TREES.iter().any(|system| tree.value.starts_with(system)) && !a_device;
    let holds_system = SYSTEM_DIRS.iter().any(|system| tree.value == Path::new(system));
    (is_system || holds_system)
        .then(|| covers(DiagnosticCode::WriteCoversSystem, tree, ", which belongs to the system"))
}

fn covers(code: DiagnosticCode, tree: &Sourced<PathBuf>, what: &str) -> Diagnostic {
    let summary = format!("a run may write `{}`{what}", tree.value.display());
    Diagnostic::warning(code, tree.origin.clone(), summary).key("sandbox.write").hint(
        "name only the directory that the tests write; HOME and TMPDIR are the run's own, and need no entry",
    )
}

/// Says whether one of two trees lies in the other.
pub(super) fn touches(one: &Path, other: &Path) -> bool {
    one.starts_with(other) || other.starts_with(one)
}
