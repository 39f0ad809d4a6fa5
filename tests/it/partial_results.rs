//! A run that is killed still tells which tests had ended, and what was running; and what tests write into the events that
//! tell it makes nothing green.

use std::{fs, path::PathBuf, thread, time::Duration};

use playwright_warden::report::{Report, events, json as report_json};
use serde_json::{Value, json};

use crate::harness::{
    project::{NEWEST, OLDEST, Project, SERVES_REPORTS},
    server::{Reply, Server, Setup},
};

const VERSIONS: [&str; 3] = [OLDEST, SERVES_REPORTS, NEWEST];

/// One test of each kind before one that is still there when the run is killed; `ACT` is what it does then.
const HALF_WAY: &str = "import fs from 'fs';
test('passes', () => {});
test('fails', () => { console.log('seen'); expect(1).toBe(2) });
test.describe('again', () => {
    test.describe.configure({ retries: 1 });
    test('flaky', ({}, info) => { expect(info.retry, 'wobble').toBe(1) });
});
test.skip('skipped', () => {});
test('stuck', () => {
    fs.writeFileSync('stuck', '');
    ACT;
    for (;;) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1_000);
});
test('never begun', () => {});";

const KILL: &str = "process.kill(process.ppid, 'SIGKILL')";

fn half_way(version: &str, act: &str) -> Project {
    Project::with_playwright(version).spec("tests/a.spec.ts", &HALF_WAY.replace("ACT", act))
}

/// A server whose runs are killed soon after they were told to end.
fn impatient(project: &Project) -> Server {
    Setup::in_directory(project.path()).policy("[dirs]\nallow = [\".\"]\n[limits]\ngrace_seconds = 1").start()
}

/// The failures of a run that was cancelled, as soon as there are any.
fn failures_in_the_end(server: &Server, arguments: &Value) -> Reply {
    for _ in 0..600 {
        let reply = server.call("get_failed_tests", arguments.clone());
        if !reply.is_error {
            return reply;
        }
        assert_eq!(reply.at("/code"), "report_not_found", "{}", reply.text);
        thread::sleep(Duration::from_millis(50));
    }
    panic!("the run never ended");
}

fn test<'reply>(tests: &'reply Value, title: &str) -> &'reply Value {
    let mut rows = tests.as_array().unwrap().iter();
    rows.find(|test| test["title"] == title).unwrap_or_else(|| panic!("no `{title}` in {tests}"))
}

/// Fails unless all is told of a run that was killed half-way.
fn assert_half_told(why: &str, result: &Value) {
    let counts = json!({ "total": 6, "passed": 1, "failed": 1, "flaky": 1, "skipped": 1, "didNotRun": 1, "interrupted": 1 });
    assert_eq!(result["stats"], counts, "{why}: {result}");
    let fails = test(&result["tests"], "fails");
    assert!(fails["error"].as_str().unwrap().contains("Expected: 2"), "{why}: {fails}");
    assert!(fails["code"].as_str().unwrap().contains("expect(1).toBe(2)"), "{why}: {fails}");
    assert_eq!(
        (&fails["at"], &fails["stdout"]),
        (&json!("tests/a.spec.ts:4:54"), &json!("seen")),
        "{why}: {fails}"
    );
    let stuck = test(&result["tests"], "stuck");
    assert_eq!(stuck["status"], "interrupted", "{why}: {stuck}");
    assert!(stuck["error"].as_str().unwrap().contains("was running"), "{why}: {stuck}");
}

/// Each version is killed in each way that leaves no report.
#[test]
fn a_killed_run_tells_which_tests_had_ended_and_what_was_running() {
    for version in VERSIONS {
        let project = half_way(version, "");
        let server = impatient(&project);
        let run = server.run(json!({ "timeout": 40_000 }));
        run.assert_refused("run_timed_out");
        assert_eq!((run.at("/result/state"), run.at("/result/ok")), (&json!("timedOut"), &json!(false)));
        assert_half_told(&format!("{version}, timeout"), run.at("/result"));
        assert_eq!(run.at("/result/resultsFile"), &Value::Null, "{}", run.text);

        fs::remove_file(project.at("stuck")).unwrap();
        let server = impatient(&project);
        let pending = server.begin("run_tests", json!({}));
        server.until("the test is stuck", || project.at("stuck").exists());
        server.cancel(pending);
        let told = failures_in_the_end(&server, &json!({ "include": "all" }));
        assert_half_told(&format!("{version}, cancel"), &told.json);
        assert_eq!(told.at("/source/kind"), "run", "{}", told.text);
        assert!(told.text_at("/incomplete").contains("ended before"), "{}", told.text);

        let project = half_way(version, KILL);
        let run = Server::start(project.path()).run_all();
        assert!(!run.is_error, "{}", run.text);
        assert_eq!((run.at("/ok"), run.at("/signal")), (&json!(false), &json!(9)), "{version}: {}", run.text);
        assert_half_told(&format!("{version}, SIGKILL"), &run.json);
    }
}

/// The control: a run that ends by itself is told by its report, which the events confirm.
#[test]
fn a_run_that_ends_by_itself_is_told_by_its_report() {
    for version in VERSIONS {
        let project = Project::with_playwright(version)
            .spec("tests/a.spec.ts", "test('good', () => {});\ntest('better', () => {});");
        let run = Server::start(project.path()).run_all();
        run.assert_counts(2, 0);
        assert_eq!(
            (run.at("/ok"), run.at("/hints")),
            (&json!(true), &Value::Null),
            "{version}: {}",
            run.text
        );
        assert!(run.text_at("/resultsFile").ends_with("report.json"), "{version}: {}", run.text);
    }
}

/// The report and the events of a run.
fn both(server: &Server, run: &Reply) -> (Report, Report) {
    let result = if run.is_error { "/result/runId" } else { "/runId" };
    let directory = server.state().join("runs").join(run.text_at(result));
    let open = |name| fs::File::open(directory.join(name)).unwrap();
    (report_json::read(open("report.json")).unwrap(), events::read(open("events.jsonl")).unwrap())
}

/// What the two must agree on: the run, its errors, and each test. Ids and the number of a repetition are left out: a JSON
/// report has them only in some layouts.
fn comparable(report: &Report) -> Vec<String> {
    let mut tests: Vec<_> = report.tests.iter().collect();
    tests.sort_by_key(|test| (&test.file, test.line, test.title_path(), &test.project));
    let run = (&report.version, &report.root_dir, &report.config_file, &report.projects, &report.shard);
    let mut lines = vec![format!("{run:?} {:?} {:?}", report.stats, report.start_time)];
    lines.extend(report.errors.iter().map(|error| format!("{error:?}")));
    lines.extend(tests.into_iter().map(|test| {
        let key = (&test.describes, &test.title, &test.file, test.line, test.column, &test.project);
        let ends = (&test.tags, &test.annotations, &test.expected, test.outcome);
        format!("{key:?} {ends:?} {:#?}", test.attempts)
    }));
    lines
}

/// Suites of each kind that reports know: name, settings, tests. The first ones tell the versions apart.
const SUITES: [(&str, &str, &str); 6] = [
    (
        "outcomes",
        "",
        r"test('passes @smoke', () => {});
        test.describe('outer', () => { test.describe(() => { test('inner', () => { expect('a').toBe('b') }) }) });
        test('soft', () => { expect.soft(1, 'first').toBe(2); expect.soft(3, 'second').toBe(4) });
        test('cause', () => { throw new Error('outer', { cause: new TypeError('inner', { cause: 'a word' }) }) });
        test('word', () => { throw 'a plain word' });
        test('undefined', () => { throw undefined });
        test('no stack', () => { const error = new Error('bare'); error.stack = undefined; throw error });
        test.describe('again', () => {
            test.describe.configure({ retries: 1 });
            test('flaky', ({}, info) => { expect(info.retry, 'wobble').toBe(1) });
        });
        test('as expected', () => { test.fail(); expect(1).toBe(2) });
        test('surprise', () => { test.fail(); });
        test.skip('skipped', () => {});
        test.fixme('to be mended', () => {});
        test('skips itself', () => { test.skip(true, 'not today') });
        test('soft, then skips', () => { expect.soft(1).toBe(2); test.skip() });
        test('slow', async () => {
            test.setTimeout(100);
            await test.step('waits', () => test.step('for ever', () => new Promise(() => {})));
        });
        test('much', async ({}, info) => {
            info.annotations.push({ type: 'issue', description: 'no. 7' });
            console.log('out ' + 'y'.repeat(100));
            console.error('err');
            process.stdout.write(Buffer.from([0xff, 0x41]));
            await info.attach('text', { body: 'hello', contentType: 'text/plain' });
            await info.attach('file', { path: __filename });
            info.attachments.push({ name: '../odd', contentType: 'x', path: 'nowhere' });
            throw new Error('first line\n' + 'x'.repeat(20_000));
        });
        test('unicode é \u202e', () => { throw new RangeError('\ud83d \ud83d\ude00 ' + String.fromCharCode(27) + '[31mred') });",
    ),
    (
        "hooks and crashes",
        "",
        r"test.describe('before all', () => {
            test.beforeAll(() => { throw new Error('no seed') });
            test('one', () => {}); test('two', () => {});
        });
        test.describe('after all', () => { test.afterAll(() => { throw new Error('no end') }); test('three', () => {}) });
        test.describe('each', () => {
            test.beforeEach(() => { throw new Error('not ready') });
            test.afterEach(() => { throw new Error('not done') });
            test('four', () => {});
        });
        test.describe.serial('serial', () => { test('five', () => { expect(1).toBe(2) }); test('six', () => {}) });
        test('leaves', () => { process.exit(3) });
        test('is killed', () => { process.kill(process.pid, 'SIGKILL'); for (;;); });
        test('rejects', async () => { Promise.reject(new Error('nobody waits')); await new Promise(done => setTimeout(done, 200)) });
        test('good', () => {});",
    ),
    (
        "projects",
        "repeatEach: 2, projects: [{ name: 'first', testMatch: /a.spec/ }, { name: 'second', testMatch: /a.spec/, retries: 1 }, \
            { name: 'setup', testMatch: /b.spec/ }, { name: 'main', testMatch: /a.spec/, dependencies: ['setup'] }]",
        "test('one', ({}, info) => { expect(info.project.name + info.repeatEachIndex).toBe('first0') });
        test('two', () => {});",
    ),
    (
        "cut",
        "maxFailures: 1",
        "test('a', () => { expect(1).toBe(2) });\ntest('b', () => {});\ntest('c', () => {});",
    ),
    ("does not load", "", "test('broken', () => {"),
    ("setup", "globalSetup: './tests/setup.ts'", "test('a', () => {});"),
];

/// Fails unless the events of these suites say what their reports say.
fn assert_the_same(version: &str, suites: &[(&str, &str, &str)]) {
    let mut different = Vec::new();
    for (name, settings, statements) in suites {
        let project = Project::with_playwright(version)
            .config(settings)
            .spec("tests/a.spec.ts", statements)
            .spec("tests/b.spec.ts", "test('prepares', () => { throw new Error('no database') });")
            .file("tests/setup.ts", "export default () => { throw new Error('no setup') };");
        let server = Server::start(project.path());
        let run = server.run_all();
        let (report, events) = both(&server, &run);
        if events.incomplete.is_some() || run.at("/hints") != &Value::Null {
            different.push(format!("{name}: {:?} {}", events.incomplete, run.at("/hints")));
        }
        assert_eq!(comparable(&events).len(), comparable(&report).len(), "{name}");
        let pairs = comparable(&events).into_iter().zip(comparable(&report));
        let unlike = pairs.filter(|(one, other)| one != other);
        different.extend(unlike.map(|(one, other)| format!("{name}\nevents: {one}\nreport: {other}")));
        assert_eq!(events.tests.len(), report.tests.len(), "{name}");
    }
    assert!(different.is_empty(), "{version}: {}", different.join("\n\n"));
}

#[test]
fn the_events_and_the_report_of_a_run_say_the_same() {
    assert_the_same(NEWEST, &SUITES);
}

#[test]
fn the_events_and_the_report_of_an_old_playwright_say_the_same() {
    assert_the_same(OLDEST, &SUITES);
}

#[test]
fn the_events_and_the_report_of_a_playwright_between_say_the_same() {
    assert_the_same(SERVES_REPORTS, &SUITES[..3]);
}

/// Here they differ: Playwright's report says of a test that was running that it was skipped. It is no disagreement.
#[test]
fn a_test_that_the_global_timeout_cut_was_running() {
    let tests =
        "test('passes', () => {});\ntest('waits', () => new Promise(() => {}));\ntest('c', () => {});";
    let project = Project::new().config("globalTimeout: 20_000").spec("tests/a.spec.ts", tests);
    let server = Server::start(project.path());
    let run = server.run_all();
    let (report, events) = both(&server, &run);
    assert_eq!((report.stats.did_not_run, events.stats.interrupted, events.stats.did_not_run), (2, 1, 1));
    assert_eq!(run.at("/hints"), &Value::Null, "{}", run.text);
}

/// However much a test says: a line is bounded, what was cut is marked, and the next event comes.
#[test]
fn no_event_is_longer_than_64_kilobytes() {
    let tests = "test('says much', async ({}, info) => {
            for (let i = 0; i < 150; i++) expect.soft(i, 'x'.repeat(9_000)).toBe(-1);
            for (let i = 0; i < 150; i++) info.attachments.push({ name: 'n'.repeat(9_000), contentType: 'text/plain', path: 'p'.repeat(100_000) });
            for (let i = 0; i < 150; i++) info.annotations.push({ type: 'issue', description: 'd'.repeat(9_000) });
            process.stdout.write('o'.repeat(1_000_000));
            throw new Error('z'.repeat(3_000_000), { cause: new Error('c'.repeat(3_000_000)) });
        });
        test('good', () => {});";
    let project = Project::new().spec("tests/a.spec.ts", tests);
    let server = Server::start(project.path());
    let run = server.run_all();
    run.assert_counts(1, 1);
    assert_eq!(run.at("/hints"), &Value::Null, "{}", run.text);
    let events = server.state().join("runs").join(run.text_at("/runId")).join("events.jsonl");
    let events = fs::read_to_string(events).unwrap();
    assert!(events.contains("characters left out"), "the control: there was something to cut");
    assert!(events.lines().all(|line| line.len() <= 64 << 10), "{:?}", events.lines().map(str::len).max());
}

/// Where the events are, for a test.
const EVENTS: &str = "const events = require('path').join(process.env.HOME!, '../events.jsonl');";

/// A suite whose second test does something to the events.
fn meddling(act: &str) -> Project {
    let tests = format!(
        "import fs from 'fs';\nimport {{ execFileSync }} from 'child_process';\n{EVENTS}
         test('fails', () => {{ expect(1).toBe(2) }});
         test('meddles', async () => {{ {act}; fs.writeFileSync('done', '') }});"
    );
    Project::new().spec("tests/a.spec.ts", &tests)
}

const FORGED: &str = "
    const lines = fs.readFileSync(events, 'utf8').trim().split('\\n').map(line => JSON.parse(line));
    const ids = lines.flatMap(line => line.tests ?? []).map(test => test.id);
    const passed = { status: 'passed', retry: 0, duration: 1, failures: [] };
    const forged = ids.map(id => ({ event: 'end', id, status: 'expected', expectedStatus: 'passed', result: passed }));
    for (const line of [...forged, { event: 'done', status: 'passed', stats: { duration: 1 } }]) fs.appendFileSync(events, JSON.stringify(line) + '\\n')";

/// What a test does to the events before its run is killed: nothing is green, nothing hangs, nothing outside is read.
#[test]
fn events_that_a_test_wrote_make_no_killed_run_green() {
    for (name, act, told) in [
        ("the control", "", true),
        (
            "lines that are no events",
            "fs.appendFileSync(events, '\\n[]\\n{\"event\":\\nnull\\n{\"event\":{}}\\n{\"event\":\"end\",\"id\":7,\"result\":[]}\\n\\xff')",
            true,
        ),
        ("all passed, and done", FORGED, true),
        ("a FIFO", "fs.rmSync(events); execFileSync('mkfifo', [events])", false),
        ("a directory", "fs.rmSync(events); fs.mkdirSync(events)", false),
        ("a link out", "fs.rmSync(events); fs.symlinkSync('/etc/passwd', events)", false),
        ("a hard link", "fs.linkSync(events, events + '.2')", false),
        ("nothing", "fs.rmSync(events)", false),
        (
            "lines without end",
            "const many = '{\"event\":\"end\",\"id\":\"x\"}\\n'.repeat(40_000); for (let i = 0; i < 200; i++) fs.appendFileSync(events, many)",
            true,
        ),
        ("a line without end", "fs.truncateSync(events, 1_000_000_000)", true),
    ] {
        let project = meddling(&format!("{act}; {KILL}; await new Promise(() => {{}})"));
        let run = Server::start(project.path()).run_all();
        assert!(!run.is_error, "{name}: {}", run.text);
        assert_eq!((run.at("/ok"), run.at("/signal")), (&json!(false), &json!(9)), "{name}: {}", run.text);
        assert!(run.at("/errors/0/message").is_string(), "{name}: {}", run.text);
        assert!(!run.text.contains("root:"), "{name}: {}", run.text);
        assert_eq!(
            run.titles().contains(&"fails"),
            told && name != "all passed, and done",
            "{name}: {}",
            run.text
        );
    }
}

/// The same, where Playwright writes its report: that is what counts, and the disagreement is told.
#[test]
fn events_that_do_not_confirm_the_report_are_told() {
    for (name, act, hint) in [
        ("a FIFO", "fs.rmSync(events); execFileSync('mkfifo', [events])", "FIFO"),
        ("a link out", "fs.rmSync(events); fs.symlinkSync('/etc/passwd', events)", "leads out"),
        ("nothing", "fs.rmSync(events)", "events.jsonl"),
        ("half of them", "fs.truncateSync(events, 10)", "events"),
        ("others", FORGED, "2 passed, 0 failed"),
    ] {
        let project = meddling(act);
        let run = Server::start(project.path()).run_all();
        run.assert_counts(1, 1);
        assert_eq!(run.titles(), ["fails"], "{name}: {}", run.text);
        let hints = run.at("/hints").to_string();
        assert!(hints.contains("do not confirm") && hints.contains(hint), "{name}: {}", run.text);
    }
}

/// Playwright started by a test, or by a script of the project, is not this run.
#[test]
fn a_playwright_that_a_test_starts_tells_nothing_into_the_run() {
    let nested = "import { execFileSync } from 'child_process';
        import { existsSync } from 'fs';
        test('starts others', () => {
            test.setTimeout(60_000);
            const argv = ['node_modules/@playwright/test/cli.js', 'test', '--config=nested.config.ts'];
            expect(execFileSync(process.execPath, [...argv, '--reporter=line']).toString()).toContain('1 passed');
            execFileSync(process.execPath, argv);
            expect(existsSync('own.json')).toBe(true);
        });";
    // Its own report goes where it says, not into the run's.
    let config = "export default { testDir: './nested', reporter: [['json', { outputFile: 'own.json' }]] };";
    let project = Project::new()
        .file("nested.config.ts", config)
        .spec("nested/n.spec.ts", "test('nested', () => {});")
        .spec("tests/a.spec.ts", nested);
    let server = Server::start(project.path());
    let run = server.run(json!({ "include": "all" }));
    run.assert_counts(1, 0);
    assert_eq!((run.titles(), run.at("/hints")), (vec!["starts others"], &Value::Null), "{}", run.text);
    let (_, events) = both(&server, &run);
    assert_eq!((events.tests.len(), events.incomplete), (1, None));
}

/// Where the reporter can't write, it says nothing, and the run comes to the end that it would have come to without it.
#[test]
fn a_reporter_that_can_not_write_changes_no_run() {
    let config = "import fs from 'fs';\nimport path from 'path';
        const events = path.join(process.env.HOME!, '../events.jsonl');
        if (!process.env.TEST_WORKER_INDEX) fs.mkdirSync(events, { recursive: true });
        export default { testDir: './tests' };";
    for version in VERSIONS {
        let project = Project::with_playwright(version)
            .file("playwright.config.ts", config)
            .spec("tests/a.spec.ts", "test('good', () => {});");
        let run = Server::start(project.path()).run_all();
        run.assert_counts(1, 0);
        assert_eq!(
            (run.at("/ok"), run.at("/exitCode")),
            (&json!(true), &json!(0)),
            "{version}: {}",
            run.text
        );
        assert!(run.at("/hints").to_string().contains("do not confirm"), "{version}: {}", run.text);
    }
}

/// The reporter is nobody's to write, and keeps what it takes to itself.
#[test]
fn the_reporter_lies_in_the_runs_own_directory() {
    let look = "import fs from 'fs';\nimport path from 'path';
        test('looks', () => {
            const reporter = path.join(process.env.HOME!, '../node_modules/reporter.cjs');
            expect(fs.statSync(reporter).mode & 0o777).toBe(0o400);
            expect(process.env.PW_TEST_REPORTER).toBe(undefined);
        });";
    let project = Project::new().spec("tests/a.spec.ts", look);
    let server = Server::start(project.path());
    server.run_all().assert_counts(1, 0);
    let cached = files_beneath(server.state().join("transform"));
    assert!(cached.iter().any(|file| file.to_string_lossy().contains("spec")), "the control: {cached:?}");
    assert!(!cached.iter().any(|file| file.to_string_lossy().contains("reporter")), "{cached:?}");
}

fn files_beneath(directory: PathBuf) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files_beneath(path) } else { vec![path] }).collect()
}
