//! What is said about policies: each fault with its code, place and hint, and the trust in a policy file.

use std::collections::BTreeMap;
use std::fs::Permissions;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use playwright_warden::policy::diagnostic::{DiagnosticCode, Severity};
use playwright_warden::policy::effective::effective;
use playwright_warden::policy::excerpt::Style;
use playwright_warden::policy::origin::Origin;
use playwright_warden::policy::source::{Inputs, Role, USER_POLICY};
use playwright_warden::policy::{Loaded, Policy, Verdict, load};

/// A user with a home, a launch directory `launch`, and a safe directory for policies; nothing else is near.
struct World {
    root: tempfile::TempDir,
    inputs: Inputs,
}

impl World {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().canonicalize_for_tests();
        for dir in ["launch/shop", "home/.config/playwright-warden", "policies"] {
            std::fs::create_dir_all(path.join(dir)).unwrap();
        }
        for dir in ["policies", "home/.config/playwright-warden"] {
            std::fs::set_permissions(path.join(dir), Permissions::from_mode(0o700)).unwrap();
        }
        let inputs = Inputs {
            launch_dir: path.join("launch"),
            environment: std::iter::empty::<(String, String)>().collect(),
            home: Some(path.join("home")),
            uid: rustix::process::geteuid().as_raw(),
            policy_option: None,
        };
        Self { root, inputs }
    }

    fn path(&self, relative: &str) -> PathBuf {
        self.root.path().canonicalize_for_tests().join(relative)
    }

    fn write(&self, relative: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(relative);
        std::fs::write(&path, content).unwrap();
        std::fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
        path
    }

    fn with_policy(mut self, content: impl AsRef<[u8]>) -> Self {
        self.inputs.policy_option = Some(self.write("policies/policy.toml", content));
        self
    }

    fn with_variables(mut self, variables: &[(&str, &str)]) -> Self {
        let root = self.path("");
        let root = root.to_str().unwrap().trim_end_matches('/').to_owned();
        self.inputs.environment = variables
            .iter()
            .map(|(name, value)| ((*name).to_owned(), value.replace("{root}", &root)))
            .collect();
        self
    }

    fn load(&self) -> Loaded {
        load(&self.inputs)
    }

    fn policy(&self) -> Policy {
        let loaded = self.load();
        loaded.policy.unwrap_or_else(|| panic!("{:#?}", loaded.diagnostics))
    }

    fn rendered(&self) -> String {
        self.redact(&self.load().render(Style::Plain))
    }

    fn redact(&self, text: &str) -> String {
        text.replace(self.path("").to_str().unwrap().trim_end_matches('/'), "[ROOT]")
    }

    fn codes(&self) -> Vec<(Severity, DiagnosticCode)> {
        self.load().diagnostics.into_iter().map(|finding| (finding.severity, finding.code)).collect()
    }

    fn errors(&self) -> Vec<DiagnosticCode> {
        let codes = self.codes().into_iter();
        codes.filter(|(severity, _)| *severity == Severity::Error).map(|(_, code)| code).collect()
    }

    fn warns(&self, code: DiagnosticCode) -> bool {
        self.codes().contains(&(Severity::Warning, code))
    }
}

trait CanonicalForTests {
    fn canonicalize_for_tests(&self) -> PathBuf;
}

impl CanonicalForTests for Path {
    /// By way of the code under test, which has its own table of cases.
    fn canonicalize_for_tests(&self) -> PathBuf {
        playwright_warden::policy::source::locate::locate(self).unwrap().path
    }
}

fn fixtures(kind: &str) -> BTreeMap<String, Vec<u8>> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/policies").join(kind);
    let files = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    let files: BTreeMap<_, _> =
        files.map(|path| (path.file_stem().unwrap().to_str().unwrap().to_owned(), bytes(&path))).collect();
    assert!(files.len() > 3, "the fixtures are there");
    files
}

fn bytes(path: &Path) -> Vec<u8> {
    use std::io::Read;
    let mut content = Vec::new();
    std::fs::OpenOptions::new().read(true).open(path).unwrap().read_to_end(&mut content).unwrap();
    content
}

/// The codes that `#~` names, each with its line.
fn expected(fixture: &[u8]) -> Vec<(usize, String)> {
    let text = String::from_utf8_lossy(fixture);
    let lines = text.lines().enumerate();
    let marked = lines.filter_map(|(index, line)| Some((index + 1, line.split_once("#~")?.1.to_owned())));
    marked
        .flat_map(|(line, codes)| {
            codes.split_whitespace().map(|code| (line, code.to_owned())).collect::<Vec<_>>()
        })
        .collect()
}

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
        assert!(name.starts_with(found[0].1.as_str()), "{name} is named for its fault");
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
        .with_policy("[dirs]\nalow = []\n")
        .with_variables(&[("PW_ALLOWED_ENV", "ENV,A-B"), ("PW_ALLOWED_DIR", "x")]);
    let json = serde_json::to_string_pretty(&world.load().diagnostics).unwrap();
    insta::assert_snapshot!("json", world.redact(&json));
}

fn rows(policy: &Policy) -> Vec<(String, Vec<Vec<String>>)> {
    let values = |lists: Vec<Vec<_>>| {
        lists
            .into_iter()
            .map(|list| {
                list.into_iter()
                    .map(|entry: playwright_warden::policy::origin::Sourced<String>| entry.value)
                    .collect()
            })
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

// Trust in a policy file.

#[test]
fn named_policy_that_is_missing_stops_the_server() {
    let mut world = World::new();
    world.inputs.policy_option = Some("nowhere.toml".into());
    assert_eq!(world.errors(), [DiagnosticCode::MissingFile]);
    assert_eq!(world.load().verdict(), Verdict::InputOutput);
    insta::assert_snapshot!("missing-file", world.rendered());

    let world = World::new().with_variables(&[("PW_POLICY_FILE", "{root}/nowhere.toml")]);
    assert_eq!(world.errors(), [DiagnosticCode::MissingFile]);

    let world = World::new().with_variables(&[("PW_POLICY_FILE", "")]);
    assert_eq!(world.errors(), []);
}

#[test]
fn user_policy_that_is_a_dangling_symlink_is_not_taken_for_none() {
    let world = World::new();
    assert_eq!(world.errors(), []);
    symlink("nowhere", world.path("home").join(USER_POLICY)).unwrap();
    assert_eq!(world.errors(), [DiagnosticCode::MissingFile]);
}

#[test]
fn policy_that_is_no_file_is_refused_at_once() {
    let mut world = World::new();
    let fifo = world.path("policies/policy.toml");
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    world.inputs.policy_option = Some(fifo);
    assert_eq!(world.errors(), [DiagnosticCode::NotAFile]);
    insta::assert_snapshot!("fifo", world.rendered());

    for path in [world.path("policies"), PathBuf::from("/dev/zero")] {
        world.inputs.policy_option = Some(path);
        assert_eq!(world.errors(), [DiagnosticCode::NotAFile]);
        assert_eq!(world.load().verdict(), Verdict::Invalid);
    }
}

#[test]
fn policy_that_others_may_write_is_refused() {
    let world = World::new().with_policy("version = 1\n");
    let file = world.path("policies/policy.toml");
    for (mode, good) in [(0o600, true), (0o644, true), (0o620, false), (0o602, false), (0o666, false)] {
        std::fs::set_permissions(&file, Permissions::from_mode(mode)).unwrap();
        let expected: &[_] = if good { &[] } else { &[DiagnosticCode::InsecureMode] };
        assert_eq!(world.errors(), expected, "{mode:o}");
    }
    insta::assert_snapshot!("insecure-mode", world.rendered());
}

#[test]
fn policy_in_a_directory_that_others_may_write_is_refused() {
    let world = World::new().with_policy("version = 1\n");
    let dir = world.path("policies");
    for (mode, good) in [(0o700, true), (0o755, true), (0o770, false), (0o1777, false)] {
        std::fs::set_permissions(&dir, Permissions::from_mode(mode)).unwrap();
        let expected: &[_] = if good { &[] } else { &[DiagnosticCode::InsecureParent] };
        assert_eq!(world.errors(), expected, "{mode:o}");
    }
    insta::assert_snapshot!("insecure-parent", world.rendered());
}

#[test]
fn symlink_to_a_policy_is_as_safe_as_both_directories() {
    let mut world = World::new().with_policy("version = 1\n");
    std::fs::create_dir(world.path("links")).unwrap();
    symlink("../policies/policy.toml", world.path("links/policy.toml")).unwrap();
    world.inputs.policy_option = Some(world.path("links/policy.toml"));
    std::fs::set_permissions(world.path("links"), Permissions::from_mode(0o700)).unwrap();
    assert_eq!(world.errors(), []);
    std::fs::set_permissions(world.path("links"), Permissions::from_mode(0o777)).unwrap();
    assert_eq!(world.errors(), [DiagnosticCode::InsecureParent]);
}

#[test]
fn policy_of_another_user_is_refused() {
    let mut world = World::new().with_policy("version = 1\n");
    assert_eq!(world.errors(), []);
    let owner = world.inputs.uid;
    world.inputs.uid = owner.wrapping_add(1);
    if owner == 0 {
        // Root's file is good for everyone; another user's is not.
        assert_eq!(world.errors(), []);
        let file = world.path("policies/policy.toml");
        std::os::unix::fs::chown(&file, Some(12_345), None).unwrap();
        assert_eq!(world.errors(), [DiagnosticCode::InsecureOwner]);
        std::os::unix::fs::chown(&file, Some(0), None).unwrap();
        std::os::unix::fs::chown(world.path("policies"), Some(12_345), None).unwrap();
        assert_eq!(world.errors(), [DiagnosticCode::InsecureParent]);
    } else {
        assert_eq!(world.errors(), [DiagnosticCode::InsecureOwner, DiagnosticCode::InsecureParent]);
    }
}

#[test]
fn policy_of_more_than_64_kib_is_refused() {
    let policy = |length: usize| format!("version = 1\n#{}", "x".repeat(length - 13));
    assert_eq!(World::new().with_policy(policy(65_536)).errors(), []);
    assert_eq!(World::new().with_policy(policy(65_537)).errors(), [DiagnosticCode::TooLarge]);
}

// Layers.

#[test]
fn first_source_grants_and_the_others_limit() {
    let user = "[dirs]\nallow = [\"~/work\"]\n[limits]\nworkers = 4\n";
    let named = "[dirs]\nallow = [\"~\"]\n[limits]\nworkers = 8\nrun_seconds = 60\n";
    let variables = &[("PW_ALLOWED_DIRS", "{root}/home/work/shop"), ("PW_ALLOWED_ENV", "ENV")];
    let world = World::new().with_policy(named).with_variables(variables);
    world.write(&format!("home/{USER_POLICY}"), user);
    let policy = world.policy();

    let roles: Vec<_> = policy.layers().iter().map(|layer| layer.role).collect();
    assert_eq!(roles, [Role::Grant, Role::Limit, Role::Limit]);
    assert!(policy.dirs().admits(&world.path("home/work/shop/e2e")).is_ok());
    assert!(policy.dirs().admits(&world.path("home/work/other")).is_err());
    assert!(policy.dirs().admits(&world.path("home/shop")).is_err());
    assert_eq!(policy.limits().workers().value.bound(), Some(4));
    assert_eq!(policy.limits().run_seconds().value.bound().unwrap().as_secs(), 60);
    assert!(policy.limits().run_seconds().origin.to_string().ends_with("policies/policy.toml:5:15"));
    assert!(
        policy.env().allow().admits(|pattern| pattern.matches("ENV")).is_err(),
        "the granting file says []"
    );
    assert_eq!(policy.limits().kept_runs().origin, Origin::Builtin);
}

#[test]
fn environment_alone_grants() {
    let world = World::new().with_variables(&[("PW_ALLOWED_DIRS", "shop"), ("PW_ALLOWED_ENV", "ENV, STAGE")]);
    let policy = world.policy();
    let admission = policy.dirs().admits(&world.path("launch/shop/e2e")).unwrap();
    assert_eq!(admission.bound, world.path("launch/shop"));
    assert_eq!(admission.entries[0].origin.to_string(), "PW_ALLOWED_DIRS item 1");
    assert!(policy.dirs().admits(&world.path("launch")).is_err());
    let names = policy.env().allow();
    assert!(names.admits(|pattern| pattern.matches("STAGE")).is_ok());
    assert!(names.admits(|pattern| pattern.matches("OTHER")).is_err());
}

#[test]
fn same_file_named_twice_is_one_layer() {
    let mut world = World::new();
    world.inputs.policy_option = Some(world.write(&format!("home/{USER_POLICY}"), "version = 1\n"));
    assert_eq!(world.policy().layers().len(), 1);
    world.write(&format!("home/{USER_POLICY}"), "versio = 1\n");
    assert_eq!(world.errors(), [DiagnosticCode::UnknownKey]);
}

#[test]
fn inputs_of_this_process_are_absolute() {
    let inputs = Inputs::of_this_process(None).unwrap();
    assert!(inputs.launch_dir.is_absolute());
    assert!(inputs.home.is_none_or(|home| home.is_absolute()));
    assert!(inputs.environment.get("CARGO_MANIFEST_DIR").is_some());
    assert!(inputs.environment.iter().any(|(name, _)| name == "CARGO_MANIFEST_DIR"));
}

#[test]
fn hash_depends_on_what_is_allowed_not_on_how_it_is_written() {
    let hash = |text: &str| World::new().with_policy(text).policy().hash();
    let one = hash("[dirs]\nallow = [\"/srv\", \"/opt\"]\n[run]\nheaded = false\n");
    assert_eq!(one.len(), 64);
    assert_eq!(one, hash("# a comment\n[run]\nheaded = false\n[dirs]\nallow = ['/opt', '/srv']\n"));
    assert_ne!(one, hash("[dirs]\nallow = [\"/srv\", \"/opt\"]\n[run]\nheaded = true\n"));
    assert_ne!(one, hash("[dirs]\nallow = [\"/srv\"]\n"));
}

// What a reviewer would ask.

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
        ("/**", Some(DiagnosticCode::DirAboveHome)),
        ("/*", Some(DiagnosticCode::DirAboveHome)),
        ("~", Some(DiagnosticCode::DirIsHome)),
        ("~/..", Some(DiagnosticCode::DirAboveHome)),
        ("/home", Some(DiagnosticCode::DirAboveHome)),
        ("/home/somebody", Some(DiagnosticCode::DirIsHome)),
        ("~/work", None),
    ];
    let wide = [DiagnosticCode::DirIsRoot, DiagnosticCode::DirAboveHome, DiagnosticCode::DirIsHome];
    for (entry, expected) in rows {
        let world = World::new().with_policy(format!("[dirs]\nallow = [\"{entry}\"]\n"));
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
        .with_policy("[env]\nallow = [\"BASE_URL\", \"NODE_*\", \"PATH\", \"PLAYWRIGHT_TEST_*\", \"*\"]\n")
        .with_variables(&[("PW_ALLOWED_ENV", "ENV,GITHUB_TOKEN")]);
    let loaded = world.load();
    let denied = loaded.diagnostics.iter().filter(|finding| finding.code == DiagnosticCode::EnvNameDenied);
    let places: Vec<_> = denied.map(|finding| world.redact(&finding.origin.to_string())).collect();
    assert_eq!(
        places,
        ["[ROOT]/policies/policy.toml:2:22", "[ROOT]/policies/policy.toml:2:32", "PW_ALLOWED_ENV item 2"]
    );
    insta::assert_snapshot!("env-name-denied", world.rendered());
}

#[test]
fn what_the_sandbox_leaves_open_is_told() {
    let rows = [
        ("mode = \"off\"", Some(DiagnosticCode::SandboxOff)),
        ("project = \"read-write\"", Some(DiagnosticCode::WriteCoversProject)),
        ("project = \"outputs\"", None),
    ];
    for (line, expected) in rows {
        let world = World::new().with_policy(format!("[env]\ninherit = []\n[sandbox]\n{line}\n"));
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
        World::new().with_policy(text)
    };
    assert!(policy("best-effort", "read-write").warns(DiagnosticCode::PolicyInGrantedDir));
    assert_eq!(policy("require", "read-write").errors(), [DiagnosticCode::PolicyInGrantedDir]);
    assert_eq!(policy("require", "read-only").errors(), []);
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
        World::new().with_policy("[env]\ninherit = [\"CI\", \"E2E_*\"]\nwithhold = [\"*_TOKEN\"]\n").policy();
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
