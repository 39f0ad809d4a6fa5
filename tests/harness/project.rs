//! Temporary Playwright projects, with a real Playwright in their `node_modules`.

use std::{
    fs, io,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use tempfile::TempDir;

/// The newest Playwright of the fixtures.
pub const NEWEST: &str = "1.65.1";
/// The oldest Playwright of the fixtures.
pub const OLDEST: &str = "1.40.1";
/// One whose html reporter serves a failed report for ever.
pub const SERVES_REPORTS: &str = "1.56.1";

/// A project that is removed when it is dropped; it lies in a directory of its own, so it has neighbours and parents.
pub struct Project {
    _root: TempDir,
    path: PathBuf,
}

impl Project {
    /// An empty directory `app`, which everybody may read and write.
    pub fn empty() -> Self {
        let root = tempfile::Builder::new().prefix("warden-").tempdir().unwrap();
        open_to_all(root.path());
        let path = root.path().canonicalize().unwrap().join("app");
        fs::create_dir(&path).unwrap();
        open_to_all(&path);
        Self { _root: root, path }
    }

    /// A project with the newest Playwright and a config that runs `tests/`.
    pub fn new() -> Self {
        Self::with_playwright(NEWEST)
    }

    /// A project with this Playwright and a config that runs `tests/`.
    pub fn with_playwright(version: &str) -> Self {
        let project = Self::empty();
        install(version, &project.path);
        project.file("package.json", "{ \"name\": \"app\", \"private\": true }").config("")
    }

    /// Writes a config with these further settings.
    pub fn config(self, settings: &str) -> Self {
        let text = format!(
            "import {{ defineConfig, devices }} from '@playwright/test';\n\
             export default defineConfig({{ testDir: './tests', timeout: 20_000, workers: 1, {settings} }});\n"
        );
        self.file("playwright.config.ts", &text)
    }

    /// Writes a spec with these statements after the usual import.
    pub fn spec(self, name: &str, statements: &str) -> Self {
        let text = format!("import {{ test, expect }} from '@playwright/test';\n{statements}\n");
        self.file(name, &text)
    }

    /// Writes a file, with its directories.
    pub fn file(self, name: &str, text: &str) -> Self {
        self.write(name, text);
        self
    }

    /// Writes a file while the project is in use.
    pub fn write(&self, name: &str, text: &str) {
        let path = self.path.join(name);
        let mut directory = path.parent().unwrap();
        fs::create_dir_all(directory).unwrap();
        fs::write(&path, text).unwrap();
        while directory.starts_with(&self.path) {
            open_to_all(directory);
            directory = directory.parent().unwrap();
        }
    }

    /// A directory beside the project, which everybody may read and write.
    pub fn neighbour(&self, name: &str) -> PathBuf {
        let path = self.parent().join(name);
        fs::create_dir(&path).unwrap();
        open_to_all(&path);
        path
    }

    /// The project's directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The directory that holds the project.
    pub fn parent(&self) -> &Path {
        self.path.parent().unwrap()
    }

    /// A file's path in the project.
    pub fn at(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }
}

/// Lets everybody in, so that a server that runs as another user can work with it.
pub fn open_to_all(path: &Path) {
    fs::set_permissions(path, fs::Permissions::from_mode(0o777)).unwrap();
}

/// The `node_modules` of the fixtures that hold this Playwright.
pub fn playwright(version: &str) -> PathBuf {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/playwright");
    let modules = fixtures.join(version).join("node_modules");
    assert!(
        modules.join("@playwright/test").exists(),
        "Playwright {version} is not installed: run tests/run"
    );
    modules
}

/// Gives a directory its own `node_modules` with this Playwright.
pub fn install(version: &str, directory: &Path) {
    link_tree(&playwright(version), &directory.join("node_modules"));
    open_to_all(&directory.join("node_modules"));
}

/// Copies a tree, by links where the file system allows it.
fn link_tree(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            link_tree(&source, &target);
        } else if kind.is_symlink() {
            std::os::unix::fs::symlink(fs::read_link(&source).unwrap(), &target).unwrap();
        } else {
            let linked: io::Result<()> = fs::hard_link(&source, &target);
            if linked.is_err() {
                fs::copy(&source, &target).unwrap();
            }
        }
    }
}
