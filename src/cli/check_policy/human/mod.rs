//! All that is told, for a person who has two minutes.
//!
//! In: what was examined. Out: text in columns. Findings are shown by `policy::excerpt`, on standard error.

mod call;
mod columns;
mod place;

use std::io::{self, Write};

use crate::{
    cli::check_policy::{
        Examined, Expectations,
        human::{
            columns::{entry, list},
            place::Places,
        },
        sinks::SinkAnswer,
        tried::Tried,
    },
    digest::shortened,
    policy::{
        Policy,
        confinement::ProjectAccess,
        diagnostic::Severity,
        effective::{Effective, effective},
        origin::{Origin, Sourced},
        source::{LayerSource, LayerSummary, Role, Scope, file::FileFacts},
    },
    runner::probe::Probed,
    sandbox::{Enforcement, Feature},
};

/// Writes the answer.
///
/// # Errors
/// When it can't be written.
pub(super) fn write(out: &mut impl Write, examined: &Examined) -> io::Result<()> {
    let loaded = &examined.loaded;
    let places = Places::of(&loaded.layers);
    if !loaded.layers.is_empty() {
        writeln!(out, "layers     (the first grants, the others only take away)")?;
    }
    let facts: Vec<String> = loaded.layers.iter().map(layer_facts).collect();
    let widest = facts.iter().map(|facts| facts.chars().count()).max().unwrap_or_default();
    for (layer, facts) in loaded.layers.iter().zip(&facts) {
        // Of one width, so that they begin in one column.
        write_layer(out, layer, &format!("{facts:<widest$}"))?;
    }
    if let Some(policy) = &loaded.policy {
        write_effective(out, policy, &places)?;
    }
    if let (Some(policy), Some(tried)) = (&loaded.policy, &examined.sandbox) {
        write_sandbox(out, policy, tried)?;
        write_sinks(out, &examined.sinks)?;
    }
    if let Some(Expectations { count: count @ 1.., failed }) = examined.expectations {
        writeln!(out, "expect     {} of {count} calls decided as the policy expects", count - failed)?;
    }
    match &examined.call {
        Some(Ok(answer)) => {
            writeln!(out)?;
            call::write(out, answer, &places)?;
        }
        Some(Err(problem)) => {
            writeln!(out)?;
            entry(out, "INVALID  ", std::slice::from_ref(problem), "")?;
        }
        None => {}
    }
    let count = |severity, word: &str| match examined.count(severity) {
        1 => format!("1 {word}"),
        number => format!("{number} {word}s"),
    };
    let here = match loaded.diagnostics.iter().filter(|finding| finding.code.is_found_here()).count() {
        0 => String::new(),
        number => format!("; of these about this system: {number}"),
    };
    writeln!(out, "\n{}, {}{here}", count(Severity::Error, "error"), count(Severity::Warning, "warning"))
}

fn write_layer(out: &mut impl Write, layer: &LayerSummary, facts: &str) -> io::Result<()> {
    let role = match layer.role {
        Role::Grant => "grant",
        Role::Limit => "limit",
    };
    let source = match &layer.source {
        LayerSource::File { path, .. } => path.display().to_string(),
        LayerSource::Environment => {
            "environment (PW_ALLOWED_DIRS, PW_ALLOWED_ENV, PW_RESULTS_FILE)".to_owned()
        }
        LayerSource::Builtin => "built-in defaults".to_owned(),
    };
    entry(out, &format!("  {role}  "), &[source], facts)
}

/// Whose a file is, and what was found out about it, if anything.
fn layer_facts(layer: &LayerSummary) -> String {
    let LayerSource::File { facts, scope, .. } = &layer.source else { return String::new() };
    let exclusive = match (scope, layer.role) {
        (Scope::System, Role::Grant) => "exclusive ",
        (Scope::System | Scope::User | Scope::Named, Role::Grant | Role::Limit) => "",
    };
    let facts = facts.as_ref().map(|facts| format!(", {}", facts_line(facts)));
    format!("{exclusive}{}{}", scope.as_str(), facts.unwrap_or_default())
}

fn facts_line(facts: &FileFacts) -> String {
    let owner = nix::unistd::User::from_uid(nix::unistd::Uid::from_raw(facts.owner_uid)).ok().flatten();
    let owner = owner.map_or_else(|| "uid".to_owned(), |user| user.name);
    format!("{owner} ({}) {:04o} sha256 {}", facts.owner_uid, facts.mode, shortened(&facts.sha256))
}

fn write_effective(out: &mut impl Write, policy: &Policy, places: &Places) -> io::Result<()> {
    let hash = shortened(&policy.hash());
    writeln!(out, "effective  (what stands without a place is a default)  sha256 {hash}")?;
    let mut table = String::new();
    for row in effective(policy) {
        let (of, key) = row.key.split_once('.').unwrap_or(("environment", &row.key));
        if of != table {
            of.clone_into(&mut table);
            writeln!(out, "  {of}")?;
        }
        let access = policy.sandbox().project().value;
        let in_force = match row.key.as_str() {
            "sandbox.outputs" => access == ProjectAccess::Outputs,
            "sandbox.protect" => access == ProjectAccess::ReadWrite,
            _ => true,
        };
        if in_force {
            write_row(out, key, &row, places)?;
        } else {
            let words = format!("not in force under project = \"{access}\"");
            entry(out, &key_label(key), &[words], "")?;
        }
    }
    Ok(())
}

fn key_label(key: &str) -> String {
    format!("    {key:<26}")
}

fn write_row(out: &mut impl Write, key: &str, row: &Effective, places: &Places) -> io::Result<()> {
    for (index, entries) in row.lists.iter().enumerate() {
        let name = if index == 0 { key } else { "  and within" };
        let mut label = key_label(name);
        if entries.is_empty() {
            let place = row.sources.get(index).map(|origin| places.short(origin)).unwrap_or_default();
            entry(out, &label, &["nothing".to_owned()], &place)?;
        }
        for together in entries.chunk_by(|one, other| is_one_line(&one.origin, &other.origin)) {
            let place = together.first().map(|first| places.of_several(&first.origin, together.len()));
            let words = list(together.iter().map(|Sourced { value, .. }| value.clone()));
            entry(out, &label, &words, &place.unwrap_or_default())?;
            label = " ".repeat(label.chars().count());
        }
    }
    Ok(())
}

/// Whether two entries stand so near that one place tells both.
fn is_one_line(one: &Origin, other: &Origin) -> bool {
    match (one, other) {
        (Origin::File { path, span: Some(span) }, Origin::File { path: other, span: Some(next) }) => {
            path == other && span.start.line == next.start.line
        }
        (Origin::Variable { name, .. }, Origin::Variable { name: other, .. }) => name == other,
        (Origin::Builtin, Origin::Builtin) => true,
        (Origin::File { .. } | Origin::Variable { .. } | Origin::Builtin, _) => false,
    }
}

fn write_sandbox(out: &mut impl Write, policy: &Policy, tried: &Tried) -> io::Result<()> {
    let asked = policy.sandbox().mode().value;
    match &tried.0 {
        Probed::Holds(enforcement) => {
            writeln!(out, "sandbox    asked: {asked}; here: {}", enforcement_line(enforcement))?;
            for (feature, by) in features(enforcement) {
                entry(out, &format!("    {:<26}", feature.name()), &[by], "")?;
            }
            Ok(())
        }
        Probed::Refused(refusal) => {
            writeln!(out, "sandbox    asked: {asked}; here: no run can start")?;
            entry(out, "    ", std::slice::from_ref(&refusal.message), "")
        }
        Probed::Failed(problem) => {
            writeln!(out, "sandbox    asked: {asked}; here: can't be tried")?;
            entry(out, "    ", std::slice::from_ref(problem), "")
        }
    }
}

fn enforcement_line(enforcement: &Enforcement) -> String {
    let abi = enforcement.landlock_abi.map(|abi| format!(" (Landlock ABI {abi})")).unwrap_or_default();
    format!("{}{abi}", enforcement.level.name())
}

/// Each feature that was asked, with the layers that enforce it.
fn features(enforcement: &Enforcement) -> Vec<(Feature, String)> {
    let mut asked: Vec<Feature> = enforcement.enforced.iter().map(|(feature, _)| *feature).collect();
    asked.extend(&enforcement.missing);
    asked.sort_unstable();
    asked.dedup();
    let by = |feature: &Feature| {
        let layers = enforcement.enforced.iter().filter(|(enforced, _)| enforced == feature);
        layers.map(|(_, by)| by.name()).collect::<Vec<_>>().join(" and ")
    };
    asked
        .into_iter()
        .map(|feature| (feature, Some(by(&feature)).filter(|by| !by.is_empty())))
        .map(|(feature, by)| (feature, by.map_or("missing".to_owned(), |by| format!("by {by}"))))
        .collect()
}

fn write_sinks(out: &mut impl Write, sinks: &[SinkAnswer]) -> io::Result<()> {
    if sinks.is_empty() {
        return writeln!(out, "audit      no sink: decisions are not written down");
    }
    writeln!(out, "audit")?;
    for sink in sinks {
        let words = [sink.path.clone(), Some(sink.state.clone())];
        entry(out, &format!("    {:<26}", sink.sink), &list(words.into_iter().flatten()), "")?;
    }
    Ok(())
}
