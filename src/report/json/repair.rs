//! Bytes made fit for a strict JSON reader.
//!
//! In: bytes that should be JSON in UTF-8. Out: the same bytes, where lone surrogate escapes are `\ufffd` and bytes that
//! are no UTF-8 are U+FFFD. Whether it is JSON is left to the parser.
//!
//! JavaScript writes half an emoji as a lone `\ud83d` (one split over two chunks of output is enough), which no Rust
//! string can hold: <https://github.com/tc39/proposal-well-formed-stringify>.

use std::io::{self, Read};
use std::ops::Range;

/// How much is read at once, in bytes.
const CHUNK: usize = 64 << 10;

/// Reads from a source and repairs what it reads.
#[derive(Debug)]
pub struct Repairing<R> {
    source: R,
    buffer: Vec<u8>,
    /// What is repaired and not yet handed out; after it comes what waits for more.
    ready: Range<usize>,
    at_end: bool,
}

impl<R: Read> Repairing<R> {
    /// Wraps a source.
    pub fn new(source: R) -> Self {
        Self { source, buffer: Vec::new(), ready: 0..0, at_end: false }
    }

    /// Reads the next chunk behind what waits, and repairs both.
    fn refill(&mut self) -> io::Result<()> {
        self.buffer.drain(..self.ready.end);
        self.ready = 0..0;
        while self.ready.is_empty() && !self.at_end {
            let read = self.source.by_ref().take(CHUNK as u64).read_to_end(&mut self.buffer)?;
            self.at_end = read == 0;
            self.ready =
                0..repair(&mut self.buffer, if self.at_end { MoreBytes::No } else { MoreBytes::Maybe });
        }
        Ok(())
    }
}

impl<R: Read> Read for Repairing<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.ready.is_empty() && !self.at_end {
            self.refill()?;
        }
        let read = self.buffer.get(self.ready.clone()).unwrap_or_default().read(out)?;
        self.ready.start += read;
        Ok(read)
    }
}

/// Whether more bytes may follow.
#[derive(Clone, Copy, PartialEq, Eq)]
enum MoreBytes {
    Maybe,
    No,
}

/// Repairs a buffer in place and tells how many bytes of it are final; the rest waits for what follows.
fn repair(buffer: &mut Vec<u8>, more: MoreBytes) -> usize {
    if let Err(error) = std::str::from_utf8(buffer) {
        let cut_character = error.error_len().is_none() && more == MoreBytes::Maybe;
        if !cut_character {
            let waiting = match more {
                MoreBytes::Maybe => waiting_character(buffer),
                MoreBytes::No => Vec::new(),
            };
            *buffer = String::from_utf8_lossy(buffer).into_owned().into_bytes();
            buffer.extend(waiting);
        }
    }
    let Lone { escapes, waits_from } = lone_surrogates(buffer);
    for at in escapes {
        if let Some(escape) = buffer.get_mut(at..at + 6) {
            escape.copy_from_slice(b"\\ufffd");
        }
    }
    match more {
        MoreBytes::Maybe => waits_from.min(end_of_characters(buffer)),
        MoreBytes::No => buffer.len(),
    }
}

/// Takes a character that is cut off the end of a buffer.
fn waiting_character(buffer: &mut Vec<u8>) -> Vec<u8> {
    let end = end_of_characters(buffer);
    buffer.split_off(end)
}

/// Finds where the last whole character ends.
fn end_of_characters(buffer: &[u8]) -> usize {
    let tail_from = buffer.len().saturating_sub(3);
    let tail = buffer.get(tail_from..).unwrap_or_default();
    for (at, byte) in tail.iter().enumerate().rev() {
        let needed = match byte {
            0xc0..=0xdf => 2,
            0xe0..=0xef => 3,
            0xf0..=0xf7 => 4,
            0x80..=0xbf => continue,
            _ => 1,
        };
        return if tail.len() - at < needed { tail_from + at } else { buffer.len() };
    }
    buffer.len()
}

/// Where lone surrogates are.
struct Lone {
    escapes: Vec<usize>,
    /// Where an escape starts that the end cuts off; the buffer's length if there is none.
    waits_from: usize,
}

/// Finds the escapes of surrogates that have no partner. A backslash stands only in strings, and starts an escape there.
fn lone_surrogates(buffer: &[u8]) -> Lone {
    let mut escapes = Vec::new();
    let mut at = 0;
    while let Some(found) = buffer.get(at..).and_then(|rest| rest.iter().position(|&byte| byte == b'\\')) {
        at += found;
        let escape = buffer.get(at..).unwrap_or_default();
        let partner = escape.get(6..).unwrap_or_default();
        let length = match code_unit(escape) {
            Some(0xd800..=0xdbff) if matches!(code_unit(partner), Some(0xdc00..=0xdfff)) => 12,
            Some(0xd800..=0xdbff) if is_cut_escape(partner) => return Lone { escapes, waits_from: at },
            Some(0xd800..=0xdfff) => {
                escapes.push(at);
                6
            }
            Some(_) => 6,
            None if is_cut_escape(escape) => return Lone { escapes, waits_from: at },
            None => 2,
        };
        at += length;
    }
    Lone { escapes, waits_from: buffer.len() }
}

/// Tells whether a slice may be the start of a `\uXXXX` that its end cuts off.
fn is_cut_escape(bytes: &[u8]) -> bool {
    bytes.len() < 6 && b"\\u".iter().zip(bytes).all(|(wanted, found)| wanted == found)
}

/// Gives the code unit of a `\uXXXX` at the start of a slice.
fn code_unit(bytes: &[u8]) -> Option<u32> {
    let digits = bytes.get(..6)?.strip_prefix(b"\\u")?;
    digits.iter().try_fold(0, |unit, &digit| Some(unit * 16 + char::from(digit).to_digit(16)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Hands out a few bytes at a time, so that each place is a boundary once.
    struct Pieces<'t>(&'t [u8], usize);

    impl Read for Pieces<'_> {
        fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
            let size = self.1.min(out.len());
            self.0.take(size as u64).read(out).inspect(|&read| self.0 = &self.0[read..])
        }
    }

    fn repaired(source: impl Read) -> String {
        let mut out = Vec::new();
        Repairing::new(source).read_to_end(&mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    const CASES: [(&str, &[u8], &str); 15] = [
        ("a pair stays", br#""\ud83d\ude00""#, r#""\ud83d\ude00""#),
        ("a lone high one", br#""\ud83d""#, r#""\ufffd""#),
        ("a lone low one", br#""\ude00 x""#, r#""\ufffd x""#),
        ("two high ones, then a low one", br#""\ud83d\ud83d\ude00""#, r#""\ufffd\ud83d\ude00""#),
        ("a high one before another escape", br#""\ud83d\n""#, r#""\ufffd\n""#),
        ("a high one before another character", br#""\uD83D\u0041""#, r#""\ufffd\u0041""#),
        ("the wrong order", br#""\uDE00\uD83D""#, r#""\ufffd\ufffd""#),
        ("a backslash that is itself escaped", br#""\\ud83d""#, r#""\\ud83d""#),
        ("an escaped backslash before an escape", br#""\\\ud83d""#, r#""\\\ufffd""#),
        ("other escapes stay", br#""\u00e9\n\"\u2028""#, r#""\u00e9\n\"\u2028""#),
        ("characters stay", "\"é✓😀\"".as_bytes(), "\"é✓😀\""),
        ("bytes that are no UTF-8", b"\"a\xffb\xe2\x9c\"", "\"a\u{fffd}b\u{fffd}\""),
        ("a character that is cut", b"\"\xf0\x9f\x98", "\"\u{fffd}"),
        ("both faults", b"\"\xff\\ud83d\xe2\x9c\x93\"", "\"\u{fffd}\\ufffd\u{2713}\""),
        ("an escape that is cut", br#""\ud83"#, r#""\ud83"#),
    ];

    #[test]
    fn lone_surrogates_and_bad_bytes_are_replaced() {
        for (rule, bytes, expected) in CASES {
            assert_eq!(repaired(bytes), expected, "{rule}");
        }
    }

    #[test]
    fn a_boundary_between_chunks_changes_nothing() {
        for (rule, bytes, expected) in CASES {
            for before in CHUNK - 14..=CHUNK {
                let mut long = vec![b' '; before];
                long.extend_from_slice(bytes);
                assert_eq!(repaired(long.as_slice()).trim_start(), expected, "{rule}, after {before} bytes");
            }
            assert_eq!(repaired(Pieces(bytes, 1)), expected, "{rule}, byte by byte");
        }
    }
}
