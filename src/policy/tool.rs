//! The tools that a policy may name.
//!
//! In: an entry of `tools.allow`. Out: [`ToolName`]. What a tool does is left to `server`.
//!
//! A policy may name every tool that the design has, so that one written for a later version is valid here; the
//! default names the tools that this version has, so that nobody gets a tool that he has not seen.

use std::fmt;

macro_rules! tools {
    ($($(#[doc = $doc:literal])+ $variant:ident = $name:literal;)+) => {
        /// The name of a tool.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum ToolName {
            $($(#[doc = $doc])+ $variant,)+
        }

        impl ToolName {
            /// All tools that a policy may name.
            pub const ALL: &[Self] = &[$(Self::$variant,)+];

            /// The name as the agent sees it.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)+
                }
            }
        }
    };
}

tools! {
    /// Lists the tests of a project.
    ListTests = "list_tests";
    /// Runs tests.
    RunTests = "run_tests";
    /// Tells how a run goes.
    GetRunStatus = "get_run_status";
    /// Ends a run.
    CancelRun = "cancel_run";
    /// Tells the failures of a run.
    GetFailedTests = "get_failed_tests";
    /// Gives an attachment of a test.
    GetTestAttachment = "get_test_attachment";
    /// Gives a trace of a test.
    GetTrace = "get_trace";
    /// Tells what the policy allows.
    GetPolicy = "get_policy";
    /// Takes a screenshot of a page.
    Screenshot = "screenshot";
}

impl ToolName {
    /// Finds the tool of a name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|tool| tool.as_str() == name)
    }

    /// Says whether this version has the tool.
    #[must_use]
    pub const fn exists(self) -> bool {
        matches!(self, Self::RunTests | Self::GetFailedTests | Self::GetPolicy)
    }
}

impl fmt::Display for ToolName {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.as_str())
    }
}
