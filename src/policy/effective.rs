//! What a policy comes to: each key with its values and their places, and the hash of it.
//!
//! In: a compiled policy. Out: rows for reviewers, and a digest for the audit log that depends on what is allowed, not
//! on how or where it was written.

use std::fmt::Display;

use serde::Serialize;

use crate::digest::sha256;
use crate::policy::Policy;
use crate::policy::combine::{AllowList, DenyList};
use crate::policy::origin::{Origin, Sourced};
use crate::policy::recording::AuditSink;

/// One key of the effective policy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Effective {
    /// The dotted key.
    pub key: String,
    /// One list for each layer that sets an allow list, all of which must allow; for any other key one list.
    pub lists: Vec<Vec<Sourced<String>>>,
    /// Where each list stands, which an empty one does not tell; absent for a union, whose entries come from all layers.
    pub sources: Vec<Origin>,
}

/// Lists what a policy comes to, key by key, in the order of the example policy.
#[must_use]
pub fn effective(policy: &Policy) -> Vec<Effective> {
    let (dirs, run, env, sandbox) = (policy.dirs(), policy.run(), policy.env(), policy.sandbox());
    let mut rows = vec![
        every("dirs.allow", dirs.allow()),
        union("dirs.deny", dirs.deny()),
        one("dirs.owner", dirs.owner()),
        every("tools.allow", policy.tools().allow()),
        one("run.headed", run.headed()),
        one("run.update_snapshots", run.update_snapshots()),
        every("run.projects", run.projects()),
        every("env.inherit", env.inherit()),
        union("env.withhold", env.withhold()),
        every("env.allow", env.allow()),
    ];
    rows.extend(env.values().iter().map(|(name, values)| every(&format!("env.values.{name}"), values)));
    rows.push(union("env.redact", env.redact()));
    rows.extend(policy.limits().rows().into_iter().map(|(key, limit)| one(&format!("limits.{key}"), &limit)));
    rows.extend([
        one("sandbox.mode", sandbox.mode()),
        one("sandbox.project", sandbox.project()),
        paths("sandbox.outputs", sandbox.outputs()),
        paths("sandbox.protect", sandbox.protect()),
        paths("sandbox.read", sandbox.read()),
        paths("sandbox.write", sandbox.write()),
        one("sandbox.network", sandbox.network()),
        one("sandbox.unix_sockets", sandbox.unix_sockets()),
    ]);
    let audit = policy.audit();
    let sinks = audit.sinks().iter().map(shown).collect();
    rows.extend([
        Effective { key: "audit.sinks".to_owned(), lists: vec![sinks], sources: Vec::new() },
        paths("audit.file", std::slice::from_ref(audit.file())),
        one("audit.args", audit.args()),
        one("audit.on_error", audit.on_error()),
    ]);
    rows.extend(policy.results_file().map(|file| paths("results_file", std::slice::from_ref(file))));
    rows
}

/// Hashes what a policy comes to.
#[must_use]
pub fn hash(policy: &Policy) -> String {
    // Where no sink writes the file, its name says nothing; the default one differs from user to user.
    let writes_file = policy.audit().sinks().iter().any(|sink| sink.value == AuditSink::File);
    let rows: Vec<_> = effective(policy)
        .into_iter()
        .filter(|row| writes_file || row.key != "audit.file")
        .map(|row| {
            let mut lists: Vec<Vec<String>> = row.lists.into_iter().map(sorted_values).collect();
            lists.sort_unstable();
            lists.dedup();
            (row.key, lists)
        })
        .collect();
    // Debug formatting quotes and escapes, so no two policies come to the same text.
    sha256(format!("{rows:?}").as_bytes())
}

fn sorted_values(list: Vec<Sourced<String>>) -> Vec<String> {
    let mut values: Vec<_> = list.into_iter().map(|entry| entry.value).collect();
    values.sort_unstable();
    values.dedup();
    values
}

fn shown<T: Display>(entry: &Sourced<T>) -> Sourced<String> {
    Sourced::new(entry.value.to_string(), entry.origin.clone())
}

fn one<T: Display>(key: &str, value: &Sourced<T>) -> Effective {
    let sources = vec![value.origin.clone()];
    Effective { key: key.to_owned(), lists: vec![vec![shown(value)]], sources }
}

fn every<T: Display>(key: &str, list: &AllowList<T>) -> Effective {
    let lists = list.lists().map(|list| list.entries.iter().map(shown).collect()).collect();
    let sources = list.lists().map(|list| list.key.clone()).collect();
    Effective { key: key.to_owned(), lists, sources }
}

fn union<T: Display>(key: &str, list: &DenyList<T>) -> Effective {
    let entries = list.entries().iter().map(shown).collect();
    Effective { key: key.to_owned(), lists: vec![entries], sources: Vec::new() }
}

fn paths(key: &str, paths: &[Sourced<std::path::PathBuf>]) -> Effective {
    let list = paths.iter().map(|path| Sourced::new(path.value.display().to_string(), path.origin.clone()));
    Effective { key: key.to_owned(), lists: vec![list.collect()], sources: Vec::new() }
}
