//! Reports: what Playwright counted is what is counted, whatever the version, the layout or the fault of the file.

use std::fmt::Write as _;
use std::io::Read as _;
use std::path::Path;

use playwright_warden::report::failure::Failure;
use playwright_warden::report::json::{ReportError, WHOLE_BYTES, read};
use playwright_warden::report::outcome::{Outcome, Stats};
use playwright_warden::report::short_id::short_ids;
use playwright_warden::report::{AttemptStatus, Report};
use playwright_warden::text::cut_middle;

fn bytes(name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/reports").join(name);
    #[expect(clippy::disallowed_methods, reason = "a fixture of these tests")]
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn report(name: &str) -> Report {
    read(bytes(name).as_slice()).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Writes what an agent needs of a report, a few lines a test.
fn compact(report: &Report) -> String {
    let mut out = String::new();
    for error in &report.errors {
        writeln!(out, "! {}", told(error)).unwrap();
    }
    for test in &report.tests {
        write!(
            out,
            "{:?} {} at {}",
            test.outcome,
            test.title_path(),
            report.file_in(Path::new("/project"), test)
        )
        .unwrap();
        writeln!(out, ":{} [{}] expected {}", test.line, test.project, test.expected).unwrap();
        for attempt in test.attempts.iter().filter(|_| test.outcome.has_failures()) {
            writeln!(
                out,
                "  #{} {}{}",
                attempt.retry,
                attempt.status,
                attempt.hung_step.as_ref().map(|step| format!(" in step `{step}`")).unwrap_or_default()
            )
            .unwrap();
            for failure in &attempt.failures {
                writeln!(out, "    - {}", told(failure).replace('\n', "\n      ")).unwrap();
            }
            for attachment in &attempt.attachments {
                writeln!(out, "    + {} ({})", attachment.name, attachment.content_type).unwrap();
            }
        }
    }
    out
}

fn told(failure: &Failure) -> String {
    let mut out = format!("({}) {}", failure.kind, cut_middle(failure.text(), 600));
    if let Some(line) = failure.marked_line() {
        write!(out, "\n{line}").unwrap();
    }
    for frame in &failure.frames {
        let function = frame.function.as_deref().unwrap_or("-");
        write!(out, "\nat {function} {}:{}", frame.location.file, frame.location.line).unwrap();
    }
    for cause in &failure.causes {
        write!(out, "\ncaused by {} ({} own frames)", cause.message, cause.frames.len()).unwrap();
    }
    out
}

#[test]
fn the_counts_are_those_of_playwrights_own_summary() {
    let manifest = String::from_utf8(bytes("manifest.tsv")).unwrap();
    for row in manifest.lines().skip(1) {
        let (name, counts) = row.split_once('\t').unwrap();
        let counts: Vec<u64> = counts.split('\t').map(|count| count.parse().unwrap()).collect();
        let report = report(name);
        let Stats { total, passed, failed, flaky, skipped, did_not_run, interrupted } = report.stats;
        let errors = report.errors.len() as u64;
        let found = [total, passed, failed, flaky, skipped, did_not_run, interrupted, errors];
        assert_eq!(found.as_slice(), counts, "{name}");
        assert_eq!(report.incomplete, None, "{name}");
        assert_eq!(Stats::count(&report.tests), report.stats, "{name}");
        let version = name.split_once('/').unwrap().0;
        assert_eq!(report.version.as_deref(), Some(version), "{name}");
        assert!(!format!("{report:?}").contains("\\u{1b}"), "{name}: no escape sequence is left");
    }
    assert_eq!(manifest.lines().count(), 36);
}

#[test]
fn failures_are_told_as_they_happened() {
    insta::with_settings!({ prepend_module_to_snapshot => false }, {
        for name in ["1.65.1/hooks", "1.65.1/timeouts", "1.65.1/browser", "1.56.1/basic", "1.40.1/hooks", "1.65.1/steps"] {
            insta::assert_snapshot!(name.replace('/', "-"), compact(&report(&format!("{name}.json"))));
        }
        let errors: String = ["syntax-error", "workers-fixture", "globaltimeout", "max-failures-3", "grep-none", "webserver"]
            .iter()
            .flat_map(|name| report(&format!("1.65.1/{name}.json")).errors)
            .map(|error| told(&error) + "\n\n")
            .collect();
        insta::assert_snapshot!("run-errors", errors);
    });
}

#[test]
fn a_test_that_fails_in_the_second_project_only_has_failed() {
    let report = report("1.65.1/projects-flat.json");
    let of = |project: &str| {
        let same = report.tests.iter().filter(|test| &*test.project == project);
        same.map(|test| (&*test.title, test.outcome)).collect::<Vec<_>>()
    };
    let (good, bad) = (of("good"), of("bad"));
    assert!(
        bad.iter()
            .any(|(title, outcome)| *outcome == Outcome::Failed && good.contains(&(title, Outcome::Passed))),
        "{good:?} {bad:?}"
    );
}

#[test]
fn repetitions_of_a_test_are_told_apart() {
    let report = report("1.65.1/repeat.json");
    let keys: Vec<_> = report.tests.iter().map(|test| (&test.id, test.repeat, test.outcome)).collect();
    assert_eq!(keys.iter().map(|key| key.1).collect::<Vec<_>>(), [0, 1, 2]);
    assert!(keys.iter().all(|key| key.0 == keys[0].0), "they share the first one's id");
    assert_eq!(Some(short_ids(&report.tests)[keys[0].0]), keys[0].0.get(..8));
}

#[test]
fn a_file_outside_the_project_is_told_so() {
    let report = report("1.65.1/outside.json");
    let files: Vec<_> =
        report.tests.iter().map(|test| report.file_in(Path::new("/project/app"), test)).collect();
    assert!(files.iter().all(|file| file.starts_with("../") && !file.contains("/project")), "{files:?}");
}

#[test]
fn attachments_keep_their_size_and_not_their_body() {
    let report = report("1.48.2/attachments.json");
    let all = report.tests.iter().flat_map(|test| &test.attempts).flat_map(|attempt| &attempt.attachments);
    let (inline, files): (Vec<_>, Vec<_>) = all.partition(|attachment| attachment.body_bytes.is_some());
    assert!(inline.iter().any(|attachment| attachment.body_bytes == Some(0)), "an empty body is a body");
    assert!(inline.len() > 3 && files.iter().any(|attachment| attachment.path.is_some()));
}

#[test]
fn output_is_decoded_and_printable() {
    let report = report("1.52.0/stdio.json");
    let outputs: Vec<_> = report.tests.iter().flat_map(|test| &test.attempts).collect();
    assert!(outputs.iter().any(|attempt| attempt.stdout.text.contains('\n')));
    assert!(outputs.iter().any(|attempt| attempt.stdout.dropped_bytes > 0), "a long output is cut");
    assert!(
        outputs.iter().all(|attempt| attempt.stdout.text.len() <= 2048),
        "and shorter for tests that passed"
    );
}

#[test]
fn a_cut_file_yields_what_is_complete_before_the_cut() {
    for (name, step) in [("1.65.1/maxfail.json", 1), ("1.65.1/repeat.json", 7)] {
        let whole_bytes = bytes(name);
        let whole = report(name);
        let end = whole_bytes.trim_ascii_end().len();
        let mut most = 0;
        for cut in (0..end).step_by(step) {
            match read(&whole_bytes[..cut]) {
                Ok(report) => {
                    let why = report.incomplete.as_deref().unwrap_or_default();
                    assert!(
                        why.starts_with("the file ends within the report (line "),
                        "{name} cut at {cut}: {why:?}"
                    );
                    assert!(report.tests.len() >= most, "{name} cut at {cut}: tests are not lost again");
                    most = report.tests.len();
                    for (found, expected) in report.tests.iter().zip(&whole.tests) {
                        assert_eq!(
                            (&found.title, found.outcome),
                            (&expected.title, expected.outcome),
                            "{name} cut at {cut}"
                        );
                        assert!(found.id == expected.id || found.id.is_empty(), "{name} cut at {cut}");
                        assert_eq!(found.attempts, expected.attempts, "{name} cut at {cut}");
                    }
                }
                Err(ReportError::Empty) => assert_eq!(cut, 0, "{name}"),
                Err(ReportError::NotAReport { .. }) => {
                    assert!(
                        !whole_bytes[..cut].windows(13).any(|at| at == b"\"configFile\":"),
                        "{name} cut at {cut}"
                    );
                }
                Err(ReportError::Read(error)) => panic!("{name} cut at {cut}: {error}"),
            }
        }
        assert_eq!(most, whole.tests.len(), "{name}: all tests are there before its end");
        assert_eq!(read(&whole_bytes[..end]).unwrap(), whole, "{name}");
    }
}

#[test]
fn no_single_wrong_byte_stops_the_reader() {
    let whole = bytes("1.65.1/maxfail.json");
    for at in (0..whole.len()).step_by(11) {
        for byte in [b'"', b'{', b'\\', b'0', 0xff] {
            let mut broken = whole.clone();
            broken[at] = byte;
            match read(broken.as_slice()) {
                Ok(report) => assert!(report.tests.len() <= 5, "{byte} at {at}"),
                Err(error) => {
                    assert!(matches!(error, ReportError::NotAReport { .. }), "{byte} at {at}: {error}");
                }
            }
        }
    }
}

#[test]
fn a_source_that_fails_is_an_error_of_its_own() {
    struct Failing;
    impl std::io::Read for Failing {
        fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
            Err(std::io::ErrorKind::PermissionDenied.into())
        }
    }
    let whole = bytes("1.65.1/maxfail.json");
    let error = read(whole.as_slice().chain(Failing)).unwrap_err();
    assert!(
        matches!(&error, ReportError::Read(cause) if cause.kind() == std::io::ErrorKind::PermissionDenied),
        "{error}"
    );
}

#[test]
fn the_order_of_fields_does_not_matter() {
    for name in ["1.65.1/hooks.json", "1.56.1/basic.json", "1.40.1/projects.json"] {
        // A map of serde_json is sorted: `errors` before `suites`, `specs` before `title`.
        let sorted: serde_json::Value = serde_json::from_slice(&bytes(name)).unwrap();
        let sorted = serde_json::to_vec(&sorted).unwrap();
        assert_eq!(read(sorted.as_slice()).unwrap(), report(name), "{name}");
    }
}

#[test]
fn a_faulty_file_is_read_leniently() {
    let whole = String::from_utf8(bytes("1.65.1/maxfail.json")).unwrap();
    let expected = report("1.65.1/maxfail.json");
    for (rule, text) in [
        ("a byte order mark", format!("\u{feff}{whole}")),
        ("lines before it", format!("[dotenv@17] {{injecting}} env\n{{ \"globalSetup\": 1 }}\n{whole}")),
        ("text after it", format!("{whole}\nteardown says {{bye\n")),
        ("an unknown field first", whole.replacen('{', "{\"new\": 1,", 1).replace('\n', "")),
        ("unknown fields", whole.replacen("\"specs\"", "\"new\": [{\"a\": [1, null]}], \"specs\"", 1)),
        (
            "nulls",
            whole
                .replace("\"tags\": []", "\"tags\": null")
                .replace("\"annotations\": []", "\"annotations\": null"),
        ),
        (
            "other types",
            whole
                .replace("\"stderr\": []", "\"stderr\": \"x\"")
                .replace("\"tags\": []", "\"tags\": {\"a\": 1}"),
        ),
        (
            "a deep unknown field",
            whole.replacen(
                "\"specs\"",
                &format!("\"new\": {}{}, \"specs\"", "[".repeat(500), "]".repeat(500)),
                1,
            ),
        ),
    ] {
        assert_ne!(text, whole, "{rule}");
        assert_eq!(read(text.as_bytes()).unwrap(), expected, "{rule}");
    }
}

#[test]
fn an_unknown_status_is_kept() {
    let text = String::from_utf8(bytes("1.65.1/maxfail.json")).unwrap();
    let text = text
        .replace("\"status\": \"failed\"", "\"status\": \"exploded\"")
        .replace("\"status\": \"unexpected\"", "\"status\": \"broken\"");
    let report = read(text.as_bytes()).unwrap();
    assert_eq!(report.stats.failed, 1, "what is not known to have passed has failed");
    let failed = report.tests.iter().find(|test| test.outcome == Outcome::Failed).unwrap();
    assert_eq!(failed.attempts[0].status, AttemptStatus::Other("exploded".to_owned()));
}

#[test]
fn a_report_that_is_nested_too_deep_is_read_up_to_there() {
    let (mut deep, levels) = (bytes("1.65.1/maxfail.json"), 100);
    let end = deep.iter().rposition(|&byte| byte == b']').unwrap();
    let suites = deep[..end].windows(11).rposition(|at| at == b"  \"errors\":").unwrap();
    let close = deep[..suites].iter().rposition(|&byte| byte == b']').unwrap();
    let nested = format!(", {}{}", r#"{"title": "d", "suites": ["#.repeat(levels), "]}".repeat(levels));
    deep.splice(close..close, nested.into_bytes());
    let read = read(deep.as_slice()).unwrap();
    assert!(read.incomplete.unwrap().starts_with("the report is nested too deep (line "));
    assert_eq!(read.stats, report("1.65.1/maxfail.json").stats);
}

#[test]
fn another_file_is_no_report_and_nothing_of_it_is_told() {
    for (rule, text) in [
        ("a text", "hunter2 is the password\n"),
        ("another object", "{\"password\": \"hunter2\"}"),
        ("an array", "[{\"hunter2\": 1}]"),
        ("a package", "{\"name\": \"hunter2\", \"config\": {\"hunter2\": 1}}"),
        ("a broken object", "{\"password\": hunter2}"),
        ("a config alone", "{\"config\": {\"rootDir\": \"hunter2\"}}"),
        ("suites alone", "{\"suites\": [{\"hunter2\": true}]}"),
    ] {
        let error = read(text.as_bytes()).unwrap_err();
        assert!(matches!(error, ReportError::NotAReport { .. }), "{rule}");
        assert!(!format!("{error} {error:?} {}", error.hint()).contains("hunter2"), "{rule}");
    }
    let broken = "{\"config\": {\"rootDir\": \"/p\"}, \"suites\": [hunter2]}";
    let report = read(broken.as_bytes()).unwrap();
    assert_eq!(report.incomplete.as_deref(), Some("the report is no valid JSON (line 1, column 42)"));
    assert!(matches!(read(&b" \n"[..]), Err(ReportError::Empty)));
}

#[test]
fn a_file_too_large_to_hold_is_read_as_a_stream() {
    let whole = bytes("1.65.1/hooks.json");
    let (start, rest) = whole.split_at(1);
    let blank = std::io::repeat(b' ').take(WHOLE_BYTES as u64 + 5);
    let streamed = read(std::io::Read::chain(start, std::io::Read::chain(blank, rest))).unwrap();
    assert_eq!(streamed, report("1.65.1/hooks.json"));
}
