//! `audit show`: the decisions of a log for a person.
//!
//! In: the files of one log. Out: two lines for each decision, with how it ended; the last ones, in bounded memory.
//! Whether the records are as they were written is left to `verify`.

use std::{
    collections::VecDeque,
    io::{self, BufRead, BufReader, Write},
    path::PathBuf,
    process::ExitCode,
};

use serde::Serialize;
use serde_json::{Value, json};

use crate::{
    audit::{line::ascii, pieces::Pieces},
    cli::{
        audit::{AuditFormat, FORMAT_VERSION, open},
        exit,
    },
    path::handle::ContainedFile,
    text::visible::visible,
};

/// The columns of a decision's first line, each with its width; JSON has all. No line is wider than 110 characters.
const FIRST: [(&str, usize); 5] = [("WHEN", 24), ("VERDICT", 7), ("TOOL", 16), ("WHO", 16), ("CLIENT", 39)];
/// Those of its second line, which is indented.
const SECOND: [(&str, usize); 3] = [("WHAT", 34), ("WHY", 36), ("END", 32)];
/// What is before a second line.
const INDENT: &str = "    ";

/// A decision, and how it ended.
#[derive(Debug, Serialize)]
struct Row {
    seq: u64,
    decided: Value,
    ended: Option<Value>,
}

/// Shows the last decisions of a log.
///
/// # Errors
/// When the file can't be read, or the answer not be written.
pub fn run(
    files: &[PathBuf],
    format: AuditFormat,
    last: usize,
    out: &mut impl Write,
) -> Result<ExitCode, Box<dyn std::error::Error>> {
    // All are opened before one is read: one that can't be is told at once.
    let opened: Vec<ContainedFile> = files.iter().map(|path| open(path)).collect::<Result<_, _>>()?;
    let mut shown = Shown::default();
    for file in &opened {
        shown.read(BufReader::new(file.content()), last)?;
    }
    match format {
        AuditFormat::Human => write_table(out, &shown)?,
        AuditFormat::Json => {
            let answer = json!({
                "format_version": FORMAT_VERSION,
                "decisions": shown.rows,
                "earlier_decisions": shown.earlier,
                "lines_that_are_no_record": shown.strange,
            });
            writeln!(out, "{}", ascii(&answer))?;
        }
    }
    Ok(exit::valid())
}

/// What is shown of a log.
#[derive(Debug, Default)]
struct Shown {
    rows: VecDeque<Row>,
    records: u64,
    /// Decisions before those.
    earlier: u64,
    /// Lines that are no records.
    strange: u64,
}

impl Shown {
    fn read(&mut self, content: impl BufRead, last: usize) -> io::Result<()> {
        let mut pieces = Pieces::new(content);
        while let Some(piece) = pieces.read()? {
            let link = piece.record();
            let record =
                link.and_then(|link| Some((link, serde_json::from_slice::<Value>(piece.bytes).ok()?)));
            match record {
                Some((link, record)) => self.add(link.seq, record, last),
                None => self.strange = self.strange.saturating_add(1),
            }
        }
        Ok(())
    }

    fn add(&mut self, seq: u64, record: Value, last: usize) {
        self.records = self.records.saturating_add(1);
        match text(&record, "/event") {
            "decided" => self.rows.push_back(Row { seq, decided: record, ended: None }),
            "ended" => {
                let decision = text(&record, "/decision").to_owned();
                let row = self.rows.iter_mut().rev().find(|row| text(&row.decided, "/decision") == decision);
                if let Some(row) = row {
                    row.ended = Some(record);
                }
            }
            _ => {}
        }
        if self.rows.len() > last {
            self.rows.pop_front();
            self.earlier = self.earlier.saturating_add(1);
        }
    }
}

fn write_table(out: &mut impl Write, shown: &Shown) -> io::Result<()> {
    let Shown { rows, records, earlier, strange } = shown;
    if !rows.is_empty() {
        writeln!(out, "{}", line(&FIRST, &FIRST.map(|(title, _)| title.to_owned())))?;
        writeln!(out, "{INDENT}{}", line(&SECOND, &SECOND.map(|(title, _)| title.to_owned())))?;
    } else if *records == 0 {
        writeln!(out, "no records")?;
    } else if *earlier == 0 {
        writeln!(out, "no decisions")?;
    }
    for row in rows {
        let (first, second) = cells(row);
        writeln!(out, "{}", line(&FIRST, &first))?;
        writeln!(out, "{INDENT}{}", line(&SECOND, &second))?;
    }
    if *earlier > 0 {
        writeln!(out, "{earlier} earlier decisions: --last shows more")?;
    }
    if *strange > 0 {
        writeln!(out, "{strange} lines are no records: audit verify tells which")?;
    }
    Ok(())
}

/// Cells in their columns.
fn line(columns: &[(&str, usize)], cells: &[String]) -> String {
    let cells = columns.iter().zip(cells).map(|((_, width), cell)| {
        let cell = short(&visible(cell), *width);
        format!("{cell:<width$}")
    });
    cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
}

/// The cells of both lines.
fn cells(row: &Row) -> ([String; 5], [String; 3]) {
    let decided = &row.decided;
    let name = |pointer| text(decided, pointer);
    let who = match name("/who/user") {
        "" => format!("uid {}", decided.pointer("/who/uid").unwrap_or(&Value::Null)),
        user => user.to_owned(),
    };
    let client = format!("{} {}", name("/client/name"), name("/client/version"));
    let why = format!("{} at {}", name("/rule"), name("/place"));
    let (time, verdict, tool) = (name("/time"), name("/verdict"), name("/tool"));
    let first = [time.to_owned(), verdict.to_owned(), tool.to_owned(), who, client.trim().to_owned()];
    (first, [name("/subject").to_owned(), why, row.ended.as_ref().map(end).unwrap_or_default()])
}

/// How it ended; nothing for a denial, for what still runs, and for what ended with its server.
fn end(ended: &Value) -> String {
    let mut words = vec![text(ended, "/outcome").to_owned()];
    words.extend(ended.get("error").and_then(Value::as_str).map(str::to_owned));
    words.extend(ended.get("exit_code").map(|code| format!("exit {code}")));
    words.extend(ended.get("signal").map(|signal| format!("signal {signal}")));
    words.extend(ended.get("duration_ms").map(|duration| format!("{duration} ms")));
    words.join(", ")
}

/// A cell of at most so many characters: its start and its end say most.
fn short(cell: &str, most: usize) -> String {
    if cell.chars().count() <= most {
        return cell.to_owned();
    }
    let tail = most.saturating_sub(1) / 2;
    let head: String = cell.chars().take(most.saturating_sub(tail + 1)).collect();
    let skipped = cell.chars().count().saturating_sub(tail);
    let end: String = cell.chars().skip(skipped).collect();
    format!("{head}…{end}")
}

fn text<'a>(record: &'a Value, pointer: &str) -> &'a str {
    record.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}
