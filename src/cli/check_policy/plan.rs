//! What an allowed call would do: the plan as data, and what would keep it from being done.
//!
//! In: the project and the terms of an allowed call. Out: a [`Prospect`]. The plan is made by the very code of the
//! server; nothing is made on the disk, and nothing is started but the try of the sandbox, which runs no project code.

use std::{
    ffi::OsStr,
    path::{Path, PathBuf},
    time::Duration,
};

use serde::Serialize;

use crate::{
    cli::check_policy::{Site, tried::Tried},
    path::project::ProjectDir,
    policy::{
        confinement::{Network, ProjectAccess, SandboxMode, UnixSockets},
        decision::{ReadTerms, RunTerms},
        request::run_tests::Spec,
    },
    run_id::RunId,
    runner::{
        handle::RunError,
        probe::{Probed, probe_run},
    },
    sandbox::{Plan, invocation::Invocation, plan::Places},
    server::{
        answer::{ToolError, refusals},
        failed_tests,
        run::preparation,
    },
};

/// How a run is called that was not started.
const NO_RUN: &str = "<run>";

/// What an allowed call comes to.
#[derive(Debug, Default)]
pub(super) struct Prospect {
    /// What it would do.
    pub(super) plan: Option<PlanAnswer>,
    /// What it would be answered, where it can't be done.
    pub(super) would_fail: Option<ToolError>,
}

/// What a call would do.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum PlanAnswer {
    /// Start a program.
    Run(Box<RunPlan>),
    /// Read a report.
    Read(ReadPlan),
}

/// What a run would be started with, and bound to.
#[derive(Debug, Serialize)]
pub(super) struct RunPlan {
    /// Node.
    pub(super) program: String,
    /// Its arguments.
    pub(super) argv: Vec<String>,
    /// The working directory.
    pub(super) cwd: String,
    /// The names of all variables; values are never told.
    pub(super) env: Vec<String>,
    /// The version of the Playwright found.
    pub(super) playwright_version: String,
    /// `sandbox.mode`.
    pub(super) mode: SandboxMode,
    /// What may be done to the project.
    pub(super) project: ProjectAccess,
    /// What may be written of it under `outputs`.
    pub(super) outputs: Vec<String>,
    /// What of it shall stay as it is under `read-write`.
    pub(super) protect: Vec<String>,
    /// What may be read and executed besides the project.
    pub(super) read: Vec<String>,
    /// What may be written besides.
    pub(super) write: Vec<String>,
    /// What network there is.
    pub(super) network: Network,
    /// Whether unix sockets may be made.
    pub(super) unix_sockets: UnixSockets,
    /// The bounds.
    pub(super) limits: RunLimits,
    /// What this system enforces of it.
    pub(super) sandbox: Tried,
}

/// The bounds of a run; `null` is none.
#[derive(Debug, Serialize)]
pub(super) struct RunLimits {
    /// How long it may take.
    pub(super) timeout_ms: Option<u64>,
    /// How long it may take to end itself.
    pub(super) grace_ms: Option<u64>,
    /// What is kept of the end of each output.
    pub(super) output_tail_bytes: u64,
    /// Descriptors of one process.
    pub(super) open_files: Option<u64>,
    /// The size of a file that is written.
    pub(super) file_bytes: Option<u64>,
    /// The memory of one process.
    pub(super) memory_bytes_per_process: Option<u64>,
}

/// What would be read.
#[derive(Debug, Serialize)]
pub(super) struct ReadPlan {
    /// In which order it is looked for; the later of a run and a file is read.
    pub(super) reads: Vec<Readable>,
    /// The bounds.
    pub(super) limits: ReadLimits,
}

/// A report.
#[derive(Debug, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(super) enum Readable {
    /// That of a run of the server.
    Run {
        /// Which one; the project's last where absent.
        #[serde(skip_serializing_if = "Option::is_none")]
        run_id: Option<String>,
    },
    /// A file.
    File {
        /// Where it is.
        path: String,
    },
}

/// The bounds of reading.
#[derive(Debug, Serialize)]
pub(super) struct ReadLimits {
    /// The largest report.
    pub(super) report_bytes: u64,
    /// The longest answer.
    pub(super) answer_bytes: usize,
}

/// What a run would be.
pub(super) fn of_run(
    site: &Site<'_>,
    project: &ProjectDir,
    terms: &RunTerms,
    spec: Option<&Spec>,
) -> Prospect {
    let plan = match run_plan(site, project, terms, spec) {
        Ok(plan) => plan,
        Err(error) => return Prospect { plan: None, would_fail: Some(error) },
    };
    let would_fail = match &plan.sandbox.0 {
        Probed::Refused(refusal) => Some(refusals::failed(RunError::Refused(refusal.clone()))),
        Probed::Holds(_) | Probed::Failed(_) => None,
    };
    Prospect { plan: Some(PlanAnswer::Run(Box::new(plan))), would_fail }
}

fn run_plan(
    site: &Site<'_>,
    project: &ProjectDir,
    terms: &RunTerms,
    spec: Option<&Spec>,
) -> Result<RunPlan, ToolError> {
    // The server may also know the lines of errors that it printed.
    let filter = preparation::filter(spec, project, |_, _| None)?;
    let installation = preparation::installation(project, site.environment)?;
    let places = Places {
        project,
        installation: &installation,
        run: &site.state.paths_of(NO_RUN),
        transform_cache: &site.state.transform_cache(project.path()),
        home: &site.home,
    };
    let (plan, invocation) = preparation::compose(terms, filter.as_ref(), places, site.environment)?;
    let sandbox = Tried(probe_run(&plan, project));
    Ok(RunPlan::of(terms, &plan, &invocation, installation.version.to_string(), sandbox))
}

impl RunPlan {
    fn of(
        terms: &RunTerms,
        plan: &Plan,
        invocation: &Invocation,
        playwright_version: String,
        sandbox: Tried,
    ) -> Self {
        Self {
            program: path(&invocation.program),
            argv: invocation.argv.iter().map(|argument| text(argument)).collect(),
            cwd: path(&invocation.cwd),
            env: invocation.env.keys().map(|name| text(name)).collect(),
            playwright_version,
            mode: plan.mode,
            project: plan.project,
            outputs: if plan.project == ProjectAccess::Outputs { paths(&plan.outputs) } else { Vec::new() },
            protect: if plan.project == ProjectAccess::ReadWrite { paths(&plan.protect) } else { Vec::new() },
            read: paths(&plan.read),
            write: paths(&plan.write),
            network: plan.network,
            unix_sockets: plan.unix_sockets,
            limits: RunLimits {
                timeout_ms: milliseconds(terms.timeout),
                grace_ms: milliseconds(terms.grace),
                output_tail_bytes: terms.output_tail_bytes(),
                open_files: plan.limits.open_files,
                file_bytes: plan.limits.file_bytes,
                memory_bytes_per_process: plan.limits.memory_bytes,
            },
            sandbox,
        }
    }
}

/// What a reading would be; of runs only a server knows.
pub(super) fn of_read(project: &ProjectDir, terms: &ReadTerms, run_id: Option<RunId>) -> Prospect {
    let limits = ReadLimits { report_bytes: terms.report_bytes(), answer_bytes: terms.answer_bytes() };
    let mut reads = vec![Readable::Run { run_id: run_id.map(|run| run.to_string()) }];
    let mut would_fail = None;
    if run_id.is_none() {
        reads.push(Readable::File { path: path(&failed_tests::results_file(project, terms)) });
        would_fail = failed_tests::open_results_file(project, terms).err();
    }
    Prospect { plan: Some(PlanAnswer::Read(ReadPlan { reads, limits })), would_fail }
}

fn milliseconds(duration: Duration) -> Option<u64> {
    u64::try_from(duration.as_millis()).ok()
}

fn text(text: &OsStr) -> String {
    text.to_string_lossy().into_owned()
}

fn path(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

fn paths(all: &[PathBuf]) -> Vec<String> {
    all.iter().map(|one| path(one)).collect()
}
