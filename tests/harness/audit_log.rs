//! An audit log: where a server writes it, what is in it, what `audit verify` says of it.

use std::{
    fs,
    os::unix::fs::{PermissionsExt, chown},
    path::{Path, PathBuf},
};

use serde_json::Value;
use tempfile::TempDir;

use crate::harness::{
    program::Finished,
    server::Setup,
    user::{NOBODY, User},
};

/// The most bytes of a line, with its line break.
const LINE_BYTES: usize = 8_192;

/// A directory for a log that only this user can change; the file is not there yet.
pub struct AuditLog {
    directory: TempDir,
}

impl AuditLog {
    /// For a server that runs as this user.
    pub fn new(user: User) -> Self {
        let directory = tempfile::Builder::new().prefix("warden-log-").tempdir().unwrap();
        fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o755)).unwrap();
        if user == User::Ordinary {
            chown(directory.path(), Some(NOBODY), Some(NOBODY)).unwrap();
        }
        Self { directory }
    }

    /// The file.
    pub fn path(&self) -> PathBuf {
        self.at("audit.jsonl")
    }

    /// Another file beside it.
    pub fn at(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// The policy that writes it, with these further keys of `[audit]`.
    pub fn policy(&self, sinks: &str, keys: &str) -> String {
        format!("[audit]\nsinks = {sinks}\nfile = \"{}\"\n{keys}", self.path().display())
    }

    /// What is in the file.
    pub fn text(&self) -> String {
        fs::read_to_string(self.path()).unwrap()
    }

    /// The lines, each of which is a record.
    pub fn records(&self) -> Vec<Value> {
        self.text().lines().map(record).collect()
    }

    /// The records of this event.
    pub fn of_event(&self, event: &str) -> Vec<Value> {
        self.records().into_iter().filter(|record| record["event"] == event).collect()
    }

    /// What `audit verify` says of these files.
    pub fn verify(&self, files: &[&Path], heads: Option<&str>) -> Finished {
        let files: Vec<&str> = files.iter().map(|path| path.to_str().unwrap()).collect();
        let mut arguments = vec!["audit", "verify", "--format", "json"];
        arguments.extend(heads.map(|_| "--heads=-"));
        arguments.extend(files);
        Setup::in_directory(self.directory.path()).finish(&arguments, heads.unwrap_or_default())
    }

    /// Fails unless `audit verify` finds nothing wrong; gives its answer.
    pub fn assert_sound(&self, files: &[&Path]) -> Value {
        let finished = self.verify(files, None);
        assert_eq!(finished.status, Some(0), "{finished:?}");
        finished.json()
    }

    /// Fails unless `audit verify` finds this fault; gives its answer.
    pub fn assert_fault(&self, files: &[&Path], heads: Option<&str>, code: &str) -> Value {
        let finished = self.verify(files, heads);
        assert_eq!(finished.status, Some(1), "{finished:?}");
        let found = finished.json();
        let faults = found["findings"].as_array().unwrap().iter().filter(|one| one["weight"] == "fault");
        assert!(faults.clone().any(|fault| fault["code"] == code), "no {code}: {found}");
        found
    }
}

/// Reads a line, and fails if it is not as every line has to be.
pub fn record(line: &str) -> Value {
    assert!(line.len() < LINE_BYTES, "{} bytes: {line}", line.len());
    assert!(line.bytes().all(|byte| matches!(byte, b' '..=b'~')), "not printable ASCII: {line:?}");
    let record: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
    assert_eq!(record["v"], 1, "{line}");
    record
}
