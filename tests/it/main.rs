//! Black-box tests, one suite for each thing they protect.

mod reports;
