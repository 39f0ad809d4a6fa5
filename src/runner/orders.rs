//! The supervisor's standard input: first its order, then the word to stop, or the end.
//!
//! In: bytes of descriptor 0. Out: the order, and whether the end was ordered. What follows is left to `supervise`.

use std::io;
use std::os::fd::BorrowedFd;

use rustix::io::Errno;

use crate::runner::supervision::{Order, STOP};

/// The longest line that is read, in bytes.
const LINE_BYTES: usize = 16 * 1024 * 1024;
/// How much is read at once, in bytes.
const CHUNK: usize = 16 * 1024;

/// What was read and not yet understood.
#[derive(Debug, Default)]
pub struct Orders {
    unread: Vec<u8>,
}

impl Orders {
    /// Gives the descriptor that becomes readable when there is more.
    pub const fn source(&self) -> BorrowedFd<'static> {
        rustix::stdio::stdin()
    }

    /// Waits for the first line and parses it.
    ///
    /// # Errors
    ///
    /// Standard input ends before its first line does, or the line is no [`Order`].
    pub fn first(&mut self) -> io::Result<Order> {
        loop {
            if let Some(line) = self.next_line() {
                return serde_json::from_slice(&line)
                    .map_err(|error| malformed(&format!("makes no sense: {error}")));
            }
            if self.unread.len() > LINE_BYTES {
                return Err(malformed("is too long"));
            }
            if self.fill()? == 0 {
                return Err(malformed("is incomplete: standard input ended"));
            }
        }
    }

    /// Reads what is there, and says whether it orders the end: the word, the end of input, or input that can't be read.
    pub fn read_stop(&mut self) -> bool {
        let has_ended = !matches!(self.fill(), Ok(1..));
        has_ended || self.holds_stop()
    }

    /// Says whether the word to stop is among the lines that were read already; other lines say nothing.
    pub fn holds_stop(&mut self) -> bool {
        let mut is_ordered = false;
        while let Some(line) = self.next_line() {
            is_ordered |= line.trim_ascii() == STOP.as_bytes();
        }
        if self.unread.len() > LINE_BYTES {
            self.unread.clear();
        }
        is_ordered
    }

    fn next_line(&mut self) -> Option<Vec<u8>> {
        let end = self.unread.iter().position(|&byte| byte == b'\n')?;
        let rest = self.unread.split_off(end + 1);
        let mut line = std::mem::replace(&mut self.unread, rest);
        line.truncate(end);
        Some(line)
    }

    fn fill(&mut self) -> io::Result<usize> {
        let mut buffer = [0; CHUNK];
        loop {
            match rustix::io::read(rustix::stdio::stdin(), &mut buffer) {
                Ok(length) => {
                    self.unread.extend_from_slice(buffer.get(..length).unwrap_or_default());
                    return Ok(length);
                }
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

fn malformed(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("the order {what}"))
}
