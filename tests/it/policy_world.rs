//! The world that the suites on policies work in: a user, his directories, and his policy.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use playwright_warden::policy::diagnostic::{DiagnosticCode, Severity};
use playwright_warden::policy::excerpt::Style;
use playwright_warden::policy::source::Inputs;
use playwright_warden::policy::source::system::SystemDir;
use playwright_warden::policy::{Loaded, Policy, load};

/// A user with a home, a launch directory `launch`, and a safe directory for policies; nothing else is near.
pub(crate) struct World {
    root: tempfile::TempDir,
    pub(crate) inputs: Inputs,
}

impl World {
    pub(crate) fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().canonicalize_for_tests();
        for dir in ["launch/shop", "home/.config/playwright-warden", "policies", "etc"] {
            std::fs::create_dir_all(path.join(dir)).unwrap();
        }
        for dir in ["policies", "etc", "home/.config/playwright-warden"] {
            std::fs::set_permissions(path.join(dir), Permissions::from_mode(0o700)).unwrap();
        }
        let inputs = Inputs {
            launch_dir: path.join("launch"),
            environment: std::iter::empty::<(String, String)>().collect(),
            home: Some(path.join("home")),
            uid: rustix::process::geteuid().as_raw(),
            policy_option: None,
            system_dir: SystemDir {
                path: path.join("etc/playwright-warden"),
                owner_uid: rustix::process::geteuid().as_raw(),
            },
            state_dir: Some(path.join("state")),
            program: None,
        };
        Self { root, inputs }
    }

    pub(crate) fn path(&self, relative: &str) -> PathBuf {
        self.root.path().canonicalize_for_tests().join(relative)
    }

    pub(crate) fn write(&self, relative: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(relative);
        std::fs::write(&path, content).unwrap();
        std::fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
        path
    }

    pub(crate) fn with_policy(mut self, content: impl AsRef<[u8]>) -> Self {
        self.inputs.policy_option = Some(self.write("policies/policy.toml", content));
        self
    }

    /// As [`Self::with_policy`], with the `version` that every policy starts with.
    pub(crate) fn with_rules(self, text: impl Display) -> Self {
        self.with_policy(format!("version = 1\n{text}"))
    }

    /// Writes a file of the system's policy, by its name in `/etc/playwright-warden`.
    pub(crate) fn with_system(self, name: &str, content: &str) -> Self {
        let path = self.inputs.system_dir.path.join(name);
        let dir = path.parent().unwrap();
        std::fs::create_dir_all(dir).unwrap();
        for dir in [dir, &self.inputs.system_dir.path] {
            std::fs::set_permissions(dir, Permissions::from_mode(0o755)).unwrap();
        }
        std::fs::write(&path, content).unwrap();
        std::fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
        self
    }

    pub(crate) fn with_variables(mut self, variables: &[(&str, &str)]) -> Self {
        let root = self.path("");
        let root = root.to_str().unwrap().trim_end_matches('/').to_owned();
        self.inputs.environment = variables
            .iter()
            .map(|(name, value)| ((*name).to_owned(), value.replace("{root}", &root)))
            .collect();
        self
    }

    pub(crate) fn load(&self) -> Loaded {
        load(&self.inputs)
    }

    pub(crate) fn policy(&self) -> Policy {
        let loaded = self.load();
        loaded.policy.unwrap_or_else(|| panic!("{:#?}", loaded.diagnostics))
    }

    pub(crate) fn rendered(&self) -> String {
        self.redact(&self.load().render(Style::Plain))
    }

    pub(crate) fn redact(&self, text: &str) -> String {
        text.replace(self.path("").to_str().unwrap().trim_end_matches('/'), "[ROOT]")
    }

    pub(crate) fn codes(&self) -> Vec<(Severity, DiagnosticCode)> {
        self.load().diagnostics.into_iter().map(|finding| (finding.severity, finding.code)).collect()
    }

    pub(crate) fn errors(&self) -> Vec<DiagnosticCode> {
        let codes = self.codes().into_iter();
        codes.filter(|(severity, _)| *severity == Severity::Error).map(|(_, code)| code).collect()
    }

    pub(crate) fn warns(&self, code: DiagnosticCode) -> bool {
        self.codes().contains(&(Severity::Warning, code))
    }
}

trait CanonicalForTests {
    fn canonicalize_for_tests(&self) -> PathBuf;
}

impl CanonicalForTests for Path {
    /// By way of the code under test, which has its own table of cases.
    fn canonicalize_for_tests(&self) -> PathBuf {
        playwright_warden::path::locate::locate(self).unwrap().path
    }
}

/// Reads a file of the repository.
pub(crate) fn bytes(path: &Path) -> Vec<u8> {
    use std::io::Read;
    let mut content = Vec::new();
    std::fs::OpenOptions::new().read(true).open(path).unwrap().read_to_end(&mut content).unwrap();
    content
}

/// The policies of `tests/fixtures/policies`, by the names of their files.
pub(crate) fn fixtures(kind: &str) -> BTreeMap<String, Vec<u8>> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/policies").join(kind);
    let files = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    let files: BTreeMap<_, _> =
        files.map(|path| (path.file_stem().unwrap().to_str().unwrap().to_owned(), bytes(&path))).collect();
    assert!(files.len() > 3, "the fixtures are there");
    files
}

/// The codes that `#~` names in a fixture, each with its line, sorted.
pub(crate) fn expected(fixture: &[u8]) -> Vec<(usize, String)> {
    let text = String::from_utf8_lossy(fixture);
    let marked =
        text.lines().enumerate().filter_map(|(index, line)| Some((index + 1, line.split_once("#~")?.1)));
    let mut codes: Vec<_> = marked
        .flat_map(|(line, codes)| codes.split_whitespace().map(move |code| (line, code.to_owned())))
        .collect();
    codes.sort();
    codes
}

/// Says whether a fixture is named for one of its findings.
pub(crate) fn is_named_for(name: &str, found: &[(usize, String)]) -> bool {
    found.iter().any(|(_, code)| name == code || name.starts_with(&format!("{code}-")))
}
