//! `audit`: a log compared with what was written, and shown to a person.
//!
//! In: the command line. Out: text or one JSON object, and an exit status. Nothing is changed.

pub mod show;
pub mod verify;

use std::{
    io::Write,
    path::{Path, PathBuf},
    process::ExitCode,
};

use clap::{Args, Subcommand, ValueEnum};
use serde_json::json;

use crate::{
    audit::line::ascii,
    cli::exit,
    path::{
        PathError, RelPath,
        handle::{ContainedFile, DirHandle},
    },
    text::chain,
};

/// The arguments of `audit`.
#[derive(Clone, Debug, Args)]
pub struct AuditArguments {
    #[command(subcommand)]
    command: AuditCommand,
}

#[derive(Clone, Debug, Subcommand)]
enum AuditCommand {
    /// Look whether a log is as it was written.
    ///
    /// Each record holds the hash of what stands before it, so a line that was changed, removed, put in or moved is found.
    /// That the end is missing, or that all of it was written anew, is found where the journal has the hashes:
    ///
    /// journalctl -o json -t playwright-warden | playwright-warden audit verify audit.jsonl --heads -
    ///
    /// Only entries count that journald marked as the file owner's or root's. Exit status: 0 sound, 1 not, 2 can't be read.
    #[command(verbatim_doc_comment)]
    Verify {
        /// The files of one log, the oldest first.
        #[arg(required = true, value_name = "FILE")]
        files: Vec<PathBuf>,
        /// The output of `journalctl -o json -t playwright-warden`; `-` reads it from standard input.
        #[arg(long, value_name = "FILE")]
        heads: Option<PathBuf>,
        /// How the answer is written.
        #[arg(long, value_enum, default_value_t = AuditFormat::Human)]
        format: AuditFormat,
    },
    /// Show the decisions of a log: when, for whom, what, allowed or not, why, how it ended.
    Show {
        /// The files of one log, the oldest first.
        #[arg(required = true, value_name = "FILE")]
        files: Vec<PathBuf>,
        /// How the answer is written.
        #[arg(long, value_enum, default_value_t = AuditFormat::Human)]
        format: AuditFormat,
        /// So many decisions, from the end.
        #[arg(long, value_name = "N", default_value_t = 50)]
        last: usize,
    },
}

/// How an answer is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum AuditFormat {
    /// Text.
    Human,
    /// One JSON object.
    Json,
}

/// The version of the JSON output.
const FORMAT_VERSION: &str = "1.0";

/// Does what the arguments ask.
///
/// # Errors
/// When a file can't be read, or the answer not be written; under `--format json` the object tells the former.
pub fn run(arguments: &AuditArguments, out: &mut impl Write) -> Result<ExitCode, Box<dyn std::error::Error>> {
    let (format, outcome) = match &arguments.command {
        AuditCommand::Verify { files, heads, format } => {
            (*format, verify::run(files, heads.as_deref(), *format, out))
        }
        AuditCommand::Show { files, format, last } => (*format, show::run(files, *format, *last, out)),
    };
    match (outcome, format) {
        (Err(error), AuditFormat::Json) => {
            // If it was standard output that failed, it fails again.
            let answer = json!({ "format_version": FORMAT_VERSION, "error": chain(&*error) });
            writeln!(out, "{}", ascii(&answer))?;
            Ok(exit::input_output())
        }
        (outcome, AuditFormat::Human | AuditFormat::Json) => outcome,
    }
}

/// Opens a file that somebody named; a FIFO or a device is refused, not waited for.
fn open(path: &Path) -> Result<ContainedFile, PathError> {
    let missing = || PathError::Missing(path.to_owned());
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let name = path.file_name().and_then(|name| name.to_str()).ok_or_else(missing)?;
    DirHandle::open(parent)?.open_linked_file(&RelPath::parse(name)?, u64::MAX)
}
