//! The lines of a stack.
//!
//! In: lines as V8 writes them (`    at helper (/project/a.ts:4:13)`). Out: the frames that are the project's own code.
//! See <https://v8.dev/docs/stack-trace-api>.

use crate::report::location::{Location, ReportedPath};
use crate::text::cut_end;

/// The most own frames kept of a stack.
pub const MAX_FRAMES: usize = 12;

/// One call in the project's own code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StackFrame {
    /// The name of the function, if it has one.
    pub function: Option<String>,
    /// Where it stands.
    pub location: Location,
}

/// Tells a line of a stack.
pub(super) fn is_frame(line: &str) -> bool {
    line.starts_with("    at ")
}

/// Keeps the frames that are the project's own, the first [`MAX_FRAMES`].
pub(super) fn own_frames<'t>(lines: impl Iterator<Item = &'t str>) -> Vec<StackFrame> {
    lines.filter_map(parse).filter(|frame| is_own(&frame.location.file)).take(MAX_FRAMES).collect()
}

/// A text as a program printed it, without the frames of Node and of packages.
pub fn without_foreign_frames(text: &str) -> String {
    let tells =
        |line: &&str| !is_frame(line) || parse(line).is_some_and(|frame| is_own(&frame.location.file));
    text.lines().filter(tells).collect::<Vec<_>>().join("\n")
}

/// Tells whether a file is the project's own: a real one, and of no package.
pub(super) fn is_own(file: &ReportedPath) -> bool {
    let mut names = file.as_path().components().map(std::path::Component::as_os_str);
    file.is_absolute() && names.all(|name| name != "node_modules")
}

/// Reads one line of a stack.
fn parse(line: &str) -> Option<StackFrame> {
    let call = line.trim().strip_prefix("at ")?;
    let call = call.strip_prefix("async ").unwrap_or(call);
    let (function, place) = match call.strip_suffix(')').and_then(|call| call.rsplit_once(" (")) {
        Some((function, place)) => (Some(cut_end(function, 200).into_owned()), place),
        None => (None, call),
    };
    let (place, column) = place.rsplit_once(':')?;
    let (file, line) = place.rsplit_once(':')?;
    let (line, column) = (line.parse().ok()?, column.parse().ok()?);
    let file = match file.strip_prefix("file://") {
        Some(url_path) => percent_encoding::percent_decode_str(url_path).decode_utf8_lossy().into_owned(),
        None => file.to_owned(),
    };
    Some(StackFrame { function, location: Location { file: ReportedPath::new(file), line, column } })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn printed_text_keeps_its_lines_and_loses_foreign_frames() {
        let text = "Error: x\n    at f (/p/node_modules/x/i.js:3:4)\n    at /p/playwright.config.ts:1:7\n    at node:vm:1:2 {\n  code: 7\n}";
        assert_eq!(
            without_foreign_frames(text),
            "Error: x\n    at /p/playwright.config.ts:1:7\n  code: 7\n}"
        );
    }

    #[test]
    fn only_frames_of_the_project_are_kept() {
        for (rule, line, expected) in [
            ("a place alone", "    at /p/a.spec.ts:6:42", Some((None, "/p/a.spec.ts", 6, 42))),
            ("a function", "    at helper (/p/sub/h.ts:4:13)", Some((Some("helper"), "/p/sub/h.ts", 4, 13))),
            ("an awaited call", "    at async login (/p/h.ts:1:2)", Some((Some("login"), "/p/h.ts", 1, 2))),
            ("a file URL", "    at file:///p/%C3%BC%20x.mjs:3:4", Some((None, "/p/ü x.mjs", 3, 4))),
            ("a path with brackets", "    at /p/(group)/a.ts:3:4", Some((None, "/p/(group)/a.ts", 3, 4))),
            ("a path of Windows", "    at f (C:\\p\\a.ts:3:4)", Some((Some("f"), "C:\\p\\a.ts", 3, 4))),
            ("a package", "    at f (/p/node_modules/x/i.js:3:4)", None),
            ("Node itself", "    at node:internal/process/task_queues:95:5", None),
            ("code of the page", "    at eval (eval at evaluate (:370:30), <anonymous>:2:11)", None),
            ("an index", "    at async Promise.all (index 0)", None),
            ("no frame", "Error: x", None),
        ] {
            let frames = own_frames(std::iter::once(line));
            let found = frames.first().map(|frame| {
                let Location { file, line, column } = &frame.location;
                (frame.function.as_deref(), file.as_path().to_str().unwrap(), *line, *column)
            });
            assert_eq!(found, expected, "{rule}");
        }
    }
}
