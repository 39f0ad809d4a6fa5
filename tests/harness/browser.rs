//! The browsers of this machine, as `tests/browsers` finds them, which `tests/run` asks too.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::Command,
    sync::OnceLock,
};

use serde_json::Value;
use tempfile::TempDir;

use crate::harness::project::{NEWEST, open_to_all, playwright};

/// `use` settings that launch the headless shell, for every version of Playwright.
pub fn headless_shell() -> String {
    format!("use: {{ launchOptions: {{ executablePath: '{}' }} }},", program("headless-shell").display())
}

/// A directory of browsers as `playwright install` of the newest Playwright makes it, for `PLAYWRIGHT_BROWSERS_PATH`: the
/// headless shell, full Chromium and ffmpeg, each a script that becomes what is here.
pub fn directory() -> TempDir {
    let directory = tempfile::Builder::new().prefix("warden-browsers-").tempdir().unwrap();
    open_to_all(directory.path());
    let machine = if cfg!(target_arch = "aarch64") { "linux-arm64" } else { "linux64" };
    for (package, name, place) in [
        (
            "chromium-headless-shell",
            "headless-shell",
            format!("chrome-headless-shell-{machine}/chrome-headless-shell"),
        ),
        ("chromium", "chromium", format!("chrome-{machine}/chrome")),
        ("ffmpeg", "ffmpeg", "ffmpeg-linux".to_owned()),
    ] {
        let package = format!("{}-{}", package.replace('-', "_"), revision(package));
        let script = directory.path().join(package).join(place);
        fs::create_dir_all(script.parent().unwrap()).unwrap();
        let text = format!("#!/bin/sh\nexec '{}' \"$@\"\n", program(name).display());
        fs::write(&script, text).unwrap();
        fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    }
    directory
}

/// The revision of a browser that the newest Playwright expects.
fn revision(package: &str) -> String {
    let list = fs::read(playwright(NEWEST).join("playwright-core/browsers.json")).unwrap();
    let list: Value = serde_json::from_slice(&list).unwrap();
    let mut browsers = list["browsers"].as_array().unwrap().iter();
    let browser = browsers.find(|browser| browser["name"] == package).unwrap();
    browser["revision"].as_str().unwrap().to_owned()
}

/// The program with this name in the list of `tests/browsers`.
fn program(name: &str) -> PathBuf {
    static LIST: OnceLock<String> = OnceLock::new();
    let list = LIST.get_or_init(|| {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/browsers");
        let found = Command::new(script).output().unwrap();
        String::from_utf8(found.stdout).unwrap()
    });
    let mut lines = list.lines().filter_map(|line| line.split_once('\t'));
    let found = lines.find(|(found, _)| *found == name);
    found.unwrap_or_else(|| panic!("there is no {name} for the tests: run tests/run")).1.into()
}
