//! Which processes have to do with a directory: by what they run, where they are, what they were given.

use std::{
    fs,
    os::unix::ffi::OsStrExt,
    path::Path,
    thread,
    time::{Duration, Instant},
};

/// How long what was ended may take to be gone.
const PATIENCE: Duration = Duration::from_mins(1);
/// Between two looks.
const PAUSE: Duration = Duration::from_millis(20);

/// The processes whose working directory, arguments or environment name this directory; zombies are none.
pub fn of(directory: &Path) -> Vec<(u32, String)> {
    let needle = directory.as_os_str().as_bytes();
    let names = |text: &[u8]| text.windows(needle.len()).any(|window| window == needle);
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let Ok(pid) = entry.file_name().to_string_lossy().parse::<u32>() else { continue };
        let read = |name: &str| fs::read(entry.path().join(name)).unwrap_or_default();
        let (arguments, variables) = (read("cmdline"), read("environ"));
        let place = fs::read_link(entry.path().join("cwd")).unwrap_or_default();
        if names(&arguments) || names(&variables) || names(place.as_os_str().as_bytes()) {
            found.push((pid, String::from_utf8_lossy(&arguments).replace('\0', " ")));
        }
    }
    found
}

/// The command lines of those that name this path in their arguments.
pub fn naming(path: &Path) -> Vec<String> {
    let lines = of(path).into_iter().map(|(_, line)| line);
    lines.filter(|line| line.contains(path.to_str().unwrap())).collect()
}

/// Fails unless soon no process but this one has to do with the directory.
pub fn assert_none_of(directory: &Path, but: Option<u32>) {
    let others = || of(directory).into_iter().filter(|(pid, _)| Some(*pid) != but).collect::<Vec<_>>();
    await_that(&format!("nothing is left in {}: {:?}", directory.display(), others()), || {
        others().is_empty()
    });
}

/// Fails unless soon no process names this path in its arguments.
pub fn assert_none_naming(path: &Path) {
    await_that(&format!("no process names {}", path.display()), || naming(path).is_empty());
}

/// Fails unless something holds soon.
pub fn await_that(what: &str, mut holds: impl FnMut() -> bool) {
    let give_up = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < give_up, "never: {what}");
        thread::sleep(PAUSE);
    }
}
