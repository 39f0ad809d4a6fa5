//! `steps[]` of a result.
//!
//! In: the tree of steps. Out: the one that never ended, if any; that is where a timeout struck. All else is dropped.

use serde::de::{IgnoredAny, MapAccess, SeqAccess};

use crate::report::MAX_NAME_BYTES;
use crate::report::json::lenient::{Array, Fields, Integer, Items, Object, Text};
use crate::text::cut_end;

/// How deep the tree is read; what is deeper is skipped.
const MAX_DEPTH: usize = 24;

/// The steps read so far, at one depth.
#[derive(Default)]
pub(super) struct StepItems {
    /// The first step that never ended, with those inside it: `log in › wait`.
    pub(super) hung: Option<String>,
    depth: usize,
}

/// A step as it is read.
#[derive(Default)]
struct StepFields {
    title: Option<String>,
    duration: Option<i64>,
    steps: StepItems,
}

impl Items for StepItems {
    fn item<'de, A: SeqAccess<'de>>(&mut self, items: &mut A) -> Result<bool, A::Error> {
        let steps = Self { hung: None, depth: self.depth + 1 };
        let mut step = StepFields { steps, ..StepFields::default() };
        let found = items.next_element_seed(Object(&mut step))?.is_some();
        if self.hung.is_none() {
            self.hung = step.hung();
        }
        Ok(found)
    }
}

impl Fields for StepFields {
    const NAMES: &'static [&'static str] = &["title", "duration", "steps"];

    fn field<'de, A: MapAccess<'de>>(&mut self, name: &'static str, map: &mut A) -> Result<(), A::Error> {
        match name {
            "title" => self.title = map.next_value_seed(Text(MAX_NAME_BYTES))?,
            "duration" => self.duration = map.next_value_seed(Integer)?,
            _ if self.steps.depth >= MAX_DEPTH => {
                map.next_value::<IgnoredAny>()?;
            }
            _ => map.next_value_seed(Array(&mut self.steps))?,
        }
        Ok(())
    }
}

impl StepFields {
    fn hung(self) -> Option<String> {
        let title = self.title.unwrap_or_default();
        match self.steps.hung {
            Some(inner) => Some(cut_end(&format!("{title} › {inner}"), MAX_NAME_BYTES).into_owned()),
            None => (self.duration == Some(-1)).then_some(title),
        }
    }
}
