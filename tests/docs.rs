//! The documents say what is true: the map names every file, the tables every code, and every test they name exists.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
#![expect(
    clippy::disallowed_methods,
    reason = "tests look from outside, with all that the standard library has"
)]

use std::{
    collections::BTreeSet,
    fmt::Write as _,
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::Command,
};

use playwright_warden::{
    policy::{
        diagnostic::DiagnosticCode,
        source::{
            keys::{Key, Kind, Table, tables},
            schema::schema,
        },
    },
    server::answer::ErrorCode,
};
use serde_json::Value;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn read(name: &str) -> String {
    fs::read_to_string(root().join(name)).unwrap()
}

fn files(directory: &str, extension: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut waiting = vec![root().join(directory)];
    while let Some(directory) = waiting.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() && path.file_name().unwrap() != "node_modules" {
                waiting.push(path);
            } else if path.extension().is_some_and(|found| found == extension) {
                found.push(path);
            }
        }
    }
    found
}

/// What stands in backticks in a document.
fn quoted(text: &str) -> BTreeSet<&str> {
    text.lines()
        .filter(|line| !line.starts_with("```"))
        .flat_map(|line| line.split('`').skip(1).step_by(2))
        .collect()
}

#[test]
fn the_code_map_names_every_file() {
    let map = read("ARCHITECTURE.md");
    let named: BTreeSet<String> = map
        .lines()
        .filter_map(|line| line.strip_prefix("| `src/")?.split_once('`'))
        .map(|(name, _)| format!("src/{name}"))
        .collect();
    let there: BTreeSet<String> = files("src", "rs")
        .iter()
        .map(|path| path.strip_prefix(root()).unwrap().to_str().unwrap().to_owned())
        .collect();
    assert_eq!(named, there);
}

#[test]
fn every_test_that_a_document_names_exists() {
    let mut sources = String::new();
    for file in files("src", "rs").iter().chain(&files("tests", "rs")) {
        sources.push_str(&fs::read_to_string(file).unwrap());
    }
    let mut documents = vec![root().join("ARCHITECTURE.md"), root().join("README.md")];
    documents.extend(files("docs", "md"));
    let mut checked = 0;
    for document in documents {
        let text = fs::read_to_string(&document).unwrap();
        // Names of tests are sentences: nothing else in the documents has so many words.
        for name in quoted(&text)
            .into_iter()
            .filter(|name| name.matches('_').count() >= 3 && !name.contains(['/', ' ', '.', '"']))
        {
            let is_code = ["_bytes_per_process", "PW_", "PLAYWRIGHT_", "SECCOMP_"]
                .iter()
                .any(|part| name.contains(part));
            assert!(
                is_code || sources.contains(&format!("fn {name}(")),
                "{}: no test `{name}`",
                document.display()
            );
            checked += 1;
        }
    }
    assert!(checked > 10, "only {checked} names of tests found");
}

#[test]
fn readme_lists_every_error_code() {
    let readme = read("README.md");
    let listed: BTreeSet<String> = readme
        .lines()
        .skip_while(|line| !line.starts_with("| code |"))
        .take_while(|line| line.starts_with('|'))
        .filter_map(|line| line.strip_prefix("| `")?.split_once('`'))
        .map(|(code, _)| code.to_owned())
        .collect();
    let codes =
        ErrorCode::ALL.iter().map(|code| serde_json::to_value(code).unwrap().as_str().unwrap().to_owned());
    assert_eq!(listed, codes.collect());
}

#[test]
fn readmes_client_configuration_is_json() {
    let readme = read("README.md");
    let json = readme.split("```json\n").nth(1).unwrap().split("```").next().unwrap();
    let value: serde_json::Value = serde_json::from_str(json).unwrap();
    assert_eq!(value.pointer("/mcpServers/playwright-warden/command").unwrap(), "playwright-warden");
}

#[test]
fn links_between_documents_lead_somewhere() {
    let mut documents =
        vec![root().join("ARCHITECTURE.md"), root().join("README.md"), root().join("CHANGELOG.md")];
    documents.extend(files("docs", "md"));
    for document in documents {
        let text = fs::read_to_string(&document).unwrap();
        for target in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let local = !target.starts_with("http") && !target.starts_with('#');
            let path = document.parent().unwrap().join(target.split('#').next().unwrap());
            assert!(!local || path.exists(), "{}: {target} leads nowhere", document.display());
        }
    }
}

/// The part of a document between two marks, which the program makes; `UPDATE_DOCS=1` writes it anew.
fn assert_made(document: &str, name: &str, made: &str) {
    let (start, end) = (format!("<!-- made: {name} -->\n"), format!("<!-- end: {name} -->\n"));
    let text = read(document);
    assert!(text.contains(&start) && text.contains(&end), "{document} has its marks: {start}");
    let (before, rest) = text.split_once(&start).unwrap();
    let (written, after) = rest.split_once(&end).unwrap();
    if written != made && std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(root().join(document), format!("{before}{start}{made}{end}{after}")).unwrap();
    }
    let text = read(document);
    let written = text.split_once(&start).and_then(|(_, rest)| rest.split_once(&end)).unwrap().0;
    assert_eq!(written, made, "UPDATE_DOCS=1 cargo test --test docs writes {document} anew");
}

/// What a key takes, for people.
fn takes(table: &Table, key: &Key) -> String {
    let list =
        |words: &[&str]| words.iter().map(|word| format!("`\"{word}\"`")).collect::<Vec<_>>().join(", ");
    match key.kind {
        Kind::Words if table.name == "tools" => "names of tools".to_owned(),
        Kind::Words => "a list of strings".to_owned(),
        Kind::Path => "a path".to_owned(),
        Kind::Flag => "`true`, `false`".to_owned(),
        Kind::Choice { now, .. } => list(now),
        Kind::Choices { now } => format!("some of {}", list(now)),
        Kind::Bound => "1 or more, `\"unlimited\"`".to_owned(),
        Kind::WordsByName => "a table of lists".to_owned(),
    }
}

#[test]
fn the_reference_of_keys_is_made_from_the_schema() {
    let schema = schema().unwrap();
    let mut made = String::new();
    for table in tables() {
        writeln!(made, "\n### `[{}]`: {}\n", table.name, table.meaning).unwrap();
        made += "| key | takes | default | layers | meaning |\n|---|---|---|---|---|\n";
        for key in table.keys {
            let default = &schema["properties"][table.name]["properties"][key.name]["default"];
            let long = default.as_array().filter(|items| items.len() > 3);
            let default = long.map_or_else(
                || format!("`{default}`"),
                |items| format!("`[{}, {}, ...]`, {} in all", items[0], items[1], items.len()),
            );
            let caveat = if key.caveat.is_empty() { String::new() } else { format!(" *{}*", key.caveat) };
            let takes = takes(table, key);
            let Key { name, combination, meaning, .. } = key;
            writeln!(made, "| `{name}` | {takes} | {default} | {combination} | {meaning}{caveat} |").unwrap();
        }
    }
    assert_made("docs/policy.md", "keys", &(made + "\n"));
}

#[test]
fn the_table_of_diagnostic_codes_is_made_from_them() {
    let mut made = "| code | what it means |\n|---|---|\n".to_owned();
    for code in DiagnosticCode::ALL {
        let here = if code.is_found_here() { " *Found by a try on this system.*" } else { "" };
        writeln!(made, "| `{code}` | {}{here} |", code.meaning()).unwrap();
    }
    assert_made("docs/check-policy.md", "codes", &made);
}

/// A project with a Playwright that is none, and a policy beside it.
struct Checked {
    _root: tempfile::TempDir,
    base: PathBuf,
}

impl Checked {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        let base = root.path().canonicalize().unwrap();
        let write = |name: &str, text: &str| {
            let path = base.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        let package = "shop/node_modules/@playwright/test";
        write(&format!("{package}/package.json"), "{ \"version\": \"1.65.1\" }");
        write(&format!("{package}/cli.js"), "");
        let sandbox = "mode = \"require\"\nproject = \"outputs\"\nnetwork = \"none\"";
        let keys = format!("dirs.allow = [\"shop\"]\nenv.inherit = [\"CI\"]\n\n[sandbox]\n{sandbox}");
        write("policy.toml", &format!("version = 1\n{keys}\n"));
        for (name, mode) in [("", 0o700), ("policy.toml", 0o600)] {
            fs::set_permissions(base.join(name), PermissionsExt::from_mode(mode)).unwrap();
        }
        Self { _root: root, base }
    }

    /// What `--check-policy` says of a call of `run_tests`.
    fn ask(&self, format: &str, arguments: &Value) -> String {
        let call = serde_json::json!({ "tool": "run_tests", "arguments": arguments }).to_string();
        let asked = Command::new(env!("CARGO_BIN_EXE_playwright-warden"))
            .args(["--check-policy", "--policy", "policy.toml", "--state-dir", "state"])
            .args(["--format", format, "--call", &call])
            .current_dir(&self.base)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap())
            .output()
            .unwrap();
        String::from_utf8(asked.stdout).unwrap().replace(self.base.to_str().unwrap(), "/home/alice")
    }
}

#[test]
fn the_object_of_the_checker_is_as_documented() {
    let arguments = serde_json::json!({ "workingDirectory": "shop", "tag": "@smoke" });
    let mut answer: Value = serde_json::from_str(&Checked::new().ask("json", &arguments)).unwrap();
    // What differs from machine to machine.
    let mut at = |pointer: &str, change: &dyn Fn(&mut Value)| change(answer.pointer_mut(pointer).unwrap());
    at("/layers/0/owner_uid", &|uid| *uid = 1000.into());
    at("/effective", &|rows| {
        rows.as_array_mut().unwrap().retain(|row| row.get("key").unwrap() == "dirs.allow");
    });
    // Newer kernels have two layers for these.
    let second = ["unix_sockets", "udp"].map(|feature| serde_json::json!([feature, "landlock"]));
    for sandbox in ["/sandbox", "/call/plan/sandbox"] {
        at(&format!("{sandbox}/level"), &|level| assert_eq!(level, "full"));
        at(&format!("{sandbox}/landlock_abi"), &|abi| *abi = 7.into());
        at(&format!("{sandbox}/enforced"), &|pairs| {
            pairs.as_array_mut().unwrap().retain(|pair| !second.contains(pair));
        });
    }
    at("/call/plan/read", &|read| read.as_array_mut().unwrap().retain(|path| path == "/home/alice/shop"));
    // Hashes of paths.
    at("/hash", &|hash| *hash = "3b1f…".into());
    at("/call/plan/write", &|write| {
        let cache = write.as_array_mut().unwrap().last_mut().unwrap();
        assert!(cache.as_str().unwrap().starts_with("/home/alice/state/transform/"));
        *cache = "/home/alice/state/transform/90c2…".into();
    });
    at("/call/plan/program", &|node| *node = "/usr/bin/node".into());
    let text = serde_json::to_string_pretty(&answer).unwrap();
    assert_made("docs/check-policy.md", "answer", &format!("```json\n{text}\n```\n"));
}

#[test]
fn the_denial_of_the_checker_is_as_documented() {
    let said = Checked::new().ask("human", &serde_json::json!({ "workingDirectory": "/etc" }));
    let denial = said.split("\n\n").nth(1).unwrap();
    assert_made("docs/check-policy.md", "denial", &format!("```text\n{denial}\n```\n"));
}
