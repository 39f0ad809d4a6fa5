//! What is to be said about a policy: a stable code, a severity, a place, a hint.
//!
//! In: findings of the sources and of the compiler. Out: [`Diagnostic`] as data and as JSON. Showing it with its
//! source line is left to `excerpt`.

use std::fmt;

use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};

use crate::policy::origin::Origin;
use crate::text::visible::visible;

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// There is no policy, and the server does not start.
    Error,
    /// The policy holds; a reviewer should look at this.
    Warning,
}

impl fmt::Display for Severity {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Error => "error",
            Self::Warning => "warning",
        })
    }
}

macro_rules! codes {
    ($($(#[doc = $doc:literal])+ $variant:ident = $name:literal;)+) => {
        /// What a finding is about; the names are stable.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum DiagnosticCode {
            $($(#[doc = $doc])+ $variant,)+
        }

        impl DiagnosticCode {
            /// All codes, in the order of the documentation.
            pub const ALL: &[Self] = &[$(Self::$variant,)+];

            /// The stable name, in kebab-case.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)+
                }
            }

            /// One sentence on what it means.
            #[must_use]
            pub const fn meaning(self) -> &'static str {
                match self {
                    $(Self::$variant => concat!($($doc),+).trim_ascii(),)+
                }
            }
        }
    };
}

codes! {
    /// The file is not TOML.
    Syntax = "syntax";
    /// A key that this version does not know.
    UnknownKey = "unknown-key";
    /// A value of the wrong type.
    WrongType = "wrong-type";
    /// A value of the right type that means nothing here.
    BadValue = "bad-value";
    /// A directory pattern that can't be read.
    BadGlob = "bad-glob";
    /// A key that stands twice.
    DuplicateKey = "duplicate-key";
    /// A `version` that this server does not know.
    UnsupportedVersion = "unsupported-version";
    /// A policy file without its `version`.
    MissingVersion = "missing-version";
    /// A file that was named does not exist.
    MissingFile = "missing-file";
    /// A file that exists can't be read.
    UnreadableFile = "unreadable-file";
    /// The policy is a directory, a FIFO, a socket or a device.
    NotAFile = "not-a-file";
    /// The file is larger than 64 KiB.
    TooLarge = "too-large";
    /// Text that is not UTF-8.
    NotUtf8 = "not-utf8";
    /// The file belongs to neither the user nor root.
    InsecureOwner = "insecure-owner";
    /// Others may write the file.
    InsecureMode = "insecure-mode";
    /// Others may replace the file, because they may write its directory or own it.
    InsecureParent = "insecure-parent";
    /// `exclusive` stands in a file that is not the system's.
    ExclusiveOutsideSystem = "exclusive-outside-system";
    /// An exclusive policy lets every variable through to the tests.
    ExclusiveInheritsAll = "exclusive-inherits-all";
    /// A path in the system's policy that depends on where a server is started.
    RelativePathInSystemPolicy = "relative-path-in-system-policy";
    /// A name beside the system's policies that is not read.
    IgnoredFile = "ignored-file";
    /// A name that no environment variable of a call can have.
    BadEnvName = "bad-env-name";
    /// A tool that no version of this server has.
    UnknownTool = "unknown-tool";
    /// `PW_RESULTS_FILE` lies in no allowed directory.
    ResultsOutsideDirs = "results-outside-dirs";
    /// Nobody named a directory, and the server was started in `/` or a home.
    ImplicitDirTooWide = "implicit-dir-too-wide";
    /// Nobody named a directory: the one that the server is started in is allowed.
    DirNotNamed = "dir-not-named";
    /// The whole file system is allowed.
    DirIsRoot = "dir-is-root";
    /// A whole home directory is allowed.
    DirIsHome = "dir-is-home";
    /// A directory that holds the home directory is allowed.
    DirAboveHome = "dir-above-home";
    /// A directory of the system is allowed, where nobody keeps projects.
    DirSystem = "dir-system";
    /// A pattern that starts with a wildcard: it allows what nobody thought of.
    GlobTooWide = "glob-too-wide";
    /// A pattern that matches no directory now.
    GlobMatchesNothing = "glob-matches-nothing";
    /// Everyone may write an allowed directory.
    DirWorldWritable = "dir-world-writable";
    /// An allowed directory belongs to another user than you and root.
    DirNotOwned = "dir-not-owned";
    /// A directory is named by way of a symlink; what counts is where that leads.
    DirIsSymlink = "dir-is-symlink";
    /// A directory that the policy names does not exist.
    DirMissing = "dir-missing";
    /// An entry that a list of denials takes away whole.
    ShadowedByDeny = "shadowed-by-deny";
    /// An entry or a key that changes nothing, because of another one.
    NoEffect = "no-effect";
    /// A name in `env.allow` that the fixed denylist refuses anyhow.
    EnvNameDenied = "env-name-denied";
    /// A call may set nearly any variable.
    EnvWildcard = "env-wildcard";
    /// The tests see every variable of the server that is not withheld.
    EnvInheritAll = "env-inherit-all";
    /// A variable with the prefix `PW_` that is nearly one of ours.
    UnknownVariable = "unknown-variable";
    /// Nothing bounds what the default bounds.
    LimitUnlimited = "limit-unlimited";
    /// A limit under which no run gets to its first test.
    LimitTooSmall = "limit-too-small";
    /// Test code is not confined.
    SandboxOff = "sandbox-off";
    /// Where this system lacks a protection, runs start without it.
    SandboxOptional = "sandbox-optional";
    /// This system confines no run; where the policy requires it, no run can start.
    SandboxUnavailable = "sandbox-unavailable";
    /// This system does not enforce all that the policy asks.
    SandboxPartial = "sandbox-partial";
    /// A run may write its whole project.
    WriteCoversProject = "write-covers-project";
    /// A run may write a home directory, or the hidden files by which programs there are steered.
    WriteCoversHome = "write-covers-home";
    /// A run may write where programs are started from: a directory of `PATH`, or a toolchain.
    WriteCoversPathDir = "write-covers-path-dir";
    /// A run may write a directory of the system.
    WriteCoversSystem = "write-covers-system";
    /// A run may write files that a package manager shares between projects.
    WriteReachesStore = "write-reaches-store";
    /// A run may write a directory that everyone uses, such as `/tmp`.
    WriteCoversShared = "write-covers-shared";
    /// What a run may write by one rule is what `sandbox.protect` names.
    OutputCoversProtected = "output-covers-protected";
    /// A run may read what lets it act as you elsewhere.
    ReadCoversSecrets = "read-covers-secrets";
    /// Tests can reach any host.
    NetworkOpen = "network-open";
    /// Tests can reach every unix socket that the user can.
    UnixSocketsOpen = "unix-sockets-open";
    /// A denied directory lies below an allowed one, where the kernel can't deny it.
    DenyBelowGrant = "deny-below-grant";
    /// No decision is written down.
    AuditOff = "audit-off";
    /// A sink of the audit log can't take a record on this system.
    AuditUnavailable = "audit-unavailable";
    /// What can't be recorded is done all the same.
    AuditContinues = "audit-continues";
    /// The audit log lies where a run may write.
    AuditInGrantedDir = "audit-in-granted-dir";
    /// The policy file lies where a run may write.
    PolicyInGrantedDir = "policy-in-granted-dir";
    /// This server's own program lies where a run may write.
    ProgramInGrantedDir = "program-in-granted-dir";
    /// The directory of runs and caches lies where a run may write.
    StateInGrantedDir = "state-in-granted-dir";
    /// A call is decided otherwise than the policy's own `[[expect]]` says.
    ExpectFailed = "expect-failed";
    /// The working directory, the user or his home can't be told, and the server can't start.
    SystemError = "system-error";
}

impl DiagnosticCode {
    /// Says whether the file could not be had at all, which is another exit status than a policy that is wrong.
    #[must_use]
    pub fn is_input_output(self) -> bool {
        matches!(self, Self::MissingFile | Self::UnreadableFile | Self::SystemError)
    }

    /// Says whether it was found by a try on this system, so that the same policy may have it on one and not on another.
    #[must_use]
    pub fn is_found_here(self) -> bool {
        matches!(self, Self::SandboxUnavailable | Self::SandboxPartial | Self::AuditUnavailable)
    }
}

impl fmt::Display for DiagnosticCode {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())
    }
}

/// One finding. Its [`Display`](fmt::Display) is one line without source text; `excerpt` shows it whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// How bad it is.
    pub severity: Severity,
    /// What it is about.
    pub code: DiagnosticCode,
    /// What was found: one fragment, user's text in backticks.
    pub summary: String,
    /// The key, where one is meant, as in `["dirs", "allow"]`.
    pub key: Vec<String>,
    /// Where it stands.
    pub origin: Origin,
    /// What stands at the carets.
    pub label: Option<String>,
    /// What to do.
    pub hint: Option<String>,
}

impl Diagnostic {
    /// Makes a finding that leaves no policy.
    #[must_use]
    pub fn error(code: DiagnosticCode, origin: Origin, summary: impl Into<String>) -> Self {
        Self::new(Severity::Error, code, origin, summary.into())
    }

    /// Makes a finding for a reviewer.
    #[must_use]
    pub fn warning(code: DiagnosticCode, origin: Origin, summary: impl Into<String>) -> Self {
        Self::new(Severity::Warning, code, origin, summary.into())
    }

    /// Makes a finding of the given severity.
    #[must_use]
    pub const fn new(severity: Severity, code: DiagnosticCode, origin: Origin, summary: String) -> Self {
        Self { severity, code, summary, key: Vec::new(), origin, label: None, hint: None }
    }

    /// Names the key, with dots.
    #[must_use]
    pub fn key(mut self, dotted: &str) -> Self {
        self.key = dotted.split('.').map(str::to_owned).collect();
        self
    }

    /// Sets the text at the carets.
    #[must_use]
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.label = Some(label.into());
        self
    }

    /// Sets what to do.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}[{}]: {} ({})", self.severity, self.code, visible(&self.summary), self.origin)?;
        match &self.hint {
            Some(hint) => write!(out, "; {}", visible(hint)),
            None => Ok(()),
        }
    }
}

impl Serialize for Diagnostic {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("Diagnostic", 8)?;
        fields.serialize_field("severity", &self.severity)?;
        fields.serialize_field("code", self.code.name())?;
        fields.serialize_field("summary", &self.summary)?;
        if let Some(label) = &self.label {
            fields.serialize_field("label", label)?;
        }
        if let Some(hint) = &self.hint {
            fields.serialize_field("help", hint)?;
        }
        if !self.key.is_empty() {
            fields.serialize_field("key", &self.key)?;
        }
        if self.code.is_found_here() {
            fields.serialize_field("here", &true)?;
        }
        fields.serialize_field("source", &self.origin)?;
        fields.end()
    }
}

#[cfg(test)]
mod tests {
    use super::{Diagnostic, DiagnosticCode};
    use crate::policy::origin::Origin;

    #[test]
    fn code_names_are_kebab_case_and_unique() {
        let mut names: Vec<_> = DiagnosticCode::ALL.iter().map(|code| code.name()).collect();
        for name in &names {
            assert!(
                name.bytes().all(|byte| byte == b'-' || byte.is_ascii_lowercase() || byte == b'8'),
                "{name}"
            );
        }
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), DiagnosticCode::ALL.len());
    }

    #[test]
    fn json_form_names_the_variable_and_its_item() {
        let finding = Diagnostic::warning(
            DiagnosticCode::EnvNameDenied,
            Origin::variable_item("PW_ALLOWED_ENV", 2),
            "`NODE_OPTIONS` can't be set by a call",
        )
        .key("env.allow")
        .hint("take it out");
        let json = serde_json::json!({
            "severity": "warning", "code": "env-name-denied",
            "summary": "`NODE_OPTIONS` can't be set by a call", "help": "take it out",
            "key": ["env", "allow"], "source": { "kind": "env", "name": "PW_ALLOWED_ENV", "item": 2 },
        });
        assert_eq!(serde_json::to_value(finding).unwrap(), json);
    }
}
