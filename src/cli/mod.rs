//! The command line's jobs besides serving.

pub mod audit;
pub mod check_policy;
pub mod exit;
pub mod print;
