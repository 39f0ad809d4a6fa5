//! Black-box tests, one suite for each thing they protect.

// `cfg(test)` always holds here; it tells clippy that also the functions beside the tests may unwrap.
#[cfg(test)]
mod policy_diagnostics;
#[cfg(test)]
mod policy_sources;
#[cfg(test)]
mod policy_world;
#[cfg(test)]
mod reports;
