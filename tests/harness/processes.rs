//! The process table: who is there that names a path.

use std::{
    fs,
    path::Path,
    thread,
    time::{Duration, Instant},
};

use crate::harness::wire::DEADLINE;

/// The command lines of all living processes that name this path.
pub fn naming(path: &Path) -> Vec<String> {
    let path = path.to_str().unwrap();
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let lines = entries.filter_map(|entry| fs::read(entry.path().join("cmdline")).ok());
    let lines = lines.map(|line| String::from_utf8_lossy(&line).replace('\0', " "));
    lines.filter(|line| line.contains(path)).collect()
}

/// Waits until something holds.
pub fn await_that(what: &str, mut holds: impl FnMut() -> bool) {
    let give_up = Instant::now() + DEADLINE;
    while !holds() {
        assert!(Instant::now() < give_up, "never: {what}");
        thread::sleep(Duration::from_millis(10));
    }
}

/// Waits until no living process names this path.
pub fn await_none_naming(path: &Path) {
    await_that(&format!("no process names {}", path.display()), || naming(path).is_empty());
}
