//! A program of attacks: what a test's code could try against the machine it runs on.
//!
//! In: the name of one act and its arguments. Out: one line, `ok` or the name of the error. The suites of `tests/it` run it
//! inside the sandbox and, as the control, outside.

#![expect(clippy::print_stdout, clippy::exit, reason = "the answer of this program is its output")]
#![expect(clippy::disallowed_methods, reason = "this program does what the product must not")]
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a wrong call of this program fails its test"
)]
#![expect(clippy::panic, reason = "a wrong call of this program fails its test")]

mod files;
mod processes;
mod sockets;

use std::io;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let act = arguments[0].as_str();
    let rest: Vec<&str> = arguments[1..].iter().map(String::as_str).collect();
    let done = files::run(act, &rest)
        .or_else(|| sockets::run(act, &rest))
        .or_else(|| processes::run(act, &rest))
        .unwrap_or_else(|| panic!("there is no attack `{act}`"));
    println!("{}", verdict(&done));
}

/// Names the outcome: `ok`, what was found, or the error as `errno(3)` has it.
fn verdict(done: &io::Result<String>) -> String {
    match done {
        Ok(found) if found.is_empty() => "ok".to_owned(),
        Ok(found) => found.clone(),
        Err(error) => match error.raw_os_error() {
            Some(number) => format!("{:?}", nix::errno::Errno::from_raw(number)),
            None => error.to_string(),
        },
    }
}
