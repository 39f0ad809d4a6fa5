//! Playwright's JSON report, read as a stream.
//!
//! In: the bytes of a file, whole or cut, maybe with other lines before the JSON. Out: a `Report` of what could be
//! read. Opening the file with a bound is left to the caller.
//!
//! The format: <https://github.com/microsoft/playwright/blob/main/packages/playwright/types/testReporter.d.ts>
//! (`JSONReport`).

use std::io::{self, BufReader, Read};

use serde::de::{DeserializeSeed, MapAccess};
use serde_json::error::Category;

use crate::report::json::config::{ConfigFields, StatsFields};
use crate::report::json::error::RunErrors;
use crate::report::json::lenient::{Array, Fields, Object};
use crate::report::json::repair::Repairing;
use crate::report::json::suites::{Collector, SuiteItems};
use crate::report::{Report, SourceKind};

pub(super) mod attempt;
pub(super) mod config;
pub(super) mod error;
pub(super) mod lenient;
mod output;
/// Bytes made fit for a strict JSON reader.
pub mod repair;
mod steps;
pub(super) mod suites;

/// A file up to this size is read whole, which is faster; a larger one as a stream, so that memory does not grow with it.
pub const WHOLE_BYTES: usize = 64 << 20;
/// How far the start of the JSON is looked for behind lines that other programs wrote, in bytes.
pub const MAX_BANNER_BYTES: usize = 1 << 20;

/// Why a file is no report. Holds nothing of the file's content.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// The file is empty: the reporter failed, or was killed while it wrote.
    #[error("the report is empty")]
    Empty,
    /// The file is something else.
    #[error("the file is no Playwright JSON report (line {line}, column {column})")]
    NotAReport {
        /// Where the reading ended, from 1.
        line: usize,
        /// Where in the line, from 1.
        column: usize,
    },
    /// The file could not be read.
    #[error("the report could not be read: {0}")]
    Read(#[from] io::Error),
}

impl ReportError {
    /// Says what to do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Empty => {
                "run the tests again; Playwright leaves an empty file when it cannot write the report"
            }
            Self::NotAReport { .. } => "name the file that Playwright's `json` reporter writes",
            Self::Read(_) => "check that the file is there and may be read",
        }
    }
}

/// Reads a report.
///
/// Lenient: a byte order mark, lines before the JSON and text after it, bytes that are no UTF-8, lone surrogates, unknown
/// fields and statuses, and fields of another type than expected are taken as they come. A file that ends or goes wrong
/// within the JSON yields what is complete before that, and [`Report::incomplete`] says where it ended.
///
/// # Errors
///
/// The source fails, is empty, or holds no Playwright report.
pub fn read(source: impl Read) -> Result<Report, ReportError> {
    let mut source = Repairing::new(source);
    let mut start = Vec::new();
    source.by_ref().take(WHOLE_BYTES as u64).read_to_end(&mut start)?;
    let Some(at) = start_of_json(&start) else {
        let blank = start.iter().all(u8::is_ascii_whitespace);
        return Err(if blank { ReportError::Empty } else { ReportError::NotAReport { line: 1, column: 1 } });
    };
    let (banner, json) = start.split_at_checked(at).unwrap_or_default();
    let mut reader = ReportFields::default();
    let end = if start.len() < WHOLE_BYTES {
        Object(&mut reader).deserialize(&mut serde_json::Deserializer::from_slice(json))
    } else {
        // The parser takes single bytes, for which a BufReader has a shortcut.
        let rest = BufReader::with_capacity(64 << 10, json.chain(source));
        Object(&mut reader).deserialize(&mut serde_json::Deserializer::from_reader(rest))
    };
    reader.finish(end, banner.split(|&byte| byte == b'\n').count() - 1)
}

/// Finds the object that looks like a report: the first at the start of a line whose first key is one of a report's,
/// else one that the file starts with.
fn start_of_json(bytes: &[u8]) -> Option<usize> {
    const KEYS: [&[u8]; 4] = [b"\"config\"", b"\"suites\"", b"\"errors\"", b"\"stats\""];
    let searched = bytes.get(..MAX_BANNER_BYTES).unwrap_or(bytes);
    let mut line_start = if searched.starts_with("\u{feff}".as_bytes()) { 3 } else { 0 };
    let first = line_start + blank_bytes(searched.get(line_start..)?);
    while let Some(line) = searched.get(line_start..) {
        let brace = line_start + blank_bytes(line);
        if let Some(inside) = bytes.get(brace..).and_then(|rest| rest.strip_prefix(b"{")) {
            let key = inside.trim_ascii_start();
            if KEYS.iter().any(|wanted| key.starts_with(wanted)) {
                return Some(brace);
            }
        }
        let Some(line_end) = line.iter().position(|&byte| byte == b'\n') else { break };
        line_start += line_end + 1;
    }
    bytes.get(first).filter(|&&byte| byte == b'{').map(|_| first)
}

fn blank_bytes(bytes: &[u8]) -> usize {
    bytes.len() - bytes.trim_ascii_start().len()
}

/// A report as it is read.
struct ReportFields {
    report: Report,
    collector: Collector,
    config: bool,
    suites: bool,
    stats: bool,
}

impl Default for ReportFields {
    fn default() -> Self {
        let report = Report::empty(SourceKind::Json);
        Self { report, collector: Collector::default(), config: false, suites: false, stats: false }
    }
}

impl Fields for ReportFields {
    const NAMES: &'static [&'static str] = &["config", "suites", "errors", "stats"];

    fn field<'de, A: MapAccess<'de>>(&mut self, name: &'static str, map: &mut A) -> Result<(), A::Error> {
        match name {
            "config" => {
                let mut config = ConfigFields { report: &mut self.report, found: false };
                let read = map.next_value_seed(Object(&mut config));
                self.config |= config.found;
                read
            }
            "suites" => {
                self.suites = true;
                map.next_value_seed(Array(&mut SuiteItems {
                    collector: &mut self.collector,
                    describes: None,
                }))
            }
            "errors" => map.next_value_seed(Array(&mut RunErrors(&mut self.report.errors))),
            _ => {
                let mut stats = StatsFields { report: &mut self.report, found: false };
                let read = map.next_value_seed(Object(&mut stats));
                self.stats |= stats.found;
                read
            }
        }
    }
}

impl ReportFields {
    /// Gives the report, if it is one; `lines_before` are those above the JSON.
    fn finish(self, end: Result<(), serde_json::Error>, lines_before: usize) -> Result<Report, ReportError> {
        let mut report = self.report;
        let (mut line, mut column) = (lines_before + 1, 1);
        let is_report = match end {
            Ok(()) => self.suites && (self.config || self.stats),
            Err(error) if error.is_io() => return Err(ReportError::Read(error.into())),
            Err(error) => {
                (line, column) = (lines_before + error.line(), error.column());
                let why = match error.classify() {
                    Category::Eof => "the file ends within the report",
                    Category::Syntax if is_depth(&error) => "the report is nested too deep",
                    Category::Io | Category::Syntax | Category::Data => "the report is no valid JSON",
                };
                report.incomplete = Some(format!("{why} (line {line}, column {column})"));
                self.config || self.suites
            }
        };
        if !is_report {
            return Err(ReportError::NotAReport { line, column });
        }
        report.tests = self.collector.tests;
        report.stats = self.collector.stats;
        Ok(report)
    }
}

/// Tells the error for more than 128 levels; it has no kind of its own.
fn is_depth(error: &serde_json::Error) -> bool {
    error.to_string().starts_with("recursion limit exceeded")
}
