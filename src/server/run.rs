//! `run_tests`: from a parsed request to what an agent needs to know of the run.

use std::{path::Path, time::Duration};

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use crate::{
    gate::RunGrant,
    install::Installation,
    path::{PathError, RelPath},
    policy::{
        confinement::UnixSockets,
        request::run_tests::{IncludeTests, RunTests},
    },
    report::{Report, TestCase, failure::stack::without_foreign_frames, json::read},
    run_dir::{RunDir, RunId},
    runner::{
        command::invocation,
        handle::{Prepared, RunOutcome},
        spec::Filter,
        supervision::{StopReason, Stopped},
        tracker::{PastRun, PrintedPlace},
    },
    sandbox::{Enforcement, Level, Plan, plan::Places, refusal},
    server::{
        Warden,
        answer::{
            Answer, ErrorCode, ToolError, ToolResult, chain,
            failures::{Detail, ErrorAnswer, StatsAnswer, Teller, TestAnswer},
            fit::{self, Caps},
            refusals,
        },
        secrets,
    },
    text::{self, redactor::Redactor},
};

/// The answer of `run_tests`.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunAnswer {
    /// Exit status 0, at least one test ran, and nothing failed, was interrupted or left out.
    ok: bool,
    /// completed, failed, timedOut or cancelled.
    state: &'static str,
    run_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "i32", default)]
    exit_code: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "i32", default)]
    signal: Option<i32>,
    duration_ms: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "StatsAnswer", default)]
    stats: Option<StatsAnswer>,
    /// What failed outside any test: config, setup, web server, no tests found.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(default)]
    errors: Vec<ErrorAnswer>,
    tests: Vec<TestAnswer>,
    /// Tests that found no place in this answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u64", default)]
    omitted: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", default)]
    output_tail: Option<String>,
    /// What the sandbox refused, with the policy key.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(default)]
    hints: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", default)]
    results_file: Option<String>,
    sandbox: SandboxAnswer,
    /// What to call next.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", default)]
    next: Option<String>,
}

/// How the run was confined.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct SandboxAnswer {
    /// full, partial or absent.
    level: &'static str,
    /// What the policy asks and this system can't enforce.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(default)]
    missing: Vec<&'static str>,
}

impl SandboxAnswer {
    fn of(enforcement: Option<&Enforcement>) -> Self {
        let level = match enforcement.map(|holds| holds.level) {
            Some(Level::Full) => "full",
            Some(Level::Partial) => "partial",
            Some(Level::Absent) | None => "absent",
        };
        let missing = enforcement.map_or(&[][..], |holds| &holds.missing);
        Self { level, missing: missing.iter().map(|feature| feature.name()).collect() }
    }
}

/// Runs a project's tests and waits for the end; `stop` ends the run before it.
///
/// # Errors
/// [`ToolError`] for what keeps the run from starting, and for a run that timed out.
pub async fn run_tests(warden: &Warden, request: RunTests, stop: &CancellationToken) -> ToolResult {
    let include = request.include;
    let spec = request.spec.clone();
    let grant = warden.gate.admit_run(request).map_err(refusals::refused)?;
    let project = grant.project().path().to_owned();
    let run = RunId::draw().map_err(|error| ToolError::internal(&error))?;
    let active = warden.tracker.begin(run, &project).map_err(|busy| refusals::busy(&busy))?;
    let last = warden.tracker.past(&project, None);
    let declared = |file: &RelPath, line| last.as_ref()?.declared_line(file.as_path(), line);
    let filter = spec.map(|spec| Filter::resolve(&spec, grant.project(), declared)).transpose();
    let filter = filter.map_err(|error| refusals::no_spec(&error))?;
    let redactor =
        secrets::redactor(grant.project(), &warden.environment, &grant.terms().env, &grant.terms().set)?;
    let prepared = prepare(warden, &grant, run, filter.as_ref())?;
    let (decision, timeout) = (grant.decision(), grant.terms().timeout);
    let (plan, paths) = (prepared.plan.clone(), prepared.directory.paths());
    let handle = warden.runner.start(grant, prepared).await;
    let ended = match handle {
        Ok(handle) => handle.end(stop.cancelled()).await,
        Err(error) => Err(error),
    };
    let recorded = match &ended {
        Ok(outcome) => {
            let level = SandboxAnswer::of(outcome.enforcement.as_ref()).level;
            warden.gate.record_end(
                decision,
                word(&outcome.stopped),
                outcome.stopped.exit_code,
                Some(level.to_owned()),
            )
        }
        Err(_) => warden.gate.record_end(decision, "not_run", None, None),
    };
    recorded.map_err(|error| ToolError::internal(&error))?;
    let RunOutcome { grant, directory, enforcement, stopped } = ended.map_err(refusals::failed)?;
    let report = read_report(&directory, grant.terms().report_bytes()).await;
    let printed = report.as_ref().map(|report| printed_places(report, &project)).unwrap_or_default();
    let past = active.end(&project, directory, printed);
    let told = Told {
        past: &past,
        project: &project,
        launch: warden.launch.path(),
        stopped: &stopped,
        report: &report,
        redactor: &redactor,
        plan: &plan,
        include,
        sandbox: SandboxAnswer::of(enforcement.as_ref()),
        results_file: report.is_ok().then(|| paths.report.display().to_string()),
    };
    let answer = Answer::from_json(fit::within(grant.terms().answer_bytes(), |caps| told.answer(caps)));
    if stopped.reason == StopReason::TimedOut {
        return Err(timed_out(timeout, answer));
    }
    Ok(answer)
}

fn prepare(
    warden: &Warden,
    grant: &RunGrant,
    run: RunId,
    filter: Option<&Filter>,
) -> Result<Prepared, ToolError> {
    let internal = |error: &dyn std::error::Error| ToolError::internal(error);
    let installation =
        Installation::find(grant.project(), warden.environment.get("PATH").unwrap_or_default())
            .map_err(|error| refusals::not_installed(&error))?;
    let mut directory = RunDir::create(&warden.state, run).map_err(|error| internal(&error))?;
    if grant.terms().sandbox.unix_sockets == UnixSockets::Allow {
        directory.shorten_tmp();
    }
    let cache = warden.state.transform_cache(grant.project().path()).map_err(|error| internal(&error))?;
    let paths = directory.paths();
    let places = Places {
        project: grant.project(),
        installation: &installation,
        run: &paths,
        transform_cache: &cache,
        home: &warden.home,
    };
    let plan = Plan::of(grant.terms(), places).map_err(|error| refusals::no_plan(&error))?;
    let invocation = invocation(grant.terms(), filter, places, &warden.environment)
        .map_err(|error| ToolError::new(ErrorCode::InvalidArguments, error.to_string()))?;
    Ok(Prepared { invocation, plan, directory })
}

/// The run's own report, or why it can't be read; a run may have left anything in its place.
async fn read_report(directory: &RunDir, bound: u64) -> Result<Report, String> {
    let name = RelPath::parse(RunDir::REPORT).map_err(|error| error.to_string())?;
    let file = match directory.dir().open_file(&name, bound) {
        Err(PathError::Missing(_)) => return Err(String::new()),
        other => other.map_err(|error| chain(&error))?,
    };
    let reading = tokio::task::spawn_blocking(move || read(file.content()).map_err(|error| chain(&error)));
    reading.await.map_err(|error| error.to_string())?
}

/// The places of errors that an answer may print, so that they are understood when they come back as a spec.
fn printed_places(report: &Report, project: &Path) -> Vec<PrintedPlace> {
    let mut places = Vec::new();
    for test in report.tests.iter().filter(|test| test.outcome.has_failures()) {
        let file = report.file_in(project, test);
        for failure in test.attempts.iter().flat_map(|attempt| &attempt.failures) {
            let here = failure.location.as_ref().filter(|place| place.file.relative_to(project) == *file);
            let place = here.filter(|place| place.line != test.line);
            places.extend(place.map(|place| PrintedPlace {
                file: file.to_string(),
                line: place.line,
                declared: test.line,
            }));
        }
    }
    places
}

/// All that an answer is made from.
struct Told<'run> {
    past: &'run PastRun,
    project: &'run Path,
    launch: &'run Path,
    stopped: &'run Stopped,
    report: &'run Result<Report, String>,
    redactor: &'run Redactor,
    plan: &'run Plan,
    include: IncludeTests,
    sandbox: SandboxAnswer,
    results_file: Option<String>,
}

impl Told<'_> {
    fn answer(&self, caps: Caps) -> RunAnswer {
        let (stats, mut errors, tests, selected) = match self.report {
            Ok(report) => {
                let teller = Teller::new(report, self.project, self.redactor);
                let selected = self.select(report);
                let tests = teller.tests(&selected, Detail::Brief, caps);
                (Some(StatsAnswer::from(report.stats)), teller.errors(caps), tests, selected.len())
            }
            Err(_) => (None, Vec::new(), Vec::new(), 0),
        };
        errors.extend(self.unreported(caps));
        let omitted = selected.checked_sub(tests.len()).filter(|omitted| *omitted > 0);
        let output_tail = if errors.is_empty() { None } else { self.output_tail(caps) };
        RunAnswer {
            ok: self.is_ok(),
            state: word(self.stopped),
            run_id: self.past.run.to_string(),
            exit_code: self.stopped.exit_code,
            signal: self.stopped.signal,
            duration_ms: self.stopped.duration_ms,
            stats,
            next: self.next(omitted, tests.len()),
            errors,
            tests,
            omitted,
            output_tail,
            hints: self.hints(),
            results_file: self.results_file.clone(),
            sandbox: self.sandbox.clone(),
        }
    }

    fn select<'report>(&self, report: &'report Report) -> Vec<&'report TestCase> {
        let wanted = |test: &&TestCase| self.include == IncludeTests::All || test.outcome.has_failures();
        report.tests.iter().filter(wanted).collect()
    }

    /// Green only if nothing speaks against it: a run that was cut short looks green in Playwright's report.
    fn is_ok(&self) -> bool {
        let report = self.report.as_ref().ok();
        report.is_some_and(|report| {
            let stats = report.stats;
            let unfinished = stats.failed + stats.interrupted + stats.did_not_run;
            let clean = unfinished == 0 && report.errors.is_empty() && report.incomplete.is_none();
            clean && stats.passed + stats.flaky > 0 && self.stopped.exit_code == Some(0)
        })
    }

    /// What went wrong with the report itself: Playwright writes none when the config does not load.
    fn unreported(&self, caps: Caps) -> Option<ErrorAnswer> {
        let message = match self.report {
            Ok(report) => format!("the run's report is incomplete: {}", report.incomplete.as_ref()?),
            Err(reason) if !reason.is_empty() => format!("the run's report can't be read: {reason}"),
            Err(_) => {
                self.complaint().unwrap_or_else(|| "Playwright wrote no report and no output".to_owned())
            }
        };
        Some(ErrorAnswer {
            message: text::keep_tail(&message, caps.message).into_owned(),
            at: None,
            code: None,
        })
    }

    /// What was said instead of a report.
    fn complaint(&self) -> Option<String> {
        let missing = self.report.as_ref().is_err_and(String::is_empty);
        let said = [&self.stopped.stderr, &self.stopped.stdout].map(|tail| self.output(&tail.text));
        said.into_iter().find(|said| missing && !said.is_empty())
    }

    fn output_tail(&self, caps: Caps) -> Option<String> {
        let tails = [&self.stopped.stdout, &self.stopped.stderr].map(|tail| self.output(&tail.text));
        let told = self.complaint();
        let news = tails.into_iter().filter(|tail| !tail.is_empty() && told.as_ref() != Some(tail));
        let tail = news.collect::<Vec<_>>().join("\n");
        (!tail.is_empty() && caps.output > 0).then(|| text::keep_tail(&tail, 2 * caps.output).into_owned())
    }

    fn output(&self, raw: &str) -> String {
        self.redactor.redact(without_foreign_frames(&text::printable(raw)).trim()).into_owned()
    }

    fn hints(&self) -> Vec<String> {
        let report = self.report.as_ref().ok();
        let failures = report.into_iter().flat_map(|report| {
            let attempts = report.tests.iter().flat_map(|test| &test.attempts);
            attempts.flat_map(|attempt| &attempt.failures).chain(&report.errors)
        });
        let texts = failures.map(|failure| failure.message.as_str());
        let outputs = [self.stopped.stdout.text.as_str(), self.stopped.stderr.text.as_str()];
        let hints = refusal::hints(self.plan, self.project, texts.chain(outputs));
        hints.iter().map(|hint| self.output(hint)).collect()
    }

    /// The arguments of a next call: in the same project, unless it is the default one.
    fn with_directory(&self, arguments: Value) -> Value {
        let mut all = Map::new();
        if self.project != self.launch {
            let directory = self.project.strip_prefix(self.launch).unwrap_or(self.project);
            all.insert("workingDirectory".to_owned(), json!(directory.display().to_string()));
        }
        if let Value::Object(arguments) = arguments {
            all.extend(arguments);
        }
        Value::Object(all)
    }

    fn next(&self, omitted: Option<usize>, told: usize) -> Option<String> {
        if let Some(omitted) = omitted {
            let page = json!({ "runId": self.past.run.to_string(), "cursor": told.to_string() });
            let arguments = self.with_directory(page);
            return Some(format!("get_failed_tests {arguments} for the other {omitted}"));
        }
        let report = self.report.as_ref().ok()?;
        let first = report.tests.iter().find(|test| test.outcome.has_failures())?;
        let spec = format!("{}:{}", report.file_in(self.project, first), first.line);
        Some(format!("run_tests {} after the fix", self.with_directory(json!({ "spec": spec }))))
    }
}

fn word(stopped: &Stopped) -> &'static str {
    match stopped.reason {
        StopReason::TimedOut => "timedOut",
        StopReason::Ordered => "cancelled",
        StopReason::Exited if stopped.exit_code == Some(0) => "completed",
        StopReason::Exited => "failed",
    }
}

fn timed_out(timeout: Duration, answer: Answer) -> ToolError {
    let message = format!("the run took longer than its timeout of {} ms and was ended", timeout.as_millis());
    let mut error = ToolError::new(ErrorCode::RunTimedOut, message);
    error.hint = Some("run fewer tests at a time (spec, project, tag), or pass a larger timeout".to_owned());
    error.result = Some(answer.into_value());
    error
}
