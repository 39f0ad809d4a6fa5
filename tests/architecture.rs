//! The judge of the house: imports go up the layers, files stay small, each says what it is for, and only the rooms
//! that may touch a thing name it.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
#![expect(
    clippy::disallowed_methods,
    reason = "tests look from outside, with all that the standard library has"
)]

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

/// Layer by room; a file belongs to the longest prefix of its path. Siblings of one layer do not know each other.
const LAYERS: &[(&str, u32)] = &[
    ("digest", 0),
    ("path", 0),
    ("run_id", 0),
    ("text", 0),
    ("policy", 1),
    ("audit", 2),
    ("gate", 3),
    ("install", 4),
    ("run_dir", 4),
    ("sandbox", 5),
    ("report", 6),
    ("runner", 7),
    ("server", 9),
    ("cli", 10),
    ("main", 11),
    ("lib", 12),
];

/// Who may name a crate or a call, by file prefix; everybody else may not.
const RESERVED: &[(&str, &[&str])] = &[
    ("rmcp", &["server/"]),
    ("tokio::", &["server/", "runner/handle.rs", "main.rs"]),
    ("landlock::", &["sandbox/"]),
    ("seccompiler::", &["sandbox/"]),
    ("figment::", &["policy/source/"]),
    ("toml::", &["policy/source/"]),
    ("clap::", &["main.rs", "cli/"]),
    (".into_project(", &["gate.rs", "path/project.rs"]),
];

/// Where decisions are made: the same call under the same policy always comes to the same.
const DECIDING: &[&str] =
    &["policy/decision/", "policy/rules.rs", "policy/combine.rs", "policy/limits.rs", "policy/denylist.rs"];

/// What makes a decision depend on more than the call and the policy: files, clocks, networks, chance, other processes.
const OUTSIDE: &[&str] = &[
    "std::fs",
    "std::net",
    "std::env",
    "std::process",
    "std::io",
    "SystemTime",
    "Instant",
    "rustix",
    "nix::",
    "getrandom",
    "locate",
    "DirHandle",
    "static ",
    "Mutex",
    "Atomic",
    "Cell",
];

/// At this many lines a file has two purposes.
const LINES: usize = 500;

fn sources() -> BTreeMap<String, String> {
    fn collect(directory: &Path, files: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                collect(&path, files);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                files.push(path);
            }
        }
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    collect(&root, &mut files);
    let named = |path: PathBuf| {
        let name = path.strip_prefix(&root).unwrap().to_str().unwrap().to_owned();
        (name, fs::read_to_string(path).unwrap())
    };
    files.into_iter().map(named).collect()
}

fn layer_of(room: &str) -> Option<u32> {
    LAYERS.iter().find(|(name, _)| *name == room).map(|(_, layer)| *layer)
}

fn room_of(file: &str) -> &str {
    file.split('/').next().unwrap().trim_end_matches(".rs")
}

/// The code of a file without its comments and its unit tests.
fn code(source: &str) -> String {
    let product = source.split("#[cfg(test)]\nmod tests").next().unwrap();
    product.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n")
}

/// The rooms that follow `crate::` in a file, also within the braces of a `use crate::{…}`.
fn imported_rooms(code: &str) -> Vec<String> {
    let word = |text: &str| text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect::<String>();
    let mut rooms = Vec::new();
    for rest in code.split("crate::").skip(1) {
        match rest.strip_prefix('{') {
            None => rooms.push(word(rest)),
            Some(inside) => {
                let mut depth = 0;
                let mut at_start = true;
                for (index, character) in inside.char_indices() {
                    match character {
                        '{' => depth += 1,
                        '}' if depth == 0 => break,
                        '}' => depth -= 1,
                        ',' if depth == 0 => at_start = true,
                        c if at_start && !c.is_whitespace() => {
                            rooms.push(word(inside.get(index..).unwrap()));
                            at_start = false;
                        }
                        _ => {}
                    }
                }
            }
        }
    }
    rooms
}

#[test]
fn imports_go_up_the_layers() {
    for (file, source) in sources() {
        let room = room_of(&file);
        let layer = layer_of(room).unwrap_or_else(|| panic!("src/{file} has no layer"));
        for imported in imported_rooms(&code(&source)) {
            let other = layer_of(&imported)
                .unwrap_or_else(|| panic!("src/{file} imports `{imported}`, which has no layer"));
            let fits = imported == room || other < layer;
            assert!(fits, "src/{file} (layer {layer}) may not import `{imported}` (layer {other})");
        }
    }
}

#[test]
fn the_reader_of_imports_sees_nested_ones() {
    let code = "use crate::path::A;\nuse crate::{\n    policy::{b::C, d},\n    text::E,\n};\nlet x = crate::audit::f();";
    assert_eq!(imported_rooms(code), ["path", "policy", "text", "audit"]);
}

#[test]
fn each_file_is_small_and_says_what_it_is_for() {
    for (file, source) in sources() {
        assert!(source.starts_with("//! "), "src/{file} does not begin with what it is for");
        let lines = source.lines().count();
        assert!(lines <= LINES, "src/{file} has {lines} lines: split it by purpose");
    }
}

#[test]
fn only_the_room_that_may_touches_a_thing() {
    for (file, source) in sources() {
        let code = code(&source);
        for (name, rooms) in RESERVED {
            let allowed = rooms.iter().any(|room| file.starts_with(room));
            assert!(allowed || !code.contains(name), "src/{file} may not name `{name}`");
        }
    }
}

#[test]
fn no_decision_reads_a_file_a_clock_or_the_network() {
    let mut looked_at = 0;
    for (file, source) in sources() {
        if !DECIDING.iter().any(|start| file.starts_with(start)) {
            continue;
        }
        looked_at += 1;
        let code = code(&source).replace("'static ", "");
        for name in OUTSIDE {
            assert!(!code.contains(name), "src/{file} decides, and may not name `{name}`");
        }
    }
    assert!(looked_at >= 7, "the deciding files are there: {looked_at}");
}

#[test]
fn nothing_is_re_exported() {
    for (file, source) in sources() {
        assert!(!code(&source).contains("pub use "), "src/{file} re-exports: import from where a type lives");
    }
}
