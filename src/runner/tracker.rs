//! Which runs there are: at most one active a project, so many in all, and a bounded history.
//!
//! In: runs that start and end. Out: permits and what is known of past runs. Starting them is left to `handle`.

use std::{
    collections::VecDeque,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::SystemTime,
};

use thiserror::Error;

use crate::run_dir::RunDir;
use crate::run_id::RunId;

/// Why a run can't start now.
#[derive(Debug, Error)]
pub enum Busy {
    /// The project has an active run.
    #[error("run `{0}` is active in this project")]
    Project(RunId),
    /// Too many runs are active.
    #[error("{active} runs are active, as many as the policy allows")]
    Server {
        /// How many.
        active: usize,
    },
}

/// How many runs, and how much of past ones.
#[derive(Clone, Copy, Debug)]
pub struct TrackerLimits {
    /// Active runs in all.
    pub active_runs: u64,
    /// Past runs that are kept.
    pub kept_runs: u64,
    /// Bytes of the past runs' directories.
    pub kept_bytes: u64,
}

/// What is kept of a run that ended; its directory goes when this does.
#[derive(Debug)]
pub struct PastRun {
    /// Its id.
    pub run: RunId,
    /// Its project.
    pub project: PathBuf,
    /// When it ended.
    pub ended: SystemTime,
    /// Its directory, with the report in it.
    pub directory: RunDir,
    /// The places that its answer printed.
    pub printed: Vec<PrintedPlace>,
}

/// A place that an answer printed for a test: that of its error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PrintedPlace {
    /// The file, relative to the project.
    pub file: String,
    /// The line that was printed.
    pub line: u32,
    /// The line at which Playwright knows the test.
    pub declared: u32,
}

impl PastRun {
    /// The line at which the test stands whose error was printed at this one.
    pub fn declared_line(&self, file: &Path, line: u32) -> Option<u32> {
        let printed = |place: &&PrintedPlace| place.line == line && Path::new(&place.file) == file;
        self.printed.iter().find(printed).map(|place| place.declared)
    }
}

/// A run, as the tracker knows it.
#[derive(Debug)]
enum RunState {
    Active { run: RunId, project: PathBuf },
    Ended { past: Arc<PastRun>, bytes: u64 },
}

/// All runs of this server, oldest first.
#[derive(Debug)]
pub struct RunTracker {
    limits: TrackerLimits,
    runs: Mutex<VecDeque<RunState>>,
}

impl RunTracker {
    /// A tracker without runs.
    pub fn new(limits: TrackerLimits) -> Arc<Self> {
        Arc::new(Self { limits, runs: Mutex::default() })
    }

    /// Takes a place for a run, given back when the permit is dropped.
    ///
    /// # Errors
    /// [`Busy`] when the project or the server has no place.
    pub fn begin(self: &Arc<Self>, run: RunId, project: &Path) -> Result<ActiveRun, Busy> {
        let mut runs = self.runs();
        let mut active = 0;
        for state in runs.iter() {
            match state {
                RunState::Active { run, project: busy } if busy == project => {
                    return Err(Busy::Project(*run));
                }
                RunState::Active { .. } => active += 1,
                RunState::Ended { .. } => {}
            }
        }
        if u64::try_from(active).is_ok_and(|active| active >= self.limits.active_runs) {
            return Err(Busy::Server { active });
        }
        runs.push_back(RunState::Active { run, project: project.to_owned() });
        Ok(ActiveRun { tracker: Arc::clone(self), run })
    }

    /// The past run of a project: the one with this id, or the last.
    pub fn past(&self, project: &Path, run: Option<RunId>) -> Option<Arc<PastRun>> {
        let fits = |past: &PastRun| past.project == project && run.is_none_or(|run| run == past.run);
        self.runs().iter().rev().find_map(|state| match state {
            RunState::Ended { past, .. } if fits(past) => Some(Arc::clone(past)),
            RunState::Ended { .. } | RunState::Active { .. } => None,
        })
    }

    fn keep(&self, past: PastRun) -> Arc<PastRun> {
        let bytes = past.directory.bytes();
        let past = Arc::new(past);
        let mut runs = self.runs();
        runs.push_back(RunState::Ended { past: Arc::clone(&past), bytes });
        let mut kept = (0_u64, 0_u64);
        let mut index = runs.len();
        let mut forgotten = Vec::new();
        while let Some(earlier) = index.checked_sub(1) {
            index = earlier;
            let Some(RunState::Ended { bytes, .. }) = runs.get(index) else { continue };
            let newest = kept.0 == 0;
            kept = (kept.0 + 1, kept.1.saturating_add(*bytes));
            if !newest && (kept.0 > self.limits.kept_runs || kept.1 > self.limits.kept_bytes) {
                forgotten.extend(runs.remove(index));
            }
        }
        drop(runs);
        // Directories are removed outside the lock.
        drop(forgotten);
        past
    }

    fn runs(&self) -> MutexGuard<'_, VecDeque<RunState>> {
        self.runs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The place of a run that is active.
#[derive(Debug)]
#[must_use = "dropping it gives the place back"]
pub struct ActiveRun {
    tracker: Arc<RunTracker>,
    run: RunId,
}

impl ActiveRun {
    /// The run's id.
    pub fn run(&self) -> RunId {
        self.run
    }

    /// Gives the place back and keeps the run's directory in the history.
    pub fn end(self, project: &Path, directory: RunDir, printed: Vec<PrintedPlace>) -> Arc<PastRun> {
        let tracker = Arc::clone(&self.tracker);
        let (run, project) = (self.run, project.to_owned());
        let past = PastRun { run, project, ended: SystemTime::now(), directory, printed };
        drop(self);
        tracker.keep(past)
    }
}

impl Drop for ActiveRun {
    fn drop(&mut self) {
        let this = self.run;
        self.tracker.runs().retain(|state| match state {
            RunState::Active { run, .. } => *run != this,
            RunState::Ended { .. } => true,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run_dir::StateDir;

    fn limits(active_runs: u64, kept_runs: u64) -> TrackerLimits {
        TrackerLimits { active_runs, kept_runs, kept_bytes: u64::MAX }
    }

    #[test]
    fn a_project_has_one_active_run_and_the_server_so_many() {
        let tracker = RunTracker::new(limits(2, 9));
        let begin = |project: &str| tracker.begin(RunId::draw().unwrap(), Path::new(project));
        let first = begin("/a").unwrap();
        assert!(matches!(begin("/a"), Err(Busy::Project(run)) if run == first.run()));
        let second = begin("/b").unwrap();
        assert!(matches!(begin("/c"), Err(Busy::Server { active: 2 })));
        drop(first);
        drop((begin("/a").unwrap(), second));
    }

    #[test]
    fn the_oldest_runs_are_forgotten_with_their_directories() {
        let root = tempfile::tempdir().unwrap();
        let state = StateDir::open(root.path()).unwrap();
        let tracker = RunTracker::new(limits(9, 2));
        let project = Path::new("/a");
        let run = || {
            let run = RunId::draw().unwrap();
            let directory = RunDir::create(&state, run).unwrap();
            let active = tracker.begin(run, project).unwrap();
            active.end(project, directory, Vec::new()).run
        };
        let (first, second, third) = (run(), run(), run());
        assert!(tracker.past(project, Some(first)).is_none());
        assert!(tracker.past(project, Some(second)).is_some());
        assert_eq!(tracker.past(project, None).unwrap().run, third);
        assert!(tracker.past(Path::new("/b"), Some(third)).is_none());
        assert_eq!(std::fs::read_dir(root.path().join("runs")).unwrap().count(), 2);
    }
}
