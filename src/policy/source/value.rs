//! The values of a policy file, one kind each: checked and converted.
//!
//! In: a value with its span, and the kind that its key takes. Out: what figment reads, and a diagnostic where it is
//! not of the kind. Which keys there are is left to `document`, what a value means to `compile`.

use std::ops::Range;

use figment::value::{Dict, Value};
use toml::Spanned;
use toml::de::DeValue;

use crate::policy::diagnostic::{Diagnostic, DiagnosticCode};
use crate::policy::limits::{MAX_SECONDS, UNLIMITED};
use crate::policy::source::document::Check;
use crate::policy::source::keys::Kind;
use crate::policy::source::suggest::{list, nearest};
use crate::policy::source::written::item_key;

impl Check<'_> {
    /// Checks one value and converts it; a faulty one is reported and left out.
    pub(super) fn value(&mut self, dotted: &str, kind: Kind, value: &Spanned<DeValue<'_>>) -> Option<Value> {
        match kind {
            Kind::Words => self.words(dotted, value, None),
            Kind::Choices { now } => self.words(dotted, value, Some(now)),
            Kind::Path => match value.get_ref().as_str() {
                Some(path) => Some(Value::from(path)),
                None => self.wrong_type(dotted, value.span(), "the path of a file", value.get_ref()),
            },
            Kind::WordsByName => self.words_by_name(dotted, value),
            Kind::Flag => match value.get_ref().as_bool() {
                Some(flag) => Some(Value::from(flag)),
                None => self.wrong_type(dotted, value.span(), "`true` or `false`", value.get_ref()),
            },
            Kind::Choice { now, later } => {
                if let Some(word) = value.get_ref().as_str() {
                    return self.choice(dotted, value.span(), word, now, later);
                }
                let wanted = format!("one of {}", list(now.to_vec()));
                self.wrong_type(dotted, value.span(), &wanted, value.get_ref())
            }
            Kind::Bound => self.bound(dotted, value),
        }
    }

    /// A list of strings, which may have to be some of a few.
    fn words(
        &mut self,
        dotted: &str,
        value: &Spanned<DeValue<'_>>,
        choices: Option<&[&'static str]>,
    ) -> Option<Value> {
        let DeValue::Array(items) = value.get_ref() else {
            return self.wrong_type(
                dotted,
                value.span(),
                "a list of strings, as in `[\"...\"]`",
                value.get_ref(),
            );
        };
        let mut words = Vec::new();
        for item in items {
            let DeValue::String(word) = item.get_ref() else {
                self.wrong_type(dotted, item.span(), "a list of strings", item.get_ref());
                continue;
            };
            let checked = match choices {
                Some(now) => self.choice(dotted, item.span(), word, now, &[]),
                None => Some(Value::from(word.as_ref())),
            };
            if let Some(checked) = checked {
                let place = self.place(item.span());
                self.written.places.insert(item_key(dotted, words.len()), place);
                words.push(checked);
            }
        }
        Some(words.into())
    }

    fn words_by_name(&mut self, dotted: &str, value: &Spanned<DeValue<'_>>) -> Option<Value> {
        let DeValue::Table(entries) = value.get_ref() else {
            let wanted = "a table, as in `{ ENV = [\"qa\"] }`";
            return self.wrong_type(dotted, value.span(), wanted, value.get_ref());
        };
        let mut lists = Dict::new();
        for (key, value) in entries {
            let name = key.get_ref().as_ref();
            let dotted = format!("{dotted}.{name}");
            if let Some(words) = self.words(&dotted, value, None) {
                let place = self.place(key.span());
                self.written.places.insert(dotted, place);
                lists.insert(name.to_owned(), words);
            }
        }
        Some(lists.into())
    }

    pub(super) fn choice(
        &mut self,
        dotted: &str,
        span: Range<usize>,
        word: &str,
        now: &[&'static str],
        later: &[&'static str],
    ) -> Option<Value> {
        if now.contains(&word) {
            return Some(Value::from(word));
        }
        let known = list(now.to_vec());
        let (summary, hint) = if later.contains(&word) {
            (format!("`{word}` is not in this version"), format!("this version has {known}"))
        } else {
            let hint = nearest(word, now.iter().copied())
                .map_or_else(|| format!("write one of {known}"), |near| format!("did you mean `{near}`?"));
            (format!("`{word}` is no value of `{dotted}`"), hint)
        };
        let place = self.place(span);
        self.found(Diagnostic::error(DiagnosticCode::BadValue, place, summary).key(dotted).hint(hint));
        None
    }

    fn bound(&mut self, dotted: &str, value: &Spanned<DeValue<'_>>) -> Option<Value> {
        let summary = match value.get_ref() {
            DeValue::String(word) if word == UNLIMITED => return Some(Value::from(UNLIMITED)),
            DeValue::String(word) => format!("`{word}` is no limit"),
            DeValue::Integer(written) => match number(value.get_ref()) {
                Some(0) => "a limit of 0 would allow nothing".to_owned(),
                Some(seconds) if dotted.ends_with("_seconds") && !fits_a_clock(seconds) => {
                    format!("`{written}` seconds are more than {MAX_SECONDS}")
                }
                Some(bound) if bound > 0 => return Some(Value::from(bound)),
                Some(_) => format!("`{written}` is less than nothing"),
                None => format!("`{written}` is too large a number"),
            },
            other @ (DeValue::Float(_)
            | DeValue::Boolean(_)
            | DeValue::Datetime(_)
            | DeValue::Array(_)
            | DeValue::Table(_)) => {
                return self.wrong_type(dotted, value.span(), "a whole number, or `\"unlimited\"`", other);
            }
        };
        let place = self.place(value.span());
        self.found(
            Diagnostic::error(DiagnosticCode::BadValue, place, summary)
                .key(dotted)
                .hint("write a number of 1 or more, or \"unlimited\""),
        );
        None
    }

    pub(super) fn wrong_type(
        &mut self,
        dotted: &str,
        span: Range<usize>,
        wanted: &str,
        value: &DeValue<'_>,
    ) -> Option<Value> {
        let place = self.place(span);
        self.found(
            Diagnostic::error(
                DiagnosticCode::WrongType,
                place,
                format!("`{dotted}` takes {wanted}, not {}", type_of(value)),
            )
            .key(dotted)
            .label(format!("this is {}", type_of(value))),
        );
        None
    }
}

/// Says whether a number of seconds can be added to a clock; less than nothing is another fault.
fn fits_a_clock(seconds: i64) -> bool {
    u64::try_from(seconds).map_or(true, |seconds| seconds <= MAX_SECONDS)
}

/// A whole number that fits, if it is one.
pub(super) fn number(value: &DeValue<'_>) -> Option<i64> {
    match value {
        DeValue::Integer(written) => i64::from_str_radix(written.as_str(), written.radix()).ok(),
        DeValue::String(_)
        | DeValue::Float(_)
        | DeValue::Boolean(_)
        | DeValue::Datetime(_)
        | DeValue::Array(_)
        | DeValue::Table(_) => None,
    }
}

/// What a value is, in words.
pub(super) const fn type_of(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a string",
        DeValue::Integer(_) => "a whole number",
        DeValue::Float(_) => "a number with a point",
        DeValue::Boolean(_) => "a boolean",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}
