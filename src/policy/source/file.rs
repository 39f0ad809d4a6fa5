//! A policy file: opened once, trusted or refused, read within a bound.
//!
//! In: a path and who may own what is there. Out: [`PolicyFile`], or what is wrong with it. Nothing is opened for
//! reading before it is known to be a regular file, so a FIFO can't hold the server up, and no content of a refused file
//! is kept. Which files of the system there are is left to `system`.

use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

use crate::digest::sha256;
use crate::path::handle::described;
use crate::path::locate::{descriptor_path, name_of};
use crate::policy::diagnostic::{Diagnostic, DiagnosticCode};
use crate::policy::origin::{Origin, Position, Span};

/// The largest policy file, in bytes.
pub const MAX_BYTES: u64 = 64 * 1024;

/// A policy file that may be trusted.
#[derive(Clone, Debug)]
pub struct PolicyFile {
    /// Its text.
    pub text: Arc<str>,
    /// What a reviewer wants to know of it.
    pub facts: FileFacts,
}

/// What a reviewer wants to know of a policy file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileFacts {
    /// The path without symlinks.
    pub canonical: Arc<Path>,
    /// Who owns it.
    pub owner_uid: u32,
    /// The lowest twelve bits of its mode.
    pub mode: u32,
    /// The SHA-256 of its content, in hexadecimal.
    pub sha256: String,
}

/// Whether a file has to exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    /// It was named: a missing one is an error.
    Named,
    /// It is looked for: a missing one says nothing.
    Optional,
}

/// Who may own a policy file and the directory that it stands in.
#[derive(Clone, Copy, Debug)]
pub(super) enum Owners {
    /// The user himself, or root.
    UserOrRoot(u32),
    /// Root alone; tests that are not root put another in his place.
    System(u32),
}

impl Owners {
    const fn admit(self, owner: u32) -> bool {
        match self {
            Self::UserOrRoot(user) => owner == user || owner == 0,
            Self::System(root) => owner == root,
        }
    }

    const fn named(self) -> &'static str {
        match self {
            Self::UserOrRoot(_) => "you or to root",
            Self::System(_) => "root",
        }
    }
}

/// Opens, checks and reads a policy file; `None` where an optional one does not exist.
///
/// # Errors
/// All that is wrong with the file, each with its code: `missing-file`, `unreadable-file`, `not-a-file`,
/// `insecure-owner`, `insecure-mode`, `insecure-parent`, `too-large`, `not-utf8`.
///
/// # Security
/// Owner and mode are those of the opened descriptor. A symlink is followed; the directory that it stands in and the
/// one that the file stands in must both be safe from others.
pub fn read(path: &Path, uid: u32, presence: Presence) -> Result<Option<PolicyFile>, Vec<Diagnostic>> {
    let handle = match rustix::fs::open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()) {
        Ok(handle) => handle,
        Err(Errno::NOENT | Errno::NOTDIR) if presence == Presence::Optional && !is_there(path) => {
            return Ok(None);
        }
        Err(error) => return Err(vec![unopened(path, error)]),
    };
    let opened = Opened::of(path, handle)?;
    let owners = Owners::UserOrRoot(uid);
    let mut faults = trust(path, &opened.status, owners);
    faults.extend(trust_parents(path, &opened.canonical, &opened.status, owners));
    opened.read(faults).map(Some)
}

/// Opens, checks and reads a policy file of the system, which no symlink may stand for.
///
/// # Errors
/// As [`read`]; the directory is left to who opened it.
pub(super) fn read_in(
    directory: &OwnedFd,
    path: &Path,
    owners: Owners,
) -> Result<PolicyFile, Vec<Diagnostic>> {
    let name = path.file_name().unwrap_or_default();
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let handle = rustix::fs::openat(directory, name, flags, Mode::empty())
        .map_err(|error| vec![unopened(path, error)])?;
    let opened = Opened::of(path, handle)?;
    let faults = trust(path, &opened.status, owners);
    opened.read(faults)
}

/// A regular file that was opened, but not for reading.
struct Opened<'a> {
    path: &'a Path,
    handle: OwnedFd,
    status: Stat,
    canonical: PathBuf,
}

impl<'a> Opened<'a> {
    fn of(path: &'a Path, handle: OwnedFd) -> Result<Self, Vec<Diagnostic>> {
        let unreadable = |error: Errno| vec![unreadable(path, &error.to_string())];
        let status = rustix::fs::fstat(&handle).map_err(unreadable)?;
        let kind = FileType::from_raw_mode(status.st_mode);
        if kind != FileType::RegularFile {
            let hint =
                if kind == FileType::Symlink { "put the file itself there" } else { "name a regular file" };
            return Err(vec![
                Diagnostic::error(
                    DiagnosticCode::NotAFile,
                    Origin::file(path),
                    format!("the policy `{}` is {}, not a file", path.display(), described(kind)),
                )
                .hint(hint),
            ]);
        }
        let canonical = name_of(&handle).map_err(unreadable)?;
        Ok(Self { path, handle, status, canonical })
    }

    /// Reads the file, if nothing is wrong with it.
    fn read(self, faults: Vec<Diagnostic>) -> Result<PolicyFile, Vec<Diagnostic>> {
        if !faults.is_empty() {
            return Err(faults);
        }
        let content =
            content(&self.handle).map_err(|error| vec![unreadable(self.path, &error.to_string())])?;
        let facts = FileFacts {
            canonical: self.canonical.into(),
            owner_uid: self.status.st_uid,
            mode: self.status.st_mode & 0o7777,
            sha256: sha256(&content),
        };
        text(self.path, content).map(|text| PolicyFile { text, facts })
    }
}

/// Says whether something is at a path that can't be opened, as a symlink that leads nowhere.
fn is_there(path: &Path) -> bool {
    rustix::fs::lstat(path).is_ok()
}

fn unopened(path: &Path, error: Errno) -> Diagnostic {
    if error == Errno::NOENT || error == Errno::NOTDIR {
        Diagnostic::error(
            DiagnosticCode::MissingFile,
            Origin::file(path),
            format!("the policy `{}` does not exist", path.display()),
        )
        .hint("make the file, or take its name out of the client's configuration")
    } else {
        unreadable(path, &error.to_string())
    }
}

pub(super) fn unreadable(path: &Path, reason: &str) -> Diagnostic {
    Diagnostic::error(
        DiagnosticCode::UnreadableFile,
        Origin::file(path),
        format!("the policy `{}` can't be read: {reason}", path.display()),
    )
    .hint("a policy that exists but can't be read is never taken for none")
}

const fn written_by_others(status: &Stat) -> bool {
    status.st_mode & 0o022 != 0
}

fn trust(path: &Path, status: &Stat, owners: Owners) -> Vec<Diagnostic> {
    let mut faults = Vec::new();
    let shown = path.display();
    if !owners.admit(status.st_uid) {
        faults.push(
            Diagnostic::error(
                DiagnosticCode::InsecureOwner,
                Origin::file(path),
                format!("the policy `{shown}` belongs to user {}", status.st_uid),
            )
            .hint(format!("it must belong to {}", owners.named())),
        );
    }
    if written_by_others(status) {
        let who = if status.st_mode & 0o002 == 0 { "its group" } else { "everyone" };
        faults.push(
            Diagnostic::error(
                DiagnosticCode::InsecureMode,
                Origin::file(path),
                format!("{who} may write the policy `{shown}` (mode {:04o})", status.st_mode & 0o7777),
            )
            .hint(format!(
                "chmod {} {shown}",
                if matches!(owners, Owners::System(_)) { "644" } else { "600" }
            )),
        );
    }
    faults
}

/// Checks the directory that the file stands in, and the one that a symlink to it stands in.
fn trust_parents(path: &Path, canonical: &Path, file: &Stat, owners: Owners) -> Vec<Diagnostic> {
    let named = path.parent().unwrap_or(Path::new("/"));
    let real = canonical.parent().unwrap_or(Path::new("/"));
    let mut faults = trust_parent(path, real, owners);
    let moved = match (open_dir(real), canonical.file_name()) {
        (Ok(dir), Some(name)) => rustix::fs::statat(&dir, name, AtFlags::SYMLINK_NOFOLLOW)
            .map_or(true, |now| (now.st_dev, now.st_ino) != (file.st_dev, file.st_ino)),
        (Ok(_), None) | (Err(_), _) => true,
    };
    if moved {
        faults.push(unreadable(path, "it was moved while it was read"));
    }
    if named != real {
        for fault in trust_parent(path, named, owners) {
            if !faults.iter().any(|known| known.code == fault.code) {
                faults.push(fault);
            }
        }
    }
    faults
}

fn trust_parent(path: &Path, parent: &Path, owners: Owners) -> Vec<Diagnostic> {
    match open_dir(parent) {
        Ok(dir) => trust_directory(path, parent, &dir, owners).err().into_iter().collect(),
        Err(error) => vec![unreadable(path, &error.to_string())],
    }
}

/// Checks that nobody else can put another policy into a directory; `path` is what the finding is about.
pub(super) fn trust_directory(
    path: &Path,
    shown: &Path,
    directory: &OwnedFd,
    owners: Owners,
) -> Result<(), Diagnostic> {
    let status = rustix::fs::fstat(directory).map_err(|error| unreadable(path, &error.to_string()))?;
    let (shown, who) = (shown.display(), owners.named());
    let insecure = |what: String, hint: String| {
        Err(Diagnostic::error(DiagnosticCode::InsecureParent, Origin::file(path), what).hint(hint))
    };
    if !owners.admit(status.st_uid) {
        return insecure(
            format!("the directory of the policy, `{shown}`, belongs to user {}", status.st_uid),
            format!("it must belong to {who}: who owns it can put another policy there"),
        );
    }
    if written_by_others(&status) {
        let elsewhere = match owners {
            Owners::UserOrRoot(_) => ", or put the policy into a directory that only you or root may write",
            Owners::System(_) => "",
        };
        return insecure(
            format!(
                "others may write the directory of the policy, `{shown}` (mode {:04o})",
                status.st_mode & 0o7777
            ),
            format!("chmod go-w {shown}{elsewhere}"),
        );
    }
    Ok(())
}

fn open_dir(path: &Path) -> rustix::io::Result<OwnedFd> {
    rustix::fs::open(path, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
}

/// Reads the opened file, at most one byte more than is allowed.
fn content(handle: &OwnedFd) -> io::Result<Vec<u8>> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = rustix::fs::open(descriptor_path(handle), flags, Mode::empty())?;
    let mut content = Vec::new();
    std::fs::File::from(file).take(MAX_BYTES + 1).read_to_end(&mut content)?;
    Ok(content)
}

fn text(path: &Path, content: Vec<u8>) -> Result<Arc<str>, Vec<Diagnostic>> {
    if u64::try_from(content.len()).map_or(true, |length| length > MAX_BYTES) {
        return Err(vec![
            Diagnostic::error(
                DiagnosticCode::TooLarge,
                Origin::file(path),
                format!("the policy `{}` is larger than {MAX_BYTES} bytes", path.display()),
            )
            .hint("name directories with wildcards, or one above them"),
        ]);
    }
    match String::from_utf8(content) {
        Ok(text) => Ok(text.into()),
        Err(error) => {
            let valid_up_to = error.utf8_error().valid_up_to();
            let content = error.into_bytes();
            let valid = content.get(..valid_up_to).and_then(|valid| std::str::from_utf8(valid).ok());
            let at = Position::of(valid.unwrap_or_default(), valid_up_to);
            let origin = Origin::File { path: path.into(), span: Some(Span { start: at, end: at }) };
            Err(vec![
                Diagnostic::error(
                    DiagnosticCode::NotUtf8,
                    origin,
                    format!("the policy `{}` is not UTF-8", path.display()),
                )
                .hint("save it as UTF-8"),
            ])
        }
    }
}
