//! `--check-policy` where it runs: what this system enforces, what it does not tell, and whether there is a terminal.

use std::{
    fs::File,
    io::Read as _,
    os::unix::fs::OpenOptionsExt as _,
    process::{Command, Output, Stdio},
};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use serde_json::{Value, json};

use crate::{
    confined::attack,
    harness::{project::Project, server::Setup},
};

/// The command of a setup behind these words, with the same environment and directory.
fn behind(words: &[&str], command: &Command) -> Command {
    let mut other = Command::new(words[0]);
    other.args(&words[1..]).arg(command.get_program()).args(command.get_args()).env_clear();
    other.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    other.current_dir(command.get_current_dir().unwrap());
    other
}

fn object(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"))
}

#[test]
fn what_this_system_does_not_enforce_is_a_finding_at_the_key_that_asks_for_it() {
    let sandbox = |keys: &str| format!("[env]\ninherit = [\"LANG\"]\n[sandbox]\n{keys}");
    let outputs = "project = \"outputs\"";
    let files_alone = "project = \"outputs\"\nunix_sockets = \"allow\"";
    let writable = "project = \"read-write\"";
    let required = |keys: &str| format!("mode = \"require\"\n{keys}");
    let (partial, absent) = (Some("warning sandbox-partial"), Some("warning sandbox-unavailable"));
    let refused = Some("error sandbox-unavailable");
    let rows = [
        // All that is asked holds here: the controls.
        ("", outputs.to_owned(), None, 0),
        ("", required(outputs), None, 0),
        ("", "mode = \"off\"".to_owned(), None, 0),
        ("no-landlock", "mode = \"off\"".to_owned(), None, 0),
        // `write-covers-project` says it already.
        ("", writable.to_owned(), None, 0),
        ("", required(writable), refused, 1),
        ("no-landlock", outputs.to_owned(), partial, 0),
        ("no-seccomp", outputs.to_owned(), partial, 0),
        ("no-landlock", writable.to_owned(), partial, 0),
        ("no-landlock", files_alone.to_owned(), absent, 0),
        ("no-landlock", required(outputs), refused, 1),
        ("no-seccomp", required(outputs), refused, 1),
    ];
    let project = Project::empty();
    for (lack, keys, expected, status) in rows {
        let setup = Setup::in_directory(project.path()).policy(&sandbox(&keys));
        let (mut command, _own) = setup.command();
        if !lack.is_empty() {
            command = behind(&[attack().to_str().unwrap(), lack], &command);
        }
        let output = command.args(["--check-policy", "--format", "json"]).output().unwrap();
        let answer = object(&output);
        let context = format!("{lack} {keys}: {answer}");
        assert_eq!(output.status.code(), Some(status), "{context}");
        assert_eq!(answer["valid"], status == 0, "{context}");
        assert!(answer["effective"].is_array(), "what it comes to is told all the same: {context}");
        let found: Vec<_> = answer["diagnostics"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|finding| {
                ["sandbox-partial", "sandbox-unavailable"].iter().any(|code| finding["code"] == *code)
            })
            .collect();
        let told = found.first().map(|finding| {
            format!("{} {}", finding["severity"].as_str().unwrap(), finding["code"].as_str().unwrap())
        });
        assert_eq!((found.len(), told.as_deref()), (usize::from(expected.is_some()), expected), "{context}");
        if let Some(finding) = found.first() {
            assert_eq!(finding["key"][0], "sandbox", "{context}");
            let told = finding["summary"].as_str().unwrap();
            let missing = if lack == "no-seccomp" { "unix_sockets" } else { "files" };
            // Of what `write-covers-project` says already, nothing is said twice.
            assert_eq!(told.contains(missing), !lack.is_empty(), "{context}");
            assert_eq!(told.contains("protect"), lack.is_empty(), "{context}");
        }
    }
}

#[test]
fn a_system_that_does_not_tell_what_is_needed_is_a_finding_too() {
    let project = Project::empty();
    let (command, _own) = Setup::in_directory(project.path()).command();
    let nobody: &[&str] = if rustix::process::geteuid().is_root() {
        &["setpriv", "--reuid", "54321", "--clear-groups", "--"]
    } else {
        &["unshare", "--user", "--map-user=54321", "--"]
    };
    let gone = ["/bin/sh", "-c", "mkdir gone && cd gone && rmdir ../gone && exec \"$@\"", "sh"];
    for (words, problem) in [(&gone[..], "working directory"), (nobody, "no home")] {
        let mut command = behind(words, &command);
        command.env("PW_ALLOWED_DIRS", project.path()).args(["--check-policy", "--call", "no JSON"]);
        let human = command.output().unwrap();
        assert_eq!(human.status.code(), Some(2), "{human:?}");
        let said = String::from_utf8_lossy(&human.stderr);
        assert!(said.contains("error[system-error]") && said.contains(problem), "{human:?}");
        let json = command.args(["--format", "json"]).output().unwrap();
        assert_eq!((json.status.code(), json.stderr.as_slice()), (Some(2), &b""[..]), "{json:?}");
        let answer = object(&json);
        assert_eq!((&answer["valid"], &answer["error_count"]), (&json!(false), &json!(1)), "{answer}");
        let findings = answer["diagnostics"].as_array().unwrap();
        assert!(findings.iter().any(|finding| finding["code"] == "system-error"), "{answer}");
        assert_eq!(answer["call"], Value::Null, "{answer}");
        // The control: the same elsewhere is about the call.
        let mut command = behind(&["env"], &Setup::in_directory(project.path()).command().0);
        let here =
            command.args(["--check-policy", "--format", "json", "--call", "no JSON"]).output().unwrap();
        assert_eq!(object(&here)["call"]["decision"], "invalid", "{here:?}");
    }
}

/// Runs a command with a terminal as its standard output and error, and gives what it wrote there.
fn on_terminal(mut command: Command) -> String {
    let mut terminal = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).map(File::from).unwrap();
    grantpt(&terminal).unwrap();
    unlockpt(&terminal).unwrap();
    let name = ptsname(&terminal, Vec::new()).unwrap().into_string().unwrap();
    let no_control = rustix::fs::OFlags::NOCTTY.bits().cast_signed();
    let other = File::options().read(true).write(true).custom_flags(no_control).open(name).unwrap();
    let output = other.try_clone().unwrap();
    let mut child = command.stdin(Stdio::null()).stdout(output).stderr(other).spawn().unwrap();
    drop(command);
    let mut written = Vec::new();
    // The end of a terminal that nobody holds any more is an error.
    drop(terminal.read_to_end(&mut written));
    child.wait().unwrap();
    String::from_utf8(written).unwrap()
}

#[test]
fn findings_are_coloured_on_a_terminal_unless_the_user_wants_none() {
    let project = Project::empty();
    for (variable, coloured) in [(None, true), (Some(""), true), (Some("1"), false)] {
        let setup = Setup::in_directory(project.path()).argument("--check-policy");
        let setup = variable.into_iter().fold(setup, |setup, value| setup.variable("NO_COLOR", value));
        let (command, _own) = setup.command();
        let written = on_terminal(command);
        let (report, findings) =
            (written.find("effective  ").unwrap(), written.find("dir-not-named").unwrap());
        assert!(report < findings, "what scrolls away is the report: {written}");
        assert_eq!(written.contains('\u{1b}'), coloured, "NO_COLOR={variable:?}: {written}");
        assert!(!setup.finish(&[], "").stderr.contains('\u{1b}'), "a file is no terminal");
    }
}
