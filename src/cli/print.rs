//! What the program knows by itself, printed: no policy is read for it.
//!
//! In: nothing. Out: text on standard output, and an exit status.

use std::{
    io::{self, Write},
    process::ExitCode,
};

use crate::{
    cli::exit,
    policy::{denylist, source::schema::schema},
};

/// Prints the variables that no policy lets a call set, one a line.
///
/// # Errors
/// When it can't be written.
pub fn print_denylist(out: &mut impl Write) -> io::Result<ExitCode> {
    for row in denylist::rows() {
        writeln!(out, "{row}")?;
    }
    Ok(exit::valid())
}

/// Prints the JSON Schema of a policy file.
///
/// # Errors
/// When it can't be written.
pub fn print_schema(out: &mut impl Write) -> io::Result<ExitCode> {
    let schema = schema().map_err(io::Error::other)?;
    writeln!(out, "{schema:#}")?;
    Ok(exit::valid())
}
