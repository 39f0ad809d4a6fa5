//! The tools that exist, by name.

use std::{fmt, str::FromStr};

use thiserror::Error;

/// A tool of this server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ToolName {
    /// Runs a project's tests.
    RunTests,
    /// Tells the failures of the last run or of a report.
    GetFailedTests,
}

impl ToolName {
    /// Every tool, in the order in which an agent meets them.
    pub const ALL: [Self; 2] = [Self::RunTests, Self::GetFailedTests];

    /// The name that clients call and policies list.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::RunTests => "run_tests",
            Self::GetFailedTests => "get_failed_tests",
        }
    }
}

impl fmt::Display for ToolName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// A name that no tool has.
#[derive(Debug, Error)]
#[error("there is no tool `{0}`")]
pub struct UnknownTool(String);

impl FromStr for ToolName {
    type Err = UnknownTool;

    fn from_str(name: &str) -> Result<Self, UnknownTool> {
        let known = Self::ALL.into_iter().find(|tool| tool.as_str() == name);
        known.ok_or_else(|| UnknownTool(name.to_owned()))
    }
}
