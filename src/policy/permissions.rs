//! What an agent may do, all layers combined, in the words of its calls.
//!
//! In: a [`Policy`]. Out: [`Permissions`], plain data without the places of any rule, and without what a rule says of
//! directories that no call may name. What of the sandbox holds on this system is left to `runner::probe`, the wording to
//! `server`.

use std::fmt::Display;

use crate::policy::{
    Policy,
    combine::AllowList,
    confinement::ProjectOwner,
    decision::{SandboxTerms, variables::value_problem},
    denylist::{ALWAYS_INHERITED, verdict},
    limits::Limits,
    pattern::{
        name::{EnvName, NamePattern},
        path_glob::PathGlob,
    },
    tool::ToolName,
};

/// What an agent may do: plain data.
#[derive(Clone, Debug)]
pub struct Permissions {
    /// The tools, in the order of [`ToolName::ALL`].
    pub tools: Vec<ToolName>,
    /// Directories of projects: each with all that is below it.
    pub directories: Permitted,
    /// What is denied of them.
    pub denied: Vec<String>,
    /// Whose projects.
    pub owner: ProjectOwner,
    /// Playwright projects; `*` and `?` are wildcards.
    pub projects: Permitted,
    /// Whether a run has to name them.
    pub naming: Naming,
    /// `headed`.
    pub headed: bool,
    /// `updateSnapshots`.
    pub update_snapshots: bool,
    /// Variables that a call may set to any value, but for those in `values`.
    pub variables: Permitted,
    /// Variables that a call may set, each to these values alone.
    pub values: Vec<(EnvName, Vec<String>)>,
    /// Which of the server's variables the tests see.
    pub inherited: Permitted,
    /// And which of these they do not.
    pub withheld: Vec<String>,
    /// Every bound.
    pub limits: Limits,
    /// How test code is confined.
    pub sandbox: SandboxTerms,
}

/// What an allow list comes to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Permitted {
    /// Each of these is allowed.
    pub entries: Vec<String>,
    /// And what matches an entry of each of these lists: layers whose patterns cross, so that no one pattern says it.
    pub within: Vec<Vec<String>>,
}

/// Whether a run has to name its Playwright projects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Naming {
    /// Without a name all that are permitted are run.
    Optional,
    /// They can't be told to Playwright, so the call has to choose.
    Required,
}

impl Permissions {
    /// Makes them of a policy.
    pub fn of(policy: &Policy) -> Self {
        let (run, env) = (policy.run(), policy.env());
        let (directories, denied) = directories(policy);
        let settable = |name: &&EnvName| {
            let allowed = env.allow().admits(|pattern| pattern.matches(name.as_str())).is_ok();
            allowed && verdict(name.as_str()).is_none()
        };
        let restricted = env.values().iter().filter(|(name, _)| settable(name));
        Self {
            tools: ToolName::ALL
                .iter()
                .copied()
                .filter(|tool| tool.exists() && policy.tools().admits(*tool).is_ok())
                .collect(),
            directories,
            denied,
            owner: policy.dirs().owner().value,
            projects: Permitted::of(run.projects(), NamePattern::covers, NamePattern::may_overlap),
            naming: if run.unnamed().is_ok() { Naming::Optional } else { Naming::Required },
            headed: run.headed().value,
            update_snapshots: policy.keeps_snapshots().is_none(),
            variables: variables(policy),
            values: restricted.map(|(name, values)| (name.clone(), permitted_values(name, values))).collect(),
            inherited: Permitted::of(env.inherit(), NamePattern::covers, NamePattern::may_overlap),
            withheld: env
                .withhold()
                .entries()
                .iter()
                .map(|entry| entry.value.to_string())
                .filter(|name| !ALWAYS_INHERITED.contains(&name.as_str()))
                .collect(),
            limits: policy.limits().clone(),
            sandbox: policy.sandbox().into(),
        }
    }

    /// The most bytes of an answer's text.
    pub fn answer_bytes(&self) -> usize {
        let bound = self.limits.answer_bytes().value.bytes();
        bound.and_then(|bytes| usize::try_from(bytes).ok()).unwrap_or(usize::MAX)
    }
}

impl Permitted {
    fn of<P: Display>(
        list: &AllowList<P>,
        covers: fn(&P, &P) -> bool,
        may_overlap: fn(&P, &P) -> bool,
    ) -> Self {
        let shown = |list: Vec<&P>| list.into_iter().map(P::to_string).collect();
        Self {
            entries: shown(list.common(covers).into_iter().map(|entry| &entry.value).collect()),
            within: list.meeting(covers, may_overlap).into_iter().map(shown).collect(),
        }
    }
}

/// The directories that are allowed, and what is denied of them; what is denied elsewhere is not told.
fn directories(policy: &Policy) -> (Permitted, Vec<String>) {
    let (allow, deny) = (policy.dirs().allow(), policy.dirs().deny());
    let is_left = |entry: &PathGlob| deny.denies(|denied| denied.covers(entry)).is_none();
    let common: Vec<&PathGlob> =
        allow.common(PathGlob::covers).into_iter().map(|entry| &entry.value).collect();
    let common: Vec<_> = common.into_iter().filter(|entry| is_left(entry)).collect();
    let within = allow.meeting(PathGlob::covers, PathGlob::may_overlap);
    let mut denied: Vec<String> = Vec::new();
    for entry in common.iter().chain(within.iter().flatten()) {
        for taken in deny.entries().iter().map(|taken| &taken.value) {
            let told = match (entry.literal(), taken.literal()) {
                (Some(directory), _) => taken.below(directory),
                (None, Some(directory)) => entry.below(directory).and_then(|_| taken.below(directory)),
                (None, None) => taken.below(entry.fixed_part()),
            };
            denied.extend(told.filter(|told| !denied.contains(told)));
        }
    }
    let entries = common.into_iter().map(PathGlob::to_string).collect();
    let within = within.into_iter().map(|list| list.into_iter().map(PathGlob::to_string).collect());
    (Permitted { entries, within: within.collect() }, denied)
}

/// The variables that are free: neither bound to values nor on the fixed denylist.
fn variables(policy: &Policy) -> Permitted {
    let env = policy.env();
    let mut free = Permitted::of(env.allow(), NamePattern::covers, NamePattern::may_overlap);
    let bound = |name: &str| env.values().keys().any(|restricted| restricted.as_str() == name);
    free.entries.retain(|name| !bound(name) && verdict(name).is_none());
    free
}

/// The values that every layer allows, and that the fixed rules do not deny.
fn permitted_values(name: &EnvName, values: &AllowList<String>) -> Vec<String> {
    let common = values.common(|one, other| one == other).into_iter().map(|entry| entry.value.clone());
    common.filter(|value| value_problem(name.as_str(), value).is_none()).collect()
}
