//! What a run is started with, found and put together; nothing is made and nothing is started.
//!
//! In: the project and the terms of an allowed run, and where its things are. Out: the filter, the installation, the plan
//! and the command, or the error that an agent is answered. The server makes the run's directory and starts it;
//! `--check-policy` shows what it would be started with.

use crate::{
    install::Installation,
    path::{RelPath, project::ProjectDir},
    policy::{decision::RunTerms, request::run_tests::Spec, source::environment::Environment},
    runner::{command::invocation, spec::Filter},
    sandbox::{Plan, invocation::Invocation, plan::Places},
    server::answer::{ErrorCode, ToolError, refusals},
};

/// Finds what the spec of a call names, if it has one; `declared` is as for [`Filter::resolve`].
///
/// # Errors
/// `spec_not_found`.
pub fn filter(
    spec: Option<&Spec>,
    project: &ProjectDir,
    declared: impl Fn(&RelPath, u32) -> Option<u32>,
) -> Result<Option<Filter>, ToolError> {
    spec.map(|spec| Filter::resolve(spec, project, declared))
        .transpose()
        .map_err(|error| refusals::no_spec(&error))
}

/// Finds what a project's tests are started with.
///
/// # Errors
/// `node_not_found` or `playwright_not_found`.
pub fn installation(project: &ProjectDir, environment: &Environment) -> Result<Installation, ToolError> {
    Installation::find(project, environment.get("PATH").unwrap_or_default())
        .map_err(|error| refusals::not_installed(&error))
}

/// Makes the plan and the command of a run.
///
/// # Errors
/// `sandbox_unavailable` when what is started lies where a run may not read, and `invalid_arguments` when the
/// installed Playwright can't do what was asked.
pub fn compose(
    terms: &RunTerms,
    filter: Option<&Filter>,
    places: Places<'_>,
    environment: &Environment,
) -> Result<(Plan, Invocation), ToolError> {
    let plan = Plan::of(terms, places).map_err(|error| refusals::no_plan(&error))?;
    let invocation = invocation(terms, filter, places, environment)
        .map_err(|error| ToolError::new(ErrorCode::InvalidArguments, error.to_string()))?;
    Ok((plan, invocation))
}
