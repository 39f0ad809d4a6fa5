//! The end of an output, in bounded memory.
//!
//! In: bytes, any number. Out: the last of them. Reading them is left to `confined`.

use std::collections::VecDeque;

use crate::runner::supervision::Tail;

/// The most that one tail keeps, whatever an order says, in bytes.
const LARGEST: usize = 1024 * 1024;

/// Keeps the last bytes of what it is fed.
#[derive(Debug)]
pub struct OutputTail {
    kept: VecDeque<u8>,
    bound: usize,
    total: u64,
}

impl OutputTail {
    /// Makes an empty tail that keeps at most `bound` bytes, and never more than 1 MiB.
    pub fn new(bound: u64) -> Self {
        let bound = usize::try_from(bound).unwrap_or(LARGEST).min(LARGEST);
        Self { kept: VecDeque::new(), bound, total: 0 }
    }

    /// Takes the next bytes.
    pub fn feed(&mut self, bytes: &[u8]) {
        self.total = self.total.saturating_add(u64::try_from(bytes.len()).unwrap_or(u64::MAX));
        let new = bytes.get(bytes.len().saturating_sub(self.bound)..).unwrap_or(bytes);
        let excess = (self.kept.len() + new.len()).saturating_sub(self.bound);
        self.kept.drain(..excess.min(self.kept.len()));
        self.kept.extend(new);
    }

    /// Gives what was kept as text; a character that the bound cut in two is left out.
    pub fn finish(self) -> Tail {
        let was_cut = self.total > u64::try_from(self.kept.len()).unwrap_or(u64::MAX);
        let bytes = Vec::from(self.kept);
        let is_continuation = |byte: &&u8| **byte & 0b1100_0000 == 0b1000_0000;
        let torn = if was_cut { bytes.iter().take(3).take_while(is_continuation).count() } else { 0 };
        let whole = bytes.get(torn..).unwrap_or_default();
        Tail { text: String::from_utf8_lossy(whole).into_owned(), total_bytes: self.total }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_bytes_are_kept_and_all_are_counted() {
        let rows: [(&str, u64, &[&str], &str, u64); 7] = [
            ("nothing", 4, &[], "", 0),
            ("less than the bound", 4, &["ab", "c"], "abc", 3),
            ("just the bound", 4, &["ab", "cd"], "abcd", 4),
            ("over it, in small pieces", 4, &["ab", "cd", "e"], "bcde", 5),
            ("over it, in one piece", 4, &["x", "abcdef"], "cdef", 7),
            ("a character cut in two", 4, &["äöü"], "öü", 6),
            ("no room", 0, &["abc"], "", 3),
        ];
        for (name, bound, pieces, text, total_bytes) in rows {
            let mut tail = OutputTail::new(bound);
            for piece in pieces {
                tail.feed(piece.as_bytes());
            }
            assert_eq!(tail.finish(), Tail { text: text.to_owned(), total_bytes }, "{name}");
        }
    }

    #[test]
    fn a_torn_character_is_left_out_only_where_the_bound_cut() {
        let mut tail = OutputTail::new(3);
        tail.feed("aäö".as_bytes());
        assert_eq!(tail.finish().text, "ö");
        let mut whole = OutputTail::new(3);
        whole.feed(&[0x80, b'a']);
        assert_eq!(whole.finish().text, "\u{fffd}a");
    }
}
