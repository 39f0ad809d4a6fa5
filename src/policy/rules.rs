//! The compiled tables of a policy, each with what it can be asked.
//!
//! In: combined lists and values. Out: answers with the entries that gave them. Asking in the right order is left to
//! `decision`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::policy::combine::{AllowList, DenyList, LayerList, Subtrees};
use crate::policy::confinement::{Network, ProjectAccess, ProjectOwner, SandboxMode, UnixSockets};
use crate::policy::denylist::{ALWAYS_INHERITED, never_inherited};
use crate::policy::origin::{Origin, Sourced};
use crate::policy::pattern::name::{EnvName, NamePattern};
use crate::policy::pattern::path_glob::PathGlob;
use crate::policy::recording::{AuditArguments, AuditFailure, AuditSink};
use crate::policy::tool::ToolName;

/// `[dirs]`: projects whose tests may be run and whose results may be read.
#[derive(Clone, Debug)]
pub struct DirRules {
    pub(in crate::policy) allow: AllowList<PathGlob>,
    pub(in crate::policy) deny: DenyList<PathGlob>,
    pub(in crate::policy) owner: Sourced<ProjectOwner>,
}

/// Why a directory is allowed.
#[derive(Clone, Debug)]
pub struct DirAdmission<'a> {
    /// What every layer's entries matched: the directory itself or one above it. Reading for it goes no further up.
    pub bound: PathBuf,
    /// The entry of each layer that allows most.
    pub entries: Vec<&'a Sourced<PathGlob>>,
}

/// Why a directory is not allowed.
#[derive(Clone, Debug)]
pub enum DirRefusal<'a> {
    /// An entry of `dirs.deny` matches it.
    Denied(&'a Sourced<PathGlob>),
    /// This list has no entry for it.
    NotGranted(&'a Origin),
}

impl DirRules {
    /// `dirs.allow`.
    pub const fn allow(&self) -> &AllowList<PathGlob> {
        &self.allow
    }

    /// `dirs.deny`.
    pub const fn deny(&self) -> &DenyList<PathGlob> {
        &self.deny
    }

    /// `dirs.owner`.
    pub const fn owner(&self) -> &Sourced<ProjectOwner> {
        &self.owner
    }

    /// Asks both lists about a canonical directory; a deny always wins.
    ///
    /// # Errors
    /// The entry that denies it, or the list that does not grant it.
    pub fn admits(&self, canonical: &Path) -> Result<DirAdmission<'_>, DirRefusal<'_>> {
        if let Some(entry) = self.deny.denies(|glob| glob.matches(canonical).is_some()) {
            return Err(DirRefusal::Denied(entry));
        }
        let mut bound: Option<PathBuf> = None;
        let mut entries = Vec::new();
        for list in self.allow.lists() {
            let matching =
                list.entries.iter().filter_map(|entry| Some((entry.value.matches(canonical)?, entry)));
            // All matched directories lie on one line upwards: the shortest is the widest.
            let Some((widest, entry)) = matching.min_by_key(|(matched, _)| matched.as_os_str().len()) else {
                return Err(DirRefusal::NotGranted(&list.key));
            };
            entries.push(entry);
            bound = Some(match bound {
                Some(bound) if bound.starts_with(&widest) => bound,
                Some(_) | None => widest,
            });
        }
        bound
            .map(|bound| DirAdmission { bound, entries })
            .ok_or(DirRefusal::NotGranted(&self.allow.granted().key))
    }
}

/// `[tools]`: a tool that is not listed does not exist for the agent.
#[derive(Clone, Debug)]
pub struct ToolRules {
    pub(in crate::policy) allow: AllowList<ToolName>,
}

impl ToolRules {
    /// `tools.allow`.
    pub const fn allow(&self) -> &AllowList<ToolName> {
        &self.allow
    }

    /// Asks every layer for a tool.
    ///
    /// # Errors
    /// The place of the list that does not name it.
    pub fn admits(&self, tool: ToolName) -> Result<Vec<&Sourced<ToolName>>, &Origin> {
        self.allow.admits(|named| *named == tool)
    }
}

/// `[run]`: what `run_tests` may ask for.
#[derive(Clone, Debug)]
pub struct RunRules {
    pub(in crate::policy) headed: Sourced<bool>,
    pub(in crate::policy) update_snapshots: Sourced<bool>,
    pub(in crate::policy) projects: AllowList<NamePattern>,
}

impl RunRules {
    /// `run.headed`: whether a browser may open a window.
    pub const fn headed(&self) -> &Sourced<bool> {
        &self.headed
    }

    /// `run.update_snapshots`: whether baselines may be rewritten.
    pub const fn update_snapshots(&self) -> &Sourced<bool> {
        &self.update_snapshots
    }

    /// `run.projects`: Playwright projects that may be named.
    pub const fn projects(&self) -> &AllowList<NamePattern> {
        &self.projects
    }

    /// What to select for a call that names no Playwright project, and the list that says so: every project where
    /// nothing narrows them, else the entries of the one list that does.
    ///
    /// # Errors
    /// A list that Playwright can't be told, so that the call must name its projects.
    pub fn unnamed(&self) -> Result<(&[Sourced<NamePattern>], &Origin), &LayerList<NamePattern>> {
        let everything = |entry: &Sourced<NamePattern>| entry.value.is_everything();
        // Playwright knows `*` and no other wildcard.
        let tellable = |entry: &Sourced<NamePattern>| !entry.value.as_written().contains('?');
        let narrow: Vec<_> =
            self.projects.lists().filter(|list| !list.entries.iter().any(everything)).collect();
        match narrow.as_slice() {
            [] => Ok((&[], &self.projects.granted().key)),
            [only] if !only.entries.is_empty() && only.entries.iter().all(tellable) => {
                Ok((&only.entries, &only.key))
            }
            [first, ..] => Err(first),
        }
    }
}

/// `[env]`: variables that the tests see, that a call may set, and whose values are taken out of answers.
#[derive(Clone, Debug)]
pub struct EnvRules {
    pub(in crate::policy) inherit: AllowList<NamePattern>,
    pub(in crate::policy) withhold: DenyList<NamePattern>,
    pub(in crate::policy) allow: AllowList<NamePattern>,
    pub(in crate::policy) values: BTreeMap<EnvName, AllowList<String>>,
    pub(in crate::policy) redact: DenyList<NamePattern>,
}

impl EnvRules {
    /// `env.inherit`.
    pub const fn inherit(&self) -> &AllowList<NamePattern> {
        &self.inherit
    }

    /// `env.withhold`.
    pub const fn withhold(&self) -> &DenyList<NamePattern> {
        &self.withhold
    }

    /// `env.allow`; the fixed denylist still wins.
    pub const fn allow(&self) -> &AllowList<NamePattern> {
        &self.allow
    }

    /// `env.values` of one name: the only values that a call may give it, if the name is listed.
    pub fn values_of(&self, name: &EnvName) -> Option<&AllowList<String>> {
        self.values.get(name)
    }

    /// `env.values`.
    pub const fn values(&self) -> &BTreeMap<EnvName, AllowList<String>> {
        &self.values
    }

    /// `env.redact`.
    pub const fn redact(&self) -> &DenyList<NamePattern> {
        &self.redact
    }

    /// Says whether the tests see a variable of the server: never those that steer this server or its reporter, always
    /// `PATH`, `LANG`, `TZ` and `TERM`, and of the others those that are inherited and not withheld.
    pub fn passes(&self, name: &str) -> bool {
        if ALWAYS_INHERITED.contains(&name) {
            return true;
        }
        never_inherited(name).is_none()
            && self.inherit.admits(|pattern| pattern.matches(name)).is_ok()
            && self.withhold.denies(|pattern| pattern.matches(name)).is_none()
    }

    /// Says whether a variable's value is taken out of answers.
    pub fn redacts(&self, name: &str) -> bool {
        self.redact.denies(|pattern| pattern.matches(name)).is_some()
    }
}

/// `[sandbox]`: what test code may do.
#[derive(Clone, Debug)]
pub struct SandboxRules {
    pub(in crate::policy) mode: Sourced<SandboxMode>,
    pub(in crate::policy) project: Sourced<ProjectAccess>,
    pub(in crate::policy) outputs: Subtrees,
    pub(in crate::policy) protect: DenyList<PathBuf>,
    pub(in crate::policy) read: Subtrees,
    pub(in crate::policy) write: Subtrees,
    pub(in crate::policy) network: Sourced<Network>,
    pub(in crate::policy) unix_sockets: Sourced<UnixSockets>,
}

impl SandboxRules {
    /// `sandbox.mode`.
    pub const fn mode(&self) -> &Sourced<SandboxMode> {
        &self.mode
    }

    /// `sandbox.project`.
    pub const fn project(&self) -> &Sourced<ProjectAccess> {
        &self.project
    }

    /// `sandbox.outputs`: directories beneath the project, relative to it.
    pub fn outputs(&self) -> &[Sourced<PathBuf>] {
        self.outputs.common()
    }

    /// `sandbox.protect`: names beneath the project, relative to it.
    pub fn protect(&self) -> &[Sourced<PathBuf>] {
        self.protect.entries()
    }

    /// `sandbox.read`: absolute paths, canonical when the policy was compiled.
    pub fn read(&self) -> &[Sourced<PathBuf>] {
        self.read.common()
    }

    /// `sandbox.write`: absolute paths, canonical when the policy was compiled.
    pub fn write(&self) -> &[Sourced<PathBuf>] {
        self.write.common()
    }

    /// What each layer wrote of the keys that name trees.
    pub fn written_trees(&self) -> [(&'static str, &AllowList<PathBuf>); 3] {
        [
            ("sandbox.outputs", self.outputs.written()),
            ("sandbox.read", self.read.written()),
            ("sandbox.write", self.write.written()),
        ]
    }

    /// `sandbox.network`.
    pub const fn network(&self) -> &Sourced<Network> {
        &self.network
    }

    /// `sandbox.unix_sockets`.
    pub const fn unix_sockets(&self) -> &Sourced<UnixSockets> {
        &self.unix_sockets
    }
}

/// `[audit]`: the record of every decision.
#[derive(Clone, Debug)]
pub struct AuditRules {
    pub(in crate::policy) sinks: Vec<Sourced<AuditSink>>,
    pub(in crate::policy) file: Sourced<PathBuf>,
    pub(in crate::policy) args: Sourced<AuditArguments>,
    pub(in crate::policy) on_error: Sourced<AuditFailure>,
}

impl AuditRules {
    /// `audit.sinks`: each once, with the first place that names it.
    pub fn sinks(&self) -> &[Sourced<AuditSink>] {
        &self.sinks
    }

    /// `audit.file`: absolute, in a canonical directory; its last component is left to who opens it.
    pub const fn file(&self) -> &Sourced<PathBuf> {
        &self.file
    }

    /// `audit.args`.
    pub const fn args(&self) -> &Sourced<AuditArguments> {
        &self.args
    }

    /// `audit.on_error`.
    pub const fn on_error(&self) -> &Sourced<AuditFailure> {
        &self.on_error
    }
}
