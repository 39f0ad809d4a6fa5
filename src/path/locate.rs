//! The canonical name of a path, taken from an open handle.
//!
//! In: an absolute path of the operator or the system. Out: its name without symlinks, and what is there. The directory
//! of a call is opened and kept instead: see [`crate::path::handle`].

use std::ffi::OsString;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use rustix::fs::{FileType, Mode, OFlags};
use rustix::io::Errno;

/// What is at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// A directory, with its permission bits.
    Directory {
        /// The lowest twelve bits of its mode.
        mode: u32,
        /// The user that it belongs to.
        owner_uid: u32,
    },
    /// Something else.
    Other,
    /// Nothing that this user can see.
    Missing,
}

/// A path without symlinks, as far as it exists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    /// The canonical path; what does not exist is appended as it was written.
    pub path: PathBuf,
    /// What is there.
    pub found: Found,
}

/// Looks up the canonical name of an absolute path.
///
/// Where the path, or its end, does not exist (or can't be searched), the existing part is made canonical and the rest
/// appended, so that a directory made later is still recognised by its name.
///
/// # Errors
/// The kernel's error where the path can't be looked up at all, as with a loop of symlinks, and `InvalidInput` for
/// `..` behind something that does not exist.
pub fn locate(path: &Path) -> io::Result<Location> {
    match rustix::fs::open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()) {
        Ok(handle) => Ok(Location { path: name_of(&handle)?, found: found(&handle)? }),
        Err(Errno::NOENT | Errno::NOTDIR | Errno::ACCESS) => {
            let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
                return Err(io::Error::from(io::ErrorKind::InvalidInput));
            };
            Ok(Location { path: locate(parent)?.path.join(name), found: Found::Missing })
        }
        Err(error) => Err(error.into()),
    }
}

/// Gives the canonical name where the system can tell it, and the path as it is otherwise.
pub fn canonical(path: &Path) -> PathBuf {
    locate(path).map_or_else(|_| path.to_owned(), |found| found.path)
}

/// Reads the name of an open file from the kernel.
///
/// # Errors
/// The kernel's error, as where `/proc` is not mounted.
pub(crate) fn name_of(handle: &OwnedFd) -> Result<PathBuf, Errno> {
    let link = rustix::fs::readlink(descriptor_path(handle), Vec::new())?;
    Ok(PathBuf::from(OsString::from_vec(link.into_bytes())))
}

/// The path under which a process, and a child of it before its `execve`, reaches its own open file.
pub(crate) fn descriptor_path(handle: &OwnedFd) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", handle.as_raw_fd()))
}

fn found(handle: &OwnedFd) -> io::Result<Found> {
    let status = rustix::fs::fstat(handle)?;
    Ok(match FileType::from_raw_mode(status.st_mode) {
        FileType::Directory => Found::Directory { mode: status.st_mode & 0o7777, owner_uid: status.st_uid },
        FileType::RegularFile
        | FileType::Symlink
        | FileType::Fifo
        | FileType::Socket
        | FileType::CharacterDevice
        | FileType::BlockDevice
        | FileType::Unknown => Found::Other,
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;
    use std::path::PathBuf;

    use super::{Found, locate};

    #[test]
    fn symlinks_are_resolved_and_what_is_missing_is_appended() {
        let root = tempfile::tempdir().unwrap();
        let base = locate(root.path()).unwrap().path;
        std::fs::create_dir(base.join("real")).unwrap();
        std::fs::write(base.join("file"), "").unwrap();
        symlink("real", base.join("link")).unwrap();
        symlink("loop", base.join("loop")).unwrap();
        let rows = [
            ("directory", "real", Some(("real", "directory"))),
            ("symlink", "link", Some(("real", "directory"))),
            ("dots and slashes", "./real//../link/", Some(("real", "directory"))),
            ("below a symlink, missing", "link/a/b", Some(("real/a/b", "missing"))),
            ("file", "file", Some(("file", "other"))),
            ("below a file", "file/x", Some(("file/x", "missing"))),
            ("`..` behind nothing", "nothing/..", None),
            ("loop", "loop", None),
        ];
        for (name, path, expected) in rows {
            let found = locate(&base.join(path)).ok().map(|location| {
                let kind = match location.found {
                    Found::Directory { .. } => "directory",
                    Found::Other => "other",
                    Found::Missing => "missing",
                };
                (location.path, kind)
            });
            let expected: Option<(PathBuf, _)> = expected.map(|(path, kind)| (base.join(path), kind));
            assert_eq!(found, expected, "{name}");
        }
    }
}
