//! What stands at the end of the file: a record, a torn one, nothing.
//!
//! In: an open file, locked. Out: what the next record is tied to. A piece without a line break, which a crash or a full
//! disk leaves behind, stays where it is: the next record's hash covers it.

use std::{fs::File, os::unix::fs::FileExt};

use crate::{
    audit::{
        chain::{LINE_BYTES, Link, Tip},
        file::{FileError, Mend},
    },
    digest::sha256,
};

/// The last record stands within so many bytes of the end, or this is no log of ours.
const WINDOW: u64 = 64 * 1024;
/// How each line begins.
const BEGINNING: &[u8] = br#"{"v":1,"time":""#;

/// The last record that is known, and where it stands in the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Known {
    pub(super) tip: Tip,
    /// Its first byte.
    pub(super) start: u64,
    /// The byte after it, and after what is hashed with it: a line break, or the end.
    pub(super) end: u64,
}

impl Known {
    /// Whether nothing came after it.
    pub(super) fn is_last(&self, file: &File, size: u64) -> Result<bool, FileError> {
        Ok(size == self.end.saturating_add(1) && self.holds(file, size)?)
    }

    /// Whether it still stands where it stood.
    pub(super) fn holds(&self, file: &File, size: u64) -> Result<bool, FileError> {
        if size < self.end {
            return Ok(false);
        }
        let bytes = read_range(file, self.start, size.min(self.end.saturating_add(1)))?;
        let (record, rest) = bytes.split_at_checked(length(self.start, self.end)).unwrap_or((&bytes, b""));
        Ok(sha256(record) == self.tip.digest && matches!(rest, b"" | b"\n"))
    }
}

/// What stands at the end of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Tail {
    /// Nothing.
    Empty,
    /// A record, perhaps with a torn one after it.
    Record { known: Known, mend: Mend },
    /// No record but the piece of one.
    Torn { digest: String, mend: Mend },
}

impl Tail {
    /// What has to be written before the next line.
    pub(super) fn mend(&self) -> Mend {
        match self {
            Self::Empty => Mend::Nothing,
            Self::Record { mend, .. } | Self::Torn { mend, .. } => *mend,
        }
    }
}

/// Reads the end of a file of this size.
///
/// # Errors
/// [`FileError::NotALog`] when there is something else in it.
pub(super) fn read(file: &File, size: u64) -> Result<Tail, FileError> {
    let from = size.saturating_sub(WINDOW);
    let bytes = read_range(file, from, size)?;
    if bytes.is_empty() {
        return Ok(Tail::Empty);
    }
    let (text, mend) = match bytes.strip_suffix(b"\n") {
        Some(text) => (text, Mend::Nothing),
        None => (bytes.as_slice(), Mend::Newline),
    };
    let mut end = text.len();
    loop {
        let before = text.get(..end).unwrap_or_default();
        let start = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |newline| newline + 1);
        // A line that begins before the window is not seen whole.
        let whole = start > 0 || from == 0;
        let line = before.get(start..).unwrap_or_default();
        if let Some(link) = Link::parse(line).filter(|_| whole) {
            let digest = sha256(text.get(start..).unwrap_or_default());
            let tip = Tip { chain: link.chain, seq: link.seq, digest };
            let at = |offset: usize| from.saturating_add(offset as u64);
            return Ok(Tail::Record { known: Known { tip, start: at(start), end: at(text.len()) }, mend });
        }
        if start == 0 {
            break;
        }
        end = start - 1;
    }
    let is_torn = text.len() < LINE_BYTES && (text.starts_with(BEGINNING) || BEGINNING.starts_with(text));
    if from == 0 && is_torn && !text.contains(&b'\n') {
        return Ok(Tail::Torn { digest: sha256(text), mend });
    }
    Err(FileError::NotALog)
}

fn read_range(file: &File, from: u64, to: u64) -> Result<Vec<u8>, FileError> {
    let mut bytes = vec![0; length(from, to)];
    file.read_exact_at(&mut bytes, from).map_err(|source| FileError::Io { act: "read", source })?;
    Ok(bytes)
}

fn length(from: u64, to: u64) -> usize {
    usize::try_from(to.saturating_sub(from)).unwrap_or(usize::MAX)
}
