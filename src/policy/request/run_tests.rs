//! The arguments of `run_tests`.
//!
//! In: JSON. Out: [`RunTests`], where each value is what Playwright's command line can take and nothing else. What
//! the policy says of it is left to `decision`, the command line itself to `runner::command`.

use std::{collections::BTreeMap, time::Duration};

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, de::Error as _};
use serde_json::{Map, Value};

use crate::{
    path::{RelPath, handle::DirHandle, project::CandidateDir},
    policy::request::arguments::{self, ArgumentError, Reader},
};

/// How long a run may take when the call does not say.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_mins(5);

/// Which part of the results an answer holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum IncludeTests {
    /// The tests that failed, also those that passed on a retry; counts for the rest.
    #[default]
    Failed,
    /// Each test.
    All,
}

/// Playwright's `--update-snapshots` modes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum UpdateSnapshots {
    /// Rewrite all.
    All,
    /// Rewrite those that differ.
    Changed,
    /// Write those that are missing.
    Missing,
    /// Write none.
    None,
}

impl UpdateSnapshots {
    /// The word on Playwright's command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::Changed => "changed",
            Self::Missing => "missing",
            Self::None => "none",
        }
    }
}

/// Playwright's `--trace` modes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TraceMode {
    /// Record each test.
    On,
    /// Record none.
    Off,
    /// Record the first retry of a test.
    OnFirstRetry,
    /// Record each retry.
    OnAllRetries,
    /// Keep the traces of failed tests.
    RetainOnFailure,
    /// Keep the trace of a test's first failure.
    RetainOnFirstFailure,
    /// Keep the traces of failed tests and of retries.
    RetainOnFailureAndRetries,
}

impl TraceMode {
    /// The word on Playwright's command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::On => "on",
            Self::Off => "off",
            Self::OnFirstRetry => "on-first-retry",
            Self::OnAllRetries => "on-all-retries",
            Self::RetainOnFailure => "retain-on-failure",
            Self::RetainOnFirstFailure => "retain-on-first-failure",
            Self::RetainOnFailureAndRetries => "retain-on-failure-and-retries",
        }
    }
}

/// The short form of `project` for the project names that Playwright's own template makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
pub enum Browser {
    /// The project `chromium`.
    Chromium,
    /// The project `firefox`.
    Firefox,
    /// The project `webkit`.
    Webkit,
    /// The project `Mobile Chrome`.
    #[serde(rename = "Mobile Chrome")]
    MobileChrome,
    /// The project `Mobile Safari`.
    #[serde(rename = "Mobile Safari")]
    MobileSafari,
}

impl Browser {
    fn project(self) -> &'static str {
        match self {
            Self::Chromium => "Chromium",
            Self::Firefox => "Firefox",
            Self::Webkit => "Webkit",
            Self::MobileChrome => "Mobile Chrome",
            Self::MobileSafari => "Mobile Safari",
        }
    }
}

/// A number of workers: a count, or a share of the processors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Workers {
    /// At least one.
    Count(u64),
    /// A share of the processors, in percent from 1 to 100, and how many of them there are.
    Percent {
        /// The share.
        share: u64,
        /// The processors.
        processors: u64,
    },
}

/// Where a test file is, as an answer prints it: a path and perhaps `:line[:column]`.
///
/// The column is read and dropped: versions of Playwright differ in it, and none needs it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spec {
    /// The file or directory: relative to the project, or absolute.
    pub path: SpecPath,
    /// The line, from 1.
    pub line: Option<u32>,
}

/// The path of a [`Spec`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SpecPath {
    /// Beneath the project.
    Relative(RelPath),
    /// Anywhere; it must turn out to lie beneath the project.
    Absolute(std::path::PathBuf),
}

impl Spec {
    fn parse(text: &str) -> Result<Self, ArgumentError> {
        let wrong = |problem: String| ArgumentError::invalid("spec", problem);
        if text.starts_with('-') {
            return Err(wrong(format!("`{text}` looks like a flag, not like a file")));
        }
        if text.contains('\0') {
            return Err(wrong("a path with a NUL byte".to_owned()));
        }
        let (path, line) = split_position(text);
        let path = if path.starts_with('/') {
            SpecPath::Absolute(path.into())
        } else {
            let relative = RelPath::parse(path)
                .map_err(|error| wrong(format!("{error}; a spec is a file or directory of the project")))?;
            SpecPath::Relative(relative)
        };
        Ok(Self { path, line })
    }
}

/// Splits `a.spec.ts:12:3` into the file and its line.
fn split_position(text: &str) -> (&str, Option<u32>) {
    let split = |text| -> Option<(&str, u32)> {
        let (head, number) = str::rsplit_once(text, ':')?;
        let digits = number.bytes().all(|byte| byte.is_ascii_digit());
        number.parse().ok().filter(|_| digits).map(|number| (head, number))
    };
    match split(text) {
        Some((head, last)) => match split(head) {
            Some((file, line)) => (file, Some(line)),
            None => (head, Some(last)),
        },
        None => (text, None),
    }
}

/// What `run_tests` asks for.
#[derive(Debug)]
pub struct RunTests {
    /// The Playwright project.
    pub directory: CandidateDir,
    /// Which file or directory to run; all where absent.
    pub spec: Option<Spec>,
    /// Playwright projects, as the config names them; all that are permitted where empty.
    pub projects: Vec<String>,
    /// What Playwright's command line is told besides.
    pub options: RunOptions,
    /// How long the whole run may take.
    pub timeout: Option<Duration>,
    /// Variables for the run, by name; neither names nor values are checked yet.
    pub env: BTreeMap<String, String>,
    /// Which tests the answer holds.
    pub include: IncludeTests,
}

/// Options of Playwright's command line; what is absent is as the config says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunOptions {
    /// `--grep`.
    pub tag: Option<String>,
    /// `--update-snapshots`.
    pub update_snapshots: Option<UpdateSnapshots>,
    /// `--headed`.
    pub headed: Headed,
    /// `--workers`.
    pub workers: Option<Workers>,
    /// `--retries`.
    pub retries: Option<u64>,
    /// `--max-failures`.
    pub max_failures: Option<u64>,
    /// `--trace`.
    pub trace: Option<TraceMode>,
}

/// Whether browsers show their windows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Headed {
    /// They do.
    Yes,
    /// As the config says.
    #[default]
    AsConfigured,
}

/// The arguments as JSON has them; the doc comments are what an agent reads.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RunTestsArguments {
    /// Directory of the Playwright project; absolute or relative to the server's. Default ".".
    #[serde(default)]
    #[schemars(with = "String")]
    working_directory: Option<String>,
    /// Run only this file, directory or `file:line`, as answers print it.
    #[serde(default)]
    #[schemars(with = "String")]
    spec: Option<String>,
    /// Run only these projects of the config.
    #[serde(default, deserialize_with = "arguments::strings")]
    #[schemars(with = "Vec<String>")]
    project: Vec<String>,
    /// Short form of project.
    #[serde(default)]
    #[schemars(with = "Browser")]
    browser: Option<Browser>,
    /// Run only tests whose title or tags match this regular expression (--grep), e.g. "@smoke".
    #[serde(default)]
    #[schemars(with = "String")]
    tag: Option<String>,
    /// Write snapshots; the default writes none.
    #[serde(default)]
    #[schemars(with = "UpdateSnapshots")]
    update_snapshots: Option<UpdateSnapshots>,
    /// Show the browser's windows.
    #[serde(default)]
    #[schemars(with = "bool")]
    headed: Option<bool>,
    /// Number of workers; "50%" is a share of the processors.
    #[serde(default, deserialize_with = "workers")]
    #[schemars(with = "u64", range(min = 1))]
    workers: Option<Workers>,
    /// Retries of a failing test.
    #[serde(default, deserialize_with = "arguments::integer::<0, _>")]
    #[schemars(with = "u64")]
    retries: Option<u64>,
    /// Stop after this many failures.
    #[serde(default, deserialize_with = "arguments::integer::<1, _>")]
    #[schemars(with = "u64", range(min = 1))]
    max_failures: Option<u64>,
    /// Record traces.
    #[serde(default)]
    #[schemars(with = "TraceMode")]
    trace: Option<TraceMode>,
    /// Milliseconds for the whole run, not for a test. Default 300000.
    #[serde(default, deserialize_with = "arguments::integer::<1, _>")]
    #[schemars(with = "u64", range(min = 1))]
    timeout: Option<u64>,
    /// Wait for the end of the run. false is not supported yet.
    #[serde(default)]
    #[schemars(with = "bool")]
    wait: Option<bool>,
    /// Environment variables for the run; only those that the policy lists.
    #[serde(default, deserialize_with = "arguments::texts")]
    #[schemars(with = "BTreeMap<String, String>")]
    env: BTreeMap<String, String>,
    /// Which tests to tell: those that failed (default), or all.
    #[serde(default)]
    #[schemars(with = "IncludeTests")]
    include: IncludeTests,
}

static READER: Reader<RunTestsArguments> = Reader::new();

impl RunTests {
    /// Parses the arguments of a call.
    ///
    /// # Errors
    /// [`ArgumentError`] for the first thing that is wrong.
    pub fn parse(arguments: Map<String, Value>, launch: &DirHandle) -> Result<Self, ArgumentError> {
        let given: RunTestsArguments = READER.read(arguments)?;
        if given.wait == Some(false) {
            let problem =
                "background runs are not supported yet; leave `wait` out and the call waits to the end";
            return Err(ArgumentError::invalid("wait", problem));
        }
        let mut projects = given.project;
        match given.browser {
            Some(_) if !projects.is_empty() => {
                return Err(ArgumentError::invalid(
                    "browser",
                    "give either `browser` or `project`, not both",
                ));
            }
            Some(browser) => projects.push(browser.project().to_owned()),
            None => {}
        }
        for (at, text) in
            projects.iter().map(|name| ("project", name)).chain(given.tag.iter().map(|tag| ("tag", tag)))
        {
            if text.chars().any(char::is_control) {
                return Err(ArgumentError::invalid(at, "control characters"));
            }
        }
        Ok(Self {
            directory: arguments::working_directory(given.working_directory.as_deref(), launch)?,
            spec: given.spec.as_deref().map(Spec::parse).transpose()?,
            projects,
            options: RunOptions {
                tag: given.tag,
                update_snapshots: given.update_snapshots,
                headed: if given.headed == Some(true) { Headed::Yes } else { Headed::AsConfigured },
                workers: given.workers,
                retries: given.retries,
                max_failures: given.max_failures,
                trace: given.trace,
            },
            timeout: given.timeout.map(arguments::milliseconds),
            env: given.env,
            include: given.include,
        })
    }
}

fn workers<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Workers>, D::Error> {
    let value = Value::deserialize(deserializer)?;
    if let Some(percent) = value.as_str().and_then(|text| text.strip_suffix('%')) {
        let share = percent.parse().ok().filter(|share| (1..=100).contains(share));
        let share = share.ok_or_else(|| D::Error::custom(format!("expected 1% to 100%, got {value}")))?;
        let processors = std::thread::available_parallelism().map_or(1, |count| count.get() as u64);
        return Ok(Some(Workers::Percent { share, processors }));
    }
    let count = arguments::integer::<1, _>(value)
        .map_err(|error| D::Error::custom(format!("{error}; a share is written \"50%\"")))?;
    Ok(count.map(Workers::Count))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spec_is_accepted_as_printed() {
        let table = [
            ("tests/a.spec.ts", "tests/a.spec.ts", None),
            ("tests/a.spec.ts:12", "tests/a.spec.ts", Some(12)),
            ("tests/a.spec.ts:12:3", "tests/a.spec.ts", Some(12)),
            ("tests/[id].spec.ts", "tests/[id].spec.ts", None),
            ("odd:name.ts", "odd:name.ts", None),
        ];
        for (text, file, line) in table {
            let spec = Spec::parse(text).unwrap();
            assert_eq!(spec.path, SpecPath::Relative(RelPath::parse(file).unwrap()), "{text}");
            assert_eq!(spec.line, line, "{text}");
        }
        for refused in ["--config=x", "-c", "../a.spec.ts", "a/../../b", ""] {
            assert!(Spec::parse(refused).is_err(), "{refused}");
        }
    }
}
