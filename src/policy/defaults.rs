//! The values of the keys that nobody set, but for those of `[limits]`, which stand with their units in `limits`.
//!
//! `policy.example.toml` says the same, and a test proves it.

use crate::policy::confinement::{Network, ProjectAccess, ProjectOwner, SandboxMode, UnixSockets};
use crate::policy::recording::{AuditArguments, AuditFailure};

/// `dirs.allow`: the directory that the server was started in.
pub(in crate::policy) const DIRS_ALLOW: &[&str] = &["."];
/// `dirs.owner`.
pub(in crate::policy) const DIRS_OWNER: ProjectOwner = ProjectOwner::Any;
/// `tools.allow`: the tools that this version has.
pub(in crate::policy) const TOOLS_ALLOW: &[&str] = &["run_tests", "get_failed_tests", "get_policy"];
/// `run.headed`.
pub(in crate::policy) const RUN_HEADED: bool = false;
/// `run.update_snapshots`.
pub(in crate::policy) const RUN_UPDATE_SNAPSHOTS: bool = true;
/// `run.projects`.
pub(in crate::policy) const RUN_PROJECTS: &[&str] = &["*"];
/// `env.inherit`.
pub(in crate::policy) const ENV_INHERIT: &[&str] = &["*"];
/// `env.withhold`: what lets a test act elsewhere as the user, and tests seldom need.
pub(in crate::policy) const ENV_WITHHOLD: &[&str] = &[
    "SSH_AUTH_SOCK",
    "DBUS_*",
    "GPG_*",
    "AWS_*",
    "ANTHROPIC_*",
    "OPENAI_*",
    "CLAUDE_*",
    "GITHUB_TOKEN",
    "GH_TOKEN",
    "NPM_TOKEN",
    "NODE_AUTH_TOKEN",
];
/// `env.redact`.
pub(in crate::policy) const ENV_REDACT: &[&str] =
    &["*PASSWORD*", "*SECRET*", "*TOKEN*", "*_KEY", "*CREDENTIAL*"];
/// `sandbox.mode`.
pub(in crate::policy) const SANDBOX_MODE: SandboxMode = SandboxMode::BestEffort;
/// `sandbox.project`: real projects write everywhere.
pub(in crate::policy) const SANDBOX_PROJECT: ProjectAccess = ProjectAccess::ReadWrite;
/// `sandbox.outputs`: where Playwright and the usual web servers write.
pub(in crate::policy) const SANDBOX_OUTPUTS: &[&str] = &[
    "test-results",
    "playwright-report",
    "blob-report",
    "playwright/.auth",
    "coverage",
    "node_modules/.cache",
    "node_modules/.vite",
    "node_modules/.vite-temp",
    ".next",
    ".nuxt",
    ".svelte-kit",
    "dist",
    "build",
];
/// `sandbox.protect`: what others run or trust later, outside the sandbox.
pub(in crate::policy) const SANDBOX_PROTECT: &[&str] = &[
    ".git",
    ".mcp.json",
    ".claude",
    ".cursor",
    ".vscode",
    ".github",
    ".husky",
    ".npmrc",
    "AGENTS.md",
    "CLAUDE.md",
    "package.json",
];
/// `sandbox.network`.
pub(in crate::policy) const SANDBOX_NETWORK: Network = Network::Open;
/// `sandbox.unix_sockets`.
pub(in crate::policy) const SANDBOX_UNIX_SOCKETS: UnixSockets = UnixSockets::Deny;
/// `audit.file`.
pub(in crate::policy) const AUDIT_FILE: &str = "~/.local/state/playwright-warden/audit.jsonl";
/// `audit.args`.
pub(in crate::policy) const AUDIT_ARGS: AuditArguments = AuditArguments::Redacted;
/// `audit.on_error`.
pub(in crate::policy) const AUDIT_ON_ERROR: AuditFailure = AuditFailure::Deny;
/// `env.allow`, `dirs.deny`, `sandbox.read` and `sandbox.write`.
pub(in crate::policy) const NOTHING: &[&str] = &[];
