//! Black-box tests: the real binary, driven from outside. Suites are named for what they protect.

#![expect(clippy::disallowed_methods, reason = "tests start programs and look at the world from outside")]
#![expect(unreachable_pub, reason = "the harness is written as a library and used by one binary")]

// `cfg(test)` always holds here; it tells clippy that also the functions beside the tests may unwrap.
#[cfg(test)]
mod audit;
#[cfg(test)]
mod audit_files;
#[cfg(test)]
mod audit_journal;
#[cfg(test)]
mod audit_verify;
#[cfg(test)]
mod bad_input;
#[cfg(test)]
mod bounds;
#[cfg(test)]
mod check_policy;
#[cfg(test)]
mod check_policy_calls;
#[cfg(test)]
mod check_policy_here;
#[cfg(test)]
mod clients;
#[cfg(test)]
mod confined;
#[cfg(test)]
mod containment;
#[cfg(test)]
mod environment;
#[cfg(test)]
mod first_policy;
#[cfg(test)]
mod get_policy;
#[cfg(test)]
#[path = "../harness/mod.rs"]
mod harness;
#[cfg(test)]
mod pages;
#[cfg(test)]
mod partial_results;
#[cfg(test)]
mod peer_answers;
#[cfg(test)]
mod peer_processes;
#[cfg(test)]
mod policy_calls;
#[cfg(test)]
mod policy_diagnostics;
#[cfg(test)]
mod policy_expectations;
#[cfg(test)]
mod policy_layers;
#[cfg(test)]
mod policy_review;
#[cfg(test)]
mod policy_schema;
#[cfg(test)]
mod policy_sources;
#[cfg(test)]
mod policy_world;
#[cfg(test)]
mod protocol;
#[cfg(test)]
mod protocol_runs;
#[cfg(test)]
mod reports;
#[cfg(test)]
mod sandbox_files;
#[cfg(test)]
mod sandbox_in_runs;
#[cfg(test)]
mod sandbox_network;
#[cfg(test)]
mod sandbox_processes;
#[cfg(test)]
mod sandbox_told;
#[cfg(test)]
mod supervised;
#[cfg(test)]
mod supervision;
#[cfg(test)]
mod tool_arguments;
#[cfg(test)]
mod tools;
#[cfg(test)]
mod workspaces;
