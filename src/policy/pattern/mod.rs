//! Patterns of the policy: one pattern, parsed and compiled once.
//!
//! In: an entry of a list, as text. Out: a pattern that can be asked, or a [`PatternError`]. How the entries of several
//! layers work together is left to `combine`.

use thiserror::Error;

use crate::policy::diagnostic::DiagnosticCode;

pub mod name;
pub mod path_glob;
mod path_overlap;

/// How an entry is to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Syntax {
    /// With wildcards: entries of a file.
    Wildcards,
    /// As it is: items of an environment variable.
    Literal,
}

/// Why an entry is no pattern.
#[derive(Debug, Error)]
pub enum PatternError {
    /// An entry without a character.
    #[error("an entry is empty")]
    Empty,
    /// A control character, NUL included.
    #[error("`{0}` holds a control character")]
    ControlCharacter(String),
    /// `~name`, or `~` for a user without a home.
    #[error("`{0}` can't be expanded")]
    Home(String),
    /// A variable in a path, as a shell would expand it.
    #[error("`{0}` names a variable, and none is expanded here")]
    Variable(String),
    /// A path as Windows writes it.
    #[error("`{0}` is a path of Windows")]
    Windows(String),
    /// `..` behind a wildcard.
    #[error("`{0}` has `..` behind a wildcard")]
    ParentAfterWildcard(String),
    /// The wildcards of a directory can't be read.
    #[error("`{text}` can't be read as a pattern: {reason}")]
    Glob {
        /// The entry.
        text: String,
        /// What `globset` says about it.
        reason: String,
    },
    /// A directory that can't be looked up.
    #[error("`{text}` can't be looked up: {source}")]
    LookUp {
        /// The entry.
        text: String,
        /// What the kernel says about it.
        source: std::io::Error,
    },
    /// `..` behind what does not exist.
    #[error("`{0}` has `..` behind a directory that does not exist")]
    ParentOfMissing(String),
    /// A wildcard where the kernel, which knows none, is to be told a path.
    #[error("`{0}` has a wildcard, which the kernel does not know")]
    Wildcard(String),
    /// No name of an environment variable.
    #[error("`{0}` can't be the name of an environment variable")]
    EnvName(String),
    /// Not a path within the project.
    #[error("`{0}` is no path within a project")]
    NotWithin(String),
}

impl PatternError {
    /// The code of the diagnostic for this.
    #[must_use]
    pub const fn code(&self) -> DiagnosticCode {
        match self {
            Self::Empty
            | Self::ControlCharacter(_)
            | Self::Home(_)
            | Self::Variable(_)
            | Self::Windows(_)
            | Self::LookUp { .. }
            | Self::ParentOfMissing(_)
            | Self::NotWithin(_) => DiagnosticCode::BadValue,
            Self::ParentAfterWildcard(_) | Self::Wildcard(_) | Self::Glob { .. } => DiagnosticCode::BadGlob,
            Self::EnvName(_) => DiagnosticCode::BadEnvName,
        }
    }

    /// What to do about it.
    #[must_use]
    pub const fn hint(&self) -> &'static str {
        match self {
            Self::Empty => "take the entry out, or name something; `[]` allows nothing",
            Self::ControlCharacter(_) => "write the path without control characters",
            Self::Home(_) => {
                "only `~` and `~/...` are expanded, from the user database; a directory of that name is `./~...`"
            }
            Self::Variable(_) => {
                "write the path out, or from `~/`; a directory that is really named so is written as `'\\$HOME'`, with single quotes"
            }
            Self::Windows(_) => "write the path of Linux, with `/`, as `/mnt/c/Users/...` in WSL",
            Self::ParentAfterWildcard(_) => {
                "write the directory that is meant; `..` may stand before the first wildcard"
            }
            Self::Glob { .. } => {
                "wildcards are `*`, `?`, `**`, `[...]` and `{a,b}`; a backslash takes a character as it is"
            }
            Self::LookUp { .. } => "name a path that can be opened, or one that does not exist yet",
            Self::ParentOfMissing(_) => "correct the directory before `..`, or write the path without it",
            Self::Wildcard(_) => "name each path, or one above them; a backslash takes a character as it is",
            Self::EnvName(_) => {
                "a name is letters, digits and `_`, and does not start with a digit; `*` and `?` are wildcards in a file"
            }
            Self::NotWithin(_) => "write a relative path without `.` and `..`, as in `test-results`",
        }
    }
}
