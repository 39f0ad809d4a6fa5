//! Directories: only those that the policy allows are run in or read from, whatever a path looks like or becomes.

use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, Ordering},
    thread,
};

use rustix::fs::{CWD, RenameFlags, renameat_with};
use serde_json::{Value, json};

use crate::harness::{
    project::{NEWEST, Project, install},
    server::{Reply, Server, Setup},
};

/// Tests that say that they ran.
const MARKS: &str = "import fs from 'fs';\ntest('marks', () => { fs.writeFileSync('ran', '') });";

/// A report with one failing test of this title.
fn report(title: &str) -> String {
    let test = json!({ "projectName": "", "status": "unexpected", "expectedStatus": "passed",
        "results": [{ "status": "failed", "duration": 1, "retry": 0, "errors": [{ "message": title }] }] });
    let spec =
        json!({ "title": title, "file": "a.spec.ts", "line": 1, "column": 1, "id": "1", "tests": [test] });
    json!({ "config": { "rootDir": "/nowhere" }, "suites": [{ "title": "a", "file": "a.spec.ts", "specs": [spec] }],
        "stats": { "duration": 1 } })
    .to_string()
}

/// Asks both tools about one directory.
fn ask(server: &Server, directory: &str) -> [Reply; 2] {
    let arguments = json!({ "workingDirectory": directory });
    [server.run(arguments.clone()), server.call("get_failed_tests", arguments)]
}

/// What an agent reads of a refusal, but for what it said itself and for what is drawn anew.
fn words(reply: &Reply, asked: &str) -> String {
    let mut error = reply.json.clone();
    error["decision"] = Value::Null;
    error.to_string().replace(asked, "…")
}

#[test]
fn a_directory_that_is_not_allowed_is_denied_and_nothing_runs() {
    let project = Project::new().spec("tests/a.spec.ts", MARKS).file("..odd/tests/x", "");
    let evil = project.neighbour("app-evil");
    install(NEWEST, &evil);
    let evil_spec = format!("import {{ test }} from '@playwright/test';\n{MARKS}");
    fs::write(evil.join("a.spec.ts"), &evil_spec).unwrap();
    fs::create_dir(evil.join("test-results")).unwrap();
    fs::write(evil.join("test-results/results.json"), report("hush")).unwrap();
    symlink(&evil, project.at("out")).unwrap();
    symlink("..", project.at("up")).unwrap();
    symlink("tests", project.at("in")).unwrap();
    symlink(".", project.at("same")).unwrap();
    let server = Server::start(project.path());

    let absolute = evil.to_str().unwrap();
    let long = format!("/{}", "x".repeat(5_000));
    let outside = [
        "..",
        "../",
        "../..",
        "/",
        "//",
        "/etc",
        "/root",
        "/tmp",
        "../app-evil",
        absolute,
        "../app-evil/no/such",
        "out",
        "out/.",
        "out/no/such",
        "up",
        "up/app-evil",
        "tests/../..",
        "tests/../../app-evil",
        "same/../app-evil",
        "/proc/self/cwd",
        "/proc/self/cwd/..",
        "/proc/self/root",
        "/proc/1/root",
        "/proc/self/fd/3",
        "/dev/fd/3",
        "/etc/passwd",
        "/no/such",
        "../no-such",
        "../app-",
        "../App",
        "/etc\nx",
        &long,
    ];
    for asked in outside {
        for reply in ask(&server, asked) {
            reply.assert_refused("policy_denied");
            assert_eq!(reply.at("/rule"), "dirs.allow", "{asked}: {}", reply.text);
            assert!(reply.at("/decision").is_string(), "{asked}: {}", reply.text);
            assert!(reply.text_at("/hint").contains("operator's rule"), "{asked}: {}", reply.text);
            assert!(!reply.text.contains("hush"), "{asked}: {}", reply.text);
        }
    }
    // What is there and what is not, a directory and a file, are answered in the same words.
    let [expected, _] = ask(&server, "../app-evil");
    for asked in ["../app-none", "/etc", "/no/such", "/etc/passwd", "out"] {
        let [reply, _] = ask(&server, asked);
        assert_eq!(words(&reply, asked), words(&expected, "../app-evil"), "{asked}");
    }
    for asked in ["$HOME", "no/such", "a\nb", "playwright.config.ts", "tests/a.spec.ts/.."] {
        for reply in ask(&server, asked) {
            reply.assert_refused("no_such_directory");
        }
    }
    for asked in ["a\u{0}/../../app-evil", "~", "~/x"] {
        for reply in ask(&server, asked) {
            reply.assert_refused("invalid_arguments");
        }
    }
    symlink(evil.join("a.spec.ts"), project.at("linked.spec.ts")).unwrap();
    let evil_file = format!("{absolute}/a.spec.ts");
    for spec in ["linked.spec.ts", "out/a.spec.ts", &evil_file, "/etc/passwd", "/no/such", "tests/no.spec.ts"]
    {
        let refused = server.run(json!({ "spec": spec }));
        refused.assert_refused("spec_not_found");
        assert_eq!(refused.text_at("/message"), format!("`{spec}` is no file or directory of the project"));
    }
    assert_eq!(server.runs(), 0, "nothing was laid out for a run");
    assert!(!evil.join("ran").exists() && !project.at("ran").exists(), "nothing ran");

    // The controls: names of the project itself run, those below it may be read, and the neighbour is a project that runs.
    let own = project.path().to_str().unwrap();
    for asked in [".", "./", "same", "tests/..", own] {
        server.run(json!({ "workingDirectory": asked })).assert_counts(1, 0);
        fs::remove_file(project.at("ran")).unwrap_or_else(|error| panic!("{asked}: {error}"));
    }
    for asked in ["tests", "in", "..odd", "same/same/tests", "../app/tests"] {
        let below = server.call("get_failed_tests", json!({ "workingDirectory": asked }));
        below.assert_refused("report_not_found");
    }
    let other = Server::start(&evil);
    let [run, _] = ask(&other, ".");
    run.assert_counts(1, 0);
    assert!(evil.join("ran").exists());
}

#[test]
fn the_words_of_a_denial_tell_nothing_of_places_that_were_not_asked_about() {
    let project = Project::empty();
    symlink("/etc", project.at("out")).unwrap();
    let [run, _] = ask(&Server::start(project.path()), "out");
    assert!(!run.text.contains("/etc"), "where a symlink leads is not told: {}", run.text);
    assert!(!run.text.contains("policy.toml") && !run.text.contains("builtin"), "{}", run.text);
}

/// Clients start servers in `/` and in homes; there an implicit `.` would allow everything.
#[test]
fn a_server_does_not_start_in_a_home_or_the_root_unless_told_what_is_allowed() {
    let home = home();
    let project = Project::empty();
    for place in [Path::new("/"), &home] {
        for setup in [Setup::in_directory(place), Setup::in_directory(place).variable("HOME", "/nonexistent")]
        {
            let started = setup.try_start();
            assert_eq!(started.status, Some(1), "{}: {}", place.display(), started.stderr);
            assert!(started.stderr.contains("implicit-dir-too-wide"), "{}", started.stderr);
            assert!(started.stderr.contains("does not start"), "{}", started.stderr);
            assert_eq!(started.stdout, "", "standard output is the protocol");
            assert_eq!(setup.finish(&["--check-policy"], "").status, Some(1));
        }
        let named = Setup::in_directory(place).variable("PW_ALLOWED_DIRS", project.path().to_str().unwrap());
        let started = named.try_start();
        assert_eq!(started.status, Some(0), "the control: {}", started.stderr);
        let empty = Setup::in_directory(place).variable("PW_ALLOWED_DIRS", ":").try_start();
        assert_eq!(
            empty.status,
            Some(0),
            "the control: nothing is allowed, which is narrow: {}",
            empty.stderr
        );
    }
    assert_eq!(Setup::in_directory(project.path()).variable("HOME", "/").try_start().status, Some(0));
}

/// The home of this user, from the user database.
fn home() -> PathBuf {
    let uid = rustix::process::geteuid().as_raw().to_string();
    let users = fs::read_to_string("/etc/passwd").unwrap();
    let fields =
        users.lines().map(|line| line.split(':').collect::<Vec<_>>()).find(|fields| fields[2] == uid);
    let home = PathBuf::from(fields.expect("the user of these tests is in /etc/passwd")[5]);
    assert!(home.is_dir(), "the home of the user of these tests exists");
    home
}

#[test]
fn directories_of_the_environment_are_literal_and_empty_ones_are_dropped() {
    let project = Project::empty().file("my[app]/x", "").file("mya/x", "");
    let start =
        |allowed: &str| Setup::in_directory(project.path()).variable("PW_ALLOWED_DIRS", allowed).start();
    for (allowed, asked, code) in [
        ("my[app]", "my[app]", "report_not_found"),
        ("my[app]", "mya", "policy_denied"),
        ("my*", "mya", "policy_denied"),
        (":", ".", "policy_denied"),
        ("::mya:", "my[app]", "policy_denied"),
        ("::mya:", "mya", "report_not_found"),
        ("mya", ".", "policy_denied"),
    ] {
        let reply = start(allowed).call("get_failed_tests", json!({ "workingDirectory": asked }));
        assert_eq!(reply.at("/code"), code, "{allowed} {asked}: {}", reply.text);
    }
}

/// Swaps two names for as long as `work` takes.
fn swapping<T>(one: &Path, other: &Path, work: impl FnOnce() -> T) -> T {
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE).unwrap();
            }
        });
        let done = work();
        stop.store(true, Ordering::Relaxed);
        done
    })
}

/// Between the look and the read another process may put a symlink in place of what was looked at.
#[test]
fn a_path_that_is_swapped_during_calls_never_leads_out() {
    let project = Project::empty().file("in/project/test-results/results.json", &report("good"));
    let outside = project.neighbour("outside");
    fs::create_dir(outside.join("test-results")).unwrap();
    fs::write(outside.join("test-results/results.json"), report("hush")).unwrap();
    let inside = project.at("in/project");
    let server = Setup::in_directory(&project.at("in")).start();
    let (results, file) = (inside.join("test-results"), inside.join("test-results/results.json"));
    let rows = [
        (
            file,
            inside.join("test-results/spare"),
            outside.join("test-results/results.json"),
            "report_unreadable",
        ),
        (results, inside.join("spare"), outside.join("test-results"), "report_unreadable"),
        (inside, project.at("in/spare"), outside, "policy_denied"),
    ];
    for (name, spare, target, refused) in rows {
        symlink(target, &spare).unwrap();
        let (mut good, mut denied) = (0, 0);
        swapping(&name, &spare, || {
            for _ in 0..700 {
                let reply = server.call("get_failed_tests", json!({ "workingDirectory": "project" }));
                assert!(!reply.text.contains("hush"), "{}: {}", name.display(), reply.text);
                if reply.is_error {
                    let codes = [refused, "report_not_found", "no_such_directory"];
                    assert!(codes.contains(&reply.text_at("/code")), "{}", reply.text);
                    denied += 1;
                } else {
                    assert_eq!(reply.titles(), ["good"], "{}", reply.text);
                    good += 1;
                }
            }
        });
        assert!(good > 0 && denied > 0, "the race was run: {good} good, {denied} denied: {}", name.display());
        // As many swaps as it took; the real one goes back to its name.
        if name.is_symlink() {
            renameat_with(CWD, &name, CWD, &spare, RenameFlags::EXCHANGE).unwrap();
        }
        fs::remove_file(&spare).unwrap();
    }
}

#[test]
fn a_project_that_is_swapped_during_runs_never_runs_another() {
    let project = Project::new().spec("in/project/a.spec.ts", MARKS);
    let outside = project.neighbour("outside");
    install(NEWEST, &outside);
    fs::write(outside.join("a.spec.ts"), format!("import {{ test }} from '@playwright/test';\n{MARKS}"))
        .unwrap();
    let server = Setup::in_directory(&project.at("in")).start();
    let (inside, spare) = (project.at("in/project"), project.at("in/spare"));
    install(NEWEST, &inside);
    symlink(&outside, &spare).unwrap();
    let run = || server.run(json!({ "workingDirectory": "project" }));
    let replies: Vec<Reply> = swapping(&inside, &spare, || (0..4).map(|_| run()).collect());
    for reply in replies {
        let told = reply.is_error
            && ["policy_denied", "playwright_not_found", "sandbox_unavailable", "no_such_directory"]
                .contains(&reply.text_at("/code"));
        assert!(told || !reply.is_error, "{}", reply.text);
    }
    assert!(!outside.join("ran").exists(), "the tests of a directory that is not allowed ran");
    if inside.is_symlink() {
        renameat_with(CWD, &inside, CWD, &spare, RenameFlags::EXCHANGE).unwrap();
    }
    run().assert_counts(1, 0);
    assert!(inside.join("ran").exists(), "the control");
}

#[test]
fn a_named_results_file_lies_in_an_allowed_directory_and_belongs_to_the_project() {
    let project = Project::empty().file("one/x", "").file("two/x", "");
    let outside = project.neighbour("outside");
    fs::write(outside.join("results.json"), report("hush")).unwrap();
    symlink(&outside, project.at("out")).unwrap();
    let setup = |file: &str| Setup::in_directory(project.path()).variable("PW_RESULTS_FILE", file);
    let absolute = outside.join("results.json");
    for file in [absolute.to_str().unwrap(), "../outside/results.json", "out/results.json", "/etc/passwd"] {
        let started = setup(file).try_start();
        assert_eq!(started.status, Some(1), "{file}: {}", started.stderr);
        assert!(started.stderr.contains("results-outside-dirs"), "{file}: {}", started.stderr);
        assert!(started.stderr.contains("PW_RESULTS_FILE"), "{file}: {}", started.stderr);
        assert!(!started.stderr.contains("root:"), "{file}: {}", started.stderr);
    }
    // A shared results file is the answer for its own project alone.
    let mut of_two: Value = serde_json::from_str(&report("two")).unwrap();
    of_two["config"]["configFile"] = json!(project.at("two/playwright.config.ts"));
    project.write("two/report.json", &of_two.to_string());
    let server = setup("two/report.json").start();
    let ask = |directory: &str| server.call("get_failed_tests", json!({ "workingDirectory": directory }));
    assert_eq!(ask("two").titles(), ["two"], "the control");
    let foreign = ask("one");
    foreign.assert_refused("report_unreadable");
    assert!(foreign.text_at("/message").contains("another project"), "{}", foreign.text);
    assert!(!foreign.text.contains("two"), "{}", foreign.text);
    // And it may become a symlink after the start.
    fs::remove_file(project.at("two/report.json")).unwrap();
    symlink(&absolute, project.at("two/report.json")).unwrap();
    let swapped = ask("two");
    swapped.assert_refused("report_unreadable");
    assert!(!swapped.text.contains("hush"), "{}", swapped.text);
}
