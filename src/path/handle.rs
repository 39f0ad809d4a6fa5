//! Directories and files held open.
//!
//! In: a path, or a name beneath a directory. Out: handles that stay the same whatever the name comes to mean.

use std::{
    ffi::{OsStr, OsString},
    io::{self, Read},
    os::{
        fd::{AsFd, BorrowedFd, OwnedFd},
        unix::ffi::OsStrExt,
    },
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use rustix::{
    fs::{CWD, Dir, FileType, Mode, OFlags, ResolveFlags, Stat, fstat, openat2},
    io::Errno,
};

use crate::path::{
    PathError, RelPath,
    locate::{descriptor_path, name_of},
};

/// A directory that stays the same whatever its name comes to mean: an open handle and its canonical path.
#[derive(Debug)]
pub struct DirHandle {
    handle: OwnedFd,
    path: PathBuf,
}

impl DirHandle {
    /// Opens a directory by its path; symlinks are followed, links of `/proc` are not.
    ///
    /// # Errors
    /// [`PathError`] when it is missing, no directory, or was removed meanwhile.
    pub fn open(path: &Path) -> Result<Self, PathError> {
        Self::open_at(CWD, path)
    }

    pub(super) fn open_at(base: BorrowedFd<'_>, path: &Path) -> Result<Self, PathError> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let handle = openat2(base, path, flags, Mode::empty(), ResolveFlags::NO_MAGICLINKS)
            .map_err(|errno| PathError::of(errno, path))?;
        let canonical = name_of(&handle).map_err(|errno| PathError::of(errno, path))?;
        // A removed directory is named `… (deleted)`; only a name that leads back to the handle is believed.
        let again = rustix::fs::stat(&canonical).map_err(|errno| PathError::of(errno, path))?;
        let opened = fstat(&handle).map_err(|errno| PathError::of(errno, path))?;
        if (again.st_dev, again.st_ino) != (opened.st_dev, opened.st_ino) {
            return Err(PathError::Missing(path.to_owned()));
        }
        Ok(Self { handle, path: canonical })
    }

    /// The canonical path at the time of opening.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A path that a child process can enter while this handle is open: it names the handle, not the directory.
    pub fn entrance(&self) -> PathBuf {
        descriptor_path(&self.handle)
    }

    /// Opens a regular file beneath this directory and reads it at most to a bound.
    ///
    /// # Errors
    /// [`PathError`] when it is missing, escapes, is no regular file, has other links, or is too large.
    ///
    /// # Security
    /// Resolved by the kernel (`openat2`, beneath, no links of `/proc`), never blocking on a FIFO, and judged on the
    /// open descriptor. See <https://man7.org/linux/man-pages/man2/openat2.2.html>.
    pub fn open_file(&self, name: &RelPath, bound: u64) -> Result<ContainedFile, PathError> {
        let (file, links) = self.open_regular(name, bound)?;
        if links == 1 { Ok(file) } else { Err(PathError::Linked(name.as_path().to_owned())) }
    }

    /// Opens a file as [`Self::open_file`] does, but one that may have other names: package managers make these.
    ///
    /// # Errors
    /// [`PathError`] when it is missing, escapes, is no regular file, or is too large.
    pub fn open_linked_file(&self, name: &RelPath, bound: u64) -> Result<ContainedFile, PathError> {
        self.open_regular(name, bound).map(|(file, _)| file)
    }

    fn open_regular(&self, name: &RelPath, bound: u64) -> Result<(ContainedFile, u64), PathError> {
        let path = name.as_path();
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
        let descriptor = openat2(&self.handle, path, flags, Mode::empty(), resolve)
            .map_err(|errno| PathError::of(errno, path))?;
        let status = fstat(&descriptor).map_err(|errno| PathError::of(errno, path))?;
        let kind = FileType::from_raw_mode(status.st_mode);
        if kind != FileType::RegularFile {
            return Err(PathError::NotAFile { path: path.to_owned(), found: described(kind) });
        }
        let bytes = u64::try_from(status.st_size).unwrap_or(0);
        if bytes > bound {
            return Err(PathError::TooLarge { path: path.to_owned(), bytes, bound });
        }
        #[expect(clippy::useless_conversion, reason = "a link count has 32 bits on some processors")]
        let links = u64::from(status.st_nlink);
        let owner = status.st_uid;
        let file =
            ContainedFile { file: descriptor.into(), bytes, modified: modified(&status), owner, bound };
        Ok((file, links))
    }

    /// What lies at a name beneath this directory; `None` where nothing does.
    ///
    /// # Errors
    /// [`PathError`] when the name escapes or can't be looked at.
    pub fn kind_of(&self, name: &RelPath) -> Result<Option<EntryKind>, PathError> {
        match self.look_beneath(name) {
            Ok(kind) => Ok(Some(kind)),
            Err(Errno::NOENT | Errno::NOTDIR | Errno::NAMETOOLONG) => Ok(None),
            Err(errno) => Err(PathError::of(errno, name.as_path())),
        }
    }

    fn look_beneath(&self, name: &RelPath) -> Result<EntryKind, Errno> {
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
        let flags = OFlags::PATH | OFlags::CLOEXEC;
        let entry = openat2(&self.handle, name.as_path(), flags, Mode::empty(), resolve)?;
        Ok(EntryKind::of(FileType::from_raw_mode(fstat(&entry)?.st_mode)))
    }

    /// The names in a directory beneath this one (`None`: in this one), with what each is; symlinks count as other.
    ///
    /// # Errors
    /// [`PathError`] when it can't be opened or listed.
    pub fn list(&self, beneath: Option<&RelPath>) -> Result<Vec<(OsString, EntryKind)>, PathError> {
        let path = beneath.map_or(Path::new("."), RelPath::as_path);
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS | ResolveFlags::NO_SYMLINKS;
        let wrong = |errno| PathError::of(errno, path);
        let directory = openat2(&self.handle, path, flags, Mode::empty(), resolve).map_err(wrong)?;
        let mut entries = Vec::new();
        for entry in Dir::read_from(&directory).map_err(wrong)? {
            let entry = entry.map_err(wrong)?;
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if name != "." && name != ".." {
                entries.push((name.to_owned(), EntryKind::of(entry.file_type())));
            }
        }
        entries.sort();
        Ok(entries)
    }
}

impl AsFd for DirHandle {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.handle.as_fd()
    }
}

/// What a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum EntryKind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// Anything else: a device, a FIFO, a socket, in a listing also a symlink.
    Other,
}

impl EntryKind {
    fn of(kind: FileType) -> Self {
        match kind {
            FileType::RegularFile => Self::File,
            FileType::Directory => Self::Directory,
            FileType::Symlink
            | FileType::Fifo
            | FileType::Socket
            | FileType::CharacterDevice
            | FileType::BlockDevice
            | FileType::Unknown => Self::Other,
        }
    }
}

/// A regular file opened beneath a directory handle; it yields at most its bound.
#[derive(Debug)]
pub struct ContainedFile {
    file: std::fs::File,
    bytes: u64,
    modified: SystemTime,
    owner: u32,
    bound: u64,
}

impl ContainedFile {
    /// Its size in bytes when it was opened.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// When it was last written.
    pub fn modified(&self) -> SystemTime {
        self.modified
    }

    /// The user that it belongs to.
    pub fn owner(&self) -> u32 {
        self.owner
    }

    /// Its content, cut at the bound even if it grows while it is read.
    pub fn content(&self) -> impl Read + '_ {
        (&self.file).take(self.bound)
    }

    /// Its content as text; what is no UTF-8 is replaced.
    ///
    /// # Errors
    /// What the kernel says while reading.
    pub fn text(&self) -> io::Result<String> {
        let mut bytes = Vec::new();
        self.content().read_to_end(&mut bytes)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
}

/// What is there instead of a regular file, with its article.
pub(crate) fn described(kind: FileType) -> &'static str {
    match kind {
        FileType::Directory => "a directory",
        FileType::Fifo => "a FIFO",
        FileType::Socket => "a socket",
        FileType::CharacterDevice | FileType::BlockDevice => "a device",
        FileType::RegularFile | FileType::Symlink | FileType::Unknown => "something else",
    }
}

fn modified(status: &Stat) -> SystemTime {
    let seconds = u64::try_from(status.st_mtime).unwrap_or(0);
    let nanoseconds = u32::try_from(status.st_mtime_nsec).unwrap_or(0);
    SystemTime::UNIX_EPOCH + Duration::new(seconds, nanoseconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_regular_files_with_one_link_beneath_the_directory_are_read() {
        let root = tempfile::tempdir().unwrap();
        let at = |name: &str| root.path().join(name);
        std::fs::write(at("plain"), "12345").unwrap();
        std::fs::create_dir(at("dir")).unwrap();
        std::os::unix::fs::symlink("plain", at("inside")).unwrap();
        std::os::unix::fs::symlink("/etc/hostname", at("outside")).unwrap();
        std::fs::write(at("twice"), "x").unwrap();
        std::fs::hard_link(at("twice"), at("again")).unwrap();
        rustix::fs::mknodat(CWD, at("fifo"), FileType::Fifo, Mode::RUSR, 0).unwrap();
        let dir = DirHandle::open(root.path()).unwrap();
        let open = |name: &str, bound| dir.open_file(&RelPath::parse(name).unwrap(), bound);
        assert_eq!(open("plain", 5).unwrap().text().unwrap(), "12345");
        assert_eq!(open("inside", 5).unwrap().text().unwrap(), "12345");
        assert!(matches!(open("plain", 4), Err(PathError::TooLarge { .. })));
        assert!(matches!(open("outside", 99), Err(PathError::Escapes(_))));
        assert!(matches!(open("dir", 99), Err(PathError::NotAFile { found: "a directory", .. })));
        assert!(matches!(open("fifo", 99), Err(PathError::NotAFile { found: "a FIFO", .. })));
        assert!(matches!(open("again", 99), Err(PathError::Linked(_))));
        assert!(matches!(open("none", 99), Err(PathError::Missing(_))));
    }
}
