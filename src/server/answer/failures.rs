//! Tests and errors as an agent reads them: what failed, where, why, each error told once.
//!
//! In: a report. Out: serialisable rows, capped. Which tests they are, and the rest of an answer, is left to the tools.

use std::{collections::HashMap, path::Path, sync::Arc};

use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    report::{
        Attempt, AttemptStatus, Report, TestCase,
        failure::{Failure, blame::FailureKind},
        location::Location,
        outcome::{Outcome, Stats},
        short_id::short_ids,
    },
    server::answer::fit::Caps,
    text::{self, redactor::Redactor},
};

/// So many tags, annotations and attachments of a test are told.
const ITEMS: usize = 10;

/// How many tests came out how.
#[derive(Clone, Copy, Debug, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StatsAnswer {
    total: u64,
    passed: u64,
    failed: u64,
    flaky: u64,
    skipped: u64,
    #[serde(skip_serializing_if = "is_zero")]
    #[schemars(default)]
    did_not_run: u64,
    #[serde(skip_serializing_if = "is_zero")]
    #[schemars(default)]
    interrupted: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl From<Stats> for StatsAnswer {
    fn from(stats: Stats) -> Self {
        let Stats { total, passed, failed, flaky, skipped, did_not_run, interrupted } = stats;
        Self { total, passed, failed, flaky, skipped, did_not_run, interrupted }
    }
}

/// An error outside any test, or one more error of a test.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ErrorAnswer {
    /// What it says.
    pub message: String,
    /// Where, as `file:line:column`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", default)]
    pub at: Option<String>,
    /// The line of code.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", default)]
    pub code: Option<String>,
}

/// One test.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TestAnswer {
    id: String,
    title: String,
    /// `file:line:column` of the failure where it is in the test's file, else of the test.
    at: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schemars(default)]
    project: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", default)]
    status: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", default)]
    same_error_as: Option<String>,
    /// What kind of failure it is, where it is no plain one: a hook, a fixture, a crash, an unexpected pass.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", default)]
    reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", default)]
    error: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", default)]
    code: Option<String>,
    /// The project's own frames, where the error is not in the test's file.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(default)]
    stack: Vec<String>,
    /// Further errors of the same attempt.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(default)]
    errors: Vec<ErrorAnswer>,
    /// The statuses of all attempts, where there were several.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(default)]
    attempts: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(default)]
    tags: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(default)]
    annotations: Vec<String>,
    /// The names of the attachments.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(default)]
    attachments: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", default)]
    stdout: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", default)]
    stderr: Option<String>,
}

/// Which details of a test are told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    /// What one needs to mend it.
    Brief,
    /// Tags and annotations too.
    Whole,
}

/// Turns the tests of one report into answers.
pub struct Teller<'report> {
    report: &'report Report,
    project: &'report Path,
    redactor: &'report Redactor,
    ids: HashMap<Arc<str>, &'report str>,
}

impl<'report> Teller<'report> {
    /// A teller for one report, with paths relative to the project.
    pub fn new(report: &'report Report, project: &'report Path, redactor: &'report Redactor) -> Self {
        Self { report, project, redactor, ids: short_ids(&report.tests) }
    }

    /// Tells tests: the first in full, the others in a line, the same error once.
    pub fn tests(&self, tests: &[&TestCase], detail: Detail, caps: Caps) -> Vec<TestAnswer> {
        let mut told: HashMap<String, String> = HashMap::new();
        let mut full = 0;
        let mut answers = Vec::new();
        for test in tests.iter().take(caps.tests) {
            let mut answer = self.line(test, caps);
            if let Some((attempt, failure)) = telling(test) {
                answer.at = self.clean(&self.place(test, failure), caps.line);
                let known = told.get(failure.text()).cloned();
                if known.is_none() {
                    told.insert(failure.text().to_owned(), answer.id.clone());
                }
                if known.is_none() && full < caps.full {
                    full += 1;
                    self.explain(&mut answer, test, attempt, caps);
                }
                answer.same_error_as = known;
            }
            if detail == Detail::Whole {
                answer.tags = test.tags.iter().take(ITEMS).map(|tag| self.clean(tag, caps.line)).collect();
                let notes = test.annotations.iter().map(|note| match &note.description {
                    Some(description) => format!("{}: {description}", note.kind),
                    None => note.kind.clone(),
                });
                answer.annotations = notes.take(ITEMS).map(|note| self.clean(&note, caps.line)).collect();
            }
            answers.push(answer);
        }
        answers
    }

    /// Tells the errors that belong to no test.
    pub fn errors(&self, caps: Caps) -> Vec<ErrorAnswer> {
        self.report.errors.iter().take(caps.full.max(1)).map(|failure| self.error(failure, caps)).collect()
    }

    fn line(&self, test: &TestCase, caps: Caps) -> TestAnswer {
        let id = self.ids.get(&test.id).copied().unwrap_or_default();
        let file = self.report.file_in(self.project, test);
        TestAnswer {
            id: id.to_owned(),
            title: self.clean(&test.title_path(), caps.line),
            at: self.clean(&format!("{file}:{}:{}", test.line, test.column), caps.line),
            project: self.clean(&test.project, caps.line),
            status: Some(status(test)),
            ..TestAnswer::default()
        }
    }

    fn explain(&self, answer: &mut TestAnswer, test: &TestCase, attempt: &Attempt, caps: Caps) {
        let mut failures = attempt.failures.iter();
        if let Some(failure) = failures.next() {
            answer.reason = reason(&failure.kind);
            answer.error = Some(self.message(failure, caps));
            answer.code = failure.marked_line().map(|line| self.clean(line.trim_end(), caps.line));
            answer.stack = self.stack(test, failure, caps);
        }
        answer.errors = failures.take(caps.errors).map(|failure| self.error(failure, caps)).collect();
        if test.attempts.len() > 1 {
            answer.attempts = test.attempts.iter().map(|attempt| attempt.status.to_string()).collect();
        }
        let names = attempt.attachments.iter().filter(|attachment| !attachment.name.starts_with('_'));
        answer.attachments =
            names.take(ITEMS).map(|attachment| self.clean(&attachment.name, caps.line)).collect();
        answer.attachments.dedup();
        answer.stdout = self.output(&attempt.stdout.text, caps);
        answer.stderr = self.output(&attempt.stderr.text, caps);
    }

    fn error(&self, failure: &Failure, caps: Caps) -> ErrorAnswer {
        ErrorAnswer {
            message: self.message(failure, caps),
            at: failure.location.as_ref().map(|place| self.clean(&self.location(place), caps.line)),
            code: failure.marked_line().map(|line| self.clean(line.trim_end(), caps.line)),
        }
    }

    fn message(&self, failure: &Failure, caps: Caps) -> String {
        let mut message = compact(failure.text());
        for cause in &failure.causes {
            message = format!("{message}\ncaused by: {}", compact(&cause.message));
        }
        self.clean(&message, caps.message)
    }

    /// The failure's own place where it is in the test's file; elsewhere the test's, and the stack tells the rest.
    fn place(&self, test: &TestCase, failure: &Failure) -> String {
        let file = self.report.file_in(self.project, test);
        let here = failure.location.as_ref().filter(|place| place.file.relative_to(self.project) == *file);
        match here {
            Some(place) => self.location(place),
            None => format!("{file}:{}:{}", test.line, test.column),
        }
    }

    fn stack(&self, test: &TestCase, failure: &Failure, caps: Caps) -> Vec<String> {
        let file = self.report.file_in(self.project, test);
        let elsewhere =
            failure.frames.iter().any(|frame| frame.location.file.relative_to(self.project) != *file);
        if !elsewhere {
            return Vec::new();
        }
        let frame = |location: &Location| self.clean(&self.location(location), caps.line);
        failure.frames.iter().take(5).map(|place| frame(&place.location)).collect()
    }

    fn location(&self, location: &Location) -> String {
        format!("{}:{}:{}", location.file.relative_to(self.project), location.line, location.column)
    }

    fn output(&self, output: &str, caps: Caps) -> Option<String> {
        let output = self.redactor.redact(output.trim());
        (!output.is_empty() && caps.output > 0).then(|| text::keep_tail(&output, caps.output).into_owned())
    }

    /// Secrets are taken out before a text is cut, so that no half of one stays.
    fn clean(&self, text: &str, bytes: usize) -> String {
        text::cut_middle(&self.redactor.redact(text), bytes).into_owned()
    }
}

/// The attempt that tells most, with its first error: the last one of a test that failed, the first that failed of a
/// flaky one.
fn telling(test: &TestCase) -> Option<(&Attempt, &Failure)> {
    if !test.outcome.has_failures() {
        return None;
    }
    let with_failure = |attempt: &'_ &Attempt| !attempt.failures.is_empty();
    let attempt = match test.outcome {
        Outcome::Flaky => test.attempts.iter().find(with_failure),
        Outcome::Failed | Outcome::Interrupted | Outcome::Passed | Outcome::Skipped | Outcome::DidNotRun => {
            test.attempts.iter().rev().find(with_failure)
        }
    }?;
    Some((attempt, attempt.failures.first()?))
}

/// Playwright's word for how a test ended; where it has none, ours.
fn status(test: &TestCase) -> String {
    let last = test.attempts.last().map(|attempt| &attempt.status);
    match test.outcome {
        Outcome::Passed => "passed".to_owned(),
        Outcome::Flaky => "flaky".to_owned(),
        Outcome::Skipped => "skipped".to_owned(),
        Outcome::DidNotRun => "didNotRun".to_owned(),
        Outcome::Interrupted => "interrupted".to_owned(),
        Outcome::Failed => match last {
            Some(AttemptStatus::Passed) | None => "failed".to_owned(),
            Some(status) => status.to_string(),
        },
    }
}

fn reason(kind: &FailureKind) -> Option<String> {
    match kind {
        FailureKind::Error | FailureKind::TimedOut | FailureKind::Interrupted => None,
        FailureKind::Hook(_)
        | FailureKind::Fixture(_)
        | FailureKind::WorkerCrashed
        | FailureKind::WorkerTeardown
        | FailureKind::UnexpectedPass
        | FailureKind::Unexplained
        | FailureKind::NoTests
        | FailureKind::RunTimedOut
        | FailureKind::StoppedEarly
        | FailureKind::WebServer => Some(kind.to_string()),
    }
}

/// A text without empty lines and trailing blanks: Playwright's messages are set for a terminal.
fn compact(text: &str) -> String {
    let has_browser_log = text.contains("\nBrowser logs:");
    let is_noise = |line: &str| line.is_empty() || has_browser_log && repeats_browser_log(line);
    let told = text.lines().map(str::trim_end).filter(|line| !is_noise(line));
    let lines: Vec<&str> = told.map(without_switches).collect();
    lines.join("\n")
}

/// What a browser was launched with, without its 3 KB of switches, which hide why it died.
fn without_switches(line: &str) -> &str {
    match line.split_once(" --") {
        Some((program, _)) if program.contains("<launching> ") => program,
        Some(_) | None => line,
    }
}

/// Whether a line of a call log stands in the log of the browser above, or tells of the cleaning up. How the browser
/// ended does not.
fn repeats_browser_log(line: &str) -> bool {
    let entry = line.trim_start().strip_prefix("- ");
    let of_browser = |entry: &str| entry.starts_with("<launch") || entry.starts_with("[pid=");
    entry.is_some_and(|entry| of_browser(entry) && !entry.contains("<process did exit"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_told_without_what_a_terminal_or_a_launcher_adds() {
        for (rule, text, expected) in [
            ("blank lines and ends go", "a \n\n  b\n", "a\n  b"),
            (
                "a launch tells the program and why it died",
                "closed\nBrowser logs:\n\n<launching> /opt/my chrome --a --b=c\n<launched> pid=7\n\
                 [pid=7][err] FATAL: no socket\nCall log:\n  - <launching> /opt/my chrome --a --b=c\n  \
                 - <launched> pid=7\n  - [pid=7][err] FATAL: no socket\n  - [pid=7] <kill>\n  \
                 - [pid=7] <process did exit: exitCode=null, signal=SIGABRT>\n",
                "closed\nBrowser logs:\n<launching> /opt/my chrome\n<launched> pid=7\n\
                 [pid=7][err] FATAL: no socket\nCall log:\n  \
                 - [pid=7] <process did exit: exitCode=null, signal=SIGABRT>",
            ),
            (
                "a call log without a browser's own log stays",
                "timeout\nCall log:\n  - <launching> /c --a\n  - [pid=7] <kill>",
                "timeout\nCall log:\n  - <launching> /c\n  - [pid=7] <kill>",
            ),
            ("a difference stays", "-  [pid=7] --x\n+  [pid=8] --x", "-  [pid=7] --x\n+  [pid=8] --x"),
        ] {
            assert_eq!(compact(text), expected, "{rule}");
        }
    }
}
