//! The audit log: who asked for what, what was decided, by which rule, and how it ended.
//!
//! In: records, as plain data. Out: lines in a file and entries of the journal, written before anything is done, each
//! tied to the one before. It owns its record types; other rooms convert into them. Whether a call may go on that could
//! not be written down is decided here, by `audit.on_error`; reading the log again is left to `verify` and `heads`.

pub mod arguments;
pub mod chain;
pub mod context;
pub mod file;
pub mod heads;
pub mod journal;
pub mod line;
pub mod pieces;
pub mod record;
pub mod verify;

use std::{
    io::{self, Write as _},
    path::Path,
    sync::{Mutex, MutexGuard, PoisonError},
};

use serde_json::{Map, Value};
use thiserror::Error;

use crate::{
    audit::{
        chain::{Link, NOTHING, Tip},
        context::Context,
        file::{Entry, FileError, LogFile},
        journal::{JournalError, Message},
        record::{Call, Client, Decided, DecisionId, Ended, Record, Verdict},
    },
    policy::{
        recording::{AuditArguments, AuditFailure, AuditSink},
        rules::AuditRules,
    },
    text::{chain as told, visible::visible},
};

/// Why a record was not written; an agent may read it, so no path stands in it.
#[derive(Debug, Error)]
pub enum AuditError {
    /// The kernel gives no random bytes.
    #[error("no random bytes for the audit log")]
    Random(#[source] getrandom::Error),
    /// A sink did not take it.
    #[error("{0}")]
    Sink(String),
}

/// The log of one server.
#[derive(Debug)]
pub struct AuditLog {
    arguments: AuditArguments,
    on_error: AuditFailure,
    /// `None` without sinks.
    sinks: Option<Mutex<Sinks>>,
}

impl AuditLog {
    /// A log as the policy wants it. Sinks are opened when something is written; [`Self::start`] is the first.
    /// Missing directories of the file are made below the home only.
    pub fn new(rules: &AuditRules, home: Option<&Path>, context: Context) -> Self {
        let has = |kind| rules.sinks().iter().any(|sink| sink.value == kind);
        let sinks = Sinks {
            context,
            file: has(AuditSink::File)
                .then(|| LogFile::new(&rules.file().value, home).named(rules.file_as_named())),
            journal: has(AuditSink::Journald).then_some(Journal { tip: None }),
            begun: false,
            tried: false,
            told: None,
        };
        Self {
            arguments: rules.args().value,
            on_error: rules.on_error().value,
            sinks: (!rules.sinks().is_empty()).then(|| Mutex::new(sinks)),
        }
    }

    /// What may be written down of a call.
    ///
    /// `known` are the names of the tool's arguments.
    pub fn call(
        &self,
        tool: &str,
        client: Option<Client>,
        arguments: &Map<String, Value>,
        known: &[&str],
    ) -> Call {
        let written = |_| arguments::audited(arguments, known, self.arguments);
        let arguments = self.sinks.as_ref().and_then(written);
        Call { tool: tool.to_owned(), client, arguments }
    }

    /// Writes down that the server begins, if no other record came before. Where that fails standard error says so, and
    /// it is tried again with the next record.
    pub fn start(&self) {
        self.with(|sinks| {
            let taken = if sinks.begun { Taken::default() } else { sinks.begin() };
            (sinks.news(&taken), ())
        });
    }

    /// Writes a decision down.
    ///
    /// # Errors
    /// [`AuditError`] when a sink can't take it and `audit.on_error` is `deny`; the call must not go on.
    pub fn decided(&self, decided: Decided) -> Result<(), AuditError> {
        let (decision, verdict) = (decided.decision, decided.verdict);
        let written = self.with(|sinks| {
            let taken = sinks.record(&Record::Decided(Box::new(decided)));
            let failures = taken.failures();
            if failures.is_some() && self.on_error == AuditFailure::Deny && verdict == Verdict::Allow {
                let reach = if taken.file.is_some() { Reach::JournalOnly } else { Reach::All };
                let ended = Ended { outcome: "not_audited", ..Ended::default() };
                drop(sinks.write(&Record::Ended { decision, ended }, reach));
            }
            (sinks.news(&taken), failures)
        });
        match (written.flatten(), self.on_error) {
            (Some(failures), AuditFailure::Deny) => Err(AuditError::Sink(failures)),
            (Some(_) | None, _) => Ok(()),
        }
    }

    /// Writes down how an allowed call ended; where that fails standard error says so.
    pub fn ended(&self, decision: DecisionId, ended: Ended) {
        self.tell(&Record::Ended { decision, ended });
    }

    /// Writes down that the server ends by itself, and why.
    pub fn stop(&self, reason: &'static str) {
        self.tell(&Record::Stopped { reason });
    }

    fn tell(&self, record: &Record) {
        self.with(|sinks| {
            let taken = sinks.record(record);
            (sinks.news(&taken), ())
        });
    }

    /// Works with the sinks, if there are any, and then tells on standard error what is new of them.
    fn with<T>(&self, work: impl FnOnce(&mut Sinks) -> (Option<String>, T)) -> Option<T> {
        let mut sinks: MutexGuard<'_, Sinks> =
            self.sinks.as_ref()?.lock().unwrap_or_else(PoisonError::into_inner);
        let (news, done) = work(&mut sinks);
        drop(sinks);
        if let Some(news) = news {
            // Standard error may be closed; there is no other place for it.
            drop(writeln!(io::stderr(), "playwright-warden: {news}"));
        }
        Some(done)
    }
}

/// Which sinks a record goes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reach {
    All,
    /// The file does not have what it would belong to.
    JournalOnly,
    /// The journal was told already what the file did not take.
    Again,
}

#[derive(Debug)]
struct Sinks {
    context: Context,
    file: Option<LogFile>,
    journal: Option<Journal>,
    /// Whether `started` is written.
    begun: bool,
    /// Whether that was tried.
    tried: bool,
    /// What standard error was told last.
    told: Option<String>,
}

/// The journal, and the chain where it is the only sink.
#[derive(Debug)]
struct Journal {
    tip: Option<Tip>,
}

impl Journal {
    fn entry(&self, context: &Context, record: &Record) -> Option<Vec<Entry>> {
        let link = self.tip.as_ref().map_or_else(|| Link::first(NOTHING).ok(), |tip| Some(tip.next()))?;
        let text = line::line(context, Some(&link), record);
        Some(vec![Entry { link, line: text, record: record.clone() }])
    }
}

/// What the sinks made of a record.
#[derive(Debug, Default)]
struct Taken {
    file: Option<FileError>,
    journal: Option<JournalError>,
}

impl Taken {
    fn failures(&self) -> Option<String> {
        let file = self.file.as_ref().map(|error| told(error));
        let journal = self.journal.as_ref().map(|error| told(error));
        let both: Vec<String> = file.into_iter().chain(journal).collect();
        (!both.is_empty()).then(|| both.join("; "))
    }
}

impl Sinks {
    fn begin(&mut self) -> Taken {
        let reach = if self.tried { Reach::Again } else { Reach::All };
        self.tried = true;
        let taken = self.write(&Record::Started { layers: self.context.layers.clone() }, reach);
        self.begun = if self.file.is_some() { taken.file.is_none() } else { taken.journal.is_none() };
        taken
    }

    /// Writes a record, and before the first one that a server began.
    fn record(&mut self, record: &Record) -> Taken {
        if !self.begun {
            drop(self.begin());
        }
        self.write(record, Reach::All)
    }

    /// Writes a record to the file first: a head of what is not in the file would look like something removed.
    fn write(&mut self, record: &Record, reach: Reach) -> Taken {
        let mut taken = Taken::default();
        let entries = match (&mut self.file, reach) {
            (Some(file), Reach::All | Reach::Again) => match file.append(&self.context, record) {
                Ok(entries) => Some(entries),
                Err(error) => {
                    taken.file = Some(error);
                    None
                }
            },
            (Some(_), Reach::JournalOnly) => None,
            (None, _) => self.journal.as_ref().and_then(|journal| journal.entry(&self.context, record)),
        };
        let Some(journal) = &mut self.journal else { return taken };
        if entries.is_none() && reach == Reach::Again {
            return taken;
        }
        let paths = self.file.as_ref().map(LogFile::names).unwrap_or_default();
        let deliver = |message| journal::send(message, &paths);
        let sent = match &entries {
            Some(entries) => entries.iter().map(Message::Head).try_for_each(deliver),
            None => deliver(Message::Unfiled(record, &line::line(&self.context, None, record))),
        };
        match (sent, entries.as_deref().and_then(<[Entry]>::last)) {
            (Ok(()), Some(last)) => journal.tip = Some(last.tip()),
            (Ok(()), None) => {}
            (Err(error), _) => taken.journal = Some(error),
        }
        taken
    }

    /// What standard error is told, once for each change; the file is named where it is the one that failed.
    fn news(&mut self, taken: &Taken) -> Option<String> {
        let failures = taken.failures();
        if self.told == failures {
            return None;
        }
        self.told.clone_from(&failures);
        let file = self.file.as_ref().filter(|_| taken.file.is_some());
        let place = file.map(|file| format!(" (file `{}`)", visible(&file.path().to_string_lossy())));
        Some(match failures {
            Some(failures) => {
                format!("the audit log can't be written{}: {failures}", place.unwrap_or_default())
            }
            None => "the audit log is written again".to_owned(),
        })
    }
}
