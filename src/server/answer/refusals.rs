//! The errors of the rooms below, as an agent reads them.
//!
//! In: what kept a call from being answered. Out: [`ToolError`]s with a stable code and what to do. Nothing of the
//! operator's places and nothing of a refused file's content stands in them.

use crate::{
    audit::AuditError,
    gate::Refusal,
    install::InstallError,
    path::PathError,
    report::json::ReportError,
    runner::{handle::RunError, spec::SpecError, tracker::Busy},
    sandbox::plan::PlanError,
    server::answer::{ErrorCode, ToolError},
    text::chain,
};

/// The refusal of the gate, for the agent: the rule, never its place.
pub fn refused(refusal: Refusal) -> ToolError {
    match refusal {
        Refusal::Denied { denial, decision } => {
            let mut error = ToolError::new(ErrorCode::PolicyDenied, denial.to_string());
            error.rule = Some(denial.rule.to_owned());
            error.decision = Some(decision.to_string());
            error.hint = Some(format!(
                "{}This is an operator's rule: use a permitted value or ask the user; don't edit the policy or run \
                 Playwright another way.",
                denial.permitted.map(|permitted| format!("Permitted: {permitted}. ")).unwrap_or_default()
            ));
            error
        }
        Refusal::Directory(error) => ToolError::new(ErrorCode::NoSuchDirectory, chain(&error)),
        Refusal::Audit(error) => unwritten(&error),
    }
}

/// The decision could not be written down.
pub fn unwritten(error: &AuditError) -> ToolError {
    let message = format!("the decision can't be written to the audit log: {}", chain(error));
    let hint = "nothing was run or read; the user or an operator has to mend the log: the server's standard error tells more";
    ToolError::new(ErrorCode::AuditUnavailable, message).with_hint(hint)
}

/// There is no place for a run.
pub fn busy(busy: &Busy) -> ToolError {
    let hint = match busy {
        Busy::Project(_) => "wait for it to end, then call again",
        Busy::Server { .. } => "wait for one of them to end, then call again",
    };
    ToolError::new(ErrorCode::RunActive, busy.to_string()).with_hint(hint)
}

/// There is nothing to run the tests with.
pub fn not_installed(error: &InstallError) -> ToolError {
    let code = match error {
        InstallError::NodeNotFound => ErrorCode::NodeNotFound,
        InstallError::PlaywrightNotFound { .. } | InstallError::PlugAndPlay | InstallError::NoVersion(_) => {
            ErrorCode::PlaywrightNotFound
        }
    };
    ToolError::new(code, chain(error)).with_hint(error.hint())
}

/// The run came to no end of its own kind.
pub fn failed(error: RunError) -> ToolError {
    match error {
        RunError::Refused(refusal) => {
            ToolError::new(ErrorCode::SandboxUnavailable, refusal.message).with_hint(refusal.hint)
        }
        other @ (RunError::Supervisor(_) | RunError::Reporter(_) | RunError::Order(_) | RunError::Silent) => {
            ToolError::internal(&other)
        }
    }
}

/// The report can't be opened.
pub fn unopened(error: &PathError) -> ToolError {
    match error {
        PathError::Missing(_) | PathError::NotADirectory(_) => {
            let hint = "call run_tests; no reporter has to be configured";
            ToolError::new(ErrorCode::ReportNotFound, "there is no report of this project yet")
                .with_hint(hint)
        }
        PathError::TooLarge { .. } => {
            let hint = "run fewer tests with run_tests (spec, project, tag); an operator can raise `limits.report_bytes`";
            ToolError::new(ErrorCode::ReportUnreadable, chain(error)).with_hint(hint)
        }
        PathError::NotAFile { .. }
        | PathError::Escapes(_)
        | PathError::Linked(_)
        | PathError::Malformed(_)
        | PathError::Io { .. } => {
            let hint = "remove it and run the tests again";
            ToolError::new(ErrorCode::ReportUnreadable, chain(error)).with_hint(hint)
        }
    }
}

/// The report of a run can't be opened.
pub fn unopened_of_run(error: &PathError) -> ToolError {
    if matches!(error, PathError::Missing(_)) {
        let hint = "the answer of its run_tests says why, in `errors`";
        return ToolError::new(ErrorCode::ReportNotFound, "the run wrote no report").with_hint(hint);
    }
    unopened(error)
}

/// The report can't be read.
pub fn unreadable(error: &ReportError) -> ToolError {
    ToolError::new(ErrorCode::ReportUnreadable, chain(error)).with_hint(error.hint())
}

/// The spec selects nothing.
pub fn no_spec(error: &SpecError) -> ToolError {
    let hint = "name a file or directory as answers print it, relative to workingDirectory";
    ToolError::new(ErrorCode::SpecNotFound, error.to_string()).with_hint(hint)
}

/// What the run is started with lies outside its scopes.
pub fn no_plan(error: &PlanError) -> ToolError {
    let hint = format!("an operator can add its directory to `{}`", error.key());
    ToolError::new(ErrorCode::SandboxUnavailable, error.to_string()).with_hint(hint)
}
