//! A policy file's text: parsed, checked against the table of keys, all findings at once.
//!
//! In: the text and the file's path. Out: [`Written`] with what was right, and a diagnostic for each thing that was
//! not. Reading the file is left to `file`, the meaning of the entries to `compile`.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use figment::value::Value;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::policy::diagnostic::{Diagnostic, DiagnosticCode};
use crate::policy::origin::{Origin, Sourced, Span};
use crate::policy::source::keys::{Key, Kind, VERSION, table, tables};
use crate::policy::source::suggest::{either, list, nearest};
use crate::policy::source::syntax::{Advice, DUPLICATE, broken, duplicate};
use crate::policy::source::value::{number, scalar, type_of};
use crate::policy::source::written::Written;

/// Parses and checks a policy file's text.
pub fn parse(path: &Arc<Path>, text: &str) -> (Written, Vec<Diagnostic>) {
    let mut check = Check { path: Arc::clone(path), text, written: Written::default(), findings: Vec::new() };
    let (document, errors) = DeTable::parse_recoverable(text);
    let mut broken = false;
    for error in errors {
        broken |= error.message() != DUPLICATE;
        check.syntax(error.message(), error.span());
    }
    check.findings.sort_by(|a, b| a.origin.cmp(&b.origin));
    // What the parser says next of a line, it says because of what it said first.
    check.findings.dedup_by_key(|finding| finding.origin.line());
    // After a syntax error the parser's guess at the rest is no ground for further findings.
    if !broken && check.version(document.get_ref()) {
        check.root(document.get_ref());
    }
    check.findings.sort_by(|a, b| a.origin.cmp(&b.origin));
    (check.written, check.findings)
}

/// A file under check: what was right of it so far, and what was not.
pub(super) struct Check<'a> {
    path: Arc<Path>,
    text: &'a str,
    pub(super) written: Written,
    findings: Vec<Diagnostic>,
}

impl Check<'_> {
    pub(super) fn place(&self, range: Range<usize>) -> Origin {
        Origin::File { path: Arc::clone(&self.path), span: Some(Span::of(self.text, range)) }
    }

    pub(super) fn found(&mut self, finding: Diagnostic) {
        self.findings.push(finding);
    }

    fn syntax(&mut self, message: &str, span: Option<Range<usize>>) {
        let place = span.clone().map_or_else(|| Origin::file(&self.path), |span| self.place(span));
        let span = span.unwrap_or_default();
        let (code, Advice { summary, hint }) = if message == DUPLICATE {
            (DiagnosticCode::DuplicateKey, duplicate(self.text, &span))
        } else {
            (DiagnosticCode::Syntax, broken(message, self.text, &span))
        };
        self.found(Diagnostic::error(code, place, summary).hint(hint));
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
        // Where the number is meant and only its form is wrong, the rest is told with it.
        let is_of_another = finding.code == DiagnosticCode::UnsupportedVersion
            || scalar(value.get_ref())
                .and_then(|written| written.trim().parse::<i64>().ok())
                .is_some_and(|written| written != VERSION);
        self.found(finding.key("version"));
        !is_of_another
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
                "expect" => {
                    self.expectations(value);
                    continue;
                }
                _ => {}
            }
            match (table(name), value.get_ref()) {
                (Some(table), DeValue::Table(entries)) => self.table(name, table.keys, entries),
                (Some(_), other) => {
                    let place = self.place(value.span());
                    self.found(
                        Diagnostic::error(
                            DiagnosticCode::WrongType,
                            place,
                            format!("`{name}` is a table, not {}", type_of(other)),
                        )
                        .key(name)
                        .hint(match other {
                            DeValue::Array(_) => {
                                format!("write `[{name}]` once, in single brackets, above its keys")
                            }
                            DeValue::String(_)
                            | DeValue::Integer(_)
                            | DeValue::Float(_)
                            | DeValue::Boolean(_)
                            | DeValue::Datetime(_)
                            | DeValue::Table(_) => format!("write `[{name}]` above its keys"),
                        }),
                    );
                }
                (None, _) => self.unknown_at_top(name, key.span()),
            }
        }
    }

    fn exclusive(&mut self, value: &Spanned<DeValue<'_>>) {
        let place = self.place(value.span());
        let checked = self.value("exclusive", Kind::Flag, value);
        self.written.exclusive =
            checked.and_then(|exclusive| exclusive.to_bool()).map(|exclusive| Sourced::new(exclusive, place));
    }

    fn unknown_at_top(&mut self, name: &str, span: Range<usize>) {
        let names: Vec<_> =
            tables().map(|table| table.name).chain(["expect", "version", "exclusive"]).collect();
        let hint = match nearest(name, names.iter().copied()) {
            _ if LATER.contains(&name) => later(name),
            Some(near) => format!("did you mean `{near}`?"),
            None => elsewhere(name).unwrap_or_else(|| format!("known here: {}", list(names))),
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
                self.unknown_in_table(table, keys, name, key.span(), value.get_ref());
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

    fn unknown_in_table(
        &mut self,
        table: &str,
        keys: &[Key],
        name: &str,
        span: Range<usize>,
        value: &DeValue<'_>,
    ) {
        let known = || keys.iter().map(|key| key.name);
        let hint = match nearest(name, known()) {
            _ if LATER.contains(&format!("{table}.{name}").as_str()) => later(name),
            _ if matches!(name, "version" | "exclusive") => {
                format!("`{name}` stands at the top of the file, above all tables")
            }
            _ if tables().any(|known| known.name == name) => {
                format!("`[{name}]` is a table of its own: write it on a line of its own, above its keys")
            }
            // A key that stands elsewhere by this very name was put into the wrong table.
            Some(near) if tables_of(name).is_empty() => format!("did you mean `{near}`?"),
            Some(_) | None => elsewhere(name).unwrap_or_else(|| match value {
                DeValue::Table(_) => format!("`[{table}]` holds no tables; its keys are {}", list(known())),
                DeValue::String(_)
                | DeValue::Integer(_)
                | DeValue::Float(_)
                | DeValue::Boolean(_)
                | DeValue::Datetime(_)
                | DeValue::Array(_) => format!("known in `[{table}]`: {}", list(known())),
            }),
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
}

/// Tables and keys of later versions, which a policy for one of them may hold.
const LATER: &[&str] = &[
    "egress",
    "screenshot",
    "limits.wait_seconds",
    "limits.attachment_bytes",
    "limits.image_bytes",
    "limits.processes",
];

fn later(name: &str) -> String {
    format!("`{name}` comes with a later version of this server: take it out until then")
}

/// Where a key of this name, or of nearly this name, belongs.
fn elsewhere(name: &str) -> Option<String> {
    let under = |name: &str| either(tables_of(name).into_iter().map(|table| format!("[{table}]")));
    if !tables_of(name).is_empty() {
        return Some(format!("`{name}` belongs under {}", under(name)));
    }
    let keys = tables().flat_map(|table| table.keys).map(|key| key.name);
    nearest(name, keys).map(|near| format!("did you mean `{near}` under {}?", under(near)))
}

/// The tables that have a key of this name.
fn tables_of(name: &str) -> Vec<&'static str> {
    tables().filter(|table| table.keys.iter().any(|key| key.name == name)).map(|table| table.name).collect()
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
        for table in tables() {
            for key in table.keys {
                let value = match key.kind {
                    Kind::Words => "[]".to_owned(),
                    Kind::Path => "\"/x\"".to_owned(),
                    Kind::Choices { now } => format!("{now:?}"),
                    Kind::Flag => "true".to_owned(),
                    Kind::Choice { now, .. } => format!("{:?}", now[0]),
                    Kind::Bound => "1".to_owned(),
                    Kind::WordsByName => "{ ENV = [\"qa\"] }".to_owned(),
                };
                let text = format!("version = 1\n[{}]\n{} = {value}\n", table.name, key.name);
                let (written, findings) = parse(&Path::new("/p.toml").into(), &text);
                assert_eq!(findings, [], "{text}");
                written.settings().unwrap();
            }
        }
    }
}
