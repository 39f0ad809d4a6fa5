//! The events of a run: one JSON value a line, as our reporter (`runner/reporter.cjs`) appends them.
//!
//! In: the bytes of the file, which may end anywhere, and into which tests can write. Out: a `Report` of all that had
//! happened: a test that had begun and not ended was interrupted, one that had not begun did not run. Opening the file is
//! left to the caller.

use std::{
    collections::HashMap,
    io::{self, BufRead, BufReader, Read},
    mem,
    sync::Arc,
};

use serde::de::{DeserializeSeed, MapAccess, SeqAccess};

use crate::report::{
    Attempt, AttemptStatus, MAX_FAILURES, MAX_ITEMS, MAX_NAME_BYTES, Output, Report, SourceKind, TestCase,
    json::{
        attempt::AttemptFields,
        config::{ConfigFields, StatsFields},
        error::RunErrors,
        lenient::{Array, Fields, Integer, Items, Object, Text, With, count},
        repair::Repairing,
        suites::{AnnotationItems, Collector, Names},
    },
    outcome::Outcome,
};

/// How much of a file is read, in bytes; our reporter gets brief at half of it.
pub const MAX_EVENTS_BYTES: u64 = 128 << 20;
/// A longer line is passed over; our reporter writes none of more than a quarter of this, in bytes.
const MAX_LINE_BYTES: u64 = 256 << 10;
/// So many tests, attempts and things in them are kept: what is small in the file is not in memory.
const MAX_KEPT: usize = 500_000;

/// Reads the events of a run.
///
/// Lenient: lines that are no JSON, unknown events, unknown tests, and fields of another type than expected are passed
/// over. [`Report::incomplete`] says whether the events come to the end of the run.
///
/// # Errors
///
/// The source fails.
pub fn read(source: impl Read) -> io::Result<Report> {
    let mut source = BufReader::new(Repairing::new(source.take(MAX_EVENTS_BYTES)));
    let mut run = Run::default();
    let mut line = Vec::new();
    loop {
        line.clear();
        source.by_ref().take(MAX_LINE_BYTES).read_until(b'\n', &mut line)?;
        if line.ends_with(b"\n") {
            run.take(&line);
        } else if source.fill_buf()?.is_empty() {
            // The end; a last line without one was being written when the run was killed.
            return Ok(run.finish());
        } else {
            run.unread += 1;
            source.skip_until(b'\n')?;
        }
    }
}

/// What is known of the run so far.
struct Run {
    report: Report,
    tests: Vec<Told>,
    /// Where each test is in `tests`, by its id.
    places: HashMap<Arc<str>, usize>,
    /// Shares names.
    collector: Collector,
    kept: usize,
    /// How many lines could not be read.
    unread: u64,
    /// Whether the last event came.
    end: End,
}

impl Default for Run {
    fn default() -> Self {
        Self {
            report: Report::empty(SourceKind::Events),
            tests: Vec::new(),
            places: HashMap::new(),
            collector: Collector::default(),
            kept: 0,
            unread: 0,
            end: End::Missing,
        }
    }
}

/// Whether the events come to the end of the run.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Missing,
    Reached,
}

/// A test of the plan and what was told of it.
struct Told {
    test: TestCase,
    /// Playwright's word for what it came to when its last attempt ended.
    word: Option<String>,
    /// The attempt that began and did not end.
    running: Option<u32>,
}

impl Run {
    fn take(&mut self, line: &[u8]) {
        let mut event = EventFields::default();
        if Object(&mut event).deserialize(&mut serde_json::Deserializer::from_slice(line)).is_err() {
            self.unread += 1;
            return;
        }
        match event.kind.as_deref() {
            Some("plan") => {
                let errors = mem::take(&mut self.report.errors);
                self.report = Report { errors, ..event.report };
            }
            Some("tests") => event.tests.0.into_iter().for_each(|test| self.plan(test)),
            Some("begin") => {
                if let Some(told) = self.told(event.id.as_deref()) {
                    told.running = Some(count(event.retry));
                }
            }
            Some("end") => self.end(event),
            Some("error") => {
                let room = MAX_FAILURES.saturating_sub(self.report.errors.len());
                self.report.errors.extend(event.report.errors.into_iter().take(room));
            }
            Some("done") => {
                self.report.start_time = event.report.start_time;
                self.report.duration_ms = event.report.duration_ms;
                self.end = End::Reached;
            }
            // An event of a later version.
            Some(_) => {}
            None => self.unread += 1,
        }
    }

    fn told(&mut self, id: Option<&str>) -> Option<&mut Told> {
        let place = *self.places.get(id?)?;
        self.tests.get_mut(place)
    }

    /// Takes room for so many more things; where there is none, an event goes unread.
    fn has_room(&mut self, things: usize) -> bool {
        let fits = self.kept + things <= MAX_KEPT;
        if fits {
            self.kept += things;
        } else {
            self.unread += 1;
        }
        fits
    }

    fn plan(&mut self, planned: PlannedFields) {
        let id: Arc<str> = planned.id.unwrap_or_default().into();
        let things = 1 + planned.describes.0.len() + planned.tags.0.len() + planned.annotations.0.len();
        if self.places.contains_key(&id) || !self.has_room(things) {
            return;
        }
        self.places.insert(Arc::clone(&id), self.tests.len());
        let test = TestCase {
            id,
            describes: planned.describes.0.into(),
            title: planned.title.unwrap_or_default().into(),
            file: self.collector.share(planned.file.unwrap_or_default()),
            line: count(planned.line),
            column: count(planned.column),
            project: self.collector.share(planned.project.unwrap_or_default()),
            repeat: count(planned.repeat),
            tags: planned.tags.0.into(),
            annotations: planned.annotations.0,
            expected: planned.expected.unwrap_or(AttemptStatus::Passed),
            outcome: Outcome::DidNotRun,
            attempts: Vec::new(),
        };
        self.tests.push(Told { test, word: None, running: None });
    }

    fn end(&mut self, event: EventFields) {
        let attempt = event.result.finish();
        let things = 1 + attempt.failures.len() + attempt.attachments.len() + event.annotations.0.len();
        if !self.has_room(things) {
            return;
        }
        let Some(told) = self.told(event.id.as_deref()) else { return };
        told.running = None;
        told.word = event.status;
        told.test.expected = event.expected.unwrap_or(AttemptStatus::Passed);
        told.test.annotations = event.annotations.0;
        if told.test.attempts.len() < MAX_ITEMS {
            told.test.attempts.push(attempt);
        }
    }

    fn finish(mut self) -> Report {
        for told in self.tests {
            let mut test = told.test;
            test.attempts.extend(told.running.map(interrupted));
            let statuses: Vec<_> = test.attempts.iter().map(|attempt| &attempt.status).collect();
            test.outcome =
                Outcome::judge(told.word.as_deref().unwrap_or_default(), &test.expected, &statuses);
            self.collector.push(test);
        }
        self.report.incomplete = match (self.end, self.unread) {
            (End::Missing, _) => Some(
                "the events end before the run does: it was killed, a disk or a file was full, or a test changed them"
                    .to_owned(),
            ),
            (End::Reached, 0) => None,
            (End::Reached, unread) => Some(format!("{unread} of the events can't be read")),
        };
        Report { tests: self.collector.tests, stats: self.collector.stats, ..self.report }
    }
}

/// The attempt that was running when the events ended.
fn interrupted(retry: u32) -> Attempt {
    Attempt {
        status: AttemptStatus::Interrupted,
        retry,
        duration_ms: 0,
        failures: Vec::new(),
        stdout: Output::default(),
        stderr: Output::default(),
        attachments: Vec::new(),
        hung_step: None,
    }
}

/// An event as it is read; each kind has some of the fields.
struct EventFields {
    kind: Option<String>,
    id: Option<String>,
    retry: Option<i64>,
    status: Option<String>,
    expected: Option<AttemptStatus>,
    annotations: AnnotationItems,
    result: AttemptFields,
    tests: PlannedItems,
    /// What belongs to the whole run: config, stats, errors.
    report: Report,
}

impl Default for EventFields {
    fn default() -> Self {
        Self {
            kind: None,
            id: None,
            retry: None,
            status: None,
            expected: None,
            annotations: AnnotationItems::default(),
            result: AttemptFields::default(),
            tests: PlannedItems::default(),
            report: Report::empty(SourceKind::Events),
        }
    }
}

impl Fields for EventFields {
    const NAMES: &'static [&'static str] = &[
        "event",
        "id",
        "retry",
        "status",
        "expectedStatus",
        "annotations",
        "result",
        "tests",
        "errors",
        "config",
        "stats",
    ];

    fn field<'de, A: MapAccess<'de>>(&mut self, name: &'static str, map: &mut A) -> Result<(), A::Error> {
        match name {
            "event" => self.kind = map.next_value_seed(Text(MAX_NAME_BYTES))?,
            "id" => self.id = map.next_value_seed(Text(MAX_NAME_BYTES))?,
            "retry" => self.retry = map.next_value_seed(Integer)?,
            "status" => self.status = map.next_value_seed(Text(MAX_NAME_BYTES))?,
            "expectedStatus" => self.expected = map.next_value_seed(With(AttemptStatus::parse))?,
            "annotations" => map.next_value_seed(Array(&mut self.annotations))?,
            "result" => map.next_value_seed(Object(&mut self.result))?,
            "tests" => map.next_value_seed(Array(&mut self.tests))?,
            "errors" => map.next_value_seed(Array(&mut RunErrors(&mut self.report.errors)))?,
            "config" => {
                map.next_value_seed(Object(&mut ConfigFields { report: &mut self.report, found: false }))?;
            }
            _ => map.next_value_seed(Object(&mut StatsFields { report: &mut self.report, found: false }))?,
        }
        Ok(())
    }
}

/// The tests of a plan, or some of them.
#[derive(Default)]
struct PlannedItems(Vec<PlannedFields>);

/// A test of a plan as it is read.
#[derive(Default)]
struct PlannedFields {
    id: Option<String>,
    title: Option<String>,
    describes: Names,
    file: Option<String>,
    line: Option<i64>,
    column: Option<i64>,
    project: Option<String>,
    repeat: Option<i64>,
    tags: Names,
    expected: Option<AttemptStatus>,
    annotations: AnnotationItems,
}

impl Items for PlannedItems {
    fn item<'de, A: SeqAccess<'de>>(&mut self, items: &mut A) -> Result<bool, A::Error> {
        let mut test = PlannedFields::default();
        let found = items.next_element_seed(Object(&mut test))?.is_some();
        if found {
            self.0.push(test);
        }
        Ok(found)
    }
}

impl Fields for PlannedFields {
    const NAMES: &'static [&'static str] = &[
        "id",
        "title",
        "describes",
        "file",
        "line",
        "column",
        "project",
        "repeat",
        "tags",
        "expectedStatus",
        "annotations",
    ];

    fn field<'de, A: MapAccess<'de>>(&mut self, name: &'static str, map: &mut A) -> Result<(), A::Error> {
        let mut text = || map.next_value_seed(Text(MAX_NAME_BYTES));
        match name {
            "id" => self.id = text()?,
            "title" => self.title = text()?,
            "file" => self.file = text()?,
            "project" => self.project = text()?,
            "line" => self.line = map.next_value_seed(Integer)?,
            "column" => self.column = map.next_value_seed(Integer)?,
            "repeat" => self.repeat = map.next_value_seed(Integer)?,
            "describes" => map.next_value_seed(Array(&mut self.describes))?,
            "tags" => map.next_value_seed(Array(&mut self.tags))?,
            "expectedStatus" => self.expected = map.next_value_seed(With(AttemptStatus::parse))?,
            _ => map.next_value_seed(Array(&mut self.annotations))?,
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::outcome::Stats;

    const PLAN: &str = r#"{"event":"plan","config":{"version":"1.65.1","rootDir":"/p","projects":[{"name":"a"}]}}
{"event":"tests","tests":[{"id":"one","title":"t","file":"a.spec.ts","line":3,"project":"a"},{"id":"two"}]}
"#;
    const BEGIN: &str = "{\"event\":\"begin\",\"id\":\"one\",\"retry\":0}\n";
    const FAILED: &str = r#"{"event":"end","id":"one","status":"unexpected","result":{"status":"failed","failures":[{"message":"Error: no"}]}}
"#;
    const DONE: &str = "{\"event\":\"done\",\"stats\":{\"duration\":7.5}}\n";

    fn told(lines: &[&str]) -> Report {
        read(lines.concat().as_bytes()).unwrap()
    }

    #[test]
    fn what_had_happened_is_told_wherever_the_events_end() {
        let whole = [PLAN, BEGIN, FAILED, DONE].concat();
        let plan = PLAN.len();
        let begun = plan + BEGIN.len();
        let ended = begun + FAILED.len();
        for end in 0..=whole.len() {
            let report = read(whole.as_bytes().get(..end).unwrap()).unwrap();
            assert_eq!(report.incomplete.is_none(), end == whole.len(), "{end}");
            let expected = match end {
                end if end < plan => Stats::default(),
                end if end < begun => Stats { total: 2, did_not_run: 2, ..Stats::default() },
                end if end < ended => Stats { total: 2, did_not_run: 1, interrupted: 1, ..Stats::default() },
                _ => Stats { total: 2, did_not_run: 1, failed: 1, ..Stats::default() },
            };
            assert_eq!(report.stats, expected, "{end}");
        }
        let report = told(&[&whole]);
        assert_eq!((report.version.as_deref(), report.duration_ms), (Some("1.65.1"), Some(7)));
        assert_eq!(report.tests[0].attempts[0].failures[0].text(), "no");
    }

    #[test]
    fn lines_that_are_no_events_are_passed_over_and_counted() {
        let long = format!("{{\"event\":\"x\",\"y\":\"{}\"}}\n", "z".repeat(300_000));
        for (rule, line, unread) in [
            ("no JSON", "hello\n", 1),
            (
                "a line that was cut, with the next behind it",
                "{\"event\":\"end\",\"id\":{\"event\":\"done\"}\n",
                1,
            ),
            ("no object", "[1]\n", 1),
            ("no event", "{}\n", 1),
            ("an event that is no word", "{\"event\":7}\n", 1),
            ("a line that is too long", &long, 1),
            ("no UTF-8", "{\"event\":\"\u{fffd}\"}\n", 0),
            ("an event of a later version", "{\"event\":\"step\",\"id\":\"one\"}\n", 0),
            ("a test that is not planned", "{\"event\":\"begin\",\"id\":\"three\"}\n", 0),
            (
                "fields of other types",
                "{\"event\":\"end\",\"id\":[],\"status\":{},\"result\":3,\"annotations\":7}\n",
                0,
            ),
            (
                "a test that is planned again",
                "{\"event\":\"tests\",\"tests\":[{\"id\":\"one\",\"title\":\"x\"}]}\n",
                0,
            ),
        ] {
            let report = told(&[PLAN, line, BEGIN, FAILED, DONE]);
            assert_eq!((report.stats.failed, report.stats.total), (1, 2), "{rule}");
            assert_eq!(report.tests[0].title.as_ref(), "t", "{rule}");
            let incomplete = (unread > 0).then(|| format!("{unread} of the events can't be read"));
            assert_eq!(report.incomplete, incomplete, "{rule}");
        }
    }

    #[test]
    fn a_retry_that_was_running_does_not_undo_the_failure_before_it() {
        let retry = "{\"event\":\"begin\",\"id\":\"one\",\"retry\":1}\n";
        let report = told(&[PLAN, BEGIN, FAILED, retry]);
        assert_eq!(report.tests[0].outcome, Outcome::Failed);
        let attempts: Vec<_> = report.tests[0].attempts.iter().map(|one| (one.retry, &one.status)).collect();
        assert_eq!(attempts, [(0, &AttemptStatus::Failed), (1, &AttemptStatus::Interrupted)]);
    }

    #[test]
    fn an_unknown_status_is_a_failure() {
        let odd = r#"{"event":"end","id":"one","status":"odd","result":{"status":"exploded"}}"#;
        let report = told(&[PLAN, BEGIN, odd, "\n"]);
        assert_eq!(report.tests[0].outcome, Outcome::Failed);
        assert_eq!(report.tests[0].attempts[0].status, AttemptStatus::Other("exploded".to_owned()));
    }

    /// What is small in the file could be large in memory.
    #[test]
    fn so_much_is_kept_and_no_more() {
        let many = format!(
            "{{\"event\":\"end\",\"id\":\"one\",\"result\":{{\"failures\":[{}]}}}}\n",
            "{\"value\":\"x\"},".repeat(99) + "{\"value\":\"x\"}"
        );
        let report = read([PLAN, &many.repeat(300)].concat().as_bytes()).unwrap();
        let attempts = &report.tests[0].attempts;
        assert_eq!((attempts.len(), report.tests.len()), (MAX_ITEMS, 2));
        let thousand = |from: u32| {
            let ids: Vec<String> = (0..1000).map(|id| format!("{{\"id\":\"{from}-{id}\"}}")).collect();
            format!("{{\"event\":\"tests\",\"tests\":[{}]}}\n", ids.join(","))
        };
        let report = read((0..510).map(thousand).collect::<String>().as_bytes()).unwrap();
        assert_eq!(report.tests.len(), MAX_KEPT);
    }
}
