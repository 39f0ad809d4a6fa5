//! What kind of failure it is, and whose: the test's, a hook's, a fixture's, the worker's, the run's.
//!
//! In: the parts of an error. Out: a `FailureKind`. Playwright's report names a hook or a fixture only when its time
//! was up; otherwise the code frame and the stack are read, and in doubt it is a plain failure.

use std::fmt;

use crate::report::failure::stack::StackFrame;

/// What kind of failure it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FailureKind {
    /// An error or a failed assertion, of the test as far as one can tell.
    Error,
    /// The test's time was up.
    TimedOut,
    /// A hook failed or took too long: `beforeAll`, `beforeEach`, `afterEach`, `afterAll`.
    Hook(String),
    /// A fixture failed or took too long.
    Fixture(String),
    /// The worker process ended by itself or was killed.
    WorkerCrashed,
    /// Ending a worker failed: its tests passed, the run did not.
    WorkerTeardown,
    /// The test was expected to fail, and passed.
    UnexpectedPass,
    /// The run was stopped while the test was running.
    Interrupted,
    /// The attempt failed, and the report does not say why.
    Unexplained,
    /// No test matched.
    NoTests,
    /// The time of the whole run was up (`globalTimeout`).
    RunTimedOut,
    /// The run ended after as many failures as `maxFailures` allows.
    StoppedEarly,
    /// The web server of the config did not start.
    WebServer,
}

impl fmt::Display for FailureKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Error => f.write_str("failed"),
            Self::TimedOut => f.write_str("timed out"),
            Self::Hook(name) => write!(f, "`{name}` hook failed"),
            Self::Fixture(name) => write!(f, "fixture `{name}` failed"),
            Self::WorkerCrashed => f.write_str("worker process crashed"),
            Self::WorkerTeardown => f.write_str("worker teardown failed"),
            Self::UnexpectedPass => f.write_str("expected to fail, but passed"),
            Self::Interrupted => f.write_str("interrupted"),
            Self::Unexplained => f.write_str("failed without an error"),
            Self::NoTests => f.write_str("no tests found"),
            Self::RunTimedOut => f.write_str("the run timed out"),
            Self::StoppedEarly => f.write_str("stopped after the allowed number of failures"),
            Self::WebServer => f.write_str("the web server did not start"),
        }
    }
}

/// Finds the kind of an error. `column` is where in the marked line of the code frame it happened, from 1; 0 if unknown.
pub(super) fn kind(message: &str, code: Option<&str>, column: u32, frames: &[StackFrame]) -> FailureKind {
    by_message(message)
        .or_else(|| hook_in(code?, column).map(FailureKind::Hook))
        .or_else(|| fixture_in(frames).map(FailureKind::Fixture))
        .unwrap_or(FailureKind::Error)
}

/// Reads the sentences that Playwright itself writes (`workerMain.ts`, `timeoutManager.ts`, `dispatcher.ts`, `tasks.ts`).
fn by_message(message: &str) -> Option<FailureKind> {
    let first = message.lines().next().unwrap_or_default();
    let first = first.strip_prefix("Error: ").unwrap_or(first);
    let named = |before: &str| quoted(first.split_once(before)?.1);
    if first.starts_with("Test timeout of ") {
        let hook = named("exceeded while running ").map(FailureKind::Hook);
        let fixture =
            || named("exceeded while setting up ").or_else(|| named("exceeded while tearing down "));
        return Some(hook.or_else(|| fixture().map(FailureKind::Fixture)).unwrap_or(FailureKind::TimedOut));
    }
    if first.starts_with("Fixture ") && first.contains(" timeout of ") {
        return named("Fixture ").map(FailureKind::Fixture);
    }
    if first.starts_with("Tearing down ") && first.contains(" exceeded the test timeout of ") {
        return named("Tearing down ").map(FailureKind::Fixture);
    }
    if first.contains(" hook timeout of ") && first.contains("exceeded") {
        return quoted(first).map(FailureKind::Hook);
    }
    if first.starts_with("worker process exited unexpectedly") {
        return Some(FailureKind::WorkerCrashed);
    }
    if first.starts_with("Worker teardown timeout of ") || message.contains("\nFailed worker ran ") {
        return Some(FailureKind::WorkerTeardown);
    }
    if first.starts_with("No tests found") {
        return Some(FailureKind::NoTests);
    }
    if first.starts_with("Timed out waiting ") && first.contains("for the ") && first.ends_with(" to run") {
        return Some(FailureKind::RunTimedOut);
    }
    if first.starts_with("Testing stopped early after ") {
        return Some(FailureKind::StoppedEarly);
    }
    first.contains("config.webServer").then_some(FailureKind::WebServer)
}

/// Gives what stands in quotes at the start of a text.
fn quoted(text: &str) -> Option<String> {
    let (name, _) = text.strip_prefix('"')?.split_once('"')?;
    Some(name.to_owned())
}

/// Finds the hook whose body holds the marked line, if the code frame shows its head.
fn hook_in(code: &str, column: u32) -> Option<String> {
    let lines: Vec<(&str, bool)> = code.lines().filter_map(source_line).collect();
    let at = lines.iter().position(|(_, marked)| *marked)?;
    let (marked, above) = lines.get(..=at)?.split_last()?;
    let before = marked.0.char_indices().nth(column.saturating_sub(1) as usize);
    let head = before.and_then(|(end, _)| marked.0.get(..end)).unwrap_or(marked.0);
    if let Some(call) = last_call(head) {
        return call.hook();
    }
    let mut indent = indent_of(marked.0);
    for (line, _) in above.iter().rev().filter(|(line, _)| !line.trim().is_empty()) {
        if indent_of(line) < indent {
            indent = indent_of(line);
            if let Some(call) = last_call(line) {
                return call.hook();
            }
        }
    }
    None
}

/// Gives the source of a line of a code frame, and whether it is the marked one.
fn source_line(line: &str) -> Option<(&str, bool)> {
    let (number, source) = line.split_once(" |")?;
    let marked = number.starts_with('>');
    let is_number = number.trim_start_matches('>').trim().parse::<u32>().is_ok();
    is_number.then(|| (source.strip_prefix(' ').unwrap_or(source), marked))
}

fn indent_of(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// A call that takes a body.
#[derive(Clone, Copy)]
enum Call {
    Hook(&'static str),
    Test,
}

impl Call {
    fn hook(self) -> Option<String> {
        match self {
            Self::Hook(name) => Some(name.to_owned()),
            Self::Test => None,
        }
    }
}

/// Finds the last call of a hook or of `test` in a line.
fn last_call(line: &str) -> Option<Call> {
    const CALLS: [(&str, Call); 6] = [
        ("beforeAll(", Call::Hook("beforeAll")),
        ("beforeEach(", Call::Hook("beforeEach")),
        ("afterEach(", Call::Hook("afterEach")),
        ("afterAll(", Call::Hook("afterAll")),
        ("test(", Call::Test),
        ("it(", Call::Test),
    ];
    let start_of_word =
        |at: usize| !line.get(..at).unwrap_or_default().ends_with(|c: char| c.is_alphanumeric() || c == '_');
    let found = CALLS.iter().filter_map(|(word, call)| {
        let at = line.rmatch_indices(word).map(|(at, _)| at).find(|&at| start_of_word(at))?;
        Some((at, *call))
    });
    found.max_by_key(|(at, _)| *at).map(|(_, call)| call)
}

/// Finds the fixture in the outermost own frame: fixtures are methods of an object, test bodies have no name.
fn fixture_in(frames: &[StackFrame]) -> Option<String> {
    let function = frames.last()?.function.as_deref()?;
    let name = match function.split_once(".extend.") {
        Some((_, name)) => name.split('.').next()?,
        None => function.strip_prefix("Object.")?,
    };
    let is_name = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
    (!name.is_empty() && name.chars().all(is_name)).then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::location::{Location, ReportedPath};
    use FailureKind::{Error, Fixture, Hook};

    #[test]
    fn a_failure_is_named_for_what_failed() {
        let hook = |name: &str| Hook(name.to_owned());
        let fixture = |name: &str| Fixture(name.to_owned());
        for (message, expected) in [
            ("Error: boom", Error),
            ("Test timeout of 700ms exceeded.", FailureKind::TimedOut),
            ("Test timeout of 700ms exceeded while running \"beforeEach\" hook.", hook("beforeEach")),
            ("Test timeout of 700ms exceeded while setting up \"page\".", fixture("page")),
            ("Tearing down \"context\" exceeded the test timeout of 700ms.", fixture("context")),
            ("\"afterAll\" hook timeout of 700ms exceeded.", hook("afterAll")),
            ("Fixture \"slow\" timeout of 300ms exceeded during setup.", fixture("slow")),
            ("Error: worker process exited unexpectedly (code=7, signal=null)", FailureKind::WorkerCrashed),
            ("Worker teardown timeout of 30000ms exceeded.", FailureKind::WorkerTeardown),
            ("Error: x\n\nFailed worker ran 2 tests:\na\nb", FailureKind::WorkerTeardown),
            ("Error: No tests found", FailureKind::NoTests),
            ("Timed out waiting 3s for the test suite to run", FailureKind::RunTimedOut),
            ("Testing stopped early after 1 maximum allowed failures.", FailureKind::StoppedEarly),
            (
                "Error: Process from config.webServer was not able to start. Exit code: 1",
                FailureKind::WebServer,
            ),
            ("TimeoutError: locator.click: Timeout 1500ms exceeded.", Error),
        ] {
            assert_eq!(kind(message, None, 0, &[]), expected, "{message}");
        }
    }

    #[test]
    fn a_hook_is_found_in_the_code_frame() {
        for (rule, code, column, expected) in [
            ("on one line", "> 3 |   test.beforeEach(async () => { throw x; });", 33, Some("beforeEach")),
            (
                "named",
                "> 3 | test.beforeAll('named hook', async () => { expect(1); });",
                44,
                Some("beforeAll"),
            ),
            (
                "above",
                "  1 | test.afterAll(async () => {\n  2 |   a();\n> 3 |   b();\n    |   ^",
                3,
                Some("afterAll"),
            ),
            (
                "in a block",
                "  1 | beforeEach(() => {\n  2 |   if (a) {\n> 3 |     b();",
                5,
                Some("beforeEach"),
            ),
            ("a test", "  1 | test('x', async () => {\n> 2 |   b();", 3, None),
            (
                "a test after a hook",
                "  1 | test.beforeAll(x);\n  2 | test('x', async () => {\n> 3 |   b();",
                3,
                None,
            ),
            ("a hook that has ended", "  1 | test.beforeAll(() => {\n  2 | });\n> 3 | b();", 1, None),
            (
                "before a test on one line",
                "> 1 | test.beforeEach(() => { x(); }); test('x', f);",
                25,
                Some("beforeEach"),
            ),
            ("after a hook on one line", "> 1 | test.beforeEach(f); test('x', () => { x(); });", 39, None),
            ("a word that ends alike", "> 1 | myafterAll(x); y();", 16, None),
        ] {
            assert_eq!(hook_in(code, column).as_deref(), expected, "{rule}");
        }
    }

    #[test]
    fn a_fixture_is_found_in_the_outermost_frame() {
        let frame = |function: Option<&str>| StackFrame {
            function: function.map(str::to_owned),
            location: Location { file: ReportedPath::new("/p/a.ts"), line: 1, column: 1 },
        };
        for (rule, functions, expected) in [
            ("a method", &[Some("Object.badSetup")][..], Some("badSetup")),
            ("with options", &[Some("Object._test.test.extend.badWorker.scope")], Some("badWorker")),
            ("called by a test", &[Some("Object.login"), None], None),
            ("a module", &[Some("Object.<anonymous>")], None),
            ("a function", &[Some("helper")], None),
            ("no frame", &[], None),
        ] {
            let frames: Vec<_> = functions.iter().map(|function| frame(*function)).collect();
            assert_eq!(fixture_in(&frames).as_deref(), expected, "{rule}");
        }
    }
}
