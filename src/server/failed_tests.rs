//! `get_failed_tests`: the failures of a project's last run, of a run by its id, or of its results file.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    time::{Instant, SystemTime},
};

use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    audit::record::{Call, Ended},
    gate::ReadGrant,
    path::{
        PathError, RelPath,
        handle::{ContainedFile, DirHandle},
        project::ProjectDir,
    },
    policy::{
        decision::ReadTerms,
        request::failed_tests::{GetFailedTests, IncludeOutcomes},
    },
    report::{Report, TestCase, json::read, outcome::Outcome},
    run_id::RunId,
    runner::tracker::PastRun,
    server::{
        Warden,
        answer::{
            Answer, ErrorCode, ToolError, ToolResult,
            failures::{Detail, ErrorAnswer, StatsAnswer, Teller, TestAnswer},
            fit::{self, Caps},
            refusals,
        },
        run::results::{self, Results, Unread},
        secrets,
    },
    text::redactor::Redactor,
};

/// Where a project's config writes its results when it follows the usual advice.
const RESULTS_FILE: &str = "test-results/results.json";

/// The answer of `get_failed_tests`.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FailedTestsAnswer {
    failed_count: u64,
    flaky_count: u64,
    stats: StatsAnswer,
    source: SourceAnswer,
    /// What failed outside any test: config, setup, web server, no tests found.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(default)]
    errors: Vec<ErrorAnswer>,
    tests: Vec<TestAnswer>,
    /// Why there may be more than this.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", default)]
    incomplete: Option<String>,
    /// Pass it to get the tests after these.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", default)]
    cursor: Option<String>,
}

/// What was read.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SourceAnswer {
    /// run, or file for a report that something else wrote.
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", default)]
    run_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", default)]
    path: Option<String>,
    finished_at: String,
    age_seconds: u64,
}

/// Tells the failures of one report.
///
/// # Errors
/// [`ToolError`] when there is no report, or it can't be read.
pub fn get_failed_tests(warden: &Warden, request: GetFailedTests, call: Call) -> ToolResult {
    let GetFailedTests { include, limit, cursor, run_id, .. } = request;
    let began = Instant::now();
    let grant = warden.gate.admit_read(request, call).map_err(refusals::refused)?;
    let mut ended = Ended { outcome: "answered", ..Ended::default() };
    let found = match run_id {
        Some(run) => of_run(warden, &grant, run),
        None => latest(warden, &grant),
    };
    let answered = found.and_then(|found| {
        ended.run.clone_from(&found.source.run_id);
        ended.report_bytes = found.bytes;
        tell(warden, &grant, found, Wanted { include, limit, cursor })
    });
    if let Err(error) = &answered {
        ended.outcome = "failed";
        ended.error = Some(error.code.name());
    }
    ended.duration_ms = u64::try_from(began.elapsed().as_millis()).ok();
    warden.gate.record_end(grant.decision(), ended);
    answered
}

/// Which tests are told.
#[derive(Clone, Copy, Debug)]
struct Wanted {
    include: IncludeOutcomes,
    limit: Option<u64>,
    cursor: u64,
}

fn tell(warden: &Warden, grant: &ReadGrant, found: Found, wanted: Wanted) -> ToolResult {
    let project = grant.project().path();
    let redactor =
        secrets::redactor(grant.project(), &warden.environment, &grant.terms().env, &BTreeMap::new())?;
    refuse_foreign(&found.report, project)?;
    let told = Told { report: &found.report, project, redactor: &redactor, source: found.source, wanted };
    Ok(Answer::from_json(fit::within(grant.terms().answer_bytes(), |caps| told.answer(caps))))
}

/// A report, and what an answer says of it.
struct Found {
    source: SourceAnswer,
    report: Report,
    /// The size of its file, if it has one.
    bytes: Option<u64>,
}

/// The report of a run that this server made in this project; an unknown id and another project's are answered alike.
fn of_run(warden: &Warden, grant: &ReadGrant, run: RunId) -> Result<Found, ToolError> {
    let past = warden.tracker.past(grant.project().path(), Some(run)).ok_or_else(|| {
        let hint = "leave runId out for the project's last results, or run the tests again";
        ToolError::new(ErrorCode::RunNotFound, "no run of this project has this id").with_hint(hint)
    })?;
    read_run(&past, grant)
}

fn read_run(past: &PastRun, grant: &ReadGrant) -> Result<Found, ToolError> {
    let bound = grant.terms().report_bytes();
    let Results { report, doubt } = Results::read(&past.directory, bound);
    let mut report = report.map_err(|why| match why {
        Unread::Unopened(error) => refusals::unopened_of_run(&error),
        Unread::Unreadable(error) => refusals::unreadable(&error),
    })?;
    report.incomplete = report.incomplete.or(doubt);
    let mut source = SourceAnswer::finished(past.ended);
    source.run_id = Some(past.run.to_string());
    Ok(Found { source, report, bytes: results::report_size(&past.directory, bound) })
}

/// The later-finished of the project's last run and its results file.
fn latest(warden: &Warden, grant: &ReadGrant) -> Result<Found, ToolError> {
    let past = warden.tracker.past(grant.project().path(), None);
    let file = open_results_file(grant.project(), grant.terms());
    match (past, file) {
        // A time that is still to come was set by hand.
        (Some(past), Ok(file)) if (past.ended..SystemTime::now()).contains(&file.1.modified()) => {
            read_file(file)
        }
        // A run that left no report has no failures to tell, but an older file would be a wrong answer.
        (Some(past), Ok(_) | Err(_)) => read_run(&past, grant),
        (None, file) => read_file(file?),
    }
}

fn read_file((source, file): (SourceAnswer, ContainedFile)) -> Result<Found, ToolError> {
    let report = read(file.content()).map_err(|error| refusals::unreadable(&error))?;
    Ok(Found { source, report, bytes: Some(file.bytes()) })
}

/// Opens the results file of a project, and reads nothing of it yet.
///
/// # Errors
/// [`ToolError`] when there is none, or it can't be opened.
pub fn open_results_file(
    project: &ProjectDir,
    terms: &ReadTerms,
) -> Result<(SourceAnswer, ContainedFile), ToolError> {
    let bound = terms.report_bytes();
    let path = results_file(project, terms);
    let file = if terms.results_file.is_some() {
        open_absolute(&path, bound)
    } else {
        RelPath::parse(RESULTS_FILE).and_then(|name| project.dir().open_file(&name, bound))
    };
    let file = file.map_err(|error| refusals::unopened(&error))?;
    let mut source = SourceAnswer::finished(file.modified());
    source.kind = "file";
    source.path = Some(path.strip_prefix(project.path()).unwrap_or(&path).display().to_string());
    Ok((source, file))
}

/// Where the results file of a project is: as `PW_RESULTS_FILE` says, else where most configs write it.
pub fn results_file(project: &ProjectDir, terms: &ReadTerms) -> PathBuf {
    terms.results_file.clone().unwrap_or_else(|| project.path().join(RESULTS_FILE))
}

fn open_absolute(path: &Path, bound: u64) -> Result<ContainedFile, PathError> {
    let missing = || PathError::Missing(path.to_owned());
    let parent = path.parent().ok_or_else(missing)?;
    let directory = DirHandle::open(parent)?;
    // The name was canonical when the policy was read: a link that came since leads elsewhere.
    if directory.path() != parent {
        return Err(PathError::Escapes(path.to_owned()));
    }
    let name = path.file_name().and_then(|name| name.to_str()).ok_or_else(missing)?;
    directory.open_file(&RelPath::parse(name)?, bound)
}

/// A results file may be shared by several projects; the failures of another one are no answer.
fn refuse_foreign(report: &Report, project: &Path) -> Result<(), ToolError> {
    let config = report.config_file.as_ref().and_then(|config| config.as_path().parent());
    let local = config
        .filter(|directory| directory.is_absolute())
        .and_then(|directory| DirHandle::open(directory).ok());
    match local {
        Some(other) if !other.path().starts_with(project) => {
            let message = "the results file is of another project";
            let hint =
                "run this project's tests with run_tests, or pass the other project as workingDirectory";
            Err(ToolError::new(ErrorCode::ReportUnreadable, message).with_hint(hint))
        }
        Some(_) | None => Ok(()),
    }
}

impl SourceAnswer {
    fn finished(at: SystemTime) -> Self {
        Self {
            kind: "run",
            run_id: None,
            path: None,
            finished_at: humantime::format_rfc3339_seconds(at).to_string(),
            age_seconds: SystemTime::now().duration_since(at).unwrap_or_default().as_secs(),
        }
    }
}

/// All that an answer is made from.
struct Told<'report> {
    report: &'report Report,
    project: &'report Path,
    redactor: &'report Redactor,
    source: SourceAnswer,
    wanted: Wanted,
}

impl Told<'_> {
    fn answer(&self, caps: Caps) -> FailedTestsAnswer {
        let teller = Teller::new(self.report, self.project, self.redactor);
        let wanted = |test: &&TestCase| match self.wanted.include {
            IncludeOutcomes::Failed => matches!(test.outcome, Outcome::Failed | Outcome::Interrupted),
            IncludeOutcomes::Flaky => test.outcome == Outcome::Flaky,
            IncludeOutcomes::All => true,
        };
        let passed_over = usize::try_from(self.wanted.cursor).unwrap_or(usize::MAX);
        let limit = self.wanted.limit.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(usize::MAX);
        let rest: Vec<&TestCase> = self.report.tests.iter().filter(wanted).skip(passed_over).collect();
        let page: Vec<&TestCase> = rest.iter().copied().take(limit).collect();
        let tests = teller.tests(&page, Detail::Whole, caps);
        let more = !tests.is_empty() && tests.len() < rest.len();
        let cursor = more.then(|| (passed_over + tests.len()).to_string());
        FailedTestsAnswer {
            failed_count: self.report.stats.failed,
            flaky_count: self.report.stats.flaky,
            stats: self.report.stats.into(),
            source: self.source.clone(),
            errors: teller.errors(caps),
            tests,
            incomplete: self.report.incomplete.clone(),
            cursor,
        }
    }
}
