//! Tests of the laws of combination, over whole policies made by chance: another layer never allows more, the order of
//! limits and of exclusive files never matters, and a default counts only in a granting layer.

use std::path::Path;
use std::sync::Arc;

use crate::policy::Policy;
use crate::policy::compile::compile;
use crate::policy::limits::Limits;
use crate::policy::origin::Origin;
use crate::policy::pattern::Syntax;
use crate::policy::pattern::name::{Case, NamePattern};
use crate::policy::pattern::path_glob::{PathBase, PathGlob};
use crate::policy::permissions::{Permissions, Permitted};
use crate::policy::recording::AuditSink;
use crate::policy::source::keys::tables;
use crate::policy::source::{Layer, LayerSource, Role, Scope, document, system_rules};
use crate::policy::tool::ToolName;

/// Numbers that look random and are the same in each run (xorshift).
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % u64::try_from(end).unwrap()).unwrap()
    }

    /// Some of the words, perhaps none, as a TOML list.
    fn some(&mut self, words: &[&str]) -> String {
        let chosen: Vec<_> = words.iter().filter(|_| self.below(2) == 0).collect();
        format!("{chosen:?}")
    }

    fn one<'a>(&mut self, words: &[&'a str]) -> &'a str {
        words[self.below(words.len())]
    }
}

const DIRS: &[&str] =
    &["/nowhere/a", "/nowhere/a/b", "/nowhere/*", "/nowhere/*/b", "/nowhere/**/c", "/nowhere"];
const NAMES: &[&str] = &["*", "A*", "AB", "B?", "?B", "ENV"];
const TREES: &[&str] = &["out", "out/x", "dist", "dist/y/z"];

/// One row for each key: how it is written by chance.
fn random_keys(dice: &mut Dice) -> Vec<String> {
    let mut keys = vec![
        format!("dirs.allow = {}", dice.some(DIRS)),
        format!("dirs.deny = {}", dice.some(&DIRS[1..4])),
        format!("dirs.owner = {}", dice.one(&["\"self\"", "\"any\""])),
        format!("tools.allow = {}", dice.some(&["run_tests", "get_failed_tests", "list_tests"])),
        format!("run.headed = {}", dice.one(&["true", "false"])),
        format!("run.update_snapshots = {}", dice.one(&["true", "false"])),
        format!("run.projects = {}", dice.some(NAMES)),
        format!("env.inherit = {}", dice.some(NAMES)),
        format!("env.withhold = {}", dice.some(&NAMES[1..])),
        format!("env.allow = {}", dice.some(NAMES)),
        format!("env.values = {{ ENV = {} }}", dice.some(&["qa", "dev"])),
        format!("env.redact = {}", dice.some(&NAMES[1..])),
        format!("sandbox.mode = {}", dice.one(&["\"require\"", "\"best-effort\"", "\"off\""])),
        format!("sandbox.project = {}", dice.one(&["\"read-only\"", "\"outputs\"", "\"read-write\""])),
        format!("sandbox.outputs = {}", dice.some(TREES)),
        format!("sandbox.protect = {}", dice.some(TREES)),
        format!("sandbox.read = {}", dice.some(&DIRS[..2])),
        format!("sandbox.write = {}", dice.some(&DIRS[..2])),
        format!("sandbox.network = {}", dice.one(&["\"open\"", "\"none\""])),
        format!("sandbox.unix_sockets = {}", dice.one(&["\"allow\"", "\"deny\""])),
        format!("audit.sinks = {}", dice.some(&["journald", "file"])),
        "audit.file = \"/nowhere/audit.jsonl\"".to_owned(),
        format!("audit.args = {}", dice.one(&["\"redacted\"", "\"none\""])),
        format!("audit.on_error = {}", dice.one(&["\"deny\"", "\"continue\""])),
    ];
    for key in Limits::KEYS {
        keys.push(format!("limits.{} = {}", key.name, dice.one(&["1", "5", "1000000", "\"unlimited\""])));
    }
    keys
}

/// About half of the keys.
fn random_policy(dice: &mut Dice) -> String {
    let keys = random_keys(dice).into_iter();
    keys.filter(|_| dice.below(2) == 0).collect::<Vec<_>>().join("\n")
}

fn layer(text: &str, role: Role) -> Layer {
    scoped(text, role, Scope::User)
}

fn scoped(text: &str, role: Role, scope: Scope) -> Layer {
    let path: Arc<Path> = Path::new("/p.toml").into();
    let (written, findings) = document::parse(&path, &format!("version = 1\n{text}"));
    assert_eq!(findings, [], "{text}");
    let mut layer = Layer::empty(role, LayerSource::File { path, facts: None, scope });
    layer.settings = written.settings().unwrap();
    layer.places = written.places;
    layer
}

fn base() -> PathBase {
    PathBase { launch_dir: "/nowhere/a".into(), home: None }
}

fn compiled(layers: &[Layer]) -> Policy {
    compile(layers, &base()).unwrap()
}

/// All that a policy allows of a small world, as labels; what takes away is told by what is left.
fn allowed(policy: &Policy) -> Vec<String> {
    let mut allowed = Vec::new();
    let mut note = |label: String, holds: bool| allowed.extend(holds.then_some(label));
    for dir in ["/nowhere", "/nowhere/a", "/nowhere/a/b", "/nowhere/x/b", "/nowhere/a/b/c", "/elsewhere"] {
        note(format!("dir {dir}"), policy.dirs().admits(Path::new(dir)).is_ok());
    }
    for tool in ToolName::ALL {
        note(format!("tool {tool}"), policy.tools().admits(*tool).is_ok());
    }
    for name in ["A", "AB", "BB", "ENV", "LONG"] {
        note(format!("project {name}"), policy.run().projects().admits(|it| it.matches(name)).is_ok());
        note(format!("inherit {name}"), policy.env().passes(name));
        note(format!("set {name}"), policy.env().allow().admits(|it| it.matches(name)).is_ok());
        note(format!("show {name}"), !policy.env().redacts(name));
    }
    for value in ["qa", "dev", "prod"] {
        let values = policy.env().values().values().next();
        note(format!("value {value}"), values.is_none_or(|list| list.admits(|it| it == value).is_ok()));
    }
    for (key, limit) in policy.limits().rows() {
        for bound in [1, 5, 5000, 1_000_000, u64::MAX] {
            note(format!("{key} {bound}"), limit.value.admits(&bound));
        }
    }
    let sandbox = policy.sandbox();
    for tree in ["out", "out/x", "out/x/1", "dist", "dist/y/z"].map(Path::new) {
        note(format!("output {tree:?}"), sandbox.outputs().iter().any(|it| tree.starts_with(&it.value)));
        note(format!("change {tree:?}"), !sandbox.protect().iter().any(|it| tree.starts_with(&it.value)));
    }
    for path in ["/nowhere/a", "/nowhere/a/b", "/nowhere/a/c"].map(Path::new) {
        note(format!("read {path:?}"), sandbox.read().iter().any(|it| path.starts_with(&it.value)));
        note(format!("write {path:?}"), sandbox.write().iter().any(|it| path.starts_with(&it.value)));
    }
    for sink in [AuditSink::Journald, AuditSink::File] {
        note(format!("without {sink}"), !policy.audit().sinks().iter().any(|named| named.value == sink));
    }
    let words = [
        ("owner", policy.dirs().owner().value as usize),
        ("headed", usize::from(policy.run().headed().value)),
        ("update", usize::from(policy.run().update_snapshots().value)),
        ("mode", sandbox.mode().value as usize),
        ("project", sandbox.project().value as usize),
        ("network", sandbox.network().value as usize),
        ("sockets", sandbox.unix_sockets().value as usize),
        ("unsaid arguments", policy.audit().args().value as usize),
        ("unwritten decisions", policy.audit().on_error().value as usize),
    ];
    for (word, openness) in words {
        for step in 1..=openness {
            note(format!("{word} {step}"), true);
        }
    }
    allowed
}

#[test]
fn another_layer_never_allows_more_and_the_order_of_limits_never_matters() {
    let mut dice = Dice(0x5eed);
    let mut narrowed = 0;
    for _ in 0..300 {
        let grant = layer(&random_policy(&mut dice), Role::Grant);
        let limits: Vec<_> = (0..3).map(|_| layer(&random_policy(&mut dice), Role::Limit)).collect();
        let mut layers = vec![grant.clone()];
        let mut before = allowed(&compiled(&layers));
        for limit in &limits {
            layers.push(limit.clone());
            let after = allowed(&compiled(&layers));
            for label in &after {
                assert!(before.contains(label), "{label} came with\n{:?}", limit.settings);
            }
            narrowed += usize::from(after.len() < before.len());
            before = after;
        }
        let hash = compiled(&layers).hash();
        for turn in [[2, 1, 0], [1, 2, 0], [0, 2, 1]] {
            let turned: Vec<_> =
                std::iter::once(grant.clone()).chain(turn.map(|index| limits[index].clone())).collect();
            let turned = compiled(&turned);
            assert_eq!(allowed(&turned), before);
            assert_eq!(turned.hash(), hash);
        }
    }
    assert!(narrowed > 500, "the layers of this test do narrow: {narrowed}");
}

fn exclusive(text: &str) -> Layer {
    let mut layer = scoped(text, Role::Limit, Scope::System);
    assert_eq!(system_rules::grant(&mut layer), [], "{text}");
    layer
}

/// A policy that an exclusive file may hold.
fn random_exclusive(dice: &mut Dice) -> Layer {
    let keys = random_policy(dice);
    let keys = keys.lines().filter(|line| !line.starts_with("env.inherit"));
    exclusive(&keys.collect::<Vec<_>>().join("\n"))
}

#[test]
fn nothing_allows_more_than_an_exclusive_file_alone_whatever_its_place() {
    let mut dice = Dice(0x0e7c);
    let mut narrowed = 0;
    for _ in 0..120 {
        let first = random_exclusive(&mut dice);
        let alone = allowed(&compiled(std::slice::from_ref(&first)));
        let second = random_exclusive(&mut dice);
        let users: Vec<_> = (0..2).map(|_| layer(&random_policy(&mut dice), Role::Limit)).collect();
        let limit = scoped(&random_policy(&mut dice), Role::Limit, Scope::System);
        let layers = [first, second, users[0].clone(), users[1].clone(), limit];
        let mut before = alone.clone();
        for end in 2..=layers.len() {
            let after = allowed(&compiled(&layers[..end]));
            for label in &after {
                assert!(before.contains(label), "{label} came with\n{:?}", layers[end - 1].settings);
            }
            narrowed += usize::from(after.len() < before.len());
            before = after;
        }
        // Another user's file in the place of one: still no more than the exclusive file alone.
        let mut changed = layers.clone();
        changed[2] = layer(&random_policy(&mut dice), Role::Limit);
        assert!(allowed(&compiled(&changed)).iter().all(|label| alone.contains(label)));
        let hash = compiled(&layers).hash();
        for turn in [[1, 0, 2, 3, 4], [0, 1, 4, 3, 2], [1, 0, 3, 4, 2]] {
            let turned = compiled(&turn.map(|index| layers[index].clone()));
            assert_eq!(allowed(&turned), before);
            assert_eq!(turned.hash(), hash);
        }
    }
    assert!(narrowed > 200, "the layers of this test do narrow: {narrowed}");
}

#[test]
fn exclusive_file_that_says_nothing_is_the_strict_sample_and_allows_no_directory() {
    let policy = compiled(&[exclusive("")]);
    let sandbox = policy.sandbox();
    assert!(policy.dirs().admits(Path::new("/nowhere/a")).is_err());
    assert!(!policy.env().passes("A"));
    let told = [
        sandbox.mode().value.to_string(),
        sandbox.project().value.to_string(),
        sandbox.network().value.to_string(),
        sandbox.unix_sockets().value.to_string(),
    ];
    assert_eq!(told, ["require", "outputs", "none", "deny"]);
    assert_eq!(sandbox.mode().origin.to_string(), "/p.toml", "the file that leaves it out decides it");
    assert!(sandbox.read().is_empty() && sandbox.write().is_empty());
    let usual = compiled(&[layer("", Role::Grant)]);
    let values = |paths: &[crate::policy::origin::Sourced<std::path::PathBuf>]| {
        paths.iter().map(|path| path.value.clone()).collect::<Vec<_>>()
    };
    assert_eq!(values(sandbox.outputs()), values(usual.sandbox().outputs()));
    assert_eq!(values(sandbox.protect()), values(usual.sandbox().protect()));
}

/// What the agent understands of what it is told.
fn is_told(permitted: &Permitted, matches: impl Fn(&str) -> bool) -> bool {
    let some = |list: &[String]| list.iter().any(|entry| matches(entry));
    some(&permitted.entries)
        || (!permitted.within.is_empty() && permitted.within.iter().all(|list| some(list)))
}

#[test]
fn what_the_agent_is_told_is_what_is_allowed() {
    let mut dice = Dice(0x7e11);
    let mut crossing = 0;
    for _ in 0..100 {
        let mut layers = vec![layer(&random_policy(&mut dice), Role::Grant)];
        layers.extend((0..2).map(|_| layer(&random_policy(&mut dice), Role::Limit)));
        let policy = compiled(&layers);
        let told = Permissions::of(&policy);
        for dir in ["/nowhere", "/nowhere/a", "/nowhere/a/b", "/nowhere/x/b", "/nowhere/a/b/c", "/nowhere/c"]
        {
            let matches = |entry: &str| {
                let glob = PathGlob::parse(entry, Syntax::Wildcards, &base()).unwrap();
                glob.matches(Path::new(dir)).is_some()
            };
            let is_told =
                is_told(&told.directories, matches) && !told.denied.iter().any(|entry| matches(entry));
            assert_eq!(is_told, policy.dirs().admits(Path::new(dir)).is_ok(), "{dir}: {told:#?}");
        }
        for name in ["A", "AB", "BB", "XB", "ENV", "LONG"] {
            let fits = |entry: &str| NamePattern::parse_project(entry).unwrap().matches(name);
            let project = policy.run().projects().admits(|it| it.matches(name)).is_ok();
            assert_eq!(is_told(&told.projects, fits), project, "{name}: {told:#?}");
            let fits = |entry: &str| {
                NamePattern::parse_env(entry, Syntax::Wildcards, Case::Sensitive).unwrap().matches(name)
            };
            let values = told.values.iter().find(|(told, _)| told.as_str() == name);
            let set = policy.env().allow().admits(|it| it.matches(name)).is_ok();
            assert_eq!(values.is_some() || is_told(&told.variables, fits), set, "{name}: {told:#?}");
        }
        crossing += usize::from(!told.directories.within.is_empty());
    }
    assert!(crossing > 5, "patterns of this test do cross: {crossing}");
}

#[test]
fn absent_key_has_its_default_only_in_the_granting_layer() {
    let text = "[limits]\nworkers = 2\n";
    let granting = compiled(&[layer(text, Role::Grant), layer("", Role::Limit)]);
    assert_eq!(granting.limits().run_seconds().origin, Origin::Builtin);
    assert_eq!(granting.dirs().allow().lists().count(), 1);
    assert!(granting.tools().admits(ToolName::RunTests).is_ok());
    assert!(granting.tools().admits(ToolName::ListTests).is_err());
}

#[test]
fn limit_can_not_be_lifted_by_a_larger_one() {
    let layers = [
        layer("[limits]\nworkers = 2\n", Role::Grant),
        layer("[limits]\nworkers = \"unlimited\"\nretries = 1\n", Role::Limit),
    ];
    let policy = compiled(&layers);
    assert_eq!(policy.limits().workers().value.bound(), Some(2));
    assert_eq!(policy.limits().retries().value.bound(), Some(1));
    assert_eq!(policy.limits().retries().origin.to_string(), "/p.toml:4:11");
}

#[test]
fn every_key_is_in_the_laws() {
    let keys = random_keys(&mut Dice(1));
    for table in tables() {
        for key in table.keys {
            let start = format!("{}.{} = ", table.name, key.name);
            assert!(keys.iter().any(|key| key.starts_with(&start)), "{start}");
        }
    }
}
