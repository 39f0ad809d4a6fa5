//! What is said about policies: each fault with its code, place and hint, and what a reviewer would ask.

use std::fs::Permissions;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use playwright_warden::policy::diagnostic::{DiagnosticCode, Severity};
use playwright_warden::policy::effective::effective;
use playwright_warden::policy::origin::{Origin, Sourced};
use playwright_warden::policy::{Policy, Verdict};

use crate::policy_world::{World, bytes, expected, fixtures, is_named_for};

#[test]
fn each_invalid_policy_is_refused_with_its_code_at_its_line() {
    for (name, fixture) in fixtures("invalid") {
        let world = World::new().with_policy(&fixture);
        let loaded = world.load();
        assert!(loaded.policy.is_none(), "{name}");
        assert_eq!(loaded.verdict(), Verdict::Invalid, "{name}");
        let errors = loaded.diagnostics.iter().filter(|finding| finding.severity == Severity::Error);
        let mut found: Vec<_> = errors
            .map(|finding| {
                let Origin::File { span: Some(span), .. } = &finding.origin else {
                    panic!("{name}: {}", finding.origin)
                };
                (span.start.line, finding.code.to_string())
            })
            .collect();
        found.sort();
        assert_eq!(found, expected(&fixture), "{name}");
        assert!(is_named_for(&name, &found), "{name} is named for its fault");
        insta::assert_snapshot!(format!("invalid__{name}"), world.rendered());
    }
}

#[test]
fn each_valid_policy_is_taken() {
    for (name, fixture) in fixtures("valid") {
        let world = World::new().with_policy(&fixture);
        assert_eq!(world.errors(), [], "{name}");
        assert!(world.load().policy.is_some(), "{name}");
    }
}

#[test]
fn codes_are_stable() {
    let codes = DiagnosticCode::ALL.iter().map(|code| format!("{:<22} {}", code.name(), code.meaning()));
    insta::assert_snapshot!("codes", codes.collect::<Vec<_>>().join("\n"));
}

#[test]
fn json_form_is_stable() {
    let world = World::new()
        .with_rules("[dirs]\nalow = []\n")
        .with_variables(&[("PW_ALLOWED_ENV", "ENV,A-B"), ("PW_ALLOWED_DIR", "x")]);
    let json = serde_json::to_string_pretty(&world.load().diagnostics).unwrap();
    insta::assert_snapshot!("json", world.redact(&json));
}

fn rows(policy: &Policy) -> Vec<(String, Vec<Vec<String>>)> {
    let values = |lists: Vec<Vec<_>>| {
        lists
            .into_iter()
            .map(|list| list.into_iter().map(|entry: Sourced<String>| entry.value).collect())
            .collect()
    };
    effective(policy).into_iter().map(|row| (row.key, values(row.lists))).collect()
}

#[test]
fn example_policy_is_the_defaults() {
    let example = bytes(&Path::new(env!("CARGO_MANIFEST_DIR")).join("policy.example.toml"));
    let (default, written) = (World::new(), World::new().with_policy(&example));
    let relative = |world: &World, rows: Vec<(String, Vec<Vec<String>>)>| world.redact(&format!("{rows:#?}"));
    assert_eq!(written.errors(), []);
    assert_eq!(relative(&written, rows(&written.policy())), relative(&default, rows(&default.policy())));
}

#[test]
fn example_policy_holds_every_key() {
    let example = bytes(&Path::new(env!("CARGO_MANIFEST_DIR")).join("policy.example.toml"));
    let world = World::new().with_policy(&example);
    let policy = world.policy();
    let builtin: Vec<_> = effective(&policy)
        .into_iter()
        .filter(|row| row.lists.iter().flatten().any(|entry| entry.origin == Origin::Builtin))
        .map(|row| row.key)
        .collect();
    assert_eq!(builtin, [] as [String; 0], "these keys are not written out");
    for list in [policy.dirs().allow().granted().key.clone(), policy.env().allow().granted().key.clone()] {
        assert_ne!(list, Origin::Builtin);
    }
    let text = String::from_utf8(example).unwrap();
    for key in ["deny = []", "allow = []", "values = {}", "read = []", "write = []"] {
        assert!(text.contains(key), "{key}");
    }
}

#[test]
fn defaults_of_a_new_user_are_taken_with_what_a_reviewer_asks() {
    let world = World::new();
    insta::assert_snapshot!("defaults", world.rendered());
    assert_eq!(world.load().verdict(), Verdict::ValidWithWarnings);
}

#[test]
fn implicit_directory_that_is_too_wide_stops_the_server() {
    let wide = [PathBuf::from("/"), "/home".into(), "/home/someone".into(), "/root".into()];
    for dir in wide {
        let mut world = World::new();
        world.inputs.launch_dir.clone_from(&dir);
        assert_eq!(world.errors(), [DiagnosticCode::ImplicitDirTooWide], "{}", dir.display());
        let named = world.with_variables(&[("PW_ALLOWED_DIRS", "{root}/launch")]);
        assert_eq!(named.errors(), [], "{}", dir.display());
    }
    for dir in ["home", ""] {
        let mut world = World::new();
        world.inputs.launch_dir = world.path(dir);
        assert_eq!(world.errors(), [DiagnosticCode::ImplicitDirTooWide], "{dir}");
    }
    let mut world = World::new();
    world.inputs.launch_dir = world.path("home");
    insta::assert_snapshot!("implicit-dir-too-wide", world.rendered());
}

#[test]
fn explicit_wide_directories_are_told() {
    let rows = [
        ("/", Some(DiagnosticCode::DirIsRoot)),
        ("/**", Some(DiagnosticCode::GlobTooWide)),
        ("/*", Some(DiagnosticCode::GlobTooWide)),
        ("~/*", Some(DiagnosticCode::GlobTooWide)),
        ("~", Some(DiagnosticCode::DirIsHome)),
        ("~/..", Some(DiagnosticCode::DirAboveHome)),
        ("/home", Some(DiagnosticCode::DirAboveHome)),
        ("/home/somebody", Some(DiagnosticCode::DirIsHome)),
        ("~/work", None),
    ];
    let wide = [
        DiagnosticCode::DirIsRoot,
        DiagnosticCode::DirAboveHome,
        DiagnosticCode::DirIsHome,
        DiagnosticCode::GlobTooWide,
    ];
    for (entry, expected) in rows {
        let world = World::new().with_rules(format!("[dirs]\nallow = [\"{entry}\"]\n"));
        let told: Vec<_> =
            world.codes().into_iter().map(|(_, code)| code).filter(|code| wide.contains(code)).collect();
        assert_eq!(told, expected.into_iter().collect::<Vec<_>>(), "{entry}");
        let limited = world.with_variables(&[("PW_ALLOWED_DIRS", "{root}/home/work")]);
        assert!(!wide.iter().any(|code| limited.warns(*code)), "{entry} is no wider than its limit");
    }
}

#[test]
fn directories_are_told_as_they_are() {
    let world = World::new().with_variables(&[("PW_ALLOWED_DIRS", "shop:nowhere")]);
    assert!(world.warns(DiagnosticCode::DirMissing));
    assert!(!world.warns(DiagnosticCode::DirWorldWritable));
    std::fs::set_permissions(world.path("launch/shop"), Permissions::from_mode(0o777)).unwrap();
    assert!(world.warns(DiagnosticCode::DirWorldWritable));
    insta::assert_snapshot!("dirs", world.rendered());
}

#[test]
fn denied_names_in_the_allow_list_are_told() {
    let world = World::new()
        .with_rules("[env]\nallow = [\"BASE_URL\", \"NODE_*\", \"PATH\", \"PLAYWRIGHT_TEST_*\", \"*\"]\n")
        .with_variables(&[("PW_ALLOWED_ENV", "ENV,GITHUB_TOKEN")]);
    let loaded = world.load();
    let denied = loaded.diagnostics.iter().filter(|finding| finding.code == DiagnosticCode::EnvNameDenied);
    let places: Vec<_> = denied.map(|finding| world.redact(&finding.origin.to_string())).collect();
    assert_eq!(
        places,
        ["[ROOT]/policies/policy.toml:3:22", "[ROOT]/policies/policy.toml:3:32", "PW_ALLOWED_ENV item 2"]
    );
    insta::assert_snapshot!("env-name-denied", world.rendered());
}

#[test]
fn what_the_sandbox_leaves_open_is_told() {
    let rows = [
        ("mode = \"off\"", Some(DiagnosticCode::SandboxOff)),
        (
            "mode = \"require\"\nproject = \"read-write\"\nnetwork = \"none\"",
            Some(DiagnosticCode::WriteCoversProject),
        ),
        ("mode = \"require\"\nproject = \"outputs\"\nnetwork = \"none\"", None),
    ];
    for (line, expected) in rows {
        let world = World::new().with_rules(format!(
            "[dirs]\nallow = [\".\"]\n[env]\ninherit = []\n[sandbox]\n{line}\n[audit]\nsinks = [\"file\"]\n"
        ));
        let codes: Vec<_> = world.codes().into_iter().map(|(_, code)| code).collect();
        assert_eq!(codes, expected.into_iter().collect::<Vec<_>>(), "{line}");
    }
}

#[test]
fn policy_where_a_run_may_write_is_told_and_under_require_refused() {
    let policy = |mode: &str, project: &str| {
        let text = format!(
            "[dirs]\nallow = [\"../policies\"]\n[sandbox]\nmode = \"{mode}\"\nproject = \"{project}\"\n"
        );
        World::new().with_rules(text)
    };
    assert!(policy("best-effort", "read-write").warns(DiagnosticCode::PolicyInGrantedDir));
    assert_eq!(policy("require", "read-write").errors(), [DiagnosticCode::PolicyInGrantedDir]);
    assert_eq!(policy("require", "read-only").errors(), []);
}

#[test]
fn where_a_policy_is_looked_for_no_run_may_write_even_if_none_is_there() {
    let rows = [
        ("[\"shop\"]", "write = [\"~/.config/playwright-warden\"]", true),
        ("[\"shop\"]", "write = [\"~/.config/playwright-warden/cache\"]", true),
        ("[\"shop\"]", "write = [\"~/.config\"]", true),
        ("[\"shop\"]", "write = [\"../etc\"]", true),
        ("[\"shop\"]", "write = [\"../etc/playwright-warden/policy.d\"]", true),
        ("[\"shop\"]", "write = [\"../home/linked\"]", true),
        ("[\"shop\"]", "write = [\"../policies\"]", true),
        ("[\"shop\"]", "write = [\"~/.config/other\", \"../policies/out\", \"../etc/other\"]", false),
        ("[\"~\"]", "project = \"read-write\"", true),
        ("[\"~/*\"]", "project = \"read-write\"", true),
        ("[\"~\"]", "outputs = [\".config\"]", true),
        ("[\"~\"]", "outputs = [\"test-results\"]", false),
        ("[\"~\"]", "project = \"read-only\"", false),
    ];
    for (mode, severity) in [("best-effort", Severity::Warning), ("require", Severity::Error)] {
        for (allow, lines, told) in rows {
            let lines = if lines.starts_with("project") {
                lines.to_owned()
            } else {
                format!("project = \"outputs\"\n{lines}")
            };
            let world = World::new()
                .with_rules(format!("[dirs]\nallow = {allow}\n[sandbox]\nmode = \"{mode}\"\n{lines}\n"));
            if lines.contains("linked") {
                std::fs::rename(world.path("home/.config"), world.path("home/linked")).unwrap();
                symlink("linked", world.path("home/.config")).unwrap();
            }
            let found: Vec<_> = world
                .load()
                .diagnostics
                .into_iter()
                .filter(|finding| finding.code == DiagnosticCode::PolicyInGrantedDir)
                .map(|finding| finding.severity)
                .collect();
            let expected: &[_] = if told { &[severity] } else { &[] };
            assert_eq!(found, expected, "{mode} {allow} {lines}");
        }
    }
}

#[test]
fn audit_log_where_a_run_may_write_is_told_at_the_rule_and_under_require_refused() {
    let rows = [
        ("project = \"read-write\"", "launch/shop/audit.jsonl", Some("dirs.allow")),
        ("project = \"outputs\"", "launch/shop/dist/audit.jsonl", Some("sandbox.outputs")),
        ("project = \"outputs\"", "launch/shop/audit.jsonl", None),
        ("project = \"outputs\"\nwrite = [\"~/logs\"]", "home/logs/audit.jsonl", Some("sandbox.write")),
        ("project = \"outputs\"\nwrite = [\"~/logs/x\"]", "home/logs/audit.jsonl", None),
    ];
    for (mode, severity) in [("best-effort", Severity::Warning), ("require", Severity::Error)] {
        for (lines, file, rule) in rows {
            let world = World::new();
            let file = world.path(file);
            let world = world.with_rules(format!(
                "[dirs]\nallow = [\"shop\"]\n[sandbox]\nmode = \"{mode}\"\n{lines}\n[audit]\n\
                 sinks = [\"file\"]\nfile = \"{}\"\n",
                file.display()
            ));
            let findings = world.load().diagnostics.into_iter();
            let found: Vec<_> = findings
                .filter(|finding| finding.code == DiagnosticCode::AuditInGrantedDir)
                .map(|finding| (finding.severity, finding.key.join(".")))
                .collect();
            let expected: Vec<_> = rule.into_iter().map(|rule| (severity, rule.to_owned())).collect();
            assert_eq!(found, expected, "{mode} {lines}");
        }
    }
}

#[test]
fn deny_of_what_is_not_there_is_told_but_of_the_system() {
    let told = |world: World| world.warns(DiagnosticCode::DirMissing);
    assert!(told(World::new().with_rules("[dirs]\nallow = [\"shop\"]\ndeny = [\"shpo\"]\n")));
    let system = World::new()
        .with_rules("[dirs]\nallow = [\"shop\"]\n")
        .with_system("policy.toml", "version = 1\n[dirs]\ndeny = [\"/srv/nowhere\"]\n");
    assert!(!told(system));
}

#[test]
fn program_and_state_where_a_run_may_write_are_told_and_under_require_refused() {
    let codes = [DiagnosticCode::ProgramInGrantedDir, DiagnosticCode::StateInGrantedDir];
    let rows = [
        ("project = \"read-write\"", "shop/bin/warden", "shop/state", true),
        ("project = \"outputs\"", "shop/dist/warden", "shop/build", true),
        ("project = \"outputs\"", "shop/bin/warden", "shop/state", false),
        ("project = \"read-only\"", "shop/dist/warden", "shop/build", false),
        ("project = \"read-only\"\nwrite = [\"tools\"]", "tools/warden", "tools", true),
        ("project = \"read-write\"", "tools/warden", "state", false),
        ("project = \"read-write\"", "tools/warden", "shop", true),
    ];
    for mode in ["best-effort", "require"] {
        for (lines, program, state, told) in rows {
            let text = format!("[dirs]\nallow = [\"shop\"]\n[sandbox]\nmode = \"{mode}\"\n{lines}\n");
            let mut world = World::new().with_rules(text);
            world.inputs.program = Some(world.path("launch").join(program));
            world.inputs.state_dir = Some(world.path("launch").join(state));
            let severity = if mode == "require" { Severity::Error } else { Severity::Warning };
            let found: Vec<_> = world.codes().into_iter().filter(|(_, code)| codes.contains(code)).collect();
            let is_told = |code| found.contains(&(severity, code));
            assert_eq!(is_told(DiagnosticCode::StateInGrantedDir), told, "{mode} {lines} {state}");
            let in_program = told && !program.starts_with("tools") || lines.contains("write = [");
            assert_eq!(is_told(DiagnosticCode::ProgramInGrantedDir), in_program, "{mode} {lines} {program}");
        }
    }
    let mut world = World::new();
    world.inputs.program = Some(world.path("launch/shop/warden"));
    world.inputs.state_dir = Some(world.path("launch/shop/state"));
    insta::assert_snapshot!("own-places", world.rendered());
}

#[test]
fn results_file_must_lie_in_an_allowed_directory() {
    let rows = [
        ("shop/test-results/results.json", true),
        ("shop/../../policies/results.json", false),
        ("{root}/policies/results.json", false),
        ("link/results.json", false),
    ];
    for (file, good) in rows {
        let world = World::new().with_variables(&[("PW_ALLOWED_DIRS", "shop"), ("PW_RESULTS_FILE", file)]);
        symlink("../policies", world.path("launch/link")).unwrap();
        let expected: &[_] = if good { &[] } else { &[DiagnosticCode::ResultsOutsideDirs] };
        assert_eq!(world.errors(), expected, "{file}");
    }
    let world = World::new().with_variables(&[("PW_RESULTS_FILE", "results.json")]);
    let policy = world.policy();
    assert_eq!(policy.results_file().unwrap().value, world.path("launch/results.json"));
}

#[test]
fn variables_that_are_nearly_ours_are_told() {
    let world = World::new().with_variables(&[("PW_ALLOWED_DIR", "/srv")]);
    assert!(world.warns(DiagnosticCode::UnknownVariable));
    let world = World::new().with_variables(&[("PW_TEST_CONNECT_WS_ENDPOINT", "ws://x")]);
    assert!(!world.warns(DiagnosticCode::UnknownVariable));
}

#[test]
fn run_sees_what_is_inherited_and_not_withheld() {
    let policy =
        World::new().with_rules("[env]\ninherit = [\"CI\", \"E2E_*\"]\nwithhold = [\"*_TOKEN\"]\n").policy();
    let rows = [
        ("CI", true),
        ("E2E_USER", true),
        ("E2E_TOKEN", false),
        ("e2e_user", false),
        ("OTHER", false),
        ("PATH", true),
        ("PW_ALLOWED_DIRS", false),
    ];
    for (name, passes) in rows {
        assert_eq!(policy.env().passes(name), passes, "{name}");
    }
    let default = World::new().policy();
    assert!(default.env().passes("NODE_OPTIONS") && default.env().passes("HOME"));
    assert!(!default.env().passes("aws_profile") && !default.env().passes("PLAYWRIGHT_JSON_OUTPUT_NAME"));
    assert!(default.env().redacts("db_password") && !default.env().redacts("BASE_URL"));
}
