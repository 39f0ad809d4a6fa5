//! The exit statuses, each in one place; README lists them.

use std::process::ExitCode;

/// The policy is valid, or the call is allowed.
pub fn valid() -> ExitCode {
    ExitCode::SUCCESS
}

/// The policy is invalid or insecure.
pub fn invalid() -> ExitCode {
    ExitCode::from(1)
}

/// The command line is wrong, something can't be read or written, or a named file is missing.
pub fn input_output() -> ExitCode {
    ExitCode::from(2)
}

/// The policy is valid, and warnings are denied.
pub fn warnings() -> ExitCode {
    ExitCode::from(3)
}

/// The call is denied.
pub fn denied() -> ExitCode {
    ExitCode::from(4)
}
