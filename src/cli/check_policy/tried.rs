//! What this system enforces of a policy, and what a reviewer should know of it.
//!
//! In: a policy. Out: what a child of this program came to, and findings, each at the key that asks for what is missing.
//! Trying it is left to `runner::probe`.

use serde::{Serialize, Serializer};
use serde_json::json;

use crate::{
    policy::{
        Policy,
        confinement::SandboxMode,
        decision::SandboxTerms,
        diagnostic::{Diagnostic, DiagnosticCode, Severity},
        origin::Origin,
    },
    runner::probe::{Probed, probe},
    sandbox::{Enforcement, Feature, Level, Plan},
};

/// What came of a try.
#[derive(Debug)]
pub(super) struct Tried(pub(super) Probed);

impl Serialize for Tried {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.0 {
            Probed::Holds(enforcement) => enforcement.serialize(serializer),
            Probed::Refused(refusal) => json!({ "refused": refusal }).serialize(serializer),
            Probed::Failed(problem) => json!({ "error": problem }).serialize(serializer),
        }
    }
}

/// Tries what every run under a policy asks of the kernel; the places differ from run to run.
pub(super) fn of_policy(policy: &Policy) -> Tried {
    Tried(probe(&Plan::without_places(&SandboxTerms::from(policy.sandbox()))))
}

/// What there is to say of a try; `known` are the findings so far.
pub(super) fn findings(policy: &Policy, tried: &Tried, known: &[Diagnostic]) -> Option<Diagnostic> {
    if policy.sandbox().mode().value == SandboxMode::Off {
        return None;
    }
    match &tried.0 {
        Probed::Holds(enforcement) => partial(policy, enforcement, known),
        Probed::Refused(refusal) => {
            let missing = refusal.missing.first().copied();
            let summary = format!("no run can start here: {}", refusal.message);
            Some(unavailable(policy, missing, summary).hint(&refusal.hint))
        }
        Probed::Failed(problem) => {
            Some(unavailable(policy, None, format!("the sandbox can't be tried here: {problem}")))
        }
    }
}

fn partial(policy: &Policy, enforcement: &Enforcement, known: &[Diagnostic]) -> Option<Diagnostic> {
    let is_told = known.iter().any(|finding| finding.code == DiagnosticCode::WriteCoversProject);
    let missing: Vec<Feature> = enforcement
        .missing
        .iter()
        .copied()
        .filter(|feature| *feature != Feature::Protect || !is_told)
        .collect();
    let first = *missing.first()?;
    let names = missing.iter().map(|feature| feature.name()).collect::<Vec<_>>().join(", ");
    if enforcement.level == Level::Absent {
        let summary = format!("this system confines no run: {names} would have to hold");
        return Some(unavailable(policy, Some(first), summary).hint(NEWER));
    }
    let (key, origin) = asking(policy, first);
    let summary = format!("this system does not enforce all that is asked; missing: {names}");
    Some(
        Diagnostic::warning(DiagnosticCode::SandboxPartial, origin, summary)
            .key(key)
            .hint(format!("runs start all the same, and each answer says so; {NEWER}")),
    )
}

/// What to do where the kernel lacks something.
const NEWER: &str = "use a newer kernel with Landlock, or `sandbox.mode = \"require\"` to refuse such runs";

/// An error where the policy requires it, since no run could start.
fn unavailable(policy: &Policy, missing: Option<Feature>, summary: String) -> Diagnostic {
    let severity = match policy.sandbox().mode().value {
        SandboxMode::Require => Severity::Error,
        SandboxMode::BestEffort | SandboxMode::Off => Severity::Warning,
    };
    let (key, origin) = missing.map_or_else(
        || ("sandbox.mode", policy.sandbox().mode().origin.clone()),
        |feature| asking(policy, feature),
    );
    Diagnostic::new(severity, DiagnosticCode::SandboxUnavailable, origin, summary).key(key)
}

/// The key that asks for a feature, and where it stands.
fn asking(policy: &Policy, feature: Feature) -> (&'static str, Origin) {
    let sandbox = policy.sandbox();
    let origin = match feature {
        Feature::Files | Feature::Signals => &sandbox.mode().origin,
        Feature::UnixSockets => &sandbox.unix_sockets().origin,
        Feature::Tcp | Feature::Udp => &sandbox.network().origin,
        Feature::Protect => {
            let first = sandbox.protect().first();
            first.map_or(&sandbox.project().origin, |entry| &entry.origin)
        }
    };
    (feature.policy_key(), origin.clone())
}
