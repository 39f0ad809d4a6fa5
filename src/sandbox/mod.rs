//! How terms bind a child: the plan as data, and what of it really holds.
//!
//! In: nothing; these are the types. Out: what the plan asks, and the judgement over what the kernel gave. Applying it is
//! left to `confine`, `landlock` and `seccomp`.

use std::fmt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::policy::confinement::{Network, ProjectAccess, SandboxMode, UnixSockets};

pub mod confine;
pub mod descriptors;
pub mod invocation;
pub mod landlock;
pub mod os_text;
pub mod plan;
pub mod privileges;
pub mod refusal;
pub mod scopes;
pub mod seccomp;

/// What shall hold for one run: plain data, so that it can be shown, compared and sent to the helper.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// Whether the run may start with less than the plan asks.
    pub mode: SandboxMode,
    /// What may be read, listed and executed, besides the project: absolute paths, symlinks resolved.
    #[serde(with = "os_text::list")]
    pub read: Vec<PathBuf>,
    /// What may be written as well: absolute paths, symlinks resolved.
    #[serde(with = "os_text::list")]
    pub write: Vec<PathBuf>,
    /// What may be done to the project, which is the helper's working directory.
    pub project: ProjectAccess,
    /// Output directories beneath the project that may be written under `outputs`, relative to it.
    #[serde(with = "os_text::list")]
    pub outputs: Vec<PathBuf>,
    /// Names in the project that shall stay as they are; they need mounts, which this version does not make.
    #[serde(with = "os_text::list")]
    pub protect: Vec<PathBuf>,
    /// What network the run has.
    pub network: Network,
    /// Whether the run may make unix sockets.
    pub unix_sockets: UnixSockets,
    /// Bounds of each process.
    pub limits: ProcessLimits,
}

impl Plan {
    /// Lists what the plan asks of the kernel, in the order of [`Feature`]; under `off` that is nothing.
    pub fn asks(&self) -> Vec<Feature> {
        if self.mode == SandboxMode::Off {
            return Vec::new();
        }
        let mut asked = vec![Feature::Files, Feature::Signals];
        if self.unix_sockets == UnixSockets::Deny {
            asked.push(Feature::UnixSockets);
        }
        if self.network == Network::None {
            asked.extend([Feature::Tcp, Feature::Udp]);
        }
        if self.project == ProjectAccess::ReadWrite && !self.protect.is_empty() {
            asked.push(Feature::Protect);
        }
        asked
    }
}

/// Resource limits of each process of a run; `None` leaves the inherited limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessLimits {
    /// `RLIMIT_NOFILE`, in descriptors.
    pub open_files: Option<u64>,
    /// `RLIMIT_FSIZE`, in bytes.
    pub file_bytes: Option<u64>,
    /// `RLIMIT_DATA`, in bytes.
    pub memory_bytes: Option<u64>,
}

/// One thing that a plan asks of the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Feature {
    /// Files outside the scopes can be neither read nor written.
    Files,
    /// Processes outside the run can't be signalled.
    Signals,
    /// No unix sockets but connected socket pairs.
    UnixSockets,
    /// No TCP.
    Tcp,
    /// No UDP, no other transport.
    Udp,
    /// The names of `sandbox.protect` stay as they are.
    Protect,
}

impl Feature {
    /// Names the feature as it stands in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Files => "files",
            Self::Signals => "signals",
            Self::UnixSockets => "unix_sockets",
            Self::Tcp => "tcp",
            Self::Udp => "udp",
            Self::Protect => "protect",
        }
    }

    /// Names the policy key that asks for the feature.
    pub const fn policy_key(self) -> &'static str {
        match self {
            Self::Files | Self::Signals => "sandbox.mode",
            Self::UnixSockets => "sandbox.unix_sockets",
            Self::Tcp | Self::Udp => "sandbox.network",
            Self::Protect => "sandbox.protect",
        }
    }
}

/// Which part of the kernel enforces a feature.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Enforcer {
    /// Landlock rules.
    Landlock,
    /// A seccomp filter.
    Seccomp,
}

impl Enforcer {
    /// Names the layer for people.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Landlock => "Landlock",
            Self::Seccomp => "seccomp",
        }
    }
}

/// Whether the socket filter is in force.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SocketFilter {
    /// The kernel took it.
    Installed,
    /// The kernel has no seccomp filters, or refused it.
    Missing,
}

/// How much of what was asked is enforced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// All of it.
    Full,
    /// Some of it; [`Enforcement::missing`] says what is not.
    Partial,
    /// Nothing.
    Absent,
}

impl Level {
    /// Names the level as it stands in answers.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Partial => "partial",
            Self::Absent => "absent",
        }
    }
}

/// What really holds for one run, by which layer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Enforcement {
    /// How much of what was asked is enforced.
    pub level: Level,
    /// What is enforced, and by what; a feature that two layers enforce stands here twice.
    pub enforced: Vec<(Feature, Enforcer)>,
    /// What was asked and is not enforced.
    pub missing: Vec<Feature>,
    /// The Landlock ABI in use; absent where the kernel has none.
    pub landlock_abi: Option<u32>,
    /// Paths of the plan that could not be opened, so that nothing is allowed there.
    #[serde(with = "os_text::list")]
    pub unusable: Vec<PathBuf>,
}

impl Enforcement {
    /// Judges what holds of `plan`, given the Landlock ABI in use and the fate of the socket filter.
    pub fn judge(
        plan: &Plan,
        landlock_abi: Option<u32>,
        filter: SocketFilter,
        unusable: Vec<PathBuf>,
    ) -> Self {
        let asked = plan.asks();
        let enforced: Vec<_> = asked
            .iter()
            .flat_map(|&feature| {
                enforcers(feature, landlock_abi, filter).into_iter().map(move |by| (feature, by))
            })
            .collect();
        let missing: Vec<_> = asked
            .iter()
            .copied()
            .filter(|asked| enforced.iter().all(|(feature, _)| feature != asked))
            .collect();
        let level = match (enforced.is_empty(), missing.is_empty()) {
            (true, _) => Level::Absent,
            (false, false) => Level::Partial,
            (false, true) => Level::Full,
        };
        Self { level, enforced, missing, landlock_abi, unusable }
    }
}

impl fmt::Display for Enforcement {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list =
            |names: Vec<String>| if names.is_empty() { "nothing".to_owned() } else { names.join(", ") };
        let enforced =
            self.enforced.iter().map(|(feature, by)| format!("{} by {}", feature.name(), by.name()));
        let missing = self.missing.iter().map(|feature| feature.name().to_owned());
        write!(formatter, "{} (", self.level.name())?;
        match self.landlock_abi {
            Some(abi) => write!(formatter, "Landlock ABI {abi}")?,
            None => formatter.write_str("no Landlock")?,
        }
        write!(formatter, "); enforced: {}; missing: {}", list(enforced.collect()), list(missing.collect()))
    }
}

/// Names the layers that enforce a feature by themselves or, for a second lock, beside the filter.
///
/// Landlock alone is no boundary for TCP and UDP: MPTCP, TCP fast open, SCTP and raw sockets pass it
/// (<https://github.com/landlock-lsm/linux/issues/41>, <https://github.com/landlock-lsm/linux/issues/54>).
/// Below ABI 3 files could be truncated anywhere.
fn enforcers(feature: Feature, landlock_abi: Option<u32>, filter: SocketFilter) -> Vec<Enforcer> {
    let abi = landlock_abi.unwrap_or(0);
    let filtered = filter == SocketFilter::Installed;
    let (by_landlock, by_seccomp) = match feature {
        Feature::Files => (abi >= 3, false),
        Feature::Signals => (abi >= 6, false),
        Feature::UnixSockets => (abi >= 9, filtered),
        Feature::Tcp => (abi >= 4 && filtered, filtered),
        Feature::Udp => (abi >= 10 && filtered, filtered),
        Feature::Protect => (false, false),
    };
    [(by_landlock, Enforcer::Landlock), (by_seccomp, Enforcer::Seccomp)]
        .into_iter()
        .filter_map(|(holds, by)| holds.then_some(by))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    type Row<'a> = (&'a str, &'a Plan, Option<u32>, SocketFilter, Level, &'a [Feature]);

    fn plan() -> Plan {
        Plan {
            mode: SandboxMode::Require,
            read: vec![],
            write: vec![],
            project: ProjectAccess::ReadOnly,
            outputs: vec![],
            protect: vec![".git".into()],
            network: Network::None,
            unix_sockets: UnixSockets::Deny,
            limits: ProcessLimits::default(),
        }
    }

    #[test]
    fn the_level_is_full_only_when_all_that_is_asked_holds() {
        use Feature::{Files, Protect, Signals, Tcp, Udp, UnixSockets as Unix};
        let strict = plan();
        let open = Plan { network: Network::Open, ..plan() };
        let sockets_free = Plan { network: Network::Open, unix_sockets: UnixSockets::Allow, ..plan() };
        let writable = Plan { project: ProjectAccess::ReadWrite, ..plan() };
        let off = Plan { mode: SandboxMode::Off, ..plan() };
        let (yes, no) = (SocketFilter::Installed, SocketFilter::Missing);
        let rows: [Row<'_>; 12] = [
            ("all layers", &strict, Some(7), yes, Level::Full, &[]),
            ("all layers, network open", &open, Some(6), yes, Level::Full, &[]),
            ("no signal scope before ABI 6", &open, Some(5), yes, Level::Partial, &[Signals]),
            ("no truncate right before ABI 3", &open, Some(2), yes, Level::Partial, &[Files, Signals]),
            ("no Landlock", &strict, None, yes, Level::Partial, &[Files, Signals]),
            ("no seccomp", &strict, Some(7), no, Level::Partial, &[Unix, Tcp, Udp]),
            ("no seccomp, ABI 9 denies unix paths", &strict, Some(9), no, Level::Partial, &[Tcp, Udp]),
            ("nothing", &strict, None, no, Level::Absent, &[Files, Signals, Unix, Tcp, Udp]),
            ("no seccomp needed", &sockets_free, Some(6), no, Level::Full, &[]),
            ("protect needs mounts", &writable, Some(10), yes, Level::Partial, &[Protect]),
            (
                "nothing to protect",
                &Plan { protect: vec![], ..writable.clone() },
                Some(6),
                yes,
                Level::Full,
                &[],
            ),
            ("off asks nothing", &off, Some(10), yes, Level::Absent, &[]),
        ];
        for (name, plan, abi, filter, level, missing) in rows {
            let found = Enforcement::judge(plan, abi, filter, vec![]);
            assert_eq!((found.level, found.missing.as_slice()), (level, missing), "{name}");
        }
    }

    #[test]
    fn a_feature_that_two_layers_enforce_names_both() {
        let found = Enforcement::judge(&plan(), Some(10), SocketFilter::Installed, vec![]);
        let udp: Vec<_> = found.enforced.iter().filter(|(feature, _)| *feature == Feature::Udp).collect();
        assert_eq!(udp, [&(Feature::Udp, Enforcer::Landlock), &(Feature::Udp, Enforcer::Seccomp)]);
    }
}
