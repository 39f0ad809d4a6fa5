//! Where a process starts: by its first argument it is a helper or the server.

use std::process::ExitCode;

use playwright_warden::{runner, sandbox};

fn main() -> ExitCode {
    match std::env::args_os().nth(1).as_deref().and_then(std::ffi::OsStr::to_str) {
        Some("supervise") => runner::supervise::main(),
        Some("confine") => sandbox::confine::main(),
        Some(_) | None => ExitCode::from(2),
    }
}
