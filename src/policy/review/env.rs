//! Variables: those that the tests see, and those that a call may set.
//!
//! In: `[env]`, beside the fixed denylist. Out: findings.

use crate::policy::decision::variables::value_problem;
use crate::policy::denylist::{
    ALWAYS_INHERITED, DeniedBecause, Rule, never_inherited, verdict, verdict_on_part, verdict_on_start,
};
use crate::policy::diagnostic::{Diagnostic, DiagnosticCode};
use crate::policy::origin::Sourced;
use crate::policy::pattern::name::NamePattern;
use crate::policy::review::Review;

impl Review<'_> {
    pub(super) fn inherited(&self) -> Vec<Diagnostic> {
        let env = self.policy.env();
        let mut findings = Vec::new();
        if let Some(everything) =
            env.inherit().admits(NamePattern::fits_most_names).ok().and_then(|all| all.into_iter().next())
        {
            findings.push(
                Diagnostic::warning(
                    DiagnosticCode::EnvInheritAll,
                    everything.origin.clone(),
                    "the tests see every variable of the server that is not withheld",
                )
                .key("env.inherit")
                .hint(
                    "write `inherit = [\"CI\", \"E2E_*\"]` under `[env]`, with the names that the tests need; PATH, LANG, \
                     TZ and TERM always pass",
                ),
            );
        }
        let entries = env.inherit().lists().flat_map(|list| &list.entries);
        findings.extend(entries.filter_map(|entry| self.not_inherited(entry)));
        findings
    }

    /// A name that is inherited here and withheld elsewhere.
    fn not_inherited(&self, entry: &Sourced<NamePattern>) -> Option<Diagnostic> {
        let warning = |code, summary: String| {
            Diagnostic::warning(code, entry.origin.clone(), summary).key("env.inherit")
        };
        if let Some(why) = entry.value.literal().and_then(never_inherited) {
            return Some(
                warning(DiagnosticCode::NoEffect, format!("the tests never see `{}`", entry.value))
                    .label(format!("it {why}"))
                    .hint("take it out"),
            );
        }
        // Withholding it is what has no effect.
        if entry.value.literal().is_some_and(|name| ALWAYS_INHERITED.contains(&name)) {
            return None;
        }
        let withheld = self.policy.env().withhold().denies(|withhold| withhold.covers(&entry.value))?;
        Some(
            warning(
                DiagnosticCode::ShadowedByDeny,
                format!("`{}` is withheld, so the tests do not see it", entry.value),
            )
            .label(format!("withheld by `{}` ({})", withheld.value, withheld.origin))
            .hint(
                "take it out here; or, if tests need it, write an `env.withhold` without it: a list of your own takes \
                 the place of the default",
            ),
        )
    }

    /// Names that pass whatever is withheld.
    pub(super) fn withheld(&self) -> Vec<Diagnostic> {
        let entries = self.policy.env().withhold().entries().iter();
        let passing = entries
            .filter(|entry| entry.value.literal().is_some_and(|name| ALWAYS_INHERITED.contains(&name)));
        passing
            .map(|entry| {
                Diagnostic::warning(
                    DiagnosticCode::NoEffect,
                    entry.origin.clone(),
                    format!("`{}` always passes, so this withholds nothing", entry.value),
                )
                .key("env.withhold")
                .hint("take it out: no program starts well without PATH, LANG, TZ and TERM")
            })
            .collect()
    }

    pub(super) fn settable(&self) -> Vec<Diagnostic> {
        let env = self.policy.env();
        let mut findings = Vec::new();
        if let Ok(wide) = env.allow().admits(NamePattern::fits_most_names) {
            findings.extend(wide.first().map(|wide| {
                Diagnostic::warning(
                    DiagnosticCode::EnvWildcard,
                    wide.origin.clone(),
                    "a call may set nearly any variable that is not on the fixed denylist",
                )
                .key("env.allow")
                .hint("write `allow = [\"BASE_URL\", \"TEST_*\"]` under `[env]`, with the names that your tests read")
            }));
        }
        findings.extend(env.allow().lists().flat_map(|list| &list.entries).filter_map(denied_name));
        findings.extend(self.values_of_no_use());
        findings.extend(self.impossible_values());
        findings
    }

    /// Values that the fixed rules refuse whatever the policy says.
    fn impossible_values(&self) -> Vec<Diagnostic> {
        let values = self.policy.env().values().iter();
        let entries = values.flat_map(|(name, values)| {
            values.lists().flat_map(|list| &list.entries).map(move |entry| (name, entry))
        });
        entries
            .filter_map(|(name, entry)| {
                let problem = value_problem(name.as_str(), &entry.value)?;
                let summary = format!("no call can give `{name}` this value: it {problem}");
                Some(
                    Diagnostic::warning(DiagnosticCode::NoEffect, entry.origin.clone(), summary)
                        .key(&format!("env.values.{name}"))
                        .hint("take it out, or write another"),
                )
            })
            .collect()
    }

    /// `env.values` says to what a call may set a variable, not that it may.
    fn values_of_no_use(&self) -> Vec<Diagnostic> {
        let env = self.policy.env();
        let names =
            env.values().iter().flat_map(|(name, values)| values.lists().map(move |list| (name, list)));
        names
            .filter_map(|(name, list)| {
                let key = format!("env.values.{name}");
                if let Some(because) = verdict(name.as_str()) {
                    let summary = format!("`{name}` can never be set by a call");
                    return Some(
                        Diagnostic::warning(DiagnosticCode::EnvNameDenied, list.key.clone(), summary)
                            .key(&key)
                            .label(because.to_string())
                            .hint("take it out"),
                    );
                }
                let lacking = env.allow().admits(|pattern| pattern.matches(name.as_str())).err()?;
                Some(
                    Diagnostic::warning(
                        DiagnosticCode::NoEffect,
                        list.key.clone(),
                        format!("no call may set `{name}`, so its values have no effect"),
                    )
                    .key(&key)
                    .label(format!("`env.allow` does not name it ({lacking})"))
                    .hint(format!("add `\"{name}\"` to `env.allow`, or take its values out")),
                )
            })
            .collect()
    }
}

fn denied_name(entry: &Sourced<NamePattern>) -> Option<Diagnostic> {
    let pattern = &entry.value;
    let (because, subject) = match pattern.literal() {
        Some(name) => (verdict(name)?, format!("`{name}` can never be set by a call")),
        None => (
            verdict_on_start(pattern.fixed_part())
                .or_else(|| pattern.fixed_parts().find_map(verdict_on_part))?,
            format!("nothing that fits `{pattern}` can be set by a call"),
        ),
    };
    Some(
        Diagnostic::warning(DiagnosticCode::EnvNameDenied, entry.origin.clone(), subject)
            .key("env.allow")
            .label(because.to_string())
            .hint(instead(&because)),
    )
}

fn instead(because: &DeniedBecause) -> &'static str {
    match because.rule {
        Rule::Part => {
            "take it out: a call would tell the secret to the agent; start the server with it, and name it in \
             `env.inherit`"
        }
        Rule::Name | Rule::Prefix => {
            "take it out; what the tests need of it is inherited from the server's environment"
        }
    }
}
