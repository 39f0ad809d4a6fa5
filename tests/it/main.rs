//! Black-box tests: the real binary, driven from outside. Suites are named for what they protect.

// `cfg(test)` always holds here; it tells clippy that also the functions beside the tests may unwrap.
#[cfg(test)]
mod confined;
#[cfg(test)]
#[path = "../harness/mod.rs"]
mod harness;
#[cfg(test)]
mod policy_diagnostics;
#[cfg(test)]
mod policy_sources;
#[cfg(test)]
mod policy_world;
#[cfg(test)]
mod reports;
#[cfg(test)]
mod sandbox_files;
#[cfg(test)]
mod sandbox_network;
#[cfg(test)]
mod sandbox_processes;
#[cfg(test)]
mod supervised;
#[cfg(test)]
mod supervision;
