//! `suites[]`, `specs[]` and `tests[]`: the tests, pushed one by one as they are read.
//!
//! In: the tree of suites. Out: `TestCase`s in a `Collector`, slimmed where they did not fail. A test is pushed once
//! its own object is complete, also where the file ends within its spec.

use std::sync::Arc;

use serde::de::{MapAccess, SeqAccess};

use crate::report::failure::Failure;
use crate::report::json::attempt::AttemptFields;
use crate::report::json::lenient::{Array, Fields, Integer, Items, Object, Text, With, count};
use crate::report::outcome::{Outcome, Stats};
use crate::report::{
    Annotation, Attempt, AttemptStatus, MAX_ITEMS, MAX_NAME_BYTES, MAX_QUIET_OUTPUTS, QuietOutput, TestCase,
};

/// What is known of the tests so far.
#[derive(Default)]
pub(in crate::report) struct Collector {
    /// The tests, complete.
    pub(in crate::report) tests: Vec<TestCase>,
    /// Their counts.
    pub(in crate::report) stats: Stats,
    /// Names that many tests share.
    shared: Vec<Arc<str>>,
    quiet_outputs: usize,
}

/// How many names are remembered to be shared.
const MAX_SHARED: usize = 64;

impl Collector {
    /// One name for the tests that share it.
    pub(in crate::report) fn share(&mut self, name: String) -> Arc<str> {
        if let Some(known) = self.shared.iter().rev().find(|known| known.as_ref() == name) {
            return Arc::clone(known);
        }
        let name: Arc<str> = name.into();
        if self.shared.len() >= MAX_SHARED {
            self.shared.clear();
        }
        self.shared.push(Arc::clone(&name));
        name
    }

    /// Takes a test that was judged.
    pub(in crate::report) fn push(&mut self, mut test: TestCase) {
        self.stats.add(test.outcome);
        // Most tests have one attempt, and most of a report are such tests.
        test.attempts.shrink_to_fit();
        if test.outcome.has_failures() {
            for attempt in test.attempts.iter_mut().filter(|attempt| attempt.failures.is_empty()) {
                attempt.failures.extend(Failure::without_error(&attempt.status, &test.expected));
            }
        } else if test.attempts.is_empty() || self.quiet_outputs >= MAX_QUIET_OUTPUTS {
            test.slim(QuietOutput::Drop);
        } else {
            self.quiet_outputs += 1;
            test.slim(QuietOutput::Keep);
        }
        self.tests.push(test);
    }
}

/// The suites in a report or in a suite.
pub(super) struct SuiteItems<'c> {
    /// Where the tests go.
    pub(super) collector: &'c mut Collector,
    /// The titles of the describes around; `None` above the files.
    pub(super) describes: Option<Arc<[String]>>,
}

/// A suite as it is read: a file, or a describe in it.
struct SuiteFields<'c> {
    collector: &'c mut Collector,
    /// The titles of the describes around it; `None` for a file.
    around: Option<Arc<[String]>>,
    /// The same with its own, empty as long as it is not read.
    describes: Arc<[String]>,
    file: String,
    /// How many tests there were before it.
    first_test: usize,
}

impl Items for SuiteItems<'_> {
    fn item<'de, A: SeqAccess<'de>>(&mut self, items: &mut A) -> Result<bool, A::Error> {
        let first_test = self.collector.tests.len();
        let mut suite = SuiteFields {
            collector: self.collector,
            around: self.describes.clone(),
            describes: Arc::default(),
            file: String::new(),
            first_test,
        };
        suite.set_title("");
        Ok(items.next_element_seed(Object(&mut suite))?.is_some())
    }
}

impl SuiteFields<'_> {
    /// Takes a title over, also into the tests that came before it in the file. That of a file is no describe.
    fn set_title(&mut self, title: &str) {
        let Some(around) = &self.around else { return };
        let own = around.len();
        self.describes = around.iter().cloned().chain([title.to_owned()]).collect();
        for test in self.collector.tests.iter_mut().skip(self.first_test) {
            let titles = test.describes.iter().enumerate();
            test.describes =
                titles.map(|(at, old)| if at == own { title.to_owned() } else { old.clone() }).collect();
        }
    }
}

impl Fields for SuiteFields<'_> {
    const NAMES: &'static [&'static str] = &["title", "file", "specs", "suites"];

    fn field<'de, A: MapAccess<'de>>(&mut self, name: &'static str, map: &mut A) -> Result<(), A::Error> {
        match name {
            "title" => {
                let title = map.next_value_seed(Text(MAX_NAME_BYTES))?;
                self.set_title(title.as_deref().unwrap_or_default());
            }
            "file" => self.file = map.next_value_seed(Text(MAX_NAME_BYTES))?.unwrap_or_default(),
            "specs" => {
                let (collector, describes, file) = (&mut *self.collector, &self.describes, &self.file);
                map.next_value_seed(Array(&mut SpecItems { collector, describes, file }))?;
            }
            _ => {
                let (collector, describes) = (&mut *self.collector, Some(Arc::clone(&self.describes)));
                map.next_value_seed(Array(&mut SuiteItems { collector, describes }))?;
            }
        }
        Ok(())
    }
}

/// The specs of a suite.
struct SpecItems<'c> {
    collector: &'c mut Collector,
    describes: &'c Arc<[String]>,
    /// The file of the suite, for a spec that is cut before its own.
    file: &'c str,
}

/// A spec as it is read: a test, in one or more projects and repetitions.
#[derive(Default)]
struct SpecFields {
    title: Option<String>,
    id: Option<String>,
    file: Option<String>,
    line: Option<i64>,
    column: Option<i64>,
    tags: Names,
    tests: TestItems,
}

impl Items for SpecItems<'_> {
    fn item<'de, A: SeqAccess<'de>>(&mut self, items: &mut A) -> Result<bool, A::Error> {
        let mut spec = SpecFields::default();
        let read = items.next_element_seed(Object(&mut spec));
        // Also where the file is cut within the spec: its complete tests count.
        self.push(spec);
        Ok(read?.is_some())
    }
}

impl SpecItems<'_> {
    fn push(&mut self, spec: SpecFields) {
        let id: Arc<str> = spec.id.unwrap_or_default().into();
        let title: Arc<str> = spec.title.unwrap_or_default().into();
        let file = self.collector.share(spec.file.unwrap_or_else(|| self.file.to_owned()));
        let tags: Arc<[String]> = spec.tags.0.into();
        let mut projects: Vec<Arc<str>> = Vec::new();
        for test in spec.tests.0 {
            let project = self.collector.share(test.project.unwrap_or_default());
            let earlier = projects.iter().filter(|earlier| **earlier == project).count();
            projects.push(Arc::clone(&project));
            let expected = test.expected.unwrap_or(AttemptStatus::Passed);
            let statuses: Vec<_> = test.attempts.0.iter().map(|attempt| &attempt.status).collect();
            let outcome = Outcome::judge(test.status.as_deref().unwrap_or_default(), &expected, &statuses);
            self.collector.push(TestCase {
                id: Arc::clone(&id),
                describes: Arc::clone(self.describes),
                title: Arc::clone(&title),
                file: Arc::clone(&file),
                line: count(spec.line),
                column: count(spec.column),
                project,
                repeat: u32::try_from(earlier).unwrap_or(u32::MAX),
                tags: Arc::clone(&tags),
                annotations: test.annotations.0,
                expected,
                outcome,
                attempts: test.attempts.0,
            });
        }
    }
}

impl Fields for SpecFields {
    const NAMES: &'static [&'static str] = &["title", "tags", "tests", "id", "file", "line", "column"];

    fn field<'de, A: MapAccess<'de>>(&mut self, name: &'static str, map: &mut A) -> Result<(), A::Error> {
        match name {
            "title" => self.title = map.next_value_seed(Text(MAX_NAME_BYTES))?,
            "id" => self.id = map.next_value_seed(Text(MAX_NAME_BYTES))?,
            "file" => self.file = map.next_value_seed(Text(MAX_NAME_BYTES))?,
            "line" => self.line = map.next_value_seed(Integer)?,
            "column" => self.column = map.next_value_seed(Integer)?,
            "tags" => map.next_value_seed(Array(&mut self.tags))?,
            _ => map.next_value_seed(Array(&mut self.tests))?,
        }
        Ok(())
    }
}

/// The tests of a spec, complete.
#[derive(Default)]
struct TestItems(Vec<TestFields>);

/// A test as it is read.
#[derive(Default)]
struct TestFields {
    project: Option<String>,
    expected: Option<AttemptStatus>,
    status: Option<String>,
    annotations: AnnotationItems,
    attempts: AttemptItems,
}

impl Items for TestItems {
    fn item<'de, A: SeqAccess<'de>>(&mut self, items: &mut A) -> Result<bool, A::Error> {
        let mut test = TestFields::default();
        let found = items.next_element_seed(Object(&mut test))?.is_some();
        if found {
            self.0.push(test);
        }
        Ok(found)
    }
}

impl Fields for TestFields {
    const NAMES: &'static [&'static str] =
        &["annotations", "expectedStatus", "projectName", "results", "status"];

    fn field<'de, A: MapAccess<'de>>(&mut self, name: &'static str, map: &mut A) -> Result<(), A::Error> {
        match name {
            "annotations" => map.next_value_seed(Array(&mut self.annotations))?,
            "expectedStatus" => self.expected = map.next_value_seed(With(AttemptStatus::parse))?,
            "projectName" => self.project = map.next_value_seed(Text(MAX_NAME_BYTES))?,
            "status" => self.status = map.next_value_seed(Text(MAX_NAME_BYTES))?,
            _ => map.next_value_seed(Array(&mut self.attempts))?,
        }
        Ok(())
    }
}

/// The attempts of a test.
#[derive(Default)]
struct AttemptItems(Vec<Attempt>);

impl Items for AttemptItems {
    fn item<'de, A: SeqAccess<'de>>(&mut self, items: &mut A) -> Result<bool, A::Error> {
        let mut attempt = AttemptFields::default();
        let found = items.next_element_seed(Object(&mut attempt))?.is_some();
        if found {
            self.0.push(attempt.finish());
        }
        Ok(found)
    }
}

/// The tags of a spec, or other names.
#[derive(Default)]
pub(in crate::report) struct Names(pub(in crate::report) Vec<String>);

impl Items for Names {
    fn item<'de, A: SeqAccess<'de>>(&mut self, items: &mut A) -> Result<bool, A::Error> {
        let Some(name) = items.next_element_seed(Text(MAX_NAME_BYTES))? else { return Ok(false) };
        if self.0.len() < MAX_ITEMS {
            self.0.extend(name);
        }
        Ok(true)
    }
}

/// The annotations of a test.
#[derive(Default)]
pub(in crate::report) struct AnnotationItems(pub(in crate::report) Vec<Annotation>);

/// An annotation as it is read.
#[derive(Default)]
struct AnnotationFields {
    kind: Option<String>,
    description: Option<String>,
}

impl Items for AnnotationItems {
    fn item<'de, A: SeqAccess<'de>>(&mut self, items: &mut A) -> Result<bool, A::Error> {
        let mut read = AnnotationFields::default();
        let found = items.next_element_seed(Object(&mut read))?.is_some();
        if found && self.0.len() < MAX_ITEMS {
            self.0.push(Annotation { kind: read.kind.unwrap_or_default(), description: read.description });
        }
        Ok(found)
    }
}

impl Fields for AnnotationFields {
    const NAMES: &'static [&'static str] = &["type", "description"];

    fn field<'de, A: MapAccess<'de>>(&mut self, name: &'static str, map: &mut A) -> Result<(), A::Error> {
        if name == "type" {
            self.kind = map.next_value_seed(Text(MAX_NAME_BYTES))?;
        } else {
            self.description = map.next_value_seed(Text(MAX_NAME_BYTES))?;
        }
        Ok(())
    }
}
