//! Text that is not TOML: what to do about it.
//!
//! In: an error of the parser and what stands at its place. Out: a summary and a hint for the person who wrote it.

use std::ops::Range;

use crate::policy::source::keys::table;

/// The `toml` crate's message for a key that stands twice.
pub(super) const DUPLICATE: &str = "duplicate key";

/// Its message for a word without quotes.
const UNQUOTED: &str = "string values must be quoted";

/// What is wrong, and what to write.
pub(super) struct Advice {
    pub(super) summary: String,
    pub(super) hint: String,
}

/// Words that people write for `true` and `false`.
const FLAGS: &[(&str, &[&str])] =
    &[("true", &["yes", "on", "true", "1"]), ("false", &["no", "off", "false", "0"])];

/// The word of TOML for what somebody wrote for yes or no.
pub(super) fn flag(written: &str) -> Option<&'static str> {
    let lower = written.to_ascii_lowercase();
    FLAGS.iter().find(|(_, words)| words.contains(&lower.as_str())).map(|(flag, _)| *flag)
}

/// A key or table that stands twice.
pub(super) fn duplicate(text: &str, span: &Range<usize>) -> Advice {
    let name = text.get(span.clone()).unwrap_or_default();
    if text.get(..span.start).is_some_and(|before| before.ends_with('[')) {
        Advice {
            summary: format!("the table `{name}` stands twice"),
            hint: format!("write all its keys under one `[{name}]`"),
        }
    } else {
        Advice {
            summary: format!("the key `{name}` stands twice"),
            hint: "keep one of the two: neither wins over the other".to_owned(),
        }
    }
}

/// An error of the parser.
pub(super) fn broken(message: &str, text: &str, span: &Range<usize>) -> Advice {
    // What the parser expected instead is in its own words for its own grammar.
    let said = message.split_once(", expected").map_or(message, |(said, _)| said);
    let written = text.get(span.clone()).unwrap_or_default();
    let before = text.get(..span.start).unwrap_or_default();
    // A bare word that starts as `nan`, `inf` or `true` do is taken for a bad one of these.
    let is_word =
        written.starts_with(|first: char| first.is_ascii_alphabetic()) && said.starts_with("invalid");
    let said = if is_word && before.trim_end().ends_with(['=', '[', ',']) { UNQUOTED } else { said };
    let flag = flag(written).filter(|_| said == UNQUOTED);
    let said = if flag.is_some() { "`true` and `false` are written so" } else { said };
    let hint = if let Some(flag) = flag {
        format!("write `{flag}`")
    } else if said == UNQUOTED {
        unquoted(written, before)
    } else if said.contains("escape") || said.contains("unicode") {
        "a backslash in \"...\" starts an escape: write paths with `/`, or in single quotes: '...'".to_owned()
    } else if text.get(span.start..).is_some_and(|rest| rest.starts_with(':')) {
        "write `=` between a key and its value".to_owned()
    } else if said.contains("string") {
        "close the string with a quote on the same line".to_owned()
    } else if said.contains("array") && said.contains("comma") {
        "write a comma between two entries, and `]` behind the last".to_owned()
    } else if said.contains("array") {
        "close the list with `]`".to_owned()
    } else if said.contains("table") {
        "close the name of a table with `]`, as in `[dirs]`".to_owned()
    } else if said.contains("comment") {
        "take the character out".to_owned()
    } else {
        "write `key = value`, one a line; `policy.example.toml` shows every key".to_owned()
    };
    Advice { summary: format!("this is not TOML: {said}"), hint }
}

fn unquoted(written: &str, before: &str) -> String {
    let straight: String =
        written.chars().filter(|it| !"\u{201c}\u{201d}\u{201e}\u{2018}\u{2019}".contains(*it)).collect();
    if before.ends_with('[') && table(written).is_some() {
        format!("close the list above `[{written}]` with `]`")
    } else if straight.contains(['"', '\'']) {
        "write a string in one pair of quotes".to_owned()
    } else if straight == written {
        format!("write `\"{written}\"`; only numbers, `true` and `false` stand without quotes")
    } else {
        format!("write `\"{straight}\"`, with straight quotes")
    }
}
