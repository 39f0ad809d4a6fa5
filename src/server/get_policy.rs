//! `get_policy`: what the agent may do here, so that it need not try.
//!
//! In: what the policy permits, and what of the sandbox holds on this system. Out: a [`PolicyAnswer`], with nothing of
//! the places of rules. What is permitted is found by `policy::permissions`.

use std::{
    fmt::Display,
    path::PathBuf,
    time::{Duration, Instant},
};

use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    audit::record::{Call, Ended},
    policy::{
        confinement::{ProjectAccess, ProjectOwner, SandboxMode},
        decision::SandboxTerms,
        limits::Limits,
        permissions::{Naming, Permissions, Permitted},
        tool::ToolName,
    },
    runner::probe::Probed,
    server::{
        Warden,
        answer::{
            Answer, ToolResult,
            fit::{self, Caps},
            refusals,
        },
    },
    text::{cut_end, visible::visible},
};

/// The answer of `get_policy`. An empty list permits nothing; with `omitted`, lists are longer than told.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PolicyAnswer {
    tools: Vec<&'static str>,
    /// What workingDirectory may be.
    directories: DirectoriesAnswer,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "RunsAnswer", default)]
    run_tests: Option<RunsAnswer>,
    /// The most there may be; what is absent is unlimited.
    limits: LimitsAnswer,
    /// What test code may do.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "ConfinementAnswer", default)]
    sandbox: Option<ConfinementAnswer>,
    /// So many entries of lists exist and found no place in this answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u64", default)]
    omitted: Option<usize>,
}

#[derive(Clone, Debug, Serialize, JsonSchema)]
struct DirectoriesAnswer {
    /// Each with all that is below it; "*" never crosses a "/".
    allowed: Vec<String>,
    /// Also what lies in an entry of each of these lists.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(default)]
    within: Vec<Vec<String>>,
    /// Never these, nor what is below them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(default)]
    denied: Vec<String>,
    /// Whose projects: self (the server's user, or root), or any.
    owner: &'static str,
}

/// What a run may ask for.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct RunsAnswer {
    /// Playwright projects; "*" and "?" are wildcards.
    projects: Vec<String>,
    /// Also what fits an entry of each of these lists.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(default)]
    projects_within: Vec<Vec<String>>,
    /// Whether a call has to name its projects.
    project_required: bool,
    headed: bool,
    update_snapshots: bool,
    /// Variables that env may set; some names, as those that steer Node or a loader, are never allowed.
    env: Vec<VariableAnswer>,
    /// Also what fits an entry of each of these lists.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(default)]
    env_within: Vec<Vec<String>>,
    /// The server's variables that tests see without being set.
    sees: Vec<String>,
    /// Also what fits an entry of each of these lists.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(default)]
    sees_within: Vec<Vec<String>>,
    /// But never these.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(default)]
    never_sees: Vec<String>,
}

#[derive(Clone, Debug, Serialize, JsonSchema)]
struct VariableAnswer {
    /// A name; "*" and "?" are wildcards.
    name: String,
    /// Only to these values; any where absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Vec<String>", default)]
    values: Option<Vec<String>>,
}

#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct LimitsAnswer {
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u64", default)]
    timeout_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u64", default)]
    workers: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u64", default)]
    retries: Option<u64>,
    /// Runs at one time.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u64", default)]
    active_runs: Option<u64>,
    /// Runs that can still be asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u64", default)]
    kept_runs: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u64", default)]
    report_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u64", default)]
    answer_bytes: Option<u64>,
    /// Of each process of a run.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u64", default)]
    memory_bytes: Option<u64>,
    /// Of each process of a run.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u64", default)]
    open_files: Option<u64>,
    /// Of one file that a run writes.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u64", default)]
    file_bytes: Option<u64>,
}

#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct ConfinementAnswer {
    /// require (no run without it), best-effort, or off.
    mode: &'static str,
    /// How much of what is asked holds on this system: full, partial or absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", default)]
    level: Option<&'static str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(default)]
    enforced: Vec<&'static str>,
    /// What is asked and does not hold.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(default)]
    missing: Vec<&'static str>,
    /// Why runs are refused here, or why the sandbox can't be tried.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", default)]
    problem: Option<String>,
    /// What is asked, unless it is off.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "AskedAnswer", default)]
    asked: Option<AskedAnswer>,
}

#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct AskedAnswer {
    /// none, or open.
    network: &'static str,
    /// deny, or allow.
    unix_sockets: &'static str,
    /// read-only, outputs (only those are written), or read-write.
    project: &'static str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(default)]
    outputs: Vec<String>,
    /// What of the project is not written.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(default)]
    protect: Vec<String>,
    /// What is read outside the workspace, besides the system's programs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(default)]
    read: Vec<String>,
    /// What is written outside the project.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(default)]
    write: Vec<String>,
}

/// Tells what the agent may do.
///
/// # Errors
/// [`ToolError`](crate::server::answer::ToolError) when the policy does not allow to tell.
pub fn get_policy(warden: &Warden, call: Call) -> ToolResult {
    let began = Instant::now();
    let grant = warden.gate.admit_view(call).map_err(refusals::refused)?;
    let permissions = grant.permissions();
    let runs = permissions.tools.contains(&ToolName::RunTests);
    let probed = runs.then(|| warden.sandbox_here(&permissions.sandbox));
    let build = |caps| Teller { caps, omitted: 0 }.answer(permissions, probed);
    let answer = Answer::from_json(fit::within(permissions.answer_bytes(), build));
    let duration_ms = u64::try_from(began.elapsed().as_millis()).ok();
    let ended = Ended { outcome: "answered", duration_ms, ..Ended::default() };
    warden.gate.record_end(grant.decision(), ended);
    Ok(answer)
}

/// Writes lists as long as the caps allow, and counts what is left out.
struct Teller {
    caps: Caps,
    omitted: usize,
}

impl Teller {
    fn answer(mut self, permitted: &Permissions, probed: Option<&Probed>) -> PolicyAnswer {
        let directories = DirectoriesAnswer {
            allowed: self.list(&permitted.directories.entries),
            within: self.lists(&permitted.directories),
            denied: self.list(&permitted.denied),
            owner: match permitted.owner {
                ProjectOwner::SelfOrRoot => "self",
                ProjectOwner::Any => "any",
            },
        };
        let run_tests = probed.is_some().then(|| self.runs(permitted));
        let sandbox = probed.map(|probed| self.sandbox(&permitted.sandbox, probed));
        PolicyAnswer {
            tools: permitted.tools.iter().map(|tool| tool.as_str()).collect(),
            directories,
            run_tests,
            limits: LimitsAnswer::of(&permitted.limits),
            sandbox,
            omitted: Some(self.omitted).filter(|omitted| *omitted > 0),
        }
    }

    fn runs(&mut self, permitted: &Permissions) -> RunsAnswer {
        let free = self.list(&permitted.variables.entries).into_iter();
        let mut env: Vec<_> = free.map(|name| VariableAnswer { name, values: None }).collect();
        let bound = permitted.values.iter().take(self.most());
        env.extend(bound.map(|(name, values)| VariableAnswer {
            name: name.to_string(),
            values: Some(self.list(values)),
        }));
        self.omitted += permitted.values.len().saturating_sub(self.most());
        RunsAnswer {
            projects: self.list(&permitted.projects.entries),
            projects_within: self.lists(&permitted.projects),
            project_required: permitted.naming == Naming::Required,
            headed: permitted.headed,
            update_snapshots: permitted.update_snapshots,
            env,
            env_within: self.lists(&permitted.variables),
            sees: self.list(&permitted.inherited.entries),
            sees_within: self.lists(&permitted.inherited),
            never_sees: self.list(&permitted.withheld),
        }
    }

    fn sandbox(&mut self, terms: &SandboxTerms, probed: &Probed) -> ConfinementAnswer {
        let mut answer = ConfinementAnswer {
            mode: terms.mode.word(),
            level: None,
            enforced: Vec::new(),
            missing: Vec::new(),
            problem: None,
            asked: (terms.mode != SandboxMode::Off).then(|| self.asked(terms)),
        };
        match probed {
            Probed::Holds(enforcement) => {
                answer.level = Some(enforcement.level.name());
                answer.enforced = enforcement.enforced.iter().map(|(feature, _)| feature.name()).collect();
                answer.enforced.dedup();
                answer.missing = enforcement.missing.iter().map(|feature| feature.name()).collect();
            }
            Probed::Refused(refusal) => {
                answer.missing = refusal.missing.iter().map(|feature| feature.name()).collect();
                answer.problem = Some(self.text(&refusal.message));
            }
            Probed::Failed(problem) => answer.problem = Some(self.text(problem)),
        }
        answer
    }

    fn asked(&mut self, terms: &SandboxTerms) -> AskedAnswer {
        let mut paths = |paths: &[PathBuf]| self.list(paths.iter().map(|path| path.display()));
        let (outputs, protect) = match terms.project {
            ProjectAccess::ReadOnly => (Vec::new(), Vec::new()),
            ProjectAccess::Outputs => (paths(&terms.outputs), Vec::new()),
            ProjectAccess::ReadWrite => (Vec::new(), paths(&terms.protect)),
        };
        AskedAnswer {
            network: terms.network.word(),
            unix_sockets: terms.unix_sockets.word(),
            project: terms.project.word(),
            outputs,
            protect,
            read: paths(&terms.read),
            write: paths(&terms.write),
        }
    }

    fn lists(&mut self, permitted: &Permitted) -> Vec<Vec<String>> {
        permitted.within.iter().map(|list| self.list(list)).collect()
    }

    fn list<T: Display>(&mut self, entries: impl IntoIterator<Item = T>) -> Vec<String> {
        let mut told: Vec<String> = entries.into_iter().map(|entry| self.text(&entry.to_string())).collect();
        self.omitted += told.len().saturating_sub(self.most());
        told.truncate(self.most());
        told
    }

    /// So many entries are told of a list: never none, since an empty list permits nothing.
    fn most(&self) -> usize {
        self.caps.tests.max(1)
    }

    fn text(&self, text: &str) -> String {
        cut_end(&visible(text), self.caps.line).into_owned()
    }
}

impl LimitsAnswer {
    fn of(limits: &Limits) -> Self {
        let milliseconds = |time: Duration| u64::try_from(time.as_millis()).ok();
        Self {
            timeout_ms: limits.run_seconds().value.bound().and_then(milliseconds),
            workers: limits.workers().value.bound(),
            retries: limits.retries().value.bound(),
            active_runs: limits.active_runs().value.bound(),
            kept_runs: limits.kept_runs().value.bound(),
            report_bytes: limits.report_bytes().value.bytes(),
            answer_bytes: limits.answer_bytes().value.bytes(),
            memory_bytes: limits.memory_bytes_per_process().value.bytes(),
            open_files: limits.open_files().value.bound(),
            file_bytes: limits.file_bytes().value.bytes(),
        }
    }
}
