//! `audit verify`: whether a log is as it was written.

use std::{
    io::{self, BufReader, Write},
    path::{Path, PathBuf},
    process::ExitCode,
};

use serde_json::json;

use crate::{
    audit::{
        heads::{Heads, Owners},
        line::ascii,
        verify::{Finding, Verification, Verifier, Weight},
    },
    cli::{
        audit::{AuditFormat, FORMAT_VERSION, open},
        exit,
    },
    path::{handle::ContainedFile, locate::locate},
    text::visible::visible,
};

/// What is said of a log without heads.
const NOT_ANCHORED: &str = "consistent, not anchored: whoever may write the file could have written all of it anew, \
cut its ends or changed its last line; --heads compares it with the journal";

/// Verifies the files of a log.
///
/// # Errors
/// When one can't be read, or the answer not be written.
pub fn run(
    files: &[PathBuf],
    heads: Option<&Path>,
    format: AuditFormat,
    out: &mut impl Write,
) -> Result<ExitCode, Box<dyn std::error::Error>> {
    let opened: Vec<(&PathBuf, ContainedFile)> =
        files.iter().map(|path| Ok((path, open(path)?))).collect::<Result<_, crate::path::PathError>>()?;
    let owners = Owners {
        uids: opened.iter().map(|(_, file)| file.owner()).collect(),
        files: files.iter().filter_map(|path| absolute(path)).collect(),
    };
    let heads = match heads {
        None => None,
        Some(path) if path == Path::new("-") => Some(Heads::read(io::stdin().lock(), &owners)?),
        Some(path) => Some(Heads::read(BufReader::new(open(path)?.content()), &owners)?),
    };
    let mut verifier = Verifier::new(heads);
    for (number, (path, file)) in opened.iter().enumerate() {
        verifier.file(number, &path.to_string_lossy(), BufReader::new(file.content()))?;
    }
    let verification = verifier.finish();
    match format {
        AuditFormat::Human => write_human(out, &verification)?,
        AuditFormat::Json => {
            let mut answer = json!({ "format_version": FORMAT_VERSION });
            if let (Some(answer), serde_json::Value::Object(found)) =
                (answer.as_object_mut(), serde_json::to_value(&verification)?)
            {
                answer.extend(found);
            }
            writeln!(out, "{}", ascii(&answer))?;
        }
    }
    Ok(if verification.sound { exit::valid() } else { exit::invalid() })
}

fn absolute(path: &Path) -> Option<PathBuf> {
    locate(&std::env::current_dir().ok()?.join(path)).ok().map(|found| found.path)
}

fn write_human(out: &mut impl Write, found: &Verification) -> io::Result<()> {
    for finding in &found.findings {
        writeln!(out, "{}", line(finding))?;
    }
    if found.more_findings > 0 {
        writeln!(out, "and {} more", found.more_findings)?;
    }
    writeln!(out, "records: {}, chains: {}", found.records, found.chain_count)?;
    if let Some(heads) = &found.anchoring {
        writeln!(
            out,
            "heads: {}, records that they confirm: {}, records without one: {}, entries that don't count: {}",
            heads.heads, heads.confirmed, heads.without_head, heads.ignored_entries
        )?;
    }
    match (found.sound, found.anchored) {
        (false, _) => writeln!(out, "NOT SOUND: this log is not as it was written"),
        (true, true) => match found.anchoring.as_ref().map_or(0, |heads| heads.without_head) {
            0 => writeln!(out, "sound: consistent, and as the journal has it"),
            some => {
                writeln!(out, "sound as far as the journal goes: consistent, but {some} records have no head")
            }
        },
        (true, false) => writeln!(out, "{NOT_ANCHORED}"),
    }
}

fn line(finding: &Finding) -> String {
    let weight = match finding.weight {
        Weight::Fault => "fault",
        Weight::Note => "note",
    };
    let place = match (&finding.file, finding.line) {
        (Some(file), Some(line)) => format!("{file}:{line}: "),
        (Some(_) | None, _) => String::new(),
    };
    visible(&format!("{weight}[{}]: {place}{}", finding.code, finding.message))
}
