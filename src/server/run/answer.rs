//! What an agent is told of a run.
//!
//! In: how the run ended, its report, its plan. Out: a [`RunAnswer`], capped. How the run came about is left to
//! [`super`].

use std::path::Path;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::{
    path::{
        RelPath,
        handle::{DirHandle, EntryKind},
    },
    policy::request::run_tests::IncludeTests,
    report::{Report, TestCase, failure::stack::without_foreign_frames, outcome::Outcome},
    runner::{
        supervision::{StopReason, Stopped, Tail},
        tracker::PastRun,
    },
    sandbox::{Enforcement, Level, Plan, refusal},
    server::{
        answer::{
            failures::{Detail, ErrorAnswer, StatsAnswer, Teller, TestAnswer},
            fit::Caps,
        },
        run::results::Unread,
    },
    text::{self, redactor::Redactor},
};

/// So many places that the sandbox could not open are told.
const UNUSABLE_TOLD: usize = 3;
/// A longer file name, in bytes, is not advised.
const SPEC_BYTES: usize = 200;

/// The answer of `run_tests`.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunAnswer {
    /// Exit status 0, at least one test ran, and nothing failed, was interrupted or left out.
    ok: bool,
    /// completed, failed, timedOut or cancelled.
    state: &'static str,
    run_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "i32", default)]
    exit_code: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "i32", default)]
    signal: Option<i32>,
    duration_ms: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "StatsAnswer", default)]
    stats: Option<StatsAnswer>,
    /// What failed outside any test: config, setup, web server, no tests found.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(default)]
    errors: Vec<ErrorAnswer>,
    tests: Vec<TestAnswer>,
    /// Tests that found no place in this answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u64", default)]
    omitted: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", default)]
    output_tail: Option<String>,
    /// What the sandbox refused, with the policy key; what speaks against the report.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(default)]
    hints: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", default)]
    results_file: Option<String>,
    sandbox: SandboxAnswer,
    /// What to call next.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", default)]
    next: Option<String>,
}

/// How the run was confined.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct SandboxAnswer {
    /// full, partial or absent.
    level: &'static str,
    /// What the policy asks and this system can't enforce.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(default)]
    missing: Vec<&'static str>,
}

impl SandboxAnswer {
    fn of(enforcement: Option<&Enforcement>) -> Self {
        let level = enforcement.map_or(Level::Absent, |holds| holds.level).name();
        let missing = enforcement.map_or(&[][..], |holds| &holds.missing);
        Self { level, missing: missing.iter().map(|feature| feature.name()).collect() }
    }
}

/// All that an answer is made from.
pub struct Told<'run> {
    /// The run.
    pub past: &'run PastRun,
    /// Its project.
    pub project: &'run Path,
    /// The same, opened.
    pub dir: &'run DirHandle,
    /// The directory that the server was started in.
    pub launch: &'run Path,
    /// How it ended.
    pub stopped: &'run Stopped,
    /// Its report, or why there is none.
    pub report: &'run Result<Report, Unread>,
    /// What speaks against the report.
    pub doubt: Option<&'run str>,
    /// What may not be repeated.
    pub redactor: &'run Redactor,
    /// What it was confined to.
    pub plan: &'run Plan,
    /// Which tests are wanted.
    pub include: IncludeTests,
    /// What held.
    pub enforcement: Option<&'run Enforcement>,
    /// Where the report is.
    pub results_file: Option<String>,
}

impl Told<'_> {
    /// The answer, under caps, with the hints of [`Self::hints`].
    pub fn answer(&self, hints: &[String], caps: Caps) -> RunAnswer {
        let (stats, mut errors, tests, selected) = match self.report {
            Ok(report) => {
                let teller = Teller::new(report, self.project, self.redactor);
                let selected = self.select(report);
                let tests = teller.tests(&selected, Detail::Brief, caps);
                (Some(StatsAnswer::from(report.stats)), teller.errors(caps), tests, selected.len())
            }
            Err(_) => (None, Vec::new(), Vec::new(), 0),
        };
        errors.extend(self.unreported(caps));
        errors.extend(self.survivors());
        let omitted = selected.checked_sub(tests.len()).filter(|omitted| *omitted > 0);
        let output_tail = if errors.is_empty() { None } else { self.output_tail(caps) };
        RunAnswer {
            ok: self.is_ok(),
            state: word(self.stopped),
            run_id: self.past.run.to_string(),
            exit_code: self.stopped.exit_code,
            signal: self.stopped.signal,
            duration_ms: self.stopped.duration_ms,
            stats,
            next: self.next(omitted, tests.len()),
            errors,
            tests,
            omitted,
            output_tail,
            hints: hints.to_vec(),
            results_file: self.results_file.clone(),
            sandbox: SandboxAnswer::of(self.enforcement),
        }
    }

    fn select<'report>(&self, report: &'report Report) -> Vec<&'report TestCase> {
        let wanted = |test: &&TestCase| self.include == IncludeTests::All || test.outcome.has_failures();
        let mut tests: Vec<&TestCase> = report.tests.iter().filter(wanted).collect();
        if self.include == IncludeTests::Failed {
            // What failed comes before what passed in the end.
            tests.sort_by_key(|test| !is_failed(test));
        }
        tests
    }

    /// Green only if nothing speaks against it: a run that was cut short looks green in Playwright's report.
    fn is_ok(&self) -> bool {
        let report = self.report.as_ref().ok();
        report.is_some_and(|report| {
            let stats = report.stats;
            let unfinished = stats.failed + stats.interrupted + stats.did_not_run;
            let whole = report.incomplete.is_none() && self.stopped.survivors == 0;
            let clean = unfinished == 0 && report.errors.is_empty() && whole;
            let by_itself = self.stopped.reason == StopReason::Exited && self.stopped.exit_code == Some(0);
            clean && stats.passed + stats.flaky > 0 && by_itself
        })
    }

    /// What went wrong with the report itself: Playwright writes none when the config does not load.
    fn unreported(&self, caps: Caps) -> Option<ErrorAnswer> {
        let message = match self.report {
            Ok(report) => format!("the run's report is incomplete: {}", report.incomplete.as_ref()?),
            Err(why) if !why.is_missing() => format!("the run's report can't be read: {}", text::chain(why)),
            Err(_) => {
                self.complaint().unwrap_or_else(|| "Playwright wrote no report and no output".to_owned())
            }
        };
        Some(ErrorAnswer {
            message: text::keep_tail(&message, caps.message).into_owned(),
            at: None,
            code: None,
        })
    }

    /// That processes of the run are still there; only a broken system, or a storm of forks, comes to this.
    fn survivors(&self) -> Option<ErrorAnswer> {
        let survivors = Some(self.stopped.survivors).filter(|survivors| *survivors > 0)?;
        let message = format!("{survivors} processes of the run could not be ended and may still be there");
        Some(ErrorAnswer { message, at: None, code: None })
    }

    /// What was said instead of a report.
    fn complaint(&self) -> Option<String> {
        let missing = self.report.as_ref().is_err_and(Unread::is_missing);
        let said = [&self.stopped.stderr, &self.stopped.stdout].map(|tail| self.output(tail));
        said.into_iter().find(|said| missing && !said.is_empty())
    }

    fn output_tail(&self, caps: Caps) -> Option<String> {
        let tails = [&self.stopped.stdout, &self.stopped.stderr].map(|tail| self.output(tail));
        let told = self.complaint();
        let news = tails.into_iter().filter(|tail| !tail.is_empty() && told.as_ref() != Some(tail));
        let tail = news.collect::<Vec<_>>().join("\n");
        (!tail.is_empty() && caps.output > 0).then(|| text::keep_tail(&tail, 2 * caps.output).into_owned())
    }

    /// What was said, without the line that the cut of a tail went through: it may hold half a secret.
    fn output(&self, tail: &Tail) -> String {
        let whole = u64::try_from(tail.text.len()).is_ok_and(|kept| tail.total_bytes <= kept);
        let text = if whole {
            &tail.text
        } else {
            tail.text.split_once(char::is_whitespace).map_or(tail.text.as_str(), |(_, rest)| rest)
        };
        self.redactor.redact(without_foreign_frames(&text::printable(text)).trim()).into_owned()
    }

    /// What the sandbox refused, what it could not open, what speaks against the report. The same under all caps.
    pub fn hints(&self) -> Vec<String> {
        let report = self.report.as_ref().ok();
        let failures = report.into_iter().flat_map(|report| {
            let attempts = report.tests.iter().flat_map(|test| &test.attempts);
            attempts.flat_map(|attempt| &attempt.failures).chain(&report.errors)
        });
        let texts = failures.map(|failure| failure.message.as_str());
        let outputs = [self.stopped.stdout.text.as_str(), self.stopped.stderr.text.as_str()];
        let mut hints = refusal::hints(self.plan, self.project, texts.chain(outputs));
        let unusable = self.enforcement.into_iter().flat_map(|holds| &holds.unusable).take(UNUSABLE_TOLD);
        hints.extend(unusable.map(|path| {
            format!(
                "the sandbox can't open `{}`, which the policy names, so nothing is allowed there",
                path.display()
            )
        }));
        hints.extend(self.doubt.map(str::to_owned));
        hints.iter().map(|hint| self.redactor.redact(&text::printable(hint)).into_owned()).collect()
    }

    /// The arguments of a next call: in the same project, unless it is the default one.
    fn with_directory(&self, arguments: Value) -> Value {
        let mut all = Map::new();
        if self.project != self.launch {
            let directory = self.project.strip_prefix(self.launch).unwrap_or(self.project);
            all.insert("workingDirectory".to_owned(), json!(directory.display().to_string()));
        }
        if let Value::Object(arguments) = arguments {
            all.extend(arguments);
        }
        Value::Object(all)
    }

    fn next(&self, omitted: Option<usize>, told: usize) -> Option<String> {
        let report = self.report.as_ref().ok()?;
        if let Some(omitted) = omitted {
            let run = self.past.run.to_string();
            let failed = report.tests.iter().filter(|test| is_failed(test)).count();
            let page = match (self.include, told.checked_sub(failed)) {
                (IncludeTests::All, _) => json!({ "runId": run, "include": "all" }),
                (IncludeTests::Failed, None) => json!({ "runId": run, "cursor": told.to_string() }),
                (IncludeTests::Failed, Some(flaky)) => {
                    json!({ "runId": run, "include": "flaky", "cursor": flaky.to_string() })
                }
            };
            return Some(format!("get_failed_tests {} for the other {omitted}", self.with_directory(page)));
        }
        let first = report.tests.iter().find(|test| test.outcome.has_failures())?;
        // A report may name anything: only a file that is there is advised.
        let file = report.file_in(self.project, first);
        let name = RelPath::parse(&file).ok().filter(|_| file.len() <= SPEC_BYTES)?;
        self.dir.kind_of(&name).ok().flatten().filter(|kind| *kind == EntryKind::File)?;
        let spec = format!("{file}:{}", first.line);
        Some(format!("run_tests {} after the fix", self.with_directory(json!({ "spec": spec }))))
    }
}

/// Whether a test failed in the end; a flaky one did not.
fn is_failed(test: &TestCase) -> bool {
    test.outcome.has_failures() && test.outcome != Outcome::Flaky
}

/// How a run ended, in a word.
pub fn word(stopped: &Stopped) -> &'static str {
    match stopped.reason {
        StopReason::TimedOut => "timedOut",
        StopReason::Ordered => "cancelled",
        StopReason::Exited if stopped.exit_code == Some(0) => "completed",
        StopReason::Exited => "failed",
    }
}
