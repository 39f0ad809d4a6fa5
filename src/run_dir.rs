//! The run's own directory: laid out, kept within bounds, swept.
//!
//! In: the state directory and a new run's id. Out: a [`RunDir`](crate::run_dir::RunDir) that only this server and the
//! run can use. What is written into it is left to the run, and what is read from it is hostile: it is opened beneath a
//! handle.

use std::{
    io,
    os::unix::fs::DirBuilderExt,
    path::{Path, PathBuf},
};

use rustix::fs::{FlockOperation, Mode, OFlags, flock, open};
use thiserror::Error;

use crate::{
    digest::sha256,
    path::{PathError, handle::DirHandle, locate::locate},
    run_id::RunId,
};

/// What can go wrong with the server's own directories.
#[derive(Debug, Error)]
pub enum RunDirError {
    /// A directory can't be made, listed or removed.
    #[error("can't use the state directory `{path}`", path = .path.display())]
    State {
        /// The directory.
        path: PathBuf,
        /// What the kernel said.
        #[source]
        source: io::Error,
    },
    /// A directory that was just made can't be opened.
    #[error(transparent)]
    Path(#[from] PathError),
}

/// The server's own directory, `~/.local/state/playwright-warden` unless told otherwise.
#[derive(Clone, Debug)]
pub struct StateDir {
    path: PathBuf,
}

impl StateDir {
    /// Makes the directory where it is missing, for the user alone.
    ///
    /// # Errors
    /// [`RunDirError::State`] when it can't be made.
    pub fn open(path: &Path) -> Result<Self, RunDirError> {
        make(&path.join("runs"))?;
        make(&path.join("transform"))?;
        let path = DirHandle::open(path)?.path().to_owned();
        Ok(Self { path })
    }

    /// Names the directory and makes nothing, for those who only show where a run would have its things.
    ///
    /// # Errors
    /// [`RunDirError::State`] when the path can't be looked up.
    pub fn named(path: &Path) -> Result<Self, RunDirError> {
        Ok(Self { path: locate(path).map_err(state_error(path))?.path })
    }

    fn runs(&self) -> PathBuf {
        self.path.join("runs")
    }

    /// The paths of a run's directory, whether or not it exists.
    pub fn paths_of(&self, run: &str) -> RunPaths {
        RunPaths::beneath(&self.runs().join(run))
    }

    /// The directory in which Playwright keeps one project's compiled sources between confined runs.
    pub fn transform_cache(&self, project: &Path) -> PathBuf {
        self.path.join("transform").join(sha256(project.as_os_str().as_encoded_bytes()))
    }

    /// Makes the directory of [`Self::transform_cache`].
    ///
    /// # Errors
    /// [`RunDirError::State`] when it can't be made.
    pub fn make_transform_cache(&self, project: &Path) -> Result<PathBuf, RunDirError> {
        let path = self.transform_cache(project);
        make(&path)?;
        Ok(path)
    }

    /// Removes the directories of servers that are gone.
    ///
    /// A live server holds a lock on each of its run directories, so an unlocked one belongs to nobody. A run may have
    /// left what can't be removed; the others go all the same, and the number of those that stay is given.
    ///
    /// # Errors
    /// [`RunDirError::State`] when the runs can't be listed.
    pub fn sweep(&self) -> Result<usize, RunDirError> {
        let runs = self.runs();
        let mut dead = Vec::new();
        {
            let _order = Lock::wait_for(&runs).map_err(state_error(&runs))?;
            for entry in std::fs::read_dir(&runs).map_err(state_error(&runs))? {
                let path = entry.map_err(state_error(&runs))?.path();
                dead.extend(Lock::take(&path).ok().map(|lock| (path, lock)));
            }
        }
        // Nobody waits while this goes on: each directory is held by its own lock.
        let stays = |(path, _lock): &(PathBuf, Lock)| {
            remove_short_name(path);
            remove(path).is_err()
        };
        Ok(dead.iter().filter(|found| stays(found)).count())
    }
}

/// Held while a run directory is in use; the kernel lets go of it when the server dies.
#[derive(Debug)]
struct Lock {
    _held: std::os::fd::OwnedFd,
}

impl Lock {
    fn take(path: &Path) -> io::Result<Self> {
        Self::opened(path, FlockOperation::NonBlockingLockExclusive)
    }

    fn wait_for(path: &Path) -> io::Result<Self> {
        Self::opened(path, FlockOperation::LockExclusive)
    }

    fn opened(path: &Path, operation: FlockOperation) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let directory = open(path, flags, Mode::empty())?;
        flock(&directory, operation)?;
        Ok(Self { _held: directory })
    }
}

/// The directory of one run: `home`, `tmp`, `cache`, `out` and the report, all for the user alone.
///
/// It is removed when this value is dropped.
#[derive(Debug)]
pub struct RunDir {
    handle: DirHandle,
    short_tmp: Option<PathBuf>,
    _lock: Lock,
}

impl RunDir {
    /// The report's name beneath the directory.
    pub const REPORT: &'static str = "report.json";
    /// The name of the file of events beneath the directory; `reporter.cjs` knows it too.
    pub const EVENTS: &'static str = "events.jsonl";

    /// Lays out the directory of a new run.
    ///
    /// # Errors
    /// [`RunDirError`] when it can't be made.
    pub fn create(state: &StateDir, run: RunId) -> Result<Self, RunDirError> {
        let runs = state.runs();
        // Another server must not sweep the directory between its making and its lock.
        let _order = Lock::wait_for(&runs).map_err(state_error(&runs))?;
        let path = runs.join(run.to_string());
        make(&path)?;
        let lock = Lock::take(&path).map_err(state_error(&path))?;
        for name in ["home", "tmp", "cache", "out"] {
            make(&path.join(name))?;
        }
        Ok(Self { handle: DirHandle::open(&path)?, short_tmp: None, _lock: lock })
    }

    /// Gives `tmp` a short name: a link in `/tmp` that goes when this value goes.
    ///
    /// The path of a unix socket has at most 107 bytes (`unix(7)`), of which Chromium needs 45 below `$TMPDIR`; a state
    /// directory in a home leaves too few. Where no link can be made, the long name stays.
    pub fn shorten_tmp(&mut self) {
        let short = short_name(self.handle.path());
        if std::os::unix::fs::symlink(self.handle.path().join("tmp"), &short).is_ok() {
            self.short_tmp = Some(short);
        }
    }

    /// The handle beneath which its files are read.
    pub fn dir(&self) -> &DirHandle {
        &self.handle
    }

    /// Its paths, for a command line and an environment.
    pub fn paths(&self) -> RunPaths {
        let paths = RunPaths::beneath(self.handle.path());
        RunPaths { tmp: self.short_tmp.clone().unwrap_or(paths.tmp), ..paths }
    }

    /// How many bytes its files take; what can't be looked at counts as nothing.
    pub fn bytes(&self) -> u64 {
        bytes_beneath(self.handle.path())
    }
}

impl Drop for RunDir {
    fn drop(&mut self) {
        if self.short_tmp.is_some() {
            remove_short_name(self.handle.path());
        }
        // What can't be removed now is swept when a server starts.
        drop(remove(self.handle.path()));
    }
}

/// The paths of a run directory: plain data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunPaths {
    /// The directory itself.
    pub root: PathBuf,
    /// `$HOME` of the run.
    pub home: PathBuf,
    /// `$TMPDIR` of the run.
    pub tmp: PathBuf,
    /// `$XDG_CACHE_HOME` of the run.
    pub cache: PathBuf,
    /// Playwright's output directory.
    pub out: PathBuf,
    /// The JSON report.
    pub report: PathBuf,
    /// Our reporter. Playwright compiles a reporter of the project, and keeps a copy of it for each path; what lies in
    /// a `node_modules` it loads as it is.
    pub reporter: PathBuf,
}

impl RunPaths {
    /// The paths of the run directory at `root`, whether or not it exists.
    pub fn beneath(root: &Path) -> Self {
        Self {
            root: root.to_owned(),
            home: root.join("home"),
            tmp: root.join("tmp"),
            cache: root.join("cache"),
            out: root.join("out"),
            report: root.join(RunDir::REPORT),
            reporter: root.join("node_modules/reporter.cjs"),
        }
    }
}

/// The short name of a run directory's `tmp`; it tells nothing of the run's id.
fn short_name(directory: &Path) -> PathBuf {
    let name: String = sha256(directory.as_os_str().as_encoded_bytes()).chars().take(16).collect();
    Path::new("/tmp").join(format!("pw-{name}"))
}

/// Removes the short name if it is one: `/tmp` is everybody's.
fn remove_short_name(directory: &Path) {
    let short = short_name(directory);
    if std::fs::read_link(&short).is_ok_and(|target| target == directory.join("tmp")) {
        // A dangling link leads nowhere; whoever may remove it does.
        drop(std::fs::remove_file(&short));
    }
}

fn make(path: &Path) -> Result<(), RunDirError> {
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(state_error(path))
}

/// Removes a tree. What the run made unreadable is made readable and tried again.
fn remove(path: &Path) -> io::Result<()> {
    let gone = |removed: io::Result<()>| match removed {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    };
    gone(std::fs::remove_dir_all(path)).or_else(|_| {
        open_up(path);
        gone(std::fs::remove_dir_all(path))
    })
}

/// Gives the user his rights back to each directory of a tree, as deep as handles go; links are not followed.
fn open_up(directory: &Path) {
    let permissions = <std::fs::Permissions as std::os::unix::fs::PermissionsExt>::from_mode(0o700);
    drop(std::fs::set_permissions(directory, permissions));
    for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            open_up(&entry.path());
        }
    }
}

fn state_error(path: &Path) -> impl Fn(io::Error) -> RunDirError + '_ {
    move |source| RunDirError::State { path: path.to_owned(), source }
}

fn bytes_beneath(directory: &Path) -> u64 {
    let Ok(entries) = std::fs::read_dir(directory) else { return 0 };
    let of = |entry: std::fs::DirEntry| match entry.metadata() {
        Ok(metadata) if metadata.is_dir() => bytes_beneath(&entry.path()),
        Ok(metadata) => metadata.len(),
        Err(_) => 0,
    };
    entries.flatten().map(of).fold(0, u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_directories_of_dead_servers_are_swept() {
        let root = tempfile::tempdir().unwrap();
        let state = StateDir::open(root.path()).unwrap();
        let alive = RunDir::create(&state, RunId::draw().unwrap()).unwrap();
        let dead = state.runs().join("rdead");
        make(&dead).unwrap();
        let short = short_name(&dead);
        std::os::unix::fs::symlink(dead.join("tmp"), &short).unwrap();
        state.sweep().unwrap();
        assert!(short.symlink_metadata().is_err());
        assert!(alive.paths().out.is_dir());
        assert!(!dead.exists());
        let gone = alive.paths().root;
        drop(alive);
        assert!(!gone.exists());
    }

    #[test]
    fn a_short_name_leaves_room_for_a_socket_and_goes_with_its_directory() {
        let root = tempfile::tempdir().unwrap();
        let state = StateDir::open(root.path()).unwrap();
        let mut run = RunDir::create(&state, RunId::draw().unwrap()).unwrap();
        let long = run.paths().tmp;
        run.shorten_tmp();
        let short = run.paths().tmp;
        assert!(short.as_os_str().len() + 45 <= 107, "{}", short.display());
        std::fs::write(short.join("file"), "").unwrap();
        assert!(long.join("file").exists());
        drop(run);
        assert!(short.symlink_metadata().is_err());
    }
}
