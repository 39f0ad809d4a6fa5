//! Black-box tests, one suite for each thing they protect.

#[cfg(test)]
mod policy_diagnostics;
#[cfg(test)]
mod policy_sources;
#[cfg(test)]
mod policy_world;
#[cfg(test)]
mod reports;
