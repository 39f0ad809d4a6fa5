//! Paths that only containment can make.
//!
//! In: names that a caller, a report or a test wrote. Out: open handles with the canonical name that the kernel gives
//! them. A decision is made on that name and acted on through the same handle, so a symlink that is swapped in
//! between changes nothing. Whether a directory is allowed is left to `policy`, what is in a file to its reader.

pub mod handle;
pub mod locate;
pub mod project;
pub mod walk;

use std::{
    ffi::OsStr,
    fmt, io,
    path::{Component, Path, PathBuf},
};

use rustix::io::Errno;
use thiserror::Error;

/// What can be wrong with a path or a file.
#[derive(Debug, Error)]
pub enum PathError {
    /// Nothing is there, or it can't be reached.
    #[error("`{}` does not exist", .0.display())]
    Missing(PathBuf),
    /// Something else than a directory is there.
    #[error("`{}` is not a directory", .0.display())]
    NotADirectory(PathBuf),
    /// Something else than a regular file is there: a directory, FIFO, socket or device.
    #[error("`{path}` is {found}, not a regular file", path = .path.display())]
    NotAFile {
        /// The path as asked for.
        path: PathBuf,
        /// What it is instead, with its article.
        found: &'static str,
    },
    /// The path leaves the directory it must stay in, by `..`, a symlink or a link of `/proc`.
    #[error("`{}` leads out of its directory", .0.display())]
    Escapes(PathBuf),
    /// The file has other names, so it may be one that lies elsewhere.
    #[error("`{}` has more than one link", .0.display())]
    Linked(PathBuf),
    /// The file is larger than its bound.
    #[error("`{path}` has {bytes} bytes, more than the {bound} that are read", path = .path.display())]
    TooLarge {
        /// The path as asked for.
        path: PathBuf,
        /// Its size in bytes.
        bytes: u64,
        /// The bound in bytes.
        bound: u64,
    },
    /// The text is no path: empty, or with a NUL byte.
    #[error("`{0}` is no path")]
    Malformed(String),
    /// The kernel refused for another reason.
    #[error("can't open `{path}`", path = .path.display())]
    Io {
        /// The path as asked for.
        path: PathBuf,
        /// What the kernel said.
        #[source]
        source: io::Error,
    },
}

impl PathError {
    fn of(errno: Errno, path: &Path) -> Self {
        match errno {
            Errno::NOENT | Errno::NAMETOOLONG => Self::Missing(path.to_owned()),
            Errno::NOTDIR => Self::NotADirectory(path.to_owned()),
            Errno::XDEV | Errno::LOOP => Self::Escapes(path.to_owned()),
            Errno::NXIO => Self::NotAFile { path: path.to_owned(), found: "a socket" },
            other => Self::Io { path: path.to_owned(), source: other.into() },
        }
    }
}

/// A relative path of ordinary components: no `..`, no root, not empty.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RelPath(PathBuf);

impl RelPath {
    /// Parses a relative path; `./`, doubled and trailing slashes are dropped.
    ///
    /// # Errors
    /// [`PathError::Malformed`] when it is empty or holds a NUL byte, [`PathError::Escapes`] when it is absolute or
    /// holds `..`.
    pub fn parse(text: &str) -> Result<Self, PathError> {
        if text.is_empty() || text.contains('\0') {
            return Err(PathError::Malformed(text.replace('\0', "\\0")));
        }
        let mut clean = PathBuf::new();
        for component in Path::new(text).components() {
            match component {
                Component::Normal(name) => clean.push(name),
                Component::CurDir => {}
                Component::ParentDir | Component::RootDir | Component::Prefix(_) => {
                    return Err(PathError::Escapes(PathBuf::from(text)));
                }
            }
        }
        if clean.as_os_str().is_empty() {
            return Err(PathError::Malformed(text.to_owned()));
        }
        Ok(Self(clean))
    }

    /// The same path as the standard library has it.
    pub fn as_path(&self) -> &Path {
        &self.0
    }

    /// This path with one more name; `None` when the name is no ordinary component.
    pub fn join(&self, name: &OsStr) -> Option<Self> {
        let joined = self.0.join(name);
        let mut last = Path::new(name).components();
        let ordinary = matches!((last.next(), last.next()), (Some(Component::Normal(_)), None));
        ordinary.then_some(Self(joined))
    }
}

impl fmt::Display for RelPath {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.display().fmt(formatter)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relative_paths_hold_only_ordinary_components() {
        let table = [
            ("tests/a.spec.ts", Some("tests/a.spec.ts")),
            ("./tests//a.spec.ts/", Some("tests/a.spec.ts")),
            ("..dir/a", Some("..dir/a")),
            ("../a", None),
            ("a/../b", None),
            ("/etc/passwd", None),
            ("", None),
            (".", None),
            ("a\0b", None),
        ];
        for (text, expected) in table {
            let parsed = RelPath::parse(text).ok().map(|path| path.to_string());
            assert_eq!(parsed.as_deref(), expected, "{text:?}");
        }
    }
}
