//! Paths that only containment can make.
//!
//! In: names that a caller, a report or a test wrote. Out: open handles with the canonical name that the kernel gives
//! them. A decision is made on that name and acted on through the same handle, so a symlink that is swapped in
//! between changes nothing. Whether a directory is allowed is left to `policy`, what is in a file to its reader.

use std::{
    ffi::OsStr,
    fmt,
    io::{self, Read},
    os::{
        fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd},
        unix::ffi::OsStrExt,
    },
    path::{Component, Path, PathBuf},
    time::{Duration, SystemTime},
};

use rustix::{
    fs::{CWD, Dir, FileType, Mode, OFlags, ResolveFlags, Stat, fstat, openat2, readlinkat},
    io::Errno,
};
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

    fn open_at(base: BorrowedFd<'_>, path: &Path) -> Result<Self, PathError> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let handle = openat2(base, path, flags, Mode::empty(), ResolveFlags::NO_MAGICLINKS)
            .map_err(|errno| PathError::of(errno, path))?;
        let name =
            readlinkat(CWD, proc_name(&handle), Vec::new()).map_err(|errno| PathError::of(errno, path))?;
        let canonical = PathBuf::from(OsStr::from_bytes(name.as_bytes()));
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
        proc_name(&self.handle)
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
        let file = ContainedFile { file: descriptor.into(), bytes, modified: modified(&status), bound };
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
    pub fn list(&self, beneath: Option<&RelPath>) -> Result<Vec<(std::ffi::OsString, EntryKind)>, PathError> {
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

/// The directory that a call asks for: looked up, not decided on.
///
/// Where nothing can be opened, its path is that of the nearest directory that exists, and the rest as asked. So a
/// refusal reads the same whether or not the path exists.
#[derive(Debug)]
pub struct CandidateDir {
    found: Result<DirHandle, PathError>,
    path: PathBuf,
    asked: String,
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
            Ok(handle) => handle.path.clone(),
            Err(_) => nearest(launch, Path::new(asked)),
        };
        Ok(Self { found, path, asked: asked.to_owned() })
    }

    /// The directory as the caller wrote it; a refusal shows this, so that it tells nothing of what is there.
    pub fn asked(&self) -> &str {
        &self.asked
    }

    /// Whether the directory is the user's own or root's.
    pub fn belongs_to_user_or_root(&self) -> bool {
        let owner =
            self.found.as_ref().ok().and_then(|handle| fstat(handle).ok()).map(|status| status.st_uid);
        owner.is_some_and(|owner| owner == 0 || owner == rustix::process::geteuid().as_raw())
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
    let whole = launch.path.join(asked);
    for ancestor in whole.ancestors().skip(1) {
        if let (Ok(handle), Ok(rest)) = (DirHandle::open(ancestor), whole.strip_prefix(ancestor)) {
            return handle.path.join(rest);
        }
    }
    whole
}

/// A project that the policy allows: its canonical path and the very handle that was decided on.
///
/// Its handle serves the Landlock rule and the child's working directory.
///
/// ```compile_fail
/// let handle = playwright_warden::path::DirHandle::open(std::path::Path::new("/etc")).unwrap();
/// let forged = playwright_warden::path::ProjectDir(handle);
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

/// A regular file opened beneath a directory handle; it yields at most its bound.
#[derive(Debug)]
pub struct ContainedFile {
    file: std::fs::File,
    bytes: u64,
    modified: SystemTime,
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

fn proc_name(handle: &OwnedFd) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", handle.as_raw_fd()))
}

fn described(kind: FileType) -> &'static str {
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
