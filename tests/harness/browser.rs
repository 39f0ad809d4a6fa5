//! The browsers of this machine: Playwright's own, else the system's.

use std::path::{Path, PathBuf};

/// `use` settings that launch the headless shell.
pub fn headless_shell() -> String {
    let system = ["/usr/lib/chromium/chromium-headless-shell"];
    settings("chromium_headless_shell", &system)
}

/// `use` settings that launch full Chromium, which needs unix sockets.
pub fn full_chromium() -> String {
    let system = ["/usr/lib/chromium/chromium", "/opt/google/chrome/chrome"];
    settings("chromium-", &system)
}

/// Playwright finds its own browsers by itself; one of the system is named.
fn settings(own: &str, system: &[&str]) -> String {
    let cache = std::env::var_os("PLAYWRIGHT_BROWSERS_PATH")
        .map(PathBuf::from)
        .or_else(|| std::env::var_os("HOME").map(|home| Path::new(&home).join(".cache/ms-playwright")));
    let installed = cache.and_then(|cache| std::fs::read_dir(cache).ok()).is_some_and(|entries| {
        entries.flatten().any(|entry| entry.file_name().to_string_lossy().starts_with(own))
    });
    let named = system.iter().find(|path| Path::new(path).is_file());
    match (installed, named) {
        (_, Some(path)) => {
            format!("use: {{ launchOptions: {{ executablePath: '{path}', args: ['--no-sandbox'] }} }},")
        }
        (true, None) if own == "chromium-" => "use: { channel: 'chromium' },".to_owned(),
        (true, None) => String::new(),
        (false, None) => panic!("no browser for {own}: run tests/run"),
    }
}
