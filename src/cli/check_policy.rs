//! `--check-policy`: what a policy comes to, what is wrong with it, what holds here, and what would become of a call.
//!
//! In: the same inputs as the server's. Out: text for people or one JSON object, and an exit status. It compiles and
//! decides by the very code of the server, and runs no project code.

use std::{
    io::{self, Read, Write},
    process::ExitCode,
};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::{
    cli::exit,
    path::handle::DirHandle,
    policy::{
        self, Loaded, Policy, Verdict,
        confinement::ProjectAccess,
        decision::{
            SandboxTerms,
            checks::{Check, CheckOutcome, Decision, DenialKind},
        },
        denylist,
        diagnostic::Severity,
        effective,
        excerpt::Style,
        request::Request,
        source::{Inputs, LayerSource, LayerSummary, Role, Scope},
        tool::ToolName,
    },
    runner::probe::{self, Probed},
    sandbox::{Plan, ProcessLimits},
    text::visible::visible,
};

/// The version of the JSON output.
const FORMAT_VERSION: &str = "1.0";

/// How the answer is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Text.
    Human,
    /// One JSON object on standard output.
    Json,
}

/// What warnings come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Warnings {
    /// They are told.
    Tell,
    /// They are an exit status of their own.
    Deny,
}

/// What is asked.
#[derive(Clone, Debug)]
pub struct Options {
    /// A call to decide on, as JSON; `-` reads it from standard input.
    pub call: Option<String>,
    /// How the answer is written.
    pub format: Format,
    /// What warnings come to.
    pub warnings: Warnings,
    /// Whether diagnostics are coloured.
    pub style: Style,
}

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
struct CallAnswer {
    decision: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    permitted: Option<String>,
    checks: Vec<CheckAnswer>,
}

#[derive(Debug, Serialize)]
struct CheckAnswer {
    outcome: &'static str,
    rule: &'static str,
    #[serde(skip_serializing_if = "String::is_empty")]
    subject: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    source: String,
}

/// Checks the policy.
///
/// # Errors
/// When the answer can't be written.
pub fn run(
    options: &Options,
    inputs: &Inputs,
    out: &mut impl Write,
    err: &mut impl Write,
) -> io::Result<ExitCode> {
    let loaded = policy::load(inputs);
    let sandbox = loaded.policy.as_ref().map(|policy| probe::probe(&plan(policy)));
    let call = match (&options.call, &loaded.policy) {
        (Some(call), Some(policy)) => Some(decide(call, policy, inputs)),
        (Some(_), None) | (None, _) => None,
    };
    match options.format {
        Format::Human => {
            if !loaded.diagnostics.is_empty() {
                writeln!(err, "{}", loaded.render(options.style))?;
            }
            write_human(out, &loaded, sandbox.as_ref(), call.as_ref())?;
        }
        Format::Json => write_json(out, &loaded, sandbox.as_ref(), call.as_ref())?,
    }
    let denied = matches!(&call, Some(Ok(answer)) if answer.decision == "deny");
    Ok(match loaded.verdict() {
        Verdict::InputOutput => exit::input_output(),
        Verdict::Invalid => exit::invalid(),
        Verdict::Valid | Verdict::ValidWithWarnings if matches!(call, Some(Err(_))) => exit::input_output(),
        Verdict::Valid | Verdict::ValidWithWarnings if denied => exit::denied(),
        Verdict::ValidWithWarnings if options.warnings == Warnings::Deny => exit::warnings(),
        Verdict::Valid | Verdict::ValidWithWarnings => exit::valid(),
    })
}

/// Prints the variables that no policy lets a call set, one a line.
///
/// # Errors
/// When it can't be written.
pub fn print_denylist(out: &mut impl Write) -> io::Result<ExitCode> {
    for row in denylist::rows() {
        writeln!(out, "{row}")?;
    }
    Ok(exit::valid())
}

/// What every run under this policy asks of the kernel; the places differ from run to run.
fn plan(policy: &Policy) -> Plan {
    let terms = SandboxTerms::from(policy.sandbox());
    Plan {
        mode: terms.mode,
        read: Vec::new(),
        write: Vec::new(),
        // Trying it must not make the project's output directories.
        project: if terms.project == ProjectAccess::Outputs {
            ProjectAccess::ReadOnly
        } else {
            terms.project
        },
        outputs: Vec::new(),
        protect: terms.protect,
        network: terms.network,
        unix_sockets: terms.unix_sockets,
        limits: ProcessLimits::default(),
    }
}

fn decide(call: &str, policy: &Policy, inputs: &Inputs) -> Result<CallAnswer, String> {
    let text = match call {
        "-" => {
            let mut text = String::new();
            io::stdin().take(1 << 20).read_to_string(&mut text).map_err(|error| error.to_string())?;
            text
        }
        text => text.to_owned(),
    };
    let call: Call = serde_json::from_str(&text).map_err(|error| format!("--call is no call: {error}"))?;
    let known = ToolName::parse(&call.tool).filter(|tool| tool.exists());
    let tool = known.ok_or_else(|| format!("there is no tool `{}`", call.tool))?;
    let launch = DirHandle::open(&inputs.launch_dir).map_err(|error| error.to_string())?;
    let request = Request::parse(tool, call.arguments, &launch).map_err(|error| {
        let hint = error.hint().map(|hint| format!("; {hint}")).unwrap_or_default();
        format!("invalid arguments for {tool}: {error}{hint}")
    })?;
    Ok(match request {
        Request::RunTests(request) => CallAnswer::of(policy.decide_run(&request)),
        Request::GetFailedTests(request) => CallAnswer::of(policy.decide_read(&request)),
    })
}

impl CallAnswer {
    fn of<T>(decision: Decision<T>) -> Self {
        let checks = decision.checks.iter().map(CheckAnswer::of).collect();
        match decision.verdict {
            Ok(_) => Self { decision: "allow", kind: None, message: None, permitted: None, checks },
            Err(denial) => Self {
                decision: "deny",
                kind: Some(match denial.kind {
                    DenialKind::Explicit => "explicit",
                    DenialKind::Implicit => "implicit",
                }),
                message: Some(denial.to_string()),
                permitted: denial.permitted,
                checks,
            },
        }
    }
}

impl CheckAnswer {
    fn of(check: &Check) -> Self {
        let outcome = match check.outcome {
            CheckOutcome::Passed(_) => "passed",
            CheckOutcome::Failed(_) => "failed",
            CheckOutcome::NotReached => "not_reached",
        };
        Self { outcome, rule: check.rule, subject: check.subject.clone(), source: check.place() }
    }
}

fn write_human(
    out: &mut impl Write,
    loaded: &Loaded,
    sandbox: Option<&Probed>,
    call: Option<&Result<CallAnswer, String>>,
) -> io::Result<()> {
    writeln!(out, "layers")?;
    for layer in &loaded.layers {
        writeln!(out, "  {}", layer_line(layer))?;
    }
    if let Some(policy) = &loaded.policy {
        writeln!(out, "effective  {}", policy.hash())?;
        for row in effective::effective(policy) {
            let list = |list: &Vec<policy::origin::Sourced<String>>| {
                let entries =
                    list.iter().map(|entry| format!("{} ({})", visible(&entry.value), entry.origin));
                if list.is_empty() { "nothing".to_owned() } else { entries.collect::<Vec<_>>().join(", ") }
            };
            let lists: Vec<String> = row.lists.iter().map(list).collect();
            writeln!(
                out,
                "  {:<32} {}",
                row.key,
                lists.join("\n                                   and within: ")
            )?;
        }
    }
    if let Some(probed) = sandbox {
        writeln!(out, "sandbox  {}", sandbox_line(probed))?;
    }
    match call {
        Some(Ok(answer)) => write_call(out, answer)?,
        Some(Err(problem)) => writeln!(out, "INVALID  {}", visible(problem))?,
        None => {}
    }
    let count = |severity| loaded.diagnostics.iter().filter(|finding| finding.severity == severity).count();
    writeln!(out, "errors: {}, warnings: {}", count(Severity::Error), count(Severity::Warning))
}

fn layer_line(layer: &LayerSummary) -> String {
    let role = match layer.role {
        Role::Grant => "grant",
        Role::Limit => "limit",
    };
    match &layer.source {
        LayerSource::File { path, facts, scope } => {
            let facts = facts.as_ref().map(|facts| {
                format!(", uid {} mode {:04o} sha256 {}", facts.owner_uid, facts.mode, facts.sha256)
            });
            let exclusive = match (scope, layer.role) {
                (Scope::System, Role::Grant) => " exclusive",
                (Scope::System | Scope::User | Scope::Named, Role::Grant | Role::Limit) => "",
            };
            let scope = scope.as_str();
            format!("{role}  {}  {scope}{exclusive}{}", path.display(), facts.unwrap_or_default())
        }
        LayerSource::Environment => {
            format!("{role}  environment (PW_ALLOWED_DIRS, PW_ALLOWED_ENV, PW_RESULTS_FILE)")
        }
        LayerSource::Builtin => format!("{role}  built-in defaults"),
    }
}

fn sandbox_line(probed: &Probed) -> String {
    match probed {
        Probed::Holds(enforcement) => enforcement.to_string(),
        Probed::Refused(refusal) => format!("runs are refused: {}", refusal.message),
        Probed::Failed(problem) => format!("can't be tried: {problem}"),
    }
}

fn write_call(out: &mut impl Write, answer: &CallAnswer) -> io::Result<()> {
    let message = visible(answer.message.as_deref().unwrap_or_default());
    writeln!(out, "{}  {message}", answer.decision.to_uppercase())?;
    for check in &answer.checks {
        let outcome = check.outcome.replace('_', " ");
        let line =
            format!("  {outcome:<12} {:<24} {}  {}", check.rule, check.source, visible(&check.subject));
        writeln!(out, "{}", line.trim_end())?;
    }
    match (&answer.permitted, answer.kind) {
        (Some(permitted), _) => writeln!(out, "  permitted    {}", visible(permitted)),
        (None, Some("implicit")) => writeln!(out, "  nothing grants it"),
        (None, _) => Ok(()),
    }
}

fn write_json(
    out: &mut impl Write,
    loaded: &Loaded,
    sandbox: Option<&Probed>,
    call: Option<&Result<CallAnswer, String>>,
) -> io::Result<()> {
    let count = |severity| loaded.diagnostics.iter().filter(|finding| finding.severity == severity).count();
    let effective = loaded.policy.as_ref().map(effective::effective);
    let sandbox = sandbox.map(|probed| match probed {
        Probed::Holds(enforcement) => json!(enforcement),
        Probed::Refused(refusal) => json!({ "refused": refusal }),
        Probed::Failed(problem) => json!({ "error": problem }),
    });
    let call = call.map(|answer| match answer {
        Ok(answer) => json!(answer),
        Err(problem) => json!({ "decision": "invalid", "message": problem }),
    });
    let answer = json!({
        "format_version": FORMAT_VERSION,
        "valid": loaded.policy.is_some(),
        "error_count": count(Severity::Error),
        "warning_count": count(Severity::Warning),
        "diagnostics": loaded.diagnostics,
        "layers": loaded.layers,
        "hash": loaded.policy.as_ref().map(Policy::hash),
        "effective": effective,
        "sandbox": sandbox,
        "call": call,
    });
    writeln!(out, "{answer}")
}
