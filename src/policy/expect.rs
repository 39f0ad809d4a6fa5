//! `[[expect]]`: the tests that a policy has of itself, so that a review can be replayed.
//!
//! In: a policy and the launch directory. Out: a finding for each call that is decided otherwise than expected. Each is
//! parsed and decided as a call of an agent is. Only `--check-policy` asks; a server starts all the same.

use crate::{
    path::handle::DirHandle,
    policy::{
        Policy,
        decision::checks::{Decision, Denial, DenialKind},
        diagnostic::{Diagnostic, DiagnosticCode},
        origin::Origin,
        request::Request,
        source::settings::{Expectation, ExpectedDecision},
        tool::ToolName,
    },
};

/// One expectation as a layer wrote it.
#[derive(Clone, Debug)]
pub struct Stated {
    /// What it says.
    pub expectation: Expectation,
    /// Where its `decision` stands.
    pub decision: Origin,
    /// Where its `call` stands.
    pub call: Origin,
}

/// Checks every expectation of a policy.
#[must_use]
pub fn check(policy: &Policy, launch: &DirHandle) -> Vec<Diagnostic> {
    policy.expectations().iter().filter_map(|expectation| failure(policy, launch, expectation)).collect()
}

fn failure(policy: &Policy, launch: &DirHandle, stated: &Stated) -> Option<Diagnostic> {
    let Expectation { call, decision, rule } = &stated.expectation;
    let failed_at = |place: &Origin, summary: String, hint: String| {
        let finding = Diagnostic::error(DiagnosticCode::ExpectFailed, place.clone(), summary);
        Some(finding.key("expect").hint(hint))
    };
    let failed = |summary: String, hint: String| failed_at(&stated.decision, summary, hint);
    let tool = ToolName::parse(&call.tool)?;
    let decided = match Request::parse(tool, call.arguments.clone(), launch) {
        Ok(request) => policy.decide(&request),
        Err(error) => {
            let hint = error.hint().unwrap_or("write a call that an agent can make of this version");
            let summary = format!("this call is neither allowed nor denied: {error}");
            return failed_at(&stated.call, summary, hint.to_owned());
        }
    };
    match (decision, decided.verdict.as_ref(), rule.as_deref()) {
        (ExpectedDecision::Allow, Ok(()), None) | (ExpectedDecision::Deny, Err(_), None) => None,
        (ExpectedDecision::Deny, Err(denial), Some(rule)) if denial.rule == rule => None,
        (ExpectedDecision::Allow, Err(denial), _) => {
            failed(format!("this call should be allowed, and is denied: {denial}"), because(denial))
        }
        (ExpectedDecision::Deny, Err(denial), Some(rule)) => {
            failed(format!("`{rule}` should deny this call, and `{}` does", denial.rule), because(denial))
        }
        (ExpectedDecision::Deny, Ok(()), _) => {
            failed("this call should be denied, and is allowed".to_owned(), admitted(&decided))
        }
        (ExpectedDecision::Allow, Ok(()), Some(_)) => {
            let hint = "`rule` names what denies; take it out, or expect `deny`";
            failed("this call is allowed, and no rule can deny it then".to_owned(), hint.to_owned())
        }
    }
}

fn because(denial: &Denial) -> String {
    let how = match denial.kind {
        DenialKind::Explicit => "denied by",
        DenialKind::Implicit => "not granted by",
    };
    let permitted = denial.permitted.as_ref().map(|permitted| format!(", which permits {permitted}"));
    format!("it is {how} `{}` at {}{}", denial.rule, denial.origin, permitted.unwrap_or_default())
}

/// Which rule lets the directory in; the others follow in the answer to `--call`.
fn admitted(decided: &Decision<()>) -> String {
    let by = decided.checks.iter().find(|check| check.rule == "dirs.allow");
    let by = by.map(|check| format!("`dirs.allow` at {} admits `{}`; ", check.place(), check.subject));
    format!("{}`--call` shows every check", by.unwrap_or_default())
}
