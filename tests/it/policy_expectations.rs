//! `[[expect]]`: a policy's own tests, replayed by `--check-policy`.

use std::path::Path;

use playwright_warden::{
    path::handle::DirHandle,
    policy::{
        excerpt::{Style, render},
        expect::check,
    },
};
use serde_json::json;

use crate::{
    harness::{project::Project, server::Setup},
    policy_world::{World, bytes},
};

fn fixture(name: &str) -> Vec<u8> {
    bytes(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/policies/expectations").join(name))
}

#[test]
fn an_expectation_that_fails_says_what_was_decided_and_where() {
    let world = World::new().with_policy(fixture("broken.toml"));
    let loaded = world.load();
    let launch = DirHandle::open(&world.inputs.launch_dir).unwrap();
    let findings = check(loaded.policy.as_ref().unwrap(), &launch);
    let shown = world.redact(&render(&findings, &loaded.texts, Style::Plain));
    insta::assert_snapshot!("broken", shown);
}

#[test]
fn expectations_that_hold_are_silent() {
    let world = World::new().with_policy(fixture("kept.toml"));
    let launch = DirHandle::open(&world.inputs.launch_dir).unwrap();
    assert_eq!(check(&world.policy(), &launch), []);
}

#[test]
fn a_failed_expectation_is_an_error_of_the_check_and_does_not_keep_a_server_from_its_work() {
    let project = Project::empty().file("shop/x", "");
    let policy = "dirs.allow = [\"shop\"]\n[[expect]]\ndecision = \"DECISION\"\n\
                  call = { tool = \"run_tests\", arguments = { workingDirectory = \"/etc\" } }";
    let setup =
        |decision: &str| Setup::in_directory(project.path()).policy(&policy.replace("DECISION", decision));
    for (decision, status, counted) in [("deny", 0, "1 of 1"), ("allow", 1, "0 of 1")] {
        let human = setup(decision).finish(&["--check-policy"], "");
        assert_eq!(human.status, Some(status), "{human:?}");
        assert!(
            human.stdout.contains(&format!("{counted} calls decided as the policy expects")),
            "{human:?}"
        );
        assert_eq!(human.stderr.contains("error[expect-failed]"), status == 1, "{human:?}");
        let object = setup(decision).finish(&["--check-policy", "--format", "json"], "").json();
        assert_eq!(object["valid"], status == 0);
        assert_eq!(object["expectations"], json!({ "count": 1, "failed": status }));
        let server = setup(decision).start();
        server.run(json!({ "workingDirectory": "shop" })).assert_refused("playwright_not_found");
    }
}
