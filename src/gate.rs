//! The only maker of grants: a request is decided, the decision is written down, and only then turned into a power.
//!
//! In: parsed requests. Out: grants, spent by value by those who act on them. Deciding is left to `policy`, acting to
//! `runner` and to the readers of reports.

use std::sync::Arc;

use thiserror::Error;

use crate::{
    audit::{AuditError, AuditLog, DecisionId, Record, Verdict},
    path::{
        PathError,
        project::{CandidateDir, ProjectDir},
    },
    policy::{
        Policy,
        decision::{
            ReadTerms, RunTerms,
            checks::{Decision, Denial},
        },
        permissions::Permissions,
        request::{failed_tests::GetFailedTests, run_tests::RunTests},
        tool::ToolName,
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
        ReadGrant { project: self.project, terms: self.terms.into_read() }
    }
}

/// The power to read one project's reports.
#[derive(Debug)]
#[must_use = "a grant is a decision that was written down; spend it or drop it on purpose"]
pub struct ReadGrant {
    project: ProjectDir,
    terms: ReadTerms,
}

impl ReadGrant {
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
    permissions: Permissions,
}

impl ViewGrant {
    /// What may be told.
    pub fn permissions(&self) -> &Permissions {
        &self.permissions
    }
}

/// Decides, writes down, grants.
#[derive(Debug)]
pub struct Gate {
    policy: Arc<Policy>,
    audit: AuditLog,
}

impl Gate {
    /// A gate for one policy.
    pub fn new(policy: Arc<Policy>, audit: AuditLog) -> Self {
        Self { policy, audit }
    }

    /// The policy it decides by.
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// Grants a run.
    ///
    /// # Errors
    /// [`Refusal`] when the policy says no, the directory is missing, or the decision can't be written down.
    pub fn admit_run(&self, request: RunTests) -> Result<RunGrant, Refusal> {
        let decision = self.policy.decide_run(&request);
        let (decision, project, terms) = self.admit(ToolName::RunTests, decision, request.directory)?;
        Ok(RunGrant { decision, project, terms })
    }

    /// Grants the reading of a report.
    ///
    /// # Errors
    /// [`Refusal`] when the policy says no, the directory is missing, or the decision can't be written down.
    pub fn admit_read(&self, request: GetFailedTests) -> Result<ReadGrant, Refusal> {
        let decision = self.policy.decide_read(&request);
        let (_, project, terms) = self.admit(ToolName::GetFailedTests, decision, request.directory)?;
        Ok(ReadGrant { project, terms })
    }

    /// Grants a look at what the policy allows.
    ///
    /// # Errors
    /// [`Refusal`] when the policy says no, or the decision can't be written down.
    pub fn admit_view(&self) -> Result<ViewGrant, Refusal> {
        let (_, permissions) = self.settle(ToolName::GetPolicy, self.policy.decide_view())?;
        Ok(ViewGrant { permissions })
    }

    /// Writes down how a granted run ended.
    ///
    /// # Errors
    /// [`AuditError`] when it can't be written.
    pub fn record_end(&self, record: &Record) -> Result<(), AuditError> {
        self.audit.record(record)
    }

    fn admit<T>(
        &self,
        tool: ToolName,
        decided: Decision<T>,
        directory: CandidateDir,
    ) -> Result<(DecisionId, ProjectDir, T), Refusal> {
        let (decision, terms) = self.settle(tool, decided)?;
        Ok((decision, directory.into_project().map_err(Refusal::Directory)?, terms))
    }

    /// Writes a decision down, and only then gives what it allows.
    fn settle<T>(&self, tool: ToolName, decided: Decision<T>) -> Result<(DecisionId, T), Refusal> {
        let decision = DecisionId::draw()?;
        let (verdict, rule) = match &decided.verdict {
            Ok(_) => (
                Verdict::Allow,
                decided.checks.last().map(|check| (check.rule, check.place(), check.subject.clone())),
            ),
            Err(denial) => {
                (Verdict::Deny, Some((denial.rule, denial.origin.to_string(), denial.subject.clone())))
            }
        };
        let (rule, origin, subject) = rule.unwrap_or_default();
        let tool = tool.as_str();
        self.audit.record(&Record::Decided {
            decision,
            tool,
            verdict,
            rule: rule.to_owned(),
            origin,
            subject,
        })?;
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
