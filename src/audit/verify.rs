//! Whether a log is as it was written: each record tied to the one before, and to the journal's heads.
//!
//! In: the files of one log, oldest first, as streams; heads. Out: a [`Verification`]. Memory does not grow with the
//! files, only with the heads. Finding and opening files, and showing what was found, is left to `cli`.

use std::{
    collections::BTreeSet,
    io::{self, BufRead},
};

use serde::Serialize;
use serde_json::Value;

use crate::{
    audit::{
        chain::{Link, NOTHING},
        heads::{Heads, Said},
        pieces::{End, Piece, Pieces},
    },
    digest,
};

/// So many findings are kept.
const FINDINGS: usize = 200;

/// How much a finding weighs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Weight {
    /// The log is not as it was written.
    Fault,
    /// Worth knowing.
    Note,
}

/// Something that was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// How much it weighs.
    pub weight: Weight,
    /// What, in a stable word.
    pub code: &'static str,
    /// The file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The line, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// What, in words.
    pub message: String,
}

/// How the heads compare.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Anchoring {
    /// Heads of the owner and of root.
    pub heads: usize,
    /// Records that a head confirms.
    pub confirmed: u64,
    /// Records that no head speaks of.
    pub without_head: u64,
    /// Entries that do not count: of other users, or no heads.
    pub ignored_entries: u64,
}

/// What came of looking at a log.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Verification {
    /// Whether there is no fault.
    pub sound: bool,
    /// Whether heads were there to compare with.
    pub anchored: bool,
    /// The records that were read.
    pub records: u64,
    /// How many chains they belong to.
    pub chain_count: u64,
    /// The first 200 of them, in the order of their first record.
    pub chains: Vec<String>,
    /// How the heads compare.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub anchoring: Option<Anchoring>,
    /// What was found, faults and notes, in the order of the lines.
    pub findings: Vec<Finding>,
    /// Findings that are not told.
    pub more_findings: u64,
    #[serde(skip)]
    faults: u64,
}

/// Looks at the files of one log, one after another.
#[derive(Debug, Default)]
pub struct Verifier {
    heads: Option<Heads>,
    found: Verification,
    anchoring: Anchoring,
    last: Option<Last>,
    /// How many chains began.
    begun: u64,
    /// Where the records without a head begin that come after one with a head, or first.
    headless: Option<(String, u64)>,
    /// Lines since the last record that are none.
    strange: Vec<(String, u64)>,
}

/// The last record.
#[derive(Debug)]
struct Last {
    link: Link,
    file: usize,
    name: String,
    line: u64,
    /// What stands in the file from its start on.
    bytes: digest::Pieces,
}

/// What a last line is that is no record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LastLine {
    /// A write that was cut off.
    Torn,
    /// Nothing that a server wrote.
    Foreign,
}

/// Where a line stands.
#[derive(Clone, Copy, Debug)]
struct At<'a> {
    file: usize,
    name: &'a str,
    line: u64,
}

impl Verifier {
    /// Looks at chains alone, or at heads too.
    pub fn new(heads: Option<Heads>) -> Self {
        Self { heads, ..Self::default() }
    }

    /// Looks at the next file.
    ///
    /// # Errors
    /// What the kernel says while it is read.
    pub fn file(&mut self, number: usize, name: &str, reader: impl BufRead) -> io::Result<()> {
        let mut pieces = Pieces::new(reader);
        let mut at = At { file: number, name, line: 0 };
        let mut last_end = End::Newline;
        let mut is_long = false;
        // What stands in this file before its first record.
        let mut beginning = None;
        while let Some(read) = pieces.read()? {
            let Piece { bytes: piece, goes_on, end } = read;
            last_end = end;
            is_long = goes_on || end == End::More;
            if !goes_on {
                at.line = at.line.saturating_add(1);
            }
            if let Some(link) = read.record() {
                let stands = beginning.take().map(digest::Pieces::sha256);
                self.record(at, link, piece, stands.as_deref().unwrap_or(NOTHING));
                continue;
            }
            let line_break: &[u8] = if goes_on { b"" } else { b"\n" };
            if let Some(last) = &mut self.last {
                last.bytes.add(line_break);
                last.bytes.add(piece);
            }
            match &mut beginning {
                None => beginning.insert(digest::Pieces::default()).add(piece),
                Some(bytes) => {
                    bytes.add(line_break);
                    bytes.add(piece);
                }
            }
            if !goes_on && self.strange.len() < FINDINGS {
                self.strange.push((name.to_owned(), at.line));
            }
        }
        // No write of ours is as long as that.
        let is_torn = last_end != End::Newline && !is_long;
        self.end_of_file(at, if is_torn { LastLine::Torn } else { LastLine::Foreign });
        Ok(())
    }

    /// A write that was cut off has no line break; what has one and is no record was put there.
    fn end_of_file(&mut self, at: At<'_>, last: LastLine) {
        let here = |(file, _): &(String, u64)| file == at.name;
        if !self.strange.iter().any(here) {
            return;
        }
        if last == LastLine::Foreign {
            let strange = std::mem::take(&mut self.strange);
            for (_, line) in strange.into_iter().filter(here) {
                let message = "this line is no record, and no record follows it";
                self.fault(At { line, ..at }, "no-record", message.to_owned());
            }
        } else {
            let message = "the last line is not whole: it was being written, or its writing was cut off";
            self.note(at, "torn-end", message.to_owned());
        }
    }

    fn record(&mut self, at: At<'_>, link: Link, text: &[u8], prev: &str) {
        let last = self.last.take();
        let strange = std::mem::take(&mut self.strange);
        match &last {
            None => self.first(at, &link, prev, &strange),
            Some(last) if last.file != at.file && last.link.chain != link.chain => {
                self.new_chain(at, &link, prev);
            }
            Some(last) => self.next(at, &link, last, &strange),
        }
        if last.as_ref().is_none_or(|last| last.link.chain != link.chain) {
            self.begun = self.begun.saturating_add(1);
            if self.found.chains.len() < FINDINGS {
                self.found.chains.push(link.chain.clone());
            }
        }
        self.found.records = self.found.records.saturating_add(1);
        self.told_by_the_server(at, &link, text, last.as_ref());
        self.compare(at, &link, text);
        let mut bytes = digest::Pieces::default();
        bytes.add(text);
        self.last = Some(Last { link, file: at.file, name: at.name.to_owned(), line: at.line, bytes });
    }

    /// The very first record.
    fn first(&mut self, at: At<'_>, link: &Link, prev: &str, strange: &[(String, u64)]) {
        if let (Some((name, number)), 2..) = (strange.first(), link.seq) {
            let message = "this line is no record, and what follows is not the beginning of a chain";
            self.fault(At { file: at.file, name, line: *number }, "no-record", message.to_owned());
        } else if link.seq > 1 {
            let before = link.seq - 1;
            let message = format!(
                "the log begins with record {}: the {before} before it are in none of the files",
                link.seq
            );
            self.note(at, "starts-late", message);
        } else {
            self.new_chain(at, link, prev);
        }
    }

    /// The first record of a file that does not go on with the chain of the file before.
    fn new_chain(&mut self, at: At<'_>, link: &Link, prev: &str) {
        if link.seq > 1 {
            let message = format!(
                "a chain begins with record {}: a file is missing, or the order of the files is wrong",
                link.seq
            );
            self.fault(at, "missing-records", message);
        } else if link.prev != prev {
            self.fault(
                at,
                "changed-record",
                "the beginning of the chain is not as it was written".to_owned(),
            );
        } else if self.found.records > 0 {
            self.note(at, "new-chain", "a new chain begins: nothing ties it to the file before".to_owned());
        }
    }

    fn next(&mut self, at: At<'_>, link: &Link, last: &Last, strange: &[(String, u64)]) {
        let expected = last.link.seq.saturating_add(1);
        if link.chain != last.link.chain {
            self.fault(at, "another-chain", "another chain begins within the file".to_owned());
        } else if link.seq > expected {
            let gap = if link.seq - expected == 1 {
                format!("record {expected} is missing")
            } else {
                format!("records {expected} to {} are missing", link.seq - 1)
            };
            self.fault(at, "missing-records", format!("{gap} before this line"));
        } else if link.seq < expected {
            let message = format!(
                "record {} stands where {expected} belongs: it was put in, repeated or moved",
                link.seq
            );
            self.fault(at, "out-of-order", message);
        } else if link.prev != last.bytes.clone().sha256() {
            if let Some((name, number)) = strange.first() {
                let message = "this line is no record, and was put in or changed";
                self.fault(At { file: at.file, name, line: *number }, "no-record", message.to_owned());
            } else {
                let message = "this record was changed: the next one is not tied to it";
                let at = At { file: last.file, name: &last.name, line: last.line };
                self.fault(at, "changed-record", message.to_owned());
            }
            return;
        }
        for (name, number) in strange {
            let message = "this line is no record: a write was cut off, or somebody else wrote; the chain goes on over it";
            self.note(At { file: at.file, name, line: *number }, "torn-line", message.to_owned());
        }
    }

    /// What a server that ran at the time saw happen to its file.
    fn told_by_the_server(&mut self, at: At<'_>, link: &Link, text: &[u8], last: Option<&Last>) {
        let is_continued = text.windows(CONTINUED.len()).any(|part| part == CONTINUED);
        let Some(record) = is_continued.then(|| serde_json::from_slice::<Value>(text).ok()).flatten() else {
            return;
        };
        let word = |pointer| record.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        if word("/event") != "continued" {
            return;
        }
        let other =
            if word("/after/chain") == link.chain { "" } else { ", and found another chain in its place" };
        let message = format!("a server saw that its file was {}{other}", word("/reason"));
        let is_before = |last: &Last| {
            let place = (last.link.chain.as_str(), Some(last.link.seq));
            place == (word("/after/chain"), record.pointer("/after/seq").and_then(Value::as_u64))
                && last.bytes.clone().sha256() == word("/after/digest")
        };
        // A file that was renamed or removed may be elsewhere; one that was cut or changed in its place is not.
        let is_lost = matches!(word("/reason"), "truncated" | "rewritten") && !last.is_some_and(is_before);
        let weight = if is_lost { Weight::Fault } else { Weight::Note };
        self.put(weight, at, "seen-by-server", message);
    }

    fn compare(&mut self, at: At<'_>, link: &Link, text: &[u8]) {
        let Some(heads) = &mut self.heads else { return };
        match heads.compare(&link.chain, link.seq, &digest::sha256(text)) {
            Said::Same => {
                self.anchoring.confirmed = self.anchoring.confirmed.saturating_add(1);
                if let Some((name, line)) = self.headless.take() {
                    let message = "from here on records have no head, and later ones have: the journal dropped them, or \
                                   they were put in while the server did not write";
                    self.note(At { file: at.file, name: &name, line }, "without-head", message.to_owned());
                }
            }
            Said::Nothing => {
                self.anchoring.without_head = self.anchoring.without_head.saturating_add(1);
                self.headless.get_or_insert_with(|| (at.name.to_owned(), at.line));
            }
            Said::Other => {
                self.fault(
                    at,
                    "not-as-in-journal",
                    "the journal has another record at this place of the chain".to_owned(),
                );
            }
        }
    }

    /// Tells what came of it.
    pub fn finish(mut self) -> Verification {
        if let Some(heads) = self.heads.take() {
            self.anchoring.heads = heads.count();
            self.anchoring.ignored_entries = heads.ignored();
            let chains: BTreeSet<String> = self.found.chains.iter().cloned().collect();
            for (chain, range) in heads.missing(&chains) {
                let last = range.end.saturating_sub(1);
                let records = if range.start == last {
                    format!("record {last}")
                } else {
                    format!("records {} to {last}", range.start)
                };
                let message =
                    format!("{records} of chain {chain} are in the journal and in none of the files");
                self.found.put(Finding {
                    weight: Weight::Fault,
                    code: "missing-records",
                    file: None,
                    line: None,
                    message,
                });
            }
            if self.anchoring.confirmed == 0 {
                let message =
                    "no head confirms a record: the heads are of another log or time, or of another user"
                        .to_owned();
                self.found.put(Finding {
                    weight: Weight::Fault,
                    code: "no-heads",
                    file: None,
                    line: None,
                    message,
                });
            }
            self.found.anchored = self.anchoring.confirmed > 0;
            self.found.anchoring = Some(self.anchoring);
        }
        self.found.chain_count = self.begun;
        if self.found.records == 0 {
            let message = "there is no record in it: it is empty, or no audit log".to_owned();
            self.found.put(Finding {
                weight: Weight::Fault,
                code: "no-records",
                file: None,
                line: None,
                message,
            });
        }
        self.found.sound = self.found.faults == 0;
        self.found
    }

    fn fault(&mut self, at: At<'_>, code: &'static str, message: String) {
        self.put(Weight::Fault, at, code, message);
    }

    fn note(&mut self, at: At<'_>, code: &'static str, message: String) {
        self.put(Weight::Note, at, code, message);
    }

    fn put(&mut self, weight: Weight, at: At<'_>, code: &'static str, message: String) {
        let (file, line) = (Some(at.name.to_owned()), Some(at.line));
        self.found.put(Finding { weight, code, file, line, message });
    }
}

/// What stands in a record that a server writes when its file has changed.
const CONTINUED: &[u8] = br#""event":"continued""#;

impl Verification {
    fn put(&mut self, finding: Finding) {
        if finding.weight == Weight::Fault {
            self.faults = self.faults.saturating_add(1);
        }
        if self.findings.len() < FINDINGS {
            self.findings.push(finding);
        } else {
            self.more_findings = self.more_findings.saturating_add(1);
        }
    }
}
