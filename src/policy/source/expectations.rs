//! `[[expect]]`: what a policy says that it should decide, as it was written.
//!
//! In: the tables of a file. Out: values for [`Expectation`](crate::policy::source::settings::Expectation), and what is
//! wrong with their form. Whether they come true is left to `--check-policy`.

use figment::value::{Dict, Value};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::policy::diagnostic::{Diagnostic, DiagnosticCode};
use crate::policy::source::document::Check;
use crate::policy::source::suggest::{list, nearest};
use crate::policy::source::value::number;
use crate::policy::source::written::item_key;

/// What an expectation looks like.
const FORM: &str = r#"write `call = { tool = "run_tests", arguments = { ... } }` and `decision = "deny"` below `[[expect]]`"#;

impl Check<'_> {
    /// Checks the form of all expectations; those that are right are kept with the place of their `decision`.
    pub(super) fn expectations(&mut self, value: &Spanned<DeValue<'_>>) {
        let DeValue::Array(items) = value.get_ref() else {
            self.wrong_type(
                "expect",
                value.span(),
                "tables, each below its own `[[expect]]`",
                value.get_ref(),
                FORM,
            );
            return;
        };
        let mut kept = Vec::new();
        for item in items {
            let DeValue::Table(entries) = item.get_ref() else {
                self.wrong_type(
                    "expect",
                    item.span(),
                    "tables, each below its own `[[expect]]`",
                    item.get_ref(),
                    FORM,
                );
                continue;
            };
            let known = self.known("expect", entries, &["call", "decision", "rule"]);
            let found =
                (self.call(entries, kept.len()), self.decision(entries), self.rule(entries, kept.len()));
            let (Some(call), Some((decision, place)), Ok(rule)) = found else {
                if ["call", "decision"].into_iter().any(|key| !entries.contains_key(key)) {
                    let place = self.place(item.span());
                    let summary = "an expectation needs `call` and `decision`";
                    self.found(
                        Diagnostic::error(DiagnosticCode::BadValue, place, summary).key("expect").hint(FORM),
                    );
                }
                continue;
            };
            if known {
                let mut expectation =
                    Dict::from([("call".to_owned(), call), ("decision".to_owned(), decision)]);
                expectation.extend(rule.map(|rule| ("rule".to_owned(), rule)));
                self.written.places.insert(item_key("expect", kept.len()), place);
                kept.push(Value::from(expectation));
            }
        }
        self.written.values.insert("expect".to_owned(), kept.into());
    }

    /// Reports keys that stand where they are not known; says whether there is none.
    fn known(&mut self, table: &str, entries: &DeTable<'_>, known: &[&'static str]) -> bool {
        let mut all = true;
        for (key, _) in entries {
            let name = key.get_ref().as_ref();
            if known.contains(&name) {
                continue;
            }
            all = false;
            let hint = nearest(name, known.iter().copied()).map_or_else(
                || format!("known in `{table}`: {}", list(known.to_vec())),
                |near| format!("did you mean `{near}`?"),
            );
            let place = self.place(key.span());
            let summary = format!("unknown key `{name}` in `{table}`");
            self.found(
                Diagnostic::error(DiagnosticCode::UnknownKey, place, summary)
                    .key(&format!("{table}.{name}"))
                    .hint(hint),
            );
        }
        all
    }

    fn call(&mut self, entries: &DeTable<'_>, index: usize) -> Option<Value> {
        let value = entries.get("call")?;
        let DeValue::Table(call) = value.get_ref() else {
            let wanted = "a table, as in `{ tool = \"run_tests\" }`";
            return self.wrong_type("expect.call", value.span(), wanted, value.get_ref(), FORM);
        };
        let known = self.known("expect.call", call, &["tool", "arguments"]);
        let place = self.place(value.span());
        self.written.places.insert(format!("{}.call", item_key("expect", index)), place);
        let tool = match call.get("tool").map(|tool| (tool.get_ref(), tool.span())) {
            Some((DeValue::String(tool), span)) => {
                let place = self.place(span);
                self.written.places.insert(format!("{}.call.tool", item_key("expect", index)), place);
                Value::from(tool.as_ref())
            }
            Some((other, span)) => {
                return self.wrong_type("expect.call.tool", span, "the name of a tool", other, FORM);
            }
            None => {
                let place = self.place(value.span());
                let missing = Diagnostic::error(DiagnosticCode::BadValue, place, "the call names no tool");
                self.found(missing.key("expect.call.tool").hint(FORM));
                return None;
            }
        };
        let arguments = match call.get("arguments").map(|given| (given.get_ref(), given.span())) {
            Some((given @ DeValue::Table(_), _)) => plain(given),
            Some((other, span)) => {
                return self.wrong_type("expect.call.arguments", span, "a table of arguments", other, FORM);
            }
            None => Value::from(Dict::new()),
        };
        known.then(|| {
            Value::from(Dict::from([("tool".to_owned(), tool), ("arguments".to_owned(), arguments)]))
        })
    }

    fn decision(&mut self, entries: &DeTable<'_>) -> Option<(Value, crate::policy::origin::Origin)> {
        let value = entries.get("decision")?;
        let Some(word) = value.get_ref().as_str() else {
            self.wrong_type(
                "expect.decision",
                value.span(),
                "`\"allow\"` or `\"deny\"`",
                value.get_ref(),
                FORM,
            );
            return None;
        };
        let decision = self.choice("expect.decision", value.span(), word, &["allow", "deny"], &[])?;
        Some((decision, self.place(value.span())))
    }

    /// The rule, if one is given; an error where it is none.
    fn rule(&mut self, entries: &DeTable<'_>, index: usize) -> Result<Option<Value>, ()> {
        let Some(value) = entries.get("rule") else { return Ok(None) };
        if let Some(rule) = value.get_ref().as_str() {
            let place = self.place(value.span());
            self.written.places.insert(format!("{}.rule", item_key("expect", index)), place);
            return Ok(Some(Value::from(rule)));
        }
        let wanted = "the policy key that should decide, as in `\"dirs.allow\"`";
        self.wrong_type("expect.rule", value.span(), wanted, value.get_ref(), FORM);
        Err(())
    }
}

/// A value without its places, for the arguments of a call.
fn plain(value: &DeValue<'_>) -> Value {
    match value {
        DeValue::String(text) => Value::from(text.as_ref()),
        DeValue::Integer(written) => number(value).map_or_else(|| Value::from(written.as_str()), Value::from),
        DeValue::Float(written) => {
            written.as_str().parse::<f64>().map_or_else(|_| Value::from(written.as_str()), Value::from)
        }
        DeValue::Boolean(flag) => Value::from(*flag),
        DeValue::Datetime(date) => Value::from(date.to_string()),
        DeValue::Array(items) => items.iter().map(|item| plain(item.get_ref())).collect::<Vec<_>>().into(),
        DeValue::Table(entries) => {
            let entries = entries.iter();
            let entries =
                entries.map(|(key, value)| (key.get_ref().as_ref().to_owned(), plain(value.get_ref())));
            entries.collect::<Dict>().into()
        }
    }
}
