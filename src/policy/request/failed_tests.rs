//! The arguments of `get_failed_tests`.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::{
    path::{handle::DirHandle, project::CandidateDir},
    policy::request::arguments::{self, ArgumentError, Reader},
    run_id::{NoRunId, RunId},
};

/// Which tests of a report are told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum IncludeOutcomes {
    /// Those that failed, with the flaky ones counted.
    #[default]
    Failed,
    /// Those that failed at first and passed on a retry.
    Flaky,
    /// All.
    All,
}

/// What `get_failed_tests` asks for.
#[derive(Debug)]
pub struct GetFailedTests {
    /// The Playwright project.
    pub directory: CandidateDir,
    /// A run of this server, as its answer named it; the last one of the project, or its results file, where absent.
    pub run_id: Option<RunId>,
    /// Which tests to tell.
    pub include: IncludeOutcomes,
    /// At most this many tests.
    pub limit: Option<u64>,
    /// The number of tests to pass over: what an earlier answer gave as its `cursor`.
    pub cursor: u64,
}

/// The arguments as JSON has them; the doc comments are what an agent reads.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct GetFailedTestsArguments {
    /// Directory of the Playwright project; absolute or relative to the server's. Default ".".
    #[serde(default)]
    #[schemars(with = "String")]
    working_directory: Option<String>,
    /// A run of this server. Default: the later of the project's last run and its results file.
    #[serde(default)]
    #[schemars(with = "String")]
    run_id: Option<String>,
    /// Which tests to tell. Default failed.
    #[serde(default)]
    #[schemars(with = "IncludeOutcomes")]
    include: IncludeOutcomes,
    /// At most this many tests.
    #[serde(default, deserialize_with = "arguments::integer::<1, _>")]
    #[schemars(with = "u64", range(min = 1))]
    limit: Option<u64>,
    /// Where an earlier answer ended.
    #[serde(default)]
    #[schemars(with = "String")]
    cursor: Option<String>,
}

static READER: Reader<GetFailedTestsArguments> = Reader::new();

impl GetFailedTests {
    /// Parses the arguments of a call.
    ///
    /// # Errors
    /// [`ArgumentError`] for the first thing that is wrong.
    pub fn parse(arguments: Map<String, Value>, launch: &DirHandle) -> Result<Self, ArgumentError> {
        let given: GetFailedTestsArguments = READER.read(arguments)?;
        let cursor = match given.cursor.as_deref().map(str::parse) {
            None => 0,
            Some(Ok(cursor)) => cursor,
            Some(Err(_)) => return Err(ArgumentError::invalid("cursor", "no cursor of an earlier answer")),
        };
        let run_id = given.run_id.as_deref().map(str::parse).transpose();
        Ok(Self {
            directory: arguments::working_directory(given.working_directory.as_deref(), launch)?,
            run_id: run_id.map_err(|error: NoRunId| ArgumentError::invalid("runId", error.to_string()))?,
            include: given.include,
            limit: given.limit,
            cursor,
        })
    }
}
