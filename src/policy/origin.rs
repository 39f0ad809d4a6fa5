//! Where a value of the policy stands.
//!
//! In: a file with a span, a variable with an item, or nothing. Out: [`Origin`], which every compiled value keeps, so
//! that a denial and a diagnostic can name the place. Printing the source line is left to `diagnostic`.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};

use crate::text::visible::visible;

/// One place in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Position {
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// Offset in bytes, from 0.
    pub byte: usize,
}

impl Position {
    /// Finds the line and column of a byte offset; an offset past the end means the end.
    #[must_use]
    pub fn of(text: &str, byte: usize) -> Self {
        let mut byte = byte.min(text.len());
        while !text.is_char_boundary(byte) {
            byte = byte.saturating_sub(1);
        }
        let before = text.get(..byte).unwrap_or_default();
        // A byte order mark is no column.
        let before_text = before.strip_prefix('\u{feff}').unwrap_or(before);
        let line_start = before_text.rfind('\n').map_or(0, |newline| newline + 1);
        let in_line = before_text.get(line_start..).unwrap_or_default();
        Self { line: 1 + before_text.matches('\n').count(), column: 1 + in_line.chars().count(), byte }
    }
}

/// A part of a text: from `start` up to, but without, `end`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Span {
    /// The first character.
    pub start: Position,
    /// The place behind the last character.
    pub end: Position,
}

impl Span {
    /// Makes a span of byte offsets in `text`.
    #[must_use]
    pub fn of(text: &str, range: std::ops::Range<usize>) -> Self {
        Self { start: Position::of(text, range.start), end: Position::of(text, range.end.max(range.start)) }
    }
}

/// Where a value stands: shown as `/home/a/policy.toml:3:9`, `PW_ALLOWED_DIRS item 2` or `builtin`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Origin {
    /// In a policy file; without a span the whole file is meant.
    File {
        /// The file's absolute path, as it was named.
        path: Arc<Path>,
        /// The part of the file.
        span: Option<Span>,
    },
    /// In an environment variable.
    Variable {
        /// The variable's name.
        name: Arc<str>,
        /// The item of a list, from 1, empty ones not counted.
        item: Option<usize>,
    },
    /// Nobody wrote it: a default of this server.
    Builtin,
}

impl Origin {
    /// Names a whole variable.
    #[must_use]
    pub fn variable(name: &str) -> Self {
        Self::Variable { name: name.into(), item: None }
    }

    /// Names one item of a variable, from 1.
    #[must_use]
    pub fn variable_item(name: &str, item: usize) -> Self {
        Self::Variable { name: name.into(), item: Some(item) }
    }

    /// The line of a file, where one is meant.
    #[must_use]
    pub fn line(&self) -> Option<usize> {
        match self {
            Self::File { span, .. } => span.map(|span| span.start.line),
            Self::Variable { .. } | Self::Builtin => None,
        }
    }

    /// Names a whole file.
    #[must_use]
    pub fn file(path: &Path) -> Self {
        Self::File { path: path.into(), span: None }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File { path, span } => {
                write!(out, "{}", visible(&path.to_string_lossy()))?;
                span.map_or(Ok(()), |span| write!(out, ":{}:{}", span.start.line, span.start.column))
            }
            Self::Variable { name, item } => {
                write!(out, "{}", visible(name))?;
                item.map_or(Ok(()), |item| write!(out, " item {item}"))
            }
            Self::Builtin => write!(out, "builtin"),
        }
    }
}

impl Serialize for Origin {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("Origin", 4)?;
        match self {
            Self::File { path, span } => {
                fields.serialize_field("kind", "file")?;
                fields.serialize_field("path", &path.to_string_lossy())?;
                if let Some(span) = span {
                    fields.serialize_field("start", &span.start)?;
                    fields.serialize_field("end", &span.end)?;
                }
            }
            Self::Variable { name, item } => {
                fields.serialize_field("kind", "env")?;
                fields.serialize_field("name", &**name)?;
                if let Some(item) = item {
                    fields.serialize_field("item", item)?;
                }
            }
            Self::Builtin => fields.serialize_field("kind", "builtin")?,
        }
        fields.end()
    }
}

/// A value, and where it stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Sourced<T> {
    /// The value.
    pub value: T,
    /// Its place.
    #[serde(rename = "source")]
    pub origin: Origin,
}

impl<T> Sourced<T> {
    /// Puts a value and its place together.
    pub const fn new(value: T, origin: Origin) -> Self {
        Self { value, origin }
    }

    /// Marks a value that nobody wrote.
    pub const fn builtin(value: T) -> Self {
        Self { value, origin: Origin::Builtin }
    }

    /// Changes the value and keeps the place.
    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> Sourced<U> {
        Sourced { value: change(self.value), origin: self.origin }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{Origin, Position, Span};

    #[test]
    fn position_counts_lines_and_characters_from_one() {
        let rows = [
            ("start", "abc", 0, (1, 1)),
            ("second line", "a\nbc", 3, (2, 2)),
            ("characters, not bytes", "ö = 1", 3, (1, 3)),
            ("inside a character means its start", "ö", 1, (1, 1)),
            ("byte order mark is no column", "\u{feff}abc", 4, (1, 2)),
            ("past the end means the end", "a\n", 99, (2, 1)),
        ];
        for (name, text, byte, expected) in rows {
            let position = Position::of(text, byte);
            assert_eq!((position.line, position.column), expected, "{name}");
        }
    }

    #[test]
    fn origin_is_shown_as_a_place_people_can_open() {
        let span = Some(Span::of("a\nb\n  c", 6..7));
        let rows = [
            (Origin::File { path: Path::new("/p.toml").into(), span }, "/p.toml:3:3"),
            (Origin::file(Path::new("/a\u{1b}b")), "/a\\u{1b}b"),
            (Origin::variable("PW_ALLOWED_ENV"), "PW_ALLOWED_ENV"),
            (Origin::variable_item("PW_ALLOWED_DIRS", 2), "PW_ALLOWED_DIRS item 2"),
            (Origin::Builtin, "builtin"),
        ];
        for (origin, expected) in rows {
            assert_eq!(origin.to_string(), expected);
        }
    }
}
