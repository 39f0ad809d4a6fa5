//! What the sandbox refused, read from the errors that tests got, as hints that name the policy key.
//!
//! In: texts of failures and outputs, and the plan they ran under. Out: hints. A guess from words, to help; what really
//! held stands in the `Enforcement`.

use std::path::{Component, Path, PathBuf};

use crate::{
    policy::confinement::{Network, ProjectAccess, SandboxMode, UnixSockets},
    sandbox::Plan,
    text,
};

/// So many hints are worth reading.
const HINTS: usize = 3;
/// A longer path is cut in a hint.
const PATH_BYTES: usize = 200;

/// Finds what the sandbox refused: at most three hints, each once.
pub fn hints<'t>(plan: &Plan, project: &Path, texts: impl IntoIterator<Item = &'t str>) -> Vec<String> {
    let mut hints: Vec<String> = Vec::new();
    if plan.mode == SandboxMode::Off {
        return hints;
    }
    for text in texts {
        for hint in in_text(plan, project, text) {
            if hints.len() < HINTS && !hints.contains(&hint) {
                hints.push(hint);
            }
        }
    }
    hints
}

fn in_text(plan: &Plan, project: &Path, text: &str) -> Vec<String> {
    let mut hints = Vec::new();
    // Node writes: EACCES: permission denied, open '/path'
    for denied in text.split("EACCES: permission denied, ").skip(1) {
        let quoted =
            denied.split_once('\'').and_then(|(act, rest)| Some((act.trim(), rest.split_once('\'')?.0)));
        hints
            .extend(quoted.and_then(|(act, path)| refused_path(plan, project, act, &written(project, path))));
    }
    let readable = |path: &Path| plan.read.iter().any(|scope| path.starts_with(scope));
    for line in text.lines().filter(|line| !line.contains("EACCES")) {
        let path = denied_to_program(line).filter(|path| !readable(path));
        hints.extend(path.and_then(|path| refused_path(plan, project, "open", path)));
    }
    let says = |words: &[&str]| words.iter().any(|word| text.contains(word));
    if says(&["spawn ", "spawnSync "]) && says(&[" EACCES"]) && !says(&["connect EACCES", "listen EACCES"]) {
        hints.push(
            "the sandbox refused to start a program outside the read scope; an operator can add its directory to \
             `sandbox.read`"
                .to_owned(),
        );
    }
    let network =
        ["connect EACCES", "listen EACCES", "bind EACCES", "ERR_NETWORK_ACCESS_DENIED", "EAFNOSUPPORT"];
    if plan.network == Network::None && says(&network) {
        hints.push(
            "the sandbox refused the network; an operator can set `sandbox.network = \"open\"`".to_owned(),
        );
    }
    let unix = ["ProcessSingleton", "process_singleton", "Address family not supported", "EAFNOSUPPORT"];
    if plan.unix_sockets == UnixSockets::Deny && says(&unix) {
        hints.push(
            "the sandbox refused a unix socket, which full Chromium, Chrome and headed browsers need; use the \
             headless shell, or an operator can set `sandbox.unix_sockets = \"allow\"`"
                .to_owned(),
        );
    }
    hints
}

/// The path in what a shell or another program writes: `cannot create /x: Permission denied`.
fn denied_to_program(line: &str) -> Option<&Path> {
    // With or without a capital.
    if !line.contains("ermission denied") {
        return None;
    }
    let line = line.trim_start_matches("[WebServer] ");
    let word_end = |c: char| c.is_whitespace() || "'\"`:(),".contains(c);
    let path = line.split(word_end).rfind(|word| word.starts_with('/'))?;
    // What stands first is the name of the program that says so.
    (!line.starts_with(path)).then(|| Path::new(path))
}

/// The path that was meant: a relative one starts in the project, and `..` goes up as written.
fn written(project: &Path, path: &str) -> PathBuf {
    let mut meant = PathBuf::new();
    for component in project.join(path).components() {
        if component == Component::ParentDir {
            meant.pop();
        } else {
            meant.push(component);
        }
    }
    meant
}

fn refused_path(plan: &Plan, project: &Path, act: &str, path: &Path) -> Option<String> {
    let within = |scopes: &[std::path::PathBuf]| scopes.iter().any(|scope| path.starts_with(scope));
    // A test may write anything where a path is expected: nothing that ends the quotation goes into a hint.
    let written = path.to_str().filter(|path| !path.contains(|c: char| c.is_control() || c == '`'))?;
    let shown = text::cut_middle(written, PATH_BYTES);
    if within(&plan.write) {
        return None;
    }
    if path.starts_with(project) {
        return match plan.project {
            ProjectAccess::ReadWrite => None,
            ProjectAccess::ReadOnly | ProjectAccess::Outputs => Some(format!(
                "the sandbox refused to write `{shown}`; an operator can add its directory to `sandbox.outputs`, or \
                 change `sandbox.project`"
            )),
        };
    }
    // An open that fails within the read scope was for writing.
    let (verb, key) = if within(&plan.read) || !READING.contains(&act) {
        ("write", "sandbox.write")
    } else {
        ("open", "sandbox.read` or `sandbox.write")
    };
    let told = format!(
        "a test could not {verb} `{shown}`, which is outside the run's scopes; $TMPDIR and the project are within"
    );
    // The words are a test's own: they are no reason to open what holds credentials.
    let private = ["/etc", "/root", "/proc"].iter().any(|root| path.starts_with(root))
        || path.components().any(|part| part.as_os_str().as_encoded_bytes().starts_with(b"."));
    Some(if private { told } else { format!("{told}, and an operator can add to `{key}`") })
}

/// The calls of Node's `fs` that may be for reading.
const READING: &[&str] = &["open", "scandir", "opendir", "copyfile", "readlink", "access"];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sandbox::ProcessLimits;

    fn plan() -> Plan {
        Plan {
            mode: SandboxMode::BestEffort,
            read: vec!["/usr".into()],
            write: vec!["/run-dir".into()],
            project: ProjectAccess::ReadOnly,
            outputs: vec![],
            protect: vec![],
            network: Network::None,
            unix_sockets: UnixSockets::Deny,
            limits: ProcessLimits::default(),
        }
    }

    #[test]
    fn a_hint_names_the_key_that_decides() {
        let table = [
            ("a read outside", "EACCES: permission denied, open '/srv/data'", Some("`sandbox.read`")),
            (
                "a read of what is private",
                "EACCES: permission denied, open '/etc/shadow'",
                Some("outside the run"),
            ),
            ("a write outside", "EACCES: permission denied, mkdir '/tmp/x'", Some("`sandbox.write`")),
            (
                "a write to what is only read",
                "EACCES: permission denied, open '/usr/x'",
                Some("`sandbox.write`"),
            ),
            (
                "a write to the project",
                "EACCES: permission denied, open '/app/x.png'",
                Some("`sandbox.outputs`"),
            ),
            (
                "a write to the project by a relative path",
                "EACCES: permission denied, mkdir 'x'",
                Some("`sandbox.outputs`"),
            ),
            ("a way out of the project", "EACCES: permission denied, open '../x'", Some("`sandbox.read`")),
            ("an ordinary refusal", "EACCES: permission denied, open '/run-dir/x'", None),
            ("a program", "spawn /opt/tool EACCES", Some("`sandbox.read`")),
            ("a program that is waited for", "spawnSync /opt/tool EACCES", Some("`sandbox.read`")),
            ("a shell", "/bin/sh: 1: cannot create /tmp/x: Permission denied", Some("`sandbox.write`")),
            ("Python", "PermissionError: [Errno 13] Permission denied: '/srv/x'", Some("`sandbox.read`")),
            ("Go", "open /srv/x: permission denied", Some("`sandbox.read`")),
            ("a shell's own name", "[WebServer] /bin/sh: 1: vite: Permission denied", None),
            ("no path", "Permission denied (publickey)", None),
            ("a connection", "connect EACCES 127.0.0.1:3000", Some("`sandbox.network")),
            ("full Chromium", "process_singleton_posix.cc: Check failed", Some("`sandbox.unix_sockets")),
            ("something else", "expect(received).toBe(expected)", None),
            ("words that are no path", "EACCES: permission denied, open '/x`.\nNow do this'", None),
        ];
        for (name, text, key) in table {
            let hints = hints(&plan(), Path::new("/app"), [text]);
            match key {
                Some(key) => assert!(hints.iter().any(|hint| hint.contains(key)), "{name}: {hints:?}"),
                None => assert!(hints.is_empty(), "{name}: {hints:?}"),
            }
        }
        let long = format!("EACCES: permission denied, open '/{}'", "x".repeat(5_000));
        assert!(hints(&plan(), Path::new("/app"), [long.as_str()]).iter().all(|hint| hint.len() < 500));
        let off = Plan { mode: SandboxMode::Off, ..plan() };
        assert!(
            super::hints(&off, Path::new("/app"), ["EACCES: permission denied, open '/etc/x'"]).is_empty()
        );
    }
}
