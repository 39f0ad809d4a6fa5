//! What the sandbox leaves open, and its keys that mean nothing beside others.
//!
//! In: `[sandbox]` and `run.headed`. Out: findings. The trees of `sandbox.read` and `sandbox.write` are left to `trees`.

use std::path::{Path, PathBuf};

use crate::policy::confinement::{Network, ProjectAccess, SandboxMode, UnixSockets};
use crate::policy::defaults;
use crate::policy::diagnostic::{Diagnostic, DiagnosticCode};
use crate::policy::origin::{Origin, Sourced};
use crate::policy::review::Review;
use crate::policy::review::trees::touches;

impl Review<'_> {
    pub(super) fn sandbox(&self) -> Vec<Diagnostic> {
        let mode = self.policy.sandbox().mode();
        let mut findings = Vec::new();
        match mode.value {
            SandboxMode::Off => {
                findings.push(open(
                    DiagnosticCode::SandboxOff,
                    "sandbox.mode",
                    mode,
                    "test code is not confined: it can do all that you can",
                    "write `mode = \"require\"` under `[sandbox]`, and name what a run needs more in `read` and `write`",
                ));
                findings.extend(self.keys_without_sandbox());
                return findings;
            }
            SandboxMode::BestEffort => findings.push(open(
                DiagnosticCode::SandboxOptional,
                "sandbox.mode",
                mode,
                "where this system lacks a protection, runs start without it",
                "write `mode = \"require\"` under `[sandbox]`: such runs are refused",
            )),
            SandboxMode::Require => {}
        }
        findings.extend(self.project());
        findings.extend(self.project_keys());
        findings.extend(self.outputs());
        findings.extend(self.network());
        findings.extend(self.unix_sockets());
        findings
    }

    fn project(&self) -> Option<Diagnostic> {
        let sandbox = self.policy.sandbox();
        if sandbox.project().value != ProjectAccess::ReadWrite {
            return None;
        }
        let but = if sandbox.protect().is_empty() { "" } else { ", what `sandbox.protect` names included" };
        Some(open(
            DiagnosticCode::WriteCoversProject,
            "sandbox.project",
            sandbox.project(),
            format!("a run may write its whole project{but}"),
            "write `project = \"outputs\"` under `[sandbox]`; where tests write elsewhere, name it in `outputs`",
        ))
    }

    /// Outputs that are, lie in or hold what is protected.
    fn outputs(&self) -> Vec<Diagnostic> {
        let sandbox = self.policy.sandbox();
        if sandbox.project().value != ProjectAccess::Outputs {
            return Vec::new();
        }
        let outputs = sandbox.outputs().iter();
        outputs
            .filter_map(|output| {
                let mut names = sandbox.protect().iter();
                let protected = names.find(|name| touches(&name.value, &output.value))?;
                Some(self.covers_protected("sandbox.outputs", output, protected))
            })
            .collect()
    }

    /// The finding stands where somebody wrote something.
    pub(super) fn covers_protected(
        &self,
        key: &str,
        written: &Sourced<PathBuf>,
        protected: &Sourced<PathBuf>,
    ) -> Diagnostic {
        let (key, origin, other, place) = match written.origin {
            Origin::Builtin => ("sandbox.protect", &protected.origin, key, &written.origin),
            Origin::File { .. } | Origin::Variable { .. } => {
                (key, &written.origin, "sandbox.protect", &protected.origin)
            }
        };
        let (tree, name) = (written.value.display(), protected.value.display());
        let summary = format!("a run may write `{tree}`, though `{name}` is protected");
        Diagnostic::new(self.unless_held(), DiagnosticCode::OutputCoversProtected, origin.clone(), summary)
            .key(key)
            .label(format!("against `{other}` ({place})"))
            .hint(format!("name here only what lies beside it, or write a `{other}` without it"))
    }

    fn network(&self) -> Option<Diagnostic> {
        let network = self.policy.sandbox().network();
        (network.value == Network::Open).then(|| {
            open(
                DiagnosticCode::NetworkOpen,
                "sandbox.network",
                network,
                "tests can reach any host, and send there what they can read",
                "write `network = \"none\"` under `[sandbox]`; a suite that starts a web server needs \"open\" until a \
                 later version has \"loopback\"",
            )
        })
    }

    fn unix_sockets(&self) -> Option<Diagnostic> {
        let (sockets, headed) = (self.policy.sandbox().unix_sockets(), self.policy.run().headed());
        match sockets.value {
            UnixSockets::Allow => Some(open(
                DiagnosticCode::UnixSocketsOpen,
                "sandbox.unix_sockets",
                sockets,
                "tests can reach every unix socket that you can, as those of Docker and D-Bus",
                "write `unix_sockets = \"deny\"` under `[sandbox]`; the headless shell needs none",
            )),
            UnixSockets::Deny if headed.value => Some(open(
                DiagnosticCode::NoEffect,
                "run.headed",
                headed,
                "a headed browser needs unix sockets, and `sandbox.unix_sockets` denies them",
                "write `headed = false` under `[run]`; who needs a window writes `unix_sockets = \"allow\"` under \
                 `[sandbox]`",
            )),
            UnixSockets::Deny => None,
        }
    }

    /// `outputs` and `protect` are for one value of `project` each. Written out as they are anyway, they mislead nobody.
    fn project_keys(&self) -> Vec<Diagnostic> {
        let sandbox = self.policy.sandbox();
        let project = sandbox.project();
        let mut findings = Vec::new();
        if project.value != ProjectAccess::Outputs
            && !is_default(sandbox.outputs(), defaults::SANDBOX_OUTPUTS)
        {
            let keys = sandbox.written_trees().into_iter().filter(|(key, _)| *key == "sandbox.outputs");
            findings.extend(
                keys.flat_map(|(_, written)| written.lists())
                    .filter(|list| list.key != Origin::Builtin)
                    .map(|list| unused("sandbox.outputs", &list.key, "sandbox.project", project)),
            );
        }
        if project.value == ProjectAccess::ReadOnly
            && !is_default(sandbox.protect(), defaults::SANDBOX_PROTECT)
        {
            let written = sandbox.protect().iter().find(|name| name.origin != Origin::Builtin);
            findings.extend(
                written.map(|name| unused("sandbox.protect", &name.origin, "sandbox.project", project)),
            );
        }
        findings
    }

    /// Without a sandbox all other keys of it are words.
    fn keys_without_sandbox(&self) -> Vec<Diagnostic> {
        let sandbox = self.policy.sandbox();
        let mut keys = vec![
            ("sandbox.project", &sandbox.project().origin),
            ("sandbox.network", &sandbox.network().origin),
            ("sandbox.unix_sockets", &sandbox.unix_sockets().origin),
        ];
        for (key, written) in sandbox.written_trees() {
            keys.extend(written.lists().map(|list| (key, &list.key)));
        }
        keys.extend(sandbox.protect().first().map(|name| ("sandbox.protect", &name.origin)));
        let written = keys.into_iter().filter(|(_, origin)| **origin != Origin::Builtin);
        written.map(|(key, origin)| unused(key, origin, "sandbox.mode", sandbox.mode())).collect()
    }
}

fn open<T>(
    code: DiagnosticCode,
    key: &str,
    set: &Sourced<T>,
    summary: impl Into<String>,
    hint: &str,
) -> Diagnostic {
    Diagnostic::warning(code, set.origin.clone(), summary).key(key).hint(hint)
}

fn unused<T: std::fmt::Display>(key: &str, origin: &Origin, because: &str, set: &Sourced<T>) -> Diagnostic {
    Diagnostic::warning(
        DiagnosticCode::NoEffect,
        origin.clone(),
        format!("`{key}` means nothing under `{because} = \"{}\"`", set.value),
    )
    .key(key)
    .label(match &set.origin {
        Origin::Builtin => format!("`{because}` is \"{}\" where nobody sets it", set.value),
        set @ (Origin::File { .. } | Origin::Variable { .. }) => format!("`{because}` is set at {set}"),
    })
    .hint("take it out, or change the other")
}

fn is_default(paths: &[Sourced<PathBuf>], default: &[&str]) -> bool {
    paths.iter().map(|path| path.value.as_path()).eq(default.iter().map(Path::new))
}
