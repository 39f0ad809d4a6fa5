//! A log read line by line, in bounded memory, whatever is in it.

use std::io::{self, BufRead, Read as _};

use crate::audit::chain::{LINE_BYTES, Link};

/// What a piece ends with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// A line break, which is not part of it.
    Newline,
    /// It goes on: this is no record, which would have ended by now.
    More,
    /// The end of the file.
    File,
}

/// A line, or a part of one that is too long.
#[derive(Clone, Copy, Debug)]
pub struct Piece<'a> {
    /// Its bytes.
    pub bytes: &'a [u8],
    /// Whether it goes on with a line that began before.
    pub goes_on: bool,
    /// What it ends with.
    pub end: End,
}

impl Piece<'_> {
    /// The place of the record that it is; a part of a line is none, whatever stands in it.
    pub fn record(&self) -> Option<Link> {
        Link::parse(self.bytes).filter(|_| !self.goes_on && self.end != End::More)
    }
}

/// Reads pieces: lines, and parts of lines that are too long.
#[derive(Debug)]
pub struct Pieces<R> {
    reader: R,
    piece: Vec<u8>,
    /// What the piece before ended with.
    before: End,
}

impl<R: BufRead> Pieces<R> {
    /// Reads from here.
    pub fn new(reader: R) -> Self {
        Self { reader, piece: Vec::new(), before: End::Newline }
    }

    /// The next piece, `None` at the end.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn read(&mut self) -> io::Result<Option<Piece<'_>>> {
        self.piece.clear();
        self.reader.by_ref().take(LINE_BYTES as u64).read_until(b'\n', &mut self.piece)?;
        if self.piece.is_empty() {
            return Ok(None);
        }
        let goes_on = self.before == End::More;
        let (bytes, end) = match self.piece.strip_suffix(b"\n") {
            Some(line) => (line, End::Newline),
            None if self.piece.len() == LINE_BYTES => (self.piece.as_slice(), End::More),
            None => (self.piece.as_slice(), End::File),
        };
        self.before = end;
        Ok(Some(Piece { bytes, goes_on, end }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_line_comes_in_parts() {
        let text = format!("a\n\n{}\nb", "x".repeat(LINE_BYTES + 1));
        let mut pieces = Pieces::new(text.as_bytes());
        let mut seen = Vec::new();
        while let Some(piece) = pieces.read().unwrap() {
            seen.push((piece.bytes.len(), piece.end));
        }
        let expected = [
            (1, End::Newline),
            (0, End::Newline),
            (LINE_BYTES, End::More),
            (1, End::Newline),
            (1, End::File),
        ];
        assert_eq!(seen, expected);
    }

    #[test]
    fn a_record_is_a_whole_line() {
        let record = format!(
            "{{\"v\":1,\"time\":\"2026-11-30T00:00:00.000Z\",\"chain\":\"{}\",\"seq\":1,\"prev\":\"{}\",\"event\":\"stopped\"}}",
            "a".repeat(32),
            "0".repeat(64)
        );
        let records = |text: &str| {
            let (mut pieces, mut count) = (Pieces::new(text.as_bytes()), 0);
            while let Some(piece) = pieces.read().unwrap() {
                count += u32::from(piece.record().is_some());
            }
            count
        };
        assert_eq!(records(&format!("{record}\n{record}\n")), 2, "the control");
        assert_eq!(records(&format!("{}{record}\n", "x".repeat(LINE_BYTES))), 0, "behind what is too long");
    }
}
