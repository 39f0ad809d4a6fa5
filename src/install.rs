//! Node, Playwright's `cli.js` and its version, found as the project has them; nothing is ever downloaded.
//!
//! In: a granted project and the server's `PATH`. Out: an [`Installation`](crate::install::Installation). Whether the
//! places found may be read by a run is left to `sandbox`, how they are started to `runner`.

use std::{ffi::OsStr, fmt, path::PathBuf, str::FromStr};

use rustix::fs::Access;
use thiserror::Error;

use crate::path::{
    PathError, RelPath,
    handle::{DirHandle, EntryKind},
    locate::locate,
    project::ProjectDir,
    walk::{unless_hidden, walk},
};

/// A `package.json` larger than this, in bytes, is none.
const PACKAGE_BYTES: u64 = 1_000_000;
/// So many of the configs found are told.
const CONFIGS_TOLD: usize = 8;

/// Why a project's tests can't be started.
#[derive(Debug, Error)]
pub enum InstallError {
    /// No `node` on the server's `PATH`.
    #[error("there is no `node` on the server's PATH")]
    NodeNotFound,
    /// Neither `@playwright/test` nor `playwright` is installed in the project or above it.
    #[error("Playwright is not installed in this project{}", listed(.configs))]
    PlaywrightNotFound {
        /// Directories below that hold a Playwright config, relative to the project.
        configs: Vec<String>,
    },
    /// The project uses Yarn's Plug'n'Play, which has no `node_modules` to find Playwright in.
    #[error("this project uses Yarn Plug'n'Play, in which Playwright can't be found or confined")]
    PlugAndPlay,
    /// The version can't be read.
    #[error("the installed Playwright has no readable version")]
    NoVersion(#[source] Option<PathError>),
}

impl InstallError {
    /// What to do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::NodeNotFound => {
                "install Node.js, or put its directory on the PATH that the MCP client gives to the server"
            }
            Self::PlaywrightNotFound { configs } if !configs.is_empty() => {
                "pass the directory that holds the Playwright config as workingDirectory"
            }
            Self::PlaywrightNotFound { .. } => {
                "in the project: npm install --save-dev @playwright/test && npx playwright install"
            }
            Self::PlugAndPlay => "set `nodeLinker: node-modules` in .yarnrc.yml and run `yarn install`",
            Self::NoVersion(_) => "reinstall it: npm install --save-dev @playwright/test",
        }
    }
}

fn listed(configs: &[String]) -> String {
    if configs.is_empty() {
        String::new()
    } else {
        format!("; configs were found in: {}", configs.join(", "))
    }
}

/// A Playwright version, compared by its numbers.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PlaywrightVersion {
    major: u32,
    minor: u32,
    patch: u32,
}

impl PlaywrightVersion {
    /// Whether this is at least `1.minor`.
    pub fn is_at_least(&self, minor: u32) -> bool {
        (self.major, self.minor) >= (1, minor)
    }
}

impl FromStr for PlaywrightVersion {
    type Err = InstallError;

    fn from_str(text: &str) -> Result<Self, InstallError> {
        let mut numbers = text.split(['.', '-', '+']).map(str::parse);
        match (numbers.next(), numbers.next(), numbers.next()) {
            (Some(Ok(major)), Some(Ok(minor)), Some(Ok(patch))) => Ok(Self { major, minor, patch }),
            _ => Err(InstallError::NoVersion(None)),
        }
    }
}

impl fmt::Display for PlaywrightVersion {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

/// What a project's tests are started with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Installation {
    /// Node's executable, symlinks resolved.
    pub node: PathBuf,
    /// Playwright's `cli.js`, symlinks resolved.
    pub cli: PathBuf,
    /// Playwright's version.
    pub version: PlaywrightVersion,
}

impl Installation {
    /// Finds what a project is started with.
    ///
    /// # Errors
    /// [`InstallError`] for what is missing, with what to do.
    pub fn find(project: &ProjectDir, search_path: &OsStr) -> Result<Self, InstallError> {
        let (cli, version) = find_playwright(project)?;
        Ok(Self { node: find_node(search_path)?, cli, version })
    }
}

/// Finds the first executable `node` on a search path and resolves its symlinks.
///
/// # Errors
/// [`InstallError::NodeNotFound`] when there is none.
pub fn find_node(search_path: &OsStr) -> Result<PathBuf, InstallError> {
    std::env::split_paths(search_path)
        .filter(|directory| directory.is_absolute())
        .map(|directory| directory.join("node"))
        .filter(|node| node.is_file() && rustix::fs::access(node, Access::EXEC_OK).is_ok())
        .find_map(|node| Some(locate(&node).ok()?.path))
        .ok_or(InstallError::NodeNotFound)
}

/// Walks up from the project as Node does, and takes the first Playwright.
fn find_playwright(project: &ProjectDir) -> Result<(PathBuf, PlaywrightVersion), InstallError> {
    for directory in project.path().ancestors() {
        for package in ["@playwright/test", "playwright"] {
            let Ok(package) = DirHandle::open(&directory.join("node_modules").join(package)) else {
                continue;
            };
            let cli = package.path().join("cli.js");
            if cli.is_file() {
                return Ok((cli, version(&package)?));
            }
        }
    }
    let exists = |name: &str| {
        let name = RelPath::parse(name).ok();
        name.is_some_and(|name| project.dir().kind_of(&name).ok().flatten().is_some())
    };
    if exists(".pnp.cjs") || exists(".pnp.loader.mjs") {
        return Err(InstallError::PlugAndPlay);
    }
    Err(InstallError::PlaywrightNotFound { configs: configs_below(project.dir()) })
}

fn version(package: &DirHandle) -> Result<PlaywrightVersion, InstallError> {
    #[derive(serde::Deserialize)]
    struct Manifest {
        version: String,
    }
    let unreadable = |error| InstallError::NoVersion(Some(error));
    let name = RelPath::parse("package.json").map_err(unreadable)?;
    // Package managers link the files of their store, so a manifest may have many names.
    let manifest = package.open_linked_file(&name, PACKAGE_BYTES).map_err(unreadable)?.text().ok();
    let manifest = manifest.and_then(|text| serde_json::from_str::<Manifest>(&text).ok());
    manifest.ok_or(InstallError::NoVersion(None))?.version.parse()
}

/// The directories below that hold a Playwright config, nearest first, for the message of an error.
fn configs_below(project: &DirHandle) -> Vec<String> {
    let mut found = Vec::new();
    walk(project, |path, kind| {
        let name = path.as_path().file_name().unwrap_or_default().to_string_lossy();
        if kind == EntryKind::File && name.starts_with("playwright.config.") {
            let directory = path.as_path().parent().map(|directory| directory.display().to_string());
            found.extend(directory.filter(|directory| !directory.is_empty()));
        }
        unless_hidden(path)
    });
    found.truncate(CONFIGS_TOLD);
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_by_their_numbers() {
        let version = |text: &str| text.parse::<PlaywrightVersion>().unwrap();
        assert!(version("1.50.0").is_at_least(50));
        assert!(version("1.65.1").is_at_least(50));
        assert!(version("2.0.0-alpha.3").is_at_least(50));
        assert!(!version("1.9.2").is_at_least(50));
        assert!("next".parse::<PlaywrightVersion>().is_err());
    }

    #[test]
    fn node_is_the_first_executable_on_an_absolute_search_path() {
        let root = tempfile::tempdir().unwrap();
        let at = |name: &str| root.path().join(name);
        for name in ["none", "plain", "real", "link"] {
            std::fs::create_dir(at(name)).unwrap();
        }
        std::fs::write(at("plain/node"), "").unwrap();
        std::fs::write(at("real/node22"), "").unwrap();
        std::fs::set_permissions(at("real/node22"), std::os::unix::fs::PermissionsExt::from_mode(0o755))
            .unwrap();
        std::os::unix::fs::symlink("../real/node22", at("link/node")).unwrap();
        let path =
            std::env::join_paths([PathBuf::from("relative"), at("none"), at("plain"), at("link")]).unwrap();
        let expected = DirHandle::open(&at("real")).unwrap().path().join("node22");
        assert_eq!(find_node(&path).unwrap(), expected);
        assert!(matches!(find_node(OsStr::new("")), Err(InstallError::NodeNotFound)));
    }
}
