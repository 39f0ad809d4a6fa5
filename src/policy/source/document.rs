//! A policy file's text: parsed, checked against the table of keys, all findings at once.
//!
//! In: the text and the file's path. Out: [`Written`] with what was right, and a diagnostic for each thing that was
//! not. Reading the file is left to `file`, the meaning of the entries to `compile`.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use figment::value::{Dict, Value};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::policy::diagnostic::{Diagnostic, DiagnosticCode};
use crate::policy::limits::{MAX_SECONDS, UNLIMITED};
use crate::policy::origin::{Origin, Sourced, Span};
use crate::policy::source::keys::{Key, Kind, VERSION, table, tables};
use crate::policy::source::suggest::{list, nearest};
use crate::policy::source::written::{Written, item_key};

/// Parses and checks a policy file's text.
pub fn parse(path: &Arc<Path>, text: &str) -> (Written, Vec<Diagnostic>) {
    let mut check = Check { path: Arc::clone(path), text, written: Written::default(), findings: Vec::new() };
    let (document, errors) = DeTable::parse_recoverable(text);
    let mut broken = false;
    for error in errors {
        broken |= error.message() != DUPLICATE;
        check.syntax(error.message(), error.span());
    }
    // After a syntax error the parser's guess at the rest is no ground for further findings.
    if !broken && check.version(document.get_ref()) {
        check.root(document.get_ref());
    }
    check.findings.sort_by(|a, b| a.origin.cmp(&b.origin));
    (check.written, check.findings)
}

/// The `toml` crate's message for a key that stands twice.
const DUPLICATE: &str = "duplicate key";

struct Check<'a> {
    path: Arc<Path>,
    text: &'a str,
    written: Written,
    findings: Vec<Diagnostic>,
}

impl Check<'_> {
    fn place(&self, range: Range<usize>) -> Origin {
        Origin::File { path: Arc::clone(&self.path), span: Some(Span::of(self.text, range)) }
    }

    fn found(&mut self, finding: Diagnostic) {
        self.findings.push(finding);
    }

    fn syntax(&mut self, message: &str, span: Option<Range<usize>>) {
        let place = span.map_or_else(|| Origin::file(&self.path), |span| self.place(span));
        let finding = if message == DUPLICATE {
            Diagnostic::error(DiagnosticCode::DuplicateKey, place, "a key stands twice")
                .hint("keep one of the two: neither wins over the other")
        } else {
            Diagnostic::error(DiagnosticCode::Syntax, place, format!("this is not TOML: {message}"))
        };
        self.found(finding);
    }

    /// Checks `version`, and says whether the rest is written for this version.
    fn version(&mut self, root: &DeTable<'_>) -> bool {
        let Some((_, value)) = root.iter().find(|(key, _)| key.get_ref() == "version") else {
            let place = self.place(0..0);
            self.found(
                Diagnostic::error(
                    DiagnosticCode::MissingVersion,
                    place,
                    "a policy starts with its version, and this one has none",
                )
                .key("version")
                .hint(format!(
                    "write `version = {VERSION}` as the first line; `policy.example.toml` shows every key, at its default"
                )),
            );
            return true;
        };
        let place = self.place(value.span());
        let finding = match number(value.get_ref()) {
            Some(VERSION) => {
                self.written.places.insert("version".to_owned(), place);
                self.written.values.insert("version".to_owned(), Value::from(VERSION));
                return true;
            }
            Some(other) => Diagnostic::error(
                DiagnosticCode::UnsupportedVersion,
                place,
                format!("version {other} of the policy file is not known"),
            )
            .hint(format!("this server knows version {VERSION}")),
            None => Diagnostic::error(
                DiagnosticCode::WrongType,
                place,
                format!("`version` is a number, not {}", type_of(value.get_ref())),
            )
            .hint(format!("write `version = {VERSION}`")),
        };
        self.found(finding.key("version"));
        false
    }

    fn root(&mut self, root: &DeTable<'_>) {
        for (key, value) in root {
            let name = key.get_ref().as_ref();
            match name {
                "version" => continue,
                "exclusive" => {
                    self.exclusive(value);
                    continue;
                }
                _ => {}
            }
            match (table(name), value.get_ref()) {
                (Some(keys), DeValue::Table(entries)) => self.table(name, &keys, entries),
                (Some(_), other) => {
                    let place = self.place(value.span());
                    self.found(
                        Diagnostic::error(
                            DiagnosticCode::WrongType,
                            place,
                            format!("`{name}` is a table, not {}", type_of(other)),
                        )
                        .key(name)
                        .hint(format!("write `[{name}]` above its keys")),
                    );
                }
                (None, _) => self.unknown_at_top(name, key.span()),
            }
        }
    }

    fn exclusive(&mut self, value: &Spanned<DeValue<'_>>) {
        match value.get_ref().as_bool() {
            Some(exclusive) => {
                let place = self.place(value.span());
                self.written.exclusive = Some(Sourced::new(exclusive, place));
            }
            None => {
                self.wrong_type("exclusive", value.span(), "`true` or `false`", value.get_ref());
            }
        }
    }

    fn unknown_at_top(&mut self, name: &str, span: Range<usize>) {
        let names: Vec<_> = tables().map(|(table, _)| table).chain(["version", "exclusive"]).collect();
        let hint = match (nearest(name, names.iter().copied()), tables_of(name)) {
            (Some(near), _) => format!("did you mean `{near}`?"),
            (None, tables) if !tables.is_empty() => format!("`{name}` stands in {}", list(tables)),
            (None, _) => format!("known here: {}", list(names)),
        };
        let place = self.place(span);
        self.found(
            Diagnostic::error(DiagnosticCode::UnknownKey, place, format!("unknown key `{name}`"))
                .key(name)
                .hint(hint),
        );
    }

    fn table(&mut self, table: &str, keys: &[Key], entries: &DeTable<'_>) {
        for (key, value) in entries {
            let name = key.get_ref().as_ref();
            let Some(known) = keys.iter().find(|known| known.name == name) else {
                self.unknown_in_table(table, keys, name, key.span());
                continue;
            };
            let dotted = format!("{table}.{name}");
            let place = self.place(value.span());
            if let Some(checked) = self.value(&dotted, known.kind, value) {
                self.written.places.insert(dotted, place);
                self.written.set(table, name, checked);
            }
        }
    }

    fn unknown_in_table(&mut self, table: &str, keys: &[Key], name: &str, span: Range<usize>) {
        let known: Vec<_> = keys.iter().map(|key| key.name).collect();
        let elsewhere = tables_of(name);
        let hint = match nearest(name, known.iter().copied()) {
            // A key that stands elsewhere by this very name was put into the wrong table.
            Some(near) if elsewhere.is_empty() => format!("did you mean `{near}`?"),
            Some(_) | None if !elsewhere.is_empty() => format!("`{name}` stands in {}", list(elsewhere)),
            Some(_) | None => format!("known in `[{table}]`: {}", list(known)),
        };
        let place = self.place(span);
        self.found(
            Diagnostic::error(
                DiagnosticCode::UnknownKey,
                place,
                format!("unknown key `{name}` in `[{table}]`"),
            )
            .key(&format!("{table}.{name}"))
            .hint(hint),
        );
    }

    /// Checks one value and converts it; a faulty one is reported and left out.
    fn value(&mut self, dotted: &str, kind: Kind, value: &Spanned<DeValue<'_>>) -> Option<Value> {
        match kind {
            Kind::Words => self.words(dotted, value),
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

    fn words(&mut self, dotted: &str, value: &Spanned<DeValue<'_>>) -> Option<Value> {
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
            if let DeValue::String(word) = item.get_ref() {
                let place = self.place(item.span());
                self.written.places.insert(item_key(dotted, words.len()), place);
                words.push(Value::from(word.as_ref()));
            } else {
                self.wrong_type(dotted, item.span(), "a list of strings", item.get_ref());
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
            if let Some(words) = self.words(&dotted, value) {
                let place = self.place(key.span());
                self.written.places.insert(dotted, place);
                lists.insert(name.to_owned(), words);
            }
        }
        Some(lists.into())
    }

    fn choice(
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

    fn wrong_type(
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

fn number(value: &DeValue<'_>) -> Option<i64> {
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

/// The tables that have a key of this name, in brackets.
fn tables_of(name: &str) -> Vec<&'static str> {
    tables().filter(|(_, keys)| keys.iter().any(|key| key.name == name)).map(|(table, _)| table).collect()
}

const fn type_of(value: &DeValue<'_>) -> &'static str {
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

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::parse;
    use crate::policy::source::keys::tables;

    fn findings(text: &str) -> Vec<(String, usize, usize)> {
        let (_, findings) = parse(&Path::new("/p.toml").into(), text);
        findings
            .into_iter()
            .map(|finding| {
                let place = finding.origin.to_string();
                let mut numbers = place.split(':').skip(1).map(|number| number.parse().unwrap());
                (finding.code.to_string(), numbers.next().unwrap(), numbers.next().unwrap())
            })
            .collect()
    }

    #[test]
    fn all_findings_are_told_at_once() {
        let text = "version = 1\nnope = 1\n[dirs]\nalow = []\nallow = [1, \"a\", true]\nowner = \"me\"\n[limits]\nworkers = 0\n";
        let codes: Vec<_> = findings(text);
        let expected = [
            ("unknown-key", 2, 1),
            ("unknown-key", 4, 1),
            ("wrong-type", 5, 10),
            ("wrong-type", 5, 18),
            ("bad-value", 6, 9),
            ("bad-value", 8, 11),
        ];
        assert_eq!(codes, expected.map(|(code, line, column)| (code.to_owned(), line, column)));
    }

    #[test]
    fn syntax_errors_are_told_all_and_nothing_else() {
        let codes = findings("a = \n[dirs\nnope = 1\nb = ]\n");
        assert!(codes.len() > 1, "{codes:?}");
        assert!(codes.iter().all(|(code, ..)| code == "syntax"), "{codes:?}");
    }

    #[test]
    fn good_values_survive_beside_bad_ones() {
        let text = "version = 1\n[dirs]\nallow = [\"a\", 1]\nowner = 3\n[limits]\nworkers = 0x10\nretries = \"unlimited\"\n";
        let (written, findings) = parse(&Path::new("/p.toml").into(), text);
        assert_eq!(findings.len(), 2);
        let settings = written.settings().unwrap();
        assert_eq!(settings.dirs.allow, Some(vec!["a".to_owned()]));
        assert_eq!(settings.limits.len(), 2);
        assert_eq!(written.places.of_item("dirs.allow", 0).to_string(), "/p.toml:3:10");
    }

    #[test]
    fn every_key_of_the_table_is_one_of_the_form() {
        use crate::policy::source::keys::Kind;
        for (table, keys) in tables() {
            for key in keys {
                let value = match key.kind {
                    Kind::Words => "[]".to_owned(),
                    Kind::Flag => "true".to_owned(),
                    Kind::Choice { now, .. } => format!("{:?}", now[0]),
                    Kind::Bound => "1".to_owned(),
                    Kind::WordsByName => "{ ENV = [\"qa\"] }".to_owned(),
                };
                let text = format!("version = 1\n[{table}]\n{} = {value}\n", key.name);
                let (written, findings) = parse(&Path::new("/p.toml").into(), &text);
                assert_eq!(findings, [], "{text}");
                written.settings().unwrap();
            }
        }
    }
}
