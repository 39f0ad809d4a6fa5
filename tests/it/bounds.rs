//! The bounds of `[limits]`, each reached: answers, runs, histories, outputs, times.

use serde_json::json;

use crate::harness::{
    project::Project,
    server::{Server, Setup},
};

/// A project whose tests fail, each in its own words.
fn failing(tests: usize) -> Project {
    let statements = format!(
        "for (let i = 0; i < {tests}; i++) test('fails ' + i, () => {{ throw new Error(('because of ' + i + ' ').repeat(40)); }});"
    );
    Project::new().spec("tests/a.spec.ts", &statements)
}

fn with_limits(project: &Project, limits: &str) -> Server {
    Setup::in_directory(project.path()).policy(&format!("[limits]\n{limits}")).start()
}

#[test]
fn an_answer_is_cut_to_its_bound_and_says_how_to_get_the_rest() {
    let project = failing(12);
    let whole = with_limits(&project, "answer_bytes = 100_000").run_all();
    assert!(whole.text.len() > 3_000, "the control: {} bytes", whole.text.len());
    let server = with_limits(&project, "answer_bytes = 3_000");
    let cut = server.run_all();
    assert!(cut.text.len() <= 3_000, "{} bytes", cut.text.len());
    assert_eq!(cut.at("/stats/failed"), 12);
    // The pages that it names hold the others, each once.
    let mut seen = cut.titles().len();
    let mut page = json!({ "runId": cut.text_at("/runId"), "cursor": seen.to_string() });
    assert!(cut.text_at("/next").contains(&page.to_string()), "{}", cut.text);
    while seen < 12 {
        let rest = server.call("get_failed_tests", page.clone());
        assert!(rest.text.len() <= 3_000 && !rest.titles().is_empty(), "{}", rest.text);
        seen += rest.titles().len();
        page["cursor"] = rest.at("/cursor").clone();
    }
    assert_eq!((seen, page["cursor"].is_null()), (12, true));
}

#[test]
fn a_run_that_timed_out_with_many_failures_tells_what_there_is() {
    // One test with many errors: a worker is started anew after each test that fails.
    let statements = "test('fails', () => {
          for (let i = 0; i < 12; i++) expect.soft(('because of ' + i + ' ').repeat(80)).toBe('');
        });
        test('hangs', async () => { test.setTimeout(0); await new Promise(() => {}); });";
    let project = Project::new().spec("tests/a.spec.ts", statements);
    let reply = Server::start(project.path()).run(json!({ "timeout": 15_000 }));
    reply.assert_refused("run_timed_out");
    assert!((1_500..=8_000).contains(&reply.text.len()), "{} bytes", reply.text.len());
    assert!(reply.text_at("/result/runId").starts_with('r'), "{}", reply.text);
    assert_eq!(reply.at("/result/stats/failed"), 1, "{}", reply.text);
}

#[test]
fn the_oldest_runs_are_forgotten() {
    let project = failing(1);
    let server = with_limits(&project, "kept_runs = 1");
    let first = server.run_all().text_at("/runId").to_owned();
    let asked = server.call("get_failed_tests", json!({ "runId": first }));
    assert_eq!(asked.at("/failedCount"), 1, "the control: {}", asked.text);
    let second = server.run_all().text_at("/runId").to_owned();
    server.call("get_failed_tests", json!({ "runId": first })).assert_refused("run_not_found");
    assert_eq!(server.call("get_failed_tests", json!({ "runId": second })).at("/failedCount"), 1);
}

#[test]
fn what_past_runs_take_on_the_disk_is_bounded() {
    let writes = "import { writeFileSync } from 'node:fs';
        test('writes', ({}, info) => writeFileSync(info.outputPath('big'), Buffer.alloc(3_000_000)));";
    let project = Project::new().spec("tests/a.spec.ts", writes);
    for (bytes, kept) in [("100_000_000", true), ("4_000_000", false)] {
        let server = with_limits(&project, &format!("kept_bytes = {bytes}"));
        let first = server.run_all().text_at("/runId").to_owned();
        drop(server.run_all());
        let asked = server.call("get_failed_tests", json!({ "runId": first }));
        assert_eq!(!asked.is_error, kept, "{bytes}: {}", asked.text);
    }
}

#[test]
fn so_many_runs_are_active_at_a_time() {
    let waits = "test('waits', async () => { await new Promise(done => setTimeout(done, 8_000)); });";
    let (one, other) =
        (Project::new().spec("tests/a.spec.ts", waits), Project::new().spec("tests/a.spec.ts", waits));
    for (runs, fits) in [(1, false), (2, true)] {
        let dirs = format!("allow = [{:?}, {:?}]", one.path(), other.path());
        let policy = format!("[dirs]\n{dirs}\n[limits]\nactive_runs = {runs}");
        let server = Setup::in_directory(one.path()).policy(&policy).start();
        let waiting = server.begin("run_tests", json!({}));
        server.until("the first run is laid out", || server.runs() > 0);
        let second = server.run(json!({ "workingDirectory": other.path() }));
        if fits {
            second.assert_counts(1, 0);
        } else {
            second.assert_refused("run_active");
        }
        server.answer(waiting).assert_counts(1, 0);
    }
}
