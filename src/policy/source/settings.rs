//! The keys that a policy can hold, each declared once: its form, its combination, its meaning.
//!
//! In: nothing. Out: [`Settings`], which a checked file is read into, and [`TABLES`] for the checks, the schema and the
//! documentation. The keys of `[limits]` are declared in `limits`, with their units and defaults.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Value as Json};

use crate::policy::confinement::{Network, ProjectAccess, ProjectOwner, SandboxMode, UnixSockets};
use crate::policy::limits::Limit;
use crate::policy::recording::{AuditArguments, AuditFailure, AuditSink};
use crate::policy::source::keys::{Combination, Key, Table, Value};

macro_rules! tables {
    ($(
        #[doc = $about:literal]
        $table:ident: $form:ident {
            $($(#[doc = $meaning:literal])+ $key:ident: $value:ty, $combination:ident $(, not $caveat:literal)?;)+
        }
    )+) => {
        $(
            #[doc = concat!("What one source sets in `[", stringify!($table), "]`:", $about, ".")]
            #[derive(Clone, Debug, Default, PartialEq, Deserialize)]
            #[serde(deny_unknown_fields, default)]
            pub struct $form {
                $($(#[doc = $meaning])+ pub $key: Option<$value>,)+
            }
        )+

        /// The tables of a policy file but `[limits]`, with their keys.
        pub const TABLES: &[Table] = &[$(
            Table {
                name: stringify!($table),
                meaning: $about.trim_ascii(),
                keys: &[$(
                    Key {
                        name: stringify!($key),
                        kind: <$value as Value>::KIND,
                        combination: Combination::$combination,
                        meaning: concat!($($meaning),+).trim_ascii(),
                        caveat: concat!("" $(, $caveat)?),
                    },
                )+],
            },
        )+];
    };
}

tables! {
    /// projects whose tests may be run and whose results may be read
    dirs: DirSettings {
        /// A directory and all below it. `*` and `?` never cross a `/`, `**` does; `[ab]` is one of these characters, `{a,b}` one
        /// of these texts; a backslash before one of them takes it as it is (`'app/\[slug\]'` for a directory named `[slug]`);
        /// `~` is the home of the user database. Matched when a call comes, against the real path.
        allow: Vec<String>, Every,
            not "It says where the agent may work, not what a test may read: a run sees its own project and what that needs.";
        /// Directories that are refused, whatever allows them.
        deny: Vec<String>, Union,
            not "Calls for them are refused; a run in an allowed directory above can still read them.";
        /// Whose projects: `self` means those that the user or root owns.
        owner: ProjectOwner, Stricter,
            not "It looks at the project's directory, not at the files in it.";
    }
    /// what the agent can call
    tools: ToolSettings {
        /// The tools that exist for the agent. One that is not listed is absent from the list of tools, and refused when called.
        allow: Vec<String>, Every;
    }
    /// what `run_tests` may ask for
    run: RunSettings {
        /// Whether a browser may open a window. It needs a display, and `sandbox.unix_sockets = "allow"`.
        headed: bool, Stricter;
        /// Whether a run may rewrite baselines (`updateSnapshots`).
        update_snapshots: bool, Stricter,
            not "A test can still write files itself, as far as `sandbox.project` lets it.";
        /// Playwright projects that may be run, by name; `*` and `?` are wildcards, case does not count.
        projects: Vec<String>, Every,
            not "What a project depends on (`dependencies` in the config) runs with it, listed or not.";
    }
    /// variables
    env: EnvSettings {
        /// Which of the server's own variables the tests see, by name, with wildcards. `PATH`, `LANG`, `TZ` and `TERM` always pass.
        inherit: Vec<String>, Every,
            not "A `.env` file in the project is read by the project itself.";
        /// Which of those they never see; `PATH`, `LANG`, `TZ` and `TERM` stay.
        withhold: Vec<String>, Union;
        /// Which variables a call may set, by name, with wildcards.
        allow: Vec<String>, Every,
            not "No policy lifts the fixed denylist (`--print-denylist`), nor the bounds: 16 variables, 256 characters, no control characters.";
        /// For a listed name, the only values that a call may give it.
        values: BTreeMap<String, Vec<String>>, Every;
        /// Variables whose values are taken out of answers.
        redact: Vec<String>, Union,
            not "A courtesy, no boundary: a test can encode a secret in ways that nobody looks for.";
    }
    /// what test code may do, held by the kernel
    sandbox: SandboxSettings {
        /// `require`: no run unless all that is asked is enforced; `best-effort`: with what this system has, and told; `off`: none.
        mode: SandboxMode, Stricter;
        /// What a run may write of its project: nothing, the directories of `outputs`, or all of it.
        project: ProjectAccess, Stricter,
            not "Under `read-write` a test can change what is run later outside the sandbox.";
        /// Directories of the project that a run may write under `outputs`, where they exist.
        outputs: Vec<String>, Every;
        /// Names in the project that a run must not change under `read-write`.
        protect: Vec<String>, Union,
            not "It needs mounts, which this version does not make: answers say `missing: protect`.";
        /// More that a run may read: absolute, `~/...`, or relative to the launch directory.
        read: Vec<String>, Every;
        /// More that a run may write.
        write: Vec<String>, Every;
        /// `none`: neither TCP nor UDP, loopback included; `open`: any host.
        network: Network, Stricter,
            not "There is no list of hosts yet.";
        /// Whether a run may make unix sockets. Full Chromium, Chrome and headed browsers need them; the headless shell does not.
        unix_sockets: UnixSockets, Stricter,
            not "Socket pairs are always allowed, and a socket that was passed in stays usable.";
    }
    /// the record of every decision
    audit: AuditSettings {
        /// Where decisions are written: `journald`, `file`. None: nothing is written.
        sinks: Vec<AuditSink>, Union;
        /// The file of the sink `file`: absolute, or `~/...`.
        file: String, System,
            not "A file that its owner can write is no evidence against the owner: send the records to journald too.";
        /// What of a call's arguments is written; values of variables never are.
        args: AuditArguments, Stricter;
        /// What becomes of a decision that can't be written: a denial, or the call goes on.
        on_error: AuditFailure, Stricter;
    }
}

/// What one source sets: `None` where it says nothing.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// `version`.
    pub version: Option<i64>,
    /// `[dirs]`.
    pub dirs: DirSettings,
    /// `[tools]`.
    pub tools: ToolSettings,
    /// `[run]`.
    pub run: RunSettings,
    /// `[env]`.
    pub env: EnvSettings,
    /// `[limits]`, by key; the check of the file has seen to their names.
    pub limits: BTreeMap<String, Limit<u64>>,
    /// `[sandbox]`.
    pub sandbox: SandboxSettings,
    /// `[audit]`.
    pub audit: AuditSettings,
    /// `[[expect]]`.
    pub expect: Vec<Expectation>,
}

/// What the policy is expected to say of a call: a test inside the policy, run by `--check-policy`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expectation {
    /// The call.
    pub call: ExpectedCall,
    /// What should become of it.
    pub decision: ExpectedDecision,
    /// For a denial, the policy key that should decide; any where it is absent.
    pub rule: Option<String>,
}

/// The call of an expectation, as `--call` takes it.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExpectedCall {
    /// The tool's name.
    pub tool: String,
    /// Its arguments.
    #[serde(default)]
    pub arguments: Map<String, Json>,
}

/// What is expected of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ExpectedDecision {
    /// It is allowed.
    Allow,
    /// It is denied.
    Deny,
}
