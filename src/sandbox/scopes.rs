//! The places of a plan as open handles.
//!
//! In: the plan and the working directory. Out: `O_PATH` descriptors with what may be done there; symlinks are never
//! followed, so that a link that was swapped in leads nowhere. Turning them into rules is left to `landlock`.

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, mkdirat, openat2};
use rustix::io::{self, Errno};

use crate::policy::confinement::ProjectAccess;
use crate::sandbox::Plan;

/// How many of the plan's outputs are made where they are missing: Playwright's own two, which come first.
const MADE_OUTPUTS: usize = 2;

/// What may be done in a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Read, list, execute.
    Read,
    /// All but executing and making device nodes.
    Write,
    /// Both of the above.
    ReadWrite,
}

/// A place, opened.
#[derive(Debug)]
pub struct Place {
    /// An `O_PATH` descriptor.
    pub handle: OwnedFd,
    /// What may be done there and below.
    pub access: Access,
}

/// The places of a plan, and those that could not be opened.
#[derive(Debug)]
pub struct Scopes {
    /// What was opened.
    pub places: Vec<Place>,
    /// What the plan names and what can't be used.
    pub unusable: Vec<PathBuf>,
}

/// Opens every place of the plan, and makes the first two outputs under `outputs`.
///
/// # Errors
///
/// The project, which is the working directory, can't be opened.
pub fn open(plan: &Plan) -> io::Result<Scopes> {
    let directory = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let project = openat2(CWD, ".", directory, Mode::empty(), ResolveFlags::empty())?;
    let mut scopes = Scopes { places: Vec::new(), unusable: Vec::new() };
    if plan.project == ProjectAccess::Outputs {
        scopes.add_outputs(&project, &plan.outputs);
    }
    let access = match plan.project {
        ProjectAccess::ReadOnly | ProjectAccess::Outputs => Access::Read,
        ProjectAccess::ReadWrite => Access::ReadWrite,
    };
    scopes.places.push(Place { handle: project, access });
    for path in &plan.read {
        match open_canonical(path) {
            Ok(handle) => scopes.places.push(Place { handle, access: Access::Read }),
            // The system list names what some systems lack; what can't be reached now, can't be later.
            Err(Errno::NOENT | Errno::NOTDIR | Errno::ACCESS) => {}
            Err(_) => scopes.unusable.push(path.clone()),
        }
    }
    for path in &plan.write {
        match open_canonical(path) {
            Ok(handle) => scopes.places.push(Place { handle, access: Access::Write }),
            Err(_) => scopes.unusable.push(path.clone()),
        }
    }
    Ok(scopes)
}

impl Scopes {
    fn add_outputs(&mut self, project: &OwnedFd, outputs: &[PathBuf]) {
        for (index, output) in outputs.iter().enumerate() {
            let mut opened = open_beneath(project, output);
            if opened.as_ref().is_err_and(|error| *error == Errno::NOENT) && index < MADE_OUTPUTS {
                opened = make_directory(project, output).and_then(|()| open_beneath(project, output));
            }
            match opened {
                Ok(handle) => self.places.push(Place { handle, access: Access::Write }),
                Err(Errno::NOENT) => {}
                Err(_) => self.unusable.push(output.clone()),
            }
        }
    }
}

/// Opens an absolute path whose symlinks were resolved before; one that appeared since is refused.
fn open_canonical(path: &Path) -> io::Result<OwnedFd> {
    let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    openat2(CWD, path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty(), resolve)
}

fn open_beneath(project: &OwnedFd, relative: &Path) -> io::Result<OwnedFd> {
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    openat2(project, relative, OFlags::PATH | OFlags::CLOEXEC, Mode::empty(), resolve)
}

fn make_directory(project: &OwnedFd, relative: &Path) -> io::Result<()> {
    let name = relative.file_name().ok_or(Errno::INVAL)?;
    let parent = relative.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    mkdirat(open_beneath(project, parent)?, name, Mode::from_raw_mode(0o777))
}
