//! `run_tests`: the way of a call, from a parsed request to its answer.

pub mod answer;
pub mod results;

use std::{path::Path, sync::Arc, time::Duration};

use tokio_util::sync::CancellationToken;

use crate::{
    audit::{DecisionId, Record},
    gate::RunGrant,
    install::Installation,
    path::RelPath,
    policy::{confinement::UnixSockets, request::run_tests::RunTests},
    report::Report,
    run_dir::{RunDir, RunId},
    runner::{
        command::invocation,
        handle::{Prepared, RunError, RunOutcome},
        spec::Filter,
        supervision::StopReason,
        tracker::{ActiveRun, PastRun, PrintedPlace},
    },
    sandbox::{Plan, plan::Places},
    server::{
        Warden,
        answer::{Answer, ErrorCode, RESULT_BYTES, ToolError, ToolResult, fit, refusals},
        run::{
            answer::{Told, word},
            results::Results,
        },
        secrets,
    },
    text::redactor::Redactor,
};

/// Runs a project's tests and waits for the end; `stop` ends the run before it.
///
/// # Errors
/// [`ToolError`] for what keeps the run from starting, and for a run that timed out.
pub async fn run_tests(warden: Arc<Warden>, request: RunTests, stop: &CancellationToken) -> ToolResult {
    let include = request.include;
    let asking = Arc::clone(&warden);
    let ready = warden.beside(move || ready(&asking, request));
    let Ready { grant, active, prepared, redactor } = ready.await??;
    let (decision, timeout) = (grant.decision(), grant.terms().timeout);
    let project = grant.project().path().to_owned();
    let (plan, paths) = (prepared.plan.clone(), prepared.directory.paths());
    let ended = match warden.runner.start(grant, prepared).await {
        Ok(handle) => handle.end(stop.cancelled()).await,
        Err(error) => Err(error),
    };
    warden.gate.record_end(&ended_record(decision, &ended)).map_err(|error| ToolError::internal(&error))?;
    let RunOutcome { grant, directory, enforcement, stopped } = ended.map_err(refusals::failed)?;
    let (report_bytes, answer_bytes) = (grant.terms().report_bytes(), grant.terms().answer_bytes());
    let its_project = project.clone();
    let settled = warden.beside(move || settle(active, directory, &its_project, report_bytes));
    let (past, results) = settled.await?;
    let told = Told {
        past: &past,
        project: &project,
        dir: grant.project().dir(),
        launch: warden.launch.path(),
        stopped: &stopped,
        report: &results.report,
        doubt: results.doubt.as_deref(),
        redactor: &redactor,
        plan: &plan,
        include,
        enforcement: enforcement.as_ref(),
        results_file: results.has_file().then(|| paths.report.display().to_string()),
    };
    // A timeout is an error, whose text is shorter.
    let timed = stopped.reason == StopReason::TimedOut;
    let bound = if timed { answer_bytes.min(RESULT_BYTES) } else { answer_bytes };
    let hints = told.hints();
    let answer = Answer::from_json(fit::within(bound, |caps| told.answer(&hints, caps)));
    if timed { Err(timed_out(timeout, answer)) } else { Ok(answer) }
}

/// All that a run is started with.
struct Ready {
    grant: RunGrant,
    active: ActiveRun,
    prepared: Prepared,
    redactor: Redactor,
}

fn ready(warden: &Warden, request: RunTests) -> Result<Ready, ToolError> {
    let spec = request.spec.clone();
    let grant = warden.gate.admit_run(request).map_err(refusals::refused)?;
    let project = grant.project().path();
    let run = RunId::draw().map_err(|error| ToolError::internal(&error))?;
    let active = warden.tracker.begin(run, project).map_err(|busy| refusals::busy(&busy))?;
    let last = warden.tracker.past(project, None);
    let declared = |file: &RelPath, line| last.as_ref()?.declared_line(file.as_path(), line);
    let filter = spec.map(|spec| Filter::resolve(&spec, grant.project(), declared)).transpose();
    let filter = filter.map_err(|error| refusals::no_spec(&error))?;
    let redactor =
        secrets::redactor(grant.project(), &warden.environment, &grant.terms().env, &grant.terms().set)?;
    let prepared = prepare(warden, &grant, run, filter.as_ref())?;
    Ok(Ready { grant, active, prepared, redactor })
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

/// The record of how a run ended.
fn ended_record(decision: DecisionId, ended: &Result<RunOutcome, RunError>) -> Record {
    let outcome = ended.as_ref().ok();
    Record::Ended {
        decision,
        outcome: outcome.map_or("not_run", |outcome| word(&outcome.stopped)),
        exit_code: outcome.and_then(|outcome| outcome.stopped.exit_code),
        sandbox: outcome.and_then(|outcome| outcome.enforcement.as_ref()).map(ToString::to_string),
    }
}

/// Reads the run's results and moves the run into the history.
fn settle(
    active: ActiveRun,
    directory: RunDir,
    project: &Path,
    report_bytes: u64,
) -> (Arc<PastRun>, Results) {
    let results = Results::read(&directory, report_bytes);
    let printed = results.report.as_ref().map(|report| printed_places(report, project)).unwrap_or_default();
    (active.end(project, directory, printed), results)
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

fn timed_out(timeout: Duration, answer: Answer) -> ToolError {
    let message = format!("the run took longer than its timeout of {} ms and was ended", timeout.as_millis());
    let mut error = ToolError::new(ErrorCode::RunTimedOut, message);
    error.hint = Some("run fewer tests at a time (spec, project, tag), or pass a larger timeout".to_owned());
    error.result = Some(answer.into_value());
    error
}
