//! Diagnostics for people: the finding, its source line with carets, and what to do.
//!
//! In: diagnostics and the texts of the policy files. Out: one string. Whether it is coloured is the caller's
//! decision, because only the caller knows where it prints.

use std::path::Path;
use std::sync::Arc;

use annotate_snippets::{AnnotationKind, Element, Group, Level, Origin as Place, Renderer, Snippet};

use crate::policy::diagnostic::{Diagnostic, Severity};
use crate::policy::origin::{Origin, Span};
use crate::text::visible::{push_visible, visible};

/// Whether the text is for a terminal that shows colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// Text alone.
    Plain,
    /// With ANSI colours.
    Coloured,
}

/// A policy file's text, for the source lines.
#[derive(Clone, Debug)]
pub struct SourceText {
    /// The file, as [`Origin::File`] names it.
    pub path: Arc<Path>,
    /// Its whole text.
    pub text: Arc<str>,
}

/// The most lines that one excerpt shows.
const EXCERPT_LINES: usize = 3;

/// Shows all findings, in their order, an empty line between two.
#[must_use]
pub fn render(diagnostics: &[Diagnostic], texts: &[SourceText], style: Style) -> String {
    let renderer = match style {
        Style::Plain => Renderer::plain(),
        Style::Coloured => Renderer::styled(),
    };
    let shown: Vec<_> = diagnostics
        .iter()
        .map(|diagnostic| {
            let text = texts.iter().find(|text| is_from(&diagnostic.origin, &text.path));
            renderer.render(&[group(diagnostic, text)])
        })
        .collect();
    shown.join("\n\n")
}

fn is_from(origin: &Origin, file: &Path) -> bool {
    matches!(origin, Origin::File { path, .. } if **path == *file)
}

fn group<'a>(diagnostic: &'a Diagnostic, text: Option<&'a SourceText>) -> Group<'a> {
    let level = match diagnostic.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
    };
    let mut group =
        Group::with_title(level.primary_title(visible(&diagnostic.summary)).id(diagnostic.code.name()));
    match (&diagnostic.origin, text) {
        (Origin::File { path, span: Some(span) }, Some(text)) => {
            group = group.element(snippet(path, *span, &text.text, diagnostic.label.as_deref()));
        }
        (origin, _) => {
            let place = match origin {
                Origin::Builtin if !diagnostic.key.is_empty() => {
                    format!("{origin} `{}`", visible(&diagnostic.key.join(".")))
                }
                Origin::File { .. } | Origin::Variable { .. } | Origin::Builtin => origin.to_string(),
            };
            group = group.element(Place::path(place));
            if let Some(label) = &diagnostic.label {
                group = group.element(Level::NOTE.message(visible(label)));
            }
        }
    }
    match &diagnostic.hint {
        Some(hint) => group.element(Level::HELP.message(visible(hint))),
        None => group,
    }
}

fn snippet<'a>(path: &Path, span: Span, text: &str, label: Option<&str>) -> Element<'a> {
    let excerpt = Excerpt::of(text, span);
    let annotation = AnnotationKind::Primary.span(excerpt.marked).label(label.map(visible));
    Snippet::source(excerpt.lines)
        .line_start(span.start.line)
        .path(visible(&path.to_string_lossy()))
        .annotation(annotation)
        .into()
}

/// The lines that a span covers, escaped, and the span within them.
struct Excerpt {
    lines: String,
    marked: std::ops::Range<usize>,
}

impl Excerpt {
    fn of(text: &str, span: Span) -> Self {
        let start = text
            .get(..span.start.byte)
            .and_then(|before| before.rfind('\n'))
            .map_or(0, |newline| newline + 1);
        let mut lines = String::new();
        let mut marked = None;
        let mut marked_end = 0;
        let mut line = 0;
        for (offset, character) in text.get(start..).unwrap_or_default().char_indices() {
            let byte = start + offset;
            if byte >= span.start.byte && marked.is_none() {
                marked = Some(lines.len());
            }
            if byte <= span.end.byte {
                marked_end = lines.len();
            }
            match character {
                '\n' if byte >= span.end.byte => break,
                '\n' => {
                    line += 1;
                    if line == EXCERPT_LINES {
                        break;
                    }
                    lines.push('\n');
                }
                '\t' => lines.push('\t'),
                '\u{feff}' if byte == 0 => {}
                '\r' if text.get(byte + 1..).is_some_and(|rest| rest.starts_with('\n')) => {}
                _ => push_visible(&mut lines, character),
            }
        }
        if span.end.byte >= text.len() {
            marked_end = lines.len();
        }
        let marked_start = marked.unwrap_or(lines.len());
        Self { marked: marked_start..marked_end.max(marked_start).min(lines.len()), lines }
    }
}

#[cfg(test)]
mod tests {
    use super::Excerpt;
    use crate::policy::origin::Span;

    #[test]
    fn excerpt_marks_the_span_in_the_escaped_line() {
        let rows = [
            ("middle of a line", "a\nbcd\ne", 3..4, "bcd", "c"),
            ("end of the text", "abc", 1..3, "abc", "bc"),
            ("whole line up to its break", "abc\nd", 0..3, "abc", "abc"),
            ("escapes move the span", "\u{1b}=x\n", 2..3, "\\u{1b}=x", "x"),
            ("byte order mark is left out", "\u{feff}ab", 3..4, "ab", "a"),
            ("carriage return is left out", "ab\r\nc", 1..2, "ab", "b"),
            ("empty span", "ab\n", 2..2, "ab", ""),
            ("two lines", "ab\ncd\nef", 1..5, "ab\ncd", "b\ncd"),
            ("long spans are cut", "a\nb\nc\nd\ne", 0..9, "a\nb\nc", "a\nb\nc"),
        ];
        for (name, text, range, lines, marked) in rows {
            let excerpt = Excerpt::of(text, Span::of(text, range));
            assert_eq!(excerpt.lines, lines, "{name}");
            assert_eq!(excerpt.lines.get(excerpt.marked), Some(marked), "{name}");
        }
    }
}
