//! A journal of the tests' own, where journald listens.
//!
//! In: what the server sends. Out: the entries, and what `journalctl -o json` would print of them.

use std::{
    collections::BTreeMap,
    fs,
    os::unix::net::UnixDatagram,
    path::PathBuf,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use serde_json::json;
use tempfile::TempDir;

use crate::harness::{namespace::Namespace, project::open_to_all};

/// The field of an entry that says how far the journal was read.
const MARKER: &str = "READ_UP_TO";

/// One entry: its fields.
pub type Entry = BTreeMap<String, String>;

/// A journal that listens until it is dropped.
pub struct Journal {
    directory: TempDir,
    unread: Option<UnixDatagram>,
    entries: Arc<Mutex<Vec<Entry>>>,
    markers: AtomicUsize,
}

impl Journal {
    /// A journal that takes what comes.
    pub fn new() -> Self {
        let journal = Self::closed();
        let socket = UnixDatagram::bind(journal.socket()).unwrap();
        open_to_all(&journal.socket());
        let entries = Arc::clone(&journal.entries);
        drop(thread::spawn(move || {
            let mut datagram = vec![0; 1 << 18];
            // The empty one says that it is over.
            while let Ok(bytes @ 1..) = socket.recv(&mut datagram) {
                entries.lock().unwrap().push(fields(&datagram[..bytes]));
            }
        }));
        journal
    }

    /// One where nobody listens.
    pub fn closed() -> Self {
        let directory = tempfile::Builder::new().prefix("warden-journal-").tempdir().unwrap();
        open_to_all(directory.path());
        Self { directory, unread: None, entries: Arc::default(), markers: AtomicUsize::new(0) }
    }

    /// One that listens and never reads.
    pub fn full() -> Self {
        let mut journal = Self::closed();
        journal.unread = Some(UnixDatagram::bind(journal.socket()).unwrap());
        journal
    }

    /// The world in which it is the system's journal.
    pub fn namespace(&self) -> Namespace {
        let place = "/run/systemd/journal";
        Namespace::prepared_by(&format!(
            "mount -t tmpfs -o mode=0755 none /run\nmkdir -p {place}\nmount --bind '{}' {place}",
            self.directory.path().display()
        ))
    }

    /// Nobody listens any more.
    pub fn close(&self) {
        drop(UnixDatagram::unbound().unwrap().send_to(b"", self.socket()));
        fs::remove_file(self.socket()).unwrap();
    }

    /// What came; while it listens, all that was sent before this.
    pub fn entries(&self) -> Vec<Entry> {
        let marker = format!("{MARKER}={}", self.markers.fetch_add(1, Ordering::Relaxed));
        let sent = UnixDatagram::unbound().unwrap().send_to(format!("{marker}\n").as_bytes(), self.socket());
        let deadline = Instant::now() + Duration::from_secs(10);
        loop {
            let entries = self.entries.lock().unwrap().clone();
            let is_read = entries.iter().any(|entry| *entry == fields(format!("{marker}\n").as_bytes()));
            // Where nobody listens, nothing is unread.
            if is_read || sent.is_err() {
                return entries.into_iter().filter(|entry| !entry.contains_key(MARKER)).collect();
            }
            assert!(Instant::now() < deadline, "the journal's thread reads");
            thread::sleep(Duration::from_millis(2));
        }
    }

    /// What `journalctl -o json` prints, if this user sent it.
    pub fn json(&self, uid: u32) -> String {
        let lines = self.entries().into_iter().map(|mut entry| {
            entry.insert("_UID".to_owned(), uid.to_string());
            format!("{}\n", json!(entry))
        });
        lines.collect()
    }

    fn socket(&self) -> PathBuf {
        self.directory.path().join("socket")
    }
}

impl Drop for Journal {
    fn drop(&mut self) {
        if self.unread.is_some() {
            return;
        }
        // The thread may be gone already.
        drop(UnixDatagram::unbound().unwrap().send_to(b"", self.socket()));
    }
}

/// Reads journald's protocol.
fn fields(mut bytes: &[u8]) -> Entry {
    let mut entry = Entry::new();
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    while let Some(newline) = bytes.iter().position(|byte| *byte == b'\n') {
        let line = &bytes[..newline];
        bytes = &bytes[newline + 1..];
        if let Some(equals) = line.iter().position(|byte| *byte == b'=') {
            entry.insert(text(&line[..equals]), text(&line[equals + 1..]));
        } else {
            let length = usize::try_from(u64::from_le_bytes(bytes[..8].try_into().unwrap())).unwrap();
            entry.insert(text(line), text(&bytes[8..8 + length]));
            bytes = &bytes[8 + length + 1..];
        }
    }
    entry
}
