//! The official clients of others: each drives the real server through a session, and is content with it.

use std::{
    path::Path,
    process::{Command, Output, Stdio},
};

use crate::harness::{leftovers::assert_none_naming, project::Project, server::binary};

/// Runs a script of `tests/clients` against the server.
fn drive(script: &str, project: &Project) -> Output {
    let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients");
    assert!(scripts.join("node_modules").is_dir(), "the clients are not installed: npm ci in tests/clients");
    let state = tempfile::Builder::new().prefix("warden-state-").tempdir().unwrap();
    let mut node = Command::new("node");
    node.arg(scripts.join(script)).arg(binary()).arg(project.path()).arg(state.path());
    let output = node.stdin(Stdio::null()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    output
}

fn project() -> Project {
    Project::new().spec(
        "tests/three.spec.ts",
        "import { writeFileSync } from 'node:fs';
         test('passes @passes', () => {});
         test('fails @fails', () => { expect(1).toBe(2); });
         test('has no end @endless', async () => {
           test.setTimeout(0);
           writeFileSync('begun', '');
           await new Promise(() => {});
         });",
    )
}

#[test]
fn client_of_sdk_2_is_served_in_every_mode() {
    let project = project();
    let output = drive("v2.mjs", &project);
    let told = String::from_utf8(output.stdout).unwrap();
    let expected =
        "legacy: 2025-11-25\nauto: 2026-07-28\npin 2026-07-28: 2026-07-28\npin 2099-01-01: -32022\n";
    assert_eq!(told, expected);
    assert_none_naming(project.path());
}

#[test]
fn client_of_sdk_1_is_served() {
    let project = project();
    let output = drive("v1.mjs", &project);
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "legacy: ok\n");
    assert_none_naming(project.path());
}
