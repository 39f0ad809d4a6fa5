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
use crate::policy::source::syntax::flag;
use crate::policy::source::written::item_key;

impl Check<'_> {
    /// Checks one value and converts it; a faulty one is reported and left out.
    pub(super) fn value(&mut self, dotted: &str, kind: Kind, value: &Spanned<DeValue<'_>>) -> Option<Value> {
        match kind {
            Kind::Words => self.words(dotted, value, None),
            Kind::Choices { now } => self.words(dotted, value, Some(now)),
            Kind::Path => match value.get_ref().as_str() {
                Some(path) => Some(Value::from(path)),
                None => self.wrong_type(
                    dotted,
                    value.span(),
                    "the path of a file",
                    value.get_ref(),
                    "write it in quotes",
                ),
            },
            Kind::WordsByName => self.words_by_name(dotted, value),
            Kind::Flag => {
                if let Some(flag) = value.get_ref().as_bool() {
                    return Some(Value::from(flag));
                }
                let hint = match scalar(value.get_ref()).as_deref().and_then(flag) {
                    Some(flag) => format!("write `{} = {flag}`", last(dotted)),
                    None => "write `true` or `false`, without quotes".to_owned(),
                };
                self.wrong_type(dotted, value.span(), "`true` or `false`", value.get_ref(), hint)
            }
            Kind::Choice { now, later } => {
                if let Some(word) = value.get_ref().as_str() {
                    return self.choice(dotted, value.span(), word, now, later);
                }
                let wanted = format!("one of {}", list(now.to_vec()));
                let hint = format!(
                    "write `{} = \"{}\"`, or another of them",
                    last(dotted),
                    now.first().unwrap_or(&"")
                );
                self.wrong_type(dotted, value.span(), &wanted, value.get_ref(), hint)
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
            let key = last(dotted);
            let hint = match scalar(value.get_ref()) {
                Some(one) => format!("write `{key} = [\"{one}\"]`"),
                None => match dotted.rsplit_once('.') {
                    Some((table, key)) => format!("write `{key} = [\"...\"]` under `[{table}]`"),
                    None => format!("write `{key} = [\"...\"]`"),
                },
            };
            return self.wrong_type(dotted, value.span(), "a list of strings", value.get_ref(), hint);
        };
        let mut words = Vec::new();
        for item in items {
            let DeValue::String(word) = item.get_ref() else {
                let hint = match scalar(item.get_ref()) {
                    Some(written) => format!("write `\"{written}\"`"),
                    None => "write each entry as a string of its own".to_owned(),
                };
                self.wrong_type(dotted, item.span(), "a list of strings", item.get_ref(), hint);
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
            let hint = format!("write `{} = {{ ENV = [\"qa\"] }}`", last(dotted));
            return self.wrong_type(dotted, value.span(), "a table of lists", value.get_ref(), hint);
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
        let key = last(dotted);
        let mut hint = format!("write a number{} of 1 or more, or \"unlimited\"", unit(key));
        let summary = match value.get_ref() {
            DeValue::String(word) if word == UNLIMITED => return Some(Value::from(UNLIMITED)),
            DeValue::String(word) => {
                if let Ok(number @ 1..) = word.replace('_', "").trim().parse::<u64>() {
                    hint = format!("write `{key} = {number}`, without quotes");
                }
                format!("`{word}` is no limit")
            }
            DeValue::Integer(written) => match number(value.get_ref()) {
                Some(0) => "a limit of 0 would allow nothing".to_owned(),
                Some(seconds) if dotted.ends_with("_seconds") && !fits_a_clock(seconds) => {
                    hint = format!("write `{key} = {MAX_SECONDS}`, or less");
                    format!("`{written}` seconds are more than {MAX_SECONDS}")
                }
                Some(bound) if bound > 0 => return Some(Value::from(bound)),
                Some(_) => format!("`{written}` is less than nothing"),
                None => {
                    hint = format!("write `{key} = \"unlimited\"`, or less than {}", i64::MAX);
                    format!("`{written}` is too large a number")
                }
            },
            other @ (DeValue::Float(_)
            | DeValue::Boolean(_)
            | DeValue::Datetime(_)
            | DeValue::Array(_)
            | DeValue::Table(_)) => {
                if let Some((whole, "0")) = scalar(other).as_deref().and_then(|float| float.split_once('.')) {
                    hint = format!("write `{key} = {whole}`");
                }
                let wanted = "a whole number, or `\"unlimited\"`";
                return self.wrong_type(dotted, value.span(), wanted, other, hint);
            }
        };
        let place = self.place(value.span());
        self.found(Diagnostic::error(DiagnosticCode::BadValue, place, summary).key(dotted).hint(hint));
        None
    }

    pub(super) fn wrong_type(
        &mut self,
        dotted: &str,
        span: Range<usize>,
        wanted: &str,
        value: &DeValue<'_>,
        hint: impl Into<String>,
    ) -> Option<Value> {
        let place = self.place(span);
        self.found(
            Diagnostic::error(
                DiagnosticCode::WrongType,
                place,
                format!("`{dotted}` takes {wanted}, not {}", type_of(value)),
            )
            .key(dotted)
            .label(format!("this is {}", type_of(value)))
            .hint(hint),
        );
        None
    }
}

/// The last part of a dotted key, as it stands in its table.
fn last(dotted: &str) -> &str {
    dotted.rsplit('.').next().unwrap_or(dotted)
}

/// What a limit is counted in, where its name says so.
fn unit(key: &str) -> &'static str {
    if key.contains("_bytes") {
        " of bytes, as 2_000_000,"
    } else if key.ends_with("_seconds") {
        " of seconds"
    } else {
        ""
    }
}

/// A single value as it was written, without quotes; `None` for lists and tables.
pub(super) fn scalar(value: &DeValue<'_>) -> Option<String> {
    match value {
        DeValue::String(text) => Some(text.to_string()),
        DeValue::Integer(number) => Some(number.as_str().to_owned()),
        DeValue::Float(number) => Some(number.as_str().to_owned()),
        DeValue::Boolean(flag) => Some(flag.to_string()),
        DeValue::Datetime(date) => Some(date.to_string()),
        DeValue::Array(_) | DeValue::Table(_) => None,
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
