//! `TestError` and `Location` objects.
//!
//! In: the JSON of an error that Playwright stores in parts. Out: a `StoredError`. Taking its texts apart is left to
//! `failure`.

use serde::de::MapAccess;

use crate::report::MAX_FAILURES;
use crate::report::failure::{Failure, MAX_CAUSES, StoredError};
use crate::report::json::lenient::{Fields, Integer, Items, LongText, Object, Path, count};
use crate::report::location::{Location, ReportedPath};

/// The most bytes read of an error's text; more is cut in its middle.
pub(in crate::report) const MAX_ERROR_BYTES: usize = 64 << 10;

/// An error as it is read.
#[derive(Default)]
pub(in crate::report) struct ErrorFields {
    error: StoredError,
    /// How many errors this one has caused, in a chain.
    depth: usize,
}

impl Fields for ErrorFields {
    const NAMES: &'static [&'static str] = &["message", "stack", "value", "snippet", "location", "cause"];

    fn field<'de, A: MapAccess<'de>>(&mut self, name: &'static str, map: &mut A) -> Result<(), A::Error> {
        let mut text = || map.next_value_seed(LongText(MAX_ERROR_BYTES));
        match name {
            "message" => self.error.message = text()?,
            "stack" => self.error.stack = text()?,
            "value" => self.error.value = text()?,
            "snippet" => self.error.snippet = text()?,
            "location" => self.error.location = LocationFields::read(map)?,
            _ if self.depth >= MAX_CAUSES => {
                map.next_value::<serde::de::IgnoredAny>()?;
            }
            _ => {
                let mut cause = Self { depth: self.depth + 1, ..Self::default() };
                map.next_value_seed(Object(&mut cause))?;
                self.error.cause = cause.finish().map(Box::new);
            }
        }
        Ok(())
    }
}

impl ErrorFields {
    /// Gives the error; `None` where it says nothing at all.
    pub(in crate::report) fn finish(self) -> Option<StoredError> {
        Some(self.error)
            .filter(|error| error.message.is_some() || error.value.is_some() || error.stack.is_some())
    }
}

/// A place as it is read.
#[derive(Default)]
pub(in crate::report) struct LocationFields {
    file: Option<String>,
    line: Option<i64>,
    column: Option<i64>,
}

impl LocationFields {
    /// Reads the place that is a field's value.
    pub(in crate::report) fn read<'de, A: MapAccess<'de>>(map: &mut A) -> Result<Option<Location>, A::Error> {
        let mut place = Self::default();
        map.next_value_seed(Object(&mut place))?;
        Ok(place.file.map(|file| Location {
            file: ReportedPath::new(file),
            line: count(place.line),
            column: count(place.column),
        }))
    }
}

impl Fields for LocationFields {
    const NAMES: &'static [&'static str] = &["file", "line", "column"];

    fn field<'de, A: MapAccess<'de>>(&mut self, name: &'static str, map: &mut A) -> Result<(), A::Error> {
        match name {
            "file" => self.file = map.next_value_seed(Path)?,
            "line" => self.line = map.next_value_seed(Integer)?,
            _ => self.column = map.next_value_seed(Integer)?,
        }
        Ok(())
    }
}

/// Errors in parts: those of a run that belong to no test, or all of an attempt.
pub(in crate::report) struct RunErrors<'r>(pub(in crate::report) &'r mut Vec<Failure>);

impl Items for RunErrors<'_> {
    fn item<'de, A: serde::de::SeqAccess<'de>>(&mut self, items: &mut A) -> Result<bool, A::Error> {
        let mut error = ErrorFields::default();
        let found = items.next_element_seed(Object(&mut error))?.is_some();
        if let Some(error) = error.finish().filter(|_| self.0.len() < MAX_FAILURES) {
            self.0.push(Failure::from_stored(&error));
        }
        Ok(found)
    }
}
