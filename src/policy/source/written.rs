//! One source as written: values for figment, and beside them the place of each.
//!
//! In: checked values with their places, from `document` or `environment`. Out: [`Settings`] by way of figment, and
//! [`Places`]. Layers are never merged here: figment's merging overrides, and ours intersects (`combine`).

use std::collections::BTreeMap;

use figment::value::{Dict, Map, Value};
use figment::{Figment, Metadata, Profile, Provider};

use crate::policy::diagnostic::{Diagnostic, DiagnosticCode};
use crate::policy::origin::{Origin, Sourced};
use crate::policy::source::settings::Settings;

/// The place of each value, by dotted key; items of a list are `key[0]`, `key[1]`, and so on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Places(BTreeMap<String, Origin>);

impl Places {
    /// Notes where a key's value stands.
    pub fn insert(&mut self, key: String, origin: Origin) {
        self.0.insert(key, origin);
    }

    /// Gives the place of a key's value; of a key that nobody wrote, `builtin`.
    pub fn of(&self, key: &str) -> Origin {
        self.0.get(key).cloned().unwrap_or(Origin::Builtin)
    }

    /// Gives the place of one item of a list, from 0.
    pub fn of_item(&self, key: &str, index: usize) -> Origin {
        self.0.get(&item_key(key, index)).cloned().unwrap_or_else(|| self.of(key))
    }
}

/// The key under which [`Places`] keeps an item, from 0.
pub fn item_key(key: &str, index: usize) -> String {
    format!("{key}[{index}]")
}

/// Values of one source, and their places: a figment provider.
#[derive(Clone, Debug, Default)]
pub struct Written {
    /// The values, checked against the table of keys.
    pub values: Dict,
    /// Where they stand.
    pub places: Places,
    /// `exclusive`, which says what the file is and not what it allows.
    pub exclusive: Option<Sourced<bool>>,
}

impl Written {
    /// Sets `table.key` to a list of strings, each with its place.
    pub fn set_words(&mut self, table: &str, key: &str, origin: Origin, words: Vec<(String, Origin)>) {
        let dotted = format!("{table}.{key}");
        for (index, (_, place)) in words.iter().enumerate() {
            self.places.insert(item_key(&dotted, index), place.clone());
        }
        self.places.insert(dotted, origin);
        let words: Vec<Value> = words.into_iter().map(|(word, _)| Value::from(word)).collect();
        self.set(table, key, words.into());
    }

    /// Sets `table.key`.
    pub fn set(&mut self, table: &str, key: &str, value: Value) {
        let mut keys = match self.values.remove(table) {
            Some(Value::Dict(_, keys)) => keys,
            Some(_) | None => Dict::new(),
        };
        keys.insert(key.to_owned(), value);
        self.values.insert(table.to_owned(), keys.into());
    }

    /// Reads the values into their form.
    ///
    /// # Errors
    /// A [`Diagnostic`] where the check of the source let something through that the form refuses.
    pub fn settings(&self) -> Result<Settings, Box<Diagnostic>> {
        Figment::from(self).extract().map_err(|error| {
            let key = error.path.join(".");
            let code = match error.kind {
                figment::error::Kind::UnknownField(..) => DiagnosticCode::UnknownKey,
                figment::error::Kind::InvalidType(..) => DiagnosticCode::WrongType,
                figment::error::Kind::Message(..)
                | figment::error::Kind::InvalidValue(..)
                | figment::error::Kind::InvalidLength(..)
                | figment::error::Kind::UnknownVariant(..)
                | figment::error::Kind::MissingField(..)
                | figment::error::Kind::DuplicateField(..)
                | figment::error::Kind::ISizeOutOfRange(..)
                | figment::error::Kind::USizeOutOfRange(..)
                | figment::error::Kind::Unsupported(..)
                | figment::error::Kind::UnsupportedKey(..) => DiagnosticCode::BadValue,
            };
            Box::new(Diagnostic::error(code, self.places.of(&key), error.kind.to_string()).key(&key))
        })
    }
}

impl Provider for Written {
    fn metadata(&self) -> Metadata {
        Metadata::named("policy source")
    }

    fn data(&self) -> Result<Map<Profile, Dict>, figment::Error> {
        Ok(Profile::Default.collect(self.values.clone()))
    }
}
