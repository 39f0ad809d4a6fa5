//! `docs/first-policy.md`: somebody who never saw the tool gets to a strict policy by its help alone, and what the
//! document claims that the tool says is what it says.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use playwright_warden::policy::{Loaded, Verdict};

use crate::policy_world::{World, bytes};

fn document(name: &str) -> String {
    String::from_utf8(bytes(&Path::new(env!("CARGO_MANIFEST_DIR")).join("docs").join(name))).unwrap()
}

/// A user with one project, and this policy in his home.
fn world(policy: &str) -> World {
    let mut world = World::new();
    std::fs::create_dir_all(world.path("home/work/shop")).unwrap();
    world.inputs.launch_dir = world.path("home/work/shop");
    world.write("home/.config/playwright-warden/policy.toml", policy);
    world
}

/// The document with what the tool says to each file put in, and the verdict on each.
fn written_anew(document: &str) -> (String, Vec<Verdict>) {
    let mut parts = document.split("```");
    let mut anew = parts.next().unwrap().to_owned();
    let (mut said, mut verdicts) = (String::new(), Vec::new());
    while let (Some(block), Some(after)) = (parts.next(), parts.next()) {
        let block = match block.strip_prefix("toml\n") {
            Some(policy) => {
                let world = world(policy);
                said = world.rendered().replace("[ROOT]/home", "/home/you");
                verdicts.push(world.load().verdict());
                block.to_owned()
            }
            None => format!("text\n{said}\n"),
        };
        write!(anew, "```{block}```{after}").unwrap();
    }
    (anew, verdicts)
}

#[test]
fn tool_says_what_the_first_policy_document_claims() {
    let document = document("first-policy.md");
    let (anew, _) = written_anew(&document);
    if anew != document {
        let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("first-policy.md");
        std::fs::write(&path, anew).unwrap();
        panic!("the tool says something else now: read {}, and put it into docs", path.display());
    }
}

#[test]
fn following_every_hint_ends_in_silence() {
    let (_, verdicts) = written_anew(&document("first-policy.md"));
    let expected = [
        Verdict::Invalid,
        Verdict::ValidWithWarnings,
        Verdict::Invalid,
        Verdict::Invalid,
        Verdict::ValidWithWarnings,
        Verdict::Valid,
    ];
    assert_eq!(verdicts, expected);
}

#[test]
fn strict_sample_is_silent() {
    let world = world(&document("policy.strict.toml"));
    let Loaded { policy, diagnostics, .. } = world.load();
    assert!(policy.is_some() && diagnostics.is_empty(), "{}", world.rendered());
}
