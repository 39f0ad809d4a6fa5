//! `audit show`: the decisions of a log for a person.
//!
//! In: one file. Out: a row for each decision, with how it ended; the last ones, in bounded memory. Whether the records
//! are as they were written is left to `verify`.

use std::{
    collections::VecDeque,
    io::{self, BufReader, Write},
    path::Path,
    process::ExitCode,
};

use serde::Serialize;
use serde_json::{Value, json};

use crate::{
    audit::{
        chain::Link,
        line::ascii,
        pieces::{End, Pieces},
    },
    cli::{
        audit::{AuditFormat, open},
        exit,
    },
    text::visible::visible,
};

/// The version of the JSON output.
const FORMAT_VERSION: &str = "1.0";
/// The columns of the table, each with the most characters that it shows; JSON has all.
const COLUMNS: [(&str, usize); 8] = [
    ("WHEN", 24),
    ("WHO", 16),
    ("CLIENT", 20),
    ("TOOL", 18),
    ("WHAT", 40),
    ("VERDICT", 7),
    ("WHY", 60),
    ("END", 60),
];

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
    path: &Path,
    format: AuditFormat,
    last: usize,
    out: &mut impl Write,
) -> Result<ExitCode, Box<dyn std::error::Error>> {
    let file = open(path)?;
    let mut pieces = Pieces::new(BufReader::new(file.content()));
    let mut rows: VecDeque<Row> = VecDeque::new();
    let (mut earlier, mut strange) = (0_u64, 0_u64);
    while let Some((piece, end)) = pieces.read()? {
        let link = Link::parse(piece).filter(|_| end != End::More);
        let record = link.and_then(|link| Some((link, serde_json::from_slice::<Value>(piece).ok()?)));
        let Some((link, record)) = record else {
            strange = strange.saturating_add(1);
            continue;
        };
        match text(&record, "/event") {
            "decided" => rows.push_back(Row { seq: link.seq, decided: record, ended: None }),
            "ended" => {
                let decision = text(&record, "/decision").to_owned();
                let row = rows.iter_mut().rev().find(|row| text(&row.decided, "/decision") == decision);
                if let Some(row) = row {
                    row.ended = Some(record);
                }
            }
            _ => {}
        }
        if rows.len() > last {
            rows.pop_front();
            earlier = earlier.saturating_add(1);
        }
    }
    match format {
        AuditFormat::Human => write_table(out, &rows, earlier, strange)?,
        AuditFormat::Json => {
            let answer = json!({
                "format_version": FORMAT_VERSION,
                "decisions": rows,
                "earlier_decisions": earlier,
                "lines_that_are_no_record": strange,
            });
            writeln!(out, "{}", ascii(&answer))?;
        }
    }
    Ok(exit::valid())
}

fn write_table(out: &mut impl Write, rows: &VecDeque<Row>, earlier: u64, strange: u64) -> io::Result<()> {
    let mut table = vec![COLUMNS.map(|(title, _)| title.to_owned())];
    table.extend(rows.iter().map(cells));
    let width = |column: usize| {
        let widths = table.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count());
        widths.max().unwrap_or_default()
    };
    let widths: Vec<usize> = (0..COLUMNS.len()).map(width).collect();
    for row in &table {
        let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}"));
        writeln!(out, "{}", cells.collect::<Vec<_>>().join("  ").trim_end())?;
    }
    if earlier > 0 {
        writeln!(out, "{earlier} earlier decisions: --last shows more")?;
    }
    if strange > 0 {
        writeln!(out, "{strange} lines are no records: audit verify tells which")?;
    }
    Ok(())
}

fn cells(row: &Row) -> [String; 8] {
    let decided = &row.decided;
    let name = |pointer| text(decided, pointer);
    let who = match name("/who/user") {
        "" => format!("uid {}", decided.pointer("/who/uid").unwrap_or(&Value::Null)),
        user => user.to_owned(),
    };
    let client = format!("{} {}", name("/client/name"), name("/client/version"));
    let why = format!("{} at {}", name("/rule"), name("/place"));
    let cells = [
        name("/time").to_owned(),
        who,
        client.trim().to_owned(),
        name("/tool").to_owned(),
        name("/subject").to_owned(),
        name("/verdict").to_owned(),
        why,
        row.ended.as_ref().map(end).unwrap_or_default(),
    ];
    let mut columns = COLUMNS.iter();
    cells.map(|cell| short(&visible(&cell), columns.next().map_or(0, |(_, most)| *most)))
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
