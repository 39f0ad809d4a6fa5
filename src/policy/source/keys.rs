//! The keys that a policy can hold: as a table for the checks, and as the form that a checked file is read into.
//!
//! In: nothing. Out: [`tables`], [`Kind`] and [`Settings`]. Checking a file against them is left to `document`, what
//! the values mean to `compile`.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::policy::confinement::{Network, ProjectAccess, ProjectOwner, SandboxMode, UnixSockets};
use crate::policy::limits::{Limit, Limits};

/// The only `version` of a policy file that this server knows.
pub const VERSION: i64 = 1;

/// What a key takes.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// An array of strings.
    Words,
    /// `true` or `false`.
    Flag,
    /// One of a few words.
    Choice {
        /// The words that this version knows.
        now: &'static [&'static str],
        /// Words of a later version.
        later: &'static [&'static str],
    },
    /// A whole number of 1 or more, or `"unlimited"`.
    Bound,
    /// A table whose values are arrays of strings.
    WordsByName,
}

/// One key of a table.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// Its name.
    pub name: &'static str,
    /// What it takes.
    pub kind: Kind,
}

const fn key(name: &'static str, kind: Kind) -> Key {
    Key { name, kind }
}

const fn choice(now: &'static [&'static str]) -> Kind {
    Kind::Choice { now, later: &[] }
}

/// The tables of a policy file but `[limits]`, with their keys.
const TABLES: &[(&str, &[Key])] = &[
    (
        "dirs",
        &[key("allow", Kind::Words), key("deny", Kind::Words), key("owner", choice(ProjectOwner::WORDS))],
    ),
    ("tools", &[key("allow", Kind::Words)]),
    ("run", &[key("headed", Kind::Flag), key("update_snapshots", Kind::Flag), key("projects", Kind::Words)]),
    (
        "env",
        &[
            key("inherit", Kind::Words),
            key("withhold", Kind::Words),
            key("allow", Kind::Words),
            key("values", Kind::WordsByName),
            key("redact", Kind::Words),
        ],
    ),
    (
        "sandbox",
        &[
            key("mode", choice(SandboxMode::WORDS)),
            key("project", choice(ProjectAccess::WORDS)),
            key("outputs", Kind::Words),
            key("protect", Kind::Words),
            key("read", Kind::Words),
            key("write", Kind::Words),
            key("network", Kind::Choice { now: Network::WORDS, later: &["loopback", "egress"] }),
            key("unix_sockets", choice(UnixSockets::WORDS)),
        ],
    ),
];

/// All tables of a policy file with their keys.
pub fn tables() -> impl Iterator<Item = (&'static str, Vec<Key>)> {
    let limits = Limits::KEYS.iter().map(|name| key(name, Kind::Bound)).collect();
    TABLES.iter().map(|(table, keys)| (*table, keys.to_vec())).chain([("limits", limits)])
}

/// The keys of one table, if there is such a table.
pub fn table(name: &str) -> Option<Vec<Key>> {
    tables().find(|(table, _)| *table == name).map(|(_, keys)| keys)
}

/// What one source sets: `None` where it says nothing.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// `version`.
    pub version: Option<i64>,
    /// `[dirs]`.
    pub dirs: DirSettings,
    /// `[tools]`.
    pub tools: ToolSettings,
    /// `[run]`.
    pub run: RunSettings,
    /// `[env]`.
    pub env: EnvSettings,
    /// `[limits]`; the keys are those of [`Limits::KEYS`], which the check of the file has seen to.
    pub limits: BTreeMap<String, Limit<u64>>,
    /// `[sandbox]`.
    pub sandbox: SandboxSettings,
}

/// What one source sets in `[dirs]`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[expect(missing_docs, reason = "the fields are the keys, which `policy.example.toml` explains")]
pub struct DirSettings {
    pub allow: Option<Vec<String>>,
    pub deny: Option<Vec<String>>,
    pub owner: Option<ProjectOwner>,
}

/// What one source sets in `[tools]`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[expect(missing_docs, reason = "the fields are the keys, which `policy.example.toml` explains")]
pub struct ToolSettings {
    pub allow: Option<Vec<String>>,
}

/// What one source sets in `[run]`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[expect(missing_docs, reason = "the fields are the keys, which `policy.example.toml` explains")]
pub struct RunSettings {
    pub headed: Option<bool>,
    pub update_snapshots: Option<bool>,
    pub projects: Option<Vec<String>>,
}

/// What one source sets in `[env]`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[expect(missing_docs, reason = "the fields are the keys, which `policy.example.toml` explains")]
pub struct EnvSettings {
    pub inherit: Option<Vec<String>>,
    pub withhold: Option<Vec<String>>,
    pub allow: Option<Vec<String>>,
    pub values: Option<BTreeMap<String, Vec<String>>>,
    pub redact: Option<Vec<String>>,
}

/// What one source sets in `[sandbox]`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[expect(missing_docs, reason = "the fields are the keys, which `policy.example.toml` explains")]
pub struct SandboxSettings {
    pub mode: Option<SandboxMode>,
    pub project: Option<ProjectAccess>,
    pub outputs: Option<Vec<String>>,
    pub protect: Option<Vec<String>>,
    pub read: Option<Vec<String>>,
    pub write: Option<Vec<String>>,
    pub network: Option<Network>,
    pub unix_sockets: Option<UnixSockets>,
}
