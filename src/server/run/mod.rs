//! `run_tests`: the way of a call, from a parsed request to its answer.

pub mod answer;
pub mod preparation;
pub mod results;

use std::{path::Path, sync::Arc, time::Duration};

use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::{
    audit::record::{Call, Ended},
    gate::RunGrant,
    path::RelPath,
    policy::{
        confinement::UnixSockets,
        request::run_tests::{RunTests, Spec},
    },
    report::Report,
    run_dir::RunDir,
    run_id::RunId,
    runner::{
        handle::{Prepared, RunOutcome},
        spec::Filter,
        supervision::{StopReason, Stopped},
        tracker::{ActiveRun, PastRun, PrintedPlace},
    },
    sandbox::{Enforcement, plan::Places},
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
pub async fn run_tests(
    warden: Arc<Warden>,
    request: RunTests,
    call: Call,
    stop: &CancellationToken,
) -> ToolResult {
    let include = request.include;
    let asking = Arc::clone(&warden);
    let ready = warden.beside(move || ready(&asking, request, call));
    let Ready { grant, run, active, prepared, redactor } = ready.await??;
    let (decision, timeout) = (grant.decision(), grant.terms().timeout);
    let project = grant.project().path().to_owned();
    let (plan, paths) = (prepared.plan.clone(), prepared.directory.paths());
    let ended = match warden.runner.start(grant, prepared).await {
        Ok(handle) => handle.end(stop.cancelled()).await,
        Err(error) => Err(error),
    };
    let RunOutcome { grant, directory, enforcement, stopped } = match ended {
        Ok(outcome) => outcome,
        Err(error) => {
            let refused = refusals::failed(error);
            let (writing, ended) = (Arc::clone(&warden), not_run(&refused, Some(run)));
            warden.beside(move || writing.gate.record_end(decision, ended)).await?;
            return Err(refused);
        }
    };
    let (report_bytes, answer_bytes) = (grant.terms().report_bytes(), grant.terms().answer_bytes());
    let (writing, its_project) = (Arc::clone(&warden), project.clone());
    let mut ended = completed(run, &stopped, enforcement.as_ref());
    let settled = warden.beside(move || {
        ended.report_bytes = results::report_size(&directory, report_bytes);
        writing.gate.record_end(decision, ended);
        settle(active, directory, &its_project, report_bytes)
    });
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
    run: RunId,
    active: ActiveRun,
    prepared: Prepared,
    redactor: Redactor,
}

fn ready(warden: &Warden, request: RunTests, call: Call) -> Result<Ready, ToolError> {
    let spec = request.spec.clone();
    let grant = warden.gate.admit_run(request, call).map_err(refusals::refused)?;
    let decision = grant.decision();
    make_ready(warden, grant, spec.as_ref())
        .inspect_err(|error| warden.gate.record_end(decision, not_run(error, None)))
}

fn make_ready(warden: &Warden, grant: RunGrant, spec: Option<&Spec>) -> Result<Ready, ToolError> {
    let project = grant.project().path();
    let run = RunId::draw().map_err(|error| ToolError::internal(&error))?;
    let active = warden.tracker.begin(run, project).map_err(|busy| refusals::busy(&busy))?;
    let last = warden.tracker.past(project, None);
    let declared = |file: &RelPath, line| last.as_ref()?.declared_line(file.as_path(), line);
    let filter = preparation::filter(spec, grant.project(), declared)?;
    let redactor =
        secrets::redactor(grant.project(), &warden.environment, &grant.terms().env, &grant.terms().set)?;
    let prepared = prepare(warden, &grant, run, filter.as_ref())?;
    Ok(Ready { grant, run, active, prepared, redactor })
}

fn prepare(
    warden: &Warden,
    grant: &RunGrant,
    run: RunId,
    filter: Option<&Filter>,
) -> Result<Prepared, ToolError> {
    let internal = |error: &dyn std::error::Error| ToolError::internal(error);
    let installation = preparation::installation(grant.project(), &warden.environment)?;
    let mut directory = RunDir::create(&warden.state, run).map_err(|error| internal(&error))?;
    if grant.terms().sandbox.unix_sockets == UnixSockets::Allow {
        directory.shorten_tmp();
    }
    let cache =
        warden.state.make_transform_cache(grant.project().path()).map_err(|error| internal(&error))?;
    let paths = directory.paths();
    let places = Places {
        project: grant.project(),
        installation: &installation,
        run: &paths,
        transform_cache: &cache,
        home: &warden.home,
    };
    let (plan, invocation) = preparation::compose(grant.terms(), filter, places, &warden.environment)?;
    Ok(Prepared { invocation, plan, directory })
}

/// The record of a run that ended.
fn completed(run: RunId, stopped: &Stopped, enforcement: Option<&Enforcement>) -> Ended {
    Ended {
        outcome: word(stopped),
        error: None,
        run: Some(run.to_string()),
        exit_code: stopped.exit_code,
        signal: stopped.signal,
        duration_ms: Some(stopped.duration_ms),
        report_bytes: None,
        sandbox: enforcement.map(|holds| json!(holds)),
    }
}

/// The record of an allowed call that came to no run.
fn not_run(error: &ToolError, run: Option<RunId>) -> Ended {
    let run = run.map(|run| run.to_string());
    Ended { outcome: "not_run", error: Some(error.code.name()), run, ..Ended::default() }
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
