//! What a run left behind: Playwright's report, checked against the run's events; where there is none, the events.
//!
//! In: the run's directory, in which its tests may have put anything. Out: [`Results`]. Playwright writes its report at
//! the end, so a run that was killed has events alone, and these are never the report of a whole run.

use thiserror::Error;

use crate::{
    path::{PathError, RelPath, handle::ContainedFile},
    report::{Report, SourceKind, events, json, outcome::Stats},
    run_dir::RunDir,
    text::chain,
};

/// Why there is no report.
#[derive(Debug, Error)]
pub enum Unread {
    /// It can't be opened.
    #[error(transparent)]
    Unopened(#[from] PathError),
    /// It is none.
    #[error(transparent)]
    Unreadable(#[from] json::ReportError),
}

impl Unread {
    /// Whether the run wrote none.
    pub fn is_missing(&self) -> bool {
        matches!(self, Self::Unopened(PathError::Missing(_)))
    }
}

/// What a run left behind.
#[derive(Debug)]
pub struct Results {
    /// The report, or what the events tell of one.
    pub report: Result<Report, Unread>,
    /// What speaks against the report.
    pub doubt: Option<String>,
}

impl Results {
    /// Reads the report of at most so many bytes, and holds it against the events.
    pub fn read(directory: &RunDir, report_bytes: u64) -> Self {
        let report = report(directory, report_bytes);
        let written = report.as_ref().ok().filter(|report| report.source == SourceKind::Json);
        let doubt = written.and_then(|report| doubt(report, read_events(directory)));
        Self { report, doubt }
    }

    /// Whether the report is a file that others can read too.
    pub fn has_file(&self) -> bool {
        self.report.as_ref().is_ok_and(|report| report.source == SourceKind::Json)
    }
}

/// Reads the report of at most so many bytes; where there is none, makes it of the events.
///
/// # Errors
/// [`Unread`] when there is no report, and nothing in the events.
fn report(directory: &RunDir, report_bytes: u64) -> Result<Report, Unread> {
    read_report(directory, report_bytes).or_else(|why| match read_events(directory) {
        Ok(events) if !(events.tests.is_empty() && events.errors.is_empty()) => Ok(unfinished(events, &why)),
        Ok(_) | Err(_) => Err(why),
    })
}

/// The size of the report that Playwright wrote, if it wrote one, in bytes.
pub fn report_size(directory: &RunDir, bound: u64) -> Option<u64> {
    open(directory, RunDir::REPORT, bound).ok().map(|file| file.bytes())
}

fn read_report(directory: &RunDir, bound: u64) -> Result<Report, Unread> {
    Ok(json::read(open(directory, RunDir::REPORT, bound)?.content())?)
}

/// The events, of which the reader takes no more than it can hold, however many there are.
fn read_events(directory: &RunDir) -> Result<Report, String> {
    let file = open(directory, RunDir::EVENTS, u64::MAX).map_err(|error| chain(&error))?;
    events::read(file.content()).map_err(|error| chain(&error))
}

fn open(directory: &RunDir, name: &str, bound: u64) -> Result<ContainedFile, PathError> {
    directory.dir().open_file(&RelPath::parse(name)?, bound)
}

/// The report that events make, which is never whole: Playwright ends a run that came to its end with a report.
fn unfinished(events: Report, why: &Unread) -> Report {
    let what = if why.is_missing() {
        "Playwright ended before it wrote its report".to_owned()
    } else {
        format!("the report can't be read ({})", chain(why))
    };
    Report { incomplete: Some(format!("{what}; this is what had happened by then")), ..events }
}

/// What the events say against a report.
fn doubt(report: &Report, events: Result<Report, String>) -> Option<String> {
    let why = match events {
        Err(why) | Ok(Report { incomplete: Some(why), .. }) => why,
        Ok(events) if ended(events.stats) == ended(report.stats) => return None,
        Ok(events) => {
            let [passed, failed, flaky, skipped] = ended(events.stats);
            format!("they count {passed} passed, {failed} failed, {flaky} flaky and {skipped} skipped tests")
        }
    };
    Some(format!("the run's events do not confirm its report: {why}"))
}

/// The counts of the tests that came to an end.
fn ended(stats: Stats) -> [u64; 4] {
    [stats.passed, stats.failed, stats.flaky, stats.skipped]
}
