//! Landlock: files, TCP and UDP ports, signals, abstract and path unix sockets.
//!
//! In: a plan. Out: this process restricted, and the ABI that holds. What that ABI is worth is judged in `sandbox`; what
//! Landlock does not cover is left to `seccomp` and `privileges`.
//!
//! <https://docs.kernel.org/userspace-api/landlock.html>

use std::path::PathBuf;

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, LandlockStatus, PathBeneath,
    Ruleset, RulesetAttr, RulesetCreatedAttr, RulesetError, RulesetStatus, Scope,
};

use crate::policy::confinement::{Network, UnixSockets};
use crate::sandbox::Plan;
use crate::sandbox::scopes::{self, Access};

/// The newest ABI that this code was written for; older kernels give what they have.
const NEWEST: ABI = ABI::V10;

/// What Landlock did.
#[derive(Debug)]
pub struct Restriction {
    /// The ABI in use; absent where the kernel has no Landlock or it is off.
    pub abi: Option<u32>,
    /// Paths of the plan that could not be used.
    pub unusable: Vec<PathBuf>,
}

/// Why this process could not be restricted.
#[derive(Debug, thiserror::Error)]
pub enum LandlockError {
    /// The working directory can't be opened.
    #[error("the project directory can't be opened")]
    Project(#[source] rustix::io::Errno),
    /// The kernel has Landlock and refused the rules; with 16 layers already, for one.
    #[error("the kernel refused the Landlock rules")]
    Rules(#[from] RulesetError),
}

/// Restricts this process, and all that it will start, to the plan's files, ports and scopes.
///
/// Every right is asked for in best effort: what the kernel lacks is left out, never all of it. To be called in a
/// single-threaded process after `no_new_privs` was set.
///
/// # Errors
///
/// [`LandlockError`]. A kernel without Landlock is no error but a [`Restriction`] without ABI.
pub fn restrict(plan: &Plan) -> Result<Restriction, LandlockError> {
    let scopes = scopes::open(plan).map_err(LandlockError::Project)?;
    let mut ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(NEWEST))?
        .scope(Scope::Signal | Scope::AbstractUnixSocket)?;
    if plan.network == Network::None {
        ruleset = ruleset.handle_access(AccessNet::from_all(NEWEST))?;
    }
    let mut rules = ruleset.create()?;
    for place in &scopes.places {
        // For a place that is no directory, best effort leaves out the rights of directories, which the kernel would refuse.
        rules = rules.add_rule(PathBeneath::new(&place.handle, rights(place.access, plan.unix_sockets)))?;
    }
    let status = rules.restrict_self()?;
    let abi = match (status.ruleset, status.landlock) {
        (RulesetStatus::NotEnforced, _)
        | (_, LandlockStatus::NotEnabled | LandlockStatus::NotImplemented) => None,
        (
            RulesetStatus::PartiallyEnforced | RulesetStatus::FullyEnforced,
            LandlockStatus::Available { effective_abi, .. },
        ) => u32::try_from(effective_abi as i32).ok(),
    };
    Ok(Restriction { abi, unusable: scopes.unusable })
}

/// Says which rights stand for an access.
fn rights(access: Access, unix_sockets: UnixSockets) -> BitFlags<AccessFs> {
    let all = AccessFs::from_all(NEWEST);
    let read = AccessFs::ReadFile | AccessFs::ReadDir | AccessFs::Execute;
    let mut write = all & !(AccessFs::Execute | AccessFs::MakeChar | AccessFs::MakeBlock);
    if unix_sockets == UnixSockets::Deny {
        write &= !BitFlags::from(AccessFs::ResolveUnix);
    }
    match access {
        Access::Read => read,
        Access::Write => write,
        Access::ReadWrite => read | write,
    }
}
