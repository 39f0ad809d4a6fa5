//! The program run to its end without a client: what it said, and its exit status.

use std::{
    fs::{self, File},
    io::{Seek as _, Write as _},
    thread,
    time::{Duration, Instant},
};

use serde_json::Value;

use crate::harness::server::Setup;

/// Longer than any of these takes; a program that hangs fails its test.
const DEADLINE: Duration = Duration::from_mins(1);

/// How a program ended.
#[derive(Debug)]
pub struct Finished {
    /// Its exit status, none after a signal.
    pub status: Option<i32>,
    /// Its standard output.
    pub stdout: String,
    /// Its standard error.
    pub stderr: String,
}

impl Finished {
    /// Its standard output, parsed.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

impl Setup {
    /// Runs the program with these further arguments and this input to its end.
    pub fn finish(&self, arguments: &[&str], input: &str) -> Finished {
        let (mut command, own) = self.command();
        let file = |name: &str| File::create_new(own.path().join(name)).unwrap();
        let mut given =
            File::options().read(true).write(true).create_new(true).open(own.path().join("stdin")).unwrap();
        given.write_all(input.as_bytes()).unwrap();
        given.rewind().unwrap();
        command.args(arguments).stdin(given).stdout(file("stdout")).stderr(file("stderr"));
        let mut child = command.spawn().unwrap();
        let until = Instant::now() + DEADLINE;
        let status = loop {
            if let Some(status) = child.try_wait().unwrap() {
                break status;
            }
            if Instant::now() > until {
                child.kill().unwrap();
                panic!("{arguments:?} does not end");
            }
            thread::sleep(Duration::from_millis(5));
        };
        let said = |name: &str| fs::read_to_string(own.path().join(name)).unwrap();
        Finished { status: status.code(), stdout: said("stdout"), stderr: said("stderr") }
    }

    /// Asks `--check-policy` about a call; gives its exit status and its JSON.
    pub fn judge(&self, tool: &str, arguments: &Value) -> (Option<i32>, Value) {
        let call = serde_json::json!({ "tool": tool, "arguments": arguments }).to_string();
        let finished = self.finish(&["--check-policy", "--format", "json", "--call", &call], "");
        (finished.status, finished.json()["call"].take())
    }

    /// Tries to start the server, for a client that is gone at once.
    pub fn try_start(&self) -> Finished {
        self.finish(&[], "")
    }
}
