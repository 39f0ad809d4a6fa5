//! Which secrets are known, so that answers don't repeat them.
//!
//! In: a granted project, the server's environment, the policy's `env.redact`. Out: a [`Redactor`]. A courtesy and no
//! boundary: what a test encodes in another way passes.

use std::collections::BTreeMap;

use crate::{
    path::{RelPath, handle::EntryKind, project::ProjectDir},
    policy::{pattern::name::EnvName, rules::EnvRules, source::environment::Environment},
    server::answer::ToolError,
    text::redactor::Redactor,
};

/// So many bytes of `.env*` files are read in all; what is larger is left out.
const ENV_BYTES: u64 = 65_536;

/// Collects the secrets of one project.
///
/// # Errors
/// [`ToolError`] when they are too many to be searched for.
pub fn redactor(
    project: &ProjectDir,
    environment: &Environment,
    terms: &EnvRules,
    set: &BTreeMap<EnvName, String>,
) -> Result<Redactor, ToolError> {
    let mut secrets: Vec<(String, String)> = Vec::new();
    for (name, value) in environment.iter() {
        secrets.extend(
            name.to_str().zip(value.to_str()).map(|(name, value)| (name.to_owned(), value.to_owned())),
        );
    }
    secrets.extend(set.iter().map(|(name, value)| (name.to_string(), value.clone())));
    secrets.retain(|(name, _)| terms.redacts(name));
    secrets.extend(of_env_files(project));
    Redactor::new(secrets).map_err(|error| ToolError::internal(&error))
}

/// The values in the project's `.env*` files, whatever their names are.
///
/// Read without the substitutions that such files know: those make a file of a kilobyte one of any size, and the
/// written text is what stands in a file that a test prints.
fn of_env_files(project: &ProjectDir) -> Vec<(String, String)> {
    let mut values = Vec::new();
    let mut left = ENV_BYTES;
    for (name, kind) in project.dir().list(None).unwrap_or_default() {
        let path =
            name.to_str().filter(|name| name.starts_with(".env")).and_then(|name| RelPath::parse(name).ok());
        let Some(path) = path.filter(|_| kind == EntryKind::File) else { continue };
        let Ok(file) = project.dir().open_file(&path, left) else { continue };
        left = left.saturating_sub(file.bytes());
        values.extend(file.text().unwrap_or_default().lines().filter_map(assignment));
    }
    values
}

/// Reads `NAME=value`, `export NAME="value"`.
fn assignment(line: &str) -> Option<(String, String)> {
    let line = line.trim();
    let (name, value) = line.strip_prefix("export ").unwrap_or(line).split_once('=')?;
    let value = value.trim();
    let quoted = ['"', '\'', '`'].iter().find_map(|quote| value.strip_prefix(*quote)?.strip_suffix(*quote));
    (!name.starts_with('#')).then(|| (name.trim().to_owned(), quoted.unwrap_or(value).to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn assignments_are_read_as_written() {
        let table = [
            ("TOKEN=abc", Some(("TOKEN", "abc"))),
            ("export TOKEN = \"a b\"", Some(("TOKEN", "a b"))),
            ("A1=${A0}${A0}", Some(("A1", "${A0}${A0}"))),
            ("# TOKEN=abc", None),
            ("nothing", None),
        ];
        for (line, expected) in table {
            let expected = expected.map(|(name, value)| (name.to_owned(), value.to_owned()));
            assert_eq!(assignment(line), expected, "{line}");
        }
    }
}
