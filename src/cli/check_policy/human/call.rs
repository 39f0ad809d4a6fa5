//! What would become of a call, for a person.

use std::io::{self, Write};

use crate::{
    cli::check_policy::{
        call::{CallAnswer, CheckAnswer},
        human::{
            columns::{entry, list},
            enforcement_line, features,
            place::Places,
        },
        plan::{PlanAnswer, ReadPlan, Readable, RunLimits, RunPlan},
        tried::Tried,
    },
    policy::{
        confinement::{ProjectAccess, SandboxMode},
        origin::Origin,
    },
    runner::probe::Probed,
};

/// Writes the verdict, what led to it, and what the call would do.
///
/// # Errors
/// When it can't be written.
pub(super) fn write(out: &mut impl Write, answer: &CallAnswer, places: &Places) -> io::Result<()> {
    match &answer.message {
        Some(message) => entry(out, "DENY   ", std::slice::from_ref(message), "")?,
        None => writeln!(out, "ALLOW  {}", answer.tool)?,
    }
    if let (Some(rule), Some(source)) = (answer.rule, &answer.source) {
        let what = match answer.kind {
            Some("explicit") => "denied by a rule",
            Some(_) | None => "granted by none",
        };
        labelled(out, what, [format!("{rule}, {}", whole(source))])?;
    }
    if let Some(permitted) = &answer.permitted {
        labelled(out, "permitted", words(permitted))?;
    }
    write_checks(out, &answer.checks, places)?;
    if let Some(error) = &answer.would_fail {
        let code = serde_json::to_value(error.code).unwrap_or_default();
        let code = code.as_str().unwrap_or_default();
        labelled(out, "but would fail", words(&format!("{code}: {}", error.message)))?;
        labelled(out, "", words(error.hint.as_deref().unwrap_or_default()))?;
    }
    match &answer.plan {
        Some(PlanAnswer::Run(plan)) => write_run(out, plan),
        Some(PlanAnswer::Read(plan)) => write_read(out, plan),
        None => Ok(()),
    }
}

/// A place with its whole path, to be opened.
fn whole(origin: &Origin) -> String {
    match origin {
        Origin::Builtin => "a default".to_owned(),
        Origin::File { .. } | Origin::Variable { .. } => origin.to_string(),
    }
}

fn labelled(out: &mut impl Write, label: &str, words: impl IntoIterator<Item = String>) -> io::Result<()> {
    let words: Vec<String> = words.into_iter().collect();
    if words.is_empty() { Ok(()) } else { entry(out, &format!("  {label:<18}"), &words, "") }
}

/// The words of a text; only blanks part them, so that whatever else it holds is seen.
fn words(text: &str) -> Vec<String> {
    if text.is_empty() { Vec::new() } else { text.split(' ').map(str::to_owned).collect() }
}

fn write_checks(out: &mut impl Write, checks: &[CheckAnswer], places: &Places) -> io::Result<()> {
    for check in checks.iter().filter(|check| check.outcome != "not_reached") {
        let mut short: Vec<String> = check.sources.iter().map(|origin| places.short(origin)).collect();
        short.retain(|place| !place.is_empty());
        let label = format!("  {:<18}{:<22}", check.outcome, check.rule);
        entry(out, &label, &words(&check.subject), &short.join(", "))?;
    }
    let missed = checks.iter().filter(|check| check.outcome == "not_reached");
    labelled(out, "not reached", list(missed.map(|check| check.rule.to_owned())))
}

fn write_run(out: &mut impl Write, plan: &RunPlan) -> io::Result<()> {
    writeln!(out, "plan")?;
    labelled(out, "program", [quoted(&plan.program)])?;
    labelled(out, "arguments", plan.argv.iter().map(|argument| quoted(argument)))?;
    labelled(out, "in", [quoted(&plan.cwd)])?;
    labelled(out, "variables", list(plan.env.iter().cloned()))?;
    labelled(out, "Playwright", [plan.playwright_version.clone()])?;
    write_limits(out, &plan.limits)?;
    if plan.mode == SandboxMode::Off {
        return labelled(out, "sandbox", ["off:".to_owned(), "test code is not confined".to_owned()]);
    }
    labelled(out, "may read", list(plan.read.iter().map(|path| quoted(path))))?;
    labelled(out, "may write", list(plan.write.iter().map(|path| quoted(path))))?;
    let project = match plan.project {
        ProjectAccess::ReadOnly => "read only",
        ProjectAccess::Outputs => "read, and write these of it, where they exist; the first two are made:",
        ProjectAccess::ReadWrite => "read and write",
    };
    labelled(out, "the project", [project.to_owned()])?;
    labelled(out, "", list(plan.outputs.iter().map(|path| quoted(path))))?;
    if !plan.protect.is_empty() {
        labelled(out, "to protect", list(plan.protect.iter().map(|path| quoted(path))))?;
    }
    labelled(out, "network", [plan.network.to_string()])?;
    labelled(out, "unix sockets", [plan.unix_sockets.to_string()])?;
    write_tried(out, plan.mode, &plan.sandbox)
}

fn write_tried(out: &mut impl Write, mode: SandboxMode, tried: &Tried) -> io::Result<()> {
    match &tried.0 {
        Probed::Holds(enforcement) => {
            let held =
                features(enforcement).into_iter().map(|(feature, by)| format!("{} {by}", feature.name()));
            let level = format!("{mode};");
            let line = format!("here {}:", enforcement_line(enforcement));
            labelled(out, "sandbox", [level, line].into_iter().chain(list(held)))?;
            let unusable = enforcement.unusable.iter().map(|path| quoted(&path.to_string_lossy()));
            labelled(out, "out of reach", list(unusable))
        }
        Probed::Refused(_) => labelled(out, "sandbox", [format!("{mode}; here no run can start")]),
        Probed::Failed(problem) => {
            labelled(out, "sandbox", [format!("{mode}; can't be tried here: {problem}")])
        }
    }
}

fn write_limits(out: &mut impl Write, limits: &RunLimits) -> io::Result<()> {
    let time = |name: &str, limit: Option<u64>| match limit {
        Some(milliseconds) => format!("{name} {milliseconds} ms"),
        None => format!("{name} unlimited"),
    };
    let size = |name: &str, limit: Option<u64>, unit: &str| match limit {
        Some(number) => format!("{name} {number}{unit}"),
        None => format!("{name} unlimited"),
    };
    labelled(
        out,
        "limits",
        list([
            time("timeout", limits.timeout_ms),
            time("grace", limits.grace_ms),
            size("output tails", Some(limits.output_tail_bytes), " bytes"),
            size("open files", limits.open_files, ""),
            size("file size", limits.file_bytes, " bytes"),
            size("memory of a process", limits.memory_bytes_per_process, " bytes"),
        ]),
    )
}

fn write_read(out: &mut impl Write, plan: &ReadPlan) -> io::Result<()> {
    writeln!(out, "plan")?;
    for (index, readable) in plan.reads.iter().enumerate() {
        let what = match readable {
            Readable::Run { run_id: Some(run) } => {
                format!("the report of the run {}, if the server has it", quoted(run))
            }
            Readable::Run { run_id: None } => {
                "the report of the project's last run, if the server has one".to_owned()
            }
            Readable::File { path } => format!("{}, if it is later", quoted(path)),
        };
        labelled(out, if index == 0 { "reads" } else { "or" }, [what])?;
    }
    let (report, answer) = (plan.limits.report_bytes, plan.limits.answer_bytes);
    labelled(out, "limits", list([format!("report {report} bytes"), format!("answer {answer} bytes")]))
}

/// Text between quotes, so that it is seen where an argument begins and ends.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
