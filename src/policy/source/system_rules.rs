//! What only a file of the system may say, what it may not, and what an exclusive one means where it says nothing.
//!
//! In: layers as written. Out: findings, and for an exclusive file the values of the strict sample in the place of
//! what is absent, so that no default of the built-in layer allows more. Combining is left to `compile`.

use crate::policy::confinement::{Network, ProjectAccess, SandboxMode, UnixSockets};
use crate::policy::diagnostic::{Diagnostic, DiagnosticCode};
use crate::policy::origin::Origin;
use crate::policy::source::{Layer, LayerSource, Role};

/// Says whether a layer of the system is itself the grant.
pub(in crate::policy) fn is_exclusive(layer: &Layer) -> bool {
    layer.exclusive.as_ref().is_some_and(|exclusive| exclusive.value)
}

/// Makes an exclusive file the grant that it is, and says what it may not grant.
pub(in crate::policy) fn grant(layer: &mut Layer) -> Vec<Diagnostic> {
    layer.summary.role = Role::Grant;
    let findings = inherits_all(layer);
    fill_in(layer);
    findings
}

/// Gives every absent key whose default would allow more than the strict sample the value that it has there.
fn fill_in(layer: &mut Layer) {
    let (dirs, env, sandbox) =
        (&mut layer.settings.dirs, &mut layer.settings.env, &mut layer.settings.sandbox);
    let absent = [
        ("dirs.allow", fill(&mut dirs.allow, Vec::new())),
        ("env.inherit", fill(&mut env.inherit, Vec::new())),
        ("sandbox.mode", fill(&mut sandbox.mode, SandboxMode::Require)),
        ("sandbox.project", fill(&mut sandbox.project, ProjectAccess::Outputs)),
        ("sandbox.network", fill(&mut sandbox.network, Network::None)),
        ("sandbox.unix_sockets", fill(&mut sandbox.unix_sockets, UnixSockets::Deny)),
    ];
    if let LayerSource::File { path, .. } = &layer.summary.source {
        for (key, _) in absent.into_iter().filter(|(_, filled)| *filled) {
            layer.places.insert(key.to_owned(), Origin::file(path));
        }
    }
}

/// Says whether the value was absent.
fn fill<T>(slot: &mut Option<T>, value: T) -> bool {
    let absent = slot.is_none();
    slot.get_or_insert(value);
    absent
}

fn inherits_all(layer: &Layer) -> Vec<Diagnostic> {
    let names = layer.settings.env.inherit.iter().flatten().enumerate();
    names
        .filter(|(_, name)| name.contains('*') && name.chars().all(|letter| letter == '*' || letter == '?'))
        .map(|(index, name)| {
            Diagnostic::error(
                DiagnosticCode::ExclusiveInheritsAll,
                layer.places.of_item("env.inherit", index),
                format!("`{name}` lets every variable of every user through to the tests"),
            )
            .key("env.inherit")
            .hint("name the variables that tests need")
        })
        .collect()
}

/// Refuses `exclusive` in a file that is not the system's.
pub(in crate::policy) fn no_system_file(layer: &Layer) -> Option<Diagnostic> {
    let exclusive = layer.exclusive.as_ref()?;
    Some(
        Diagnostic::error(
            DiagnosticCode::ExclusiveOutsideSystem,
            exclusive.origin.clone(),
            "only a file in `/etc/playwright-warden` can be exclusive",
        )
        .key("exclusive")
        .hint("take the line out, or let root put the file there"),
    )
}

/// Refuses paths that depend on where a server is started: whoever starts it would decide what they mean.
pub(in crate::policy) fn relative_paths(layer: &Layer) -> Vec<Diagnostic> {
    let set = &layer.settings;
    let lists = [
        ("dirs.allow", &set.dirs.allow),
        ("dirs.deny", &set.dirs.deny),
        ("sandbox.read", &set.sandbox.read),
        ("sandbox.write", &set.sandbox.write),
    ];
    let paths = lists.into_iter().flat_map(|(key, list)| {
        list.iter().flatten().enumerate().map(move |(index, path)| (key, index, path.as_str()))
    });
    let audit_file = set.audit.file.iter().map(|path| ("audit.file", 0, path.as_str()));
    // What is empty is refused for that.
    paths
        .chain(audit_file)
        .filter(|(_, _, path)| {
            !path.is_empty() && !path.starts_with('/') && *path != "~" && !path.starts_with("~/")
        })
        .map(|(key, index, path)| {
            Diagnostic::error(
                DiagnosticCode::RelativePathInSystemPolicy,
                layer.places.of_item(key, index),
                format!("`{path}` would depend on the directory that a server is started in"),
            )
            .key(key)
            .hint("write an absolute path, or one of the user's home that starts with `~/`")
        })
        .collect()
}
