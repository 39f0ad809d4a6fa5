//! The real server, driven line by line: what no client library would send, and exactly what comes back.
//!
//! In: a [`Setup`], and lines. Out: answers as JSON, in the order in which they came. Whatever stands on the server's
//! standard output must be a JSON-RPC message, and whatever must come has a deadline.

use std::{
    io::{BufRead, BufReader, Write},
    process::{Child, ChildStdin, ExitStatus, Stdio},
    sync::mpsc::{self, Receiver},
    thread,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::harness::server::Setup;

/// Longer than anything takes that must come.
pub const DEADLINE: Duration = Duration::from_mins(1);
/// The revision of the modern era.
pub const MODERN: &str = "2026-07-28";
/// The revisions that begin with `initialize`.
pub const LEGACY: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];

/// A server that is spoken to in lines.
pub struct Wire {
    process: Child,
    input: Option<ChildStdin>,
    lines: Receiver<String>,
    next_id: u64,
    envelope: Option<Value>,
    _own: TempDir,
}

impl Wire {
    /// Starts the server and says nothing.
    pub fn silent(setup: &Setup) -> Self {
        let (mut command, own) = setup.command();
        let mut process =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let output = BufReader::new(process.stdout.take().unwrap());
        let (sender, lines) = mpsc::channel();
        drop(thread::spawn(move || {
            output.lines().map_while(Result::ok).try_for_each(|line| sender.send(line))
        }));
        let input = process.stdin.take();
        Self { process, input, lines, next_id: 1, envelope: None, _own: own }
    }

    /// Starts the server and opens a legacy connection.
    pub fn legacy(setup: &Setup) -> Self {
        let mut wire = Self::silent(setup);
        let opened = wire.ask("initialize", initialize("2025-11-25"));
        assert_eq!(opened["result"]["protocolVersion"], "2025-11-25", "{opened}");
        wire.say(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        wire
    }

    /// Starts the server; each request bears the envelope of the modern era.
    pub fn modern(setup: &Setup) -> Self {
        let mut wire = Self::silent(setup);
        wire.envelope = Some(envelope(MODERN));
        wire
    }

    /// Sends one line as it is.
    pub fn say_line(&mut self, line: &str) {
        writeln!(self.input.as_mut().unwrap(), "{line}").unwrap();
    }

    /// Sends a message.
    pub fn say(&mut self, message: &Value) {
        self.say_line(&message.to_string());
    }

    /// Sends a request without waiting for the answer, and gives its id.
    pub fn begin(&mut self, method: &str, mut params: Value) -> u64 {
        let id = self.next_id;
        self.next_id += 1;
        if let (Some(envelope), None) = (&self.envelope, params.get("_meta")) {
            params["_meta"] = envelope.clone();
        }
        self.say(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        id
    }

    /// The next message; it must come.
    pub fn next(&mut self) -> Value {
        let line = self.lines.recv_timeout(DEADLINE).expect("the server says something");
        message(&line)
    }

    /// Sends a request; the next message must be its answer.
    pub fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.begin(method, params);
        let answer = self.next();
        assert_eq!(answer["id"], id, "{method} is answered by {answer}");
        answer
    }

    /// Calls a tool and gives its result.
    pub fn call(&mut self, tool: &str, arguments: &Value) -> Value {
        let answer = self.ask("tools/call", json!({ "name": tool, "arguments": arguments }));
        assert!(answer["result"].is_object(), "{answer}");
        answer["result"].clone()
    }

    /// Fails if a message came that nobody asked for: an answer to this request is the next one.
    pub fn assert_alive_and_quiet(&mut self) {
        let id = self.begin("tools/list", json!({}));
        let answer = self.next();
        assert_eq!((&answer["id"], answer["result"].is_object()), (&json!(id), true), "{answer}");
    }

    /// Sends a signal to the server.
    pub fn signal(&self, signal: Signal) {
        kill_process(Pid::from_raw(self.process.id().cast_signed()).unwrap(), signal).unwrap();
    }

    /// Closes the server's input and waits for its end; gives its exit status and what it still said.
    pub fn close(mut self) -> (ExitStatus, Vec<Value>) {
        self.input = None;
        self.end()
    }

    /// Waits for the server's end; gives its exit status and what it still said.
    pub fn end(mut self) -> (ExitStatus, Vec<Value>) {
        let give_up = Instant::now() + DEADLINE;
        let status = loop {
            if let Some(status) = self.process.try_wait().unwrap() {
                break status;
            }
            assert!(Instant::now() < give_up, "the server does not end");
            thread::sleep(Duration::from_millis(2));
        };
        (status, self.lines.iter().map(|line| message(&line)).collect())
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        // A test that failed leaves no server behind.
        if self.process.try_wait().is_ok_and(|ended| ended.is_none()) {
            drop(self.process.kill());
            drop(self.process.wait());
        }
    }
}

/// The parameters of `initialize` for this revision.
pub fn initialize(revision: &str) -> Value {
    json!({ "protocolVersion": revision, "capabilities": {}, "clientInfo": { "name": "wire", "version": "0" } })
}

/// The `_meta` of a modern request for this revision.
pub fn envelope(revision: &str) -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": revision,
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": { "name": "wire", "version": "0" },
    })
}

/// A line of standard output, which is JSON-RPC or a fault.
fn message(line: &str) -> Value {
    let message: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
    assert_eq!(message["jsonrpc"], "2.0", "{line}");
    message
}
