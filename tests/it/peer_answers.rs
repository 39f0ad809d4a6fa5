//! Answers that test tools get wrong, each with the right one: real runs of real Playwright through the real server.

use std::{fs, os::unix::fs::symlink};

use serde_json::{Value, json};

use crate::harness::{
    project::{NEWEST, OLDEST, Project, SERVES_REPORTS},
    server::{Reply, Server, Setup},
};

/// The values of one key of the tests told.
fn told<'reply>(reply: &'reply Reply, key: &str) -> Vec<&'reply str> {
    let tests = reply.at("/tests").as_array().map(Vec::as_slice).unwrap_or_default();
    tests.iter().map(|test| test[key].as_str().unwrap_or_default()).collect()
}

/// All that the errors outside any test say.
fn errors(reply: &Reply) -> String {
    let errors = reply.at("/errors").as_array().map(Vec::as_slice).unwrap_or_default();
    errors.iter().map(|error| error["message"].as_str().unwrap()).collect::<Vec<_>>().join("\n")
}

fn assert_ok(reply: &Reply, expected: bool, why: &str) {
    assert!(!reply.is_error, "{why}: {}", reply.text);
    assert_eq!(reply.at("/ok"), expected, "{why}: {}", reply.text);
}

#[test]
fn a_failure_in_the_second_project_alone_is_told() {
    let fails = "test('one', ({}, info) => { expect(info.project.name).toBe('first') });";
    let project = Project::new()
        .config("projects: [{ name: 'first' }, { name: 'second' }]")
        .spec("tests/a.spec.ts", fails);
    let server = Server::start(project.path());
    let run = server.run_all();
    run.assert_counts(1, 1);
    assert_ok(&run, false, "one project failed");
    assert_eq!((told(&run, "title"), told(&run, "project")), (vec!["one"], vec!["second"]), "{}", run.text);
    let again = server.call("get_failed_tests", json!({}));
    assert_eq!(again.at("/failedCount"), 1, "{}", again.text);
    assert_eq!(told(&again, "project"), ["second"], "{}", again.text);
    assert_ok(&server.run(json!({ "project": "first" })), true, "the other one passes");
}

#[test]
fn a_failure_in_one_repetition_is_told() {
    let project = Project::new()
        .config("repeatEach: 3")
        .spec("tests/a.spec.ts", "test('one', ({}, info) => { expect(info.repeatEachIndex).not.toBe(1) });");
    let server = Server::start(project.path());
    let run = server.run_all();
    run.assert_counts(2, 1);
    assert_eq!(run.titles(), ["one"], "{}", run.text);
    assert_eq!(server.call("get_failed_tests", json!({})).at("/failedCount"), 1);
}

/// Two runs that come to nothing, after one that failed and beside a report of some earlier day.
#[test]
fn an_older_run_is_never_the_answer() {
    let project = Project::new()
        .config("projects: [{ name: 'chromium' }]")
        .spec("tests/a.spec.ts", "test('stale', () => { throw new Error('stale news') });");
    let server = Server::start(project.path());
    server.run_all().assert_counts(0, 1);
    let report = server.call("get_failed_tests", json!({}));
    assert_eq!(report.titles(), ["stale"], "the control");
    project.write("test-results/results.json", &an_old_report(&project));

    let unknown = server.run(json!({ "browser": "Firefox" }));
    let good = "import { defineConfig } from '@playwright/test';\nexport default defineConfig({});\n";
    project.write("playwright.config.ts", &format!("throw new Error('no DATABASE_URL');\n{good}"));
    let broken = server.run_all();
    for (reply, why) in [(&unknown, "Firefox"), (&broken, "no DATABASE_URL")] {
        assert_ok(reply, false, why);
        assert_eq!(reply.at("/state"), "failed", "{}", reply.text);
        assert_eq!(reply.at("/exitCode"), 1, "{}", reply.text);
        assert!(errors(reply).contains(why), "{}", reply.text);
        assert!(reply.titles().is_empty(), "{}", reply.text);
        assert!(!reply.text.contains("stale"), "{}", reply.text);
    }
    // The last run left no report; an older one would be a wrong answer.
    let after = server.call("get_failed_tests", json!({}));
    after.assert_refused("report_not_found");
    assert!(!after.text.contains("stale"), "{}", after.text);
}

fn an_old_report(project: &Project) -> String {
    let spec = json!({ "title": "stale", "ok": false, "tags": [], "id": "1-1", "file": "a.spec.ts", "line": 1, "column": 1,
        "tests": [{ "projectName": "", "status": "unexpected", "expectedStatus": "passed",
                    "results": [{ "status": "failed", "duration": 1, "retry": 0, "error": { "message": "stale news" } }] }] });
    let config = project.at("playwright.config.ts");
    json!({ "config": { "configFile": config, "rootDir": project.at("tests") },
        "suites": [{ "title": "a.spec.ts", "file": "a.spec.ts", "specs": [spec] }],
        "errors": [], "stats": { "expected": 0, "unexpected": 1, "flaky": 0, "skipped": 0 } })
    .to_string()
}

#[test]
fn what_failed_outside_any_test_is_told() {
    let setup = "export default () => { throw new Error('DB not reachable') };";
    let rows: [(&str, &str, &str, Value, &str); 4] = [
        ("syntax error", "tests/b.spec.ts", "test('broken', () => {", json!({}), "b.spec.ts"),
        ("throw at import", "tests/b.spec.ts", "throw new Error('no seed')", json!({}), "no seed"),
        ("global setup", "setup.ts", setup, json!({}), "DB not reachable"),
        ("no tests match", "tests/b.spec.ts", "", json!({ "tag": "@nothing" }), "No tests found"),
    ];
    for (name, file, statements, arguments, expected) in rows {
        let settings = if file == "setup.ts" { "globalSetup: './setup.ts'" } else { "" };
        let project = Project::new()
            .config(settings)
            .spec("tests/a.spec.ts", "test('good', () => {});")
            .spec(file, statements);
        let server = Server::start(project.path());
        let run = server.run(arguments);
        assert_ok(&run, false, name);
        let place = run.at("/errors/0/at").as_str().unwrap_or_default();
        assert!(errors(&run).contains(expected) || place.contains(expected), "{name}: {}", run.text);
        let again = server.call("get_failed_tests", json!({}));
        assert_eq!(errors(&again), errors(&run), "{name}: {}", again.text);
    }
}

/// Filters that name nothing or look like options: each is one value, and what Playwright says of it is told.
#[test]
fn a_filter_that_selects_nothing_is_told_as_such() {
    let project = Project::new()
        .config("projects: [{ name: 'chromium' }]")
        .spec("tests/a.spec.ts", "test('good', () => {});");
    let server = Server::start(project.path());
    for (arguments, expected) in [
        (json!({ "tag": "(" }), "Invalid regular expression"),
        (json!({ "tag": "--config=evil.ts" }), "No tests found"),
        (json!({ "project": "--config=evil.ts" }), "--config=evil.ts"),
        (json!({ "project": ["chromium", "chromium-x"] }), "chromium-x"),
    ] {
        let run = server.run(arguments);
        assert_ok(&run, false, expected);
        assert!(errors(&run).contains(expected), "{expected}: {}", run.text);
    }
}

#[test]
fn a_flood_of_output_is_bounded() {
    let flood = "test('floods', () => { for (let i = 0; i < 12; i++) process.stdout.write('x'.repeat(1 << 20)); \
                 process.stderr.write('y'.repeat(1 << 20)); throw new Error('z'.repeat(3_600_000)) });";
    let project = Project::new().spec("tests/a.spec.ts", flood);
    let server = Server::start(project.path());
    for reply in [server.run_all(), server.call("get_failed_tests", json!({}))] {
        assert_eq!((reply.is_error, reply.titles()), (false, vec!["floods"]), "{}", reply.text);
        assert!(reply.text.len() <= 4_000, "{} bytes", reply.text.len());
    }
}

#[test]
fn every_error_of_a_test_and_every_kind_of_end_is_told() {
    let project = Project::new().spec(
        "tests/a.spec.ts",
        r"
        test('soft', () => { expect.soft(1, 'first sum').toBe(2); expect.soft(3, 'second sum').toBe(4) });
        test('surprise', () => { test.fail() });
        test.describe('again', () => {
            test.describe.configure({ retries: 1 });
            test('flaky', ({}, info) => { expect(info.retry, 'wobble').toBe(1) });
        });
        test('nothing', () => { throw undefined });
        test('cause', () => { throw new Error('outer', { cause: 'a plain word' }) });
        const [red, plain] = [31, 0].map(code => String.fromCharCode(27) + `[${code}m`);
        test(`colours ${red}red${plain}`, () => { console.log(`${red}green`); expect('a').toBe('b') });
        test('slow', async () => { test.setTimeout(50); await new Promise(() => {}) });
        test.skip('skipped', () => {});
        test('fine', () => {});",
    );
    let server = Server::start(project.path());
    let run = server.run_all();
    run.assert_counts(1, 6);
    assert_eq!((run.at("/stats/flaky"), run.at("/stats/skipped")), (&json!(1), &json!(1)), "{}", run.text);
    let test = |title: &str| {
        let tests = run.at("/tests").as_array().unwrap();
        let found = tests.iter().find(|test| test["title"].as_str().unwrap().ends_with(title));
        found.unwrap_or_else(|| panic!("{title} is not in {}", run.text)).to_string()
    };
    for (title, expected) in [
        ("soft", &["first sum", "second sum"][..]),
        ("surprise", &["expected to fail, but passed"]),
        ("flaky", &["wobble", r#""status":"flaky""#, r#"["failed","passed"]"#]),
        ("nothing", &["undefined"]),
        ("cause", &["outer", "a plain word"]),
        ("red", &["green", r#"Expected: \"b\""#]),
        ("slow", &[r#""status":"timedOut""#, "50ms"]),
    ] {
        let test = test(title);
        for text in expected {
            assert!(test.to_lowercase().contains(&text.to_lowercase()), "no {text} in {test}");
        }
    }
    let flaky = server.call("get_failed_tests", json!({ "include": "flaky" }));
    assert_eq!(
        (flaky.titles(), flaky.at("/flakyCount")),
        (vec!["again › flaky"], &json!(1)),
        "{}",
        flaky.text
    );
}

/// Names that are regular expressions to Playwright, and neighbours that an unanchored one would also run.
#[test]
fn a_spec_runs_that_file_and_no_other() {
    let mut project = Project::new();
    for name in [
        "[id]",
        "i",
        "a+b",
        "aab",
        "(group)/page",
        "group/page",
        "a",
        "A",
        "xa",
        "a.spec.ts",
        "über $1",
        "deep/tests/a",
    ] {
        let statements = format!("test('one of {name}', () => {{}});\ntest('two of {name}', () => {{}});");
        project = project.spec(&format!("tests/{name}.spec.ts"), &statements);
    }
    let server = Server::start(project.path());
    let absolute = project.at("tests/a.spec.ts");
    for (spec, expected) in [
        ("tests/[id].spec.ts", &["one of [id]", "two of [id]"][..]),
        ("[id].spec.ts:3", &["two of [id]"]),
        ("tests/a+b.spec.ts:2", &["one of a+b"]),
        ("tests/(group)", &["one of (group)/page", "two of (group)/page"]),
        ("./tests//a.spec.ts", &["one of a", "two of a"]),
        (absolute.to_str().unwrap(), &["one of a", "two of a"]),
        ("tests/A.spec.ts", &["one of A", "two of A"]),
        ("tests/a.spec.ts.spec.ts", &["one of a.spec.ts", "two of a.spec.ts"]),
        ("tests/über $1.spec.ts:3:1", &["two of über $1"]),
    ] {
        let run = server.run(json!({ "spec": spec, "include": "all" }));
        assert_ok(&run, true, spec);
        assert_eq!(run.titles(), expected, "{spec}");
    }
    for (spec, code) in [
        ("tests/b.spec.ts", "spec_not_found"),
        ("page.spec.ts", "spec_not_found"),
        ("/etc/passwd", "spec_not_found"),
        ("/no/such/file", "spec_not_found"),
        ("../app/tests/a.spec.ts", "invalid_arguments"),
        ("--config=evil.ts", "invalid_arguments"),
        ("-c", "invalid_arguments"),
    ] {
        server.run(json!({ "spec": spec })).assert_refused(code);
    }
}

#[test]
fn misspelt_and_empty_arguments_run_nothing() {
    let project = Project::new().spec(
        "tests/a.spec.ts",
        "import fs from 'fs';\ntest('runs', () => { fs.writeFileSync('ran', '') });",
    );
    let server = Server::start(project.path());
    for (arguments, field) in [
        (json!({ "projct": "x" }), "projct"),
        (json!({ "greb": "x" }), "greb"),
        (json!({ "Spec": "tests/a.spec.ts" }), "Spec"),
        (json!({ "tag": "" }), "tag"),
        (json!({ "tag": "a\nb" }), "tag"),
        (json!({ "spec": "" }), "spec"),
        (json!({ "spec": ["tests/a.spec.ts"] }), "spec"),
        (json!({ "spec": "a\u{0}b" }), "spec"),
        (json!({ "project": "" }), "project"),
        (json!({ "project": [] }), "project"),
        (json!({ "project": ["a", ""] }), "project"),
        (json!({ "project": "a", "browser": "Firefox" }), "browser"),
        (json!({ "browser": "Edge" }), "browser"),
        (json!({ "workingDirectory": "" }), "workingDirectory"),
        (json!({ "workingDirectory": "a\u{0}b" }), "workingDirectory"),
        (json!({ "workers": 0 }), "workers"),
        (json!({ "workers": "many" }), "workers"),
        (json!({ "workers": "0%" }), "workers"),
        (json!({ "workers": 1.5 }), "workers"),
        (json!({ "retries": -1 }), "retries"),
        (json!({ "maxFailures": 0 }), "maxFailures"),
        (json!({ "timeout": 0 }), "timeout"),
        (json!({ "timeout": -1 }), "timeout"),
        (json!({ "timeout": 1e300 }), "timeout"),
        (json!({ "timeout": "5s" }), "timeout"),
        (json!({ "trace": "sometimes" }), "trace"),
        (json!({ "updateSnapshots": "yes" }), "updateSnapshots"),
        (json!({ "headed": "yes" }), "headed"),
        (json!({ "env": { "A": 1 } }), "env"),
        (json!({ "env": "A=1" }), "env"),
        (json!({ "include": "none" }), "include"),
    ] {
        let refused = server.run(arguments.clone());
        refused.assert_refused("invalid_arguments");
        assert!(refused.text_at("/message").contains(&format!("`{field}")), "{arguments}: {}", refused.text);
    }
    assert!(server.run(json!({ "projct": "x" })).text_at("/hint").contains("`project`"));
    assert_eq!(server.runs(), 0, "nothing was laid out for a run");
    assert!(!project.at("ran").exists(), "nothing ran");
    // Lenient where it is safe.
    let run = server
        .run(json!({ "workers": 1.0, "tag": null, "project": null, "retries": 0, "workingDirectory": "./" }));
    assert_ok(&run, true, "the control");
    assert!(project.at("ran").exists(), "the control");
}

/// Up to 1.56 the html reporter of a failed run serves its report for ever.
#[test]
fn a_failed_run_with_an_html_reporter_ends_by_itself() {
    for version in [SERVES_REPORTS, OLDEST] {
        let reporters =
            "reporter: [['json', { outputFile: 'test-results/results.json' }], ['html'], ['list']]";
        let project = Project::with_playwright(version)
            .config(reporters)
            .spec("tests/a.spec.ts", "test('bad', () => { expect(1).toBe(2) });");
        let server = Server::start(project.path());
        let run = server.run(json!({ "timeout": 60_000 }));
        run.assert_counts(0, 1);
        assert_eq!(run.titles(), ["bad"], "{version}: {}", run.text);
    }
}

#[test]
fn one_failure_in_twenty_tests_is_told_in_1200_bytes_and_without_a_reporter() {
    let statements = r"
        for (let i = 1; i < 20; i++) test(`adds ${i} items to the cart`, () => { expect(i + i).toBe(2 * i) });
        test('pays by card', async () => {
            const total: string = await Promise.resolve('€ NaN');
            expect(total, 'the total of the cart').toBe('€ 42.00');
        });";
    for version in [NEWEST, OLDEST] {
        let project = Project::with_playwright(version).spec("tests/checkout.spec.ts", statements);
        let server = Server::start(project.path());
        let run = server.run_all();
        run.assert_counts(19, 1);
        assert_eq!(run.at("/stats/total"), 20);
        assert_eq!(
            (run.titles(), run.at("/state")),
            (vec!["pays by card"], &json!("failed")),
            "{}",
            run.text
        );
        assert!(run.text_at("/tests/0/at").starts_with("tests/checkout.spec.ts:6:"), "{}", run.text);
        for text in ["the total of the cart", r#"Expected: \"€ 42.00\""#, r#"Received: \"€ NaN\""#] {
            assert!(run.text.contains(text), "{version}: no {text} in {}", run.text);
        }
        assert!(run.text.len() <= 1_200, "{} bytes: {}", run.text.len(), run.text);
        let mended = server.run(json!({ "tag": "adds" }));
        assert_ok(&mended, true, version);
        assert!(mended.text.len() <= 400, "{} bytes: {}", mended.text.len(), mended.text);
    }
}

#[test]
fn a_run_is_ok_only_if_it_is_really_green() {
    let fixture = "const broken = test.extend<{}, { bad: void }>({ bad: [async ({}, use) => { await use(); \
                   throw new Error('teardown') }, { scope: 'worker', auto: true }] });\nbroken('passes', () => {});";
    let forever = "test('passes', () => {});\ntest('hangs', async () => { await new Promise(() => {}) });";
    let rows: [(&str, &str, &str, bool); 8] = [
        ("all pass", "", "test('passes', () => {});", true),
        ("one skipped", "", "test('passes', () => {});\ntest.skip('skipped', () => {});", true),
        ("all skipped", "", "test.skip('skipped', () => {});", false),
        ("cut by its own timeout", "globalTimeout: 3_000", forever, false),
        ("worker teardown fails", "", fixture, false),
        ("global teardown fails", "globalTeardown: './b.ts'", "test('passes', () => {});", false),
        ("the config ends the run", "get projects() { process.exit(0) }", "test('passes', () => {});", false),
        ("only is forbidden", "forbidOnly: true", "test.only('passes', () => {});", false),
    ];
    for (name, settings, statements, expected) in rows {
        let project = Project::new()
            .config(settings)
            .file("b.ts", "export default () => { throw new Error('teardown') };")
            .spec("tests/a.spec.ts", statements);
        let run = Server::start(project.path()).run_all();
        assert_ok(&run, expected, name);
        let told = run.at("/exitCode") == 0 || !errors(&run).is_empty();
        assert!(told, "{name}: why it is not ok stands in errors: {}", run.text);
    }
}

#[test]
fn tests_that_were_cut_off_are_told_apart_from_passed_ones() {
    let wait =
        "import fs from 'fs';\nconst sleep = (ms: number) => new Promise(done => setTimeout(done, ms));\n";
    let project = Project::new()
        .config("workers: 2, fullyParallel: true")
        .spec(
            "tests/a.spec.ts",
            &format!("{wait}test('fails', async () => {{ while (!fs.existsSync('busy')) await sleep(20); throw new Error('no') }});"),
        )
        .spec(
            "tests/b.spec.ts",
            &format!("{wait}test('interrupted', async () => {{ fs.writeFileSync('busy', ''); await sleep(60_000) }});"),
        )
        .spec("tests/c.spec.ts", "test('never started', () => {});");
    let run = Server::start(project.path()).run(json!({ "maxFailures": 1, "workers": 2, "include": "all" }));
    run.assert_counts(0, 1);
    assert_ok(&run, false, "cut off");
    assert_eq!(
        (run.at("/stats/interrupted"), run.at("/stats/didNotRun")),
        (&json!(1), &json!(1)),
        "{}",
        run.text
    );
    assert_eq!(told(&run, "title"), ["fails", "interrupted", "never started"]);
    assert_eq!(told(&run, "status"), ["failed", "interrupted", "didNotRun"], "{}", run.text);
}

#[test]
fn a_report_with_news_in_it_is_read() {
    let project = Project::empty();
    let test = |title: &str, status: &str, result: &str| {
        json!({ "title": title, "file": "a.spec.ts", "line": 1, "column": 1, "ok": true, "novelty": [1], "id": title,
            "tests": [{ "projectName": "p", "status": status, "expectedStatus": "passed",
                "results": [{ "status": result, "duration": 1, "errors": [{ "message": title }] }] }] })
    };
    let specs = [
        test("new result", "unexpected", "exploded"),
        test("new status", "molten", "failed"),
        test("bad", "unexpected", "failed"),
    ];
    let report = json!({ "novelty": {}, "suites": [{ "title": "a", "file": "a.spec.ts", "specs": specs }], "stats": { "expected": 0, "duration": 1 } });
    project.write("test-results/results.json", &format!("\u{feff}{report}"));
    let reply = Server::start(project.path()).call("get_failed_tests", json!({ "include": "all" }));
    assert!(!reply.is_error, "{}", reply.text);
    assert_eq!(told(&reply, "title"), ["new result", "new status", "bad"], "{}", reply.text);
    assert_eq!(told(&reply, "status")[0], "exploded", "{}", reply.text);
    assert!(reply.at("/failedCount").as_u64().unwrap() >= 2, "{}", reply.text);
}

#[test]
fn directories_are_the_same_by_whatever_name() {
    let project = Project::new().spec("tests/a.spec.ts", "test('good', () => {});");
    let link = project.parent().join("link");
    symlink(project.path(), &link).unwrap();
    let (real, alias) = (project.path().to_str().unwrap(), link.to_str().unwrap());
    for (allowed, directory, spec) in
        [(alias, real, format!("{alias}/tests/a.spec.ts")), (real, alias, format!("{real}/tests/a.spec.ts"))]
    {
        let launch = project.parent();
        let server = Setup::in_directory(launch).variable("PW_ALLOWED_DIRS", allowed).start();
        let run = server.run(json!({ "workingDirectory": directory, "spec": spec }));
        run.assert_counts(1, 0);
        let neighbour = server.run(json!({ "workingDirectory": launch }));
        neighbour.assert_refused("policy_denied");
    }
    fs::remove_file(link).unwrap();
}
