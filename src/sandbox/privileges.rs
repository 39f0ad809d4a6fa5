//! What a process gives up of its own: capabilities, the way back to them, resources.
//!
//! In: bounds. Out: a process that can gain nothing by `execve`. Which files and sockets it may use is left to `landlock`
//! and `seccomp`.

use rustix::io::{self, Errno};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::thread::{CapabilitySet, CapabilitySets, capabilities, set_capabilities};

use crate::sandbox::ProcessLimits;

/// Lowers the resource limits of this process; a limit never rises above the inherited hard limit.
///
/// # Errors
///
/// The kernel refused a limit.
pub fn limit_resources(limits: &ProcessLimits) -> io::Result<()> {
    let wanted = [
        (Resource::Nofile, limits.open_files),
        (Resource::Fsize, limits.file_bytes),
        (Resource::Data, limits.memory_bytes),
    ];
    for (resource, wanted) in wanted {
        let Some(wanted) = wanted else { continue };
        let bound = getrlimit(resource).maximum.map_or(wanted, |hard| hard.min(wanted));
        setrlimit(resource, Rlimit { current: Some(bound), maximum: Some(bound) })?;
    }
    Ok(())
}

/// Drops every capability from every set: bounding, ambient, inheritable, permitted, effective.
///
/// As root, `CAP_SYS_ADMIN` and `CAP_PERFMON` would let a run read the memory and environment of other processes past
/// Landlock's ptrace rule. A process that holds none is left as it is.
///
/// # Errors
///
/// The kernel refused; the process must not be trusted then.
pub fn drop_capabilities() -> io::Result<()> {
    let held = capabilities(None)?;
    if (held.effective | held.permitted | held.inheritable).is_empty() {
        return Ok(());
    }
    // Without CAP_SETPCAP the bounding set can't shrink; no_new_privs then keeps `execve` from granting any of it.
    if held.effective.contains(CapabilitySet::SETPCAP) {
        for number in 0..u64::BITS {
            match rustix::thread::remove_capability_from_bounding_set(CapabilitySet::from_bits_retain(
                1 << number,
            )) {
                Ok(()) => {}
                Err(Errno::INVAL) => break, // past the last capability that this kernel knows
                Err(error) => return Err(error),
            }
        }
    }
    rustix::thread::clear_ambient_capability_set()?;
    let none = CapabilitySet::empty();
    set_capabilities(None, CapabilitySets { effective: none, permitted: none, inheritable: none })
}
