//! Allowed directories by their names: those that nobody named, and those that hold more than projects.
//!
//! In: `dirs.allow` and `PW_RESULTS_FILE`. Out: findings. What lies at the names is left to `found`.

use std::path::{Path, PathBuf};

use crate::policy::diagnostic::{Diagnostic, DiagnosticCode};
use crate::policy::origin::{Origin, Sourced};
use crate::policy::pattern::path_glob::PathGlob;
use crate::policy::review::{Review, Wide, entry};

/// Directories of the system, with all below them: nobody keeps projects there.
pub(super) const SYSTEM_TREES: &[&str] = &[
    "/bin",
    "/boot",
    "/dev",
    "/etc",
    "/lib",
    "/lib32",
    "/lib64",
    "/proc",
    "/sbin",
    "/sys",
    "/usr/bin",
    "/usr/include",
    "/usr/lib",
    "/usr/lib32",
    "/usr/lib64",
    "/usr/libexec",
    "/usr/sbin",
    "/usr/share",
];

/// Directories of the system in which there may be projects, as in `/var/www` or `/usr/src/app`.
pub(super) const SYSTEM_DIRS: &[&str] =
    &["/run", "/usr", "/usr/local", "/var", "/var/cache", "/var/lib", "/var/log", "/var/spool"];

const NARROWER: &str =
    "name the projects, or a directory that holds only projects, as in `allow = [\"~/projects\"]`";

impl Review<'_> {
    /// Clients do start servers in `/` and in homes: what nobody named must not be all of that.
    pub(super) fn implicit_dir(&self) -> Option<Diagnostic> {
        let dir = &self.base.launch_dir;
        // A limit names nothing: it counts where it leaves less than the whole directory.
        if self.allowing().key != Origin::Builtin || !self.is_granted(dir) {
            return None;
        }
        let finding = match self.width_of(dir) {
            Some(Wide { what, .. }) => Diagnostic::error(
                DiagnosticCode::ImplicitDirTooWide,
                Origin::Builtin,
                format!("nobody named a directory, and the server was started in `{}`, {what}", dir.display()),
            )
            .hint(
                "set PW_ALLOWED_DIRS to the projects whose tests may be run, or write `allow = [\"~/projects\"]` \
                 under `[dirs]` in a policy",
            ),
            None => Diagnostic::warning(
                DiagnosticCode::DirNotNamed,
                Origin::Builtin,
                format!(
                    "nobody named a directory: whichever a client starts the server in is allowed, now `{}`",
                    dir.display()
                ),
            )
            .hint(format!("write `allow = [{}]` under `[dirs]`", entry(dir))),
        };
        Some(finding.key("dirs.allow"))
    }

    pub(super) fn results_file(&self) -> Option<Diagnostic> {
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

    /// Names each entry that allows more than projects: one finding an entry, the widest.
    pub(super) fn wide_dirs(&self) -> Vec<Diagnostic> {
        let above_home = self.base.home.iter().flat_map(|home| home.ancestors().map(PathBuf::from));
        let mut fixed: Vec<_> = above_home.chain(["/", "/home", "/root"].map(PathBuf::from)).collect();
        fixed.sort_by_key(|dir| dir.as_os_str().len());
        fixed.dedup();
        let entries = self.allowing().entries.iter().filter(|entry| entry.origin != Origin::Builtin);
        entries
            .filter_map(|entry| {
                self.wide_glob(entry)
                    .or_else(|| self.wide_dir(entry, &fixed))
                    .or_else(|| self.system_dir(entry))
            })
            .map(|finding| finding.key("dirs.allow"))
            .collect()
    }

    /// A pattern that may match what nobody thought of.
    fn wide_glob(&self, entry: &Sourced<PathGlob>) -> Option<Diagnostic> {
        let (everywhere, bounded) = (self.starts_wide(&entry.value), self.policy.dirs().allow());
        let is_wide = |glob: &PathGlob| {
            self.starts_wide(glob) || glob.literal().is_some_and(|dir| self.width_of(dir).is_some())
        };
        if !everywhere || bounded.admits(is_wide).is_err() {
            return None;
        }
        let within = entry.value.fixed_part();
        let summary = format!(
            "`{}` may match directories in `{}` that nobody thought of",
            entry.value,
            within.display()
        );
        Some(
            Diagnostic::warning(DiagnosticCode::GlobTooWide, entry.origin.clone(), summary)
                .hint("start with the directory that holds the projects, as in `allow = [\"~/projects/*\"]`"),
        )
    }

    /// Says whether a pattern starts with a wildcard: in `/`, with `**`, or by taking all of a home or above it.
    pub(super) fn starts_wide(&self, glob: &PathGlob) -> bool {
        let Some(wildcards) = glob.wildcards() else { return false };
        let fixed = glob.fixed_part();
        let takes_all = wildcards.split('/').all(|component| component.bytes().all(|byte| byte == b'*'));
        fixed.parent().is_none()
            || glob.as_written().starts_with("**")
            || (self.width_of(fixed).is_some() && (takes_all || wildcards.starts_with("**")))
    }

    /// `/`, a home or a directory above it, be it written out or by wildcards.
    fn wide_dir(&self, entry: &Sourced<PathGlob>, fixed: &[PathBuf]) -> Option<Diagnostic> {
        let own = entry.value.literal().map(PathBuf::from);
        let matched =
            fixed.iter().chain(&own).filter(|dir| entry.value.matches(dir).is_some() && self.is_granted(dir));
        let (dir, Wide { code, what }) =
            matched.into_iter().find_map(|dir| Some((dir, self.width_of(dir)?)))?;
        let summary = format!("this allows `{}`, {what}", dir.display());
        Some(Diagnostic::warning(code, entry.origin.clone(), summary).hint(NARROWER))
    }

    fn system_dir(&self, entry: &Sourced<PathGlob>) -> Option<Diagnostic> {
        let dir = entry.value.fixed_part();
        let is_system = SYSTEM_TREES.iter().any(|tree| dir.starts_with(tree))
            || SYSTEM_DIRS.iter().any(|system| dir == Path::new(system));
        if !is_system || !self.is_granted_or_above(entry) {
            return None;
        }
        let summary = format!("`{}` belongs to the system, where nobody keeps projects", dir.display());
        Some(Diagnostic::warning(DiagnosticCode::DirSystem, entry.origin.clone(), summary).hint(NARROWER))
    }

    /// Says whether the other layers leave a whole entry as it is.
    fn is_granted_or_above(&self, entry: &Sourced<PathGlob>) -> bool {
        self.policy.dirs().allow().admits(|glob| glob.covers(&entry.value)).is_ok()
    }
}
