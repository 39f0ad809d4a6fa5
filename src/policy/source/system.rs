//! The system's own policy: the files of one directory, each believed only if nobody but root can change it.
//!
//! In: [`SystemDir`]. Out: its files in the order of their names, read or refused, and what is wrong with what else
//! lies there. From the directory on no symlink is followed, so that nothing on the way to a file is anybody else's.
//! What the files may say is left to `system_rules`.

use std::ffi::{OsStr, OsString};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use rustix::fs::{Dir, FileType, Mode, OFlags};
use rustix::io::Errno;

use crate::path::handle::described;
use crate::policy::diagnostic::{Diagnostic, DiagnosticCode};
use crate::policy::origin::Origin;
use crate::policy::source::file::{Owners, PolicyFile, read_in, trust_directory, unreadable};

/// The directory of the system's policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SystemDir {
    /// Its path, absolute.
    pub path: PathBuf,
    /// Who must own it, the directory that it stands in, and all that is read in it.
    pub owner_uid: u32,
}

impl SystemDir {
    /// `/etc/playwright-warden`, of root.
    #[must_use]
    pub fn of_this_machine() -> Self {
        Self { path: PathBuf::from("/etc/playwright-warden"), owner_uid: 0 }
    }
}

/// What was found there.
#[derive(Debug, Default)]
pub struct SystemFiles {
    /// The policies, read or refused.
    pub files: Vec<(PathBuf, Result<PolicyFile, Vec<Diagnostic>>)>,
    /// What is wrong with all else.
    pub findings: Vec<Diagnostic>,
}

/// Reads `policy.toml`, and all of `policy.d` whose name ends in `.toml`.
///
/// # Security
/// What exists but can't be listed, read or trusted is an error, never taken for none. What is passed over by its
/// name is told, since a misspelt name must not pass unseen.
pub fn read(system: &SystemDir) -> SystemFiles {
    let mut found = SystemFiles::default();
    let owners = Owners::System(system.owner_uid);
    let dir = match directory(system, owners) {
        Ok(Some(dir)) => dir,
        Ok(None) => return found,
        Err(fault) => {
            found.findings.push(fault);
            return found;
        }
    };
    for (name, path) in found.list(&dir, &system.path) {
        match name.as_bytes() {
            b"policy.toml" => found.files.push((path.clone(), read_in(&dir, &path, owners))),
            b"policy.d" => match open_directory(&dir, &name, &path, owners) {
                Ok(drop_ins) => found.read_drop_ins(&drop_ins, &path, owners),
                Err(fault) => found.findings.push(fault),
            },
            _ => found.ignore(&path, "only `policy.toml` and `policy.d` are"),
        }
    }
    found
}

impl SystemFiles {
    fn read_drop_ins(&mut self, dir: &OwnedFd, shown: &Path, owners: Owners) {
        for (name, path) in self.list(dir, shown) {
            let name = name.as_bytes();
            if name.ends_with(b".toml") && !name.starts_with(b".") {
                self.files.push((path.clone(), read_in(dir, &path, owners)));
            } else {
                self.ignore(&path, "only names that end in `.toml` and do not start with a dot are");
            }
        }
    }

    /// Lists a directory by name.
    fn list(&mut self, dir: &OwnedFd, shown: &Path) -> Vec<(OsString, PathBuf)> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let listed = rustix::fs::openat(dir, ".", flags, Mode::empty()).and_then(Dir::new);
        let names = listed.and_then(|entries| {
            entries
                .map(|entry| Ok(OsString::from_vec(entry?.file_name().to_bytes().to_vec())))
                .collect::<Result<Vec<_>, Errno>>()
        });
        let mut names = names.unwrap_or_else(|error| {
            self.findings.push(unreadable(shown, &error.to_string()));
            Vec::new()
        });
        names.retain(|name| name != "." && name != "..");
        names.sort_unstable();
        names.into_iter().map(|name| (name.clone(), shown.join(name))).collect()
    }

    fn ignore(&mut self, path: &Path, what_is_read: &str) {
        self.findings.push(
            Diagnostic::warning(
                DiagnosticCode::IgnoredFile,
                Origin::file(path),
                format!("`{}` is not read: {what_is_read}", path.display()),
            )
            .hint("rename it if it is a policy, else move it away"),
        );
    }
}

/// Opens the system's directory; `None` where there is none.
fn directory(system: &SystemDir, owners: Owners) -> Result<Option<OwnedFd>, Diagnostic> {
    let shown = &system.path;
    let parent = shown.parent().unwrap_or(shown);
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    let opened = rustix::fs::open(parent, flags, Mode::empty()).and_then(|above| {
        let name = shown.file_name().unwrap_or_default();
        rustix::fs::openat(&above, name, flags | OFlags::NOFOLLOW, Mode::empty()).map(|dir| (above, dir))
    });
    match opened {
        Ok((above, dir)) => {
            trust_directory(shown, parent, &above, owners)?;
            checked_directory(dir, shown, owners).map(Some)
        }
        Err(Errno::NOENT) => Ok(None),
        Err(error) => Err(unreadable(shown, &error.to_string())),
    }
}

fn open_directory(dir: &OwnedFd, name: &OsStr, shown: &Path, owners: Owners) -> Result<OwnedFd, Diagnostic> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let opened = rustix::fs::openat(dir, name, flags, Mode::empty())
        .map_err(|error| unreadable(shown, &error.to_string()))?;
    checked_directory(opened, shown, owners)
}

fn checked_directory(dir: OwnedFd, shown: &Path, owners: Owners) -> Result<OwnedFd, Diagnostic> {
    let status = rustix::fs::fstat(&dir).map_err(|error| unreadable(shown, &error.to_string()))?;
    match FileType::from_raw_mode(status.st_mode) {
        FileType::Directory => trust_directory(shown, shown, &dir, owners).map(|()| dir),
        other @ (FileType::RegularFile
        | FileType::Symlink
        | FileType::Fifo
        | FileType::Socket
        | FileType::CharacterDevice
        | FileType::BlockDevice
        | FileType::Unknown) => Err(Diagnostic::error(
            DiagnosticCode::NotAFile,
            Origin::file(shown),
            format!("the directory of policies `{}` is {}", shown.display(), described(other)),
        )
        .hint("make it a directory, or remove it")),
    }
}
