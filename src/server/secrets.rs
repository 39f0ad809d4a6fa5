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

/// A larger `.env` file, in bytes, is not read.
const ENV_FILE_BYTES: u64 = 65_536;

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
fn of_env_files(project: &ProjectDir) -> Vec<(String, String)> {
    let mut values = Vec::new();
    for (name, kind) in project.dir().list(None).unwrap_or_default() {
        let path =
            name.to_str().filter(|name| name.starts_with(".env")).and_then(|name| RelPath::parse(name).ok());
        let Some(path) = path.filter(|_| kind == EntryKind::File) else { continue };
        let Ok(file) = project.dir().open_file(&path, ENV_FILE_BYTES) else { continue };
        let pairs = dotenvy::from_read_iter(file.content());
        values.extend(pairs.flatten());
    }
    values
}
