//! The tools as clients see them: names, descriptions, schemas, hints.

use std::sync::Arc;

use rmcp::model::{Tool, ToolAnnotations};
use schemars::JsonSchema;

use crate::{
    policy::{
        request::{
            arguments::schema_of, failed_tests::GetFailedTestsArguments, get_policy::GetPolicyArguments,
            run_tests::RunTestsArguments,
        },
        tool::ToolName,
    },
    server::{failed_tests::FailedTestsAnswer, get_policy::PolicyAnswer, run::answer::RunAnswer},
};

/// The tools that are allowed, in a fixed order.
pub fn listed(allowed: &[ToolName]) -> Vec<Tool> {
    let all = [run_tests(), get_failed_tests(), get_policy()];
    all.into_iter().filter(|(name, _)| allowed.contains(name)).map(|(_, tool)| tool).collect()
}

fn run_tests() -> (ToolName, Tool) {
    let description = "Runs a project's Playwright tests to their end and tells the failing ones with their errors. \
                       No reporter has to be configured. Executes the project's code, confined by the policy's sandbox.";
    let hints = ToolAnnotations::with_title("Run tests").read_only(false).destructive(true).open_world(true);
    (
        ToolName::RunTests,
        tool::<RunTestsArguments, RunAnswer>(ToolName::RunTests, description, hints.idempotent(false)),
    )
}

fn get_failed_tests() -> (ToolName, Tool) {
    let description = "Tells the failures of the last run, of a run by its id, or of the results file that the \
                       project's own json reporter wrote, with every error of each test. Runs nothing.";
    let hints =
        ToolAnnotations::with_title("Get failed tests").read_only(true).destructive(false).open_world(false);
    let name = ToolName::GetFailedTests;
    (name, tool::<GetFailedTestsArguments, FailedTestsAnswer>(name, description, hints.idempotent(true)))
}

fn get_policy() -> (ToolName, Tool) {
    let description = "Tells what you may do here: directories, tools, what run_tests may be given, limits, and what test \
                       code may do. Runs no test.";
    let hints =
        ToolAnnotations::with_title("Get policy").read_only(true).destructive(false).open_world(false);
    let name = ToolName::GetPolicy;
    (name, tool::<GetPolicyArguments, PolicyAnswer>(name, description, hints.idempotent(true)))
}

fn tool<Arguments: JsonSchema, Answer: JsonSchema>(
    name: ToolName,
    description: &'static str,
    hints: ToolAnnotations,
) -> Tool {
    let mut input = schema_of::<Arguments>();
    // The doc comment of the struct is for readers of the code.
    input.shift_remove("description");
    let mut tool = Tool::new(name.as_str(), description, Arc::new(input)).with_annotations(hints);
    tool.output_schema = Some(Arc::new(schema_of::<Answer>()));
    tool
}
