//! The record of a decision: each check, what it looked at, and where its rule stands.

use std::fmt;

use crate::policy::origin::Origin;

/// Whether a call may go on, and how that was found.
#[derive(Clone, Debug)]
#[must_use]
pub struct Decision<T> {
    /// Every check of this kind of call, in order.
    pub checks: Vec<Check>,
    /// The terms, or the denial.
    pub verdict: Result<T, Denial>,
}

impl<T> Decision<T> {
    /// The same decision without what may be used.
    pub fn without_terms(self) -> Decision<()> {
        Decision { checks: self.checks, verdict: self.verdict.map(drop) }
    }
}

/// One check of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// The policy key.
    pub rule: &'static str,
    /// What was held against it.
    pub subject: String,
    /// What came of it.
    pub outcome: CheckOutcome,
}

/// What came of a check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CheckOutcome {
    /// Allowed, by the rules at these places.
    Passed(Vec<Origin>),
    /// Denied, by the rule at this place.
    Failed(Origin),
    /// An earlier check had failed.
    NotReached,
}

impl Check {
    /// Where its rule stands.
    pub fn place(&self) -> String {
        match &self.outcome {
            CheckOutcome::Passed(origins) => {
                let mut places: Vec<String> = origins.iter().map(Origin::to_string).collect();
                places.dedup();
                places.join(", ")
            }
            CheckOutcome::Failed(origin) => origin.to_string(),
            CheckOutcome::NotReached => String::new(),
        }
    }
}

/// Whether a rule forbids, or none grants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DenialKind {
    /// A rule forbids it.
    Explicit,
    /// No rule grants it.
    Implicit,
}

/// Why a call is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Denial {
    /// The policy key that decided.
    pub rule: &'static str,
    /// Where it stands; for the operator, never for the agent.
    pub origin: Origin,
    /// What it was held against.
    pub subject: String,
    /// Whether a rule forbids, or none grants.
    pub kind: DenialKind,
    /// What would be allowed, in words.
    pub permitted: Option<String>,
    message: String,
}

impl Denial {
    /// A denial by a rule that forbids.
    pub fn explicit(rule: &'static str, origin: &Origin, subject: &str, message: String) -> Self {
        Self::new(rule, origin, subject, DenialKind::Explicit, message)
    }

    /// A denial since no rule grants.
    pub fn implicit(rule: &'static str, origin: &Origin, subject: &str, message: String) -> Self {
        Self::new(rule, origin, subject, DenialKind::Implicit, message)
    }

    fn new(rule: &'static str, origin: &Origin, subject: &str, kind: DenialKind, message: String) -> Self {
        Self { rule, origin: origin.clone(), subject: subject.to_owned(), kind, permitted: None, message }
    }

    /// The same denial with what would be allowed.
    #[must_use]
    pub fn permitting(mut self, permitted: String) -> Self {
        self.permitted = Some(permitted);
        self
    }
}

impl fmt::Display for Denial {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)
    }
}

/// The checks made so far.
#[derive(Debug, Default)]
pub(super) struct Checks {
    made: Vec<Check>,
}

impl Checks {
    pub(super) fn pass(&mut self, rule: &'static str, origins: Vec<Origin>, subject: &str) {
        self.made.push(Check { rule, subject: subject.to_owned(), outcome: CheckOutcome::Passed(origins) });
    }

    pub(super) fn fail(&mut self, denial: Denial) -> Denial {
        let outcome = CheckOutcome::Failed(denial.origin.clone());
        self.made.push(Check { rule: denial.rule, subject: denial.subject.clone(), outcome });
        denial
    }

    /// All checks: those that were made, then those that a failed one kept from being reached.
    pub(super) fn complete(self, all: &[&'static str]) -> Vec<Check> {
        let mut checks = self.made;
        let failed = checks.iter().any(|check| matches!(check.outcome, CheckOutcome::Failed(_)));
        let reached = |rule: &str, checks: &[Check]| checks.iter().any(|check| check.rule == rule);
        for rule in all.iter().filter(|_| failed) {
            if !reached(rule, &checks) {
                checks.push(Check { rule, subject: String::new(), outcome: CheckOutcome::NotReached });
            }
        }
        checks
    }
}
