//! The file sink: one write of one line under a lock, and a sync.
//!
//! In: records. Out: lines at the end of the file, each tied to what stands before it, by whichever server that was
//! written. The file may be renamed, removed or cut at any time; the chain goes on and says so. Which files are taken is
//! left to `open`, what stands at a file's end to `tail`.

pub mod open;
mod tail;

use std::{
    fs::File,
    io,
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use rustix::{
    fs::{AtFlags, CWD, FlockOperation, fdatasync, flock, fstat, statat},
    io::Errno,
    process::{Resource, getrlimit},
};
use thiserror::Error;

use crate::{
    audit::{
        AuditError,
        chain::{Link, NOTHING, Tip},
        context::Context,
        file::{
            open::Outlook,
            tail::{Known, Tail},
        },
        line::line,
        record::{Break, Record},
    },
    digest::sha256,
    path::locate::canonical,
};

/// How long a lock that another process holds is waited for.
const PATIENCE: Duration = Duration::from_secs(2);
/// Between two tries to lock.
const PAUSE: Duration = Duration::from_millis(3);
/// A file that has another name each time it is looked at is given up.
const ATTEMPTS: u32 = 16;

/// Why the file did not take a record; no path stands in it, since an agent may read it.
#[derive(Debug, Error)]
pub enum FileError {
    /// Its directory is not there.
    #[error("the file's directory does not exist")]
    NoDirectory,
    /// Somebody else could change it, or it is no file.
    #[error("the file can't be trusted: {0}")]
    Untrusted(&'static str),
    /// It holds something else.
    #[error("the file holds something else than audit records")]
    NotALog,
    /// Another process holds its lock.
    #[error("the file is locked by another process")]
    Locked,
    /// It is replaced faster than it can be opened.
    #[error("the file is replaced again and again")]
    Unsettled,
    /// A part of the line was written.
    #[error("{written} of {bytes} bytes were written to the file")]
    Short {
        /// So many bytes.
        written: usize,
        /// Of so many.
        bytes: usize,
    },
    /// The kernel refused.
    #[error("the file can't be {act}")]
    Io {
        /// What was tried: `opened`, `read`, `locked`, `written`, `synced`.
        act: &'static str,
        /// What the kernel said.
        #[source]
        source: io::Error,
    },
    /// A new chain can't be named.
    #[error(transparent)]
    Random(Box<AuditError>),
}

impl FileError {
    fn of(act: &'static str) -> impl FnOnce(Errno) -> Self {
        move |errno| Self::Io { act, source: errno.into() }
    }
}

/// A line that was written.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// Its place.
    pub link: Link,
    /// The line.
    pub line: String,
    /// What it says.
    pub record: Record,
}

impl Entry {
    /// What the next line is tied to.
    pub fn tip(&self) -> Tip {
        let digest = sha256(self.line.as_bytes());
        Tip { chain: self.link.chain.clone(), seq: self.link.seq, digest }
    }
}

/// The log's file.
#[derive(Debug)]
pub struct LogFile {
    path: PathBuf,
    name: PathBuf,
    home: Option<PathBuf>,
    file: Option<File>,
    known: Option<Known>,
}

/// Whether the name still leads to the open file.
enum Place {
    Same { size: u64 },
    Gone(Break),
}

impl LogFile {
    /// A file that is opened when the first record comes; missing directories are made below the home only.
    pub fn new(path: &Path, home: Option<&Path>) -> Self {
        let (path, home) = (path.to_owned(), home.map(Path::to_owned));
        Self { name: path.clone(), path, home, file: None, known: None }
    }

    /// Looks whether it would take a record, and makes nothing.
    ///
    /// # Errors
    /// [`FileError`] when it would not.
    pub fn look(&self) -> Result<Outlook, FileError> {
        open::look(&self.path, self.home.as_deref())
    }

    /// Where it is, as the policy has it.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The same file, known also by the name that the policy gives it.
    #[must_use]
    pub fn named(self, name: &Path) -> Self {
        Self { name: name.to_owned(), ..self }
    }

    /// The names by which `audit verify` knows it: without symlinks, and as the policy names it, so that a symlink that
    /// was there for a while hides nothing.
    pub fn names(&self) -> Vec<PathBuf> {
        let mut names = vec![canonical(&self.path), self.name.clone()];
        names.dedup();
        names
    }

    /// Appends a record, tied to what stands before it; gives the lines that were written for it.
    ///
    /// # Errors
    /// [`FileError`] when it can't be written whole and synced.
    pub fn append(&mut self, context: &Context, record: &Record) -> Result<Vec<Entry>, FileError> {
        let until = Instant::now() + PATIENCE;
        let mut broken = None;
        for _ in 0..ATTEMPTS {
            let file = match self.file.take() {
                Some(file) => file,
                None => open::open(&self.path, self.home.as_deref())?,
            };
            lock(&file, until)?;
            match self.place(&file)? {
                Place::Same { size } => {
                    let written = self.append_locked(&file, size, broken, context, record);
                    // Closing would unlock it too, but a child that is just being made may hold it as well.
                    flock(&file, FlockOperation::Unlock).map_err(FileError::of("unlocked"))?;
                    self.file = Some(file);
                    return written;
                }
                Place::Gone(reason) => {
                    self.follow(&file)?;
                    broken = self.known.as_ref().map(|_| reason);
                }
            }
        }
        Err(FileError::Unsettled)
    }

    /// Another server may have gone on in a file before that lost its name; if the file is as this server left it, the
    /// chain's end is there.
    fn follow(&mut self, file: &File) -> Result<(), FileError> {
        let Some(known) = &self.known else { return Ok(()) };
        let size = size_of(file)?;
        if known.holds(file, size)?
            && let Ok(Tail::Record { known, .. }) = tail::read(file, size)
        {
            self.known = Some(known);
        }
        Ok(())
    }

    fn place(&self, file: &File) -> Result<Place, FileError> {
        let opened = fstat(file).map_err(FileError::of("opened"))?;
        match statat(CWD, &self.path, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(named) if (named.st_dev, named.st_ino) == (opened.st_dev, opened.st_ino) => {
                open::check(&opened)?;
                Ok(Place::Same { size: u64::try_from(opened.st_size).unwrap_or(0) })
            }
            Ok(_) | Err(Errno::NOENT) => {
                Ok(Place::Gone(if opened.st_nlink > 0 { Break::Renamed } else { Break::Removed }))
            }
            Err(errno) => Err(FileError::of("opened")(errno)),
        }
    }

    fn append_locked(
        &mut self,
        file: &File,
        size: u64,
        broken: Option<Break>,
        context: &Context,
        record: &Record,
    ) -> Result<Vec<Entry>, FileError> {
        let (start, reason) = self.start(file, size, broken)?;
        let mut entries = Vec::new();
        let mut at = Position { link: start.link, size, mend: start.mend };
        if let (Some(reason), Some(known)) = (reason, &self.known) {
            let continued = Record::Continued { reason, after: known.tip.clone() };
            entries.push(self.write(file, &mut at, context, &continued)?);
        }
        entries.push(self.write(file, &mut at, context, record)?);
        fdatasync(file).map_err(FileError::of("synced"))?;
        Ok(entries)
    }

    /// Where the next record is tied to, and what is to be told of the file first.
    fn start(
        &self,
        file: &File,
        size: u64,
        broken: Option<Break>,
    ) -> Result<(Start, Option<Break>), FileError> {
        let Some(known) = &self.known else {
            return Ok((Start::after(tail::read(file, size)?)?, None));
        };
        if broken.is_none() && known.is_last(file, size)? {
            return Ok((Start { link: known.tip.next(), mend: Mend::Nothing }, None));
        }
        let end = tail::read(file, size)?;
        let reason = match broken {
            Some(reason) => reason,
            None if known.holds(file, size)? => return Ok((Start::after(end)?, None)),
            None if size < known.end => Break::Truncated,
            None => Break::Rewritten,
        };
        let mend = end.mend();
        Ok(match end {
            Tail::Record { known: there, .. } if there.tip.chain != known.tip.chain => {
                (Start { link: there.tip.next(), mend }, Some(reason))
            }
            // Another server has gone on there already.
            Tail::Record { known: there, .. } if broken.is_some() && there.tip.goes_on(&known.tip) => {
                (Start { link: there.tip.next(), mend }, None)
            }
            // What this server knows is not there any more: `audit verify` finds the gap.
            Tail::Record { .. } | Tail::Empty => (Start { link: known.tip.next(), mend }, Some(reason)),
            torn @ Tail::Torn { .. } => (Start::after(torn)?, Some(reason)),
        })
    }

    fn write(
        &mut self,
        file: &File,
        at: &mut Position,
        context: &Context,
        record: &Record,
    ) -> Result<Entry, FileError> {
        let link = at.link.clone();
        let text = line(context, Some(&link), record);
        let mended = if at.mend == Mend::Newline { "\n" } else { "" };
        let bytes = format!("{mended}{text}\n");
        let end = at.size.saturating_add(bytes.len() as u64);
        // Writing past this limit would be a deadly signal.
        if getrlimit(Resource::Fsize).current.is_some_and(|limit| end > limit) {
            return Err(FileError::of("written")(Errno::FBIG));
        }
        let written = rustix::io::write(file, bytes.as_bytes()).map_err(FileError::of("written"))?;
        if written != bytes.len() {
            return Err(FileError::Short { written, bytes: bytes.len() });
        }
        let entry = Entry { link, line: text, record: record.clone() };
        let tip = entry.tip();
        let start = at.size.saturating_add(mended.len() as u64);
        *at = Position { link: tip.next(), size: end, mend: Mend::Nothing };
        self.known = Some(Known { tip, start, end: end.saturating_sub(1) });
        Ok(entry)
    }
}

/// Where the next line goes.
struct Position {
    link: Link,
    size: u64,
    mend: Mend,
}

/// What has to be written before a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mend {
    Nothing,
    Newline,
}

/// What the next record is tied to.
struct Start {
    link: Link,
    mend: Mend,
}

impl Start {
    fn after(tail: Tail) -> Result<Self, FileError> {
        let mend = tail.mend();
        let first = |prev: &str| Link::first(prev).map_err(|error| FileError::Random(Box::new(error)));
        let link = match tail {
            Tail::Empty => first(NOTHING)?,
            Tail::Torn { digest, .. } => first(&digest)?,
            Tail::Record { known, .. } => known.tip.next(),
        };
        Ok(Self { link, mend })
    }
}

impl Tip {
    /// Whether this is another one's end, or comes after it in its chain.
    fn goes_on(&self, other: &Self) -> bool {
        self.chain == other.chain && (self.seq > other.seq || self == other)
    }
}

fn lock(file: &File, until: Instant) -> Result<(), FileError> {
    loop {
        match flock(file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(()),
            Err(Errno::WOULDBLOCK) if Instant::now() < until => thread::sleep(PAUSE),
            Err(Errno::WOULDBLOCK) => return Err(FileError::Locked),
            Err(errno) => return Err(FileError::of("locked")(errno)),
        }
    }
}

fn size_of(file: &File) -> Result<u64, FileError> {
    let status = fstat(file).map_err(FileError::of("read"))?;
    Ok(u64::try_from(status.st_size).unwrap_or(0))
}
