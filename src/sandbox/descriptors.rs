//! Descriptors that a helper inherited and did not ask for.
//!
//! In: the process's own table. Out: only standard input, output and error stay open. An open descriptor passes every
//! later confinement, so both helpers do this before anything else.

use std::io;
use std::os::fd::RawFd;

use nix::errno::Errno;

/// The first descriptor that is not standard input, output or error.
const FIRST_OTHER: RawFd = 3;

/// Closes every descriptor from 3 upwards.
///
/// To be called first in `main`, before this process has opened anything itself.
///
/// # Errors
///
/// `/proc/self/fd` can't be listed, or a descriptor can't be closed: the helper must not go on then.
pub fn close_inherited() -> io::Result<()> {
    let mut open = Vec::new();
    for entry in std::fs::read_dir("/proc/self/fd")? {
        let name = entry?.file_name();
        if let Some(descriptor) = name.to_str().and_then(|name| name.parse::<RawFd>().ok()) {
            open.push(descriptor);
        }
    }
    for descriptor in open.into_iter().filter(|&descriptor| descriptor >= FIRST_OTHER) {
        match nix::unistd::close(descriptor) {
            // EBADF: the listing's own descriptor, closed with it.
            Ok(()) | Err(Errno::EBADF) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}
