//! What a key of a policy takes, how its layers combine, and which keys there are.
//!
//! In: the declarations of `settings` and `limits`. Out: [`tables`], for the checks of a file, for the schema and for
//! the documentation. Checking a file against them is left to `document`, what the values mean to `compile`.

use std::collections::BTreeMap;
use std::fmt;

use crate::policy::confinement::{Network, ProjectAccess, ProjectOwner, SandboxMode, UnixSockets};
use crate::policy::limits::Limits;
use crate::policy::recording::{AuditArguments, AuditFailure, AuditSink};
use crate::policy::source::settings::TABLES;

/// The only `version` of a policy file that this server knows.
pub const VERSION: i64 = 1;

/// What a key takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// An array of strings.
    Words,
    /// A string that names a file.
    Path,
    /// `true` or `false`.
    Flag,
    /// One of a few words.
    Choice {
        /// The words that this version knows.
        now: &'static [&'static str],
        /// Words of a later version.
        later: &'static [&'static str],
    },
    /// An array of a few words.
    Choices {
        /// The words that this version knows.
        now: &'static [&'static str],
    },
    /// A whole number of 1 or more, or `"unlimited"`.
    Bound,
    /// A table whose values are arrays of strings.
    WordsByName,
}

/// How the values of several layers become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Combination {
    /// What every layer that sets the key allows.
    Every,
    /// The union of all layers.
    Union,
    /// The smallest value.
    Smallest,
    /// The stricter value.
    Stricter,
    /// The value of a file in `/etc`, else that of the granting layer.
    System,
}

impl fmt::Display for Combination {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Every => "what every layer that sets it allows",
            Self::Union => "the union of all layers",
            Self::Smallest => "the smallest",
            Self::Stricter => "the stricter",
            Self::System => "that of a file in `/etc`, else that of the granting layer",
        })
    }
}

/// One key of a table.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// Its name.
    pub name: &'static str,
    /// What it takes.
    pub kind: Kind,
    /// How layers combine.
    pub combination: Combination,
    /// What it means: one or two sentences, in Markdown.
    pub meaning: &'static str,
    /// What it does not do; empty where nobody would expect more of it.
    pub caveat: &'static str,
}

/// One table of a policy file.
#[derive(Clone, Copy, Debug)]
pub struct Table {
    /// Its name.
    pub name: &'static str,
    /// What it is about: a fragment, in Markdown.
    pub meaning: &'static str,
    /// Its keys.
    pub keys: &'static [Key],
}

/// All tables of a policy file with their keys, in the order of the example policy.
pub fn tables() -> impl Iterator<Item = &'static Table> {
    const LIMITS: &Table = &Table {
        name: "limits",
        meaning: "maxima, each a whole number of 1 or more or `\"unlimited\"`, which is the largest",
        keys: Limits::KEYS,
    };
    let before = |table: &&Table| matches!(table.name, "dirs" | "tools" | "run" | "env");
    let first = TABLES.iter().take_while(before);
    let rest = TABLES.iter().skip_while(before);
    first.chain([LIMITS]).chain(rest)
}

/// One table, if there is such a table.
pub fn table(name: &str) -> Option<&'static Table> {
    tables().find(|table| table.name == name)
}

/// A type that a key's value is read into, and what a file has to write for it.
pub(in crate::policy::source) trait Value {
    /// What a file writes.
    const KIND: Kind;
}

impl Value for Vec<String> {
    const KIND: Kind = Kind::Words;
}

impl Value for BTreeMap<String, Vec<String>> {
    const KIND: Kind = Kind::WordsByName;
}

impl Value for String {
    const KIND: Kind = Kind::Path;
}

impl Value for bool {
    const KIND: Kind = Kind::Flag;
}

impl Value for Vec<AuditSink> {
    const KIND: Kind = Kind::Choices { now: AuditSink::WORDS };
}

impl Value for Network {
    const KIND: Kind = Kind::Choice { now: Self::WORDS, later: &["loopback", "egress"] };
}

macro_rules! choices {
    ($($choice:ty),+) => {
        $(impl Value for $choice {
            const KIND: Kind = Kind::Choice { now: Self::WORDS, later: &[] };
        })+
    };
}

choices!(ProjectOwner, SandboxMode, ProjectAccess, UnixSockets, AuditArguments, AuditFailure);
