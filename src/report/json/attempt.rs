//! One entry of `results[]`: an attempt.
//!
//! In: the JSON of a result. Out: an `Attempt`, its failures taken apart, its output cut to the end. Whether the test
//! failed is left to `tests`.

use serde::de::{MapAccess, SeqAccess};

use crate::report::failure::{Failure, StoredError};
use crate::report::json::error::{ErrorFields, LocationFields, MAX_ERROR_BYTES, RunErrors};
use crate::report::json::lenient::{
    Array, Fields, Integer, Items, LongText, Object, Path, Text, With, count, milliseconds,
};
use crate::report::json::output::OutputItems;
use crate::report::json::steps::StepItems;
use crate::report::location::{Location, ReportedPath};
use crate::report::{Attachment, Attempt, AttemptStatus, MAX_FAILURES, MAX_ITEMS, MAX_NAME_BYTES};

/// A result as it is read.
#[derive(Default)]
pub(in crate::report) struct AttemptFields {
    status: Option<AttemptStatus>,
    retry: Option<i64>,
    duration: Option<i64>,
    error: Option<StoredError>,
    errors: RenderedErrors,
    stdout: OutputItems,
    stderr: OutputItems,
    attachments: AttachmentItems,
    steps: StepItems,
    /// All errors in parts: events have these instead of the two above.
    failures: Vec<Failure>,
}

impl Fields for AttemptFields {
    const NAMES: &'static [&'static str] = &[
        "status",
        "duration",
        "error",
        "errors",
        "failures",
        "stdout",
        "stderr",
        "retry",
        "steps",
        "attachments",
    ];

    fn field<'de, A: MapAccess<'de>>(&mut self, name: &'static str, map: &mut A) -> Result<(), A::Error> {
        match name {
            "status" => self.status = map.next_value_seed(With(AttemptStatus::parse))?,
            "retry" => self.retry = map.next_value_seed(Integer)?,
            "duration" => self.duration = map.next_value_seed(Integer)?,
            "error" => {
                let mut error = ErrorFields::default();
                map.next_value_seed(Object(&mut error))?;
                self.error = error.finish();
            }
            "errors" => map.next_value_seed(Array(&mut self.errors))?,
            "failures" => map.next_value_seed(Array(&mut RunErrors(&mut self.failures)))?,
            "stdout" => map.next_value_seed(Array(&mut self.stdout))?,
            "stderr" => map.next_value_seed(Array(&mut self.stderr))?,
            "attachments" => map.next_value_seed(Array(&mut self.attachments))?,
            _ => map.next_value_seed(Array(&mut self.steps))?,
        }
        Ok(())
    }
}

impl AttemptFields {
    /// Makes the attempt.
    pub(in crate::report) fn finish(self) -> Attempt {
        let stored = self.error.as_ref();
        let mut failures: Vec<_> = self
            .errors
            .0
            .iter()
            .enumerate()
            .map(|(index, error)| {
                // `error` is the first of `errors`, before it was rendered.
                let stored = stored.filter(|_| index == 0);
                Failure::from_rendered(
                    error.message.as_deref().unwrap_or_default(),
                    error.location.as_ref(),
                    stored,
                )
            })
            .collect();
        if failures.is_empty() {
            failures.extend(stored.map(Failure::from_stored));
        }
        failures.extend(self.failures);
        Attempt {
            status: self.status.unwrap_or_else(|| AttemptStatus::Other(String::new())),
            retry: count(self.retry),
            duration_ms: milliseconds(self.duration),
            failures,
            stdout: self.stdout.finish(),
            stderr: self.stderr.finish(),
            attachments: self.attachments.0,
            hung_step: self.steps.hung,
        }
    }
}

/// The entries of `errors[]`.
#[derive(Default)]
struct RenderedErrors(Vec<RenderedError>);

/// An error as text, and where it happened.
#[derive(Default)]
struct RenderedError {
    message: Option<String>,
    location: Option<Location>,
}

impl Items for RenderedErrors {
    fn item<'de, A: SeqAccess<'de>>(&mut self, items: &mut A) -> Result<bool, A::Error> {
        let mut error = RenderedError::default();
        let found = items.next_element_seed(Object(&mut error))?.is_some();
        if found && self.0.len() < MAX_FAILURES {
            self.0.push(error);
        }
        Ok(found)
    }
}

impl Fields for RenderedError {
    const NAMES: &'static [&'static str] = &["location", "message"];

    fn field<'de, A: MapAccess<'de>>(&mut self, name: &'static str, map: &mut A) -> Result<(), A::Error> {
        if name == "message" {
            self.message = map.next_value_seed(LongText(MAX_ERROR_BYTES))?;
        } else {
            self.location = LocationFields::read(map)?;
        }
        Ok(())
    }
}

/// The entries of `attachments[]`.
#[derive(Default)]
struct AttachmentItems(Vec<Attachment>);

/// An attachment as it is read.
#[derive(Default)]
struct AttachmentFields {
    name: Option<String>,
    content_type: Option<String>,
    path: Option<String>,
    body_bytes: Option<u64>,
}

impl Items for AttachmentItems {
    fn item<'de, A: SeqAccess<'de>>(&mut self, items: &mut A) -> Result<bool, A::Error> {
        let mut read = AttachmentFields::default();
        let found = items.next_element_seed(Object(&mut read))?.is_some();
        if found && self.0.len() < MAX_ITEMS {
            self.0.push(Attachment {
                name: read.name.unwrap_or_default(),
                content_type: read.content_type.unwrap_or_default(),
                path: read.path.map(ReportedPath::new),
                body_bytes: read.body_bytes,
            });
        }
        Ok(found)
    }
}

impl Fields for AttachmentFields {
    const NAMES: &'static [&'static str] = &["name", "contentType", "path", "body", "bodyBytes"];

    fn field<'de, A: MapAccess<'de>>(&mut self, name: &'static str, map: &mut A) -> Result<(), A::Error> {
        match name {
            "name" => self.name = map.next_value_seed(Text(MAX_NAME_BYTES))?,
            "contentType" => self.content_type = map.next_value_seed(Text(MAX_NAME_BYTES))?,
            "path" => self.path = map.next_value_seed(Path)?,
            "body" => self.body_bytes = map.next_value_seed(With(base64_bytes))?,
            _ => {
                self.body_bytes =
                    map.next_value_seed(Integer)?.map(|bytes| u64::try_from(bytes).unwrap_or(0));
            }
        }
        Ok(())
    }
}

/// Counts the bytes that a base64 text stands for.
fn base64_bytes(text: &str) -> u64 {
    let digits = text.trim_end_matches('=').len();
    (digits * 3 / 4) as u64
}
