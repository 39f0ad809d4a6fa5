//! The system call filter: which sockets a run may make, and that it sets no limits of others.
//!
//! In: a plan. Out: BPF programs, installed on this process and all that it will start. Files are left to `landlock`; other
//! system calls are not filtered yet.
//!
//! Sockets are judged when they are made, by numbers in registers: addresses lie in memory, where a filter can't look.
//! <https://docs.kernel.org/userspace-api/seccomp_filter.html>

use std::collections::BTreeMap;

use nix::libc;
use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch, sock_filter,
};

use crate::policy::confinement::{Network, UnixSockets};
use crate::sandbox::Plan;

/// Arguments of `socket(2)` and `socketpair(2)`.
const DOMAIN: u8 = 0;
const TYPE: u8 = 1;
const PROTOCOL: u8 = 2;

/// Arguments of `prlimit64(2)`: 0 is the calling process; a limit that is only read is no pointer to a new one.
const PID: u8 = 0;
const NEW_LIMIT: u8 = 2;

/// The bits of the type argument that are the type; the others are `SOCK_CLOEXEC` and `SOCK_NONBLOCK`.
const TYPE_MASK: u64 = 0xf;

/// The types of the internet families that are neither stream nor datagram. `SOCK_PACKET` (10) is the old name of a packet
/// socket.
const UNUSUAL_TYPES: [libc::c_int; 6] =
    [libc::SOCK_RAW, libc::SOCK_RDM, libc::SOCK_SEQPACKET, libc::SOCK_DCCP, 10, 0];

/// The protocols that a stream and a datagram socket may name.
const STREAM_PROTOCOLS: [libc::c_int; 3] = [0, libc::IPPROTO_TCP, libc::IPPROTO_MPTCP];
const DATAGRAM_PROTOCOLS: [libc::c_int; 2] = [0, libc::IPPROTO_UDP];

/// Why the filter is not in force.
#[derive(Debug, thiserror::Error)]
pub enum SeccompError {
    /// No filter can be made for this machine.
    #[error("the socket filter can't be compiled for this machine")]
    Compile(#[from] BackendError),
    /// The kernel refused it.
    #[error("the kernel refused the socket filter")]
    Install(#[from] seccompiler::Error),
}

/// Installs the filters of the plan.
///
/// To be called last: the filters stay, and a later step could need what they deny.
///
/// # Errors
///
/// [`SeccompError`]; some of the filters may be in force then, all of which only take away.
pub fn install(plan: &Plan) -> Result<(), SeccompError> {
    for program in programs(plan)? {
        seccompiler::apply_filter(&program)?;
    }
    Ok(())
}

/// Compiles the filters of the plan for this machine.
///
/// # Errors
///
/// [`SeccompError::Compile`] on a machine that the compiler does not know.
pub fn programs(plan: &Plan) -> Result<Vec<BpfProgram>, SeccompError> {
    let arch = TargetArch::try_from(std::env::consts::ARCH)?;
    let mut sockets = BTreeMap::from([(libc::SYS_socket, socket_rules(plan)?)]);
    if plan.unix_sockets == UnixSockets::Deny {
        sockets.insert(libc::SYS_socketpair, socketpair_rules()?);
    }
    // io_uring makes and connects sockets without any of the filtered calls.
    let rings = [libc::SYS_io_uring_setup, libc::SYS_io_uring_enter, libc::SYS_io_uring_register];
    let rings = rings.into_iter().map(|call| (call, Vec::new())).collect();
    let mut programs = Vec::new();
    if arch == TargetArch::x86_64 {
        programs.push(without_x32());
    }
    // Otherwise a run could take the descriptors of its supervisor or of the server away, and so end their work.
    let foreign_limits = SeccompRule::new(vec![compare(PID, SeccompCmpOp::Ne, 0)?, is_some(NEW_LIMIT)?])?;
    let limits = BTreeMap::from([(libc::SYS_prlimit64, vec![foreign_limits])]);
    programs.push(refusing(rings, libc::ENOSYS, arch)?);
    programs.push(refusing(limits, libc::EPERM, arch)?);
    programs.push(refusing(sockets, libc::EAFNOSUPPORT, arch)?);
    Ok(programs)
}

/// Lists what makes `socket(2)` fail.
fn socket_rules(plan: &Plan) -> Result<Vec<SeccompRule>, BackendError> {
    let mut families = vec![libc::AF_NETLINK];
    if plan.unix_sockets == UnixSockets::Allow {
        families.push(libc::AF_UNIX);
    }
    let mut rules = Vec::new();
    match plan.network {
        // No internet socket at all: a TCP socket that may neither connect nor bind could still listen, on any port.
        Network::None => {}
        Network::Open => {
            for family in [libc::AF_INET, libc::AF_INET6] {
                families.push(family);
                for unusual in UNUSUAL_TYPES {
                    rules.push(SeccompRule::new(vec![is(DOMAIN, family)?, has_type(unusual)?])?);
                }
                for (usual, protocols) in [
                    (libc::SOCK_STREAM, STREAM_PROTOCOLS.as_slice()),
                    (libc::SOCK_DGRAM, &DATAGRAM_PROTOCOLS),
                ] {
                    let mut conditions = vec![is(DOMAIN, family)?, has_type(usual)?];
                    conditions.extend(is_none_of(PROTOCOL, protocols)?);
                    rules.push(SeccompRule::new(conditions)?);
                }
            }
        }
    }
    rules.push(SeccompRule::new(is_none_of(DOMAIN, &families)?)?);
    Ok(rules)
}

/// Lists what makes `socketpair(2)` fail where unix sockets are denied: pairs of datagram sockets. Unlike a stream, such a
/// socket can be turned on any path afterwards, with `sendto(2)` or a second `connect(2)`; the journal's, for one. The
/// kernel makes a datagram socket of `SOCK_RAW` as well.
fn socketpair_rules() -> Result<Vec<SeccompRule>, BackendError> {
    [libc::SOCK_DGRAM, libc::SOCK_RAW]
        .into_iter()
        .map(|kind| SeccompRule::new(vec![has_type(kind)?]))
        .collect()
}

fn is(argument: u8, value: libc::c_int) -> Result<SeccompCondition, BackendError> {
    compare(argument, SeccompCmpOp::Eq, value)
}

/// Whether a pointer is not null.
fn is_some(argument: u8) -> Result<SeccompCondition, BackendError> {
    SeccompCondition::new(argument, SeccompCmpArgLen::Qword, SeccompCmpOp::Ne, 0)
}

fn has_type(kind: libc::c_int) -> Result<SeccompCondition, BackendError> {
    compare(TYPE, SeccompCmpOp::MaskedEq(TYPE_MASK), kind)
}

fn is_none_of(argument: u8, values: &[libc::c_int]) -> Result<Vec<SeccompCondition>, BackendError> {
    values.iter().map(|&value| compare(argument, SeccompCmpOp::Ne, value)).collect()
}

/// Compares the low half of a register, which is all that the kernel reads of an `int`.
fn compare(
    argument: u8,
    operator: SeccompCmpOp,
    value: libc::c_int,
) -> Result<SeccompCondition, BackendError> {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, operator, u64::from(value.cast_unsigned()))
}

/// Compiles a filter that fails what matches with `errno`, allows the rest, and kills on system calls of another machine
/// (`int 0x80`).
fn refusing(
    rules: BTreeMap<i64, Vec<SeccompRule>>,
    errno: libc::c_int,
    arch: TargetArch,
) -> Result<BpfProgram, BackendError> {
    let action = SeccompAction::Errno(errno.cast_unsigned());
    SeccompFilter::new(rules, SeccompAction::Allow, action, arch)?.try_into()
}

/// Fails the x32 calls of a 64-bit kernel with `ENOSYS`: they bear the same architecture and other numbers, so that no other
/// filter sees them. The number is the first word of `struct seccomp_data`.
fn without_x32() -> BpfProgram {
    const X32_SYSCALL_BIT: u32 = 0x4000_0000;
    const LOAD_WORD: u16 = 0x20;
    const JUMP_IF_GREATER_OR_EQUAL: u16 = 0x35;
    const RETURN: u16 = 0x06;
    vec![
        sock_filter { code: LOAD_WORD, jt: 0, jf: 0, k: 0 },
        sock_filter { code: JUMP_IF_GREATER_OR_EQUAL, jt: 0, jf: 1, k: X32_SYSCALL_BIT },
        sock_filter { code: RETURN, jt: 0, jf: 0, k: libc::SECCOMP_RET_ERRNO | libc::ENOSYS.cast_unsigned() },
        sock_filter { code: RETURN, jt: 0, jf: 0, k: libc::SECCOMP_RET_ALLOW },
    ]
}
