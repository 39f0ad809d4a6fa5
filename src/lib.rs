//! `playwright-warden`: an MCP server that runs a project's Playwright tests under a policy.
//!
//! This file is the map. The rooms stand in reading order; data goes down the list, imports go up it, and
//! `tests/architecture.rs` is the judge. Nothing is re-exported: a type is imported from the room it lives in.

#[cfg(not(target_os = "linux"))]
compile_error!(
    "playwright-warden confines test runs with Linux kernel features (Landlock, seccomp, pidfd, openat2); \
     other systems are not supported yet"
);

/// Layer 0: hashes of policies and paths.
pub mod digest;
/// Layer 0: paths that only containment can make.
pub mod path;
/// Layer 0: the name of a run.
pub mod run_id;
/// Layer 0: untrusted text made printable, secrets taken out.
pub mod text;

/// Layer 1: what is allowed; pure but for its sources.
pub mod policy;

/// Layer 2: who asked for what, and what was decided.
pub mod audit;

/// Layer 3: the only maker of grants.
pub mod gate;

/// Layer 4: node and Playwright, found, never downloaded.
pub mod install;
/// Layer 4: the run's own directory.
pub mod run_dir;

/// Layer 5: how terms bind a child process.
pub mod sandbox;

/// Layer 6: what a run left behind.
pub mod report;

/// Layer 7: the one place that spawns.
pub mod runner;

/// Layer 9: the MCP surface.
pub mod server;

/// Layer 10: the command line's jobs besides serving.
pub mod cli;
