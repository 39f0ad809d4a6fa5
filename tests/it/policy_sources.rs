//! Which sources make the policy, and which files are trusted for it.

use std::fs::Permissions;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;

use playwright_warden::policy::Verdict;
use playwright_warden::policy::diagnostic::DiagnosticCode;
use playwright_warden::policy::origin::Origin;
use playwright_warden::policy::source::{Inputs, LayerSource, Role, USER_POLICY};

use crate::policy_world::World;

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

#[test]
fn first_source_grants_and_the_others_limit() {
    let user = "version = 1\n[dirs]\nallow = [\"~/work\"]\n[limits]\nworkers = 4\n";
    let named = "[dirs]\nallow = [\"~\"]\n[limits]\nworkers = 8\nrun_seconds = 60\n";
    let variables = &[("PW_ALLOWED_DIRS", "{root}/home/work/shop"), ("PW_ALLOWED_ENV", "ENV")];
    let world = World::new().with_rules(named).with_variables(variables);
    world.write(&format!("home/{USER_POLICY}"), user);
    let policy = world.policy();

    let roles: Vec<_> = policy.layers().iter().map(|layer| layer.role).collect();
    assert_eq!(roles, [Role::Grant, Role::Limit, Role::Limit]);
    assert!(policy.dirs().admits(&world.path("home/work/shop/e2e")).is_ok());
    assert!(policy.dirs().admits(&world.path("home/work/other")).is_err());
    assert!(policy.dirs().admits(&world.path("home/shop")).is_err());
    assert_eq!(policy.limits().workers().value.bound(), Some(4));
    assert_eq!(policy.limits().run_seconds().value.bound().unwrap().as_secs(), 60);
    assert!(policy.limits().run_seconds().origin.to_string().ends_with("policies/policy.toml:6:15"));
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
    world.write(&format!("home/{USER_POLICY}"), "version = 1\nversio = 1\n");
    assert_eq!(world.errors(), [DiagnosticCode::UnknownKey]);
}

#[test]
fn inputs_of_this_process_are_absolute() {
    let inputs = Inputs::of_this_process(None, None).unwrap();
    assert!(inputs.launch_dir.is_absolute());
    assert_eq!(inputs.system_dir.path, PathBuf::from("/etc/playwright-warden"));
    assert_eq!(inputs.system_dir.owner_uid, 0);
    assert!(inputs.program.is_some_and(|program| program.is_absolute()));
    let relative = Inputs::of_this_process(None, Some("state".into())).unwrap();
    assert_eq!(relative.state_dir, Some(relative.launch_dir.join("state")));
    assert!(inputs.home.is_none_or(|home| home.is_absolute()));
    assert!(inputs.environment.get("CARGO_MANIFEST_DIR").is_some());
    assert!(inputs.environment.iter().any(|(name, _)| name == "CARGO_MANIFEST_DIR"));
}

#[test]
fn hash_depends_on_what_is_allowed_not_on_how_it_is_written() {
    let hash = |text: &str| World::new().with_rules(text).policy().hash();
    let one = hash("[dirs]\nallow = [\"/srv\", \"/opt\"]\n[run]\nheaded = false\n");
    assert_eq!(one.len(), 64);
    assert_eq!(one, hash("# a comment\n[run]\nheaded = false\n[dirs]\nallow = ['/opt', '/srv']\n"));
    assert_ne!(one, hash("[dirs]\nallow = [\"/srv\", \"/opt\"]\n[run]\nheaded = true\n"));
    assert_ne!(one, hash("[dirs]\nallow = [\"/srv\"]\n"));
}

/// The layers in their order, each with its role.
fn told(world: &World) -> Vec<String> {
    let policy = world.policy();
    let layers = policy.layers().iter().map(|layer| {
        let source = match &layer.source {
            LayerSource::File { path, scope, .. } => {
                format!("{} {}", scope.as_str(), path.file_name().unwrap().to_str().unwrap())
            }
            LayerSource::Environment => "environment".to_owned(),
            LayerSource::Builtin => "builtin".to_owned(),
        };
        format!("{:?} {source}", layer.role)
    });
    layers.collect()
}

#[test]
fn files_of_the_system_limit_and_exclusive_ones_grant() {
    let world = World::new().with_system("policy.toml", "version = 1\n");
    assert_eq!(told(&world), ["Grant builtin", "Limit system policy.toml"]);
    let world = world
        .with_system("policy.d/b.toml", "version = 1\nexclusive = false\n")
        .with_system("policy.d/a.toml", "version = 1\n")
        .with_rules("")
        .with_variables(&[("PW_ALLOWED_DIRS", "shop")]);
    world.write(&format!("home/{USER_POLICY}"), "version = 1\n");
    let limits = ["Limit system a.toml", "Limit system b.toml", "Limit system policy.toml"];
    let users = ["Limit named policy.toml", "Limit environment"];
    assert_eq!(told(&world), [&["Grant user policy.toml"], &users[..], &limits[..]].concat());
    let world = world.with_system("policy.d/b.toml", "version = 1\nexclusive = true\n");
    let limits = ["Limit system a.toml", "Limit system policy.toml"];
    assert_eq!(
        told(&world),
        [&["Grant system b.toml", "Limit user policy.toml"], &users[..], &limits[..]].concat()
    );
}

#[test]
fn exclusive_file_that_is_also_named_is_one_layer_and_another_file_of_the_system_two() {
    for (exclusive, layers) in [("true", 1), ("false", 2)] {
        let text = format!("version = 1\nexclusive = {exclusive}\n");
        let mut world = World::new().with_system("policy.toml", &text);
        world.inputs.policy_option = Some(world.inputs.system_dir.path.join("policy.toml"));
        if exclusive == "true" {
            assert_eq!(told(&world).len(), layers);
        } else {
            assert_eq!(world.errors(), [DiagnosticCode::ExclusiveOutsideSystem]);
            let world = world.with_system("policy.toml", "version = 1\n");
            assert_eq!(told(&world).len(), layers);
        }
    }
}

#[test]
fn path_in_the_systems_policy_never_depends_on_where_a_server_starts() {
    let rows = [
        ("/srv", true),
        ("/srv/*", true),
        ("~", true),
        ("~/work", true),
        (".", false),
        ("work", false),
        ("../x", false),
        ("*", false),
        ("{/srv,work}", false),
    ];
    for key in ["dirs.allow", "dirs.deny", "sandbox.read", "sandbox.write"] {
        for (path, good) in
            rows.into_iter().filter(|(path, _)| key.starts_with("dirs") || !path.contains('*'))
        {
            for exclusive in [false, true] {
                let text = format!("version = 1\nexclusive = {exclusive}\n{key} = [\"{path}\"]\n");
                let world = World::new().with_system("policy.d/a.toml", &text);
                let relative = world.errors().contains(&DiagnosticCode::RelativePathInSystemPolicy);
                assert_eq!(relative, !good, "{text}");
                let own = World::new().with_rules(format!("{key} = [\"{path}\"]\n"));
                assert!(!own.errors().contains(&DiagnosticCode::RelativePathInSystemPolicy), "the control");
            }
        }
    }
    let world = World::new().with_system(
        "policy.toml",
        "version = 1\n[dirs]\nallow = [\"/srv\", \"work\"]\n[sandbox]\noutputs = [\"out\"]\n",
    );
    insta::assert_snapshot!("relative-path-in-system-policy", world.rendered());
}

#[test]
fn exclusive_policy_lets_no_variable_through_unnamed() {
    for (names, good) in [
        ("[]", true),
        ("[\"CI\", \"E2E_*\"]", true),
        ("[\"*\"]", false),
        ("[\"CI\", \"**\"]", false),
        ("[\"?*\"]", false),
    ] {
        let text = |exclusive| format!("version = 1\nexclusive = {exclusive}\nenv.inherit = {names}\n");
        let expected: &[_] = if good { &[] } else { &[DiagnosticCode::ExclusiveInheritsAll] };
        assert_eq!(World::new().with_system("policy.toml", &text(true)).errors(), expected, "{names}");
        assert_eq!(World::new().with_system("policy.toml", &text(false)).errors(), [], "the control");
    }
    let world =
        World::new().with_system("policy.toml", "version = 1\nexclusive = true\n[env]\ninherit = [\"*\"]\n");
    insta::assert_snapshot!("exclusive-inherits-all", world.rendered());
    let silent = World::new().with_system("policy.toml", "version = 1\nexclusive = true\n").policy();
    assert!(!silent.env().passes("CI") && silent.env().passes("PATH"));
}

#[test]
fn name_that_is_not_read_is_told() {
    let world = World::new();
    let read = ["policy.toml", "policy.d/a.toml", "policy.d/b c.toml"];
    let ignored = ["policy.tml", "policy.d/a.tml", "policy.d/a.toml~", "policy.d/.a.toml", "policy.d/README"];
    let world =
        read.iter().chain(&ignored).fold(world, |world, name| world.with_system(name, "version = 1\n"));
    std::fs::create_dir(world.inputs.system_dir.path.join("policy.d/old")).unwrap();
    assert_eq!(world.policy().layers().len(), 1 + read.len());
    let told = world.codes().into_iter().filter(|(_, code)| *code == DiagnosticCode::IgnoredFile).count();
    assert_eq!(told, ignored.len() + 1);
}

#[test]
fn implicit_directory_is_no_better_for_a_limit() {
    let mut world = World::new();
    world.inputs.launch_dir = world.path("home");
    assert_eq!(world.errors(), [DiagnosticCode::ImplicitDirTooWide]);
    let world = world.with_system("policy.toml", "version = 1\ndirs.allow = [\"/\"]\n");
    assert_eq!(world.errors(), [DiagnosticCode::ImplicitDirTooWide], "a layer more allows no more");
    let world = world.with_system("policy.toml", "version = 1\ndirs.allow = [\"~/work\"]\n");
    assert_eq!(world.errors(), [], "what is left of it is narrow");
}

#[test]
fn results_file_lies_within_what_an_exclusive_policy_allows() {
    let world =
        World::new().with_variables(&[("PW_ALLOWED_DIRS", "shop"), ("PW_RESULTS_FILE", "shop/results.json")]);
    assert_eq!(world.errors(), [], "the control");
    let root = world.path("");
    let exclusive =
        |dir: &str| format!("version = 1\nexclusive = true\ndirs.allow = [\"{}{dir}\"]\n", root.display());
    let world = world.with_system("policy.toml", &exclusive("home"));
    assert_eq!(world.errors(), [DiagnosticCode::ResultsOutsideDirs]);
    let world = world.with_system("policy.toml", &exclusive("launch"));
    assert_eq!(world.errors(), []);
}
