//! What a reviewer would ask about a policy whose entries are right.
//!
//! In: a compiled policy and the inputs that it was made from. Out: warnings, and errors for what is allowed by
//! nobody's decision or can't hold. A policy that does what each hint says is silent.

use std::path::{Path, PathBuf};

use crate::policy::Policy;
use crate::policy::combine::LayerList;
use crate::policy::confinement::SandboxMode;
use crate::policy::diagnostic::{Diagnostic, DiagnosticCode, Severity};
use crate::policy::origin::{Origin, Sourced};
use crate::policy::pattern::path_glob::{PathBase, PathGlob};
use crate::policy::source::Inputs;

mod audit;
mod denies;
mod dirs;
mod env;
mod found;
mod no_effect;
mod own_files;
mod sandbox;
mod trees;

/// Looks over a policy, in the order of the example policy.
pub(in crate::policy) fn review(policy: &Policy, base: &PathBase, inputs: &Inputs) -> Vec<Diagnostic> {
    let review = Review { policy, base, inputs };
    let mut findings = Vec::new();
    findings.extend(review.implicit_dir());
    findings.extend(review.results_file());
    findings.extend(review.wide_dirs());
    findings.extend(review.dirs_as_they_are());
    findings.extend(review.denied_dirs());
    // What is denied whole may be missing or not.
    let denied = origins_of(&findings, |code| code == DiagnosticCode::ShadowedByDeny);
    findings.retain(|finding| {
        let absent = matches!(finding.code, DiagnosticCode::DirMissing | DiagnosticCode::GlobMatchesNothing);
        !(absent && denied.contains(&finding.origin))
    });
    findings.extend(review.tools_of_later());
    findings.extend(review.inherited());
    findings.extend(review.withheld());
    findings.extend(review.settable());
    findings.extend(review.unlimited());
    findings.extend(review.too_small());
    findings.extend(review.sandbox());
    findings.extend(review.trees());
    // Of an entry that has another fault, that is enough.
    let at_fault = origins_of(&findings, |_| true);
    findings.extend(review.taken_away().into_iter().filter(|finding| !at_fault.contains(&finding.origin)));
    findings.extend(review.audit());
    findings.extend(review.audit_continues());
    findings.extend(review.own_files());
    findings
}

fn origins_of(findings: &[Diagnostic], is_meant: impl Fn(DiagnosticCode) -> bool) -> Vec<Origin> {
    let meant = findings.iter().filter(|finding| is_meant(finding.code));
    meant.map(|finding| finding.origin.clone()).collect()
}

/// What Node and a browser need at the very least; less ends each run before its first test.
const ENOUGH: &[(&str, u64)] = &[("open_files", 64)];

struct Review<'a> {
    policy: &'a Policy,
    base: &'a PathBase,
    inputs: &'a Inputs,
}

/// A directory that holds more than projects.
struct Wide {
    code: DiagnosticCode,
    what: &'static str,
}

impl Review<'_> {
    fn allowing(&self) -> &LayerList<PathGlob> {
        self.policy.dirs().allow().granted()
    }

    /// Says whether every layer allows a directory, whatever is denied in it.
    fn is_granted(&self, dir: &Path) -> bool {
        self.policy.dirs().allow().admits(|glob| glob.matches(dir).is_some()).is_ok()
    }

    /// The severity of what can't hold: under `require` an error.
    fn unless_held(&self) -> Severity {
        match self.policy.sandbox().mode().value {
            SandboxMode::Require => Severity::Error,
            SandboxMode::BestEffort | SandboxMode::Off => Severity::Warning,
        }
    }

    /// Says which wide directory this is, if it is one.
    fn width_of(&self, dir: &Path) -> Option<Wide> {
        let home = self.base.home.as_deref();
        let wide = |code, what| Some(Wide { code, what });
        if dir.parent().is_none() {
            wide(DiagnosticCode::DirIsRoot, "the whole file system")
        } else if home == Some(dir) || dir == Path::new("/root") || dir.parent() == Some(Path::new("/home")) {
            wide(DiagnosticCode::DirIsHome, "a whole home directory")
        } else if dir == Path::new("/home") || home.is_some_and(|home| home.starts_with(dir)) {
            wide(DiagnosticCode::DirAboveHome, "a directory that holds homes")
        } else {
            None
        }
    }

    /// Bounds under which nothing can run.
    fn too_small(&self) -> Vec<Diagnostic> {
        let rows = self.policy.limits().rows().into_iter();
        rows.filter_map(|(key, set)| {
            let (_, enough) = ENOUGH.iter().find(|(name, _)| *name == key)?;
            let bound = set.value.bound()?;
            (bound < *enough).then(|| {
                let summary = format!("no run gets by with `{key}` at {bound}");
                Diagnostic::warning(DiagnosticCode::LimitTooSmall, set.origin, summary)
                    .key(&format!("limits.{key}"))
                    .hint(format!("take it out for the default, or allow {enough} and more"))
            })
        })
        .collect()
    }

    /// Bounds that somebody took away.
    fn unlimited(&self) -> Vec<Diagnostic> {
        use crate::policy::limits::{Limit, Limits};
        let defaults = Limits::combine(|_, default| Sourced::builtin(default)).rows();
        let rows = self.policy.limits().rows().into_iter().zip(defaults);
        rows.filter(|((_, set), (_, default))| {
            set.value == Limit::Unlimited && default.value != Limit::Unlimited
        })
        .map(|((key, set), (_, default))| {
            Diagnostic::warning(
                DiagnosticCode::LimitUnlimited,
                set.origin,
                format!("nothing bounds `{key}`, where the default does"),
            )
            .key(&format!("limits.{key}"))
            .hint(format!("write `{key} = {}`, which is the default, or what you need", default.value))
        })
        .collect()
    }
}

/// Names a directory as an entry of a list does: a TOML string, its wildcards taken as they are.
fn entry(dir: &Path) -> String {
    let mut shown = String::from("\"");
    for character in dir.to_string_lossy().chars() {
        match character {
            '\\' => shown.push_str("\\\\\\\\"),
            '*' | '?' | '[' | ']' | '{' | '}' => shown.extend(['\\', '\\', character]),
            '"' => shown.push_str("\\\""),
            _ => shown.push(character),
        }
    }
    shown.push('"');
    shown
}

/// A path that does not lead anywhere.
fn missing(key: &str, origin: &Origin, path: &Path) -> Diagnostic {
    Diagnostic::warning(
        DiagnosticCode::DirMissing,
        origin.clone(),
        format!("`{}` does not exist, or can't be seen", path.display()),
    )
    .key(key)
    .hint("correct the path, or take it out")
}

/// The paths of a list that lie beneath `home`.
fn beneath<'p>(home: Option<&'p PathBuf>, parts: &'p [&str]) -> impl Iterator<Item = PathBuf> + 'p {
    home.into_iter().flat_map(|home| parts.iter().map(|part| home.join(part)))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::entry;

    #[test]
    fn directory_is_named_as_a_file_would() {
        let rows = [
            ("/srv/shop", r#""/srv/shop""#),
            ("/srv/my[app]", r#""/srv/my\\[app\\]""#),
            (r#"/a"b\c"#, r#""/a\"b\\\\c""#),
        ];
        for (dir, expected) in rows {
            assert_eq!(entry(Path::new(dir)), expected);
        }
    }
}
