//! What would become of a call.
//!
//! In: a call as JSON, and where the server would be. Out: every check, and for an allowed call what it would do. It is
//! parsed and decided by the very code of the server. What it would do is left to `plan`.

use std::io::{self, Read as _};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{
    cli::check_policy::{
        Site,
        plan::{self, PlanAnswer, Prospect},
    },
    gate::{self, Foreseen, Refusal},
    path::project::ProjectDir,
    policy::{
        Policy,
        decision::checks::{Check, CheckOutcome, DenialKind},
        origin::Origin,
        request::Request,
        tool::ToolName,
    },
    server::answer::{ToolError, refusals},
};

/// The longest call that is read from standard input, in bytes.
const CALL_BYTES: u64 = 1 << 20;
/// What is said of what is none.
const LOOKS_LIKE: &str =
    r#"a call looks like {"tool": "run_tests", "arguments": {"spec": "tests/cart.spec.ts"}}"#;

/// A call as `--call` takes it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Call {
    tool: String,
    #[serde(default)]
    arguments: Map<String, Value>,
}

/// What would become of a call.
#[derive(Debug, Serialize)]
pub(super) struct CallAnswer {
    /// The tool.
    pub(super) tool: &'static str,
    /// `allow` or `deny`.
    pub(super) decision: &'static str,
    /// Of a denial: `explicit` where a rule forbids, `implicit` where none grants.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) kind: Option<&'static str>,
    /// What the agent is told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) message: Option<String>,
    /// The policy key that denied.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) rule: Option<&'static str>,
    /// Where it stands.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) source: Option<Origin>,
    /// What would be allowed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) permitted: Option<String>,
    /// Every check, in order.
    pub(super) checks: Vec<CheckAnswer>,
    /// What the call would do; absent where it is denied, or could not be made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) plan: Option<PlanAnswer>,
    /// What would keep an allowed call from being done: the error that the agent would be answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) would_fail: Option<ToolError>,
}

/// One check.
#[derive(Debug, Serialize)]
pub(super) struct CheckAnswer {
    /// `passed`, `failed` or `not_reached`.
    pub(super) outcome: &'static str,
    /// The policy key.
    pub(super) rule: &'static str,
    /// What was held against it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) subject: String,
    /// Where the rule stands, as text.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) source: String,
    /// Where it stands in each layer.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) sources: Vec<Origin>,
}

/// Decides on a call; `-` reads it from standard input.
///
/// # Errors
/// In words, where the call is none.
pub(super) fn answer(call: &str, policy: &Policy, site: &Site<'_>) -> Result<CallAnswer, String> {
    let call = read(call)?;
    let tool = ToolName::parse(&call.tool).ok_or_else(|| format!("unknown tool `{}`", call.tool))?;
    let request = Request::parse(tool, call.arguments, &site.launch)
        .map_err(|error| error.hint().map_or_else(|| error.to_string(), |hint| format!("{error}; {hint}")))?;
    Ok(match request {
        Request::RunTests(request) => {
            let spec = request.spec.clone();
            let foreseen = gate::foresee_run(policy, *request);
            CallAnswer::of(tool, foreseen, |project, terms| plan::of_run(site, project, terms, spec.as_ref()))
        }
        Request::GetFailedTests(request) => {
            let run_id = request.run_id;
            let foreseen = gate::foresee_read(policy, request);
            CallAnswer::of(tool, foreseen, |project, terms| plan::of_read(project, terms, run_id))
        }
        Request::GetPolicy => CallAnswer::of(tool, gate::foresee_view(policy), |_, _| Prospect::default()),
    })
}

fn read(call: &str) -> Result<Call, String> {
    let text = match call {
        "-" => {
            let mut text = String::new();
            io::stdin().take(CALL_BYTES).read_to_string(&mut text).map_err(|error| error.to_string())?;
            text
        }
        given => given.to_owned(),
    };
    let value: Value =
        serde_json::from_str(&text).map_err(|error| format!("--call is not JSON ({error}); {LOOKS_LIKE}"))?;
    if !value.is_object() {
        return Err(format!("--call is no JSON object; {LOOKS_LIKE}"));
    }
    // From the text again: a value does not tell of a key that stands twice.
    serde_json::from_str(&text).map_err(|error| format!("--call: {error}; {LOOKS_LIKE}"))
}

impl CallAnswer {
    /// What a decision comes to; `plan` tells what an allowed call would do.
    fn of<T>(tool: ToolName, foreseen: Foreseen<T>, plan: impl FnOnce(&ProjectDir, &T) -> Prospect) -> Self {
        let mut answer = Self {
            tool: tool.as_str(),
            decision: "allow",
            kind: None,
            message: None,
            rule: None,
            source: None,
            permitted: None,
            checks: foreseen.decision.checks.iter().map(CheckAnswer::of).collect(),
            plan: None,
            would_fail: None,
        };
        match (foreseen.decision.verdict, foreseen.project) {
            (Ok(terms), Some(Ok(project))) => {
                let prospect = plan(&project, &terms);
                answer.plan = prospect.plan;
                answer.would_fail = prospect.would_fail;
            }
            (Ok(_), Some(Err(error))) => {
                answer.would_fail = Some(refusals::refused(Refusal::Directory(error)));
            }
            (Ok(_), None) => {}
            (Err(denial), _) => {
                answer.decision = "deny";
                answer.kind = Some(match denial.kind {
                    DenialKind::Explicit => "explicit",
                    DenialKind::Implicit => "implicit",
                });
                answer.message = Some(denial.to_string());
                answer.rule = Some(denial.rule);
                answer.source = Some(denial.origin);
                answer.permitted = denial.permitted;
            }
        }
        answer
    }

    /// Whether the policy does not allow it.
    pub(super) fn is_denied(&self) -> bool {
        self.rule.is_some()
    }
}

impl CheckAnswer {
    fn of(check: &Check) -> Self {
        let (outcome, sources) = match &check.outcome {
            CheckOutcome::Passed(origins) => ("passed", origins.clone()),
            CheckOutcome::Failed(origin) => ("failed", vec![origin.clone()]),
            CheckOutcome::NotReached => ("not_reached", Vec::new()),
        };
        let mut sources = sources;
        sources.dedup();
        Self { outcome, rule: check.rule, subject: check.subject.clone(), source: check.place(), sources }
    }
}
