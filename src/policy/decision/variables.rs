//! The variables that a call sets: first what no policy can lift, then what the policy allows.

use std::collections::BTreeMap;

use crate::{
    policy::{
        combine::AllowList,
        decision::checks::{Checks, Denial},
        denylist,
        origin::Origin,
        pattern::name::EnvName,
        rules::EnvRules,
    },
    text::visible::visible,
};

/// So many variables a call may set.
const VARIABLES: usize = 16;
/// So many characters a value may have.
const VALUE_CHARACTERS: usize = 256;
/// The rules that are built in.
const BUILTIN: &str = "builtin.env";

/// Judges the variables of a call; no message repeats a value.
pub(super) fn judge(
    rules: &EnvRules,
    asked: &BTreeMap<String, String>,
    checks: &mut Checks,
) -> Result<BTreeMap<EnvName, String>, Denial> {
    let mut builtin = |subject: &str, message: String| {
        checks.fail(Denial::explicit(BUILTIN, &Origin::Builtin, subject, message))
    };
    if asked.len() > VARIABLES {
        let message = format!("`env` has {} variables, and {VARIABLES} are the most", asked.len());
        return Err(builtin("env", message));
    }
    let mut names = BTreeMap::new();
    for (name, value) in asked {
        let shown = visible(&name.chars().take(64).collect::<String>());
        let Ok(parsed) = EnvName::parse(name) else {
            return Err(builtin(&shown, format!("`{shown}` is no name of an environment variable")));
        };
        if let Some(because) = denylist::verdict(name) {
            return Err(builtin(&shown, format!("`{shown}` can never be set by a call: {}", because.why)));
        }
        if let Some(problem) = value_problem(name, value) {
            return Err(builtin(&shown, format!("the value of `{shown}` {problem}")));
        }
        names.insert(parsed, value.clone());
    }
    let subject = names.keys().map(EnvName::as_str).collect::<Vec<_>>().join(", ");
    checks.pass(BUILTIN, vec![Origin::Builtin], &subject);
    judge_names(rules, &names, &subject, checks)?;
    judge_values(rules, &names, &subject, checks)?;
    Ok(names)
}

/// Judges which variables are set, by `env.allow`.
fn judge_names(
    rules: &EnvRules,
    names: &BTreeMap<EnvName, String>,
    subject: &str,
    checks: &mut Checks,
) -> Result<(), Denial> {
    let allowed = rules.allow();
    let mut origins = Vec::new();
    for name in names.keys() {
        let granted = allowed.admits(|pattern| pattern.matches(name.as_str())).map_err(|layer| {
            let message = format!("`{name}` may not be set by a call");
            let denial = Denial::implicit("env.allow", layer, name.as_str(), message);
            checks.fail(denial.permitting(listed(allowed, layer)))
        })?;
        origins.extend(granted.iter().map(|entry| entry.origin.clone()));
    }
    if origins.is_empty() {
        origins.push(allowed.granted().key.clone());
    }
    checks.pass("env.allow", origins, subject);
    Ok(())
}

/// Judges what they are set to, by `env.values`; a variable that it does not name may have any value.
fn judge_values(
    rules: &EnvRules,
    names: &BTreeMap<EnvName, String>,
    subject: &str,
    checks: &mut Checks,
) -> Result<(), Denial> {
    let mut origins = Vec::new();
    for (name, value) in names {
        let Some(values) = rules.values_of(name) else { continue };
        let granted = values.admits(|permitted| permitted == value).map_err(|layer| {
            let message = format!("this value of `{name}` is not allowed");
            let denial = Denial::implicit("env.values", layer, name.as_str(), message);
            checks.fail(denial.permitting(listed(values, layer)))
        })?;
        origins.extend(granted.iter().map(|entry| entry.origin.clone()));
    }
    checks.pass("env.values", origins, subject);
    Ok(())
}

/// What the layer that did not allow it would allow.
fn listed<T: std::fmt::Display>(list: &AllowList<T>, layer: &Origin) -> String {
    let narrow = list.lists().find(|list| list.key == *layer).unwrap_or(list.granted());
    match narrow.entries.as_slice() {
        [] => "none".to_owned(),
        some => some.iter().map(|entry| format!("`{}`", entry.value)).collect::<Vec<_>>().join(", "),
    }
}

/// A shell reads the file that `ENV` names, so its value is a bare word.
pub(in crate::policy) fn value_problem(name: &str, value: &str) -> Option<String> {
    if value.chars().count() > VALUE_CHARACTERS {
        return Some(format!("has more than {VALUE_CHARACTERS} characters"));
    }
    if value.chars().any(char::is_control) {
        return Some("holds a control character".to_owned());
    }
    let word = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    if name == "ENV" && (value.is_empty() || !value.bytes().all(word)) {
        return Some("may hold only letters, digits, `.`, `_` and `-`".to_owned());
    }
    None
}
