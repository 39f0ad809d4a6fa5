//! Our Playwright reporter, written into the run's directory.
//!
//! In: where it shall lie. Out: the file that Playwright loads, which nobody may write. What it appends to is read by
//! `report::events`.

use std::{
    fs::{DirBuilder, OpenOptions},
    io::{self, Write},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::Path,
};

/// The reporter. It works with Playwright 1.40 and later.
const SOURCE: &str = include_str!("reporter.cjs");

/// Writes the reporter, with its directory.
///
/// # Errors
/// What the kernel says; also where something lies there.
///
/// # Security
/// The run may still put another file in its place: it may write all of its directory. That gives it nothing, since
/// Playwright runs the project's config in the same process before it loads a reporter.
pub fn write(path: &Path) -> io::Result<()> {
    if let Some(directory) = path.parent() {
        DirBuilder::new().mode(0o700).create(directory)?;
    }
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o400).open(path)?;
    file.write_all(SOURCE.as_bytes())
}
