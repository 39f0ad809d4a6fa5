//! The words of `[audit]`, from the strictest to the most open.
//!
//! In: the words of a policy. Out: closed enums, ordered so that combining layers is `min`. Writing the log is left to
//! `audit`.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::policy::confinement::words;

/// Where decisions are written (`audit.sinks`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AuditSink {
    /// The system's journal.
    Journald,
    /// A file of the user's, `audit.file`.
    File,
}

/// What of a call's arguments is written (`audit.args`). Less is not the stricter: who is watched must not be able to
/// say less.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AuditArguments {
    /// All but the values of variables.
    Redacted,
    /// Nothing.
    None,
}

/// What becomes of a decision that can't be written (`audit.on_error`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AuditFailure {
    /// It is a denial.
    Deny,
    /// The call goes on.
    Continue,
}

words! {
    AuditSink { Journald = "journald", File = "file" }
    AuditArguments { Redacted = "redacted", None = "none" }
    AuditFailure { Deny = "deny", Continue = "continue" }
}
