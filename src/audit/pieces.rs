//! A log read line by line, in bounded memory, whatever is in it.

use std::io::{self, BufRead, Read as _};

use crate::audit::chain::LINE_BYTES;

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

/// Reads pieces: lines, and parts of lines that are too long.
#[derive(Debug)]
pub struct Pieces<R> {
    reader: R,
    piece: Vec<u8>,
}

impl<R: BufRead> Pieces<R> {
    /// Reads from here.
    pub fn new(reader: R) -> Self {
        Self { reader, piece: Vec::new() }
    }

    /// The next piece, `None` at the end.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn read(&mut self) -> io::Result<Option<(&[u8], End)>> {
        self.piece.clear();
        self.reader.by_ref().take(LINE_BYTES as u64).read_until(b'\n', &mut self.piece)?;
        if self.piece.is_empty() {
            return Ok(None);
        }
        Ok(Some(match self.piece.strip_suffix(b"\n") {
            Some(line) => (line, End::Newline),
            None if self.piece.len() == LINE_BYTES => (&self.piece, End::More),
            None => (&self.piece, End::File),
        }))
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
        while let Some((piece, end)) = pieces.read().unwrap() {
            seen.push((piece.len(), end));
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
}
