//! Text in columns: a label, words that are wrapped, and where they stand.
//!
//! In: words of any origin. Out: lines of about [`WIDTH`] characters in which everything is visible. What the columns
//! hold is left to the others here.

use std::io::{self, Write};

use crate::text::visible::visible;

/// How wide a line becomes; only a word or a place that is longer by itself passes it.
pub(super) const WIDTH: usize = 110;
/// Where places stand, unless the words are longer.
const PLACE_AT: usize = 64;
/// So many lines a list takes; JSON has it whole.
const LINES: usize = 5;
/// What it takes to say that there is more.
const CUT: usize = 40;

/// Writes a label with words behind it, and their place at the end.
///
/// # Errors
/// When it can't be written.
pub(super) fn entry(out: &mut impl Write, label: &str, words: &[String], place: &str) -> io::Result<()> {
    let at = label.chars().count();
    let mut lines = filled(words, WIDTH.saturating_sub(at));
    let last = lines.pop().unwrap_or_default();
    for (index, line) in lines.iter().enumerate() {
        let label = if index == 0 { label } else { "" };
        writeln!(out, "{label:<at$}{line}")?;
    }
    let label = if lines.is_empty() { label } else { "" };
    writeln!(out, "{}", placed(&format!("{label:<at$}{last}"), place).trim_end())
}

/// Puts a place behind a line, or below it where both are too long.
fn placed(line: &str, place: &str) -> String {
    if place.is_empty() {
        return line.to_owned();
    }
    let (length, place_length) = (line.chars().count(), place.chars().count());
    let widest = WIDTH.saturating_sub(place_length);
    let at = widest.min(PLACE_AT.max(length + 2));
    if length + 2 <= at { format!("{line:<at$}{place}") } else { format!("{line}\n{:widest$}{place}", "") }
}

/// Fills lines of a width with words.
fn filled(words: &[String], width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut line = String::new();
    for (index, word) in words.iter().enumerate() {
        let word = visible(word);
        let is_last_line = lines.len() + 1 == LINES;
        let room = if is_last_line && index + 1 < words.len() { width.saturating_sub(CUT) } else { width };
        let fits = line.chars().count() + 1 + word.chars().count() <= room;
        if !line.is_empty() && !fits {
            if is_last_line {
                line = format!("{line} … and {} more: --format json has all", words.len() - index);
                break;
            }
            lines.push(std::mem::take(&mut line));
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(&word);
    }
    lines.push(line);
    lines
}

/// Words as a list: a comma behind each but the last.
pub(super) fn list(words: impl IntoIterator<Item = String>) -> Vec<String> {
    let mut words: Vec<String> = words.into_iter().collect();
    let last = words.len().saturating_sub(1);
    for word in words.iter_mut().take(last) {
        word.push(',');
    }
    words
}

#[cfg(test)]
mod tests {
    use super::{WIDTH, entry, list};

    fn written(words: &[&str], place: &str) -> String {
        let mut out = Vec::new();
        entry(&mut out, "label  ", &list(words.iter().map(|word| (*word).to_owned())), place).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn lines_are_wrapped_and_places_stand_behind_them() {
        assert_eq!(written(&[], ""), "label\n");
        assert_eq!(written(&["a", "b"], ""), "label  a, b\n");
        assert_eq!(written(&["a"], "p.toml:1"), format!("{:<64}p.toml:1\n", "label  a"));
        let long = "x".repeat(70);
        assert_eq!(written(&[&long], "p.toml:1"), format!("label  {long}  p.toml:1\n"));
        let place = "p".repeat(60);
        assert_eq!(written(&[&long], &place), format!("label  {long}\n{:50}{place}\n", ""));
        assert_eq!(written(&["a\u{1b}"], ""), "label  a\\u{1b}\n");
    }

    #[test]
    fn long_lists_are_cut_with_a_count() {
        let words: Vec<String> = (0..400).map(|number| format!("word-{number}")).collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let text = written(&words, "place");
        assert!(text.lines().all(|line| line.chars().count() <= WIDTH), "{text}");
        assert!(text.lines().count() <= 6, "{text}");
        assert!(text.contains("more"), "{text}");
    }
}
