//! From a spec as a caller wrote it to the filter that runs just that.
//!
//! In: a [`Spec`] and the granted project. Out: Playwright's positional argument, a regular expression on absolute
//! paths that is escaped, anchored and case-sensitive, so that the file that was named is the file that runs.

use std::{
    fmt,
    path::{Path, PathBuf},
};

use thiserror::Error;

use crate::{
    path::{
        PathError, RelPath,
        handle::{DirHandle, EntryKind},
        project::ProjectDir,
        walk::{unless_hidden, walk},
    },
    policy::request::run_tests::{Spec, SpecPath},
};

/// So many candidates are told when a name fits several files.
const CANDIDATES_TOLD: usize = 8;

/// Why a spec selects nothing.
#[derive(Debug, Error)]
pub enum SpecError {
    /// Nothing in the project fits; a path outside it is answered in the same words.
    #[error("`{0}` is no file or directory of the project")]
    NotInProject(String),
    /// Several files of the project end with this name.
    #[error("`{name}` fits several files: {}", .candidates.join(", "))]
    Ambiguous {
        /// The name as given.
        name: String,
        /// The files, relative to the project.
        candidates: Vec<String>,
    },
    /// The project can't be searched.
    #[error(transparent)]
    Path(#[from] PathError),
}

/// A positional argument of `playwright test`: one file, or all below a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Filter(String);

impl Filter {
    /// Finds what a spec names: beneath the project as written, else by its last components.
    ///
    /// Reports name files relative to the config's `rootDir`, so `a.spec.ts` may stand for `tests/a.spec.ts`. A line
    /// may be that of an error, as answers print it; `declared` gives the line of the test that it belongs to.
    ///
    /// # Errors
    /// [`SpecError`] when it names nothing, several files, or something outside the project.
    pub fn resolve(
        spec: &Spec,
        project: &ProjectDir,
        declared: impl Fn(&RelPath, u32) -> Option<u32>,
    ) -> Result<Self, SpecError> {
        let missing = || SpecError::NotInProject(spec.to_string());
        let name = match &spec.path {
            SpecPath::Relative(name) => name.clone(),
            SpecPath::Absolute(path) => match beneath(path, project.path()) {
                Some(Beneath::Project) if spec.line.is_some() => return Err(missing()),
                Some(Beneath::Project) => return Ok(Self::directory(project.path())),
                Some(Beneath::Name(name)) => name,
                None => return Err(missing()),
            },
        };
        let file = |name: &RelPath| {
            let line = spec.line.map(|line| declared(name, line).unwrap_or(line));
            Self::file(&project.path().join(name.as_path()), line)
        };
        match project.dir().kind_of(&name) {
            Ok(Some(EntryKind::File)) => Ok(file(&name)),
            Ok(Some(EntryKind::Directory)) if spec.line.is_some() => Err(missing()),
            Ok(Some(EntryKind::Directory)) => Ok(Self::directory(&project.path().join(name.as_path()))),
            Ok(Some(EntryKind::Other)) | Err(PathError::Escapes(_)) => Err(missing()),
            Ok(None) => {
                let mut candidates = ending_with(project.dir(), &name);
                match (candidates.pop(), candidates.is_empty()) {
                    (None, _) => Err(missing()),
                    (Some(only), true) => Ok(file(&only)),
                    (Some(last), false) => {
                        candidates.push(last);
                        let candidates =
                            candidates.iter().take(CANDIDATES_TOLD).map(RelPath::to_string).collect();
                        Err(SpecError::Ambiguous { name: name.to_string(), candidates })
                    }
                }
            }
            Err(error) => Err(error.into()),
        }
    }

    /// One file. A regular expression between slashes keeps Playwright from ignoring case.
    fn file(path: &Path, line: Option<u32>) -> Self {
        let line = line.map(|line| format!(":{line}")).unwrap_or_default();
        Self(format!("/^{}$/{line}", escaped(path)))
    }

    fn directory(path: &Path) -> Self {
        Self(format!("/^{}\\//", escaped(path)))
    }

    /// The argument.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The path as the inside of a JavaScript regular expression; a slash needs no escape where Playwright reads it.
fn escaped(path: &Path) -> String {
    regex_syntax::escape(&path.to_string_lossy())
}

enum Beneath {
    Project,
    Name(RelPath),
}

/// The name of an absolute path beneath the project, its directories' symlinks resolved.
fn beneath(path: &Path, project: &Path) -> Option<Beneath> {
    let canonical: PathBuf = match DirHandle::open(path) {
        Ok(directory) => directory.path().to_owned(),
        Err(_) => DirHandle::open(path.parent()?).ok()?.path().join(path.file_name()?),
    };
    let rest = canonical.strip_prefix(project).ok()?;
    if rest.as_os_str().is_empty() {
        return Some(Beneath::Project);
    }
    RelPath::parse(rest.to_str()?).ok().map(Beneath::Name)
}

/// The files of a project whose last components are those of a name.
fn ending_with(project: &DirHandle, name: &RelPath) -> Vec<RelPath> {
    let mut found = Vec::new();
    walk(project, |path, kind| {
        if kind == EntryKind::File && path.as_path().ends_with(name.as_path()) {
            found.push(path.clone());
        }
        unless_hidden(path)
    });
    found
}

impl fmt::Display for Spec {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.path {
            SpecPath::Relative(name) => write!(formatter, "{name}")?,
            SpecPath::Absolute(path) => write!(formatter, "{}", path.display())?,
        }
        match self.line {
            Some(line) => write!(formatter, ":{line}"),
            None => Ok(()),
        }
    }
}
