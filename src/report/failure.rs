//! Error texts taken apart: message, code frame, own stack frames, causes.
//!
//! In: an error as Playwright stores it (`results[].error`) or as it renders it (`results[].errors[].message`: message,
//! code frame, stack, causes, in one text). Out: a `Failure`. Telling which error is the same as another is left to
//! `answer`.

use crate::report::AttemptStatus;
use crate::report::failure::blame::FailureKind;
use crate::report::failure::stack::StackFrame;
use crate::report::location::Location;
use crate::text::{cut_end, cut_middle};

/// What kind of failure it is, and whose.
pub mod blame;
/// The lines of a stack.
pub mod stack;

/// The most bytes kept of a failure's message.
pub const MAX_MESSAGE_BYTES: usize = 32 << 10;
/// The most bytes kept of one line of a code frame: generated sources have long ones.
pub const MAX_CODE_LINE_BYTES: usize = 400;
/// The most lines kept of a code frame.
pub const MAX_CODE_LINES: usize = 20;
/// The most causes kept of a failure.
pub const MAX_CAUSES: usize = 8;

/// One thing that went wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// What kind it is.
    pub kind: FailureKind,
    /// What Playwright, the assertion or the test says; at most [`MAX_MESSAGE_BYTES`] and a note of the cut.
    pub message: String,
    /// The lines of the source around it, the failing one marked: `> 31 |   await expect(…`.
    pub code_frame: Option<String>,
    /// The frames of its stack that are the project's own, the innermost first.
    pub frames: Vec<StackFrame>,
    /// Where it happened.
    pub location: Option<Location>,
    /// The errors that caused it, the nearest first.
    pub causes: Vec<Cause>,
}

/// An error that caused another one (`error.cause`; Playwright 1.49 and later).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cause {
    /// What it says.
    pub message: String,
    /// The project's own frames of its stack.
    pub frames: Vec<StackFrame>,
}

/// An error as Playwright stores it, its texts printable
/// (<https://playwright.dev/docs/api/class-testerror>).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StoredError {
    /// The message; absent where something else than an `Error` was thrown.
    pub message: Option<String>,
    /// The message and the stack.
    pub stack: Option<String>,
    /// What was thrown, if no `Error`.
    pub value: Option<String>,
    /// The lines of the source around it.
    pub snippet: Option<String>,
    /// Where it happened.
    pub location: Option<Location>,
    /// What caused it.
    pub cause: Option<Box<StoredError>>,
}

impl Failure {
    /// Takes an error apart that is stored in parts.
    pub fn from_stored(error: &StoredError) -> Self {
        let message = error.message.as_deref().or(error.value.as_deref()).unwrap_or_default();
        let stack = error.stack.as_deref().unwrap_or_default();
        let mut parts = Parts::split(message);
        let snippet = error.snippet.as_deref().map(Parts::split).and_then(|snippet| snippet.code_frame);
        parts.code_frame = snippet.or(parts.code_frame);
        if parts.stack.is_empty() {
            parts.stack = match stack.strip_prefix(message) {
                Some(frames) => frames.lines().collect(),
                None => Parts::split(stack).stack,
            };
        }
        let mut causes = Vec::new();
        let mut next = error.cause.as_deref();
        while let Some(cause) = next.filter(|_| causes.len() < MAX_CAUSES) {
            let message = cause.message.as_deref().or(cause.value.as_deref()).unwrap_or_default();
            let frames = stack::own_frames(cause.stack.as_deref().unwrap_or_default().lines());
            causes.push(Cause { message: cut_middle(message, MAX_MESSAGE_BYTES).into_owned(), frames });
            next = cause.cause.as_deref();
        }
        Self::assemble(&parts, error.location.as_ref(), causes)
    }

    /// Takes a rendered error text apart, which must be printable already.
    ///
    /// `stored` is the same error in parts, where the report has it: then the message ends where it says.
    pub fn from_rendered(text: &str, location: Option<&Location>, stored: Option<&StoredError>) -> Self {
        let mut chain = text.split("\n[cause]: ");
        let own = chain.next().unwrap_or_default();
        let known = stored.and_then(|error| error.message.as_deref()).filter(|message| !message.is_empty());
        let parts = match known.and_then(|message| Some((message, own.strip_prefix(message)?))) {
            Some((message, rest)) => {
                let rest = Parts::split(rest);
                let end = message.len() + rest.message.len();
                Parts { message: own.get(..end).unwrap_or(own).trim_end(), ..rest }
            }
            None => Parts::split(own),
        };
        let causes = chain
            .take(MAX_CAUSES)
            .map(|text| {
                let cause = Parts::split(text);
                Cause {
                    message: cut_middle(cause.message, MAX_MESSAGE_BYTES).into_owned(),
                    frames: stack::own_frames(cause.stack.into_iter()),
                }
            })
            .collect();
        Self::assemble(&parts, location, causes)
    }

    /// Gives the failure of an attempt for which the report holds no error; `None` where none is due.
    pub fn without_error(status: &AttemptStatus, expected: &AttemptStatus) -> Option<Self> {
        let (kind, message) = match status {
            AttemptStatus::Passed if expected == status => return None,
            AttemptStatus::Skipped => return None,
            AttemptStatus::Passed if *expected == AttemptStatus::Failed => {
                (FailureKind::UnexpectedPass, "expected to fail, but passed".to_owned())
            }
            AttemptStatus::Passed => {
                (FailureKind::UnexpectedPass, format!("passed, where `{expected}` was expected"))
            }
            AttemptStatus::Failed => {
                (FailureKind::Unexplained, "failed, and the report holds no error".to_owned())
            }
            AttemptStatus::TimedOut => {
                (FailureKind::TimedOut, "timed out, and the report holds no error".to_owned())
            }
            AttemptStatus::Interrupted => {
                (FailureKind::Interrupted, "was running when the run was stopped".to_owned())
            }
            AttemptStatus::Other(word) => {
                (FailureKind::Unexplained, format!("ended with the status `{word}`, which is not known here"))
            }
        };
        Some(Self { kind, message, code_frame: None, frames: Vec::new(), location: None, causes: Vec::new() })
    }

    /// Gives the message without the `Error: ` that nearly each of them starts with.
    pub fn text(&self) -> &str {
        self.message.strip_prefix("Error: ").unwrap_or(&self.message)
    }

    /// Gives the line of the code frame that failed: `> 31 |   await expect(…`.
    pub fn marked_line(&self) -> Option<&str> {
        self.code_frame.as_deref()?.lines().find(|line| is_marked(line))
    }

    fn assemble(parts: &Parts<'_>, location: Option<&Location>, causes: Vec<Cause>) -> Self {
        let frames = stack::own_frames(parts.stack.iter().copied());
        let location = location
            .filter(|location| stack::is_own(&location.file))
            .or_else(|| frames.first().map(|frame| &frame.location))
            .cloned();
        let code_frame = parts.code_frame.as_ref().map(|lines| {
            let lines = lines.iter().take(MAX_CODE_LINES).map(|line| cut_end(line, MAX_CODE_LINE_BYTES));
            lines.collect::<Vec<_>>().join("\n")
        });
        let column = location.as_ref().map_or(0, |location| location.column);
        Self {
            kind: blame::kind(parts.message, code_frame.as_deref(), column, &frames),
            message: cut_middle(parts.message, MAX_MESSAGE_BYTES).into_owned(),
            code_frame,
            frames,
            location,
            causes,
        }
    }
}

/// An error text, taken apart.
#[derive(Debug, Default)]
struct Parts<'t> {
    message: &'t str,
    code_frame: Option<Vec<&'t str>>,
    stack: Vec<&'t str>,
}

impl<'t> Parts<'t> {
    /// Splits a text from its end: stack, code frame with the file's name above it, message.
    fn split(text: &'t str) -> Self {
        let mut lines: Vec<&str> = text.lines().collect();
        pop_blank(&mut lines);
        let stack = pop_while(&mut lines, stack::is_frame);
        pop_blank(&mut lines);
        let mut without_code = lines.clone();
        let code = pop_while(&mut without_code, is_code);
        let code_frame = code.iter().any(|line| is_marked(line)).then_some(code);
        if code_frame.is_some() {
            lines = without_code;
            pop_blank(&mut lines);
            if lines.last().is_some_and(|line| is_file_name(line)) {
                lines.pop();
                pop_blank(&mut lines);
            }
        }
        Self { message: first_lines(text, lines.len()), code_frame, stack }
    }
}

/// Gives the first lines of a text, without the white space at their end.
fn first_lines(text: &str, count: usize) -> &str {
    let end = text.split_inclusive('\n').take(count).map(str::len).sum();
    text.get(..end).unwrap_or(text).trim_end()
}

fn pop_blank(lines: &mut Vec<&str>) {
    while lines.pop_if(|line| line.trim().is_empty()).is_some() {}
}

fn pop_while<'t>(lines: &mut Vec<&'t str>, wanted: impl Fn(&str) -> bool) -> Vec<&'t str> {
    let kept = lines.iter().rposition(|line| !wanted(line)).map_or(0, |last| last + 1);
    lines.split_off(kept)
}

/// Tells a line of a code frame: `> 31 | code`, `  32 | code`, `     |    ^`.
fn is_code(line: &str) -> bool {
    let line = line.strip_prefix('>').unwrap_or(line).trim_start();
    let rest = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let gap = if rest.len() == line.len() { "|" } else { " |" };
    rest.starts_with(gap)
}

fn is_marked(line: &str) -> bool {
    line.starts_with('>') && is_code(line)
}

/// Tells the line above a code frame of another file than the test's: `   at sub/helper.ts:4`.
fn is_file_name(line: &str) -> bool {
    line.starts_with("   at ") && !line.starts_with("    ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rendered_error_is_taken_apart() {
        let code = "  30 | a\n> 31 |   b();\n     |   ^\n  32 |";
        let frame = "    at /p/a.spec.ts:31:3";
        for (rule, text, message, has_code, frames, causes) in [
            (
                "message, code, stack",
                format!("Error: x\n\ny\n\n{code}\n{frame}"),
                "Error: x\n\ny",
                true,
                1,
                0,
            ),
            (
                "an empty line before the stack",
                format!("Error: x\n\n{code}\n\n{frame}"),
                "Error: x",
                true,
                1,
                0,
            ),
            (
                "another file's name",
                format!("E: x\n\n   at s/h.ts:4\n\n{code}\n{frame}\n{frame}"),
                "E: x",
                true,
                2,
                0,
            ),
            ("no stack", format!("Error: x\n\n{code}\n"), "Error: x", true, 0, 0),
            ("no code", format!("Error: x\n{frame}"), "Error: x", false, 1, 0),
            (
                "a message alone",
                "Test timeout of 1ms exceeded.\n\n".to_owned(),
                "Test timeout of 1ms exceeded.",
                false,
                0,
                0,
            ),
            ("an empty message", format!("Error: \n\n{code}\n{frame}"), "Error:", true, 1, 0),
            (
                "causes",
                format!("E: x\n\n{code}\n{frame}\n[cause]: F: y\n{frame}\n[cause]: G"),
                "E: x",
                true,
                1,
                2,
            ),
            (
                "a table is no code frame",
                "Error: x\n  1 | a\n  2 | b".to_owned(),
                "Error: x\n  1 | a\n  2 | b",
                false,
                0,
                0,
            ),
            (
                "code within the message stays",
                format!("E: {code}\nmore"),
                &format!("E: {code}\nmore"),
                false,
                0,
                0,
            ),
            ("nothing but frames", frame.to_owned(), "", false, 1, 0),
            ("nothing", String::new(), "", false, 0, 0),
        ] {
            let failure = Failure::from_rendered(&text, None, None);
            assert_eq!(failure.message, message, "{rule}");
            assert_eq!(failure.marked_line(), has_code.then_some("> 31 |   b();"), "{rule}");
            assert_eq!((failure.frames.len(), failure.causes.len()), (frames, causes), "{rule}");
        }
    }

    #[test]
    fn a_message_that_ends_in_frames_keeps_them_where_the_stored_error_tells() {
        let message =
            "Error: page.evaluate: RangeError: in the page\n    at eval (eval at x, <anonymous>:2:11)";
        let text = format!("{message}\n    at eval (eval at x, <anonymous>:2:11)\n    at /p/a.spec.ts:28:91");
        let stored = StoredError { message: Some(message.to_owned()), ..StoredError::default() };
        let failure = Failure::from_rendered(&text, None, Some(&stored));
        assert_eq!(failure.message, message);
        assert_eq!(failure.location.map(|location| location.line), Some(28));
    }

    #[test]
    fn a_stored_error_is_taken_apart() {
        let code = "> 3 |   const x = ;\n    |             ^";
        for (rule, message, snippet) in [
            (
                "a snippet of its own",
                "SyntaxError: x (3:12)".to_owned(),
                Some(format!("   at bad.spec.ts:3\n\n{code}")),
            ),
            ("the code in the message", format!("SyntaxError: x (3:12)\n\n{code}"), None),
        ] {
            let stack = Some(format!("{message}\n    at /p/bad.spec.ts:3:12"));
            let error = StoredError { message: Some(message), stack, snippet, ..StoredError::default() };
            let failure = Failure::from_stored(&error);
            assert_eq!(failure.message, "SyntaxError: x (3:12)", "{rule}");
            assert_eq!(failure.code_frame.as_deref(), Some(code), "{rule}");
            assert_eq!(failure.frames.len(), 1, "{rule}");
        }
    }

    #[test]
    fn an_attempt_without_an_error_gets_a_sentence() {
        use AttemptStatus::{Failed, Other, Passed, Skipped};
        for (rule, status, expected, message) in [
            ("expected to fail", Passed, Failed, Some("expected to fail, but passed")),
            ("failed", Failed, Passed, Some("failed, and the report holds no error")),
            ("passed", Passed, Passed, None),
            ("skipped", Skipped, Passed, None),
            (
                "unknown",
                Other("x".to_owned()),
                Passed,
                Some("ended with the status `x`, which is not known here"),
            ),
        ] {
            let failure = Failure::without_error(&status, &expected);
            assert_eq!(failure.as_ref().map(|failure| failure.message.as_str()), message, "{rule}");
        }
    }
}
