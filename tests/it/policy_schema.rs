//! The schema of a policy file: what is committed is what the program prints, and it tells good files from faulty ones.

use std::{
    fs,
    io::Write as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use serde_json::{Map, Value};

use crate::harness::{project::Project, server::Setup};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn files(directory: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(root().join(directory)).unwrap().map(|entry| entry.unwrap().path());
    let files: Vec<_> = entries.filter(|path| path.extension().is_some_and(|it| it == "toml")).collect();
    assert!(!files.is_empty(), "{directory}");
    files
}

/// The value of a TOML text, if it is TOML at all.
fn value(toml: &str) -> Option<Value> {
    toml::from_str(toml.strip_prefix('\u{feff}').unwrap_or(toml)).ok()
}

/// What a validator says of each value.
fn faults(values: &Map<String, Value>) -> Map<String, Value> {
    let scripts = root().join("tests/clients");
    assert!(scripts.join("node_modules").is_dir(), "the validator is not installed: npm ci in tests/clients");
    let mut node = Command::new("node")
        .args([scripts.join("schema.mjs"), root().join("policy.schema.json")])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    node.stdin.take().unwrap().write_all(&serde_json::to_vec(values).unwrap()).unwrap();
    let output = node.wait_with_output().unwrap();
    assert!(output.status.success(), "the schema is one of draft 7");
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn the_committed_schema_is_what_the_program_prints() {
    let project = Project::empty();
    let printed = Setup::in_directory(project.path()).finish(&["--print-schema"], "");
    assert_eq!(printed.status, Some(0));
    let committed = fs::read_to_string(root().join("policy.schema.json")).unwrap();
    assert_eq!(printed.stdout, committed, "playwright-warden --print-schema > policy.schema.json");
}

#[test]
fn every_sample_fits_the_schema() {
    let mut samples = files("docs");
    samples.push(root().join("policy.example.toml"));
    samples.extend(files("tests/fixtures/policies/valid"));
    let mut values: Map<String, Value> = samples
        .iter()
        .map(|path| (path.display().to_string(), value(&fs::read_to_string(path).unwrap()).unwrap()))
        .collect();
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    let blocks = readme.split("```toml\n").skip(1).map(|rest| rest.split("```").next().unwrap());
    values
        .extend(blocks.enumerate().map(|(index, block)| (format!("README {index}"), value(block).unwrap())));
    for (name, found) in faults(&values) {
        assert_eq!(found, Value::Array(Vec::new()), "{name}");
    }
}

/// The control of the test above; what only the program can know, as whether a glob can be read, passes the schema.
#[test]
fn faulty_files_do_not_fit_the_schema() {
    let told_by_schema =
        ["unknown-key", "wrong-type", "unknown-tool", "unsupported-version", "missing-version"];
    let values: Map<String, Value> = files("tests/fixtures/policies/invalid")
        .iter()
        .filter_map(|path| {
            let name = path.file_stem()?.to_str()?;
            let seen = told_by_schema.iter().any(|code| name.starts_with(code));
            let text = fs::read_to_string(path).ok().filter(|_| seen)?;
            Some((name.to_owned(), value(&text)?))
        })
        .collect();
    assert!(values.len() > 7, "{values:?}");
    for (name, found) in faults(&values) {
        assert_ne!(found, Value::Array(Vec::new()), "{name}");
    }
}

#[test]
fn every_key_has_its_meaning_and_its_default() {
    let schema: Value =
        serde_json::from_str(&fs::read_to_string(root().join("policy.schema.json")).unwrap()).unwrap();
    let tables = schema["properties"].as_object().unwrap();
    let keys = tables.iter().filter_map(|(name, table)| Some((name, table["properties"].as_object()?)));
    let mut count = 0;
    for (table, keys) in keys {
        for (name, key) in keys {
            count += 1;
            assert!(key["description"].as_str().unwrap().len() > 20, "{table}.{name}");
            assert!(!key["default"].is_null(), "{table}.{name}");
        }
    }
    assert!(count > 35, "{count}");
}
