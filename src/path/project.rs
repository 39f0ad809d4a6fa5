//! The directory of a call: asked for, decided on, granted.
//!
//! In: what a caller wrote, and the launch directory. Out: a [`CandidateDir`], and from the gate a [`ProjectDir`].

use std::{
    os::fd::AsFd as _,
    path::{Path, PathBuf},
};

use rustix::fs::fstat;

use crate::path::{PathError, handle::DirHandle};

/// The directory that a call asks for: looked up, not decided on.
///
/// Where nothing can be opened, its path is that of the nearest directory that exists, and the rest as asked. So a
/// refusal reads the same whether or not the path exists.
#[derive(Debug)]
pub struct CandidateDir {
    found: Result<DirHandle, PathError>,
    path: PathBuf,
    asked: String,
    ownership: Ownership,
}

/// Whose a directory is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ownership {
    UserOrRoot,
    Other,
}

impl CandidateDir {
    /// Looks a directory up: absolute, or against the launch directory.
    ///
    /// # Errors
    /// [`PathError::Malformed`] when the text is empty or holds a NUL byte; all else is part of the candidate.
    pub fn look_up(launch: &DirHandle, asked: &str) -> Result<Self, PathError> {
        if asked.is_empty() || asked.contains('\0') {
            return Err(PathError::Malformed(asked.replace('\0', "\\0")));
        }
        let found = DirHandle::open_at(launch.as_fd(), Path::new(asked));
        let path = match &found {
            Ok(handle) => handle.path().to_owned(),
            Err(_) => nearest(launch, Path::new(asked)),
        };
        let owner = found.as_ref().ok().and_then(|handle| fstat(handle).ok()).map(|status| status.st_uid);
        let own = owner.is_some_and(|owner| owner == 0 || owner == rustix::process::geteuid().as_raw());
        let ownership = if own { Ownership::UserOrRoot } else { Ownership::Other };
        Ok(Self { found, path, asked: asked.to_owned(), ownership })
    }

    /// The directory as the caller wrote it; a refusal shows this, so that it tells nothing of what is there.
    pub fn asked(&self) -> &str {
        &self.asked
    }

    /// Whether the directory is the user's own or root's.
    pub fn belongs_to_user_or_root(&self) -> bool {
        self.ownership == Ownership::UserOrRoot
    }

    /// The path that a decision is made on: canonical as far as it exists.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Turns an admitted candidate into the project it names; only the gate calls this, after its decision.
    ///
    /// # Errors
    /// [`PathError`] when there is no such directory.
    pub(crate) fn into_project(self) -> Result<ProjectDir, PathError> {
        self.found.map(ProjectDir)
    }
}

fn nearest(launch: &DirHandle, asked: &Path) -> PathBuf {
    let whole = launch.path().join(asked);
    for ancestor in whole.ancestors().skip(1) {
        if let (Ok(handle), Ok(rest)) = (DirHandle::open(ancestor), whole.strip_prefix(ancestor)) {
            return handle.path().join(rest);
        }
    }
    whole
}

/// A project that the policy allows: its canonical path and the very handle that was decided on.
///
/// Its handle serves the Landlock rule and the child's working directory.
///
/// ```
/// use playwright_warden::path::{handle::DirHandle, project::ProjectDir};
/// let handle = DirHandle::open(std::path::Path::new("/")).unwrap();
/// ```
/// ```compile_fail,E0423
/// use playwright_warden::path::{handle::DirHandle, project::ProjectDir};
/// let handle = DirHandle::open(std::path::Path::new("/")).unwrap();
/// let forged = ProjectDir(handle);
/// ```
#[derive(Debug)]
pub struct ProjectDir(DirHandle);

impl ProjectDir {
    /// The project's directory.
    pub fn dir(&self) -> &DirHandle {
        &self.0
    }

    /// The project's canonical path.
    pub fn path(&self) -> &Path {
        self.0.path()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_directory_is_named_from_its_nearest_ancestor() {
        let root = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink("/etc", root.path().join("out")).unwrap();
        let launch = DirHandle::open(root.path()).unwrap();
        let candidate = |asked| CandidateDir::look_up(&launch, asked).unwrap();
        assert_eq!(candidate("out/none").path(), Path::new("/etc/none"));
        assert_eq!(candidate("none/deep").path(), launch.path().join("none/deep"));
        assert_eq!(candidate("out").path(), Path::new("/etc"));
    }

    #[test]
    fn links_of_proc_are_not_followed() {
        let root = tempfile::tempdir().unwrap();
        let launch = DirHandle::open(root.path()).unwrap();
        let candidate = CandidateDir::look_up(&launch, "/proc/self/cwd/..").unwrap();
        assert!(matches!(candidate.into_project(), Err(PathError::Escapes(_))));
    }
}
