//! Untrusted text made fit to show: control sequences out, hidden characters visible, lengths bounded.
//!
//! In: text that a test, a page or a program wrote. Out: text that neither steers a terminal nor hides anything from its
//! reader, and that says how much of it was cut. Taking secrets out is left to `redactor`.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::iter::Peekable;
use std::str::Chars;

/// Secrets and passwords taken out of text.
pub mod redactor;
/// Everything made visible, for reviewers.
pub mod visible;

/// Makes a text printable: strips escape sequences and control characters, and makes hidden ones visible.
///
/// - ANSI sequences go (CSI; OSC with its hyperlinks, DCS, SOS, PM and APC with their contents), in the 7-bit and in the
///   8-bit (C1) form. A string that never ends loses its introducer only, so it cannot swallow what follows.
/// - C0, C1 and DEL go; `\n` and `\t` stay; `\r\n` and a lone `\r` become `\n`.
/// - Hidden characters become visible: `\u{202e}`; joiners that join letters or emoji stay.
///
/// Text that needs none of this is returned as it is. See ECMA-48 for the sequences and
/// <https://www.unicode.org/reports/tr9/> for the bidi controls.
pub fn printable(text: &str) -> Cow<'_, str> {
    let mut before = None;
    let first = text.find(|c| {
        let found = needs_work(c, before);
        before = Some(c);
        found
    });
    let Some((clean, rest)) = first.and_then(|at| text.split_at_checked(at)) else {
        return Cow::Borrowed(text);
    };
    let mut out = String::with_capacity(text.len());
    out.push_str(clean);
    let mut chars = rest.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\u{1b}' => skip_escape(&mut chars),
            '\u{9b}' => skip_csi(&mut chars),
            '\u{90}' | '\u{98}' | '\u{9d}' | '\u{9e}' | '\u{9f}' => skip_string(&mut chars),
            '\r' => {
                if chars.peek() != Some(&'\n') {
                    out.push('\n');
                }
            }
            '\n' | '\t' | ' '..='~' => out.push(c),
            control if control.is_control() => {}
            other => push_unhidden(&mut out, other),
        }
    }
    Cow::Owned(out)
}

fn needs_work(c: char, before: Option<char>) -> bool {
    match c {
        '\n' | '\t' | ' '..='~' => false,
        other => other.is_control() || is_hidden(other, before),
    }
}

/// Appends one character, as an escape where its reader would not see it.
fn push_unhidden(out: &mut String, c: char) {
    if is_hidden(c, out.chars().next_back()) {
        out.extend(c.escape_unicode());
    } else {
        out.push(c);
    }
}

/// Says whether a reader does not see a character that others act on: bidi controls, separators, fillers, tags.
///
/// A joiner is seen by what it does to the letters and emoji around it, so it is hidden only where it can do nothing:
/// at the start, after ASCII, after another joiner. Variation selectors are never hidden.
const fn is_hidden(c: char, before: Option<char>) -> bool {
    match c {
        ZERO_WIDTH_NON_JOINER | ZERO_WIDTH_JOINER => match before {
            None | Some('\0'..='\u{7f}' | ZERO_WIDTH_NON_JOINER | ZERO_WIDTH_JOINER) => true,
            Some(_) => false,
        },
        '\u{ad}'
        | '\u{61c}'
        | '\u{180e}'
        | '\u{200b}'
        | '\u{200e}'
        | '\u{200f}'
        | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{feff}'
        | '\u{fff9}'..='\u{fffb}'
        | '\u{e0000}'..='\u{e007f}' => true,
        _ => false,
    }
}

/// Keeps letters apart, in Persian and others.
const ZERO_WIDTH_NON_JOINER: char = '\u{200c}';
/// Makes one of two letters or emoji.
const ZERO_WIDTH_JOINER: char = '\u{200d}';

fn skip_while(chars: &mut Peekable<Chars<'_>>, wanted: impl Fn(char) -> bool) {
    while chars.next_if(|&c| wanted(c)).is_some() {}
}

/// Skips what follows an ESC: one sequence, or nothing where none follows.
fn skip_escape(chars: &mut Peekable<Chars<'_>>) {
    match chars.peek() {
        Some('[') => {
            chars.next();
            skip_csi(chars);
        }
        Some(']' | 'P' | 'X' | '^' | '_') => {
            chars.next();
            skip_string(chars);
        }
        _ => {
            skip_while(chars, |c| matches!(c, ' '..='/'));
            chars.next_if(|c| matches!(c, '0'..='~'));
        }
    }
}

/// Skips parameters, intermediates and the final byte of a control sequence; a character that fits none stays.
fn skip_csi(chars: &mut Peekable<Chars<'_>>) {
    skip_while(chars, |c| matches!(c, '0'..='?'));
    skip_while(chars, |c| matches!(c, ' '..='/'));
    chars.next_if(|c| matches!(c, '@'..='~'));
}

/// Skips a control string with its terminator (BEL, ST); one that another control character cuts short is left in place.
fn skip_string(chars: &mut Peekable<Chars<'_>>) {
    let mut ahead = chars.clone();
    skip_while(&mut ahead, |c| !c.is_control());
    let ended = match ahead.next() {
        Some('\u{7}' | '\u{9c}') => true,
        Some('\u{1b}') => ahead.next() == Some('\\'),
        _ => false,
    };
    if ended {
        *chars = ahead;
    }
}

/// Keeps the first `max` bytes of a text, cut at a character, and says how many more there were.
///
/// The note (`… [1,234 more bytes]`, at most 40 bytes) comes on top of `max`.
pub fn cut_end(text: &str, max: usize) -> Cow<'_, str> {
    if text.len() <= max {
        return Cow::Borrowed(text);
    }
    let head = head(text, max);
    Cow::Owned(format!("{head}… [{} more bytes]", grouped(text.len() - head.len())))
}

/// Keeps two thirds of `max` bytes from the start of a text and the rest from its end, and says what is missing between.
///
/// The note (` … [1,234 bytes left out] … `, at most 50 bytes) comes on top of `max`.
pub fn cut_middle(text: &str, max: usize) -> Cow<'_, str> {
    if text.len() <= max {
        return Cow::Borrowed(text);
    }
    let head = head(text, max - max / 3);
    let tail = tail(text, max / 3);
    let left_out = text.len() - head.len() - tail.len();
    Cow::Owned(format!("{head} … [{} bytes left out] … {tail}", grouped(left_out)))
}

/// Keeps the last `max` bytes of a text, cut at a character, and says how many came before.
///
/// The note (`[1,234 bytes before] …`, at most 40 bytes) comes on top of `max`.
pub fn keep_tail(text: &str, max: usize) -> Cow<'_, str> {
    if text.len() <= max {
        return Cow::Borrowed(text);
    }
    let tail = tail(text, max);
    Cow::Owned(format!("[{} bytes before] …{tail}", grouped(text.len() - tail.len())))
}

/// Gives the longest start of a text of at most `max` bytes that ends at a character.
pub fn head(text: &str, max: usize) -> &str {
    let end = (0..=max.min(text.len())).rev().find(|&end| text.is_char_boundary(end)).unwrap_or_default();
    text.get(..end).unwrap_or_default()
}

/// Gives the longest end of a text of at most `max` bytes that starts at a character.
pub fn tail(text: &str, max: usize) -> &str {
    let start = (text.len().saturating_sub(max)..text.len()).find(|&start| text.is_char_boundary(start));
    start.and_then(|start| text.get(start..)).unwrap_or_default()
}

/// Writes a number with a comma between thousands.
pub fn grouped(number: usize) -> String {
    if number < 1000 {
        return number.to_string();
    }
    let mut out = grouped(number / 1000);
    // Writing to a String cannot fail.
    if write!(out, ",{:03}", number % 1000).is_err() {
        out.push('…');
    }
    out
}

/// An error and what caused it, in one line.
pub fn chain(error: &dyn std::error::Error) -> String {
    let mut line = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        line = format!("{line}: {error}");
        cause = error.source();
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_sequences_are_stripped_and_hidden_characters_shown() {
        for (rule, text, expected) in [
            ("plain text stays", "a\n\tb – ünï 日本", "a\n\tb – ünï 日本"),
            ("colours go", "\u{1b}[2mexpect(\u{1b}[22m\u{1b}[38;5;1mx\u{1b}[0m)", "expect(x)"),
            ("cursor movements go", "a\u{1b}[2K\u{1b}[1Gb\u{1b}[?25lc", "abc"),
            ("a hyperlink leaves its text", "\u{1b}]8;;http://x/é\u{1b}\\link\u{1b}]8;;\u{1b}\\!", "link!"),
            ("a title ends at BEL", "\u{1b}]0;title\u{7}ok", "ok"),
            (
                "device, start-of-string, privacy, application strings go",
                "a\u{1b}Pq\u{1b}\\\u{1b}_x\u{9c}b",
                "ab",
            ),
            ("the 8-bit CSI goes", "a\u{9b}31mred", "ared"),
            ("the 8-bit OSC goes", "a\u{9d}0;t\u{9c}b", "ab"),
            ("a string without an end hides nothing", "a\u{1b}]0;x\nError: y", "a0;x\nError: y"),
            ("a string cut by another sequence hides nothing", "\u{1b}]0;x\u{1b}[0my", "0;xy"),
            ("a sequence without an end goes", "a\u{1b}[31", "a"),
            ("a broken sequence keeps what does not belong to it", "\u{1b}[31\u{e9}", "é"),
            ("a charset switch goes", "\u{1b}(Ba", "a"),
            ("an escape before a letter of no sequence", "\u{1b}\u{e9}", "é"),
            ("C0, DEL and C1 go", "a\u{0}\u{1}\u{8}\u{7f}\u{85}\u{9c}b", "ab"),
            ("line ends are one", "a\r\nb\rc\r\r\nd", "a\nb\nc\n\nd"),
            ("bidi controls are seen", "a\u{202e}b\u{2066}c\u{200f}", "a\\u{202e}b\\u{2066}c\\u{200f}"),
            ("separators are seen", "a\u{2028}b\u{2029}", "a\\u{2028}b\\u{2029}"),
            ("tag characters are seen", "a\u{e0041}", "a\\u{e0041}"),
            ("zero-width characters are seen", "a\u{200b}b\u{ad}c\u{feff}", "a\\u{200b}b\\u{ad}c\\u{feff}"),
            (
                "a joiner that joins stays",
                "👩\u{200d}💻 می\u{200c}خواهم क्\u{200d}ष",
                "👩\u{200d}💻 می\u{200c}خواهم क्\u{200d}ष",
            ),
            (
                "selectors stay",
                "❤\u{fe0f}\u{200d}🔥 1\u{fe0f}\u{20e3}",
                "❤\u{fe0f}\u{200d}🔥 1\u{fe0f}\u{20e3}",
            ),
            (
                "a joiner that joins nothing is seen",
                "\u{200d}sh\u{200d}op é\u{200c}\u{200d}",
                "\\u{200d}sh\\u{200d}op é\u{200c}\\u{200d}",
            ),
            ("right-to-left text itself stays", "שלום مرحبا", "שלום مرحبا"),
        ] {
            assert_eq!(printable(text), expected, "{rule}");
            assert_eq!(printable(expected), expected, "{rule}: what is printable stays");
        }
    }

    #[test]
    fn clean_text_is_not_copied() {
        assert!(matches!(printable("clean\n"), Cow::Borrowed(_)));
    }

    #[test]
    fn a_cut_is_at_a_character_and_says_what_is_missing() {
        let long = "é".repeat(1000);
        for (rule, cut, expected) in [
            ("short text stays", cut_end("short", 5), "short".to_owned()),
            ("the end is cut", cut_end(&long, 5), "éé… [1,996 more bytes]".to_owned()),
            ("the middle is cut", cut_middle(&long, 9), "ééé … [1,992 bytes left out] … é".to_owned()),
            ("the start is cut", keep_tail(&long, 3), "[1,998 bytes before] …é".to_owned()),
            ("nothing is kept", cut_end(&long, 0), "… [2,000 more bytes]".to_owned()),
        ] {
            assert_eq!(cut, expected, "{rule}");
        }
        assert_eq!(
            [grouped(0), grouped(999), grouped(1_000), grouped(1_002_003)],
            ["0", "999", "1,000", "1,002,003"]
        );
    }
}
