//! What becomes of a request: allowed on terms, or denied by a rule.
//!
//! In: a [`Policy`] and a request. Out: a [`Decision`] with every check, passed, failed or not reached. Pure: it reads
//! no file, no clock and no environment. Acting on it is left to `gate`.

pub mod checks;
pub(in crate::policy) mod variables;

use std::{collections::BTreeMap, path::PathBuf, sync::Arc, time::Duration};

use crate::{
    path::project::CandidateDir,
    policy::{
        Policy,
        confinement::{Network, ProjectAccess, ProjectOwner, SandboxMode, UnixSockets},
        decision::checks::{Checks, Decision, Denial},
        limits::{Bytes, Limit, Limits},
        origin::{Origin, Sourced},
        pattern::{
            name::{EnvName, NamePattern},
            path_glob::PathGlob,
        },
        permissions::Permissions,
        request::{
            Request,
            failed_tests::GetFailedTests,
            run_tests::{DEFAULT_TIMEOUT, Headed, RunOptions, RunTests, UpdateSnapshots, Workers},
        },
        rules::{DirRefusal, EnvRules, SandboxRules},
        tool::ToolName,
    },
};

/// The checks of a run, in their order; other calls have some of them.
pub(in crate::policy) const RUN_CHECKS: &[&str] = &[
    "tools.allow",
    "dirs.deny",
    "dirs.allow",
    "dirs.owner",
    "run.projects",
    "run.headed",
    "run.update_snapshots",
    "limits.run_seconds",
    "limits.workers",
    "limits.retries",
    "builtin.env",
    "env.allow",
    "env.values",
];
/// The checks of reading a report, in their order.
const READ_CHECKS: &[&str] = &["tools.allow", "dirs.deny", "dirs.allow", "dirs.owner"];

/// The checks of telling what is allowed.
const VIEW_CHECKS: &[&str] = &["tools.allow"];

/// What an allowed run may use: plain data.
#[derive(Clone, Debug)]
pub struct RunTerms {
    /// The directory that the admitting entry of `dirs.allow` matched: the project or one above it.
    pub scope: PathBuf,
    /// Playwright projects; all of the config where empty.
    pub projects: Vec<String>,
    /// What Playwright's command line is told besides.
    pub options: RunOptions,
    /// How long the run may take.
    pub timeout: Duration,
    /// How long it may take to end itself.
    pub grace: Duration,
    /// Variables that the call sets.
    pub set: BTreeMap<EnvName, String>,
    /// Which of the server's variables it gets, and which values are secrets.
    pub env: Arc<EnvRules>,
    /// How it is confined.
    pub sandbox: SandboxTerms,
    /// The other bounds.
    pub limits: Arc<Limits>,
    /// `PW_RESULTS_FILE`.
    pub results_file: Option<PathBuf>,
}

impl RunTerms {
    /// How much of the end of each output is kept, in bytes.
    pub fn output_tail_bytes(&self) -> u64 {
        bytes(self.limits.output_tail_bytes())
    }

    /// What is left of the terms when the run has ended.
    pub fn into_read(self) -> ReadTerms {
        ReadTerms { env: self.env, limits: self.limits, results_file: self.results_file }
    }
}

/// What an allowed reader of reports may use: plain data.
#[derive(Clone, Debug)]
pub struct ReadTerms {
    /// Which values are secrets.
    pub env: Arc<EnvRules>,
    /// The bounds.
    pub limits: Arc<Limits>,
    /// `PW_RESULTS_FILE`.
    pub results_file: Option<PathBuf>,
}

impl ReadTerms {
    /// The most bytes of a report that is read.
    pub fn report_bytes(&self) -> u64 {
        bytes(self.limits.report_bytes())
    }

    /// The most bytes of an answer's text.
    pub fn answer_bytes(&self) -> usize {
        usize::try_from(bytes(self.limits.answer_bytes())).unwrap_or(usize::MAX)
    }
}

fn bytes(limit: &Sourced<Limit<Bytes>>) -> u64 {
    limit.value.bytes().unwrap_or(u64::MAX)
}

/// The values of `[sandbox]`, combined.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SandboxTerms {
    /// `sandbox.mode`.
    pub mode: SandboxMode,
    /// `sandbox.project`.
    pub project: ProjectAccess,
    /// `sandbox.outputs`, relative to the project.
    pub outputs: Vec<PathBuf>,
    /// `sandbox.protect`, relative to the project.
    pub protect: Vec<PathBuf>,
    /// `sandbox.read`.
    pub read: Vec<PathBuf>,
    /// `sandbox.write`.
    pub write: Vec<PathBuf>,
    /// `sandbox.network`.
    pub network: Network,
    /// `sandbox.unix_sockets`.
    pub unix_sockets: UnixSockets,
}

impl From<&SandboxRules> for SandboxTerms {
    fn from(rules: &SandboxRules) -> Self {
        let plain = |paths: &[Sourced<PathBuf>]| paths.iter().map(|path| path.value.clone()).collect();
        Self {
            mode: rules.mode().value,
            project: rules.project().value,
            outputs: plain(rules.outputs()),
            protect: plain(rules.protect()),
            read: plain(rules.read()),
            write: plain(rules.write()),
            network: rules.network().value,
            unix_sockets: rules.unix_sockets().value,
        }
    }
}

impl Policy {
    /// Decides on any call, for those who only tell what was decided.
    pub fn decide(&self, request: &Request) -> Decision<()> {
        match request {
            Request::RunTests(request) => self.decide_run(request).without_terms(),
            Request::GetFailedTests(request) => self.decide_read(request).without_terms(),
            Request::GetPolicy => self.decide_view().without_terms(),
        }
    }

    /// Decides on a run.
    pub fn decide_run(&self, request: &RunTests) -> Decision<RunTerms> {
        let mut checks = Checks::default();
        let verdict = self.judge_run(request, &mut checks);
        Decision { checks: checks.complete(RUN_CHECKS), verdict }
    }

    /// Decides on reading a report.
    pub fn decide_read(&self, request: &GetFailedTests) -> Decision<ReadTerms> {
        let mut checks = Checks::default();
        let verdict = self.judge_project(ToolName::GetFailedTests, &request.directory, &mut checks);
        let terms = |_| ReadTerms {
            env: Arc::clone(&self.env),
            limits: Arc::clone(&self.limits),
            results_file: self.results_file().map(|file| file.value.clone()),
        };
        Decision { checks: checks.complete(READ_CHECKS), verdict: verdict.map(terms) }
    }

    /// Decides on telling the agent what it may do.
    pub fn decide_view(&self) -> Decision<Permissions> {
        let mut checks = Checks::default();
        let verdict = self.judge_tool(ToolName::GetPolicy, &mut checks).map(|()| Permissions::of(self));
        Decision { checks: checks.complete(VIEW_CHECKS), verdict }
    }

    fn judge_run(&self, request: &RunTests, checks: &mut Checks) -> Result<RunTerms, Denial> {
        let scope = self.judge_project(ToolName::RunTests, &request.directory, checks)?;
        let projects = self.judge_projects(request, checks)?;
        self.judge_flags(request, checks)?;
        let timeout = self.judge_limits(request, checks)?;
        let set = variables::judge(self.env(), &request.env, checks)?;
        Ok(RunTerms {
            scope,
            projects,
            options: request.options.clone(),
            timeout,
            grace: self.limits().grace_seconds().value.bound().unwrap_or(Duration::MAX),
            set,
            env: Arc::clone(&self.env),
            sandbox: self.sandbox().into(),
            limits: Arc::clone(&self.limits),
            results_file: self.results_file().map(|file| file.value.clone()),
        })
    }

    fn judge_tool(&self, tool: ToolName, checks: &mut Checks) -> Result<(), Denial> {
        let granted = self.tools().admits(tool).map_err(|layer| {
            let message = format!("the tool `{tool}` is not allowed");
            checks.fail(Denial::implicit("tools.allow", layer, tool.as_str(), message))
        })?;
        checks.pass("tools.allow", places(&granted), tool.as_str());
        Ok(())
    }

    /// Judges the tool and the directory; gives the directory that the admitting entry matched.
    fn judge_project(
        &self,
        tool: ToolName,
        directory: &CandidateDir,
        checks: &mut Checks,
    ) -> Result<PathBuf, Denial> {
        self.judge_tool(tool, checks)?;
        let asked = directory.asked();
        let refused = || format!("`{asked}` is not an allowed project directory");
        let canonical = directory.path().display().to_string();
        let admission = match self.dirs().admits(directory.path()) {
            Ok(admission) => admission,
            Err(DirRefusal::Denied(entry)) => {
                return Err(checks.fail(Denial::explicit("dirs.deny", &entry.origin, &canonical, refused())));
            }
            Err(DirRefusal::NotGranted(layer)) => {
                checks.pass("dirs.deny", Vec::new(), &canonical);
                // What one layer allows is of no use where another one does not.
                let common = self.dirs().allow().common(PathGlob::covers);
                let shown: Vec<String> = common.iter().map(|entry| format!("`{}`", entry.value)).collect();
                let permitted = if shown.is_empty() {
                    "get_policy tells what is".to_owned()
                } else {
                    format!("{} and what is below", shown.join(", "))
                };
                let denial = Denial::implicit("dirs.allow", layer, &canonical, refused());
                return Err(checks.fail(denial.permitting(permitted)));
            }
        };
        checks.pass("dirs.deny", Vec::new(), &canonical);
        checks.pass("dirs.allow", places(&admission.entries), &canonical);
        let owner = self.dirs().owner();
        if owner.value == ProjectOwner::SelfOrRoot && !directory.belongs_to_user_or_root() {
            return Err(checks.fail(Denial::explicit("dirs.owner", &owner.origin, &canonical, refused())));
        }
        checks.pass("dirs.owner", vec![owner.origin.clone()], &canonical);
        Ok(admission.bound)
    }

    /// Judges the Playwright projects; gives those to select, none where all of the config are allowed.
    fn judge_projects(&self, request: &RunTests, checks: &mut Checks) -> Result<Vec<String>, Denial> {
        let rule = "run.projects";
        let allowed = self.run().projects();
        let permitted = |list: &[Sourced<NamePattern>]| {
            list.iter().map(|entry| format!("`{}`", entry.value)).collect::<Vec<_>>().join(", ")
        };
        let mut origins = Vec::new();
        for project in &request.projects {
            // A wildcard would be Playwright's to resolve, so it must be one that the policy has.
            let wild = project.contains('*');
            let admitted = allowed.admits(|pattern| {
                pattern.is_everything()
                    || if wild { pattern.as_written() == project } else { pattern.matches(project) }
            });
            let granted = admitted.map_err(|layer| {
                let list = allowed.lists().find(|list| list.key == *layer).unwrap_or(allowed.granted());
                let message = format!("the Playwright project `{project}` is not allowed");
                checks.fail(
                    Denial::implicit(rule, layer, project, message).permitting(permitted(&list.entries)),
                )
            })?;
            origins.extend(places(&granted));
        }
        if !request.projects.is_empty() {
            checks.pass(rule, origins, &request.projects.join(", "));
            return Ok(request.projects.clone());
        }
        match self.run().unnamed() {
            Ok((selected, layer)) => {
                let subject = if selected.is_empty() { "all".to_owned() } else { permitted(selected) };
                checks.pass(rule, vec![layer.clone()], &subject);
                Ok(selected.iter().map(|entry| entry.value.as_written().to_owned()).collect())
            }
            Err(list) => {
                let message =
                    "the Playwright projects must be named, since the policy allows only some of them";
                let denial = Denial::implicit(rule, &list.key, "all", message.to_owned());
                Err(checks.fail(denial.permitting(permitted(&list.entries))))
            }
        }
    }

    fn judge_flags(&self, request: &RunTests, checks: &mut Checks) -> Result<(), Denial> {
        let headed = self.run().headed();
        if request.options.headed == Headed::Yes && !headed.value {
            let message = "headed browsers are not allowed".to_owned();
            return Err(checks.fail(Denial::explicit("run.headed", &headed.origin, "headed", message)));
        }
        checks.pass("run.headed", vec![headed.origin.clone()], "");
        let update = self.run().update_snapshots();
        let asked = request.options.update_snapshots.filter(|mode| *mode != UpdateSnapshots::None);
        if let (Some(mode), Some((rule, origin))) = (asked, self.keeps_snapshots()) {
            let message = "writing snapshots is not allowed".to_owned();
            return Err(checks.fail(Denial::explicit(rule, origin, mode.as_str(), message)));
        }
        checks.pass(
            "run.update_snapshots",
            vec![update.origin.clone()],
            asked.map_or("none", UpdateSnapshots::as_str),
        );
        Ok(())
    }

    /// The rule by which no call may write snapshots, and its place; `None` where one may.
    pub(in crate::policy) fn keeps_snapshots(&self) -> Option<(&'static str, &Origin)> {
        let (update, sandbox) = (self.run().update_snapshots(), self.sandbox());
        let read_only =
            sandbox.project().value == ProjectAccess::ReadOnly && sandbox.mode().value != SandboxMode::Off;
        if update.value {
            read_only.then_some(("sandbox.project", &sandbox.project().origin))
        } else {
            Some(("run.update_snapshots", &update.origin))
        }
    }

    /// Judges the numbers; gives the timeout.
    fn judge_limits(&self, request: &RunTests, checks: &mut Checks) -> Result<Duration, Denial> {
        let limits = self.limits();
        let longest = limits.run_seconds();
        let default = longest.value.bound().map_or(DEFAULT_TIMEOUT, |bound| bound.min(DEFAULT_TIMEOUT));
        let timeout = request.timeout.unwrap_or(default);
        let milliseconds = Sourced::new(in_milliseconds(longest.value), longest.origin.clone());
        let asked = u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX);
        bound("limits.run_seconds", "timeout", asked, &milliseconds, checks)?;
        let workers = match request.options.workers {
            Some(Workers::Count(count)) => Some(count),
            Some(Workers::Percent { share, processors }) => {
                Some(processors.saturating_mul(share).div_ceil(100))
            }
            None => None,
        };
        let retries = request.options.retries;
        for (rule, argument, asked, limit) in [
            ("limits.workers", "workers", workers, limits.workers()),
            ("limits.retries", "retries", retries, limits.retries()),
        ] {
            match asked {
                Some(asked) => bound(rule, argument, asked, limit, checks)?,
                None => checks.pass(rule, vec![limit.origin.clone()], ""),
            }
        }
        Ok(timeout)
    }
}

fn in_milliseconds(limit: Limit<Duration>) -> Limit<u64> {
    match limit {
        Limit::Bounded(bound) => Limit::Bounded(u64::try_from(bound.as_millis()).unwrap_or(u64::MAX)),
        Limit::Unlimited => Limit::Unlimited,
    }
}

fn bound(
    rule: &'static str,
    argument: &str,
    asked: u64,
    limit: &Sourced<Limit<u64>>,
    checks: &mut Checks,
) -> Result<(), Denial> {
    let subject = asked.to_string();
    if limit.value.admits(&asked) {
        checks.pass(rule, vec![limit.origin.clone()], &subject);
        return Ok(());
    }
    let message = format!("`{argument}` of {asked} is more than the policy allows");
    let denial = Denial::explicit(rule, &limit.origin, &subject, message);
    Err(checks.fail(denial.permitting(format!("at most {}", limit.value))))
}

fn places<T>(entries: &[&Sourced<T>]) -> Vec<Origin> {
    entries.iter().map(|entry| entry.origin.clone()).collect()
}
