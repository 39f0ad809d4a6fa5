//! What a run left behind: the model of a report, free of any format.
//!
//! In: what a reader of one format (`json`, …) collected. Out: plain data with Playwright's terms, all texts printable and
//! bounded. Splitting error texts is left to `failure`, judging and counting to `outcome`, reading to the formats.

use std::borrow::Cow;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

use crate::report::failure::Failure;
use crate::report::location::ReportedPath;
use crate::report::outcome::{Outcome, Stats};
use crate::text::printable;

/// The events of the reporter that comes with this program.
pub mod events;
/// Error texts taken apart.
pub mod failure;
/// Playwright's JSON report.
pub mod json;
/// Paths as a report names them, made relative to a project.
pub mod location;
/// What became of a test, and the counts.
pub mod outcome;
/// Ids as short as they can be.
pub mod short_id;

/// The most bytes kept of a short text: a title, a name, a tag, a file.
pub const MAX_NAME_BYTES: usize = 2 << 10;
/// The most bytes kept of each of an attempt's two output streams: the last ones.
pub const MAX_OUTPUT_BYTES: usize = 8 << 10;
/// The most bytes kept of each output stream of a test that did not fail.
pub const MAX_QUIET_OUTPUT_BYTES: usize = 2 << 10;
/// How many tests that ran and did not fail keep their output: the first ones.
pub const MAX_QUIET_OUTPUTS: usize = 32;
/// The most failures kept of an attempt, and of a run outside its tests.
pub const MAX_FAILURES: usize = 100;
/// The most attachments, annotations or tags kept of an attempt or a test.
pub const MAX_ITEMS: usize = 200;

/// The format a report came in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SourceKind {
    /// The events of the reporter that comes with this program.
    Events,
    /// The file of Playwright's `json` reporter.
    Json,
    /// A zip of Playwright's `blob` reporter, or several.
    Blob,
    /// The page of Playwright's `html` reporter.
    Html,
}

/// One run's results.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// The format it came in.
    pub source: SourceKind,
    /// The config file of the run.
    pub config_file: Option<ReportedPath>,
    /// The directory that [`TestCase::file`] is relative to.
    pub root_dir: Option<ReportedPath>,
    /// The version of Playwright.
    pub version: Option<String>,
    /// The projects of the config.
    pub projects: Vec<ReportedProject>,
    /// Which part of the tests this is, if the run was sharded.
    pub shard: Option<Shard>,
    /// What failed outside any test: files that do not load, global setup, the web server, "no tests found";
    /// the first [`MAX_FAILURES`].
    pub errors: Vec<Failure>,
    /// Each test of each project and repetition, in the report's order.
    pub tests: Vec<TestCase>,
    /// The counts of `tests`.
    pub stats: Stats,
    /// When the run started, as the report writes it (ISO 8601).
    pub start_time: Option<String>,
    /// How long the run took, in milliseconds.
    pub duration_ms: Option<u64>,
    /// Why there may be more than this: what ended the reading, and where. Holds nothing of the file's content.
    pub incomplete: Option<String>,
}

impl Report {
    /// Makes a report of a format that holds nothing yet.
    pub fn empty(source: SourceKind) -> Self {
        Self {
            source,
            config_file: None,
            root_dir: None,
            version: None,
            projects: Vec::new(),
            shard: None,
            errors: Vec::new(),
            tests: Vec::new(),
            stats: Stats::default(),
            start_time: None,
            duration_ms: None,
            incomplete: None,
        }
    }

    /// Gives the path of a test's file relative to a project directory; `../x` for one outside of it.
    pub fn file_in<'t>(&self, project_dir: &Path, test: &'t TestCase) -> Cow<'t, str> {
        match &self.root_dir {
            Some(root) => Cow::Owned(root.join(&test.file).relative_to(project_dir)),
            None => Cow::Borrowed(&test.file),
        }
    }
}

/// A project of a Playwright config.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReportedProject {
    /// Its name; often empty.
    pub name: String,
    /// Where its tests write their artifacts.
    pub output_dir: Option<ReportedPath>,
    /// Where its tests are.
    pub test_dir: Option<ReportedPath>,
}

/// One of the parts a run was split into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    /// The number of this part, from 1.
    pub current: u32,
    /// How many parts there are.
    pub total: u32,
}

/// A test in one project and one repetition.
#[derive(Clone, Debug, PartialEq)]
pub struct TestCase {
    /// Playwright's id; empty where the file was cut before it. In a JSON report the tests of several projects may
    /// share the first one's id: the key is `id`, `project` and `repeat`.
    pub id: Arc<str>,
    /// The titles of the describes around it, from the outermost; an anonymous one is empty.
    pub describes: Arc<[String]>,
    /// Its own title.
    pub title: Arc<str>,
    /// Its file, relative to [`Report::root_dir`], with `/`; may start with `../`.
    pub file: Arc<str>,
    /// Its line, from 1; 0 where unknown.
    pub line: u32,
    /// Its column, from 1; 0 where unknown. Differs between versions of Playwright: no key.
    pub column: u32,
    /// The name of its project; often empty.
    pub project: Arc<str>,
    /// Which repetition of the same test in the same project this is, from 0.
    pub repeat: u32,
    /// Its tags, without `@`.
    pub tags: Arc<[String]>,
    /// Its annotations: skip, fixme, fail, slow, issue, ….
    pub annotations: Vec<Annotation>,
    /// What each attempt was expected to do.
    pub expected: AttemptStatus,
    /// What became of it.
    pub outcome: Outcome,
    /// Its attempts, the first one first; empty where it did not run.
    pub attempts: Vec<Attempt>,
}

impl TestCase {
    /// Writes the titles of the describes and the test in one line: `checkout › pays by card`.
    pub fn title_path(&self) -> String {
        let mut path = String::new();
        for title in self.describes.iter().filter(|title| !title.is_empty()) {
            path.push_str(title);
            path.push_str(" › ");
        }
        path.push_str(&self.title);
        path
    }

    /// Lets go of what only a failing test needs; its output goes as well where it is not wanted.
    pub fn slim(&mut self, output: QuietOutput) {
        for attempt in &mut self.attempts {
            attempt.failures = Vec::new();
            for stream in [&mut attempt.stdout, &mut attempt.stderr] {
                match output {
                    QuietOutput::Drop => *stream = Output::default(),
                    QuietOutput::Keep => stream.shorten(MAX_QUIET_OUTPUT_BYTES),
                }
            }
        }
    }
}

/// What becomes of the output of a test that did not fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QuietOutput {
    /// Its last [`MAX_QUIET_OUTPUT_BYTES`] stay.
    Keep,
    /// It goes.
    Drop,
}

/// A note on a test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Annotation {
    /// Its type, such as `skip` or `issue`.
    pub kind: String,
    /// Its text.
    pub description: Option<String>,
}

/// How one attempt ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AttemptStatus {
    /// It passed.
    Passed,
    /// It failed.
    Failed,
    /// Its time was up.
    TimedOut,
    /// It was skipped.
    Skipped,
    /// It was running when the run was stopped.
    Interrupted,
    /// A status that this version does not know, as written.
    Other(String),
}

impl AttemptStatus {
    /// Reads Playwright's word for a status.
    pub fn parse(word: &str) -> Self {
        match word {
            "passed" => Self::Passed,
            "failed" => Self::Failed,
            "timedOut" => Self::TimedOut,
            "skipped" => Self::Skipped,
            "interrupted" => Self::Interrupted,
            other => Self::Other(crate::text::cut_end(&printable(other), 64).into_owned()),
        }
    }

    /// Gives Playwright's word for the status.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Passed => "passed",
            Self::Failed => "failed",
            Self::TimedOut => "timedOut",
            Self::Skipped => "skipped",
            Self::Interrupted => "interrupted",
            Self::Other(word) => word,
        }
    }
}

impl fmt::Display for AttemptStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// One attempt at a test; a retry is one more.
#[derive(Clone, Debug, PartialEq)]
pub struct Attempt {
    /// How it ended.
    pub status: AttemptStatus,
    /// Which retry it was, from 0.
    pub retry: u32,
    /// How long it took, in milliseconds.
    pub duration_ms: u64,
    /// What went wrong, in the order it did; the first [`MAX_FAILURES`].
    pub failures: Vec<Failure>,
    /// The end of what it wrote to standard output.
    pub stdout: Output,
    /// The end of what it wrote to standard error.
    pub stderr: Output,
    /// What it attached; the first [`MAX_ITEMS`].
    pub attachments: Vec<Attachment>,
    /// The step that never ended, with the steps around it: `log in › wait for the cart`.
    pub hung_step: Option<String>,
}

/// The end of what a process wrote.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Output {
    /// The text, printable.
    pub text: String,
    /// How many bytes came before it and were not kept, about: escape sequences count.
    pub dropped_bytes: u64,
}

impl Output {
    /// Drops all but the last `max` bytes.
    fn shorten(&mut self, max: usize) {
        let tail = crate::text::tail(&self.text, max);
        if tail.len() < self.text.len() {
            self.dropped_bytes += (self.text.len() - tail.len()) as u64;
            self.text = tail.to_owned();
        }
    }
}

/// A file or a text that a test attached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attachment {
    /// Its name: free text, may repeat.
    pub name: String,
    /// Its type as the test says, such as `image/png`; may be nonsense.
    pub content_type: String,
    /// Where the file was; may be relative, missing or anywhere. To open it is left to containment.
    pub path: Option<ReportedPath>,
    /// How long the body is that the report itself holds, in bytes; the body is not kept.
    pub body_bytes: Option<u64>,
}
