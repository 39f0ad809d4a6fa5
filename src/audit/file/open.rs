//! Which file is taken: a regular one that nobody else can change, opened without ever waiting for it.
//!
//! In: the path from the policy. Out: an open file that only grows. What is no regular file is found on a handle that can
//! neither read nor write it, so that a FIFO or a device is never touched.

use std::{
    fs::File,
    io,
    os::{fd::OwnedFd, unix::fs::DirBuilderExt},
    path::Path,
};

use rustix::{
    fs::{Access, AtFlags, FileType, Mode, OFlags, Stat, accessat, fstat, fsync, open as open_path, openat},
    io::Errno,
    process::geteuid,
};

use crate::{audit::file::FileError, path::locate::descriptor_path};

/// How a directory is looked at.
const DIRECTORY: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
/// What group and others must not have.
const WRITABLE_BY_OTHERS: u32 = 0o022;

/// Opens the file, or makes it.
///
/// # Errors
/// [`FileError`] when it can't be trusted or opened.
///
/// # Security
/// The last component is never followed as a symlink, and what is checked is what is opened.
pub(super) fn open(path: &Path, home: Option<&Path>) -> Result<File, FileError> {
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(FileError::Untrusted("its path names no file"));
    };
    let directory = parent_of(parent, home)?;
    let flags = OFlags::RDWR
        | OFlags::APPEND
        | OFlags::NOFOLLOW
        | OFlags::NONBLOCK
        | OFlags::NOCTTY
        | OFlags::CLOEXEC;
    let create = flags | OFlags::CREATE | OFlags::EXCL;
    match openat(&directory, name, create, Mode::RUSR | Mode::WUSR) {
        Ok(file) => {
            check(&fstat(&file).map_err(FileError::of("opened"))?)?;
            // Its name must be on the disk before what stands in it counts. O_PATH handles can't be synced.
            let named =
                openat(&directory, ".", OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty());
            if let Ok(named) = named {
                fsync(&named).map_err(FileError::of("synced"))?;
            }
            Ok(file.into())
        }
        Err(Errno::EXIST) => existing(&directory, name),
        Err(errno) => Err(FileError::of("made")(errno)),
    }
}

fn existing(directory: &OwnedFd, name: &std::ffi::OsStr) -> Result<File, FileError> {
    let look = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let handle = openat(directory, name, look, Mode::empty()).map_err(FileError::of("opened"))?;
    check(&fstat(&handle).map_err(FileError::of("opened"))?)?;
    let flags = OFlags::RDWR | OFlags::APPEND | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = open_path(descriptor_path(&handle), flags, Mode::empty()).map_err(FileError::of("opened"))?;
    Ok(file.into())
}

/// What is where the log would be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outlook {
    /// A file that would be appended to.
    Appended,
    /// Nothing: the file would be made.
    Made,
}

/// Looks whether [`open`] would succeed, and makes nothing.
///
/// # Errors
/// [`FileError`] when it would not.
pub(super) fn look(path: &Path, home: Option<&Path>) -> Result<Outlook, FileError> {
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(FileError::Untrusted("its path names no file"));
    };
    let directory = match open_path(parent, DIRECTORY, Mode::empty()) {
        Err(Errno::NOENT) if home.is_some_and(|home| parent.starts_with(home)) => return Ok(Outlook::Made),
        opened => trusted(opened)?,
    };
    let may = |name: &std::ffi::OsStr, act| {
        accessat(&directory, name, Access::WRITE_OK, AtFlags::EACCESS).map_err(FileError::of(act))
    };
    match openat(&directory, name, OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty()) {
        Ok(handle) => {
            check(&fstat(&handle).map_err(FileError::of("opened"))?)?;
            may(name, "written").map(|()| Outlook::Appended)
        }
        Err(Errno::NOENT) => may(".".as_ref(), "made").map(|()| Outlook::Made),
        Err(errno) => Err(FileError::of("opened")(errno)),
    }
}

/// Says whether a file is one that only this user and root can change, and by this name alone.
///
/// # Errors
/// [`FileError::Untrusted`] says why it is not.
pub(super) fn check(status: &Stat) -> Result<(), FileError> {
    let found = match FileType::from_raw_mode(status.st_mode) {
        FileType::RegularFile => None,
        FileType::Symlink => Some("it is a symbolic link"),
        FileType::Directory => Some("it is a directory"),
        FileType::Fifo => Some("it is a FIFO"),
        FileType::Socket => Some("it is a socket"),
        FileType::CharacterDevice | FileType::BlockDevice => Some("it is a device"),
        FileType::Unknown => Some("it is no regular file"),
    };
    let fault = found.or_else(|| {
        if !belongs(status) {
            Some("it belongs to another user")
        } else if status.st_nlink != 1 {
            Some("it has more than one name")
        } else if status.st_mode & WRITABLE_BY_OTHERS != 0 {
            Some("others may write it")
        } else {
            None
        }
    });
    fault.map_or(Ok(()), |fault| Err(FileError::Untrusted(fault)))
}

fn parent_of(parent: &Path, home: Option<&Path>) -> Result<OwnedFd, FileError> {
    let opened = match open_path(parent, DIRECTORY, Mode::empty()) {
        Err(Errno::NOENT) if home.is_some_and(|home| parent.starts_with(home)) => {
            make(parent).map_err(|source| FileError::Io { act: "made", source })?;
            open_path(parent, DIRECTORY, Mode::empty())
        }
        other => other,
    };
    trusted(opened)
}

/// Takes a directory that nobody else can change.
fn trusted(opened: rustix::io::Result<OwnedFd>) -> Result<OwnedFd, FileError> {
    let directory = opened.map_err(|errno| match errno {
        Errno::NOENT | Errno::NOTDIR => FileError::NoDirectory,
        other => FileError::of("opened")(other),
    })?;
    let status = fstat(&directory).map_err(FileError::of("opened"))?;
    if !belongs(&status) {
        return Err(FileError::Untrusted("its directory belongs to another user"));
    }
    if status.st_mode & WRITABLE_BY_OTHERS != 0 {
        return Err(FileError::Untrusted("others may write its directory"));
    }
    Ok(directory)
}

fn make(directory: &Path) -> io::Result<()> {
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(directory)
}

fn belongs(status: &Stat) -> bool {
    status.st_uid == 0 || status.st_uid == geteuid().as_raw()
}
