//! From terms to a plan: which places a run may read and write.
//!
//! In: the terms of an allowed run and where its things are. Out: a [`Plan`] of canonical paths. Nothing here comes
//! from a variable that a client sets. Applying the plan is left to `confine`.

use std::{
    collections::BTreeSet,
    ffi::OsStr,
    path::{Path, PathBuf},
};

use thiserror::Error;

use crate::{
    install::Installation,
    path::{
        handle::{DirHandle, EntryKind},
        locate::{Found, locate},
        project::ProjectDir,
        walk::{Descend, walk},
    },
    policy::{
        confinement::{ProjectAccess, SandboxMode},
        decision::{RunTerms, SandboxTerms},
        request::run_tests::UpdateSnapshots,
        toolchains::TOOLCHAINS,
    },
    run_dir::RunPaths,
    sandbox::{Plan, ProcessLimits},
};

/// What every run may read: programs and their libraries, and the files that they can't start without.
///
/// Found by taking one after the other away; see docs/threat-model.md for what stays visible through it.
const SYSTEM: &[&str] = &[
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/opt/google",
    "/opt/microsoft",
    "/opt/hostedtoolcache",
    "/ms-playwright",
    "/nix/store",
    "/etc/alternatives",
    "/etc/ca-certificates",
    "/etc/chromium",
    "/etc/chromium.d",
    "/etc/debian_version",
    "/etc/fonts",
    "/etc/gai.conf",
    "/etc/host.conf",
    "/etc/hosts",
    "/etc/ld.so.cache",
    "/etc/localtime",
    "/etc/mime.types",
    "/etc/nsswitch.conf",
    "/etc/os-release",
    "/etc/pki/tls/certs",
    "/etc/resolv.conf",
    "/etc/ssl/certs",
    "/etc/ssl/openssl.cnf",
    "/etc/timezone",
    "/var/cache/fontconfig",
    "/proc",
    "/sys/devices/system/cpu",
    "/sys/fs/cgroup",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
    "/dev/zero",
];

/// What every run may write besides its own places.
const DEVICES: &[&str] = &["/dev/null"];

/// The files of the directories above a project that Node, TypeScript and Playwright look at.
const CONFIGURATION: &[&str] = &["package.json", "tsconfig", "jsconfig"];

/// Where the things of a run are.
#[derive(Clone, Copy, Debug)]
pub struct Places<'run> {
    /// The granted project.
    pub project: &'run ProjectDir,
    /// What it is started with.
    pub installation: &'run Installation,
    /// The run's own directory.
    pub run: &'run RunPaths,
    /// Where Playwright keeps compiled sources of this project between confined runs.
    pub transform_cache: &'run Path,
    /// The user's home, from the user database.
    pub home: &'run Path,
}

/// Why no plan can be made.
#[derive(Debug, Error)]
pub enum PlanError {
    /// A program that must be started lies where a run may not read.
    #[error("`{}` lies outside what a run may read", .0.display())]
    OutsideReadScope(PathBuf),
}

impl PlanError {
    /// The policy key to change.
    pub fn key(&self) -> &'static str {
        "sandbox.read"
    }
}

impl Plan {
    /// Makes the plan of a run.
    ///
    /// # Errors
    /// [`PlanError`] when Node or Playwright lie outside the read scope.
    pub fn of(terms: &RunTerms, places: Places<'_>) -> Result<Self, PlanError> {
        let sandbox = &terms.sandbox;
        let home = |part: &&str| places.home.join(part);
        let mut read = BTreeSet::new();
        read.extend(SYSTEM.iter().filter_map(|path| canonical(Path::new(path))));
        read.extend(TOOLCHAINS.iter().map(home).filter_map(|path| canonical(&path)));
        read.extend(sandbox.read.iter().filter_map(|path| canonical(path)));
        let workspace = workspace(places.project.path(), &terms.scope);
        read.extend(workspace.ancestors().skip(1).flat_map(what_node_looks_at));
        read.insert(workspace);
        let mut write: BTreeSet<PathBuf> = DEVICES.iter().map(PathBuf::from).collect();
        write.extend([places.run.root.clone(), places.transform_cache.to_owned()]);
        write.extend(sandbox.write.iter().filter_map(|path| canonical(path)));
        if sandbox.mode != SandboxMode::Off {
            for program in [&places.installation.node, &places.installation.cli] {
                let covered = |scope: &PathBuf| program.starts_with(scope);
                if !read.iter().chain(&write).any(covered) && !program.starts_with(places.project.path()) {
                    return Err(PlanError::OutsideReadScope(program.clone()));
                }
            }
        }
        let mut outputs = sandbox.outputs.clone();
        if sandbox.project == ProjectAccess::Outputs && writes_snapshots(terms) {
            outputs.extend(snapshot_directories(places.project.dir()));
        }
        Ok(Self {
            mode: sandbox.mode,
            read: read.into_iter().collect(),
            write: write.into_iter().collect(),
            project: sandbox.project,
            outputs,
            protect: sandbox.protect.clone(),
            network: sandbox.network,
            unix_sockets: sandbox.unix_sockets,
            limits: ProcessLimits {
                open_files: terms.limits.open_files().value.bound(),
                file_bytes: terms.limits.file_bytes().value.bytes(),
                memory_bytes: terms.limits.memory_bytes_per_process().value.bytes(),
            },
        })
    }

    /// What every run on these terms asks of the kernel, without the places, which differ from run to run: for a trial
    /// of what holds.
    pub fn without_places(terms: &SandboxTerms) -> Self {
        Self {
            mode: terms.mode,
            read: Vec::new(),
            write: Vec::new(),
            // A trial must not make a project's output directories.
            project: if terms.project == ProjectAccess::Outputs {
                ProjectAccess::ReadOnly
            } else {
                terms.project
            },
            outputs: Vec::new(),
            protect: terms.protect.clone(),
            network: terms.network,
            unix_sockets: terms.unix_sockets,
            limits: ProcessLimits::default(),
        }
    }
}

fn writes_snapshots(terms: &RunTerms) -> bool {
    matches!(
        terms.options.update_snapshots,
        Some(UpdateSnapshots::All | UpdateSnapshots::Changed | UpdateSnapshots::Missing)
    )
}

/// The path without symlinks; `None` where nothing is.
fn canonical(path: &Path) -> Option<PathBuf> {
    locate(path).ok().filter(|location| location.found != Found::Missing).map(|location| location.path)
}

/// The nearest directory with `.git` from the project upwards, within what the admitting entry matched.
fn workspace(project: &Path, scope: &Path) -> PathBuf {
    let within = project.ancestors().take_while(|directory| directory.starts_with(scope));
    let mut with_git = within.filter(|directory| directory.join(".git").exists());
    with_git.next().unwrap_or(project).to_owned()
}

/// What is read of a directory above the workspace. Links are left out: they could lead anywhere.
fn what_node_looks_at(directory: &Path) -> Vec<PathBuf> {
    let Ok(handle) = DirHandle::open(directory) else { return Vec::new() };
    let wanted = |name: &OsStr, kind: EntryKind| match kind {
        EntryKind::Directory => name == "node_modules",
        EntryKind::File => {
            let name = name.to_string_lossy();
            name.ends_with(".json") && CONFIGURATION.iter().any(|start| name.starts_with(start))
        }
        EntryKind::Other => false,
    };
    let entries = handle.list(None).unwrap_or_default().into_iter();
    entries.filter(|(name, kind)| wanted(name, *kind)).map(|(name, _)| directory.join(name)).collect()
}

/// The directories in which Playwright keeps snapshots, relative to the project.
fn snapshot_directories(project: &DirHandle) -> Vec<PathBuf> {
    let mut found = Vec::new();
    walk(project, |path, kind| {
        let name = path.as_path().file_name().unwrap_or_default().to_string_lossy();
        let holds_snapshots = name.ends_with("-snapshots") || name == "__snapshots__";
        if holds_snapshots && kind == EntryKind::Directory {
            found.push(path.as_path().to_owned());
        }
        if holds_snapshots || name == ".git" { Descend::Past } else { Descend::Into }
    });
    found
}
