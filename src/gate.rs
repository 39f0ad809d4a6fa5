//! The only maker of grants: a request is decided, the decision is written down, and only then turned into a power.
//!
//! In: parsed requests. Out: grants, spent by value by those who act on them. Deciding is left to `policy`, acting to
//! `runner` and to the readers of reports.

use std::sync::Arc;

use serde_json::{Map, Value, json};
use thiserror::Error;

use crate::{
    audit::{
        AuditError, AuditLog,
        record::{Call, Client, Decided, DecisionId, Ended, Verdict},
    },
    path::{
        PathError,
        project::{CandidateDir, ProjectDir},
    },
    policy::{
        Policy,
        decision::{
            ReadTerms, RunTerms, SandboxTerms,
            checks::{Check, Decision, Denial},
        },
        permissions::Permissions,
        request::{arguments::ArgumentError, failed_tests::GetFailedTests, run_tests::RunTests},
    },
};

/// Why there is no grant.
#[derive(Debug, Error)]
pub enum Refusal {
    /// The policy does not allow the call.
    #[error("{denial}")]
    Denied {
        /// Which rule, and what to do.
        denial: Denial,
        /// The record of it.
        decision: DecisionId,
    },
    /// The call is allowed, but its directory does not exist or is none.
    #[error("{0}")]
    Directory(PathError),
    /// The decision could not be written down.
    #[error("the decision can't be written to the audit log")]
    Audit(#[from] AuditError),
}

/// The power to run one project's tests once, on the terms that were decided.
///
/// It can be spent once:
///
/// ```
/// fn once(grant: playwright_warden::gate::RunGrant) {
///     drop(grant.into_read());
/// }
/// ```
/// ```compile_fail,E0382
/// fn twice(grant: playwright_warden::gate::RunGrant) {
///     drop(grant.into_read());
///     drop(grant.into_read());
/// }
/// ```
///
/// And nobody else can make one, or copy one:
///
/// ```compile_fail,E0451
/// fn forged(real: playwright_warden::gate::RunGrant) -> playwright_warden::gate::RunGrant {
///     playwright_warden::gate::RunGrant { ..real }
/// }
/// ```
/// ```compile_fail,E0599
/// fn copied(real: &playwright_warden::gate::RunGrant) -> playwright_warden::gate::RunGrant {
///     playwright_warden::gate::RunGrant::clone(real)
/// }
/// ```
#[derive(Debug)]
#[must_use = "a grant is a decision that was written down; spend it or drop it on purpose"]
pub struct RunGrant {
    decision: DecisionId,
    project: ProjectDir,
    terms: RunTerms,
}

impl RunGrant {
    /// The record that allowed it.
    pub fn decision(&self) -> DecisionId {
        self.decision
    }

    /// The project it is for.
    pub fn project(&self) -> &ProjectDir {
        &self.project
    }

    /// What it allows.
    pub fn terms(&self) -> &RunTerms {
        &self.terms
    }

    /// Spends the grant of a run that ended: what is left is to read its report.
    pub fn into_read(self) -> ReadGrant {
        ReadGrant { decision: self.decision, project: self.project, terms: self.terms.into_read() }
    }
}

/// The power to read one project's reports.
#[derive(Debug)]
#[must_use = "a grant is a decision that was written down; spend it or drop it on purpose"]
pub struct ReadGrant {
    decision: DecisionId,
    project: ProjectDir,
    terms: ReadTerms,
}

impl ReadGrant {
    /// The record that allowed it.
    pub fn decision(&self) -> DecisionId {
        self.decision
    }

    /// The project it is for.
    pub fn project(&self) -> &ProjectDir {
        &self.project
    }

    /// What it allows.
    pub fn terms(&self) -> &ReadTerms {
        &self.terms
    }
}

/// The power to tell the agent what it may do.
#[derive(Debug)]
#[must_use = "a grant is a decision that was written down; spend it or drop it on purpose"]
pub struct ViewGrant {
    decision: DecisionId,
    permissions: Permissions,
}

impl ViewGrant {
    /// The record that allowed it.
    pub fn decision(&self) -> DecisionId {
        self.decision
    }

    /// What may be told.
    pub fn permissions(&self) -> &Permissions {
        &self.permissions
    }
}

/// Decides, writes down, grants.
#[derive(Debug)]
pub struct Gate {
    policy: Arc<Policy>,
    audit: Arc<AuditLog>,
}

impl Gate {
    /// A gate for one policy.
    pub fn new(policy: Arc<Policy>, audit: Arc<AuditLog>) -> Self {
        Self { policy, audit }
    }

    /// The policy it decides by.
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// What will be written down of a call.
    pub fn call(&self, tool: &str, client: Option<Client>, arguments: &Map<String, Value>) -> Call {
        self.audit.call(tool, client, arguments)
    }

    /// Grants a run.
    ///
    /// # Errors
    /// [`Refusal`] when the policy says no, the directory is missing, or the decision can't be written down.
    pub fn admit_run(&self, request: RunTests, call: Call) -> Result<RunGrant, Refusal> {
        let decision = self.policy.decide_run(&request);
        let sandbox = decision.verdict.as_ref().ok().map(|terms| asked(&terms.sandbox));
        let (decision, project, terms) = self.admit(call, decision, sandbox, request.directory)?;
        Ok(RunGrant { decision, project, terms })
    }

    /// Grants the reading of a report.
    ///
    /// # Errors
    /// [`Refusal`] when the policy says no, the directory is missing, or the decision can't be written down.
    pub fn admit_read(&self, request: GetFailedTests, call: Call) -> Result<ReadGrant, Refusal> {
        let decision = self.policy.decide_read(&request);
        let (decision, project, terms) = self.admit(call, decision, None, request.directory)?;
        Ok(ReadGrant { decision, project, terms })
    }

    /// Grants a look at what the policy allows.
    ///
    /// # Errors
    /// [`Refusal`] when the policy says no, or the decision can't be written down.
    pub fn admit_view(&self, call: Call) -> Result<ViewGrant, Refusal> {
        let (decision, permissions) = self.settle(call, self.policy.decide_view(), None)?;
        Ok(ViewGrant { decision, permissions })
    }

    /// Writes down a call that no decision was made on, since its arguments are none.
    ///
    /// # Errors
    /// [`AuditError`] when it can't be written down.
    pub fn refuse_arguments(&self, call: Call, error: &ArgumentError) -> Result<(), AuditError> {
        self.refuse(call, "builtin.arguments", error.to_string())
    }

    /// Writes down a call of a tool that does not exist.
    ///
    /// # Errors
    /// [`AuditError`] when it can't be written down.
    pub fn refuse_tool(&self, call: Call, name: &str) -> Result<(), AuditError> {
        self.refuse(call, "builtin.tools", name.to_owned())
    }

    /// Writes down how a granted call ended.
    pub fn record_end(&self, decision: DecisionId, ended: Ended) {
        self.audit.ended(decision, ended);
    }

    fn refuse(&self, call: Call, rule: &str, subject: String) -> Result<(), AuditError> {
        self.audit.decided(Decided {
            decision: DecisionId::draw()?,
            call,
            verdict: Verdict::Deny,
            rule: rule.to_owned(),
            place: "builtin".to_owned(),
            subject,
            sandbox: None,
        })
    }

    fn admit<T>(
        &self,
        call: Call,
        decided: Decision<T>,
        sandbox: Option<Value>,
        directory: CandidateDir,
    ) -> Result<(DecisionId, ProjectDir, T), Refusal> {
        let (decision, terms) = self.settle(call, decided, sandbox)?;
        match directory.into_project() {
            Ok(project) => Ok((decision, project, terms)),
            Err(error) => {
                let error_code = Some("no_such_directory".to_owned());
                self.record_end(
                    decision,
                    Ended { outcome: "not_run", error: error_code, ..Ended::default() },
                );
                Err(Refusal::Directory(error))
            }
        }
    }

    /// Writes a decision down, and only then gives what it allows.
    fn settle<T>(
        &self,
        call: Call,
        decided: Decision<T>,
        sandbox: Option<Value>,
    ) -> Result<(DecisionId, T), Refusal> {
        let decision = DecisionId::draw()?;
        let (verdict, rule, place, subject) = match &decided.verdict {
            Ok(_) => {
                let granted = granted_by(&decided.checks);
                let told = granted.map(|check| (check.rule, check.place(), check.subject.clone()));
                let (rule, place, subject) = told.unwrap_or_default();
                (Verdict::Allow, rule, place, subject)
            }
            Err(denial) => (Verdict::Deny, denial.rule, denial.origin.to_string(), denial.subject.clone()),
        };
        let rule = rule.to_owned();
        self.audit.decided(Decided { decision, call, verdict, rule, place, subject, sandbox })?;
        match decided.verdict {
            Ok(terms) => Ok((decision, terms)),
            Err(denial) => Err(Refusal::Denied { denial, decision }),
        }
    }
}

/// What would become of a call: for those who explain it. It is no grant, and nothing was written down.
#[derive(Debug)]
pub struct Foreseen<T> {
    /// Every check, and the terms or the denial.
    pub decision: Decision<T>,
    /// The project of an allowed call, or why it can't be opened.
    pub project: Option<Result<ProjectDir, PathError>>,
}

impl<T> Foreseen<T> {
    fn of(decision: Decision<T>, directory: CandidateDir) -> Self {
        let project = decision.verdict.is_ok().then(|| directory.into_project());
        Self { decision, project }
    }
}

/// Decides on a run as [`Gate::admit_run`] does, and grants nothing.
pub fn foresee_run(policy: &Policy, request: RunTests) -> Foreseen<RunTerms> {
    Foreseen::of(policy.decide_run(&request), request.directory)
}

/// Decides on the reading of a report as [`Gate::admit_read`] does, and grants nothing.
pub fn foresee_read(policy: &Policy, request: GetFailedTests) -> Foreseen<ReadTerms> {
    Foreseen::of(policy.decide_read(&request), request.directory)
}

/// Decides on telling what the policy allows as [`Gate::admit_view`] does, and grants nothing.
pub fn foresee_view(policy: &Policy) -> Foreseen<Permissions> {
    Foreseen { decision: policy.decide_view(), project: None }
}

/// The check that grants: the others only narrow what it gives.
fn granted_by(checks: &[Check]) -> Option<&Check> {
    checks.iter().find(|check| check.rule == "dirs.allow").or(checks.last())
}

/// The confinement that is asked for, as the policy names it.
fn asked(terms: &SandboxTerms) -> Value {
    json!({
        "mode": terms.mode.to_string(),
        "project": terms.project.to_string(),
        "network": terms.network.to_string(),
        "unix_sockets": terms.unix_sockets.to_string(),
    })
}
