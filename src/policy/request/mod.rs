//! What a tool asks, parsed.
//!
//! In: the JSON arguments of a call and the launch directory. Out: a [`Request`] in which a path is a path, a flag a
//! closed choice, and the directory is opened but not decided on. Whether it is allowed is left to `decision`.

pub mod arguments;
pub mod failed_tests;
pub mod get_policy;
pub mod run_tests;

use serde_json::{Map, Value};

use crate::{
    path::handle::DirHandle,
    policy::{
        request::{arguments::ArgumentError, failed_tests::GetFailedTests, run_tests::RunTests},
        tool::ToolName,
    },
};

/// A call, parsed: one variant for each tool.
#[derive(Debug)]
pub enum Request {
    /// `run_tests`.
    RunTests(Box<RunTests>),
    /// `get_failed_tests`.
    GetFailedTests(GetFailedTests),
    /// `get_policy`, which asks for nothing in particular.
    GetPolicy,
}

impl Request {
    /// Parses the arguments of a call.
    ///
    /// # Errors
    /// [`ArgumentError`] names the argument, what was expected and the nearest known name.
    pub fn parse(
        tool: ToolName,
        arguments: Map<String, Value>,
        launch: &DirHandle,
    ) -> Result<Self, ArgumentError> {
        match tool {
            ToolName::RunTests => Ok(Self::RunTests(Box::new(RunTests::parse(arguments, launch)?))),
            ToolName::GetFailedTests => Ok(Self::GetFailedTests(GetFailedTests::parse(arguments, launch)?)),
            ToolName::GetPolicy => get_policy::parse(arguments).map(|()| Self::GetPolicy),
            ToolName::ListTests
            | ToolName::GetRunStatus
            | ToolName::CancelRun
            | ToolName::GetTestAttachment
            | ToolName::GetTrace
            | ToolName::Screenshot => Err(ArgumentError::NoSuchTool(tool)),
        }
    }
}
