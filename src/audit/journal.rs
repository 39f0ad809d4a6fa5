//! The journald sink: one datagram a record, in journald's own protocol.
//!
//! In: lines, and what they are about. Out: entries of the journal, each of which is a head for `audit verify`: it holds
//! the hash of the record, and journald adds whose process it came from. See <https://systemd.io/JOURNAL_NATIVE_PROTOCOL/>.

use std::{
    io,
    os::unix::{ffi::OsStrExt, net::UnixDatagram},
    path::Path,
    time::Duration,
};

use thiserror::Error;

use crate::{
    audit::{
        chain::Link,
        file::Entry,
        record::{Record, Verdict},
    },
    digest::sha256,
    text::visible::visible,
};

/// Where journald listens.
const SOCKET: &str = "/run/systemd/journal/socket";
/// How long a journal that is full is waited for.
const PATIENCE: Duration = Duration::from_millis(500);
/// By this the entries are found: `journalctl MESSAGE_ID=…`.
pub const MESSAGE_ID: &str = "b6f0f9c3f4e64d0f9a6f6a1b1d2c7e58";
/// By this too: `journalctl -t playwright-warden`.
pub const IDENTIFIER: &str = "playwright-warden";

/// Why the journal did not take a record.
#[derive(Debug, Error)]
#[error("journald does not take it")]
pub struct JournalError(#[from] io::Error);

/// What is sent.
#[derive(Clone, Copy, Debug)]
pub(super) enum Message<'a> {
    /// A line with its place in the chain.
    Head(&'a Entry),
    /// A line that the file did not take: no head, since the file does not have it.
    Unfiled(&'a Record, &'a str),
}

impl Message<'_> {
    fn record(&self) -> &Record {
        match self {
            Self::Head(entry) => &entry.record,
            Self::Unfiled(record, _) => record,
        }
    }
}

/// Looks whether somebody listens, and sends nothing.
///
/// # Errors
/// [`JournalError`] when nobody does.
pub fn look() -> Result<(), JournalError> {
    Ok(UnixDatagram::unbound()?.connect(SOCKET)?)
}

/// Sends a record.
///
/// # Errors
/// [`JournalError`] when nobody listens, or nobody takes it in time.
pub(super) fn send(message: Message<'_>, file: Option<&Path>) -> Result<(), JournalError> {
    let socket = UnixDatagram::unbound()?;
    socket.connect(SOCKET)?;
    socket.set_write_timeout(Some(PATIENCE))?;
    let datagram = datagram(message, file);
    let sent = socket.send(&datagram)?;
    if sent == datagram.len() { Ok(()) } else { Err(io::Error::from(io::ErrorKind::WriteZero).into()) }
}

fn datagram(message: Message<'_>, file: Option<&Path>) -> Vec<u8> {
    let mut fields = Fields::default();
    let record = message.record();
    let told = match message {
        Message::Head(_) => told(record),
        Message::Unfiled(..) => format!("not in the audit file: {}", told(record)),
    };
    fields.put("MESSAGE", told.as_bytes());
    fields.put("MESSAGE_ID", MESSAGE_ID.as_bytes());
    fields.put("PRIORITY", priority(message).as_bytes());
    fields.put("SYSLOG_IDENTIFIER", IDENTIFIER.as_bytes());
    fields.put("PW_EVENT", record.event().as_bytes());
    if let Some(decision) = record.decision() {
        fields.put("PW_DECISION", decision.to_string().as_bytes());
    }
    if let Some(file) = file {
        fields.put("PW_FILE", file.as_os_str().as_bytes());
    }
    match message {
        Message::Head(Entry { link: Link { chain, seq, .. }, line, .. }) => {
            fields.put("PW_CHAIN", chain.as_bytes());
            fields.put("PW_SEQ", seq.to_string().as_bytes());
            fields.put("PW_HASH", sha256(line.as_bytes()).as_bytes());
            fields.put("PW_RECORD", line.as_bytes());
        }
        Message::Unfiled(_, line) => fields.put("PW_RECORD", line.as_bytes()),
    }
    fields.0
}

/// Warning, notice or information, as syslog numbers them.
fn priority(message: Message<'_>) -> &'static str {
    match (message, message.record()) {
        (Message::Unfiled(..), _) | (_, Record::Continued { .. }) => "4",
        (_, Record::Decided(decided)) if decided.verdict == Verdict::Deny => "5",
        (_, Record::Decided(_) | Record::Ended { .. } | Record::Started { .. } | Record::Stopped { .. }) => {
            "6"
        }
    }
}

/// A record in a sentence.
fn told(record: &Record) -> String {
    let sentence = match record {
        Record::Started { .. } => "the server started".to_owned(),
        Record::Stopped { reason } => format!("the server stopped: {reason}"),
        Record::Continued { reason, .. } => {
            format!("the audit file was {}; its chain goes on", reason.as_str())
        }
        Record::Ended { decision, ended } => format!("{decision} ended: {}", ended.outcome),
        Record::Decided(decided) => format!(
            "{} {} ({}): `{}` by {} at {}",
            decided.verdict.as_str(),
            decided.call.tool,
            decided.decision,
            decided.subject,
            decided.rule,
            decided.place
        ),
    };
    visible(&sentence)
}

#[derive(Default)]
struct Fields(Vec<u8>);

impl Fields {
    fn put(&mut self, name: &str, value: &[u8]) {
        self.0.extend_from_slice(name.as_bytes());
        if value.contains(&b'\n') {
            self.0.push(b'\n');
            self.0.extend_from_slice(&(value.len() as u64).to_le_bytes());
        } else {
            self.0.push(b'=');
        }
        self.0.extend_from_slice(value);
        self.0.push(b'\n');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_with_a_line_break_is_no_second_field() {
        let mut fields = Fields::default();
        fields.put("PW_FILE", b"/a\nPW_HASH=forged");
        assert_eq!(fields.0, b"PW_FILE\n\x11\0\0\0\0\0\0\0/a\nPW_HASH=forged\n");
    }
}
