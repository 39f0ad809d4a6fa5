//! What a reviewer would ask: each question at its place, with a hint, and silence where every hint was followed.

use std::collections::BTreeSet;
use std::fs::Permissions;
use std::os::unix::fs::{PermissionsExt, chown, symlink};

use playwright_warden::policy::Verdict;
use playwright_warden::policy::diagnostic::{DiagnosticCode, Severity};
use playwright_warden::policy::origin::Origin;

use crate::policy_world::{World, expected, fixtures, is_named_for};

/// A world with what the fixtures name: projects, a package store, symlinks, a directory that everyone may write.
fn furnished() -> World {
    let world = World::new().with_variables(&[("PATH", "{root}/launch/tools")]);
    for dir in [
        "launch/clients/a/x",
        "launch/clients/a/.git",
        "launch/store/node_modules/.pnpm",
        "launch/open",
        "launch/tools",
        "home/.cache",
        "home/.cargo/bin",
        "home/.ssh/keys",
    ] {
        std::fs::create_dir_all(world.path(dir)).unwrap();
    }
    std::fs::create_dir(world.path("launch/shop/e2e")).unwrap();
    std::fs::set_permissions(world.path("launch/open"), Permissions::from_mode(0o777)).unwrap();
    symlink("shop", world.path("launch/link")).unwrap();
    symlink("../policies", world.path("launch/to-policies")).unwrap();
    world.write("launch/file", "");
    world
}

#[test]
fn each_question_is_asked_at_its_place_and_nothing_else_is() {
    for (name, fixture) in fixtures("warned") {
        let world = furnished().with_policy(&fixture);
        let loaded = world.load();
        assert_eq!(loaded.verdict(), Verdict::ValidWithWarnings, "{name}: {}", world.rendered());
        let mut found: Vec<_> = loaded
            .diagnostics
            .iter()
            .map(|finding| match &finding.origin {
                Origin::File { span, .. } => {
                    (span.map_or(1, |span| span.start.line), finding.code.to_string())
                }
                origin @ (Origin::Variable { .. } | Origin::Builtin) => panic!("{name}: {origin}"),
            })
            .collect();
        found.sort();
        assert_eq!(found, expected(&fixture), "{name}: {}", world.rendered());
        assert!(is_named_for(&name, &found), "{name} is named for its fault");
        assert!(loaded.diagnostics.iter().all(|finding| finding.hint.is_some()), "{name}");
        insta::assert_snapshot!(format!("warned__{name}"), world.rendered());
    }
}

/// Codes without a fixture: of what is no line of one file, or is not told by reading the policy. Other tests have them.
const WITHOUT_FIXTURE: &[&str] = &[
    "audit-in-granted-dir",
    "audit-off",
    "audit-unavailable",
    "dir-not-named",
    "dir-not-owned",
    "exclusive-inherits-all",
    "exclusive-outside-system",
    "expect-failed",
    "ignored-file",
    "implicit-dir-too-wide",
    "insecure-mode",
    "insecure-owner",
    "insecure-parent",
    "missing-file",
    "missing-version",
    "not-a-file",
    "program-in-granted-dir",
    "relative-path-in-system-policy",
    "results-outside-dirs",
    "sandbox-partial",
    "sandbox-unavailable",
    "state-in-granted-dir",
    "system-error",
    "too-large",
    "unknown-variable",
    "unreadable-file",
];

#[test]
fn every_code_that_stands_on_a_line_has_a_fixture() {
    let fixtures: Vec<_> =
        fixtures("warned").into_values().chain(fixtures("invalid").into_values()).collect();
    let marked: BTreeSet<_> =
        fixtures.iter().flat_map(|fixture| expected(fixture)).map(|(_, code)| code).collect();
    for code in DiagnosticCode::ALL {
        let somewhere = marked.contains(code.name()) || WITHOUT_FIXTURE.contains(&code.name());
        assert!(somewhere, "{code} has no fixture");
    }
}

#[test]
fn directory_that_nobody_named_is_told_with_the_line_to_write() {
    let world = World::new();
    let told =
        world.load().diagnostics.into_iter().find(|it| it.code == DiagnosticCode::DirNotNamed).unwrap();
    assert_eq!(world.redact(&told.hint.unwrap()), "write `allow = [\"[ROOT]/launch\"]` under `[dirs]`");
    let named = World::new().with_policy("version = 1\n[dirs]\nallow = [\".\"]\n");
    assert!(!named.warns(DiagnosticCode::DirNotNamed));
    let named = World::new().with_variables(&[("PW_ALLOWED_DIRS", "shop")]);
    assert!(!named.warns(DiagnosticCode::DirNotNamed));
}

#[test]
fn directory_of_another_user_is_told_unless_projects_must_be_ones_own() {
    let of_another = |policy: &str| {
        let mut world = World::new();
        if world.inputs.uid == 0 {
            chown(world.path("launch/shop"), Some(65534), None).unwrap();
        } else {
            // An ordinary user can give nothing away, so he is taken for somebody else.
            world.inputs.uid += 1;
        }
        world.with_variables(&[("PW_ALLOWED_DIRS", policy)])
    };
    assert!(of_another("shop").warns(DiagnosticCode::DirNotOwned));
    assert!(!World::new().with_variables(&[("PW_ALLOWED_DIRS", "shop")]).warns(DiagnosticCode::DirNotOwned));
    if rustix::process::geteuid().is_root() {
        let world =
            of_another("shop").with_policy("version = 1\n[dirs]\nallow = [\"shop\"]\nowner = \"self\"\n");
        assert!(!world.warns(DiagnosticCode::DirNotOwned));
    }
}

#[test]
fn entry_that_another_layer_takes_away_is_told_with_that_layer() {
    let world = furnished()
        .with_policy(
            "version = 1\n[dirs]\nallow = [\"shop\", \"clients/*\"]\n[env]\ninherit = [\"CI\"]\nallow = [\"ENV\", \"TEST_*\"]\n\
             [sandbox]\nmode = \"require\"\nproject = \"outputs\"\nnetwork = \"none\"\n",
        )
        .with_variables(&[("PW_ALLOWED_DIRS", "shop/e2e:clients/a:open"), ("PW_ALLOWED_ENV", "TEST_X,STAGE")]);
    insta::assert_snapshot!("no-effect", world.rendered());
}

#[test]
fn machine_wide_list_may_name_more_than_one_user_has() {
    let world = World::new()
        .with_policy("version = 1\n[tools]\nallow = [\"run_tests\"]\n")
        .with_variables(&[("PW_ALLOWED_DIRS", "shop")]);
    assert!(!world.warns(DiagnosticCode::NoEffect));
}

#[test]
fn pattern_is_looked_up_within_a_bound() {
    let world = World::new();
    let policy = || "version = 1\n[dirs]\nallow = [\"shop/**/e2e\"]\n";
    assert!(World::new().with_policy(policy()).warns(DiagnosticCode::GlobMatchesNothing));
    let world = world.with_policy(policy());
    for index in 0..300 {
        std::fs::create_dir(world.path(&format!("launch/shop/{index}"))).unwrap();
    }
    assert!(!world.warns(DiagnosticCode::GlobMatchesNothing), "nothing is said of what was not seen");
}

#[test]
fn findings_are_ordered_by_place() {
    let world = furnished()
        .with_policy("version = 1\n[sandbox]\nmode = \"off\"\n[dirs]\nallow = [\"nowhere\", \"open\"]\n")
        .with_variables(&[("PW_ALLOWED_DIR", "x")]);
    let places: Vec<_> =
        world.load().diagnostics.iter().map(|finding| world.redact(&finding.origin.to_string())).collect();
    let file = |place: &str| format!("[ROOT]/policies/policy.toml:{place}");
    assert_eq!(places, [&file("3:8"), &file("5:10"), &file("5:21"), "PW_ALLOWED_DIR", "builtin", "builtin"]);
}

#[test]
fn nothing_of_a_refused_file_is_told() {
    let secret = "hunter2-in-a-comment";
    let text = format!("version = 1\n# {secret}\nallow = [\n");
    let refused = |mode: u32| {
        let world = World::new().with_policy(&text);
        std::fs::set_permissions(world.path("policies/policy.toml"), Permissions::from_mode(mode)).unwrap();
        world
    };
    assert!(refused(0o600).load().texts.iter().any(|file| file.text.contains(secret)), "the control is read");
    let mut broken = text.clone().into_bytes();
    broken.extend(b"\xff");
    let large = text.clone() + &"#".repeat(70_000);
    let worlds =
        [refused(0o666), refused(0o620), World::new().with_policy(broken), World::new().with_policy(large)];
    for world in worlds {
        let loaded = world.load();
        assert!(loaded.diagnostics.iter().any(|finding| finding.severity == Severity::Error));
        assert!(!format!("{} {:?}", world.rendered(), loaded).contains("hunter2"), "{}", world.rendered());
    }
}

#[test]
fn what_a_policy_holds_can_not_steer_the_terminal_of_its_reader() {
    let policy = "version = 1\n[dirs]\nallow = [\"\\u001b[2J\\u202e\", \"x\u{202e}\"]\n\"a\\u001bb\" = 1\n[tools]\nallow = [\"\\u009b\"]\n";
    let shown = World::new().with_policy(policy).rendered();
    assert!(shown.chars().all(|character| character == '\n' || !character.is_control()), "{shown:?}");
    assert!(!shown.contains('\u{202e}'), "{shown:?}");
}
