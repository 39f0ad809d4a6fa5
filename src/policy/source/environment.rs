//! The process environment: read once, and the part of it that is policy.
//!
//! In: the variables that the server was started with. Out: [`Environment`], kept for the environments of runs, and
//! the layer that `PW_ALLOWED_DIRS`, `PW_ALLOWED_ENV` and `PW_RESULTS_FILE` make. Which variables a run sees is left
//! to the policy's `[env]`.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use crate::policy::diagnostic::{Diagnostic, DiagnosticCode};
use crate::policy::origin::{Origin, Sourced};
use crate::policy::source::written::Written;

/// Directories whose projects may be run, separated by `:`.
pub const ALLOWED_DIRS: &str = "PW_ALLOWED_DIRS";
/// Names of variables that a call may set, separated by commas or spaces.
pub const ALLOWED_ENV: &str = "PW_ALLOWED_ENV";
/// The report that every call reads.
pub const RESULTS_FILE: &str = "PW_RESULTS_FILE";
/// The policy file.
pub const POLICY_FILE: &str = "PW_POLICY_FILE";

/// All variables of ours.
pub const OURS: &[&str] = &[ALLOWED_DIRS, ALLOWED_ENV, RESULTS_FILE, POLICY_FILE];

/// The most changed letters of a name that is still taken for one of ours.
const NEAR: usize = 3;

/// A snapshot of environment variables.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Environment {
    variables: BTreeMap<OsString, OsString>,
}

impl Environment {
    /// Takes a snapshot of this process.
    #[must_use]
    #[expect(clippy::disallowed_methods, reason = "this is the one place that reads the environment")]
    pub fn of_this_process() -> Self {
        std::env::vars_os().collect()
    }

    /// Gives a variable's value.
    pub fn get(&self, name: &str) -> Option<&OsStr> {
        self.variables.get(OsStr::new(name)).map(OsString::as_os_str)
    }

    /// Gives all variables, ordered by name.
    pub fn iter(&self) -> impl Iterator<Item = (&OsStr, &OsStr)> {
        self.variables.iter().map(|(name, value)| (name.as_os_str(), value.as_os_str()))
    }

    /// A variable of ours; an empty one says as little as one that is not set.
    fn ours(&self, name: &str) -> Option<&OsStr> {
        self.get(name).filter(|value| !value.is_empty())
    }

    /// The policy file that the environment names.
    pub(in crate::policy::source) fn policy_file(&self) -> Option<PathBuf> {
        self.ours(POLICY_FILE).map(PathBuf::from)
    }
}

impl<N: Into<OsString>, V: Into<OsString>> FromIterator<(N, V)> for Environment {
    fn from_iter<I: IntoIterator<Item = (N, V)>>(variables: I) -> Self {
        Self { variables: variables.into_iter().map(|(name, value)| (name.into(), value.into())).collect() }
    }
}

/// What the environment says as a source of policy.
#[derive(Debug, Default)]
pub struct EnvironmentSource {
    /// The values; `None` where no variable of ours is set.
    pub written: Option<Written>,
    /// `PW_RESULTS_FILE`, as it was written.
    pub results_file: Option<Sourced<PathBuf>>,
    /// What is wrong with it.
    pub findings: Vec<Diagnostic>,
}

/// Reads the variables of ours.
pub fn read(environment: &Environment) -> EnvironmentSource {
    let mut source = EnvironmentSource { findings: near_misses(environment), ..EnvironmentSource::default() };
    let mut written = Written::default();
    let mut present = false;
    if let Some(value) = environment.ours(ALLOWED_DIRS) {
        let dirs = items(ALLOWED_DIRS, value, |byte| byte == b':', &mut source.findings);
        written.set_words("dirs", "allow", Origin::variable(ALLOWED_DIRS), dirs);
        present = true;
    }
    if let Some(value) = environment.ours(ALLOWED_ENV) {
        let separator = |byte: u8| byte == b',' || byte.is_ascii_whitespace();
        let names = items(ALLOWED_ENV, value, separator, &mut source.findings);
        written.set_words("env", "allow", Origin::variable(ALLOWED_ENV), names);
        present = true;
    }
    if let Some(value) = environment.ours(RESULTS_FILE) {
        source.results_file = Some(Sourced::new(value.into(), Origin::variable(RESULTS_FILE)));
        present = true;
    }
    source.written = present.then_some(written);
    source
}

/// Splits a variable; empty items are dropped, and the others counted from 1.
fn items(
    name: &str,
    value: &OsStr,
    separator: impl Fn(u8) -> bool,
    findings: &mut Vec<Diagnostic>,
) -> Vec<(String, Origin)> {
    let mut items = Vec::new();
    let parts = value.as_bytes().split(|byte| separator(*byte)).filter(|part| !part.is_empty());
    for (index, part) in parts.enumerate() {
        let origin = Origin::variable_item(name, index + 1);
        match std::str::from_utf8(part) {
            Ok(text) => items.push((text.to_owned(), origin)),
            Err(_) => findings.push(
                Diagnostic::error(
                    DiagnosticCode::NotUtf8,
                    origin,
                    format!("an item of `{name}` is not UTF-8"),
                )
                .hint("name a directory above it, whose name is UTF-8"),
            ),
        }
    }
    items
}

fn near_misses(environment: &Environment) -> Vec<Diagnostic> {
    let names = environment.iter().filter_map(|(name, _)| name.to_str());
    let strangers = names.filter(|name| name.to_ascii_uppercase().starts_with("PW_") && !OURS.contains(name));
    strangers
        .filter_map(|name| {
            let near = OURS
                .iter()
                .map(|ours| (strsim::osa_distance(&name.to_ascii_uppercase(), ours), ours))
                .filter(|(distance, _)| *distance <= NEAR)
                .min()?
                .1;
            Some(
                Diagnostic::warning(
                    DiagnosticCode::UnknownVariable,
                    Origin::variable(name),
                    format!("`{name}` is no variable of this server, and says nothing"),
                )
                .hint(format!("did you mean `{near}`?")),
            )
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;
    use std::os::unix::ffi::OsStringExt;

    use super::{Environment, read};

    fn settings(name: &str, value: &str) -> Option<crate::policy::source::settings::Settings> {
        let environment: Environment = [(name, value)].into_iter().collect();
        read(&environment).written.map(|written| written.settings().unwrap())
    }

    #[test]
    fn variables_are_lists_without_empty_items() {
        let words = |words: &[&str]| Some(words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>());
        let rows = [
            ("two", "a:/b c", Some(words(&["a", "/b c"]))),
            ("empty items", "::/etc:", Some(words(&["/etc"]))),
            ("only a separator allows nothing", ":", Some(words(&[]))),
            ("nothing says nothing", "", None),
            ("a number is a name", "123", Some(words(&["123"]))),
        ];
        for (name, value, expected) in rows {
            assert_eq!(
                settings("PW_ALLOWED_DIRS", value).map(|settings| settings.dirs.allow),
                expected,
                "{name}"
            );
        }
        let names = settings("PW_ALLOWED_ENV", "A, B C,,").unwrap().env.allow;
        assert_eq!(names, words(&["A", "B", "C"]));
    }

    #[test]
    fn items_are_counted_from_one() {
        let environment: Environment = [("PW_ALLOWED_DIRS", ":a::b")].into_iter().collect();
        let written = read(&environment).written.unwrap();
        assert_eq!(written.places.of_item("dirs.allow", 1).to_string(), "PW_ALLOWED_DIRS item 2");
    }

    #[test]
    fn item_that_is_not_utf8_is_an_error() {
        let environment: Environment =
            [(OsString::from("PW_ALLOWED_DIRS"), OsString::from_vec(b"/a:/\xff".to_vec()))]
                .into_iter()
                .collect();
        let findings = read(&environment).findings;
        assert_eq!(findings.len(), 1);
        assert_eq!(findings[0].origin.to_string(), "PW_ALLOWED_DIRS item 2");
    }

    #[test]
    fn names_nearly_ours_are_told() {
        let rows = [
            ("PW_ALLOWED_DIR", true),
            ("PW_ALLOW_DIRS", true),
            ("pw_allowed_dirs", true),
            ("PW_RESULT_FILE", true),
            ("PW_TEST_REPORTER", false),
            ("PW_ALLOWED_DIRS", false),
            ("ALLOWED_DIRS", false),
        ];
        for (name, told) in rows {
            let environment: Environment = [(name, "x")].into_iter().collect();
            assert_eq!(!read(&environment).findings.is_empty(), told, "{name}");
        }
    }
}
