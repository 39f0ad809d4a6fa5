//! The arguments of a call, as far as they may be written down.
//!
//! In: JSON as a client sent it, of any size. Out: a small value: of objects the names, never the values; long texts and
//! lists cut. What a secret could stand in is told by its name alone.

use serde_json::{Map, Value};

use crate::{
    policy::{
        denylist::{self, Rule},
        recording::AuditArguments,
    },
    text,
};

/// A longer text is cut at so many bytes.
const TEXT_BYTES: usize = 500;
/// A longer name is cut at so many bytes.
const NAME_BYTES: usize = 64;
/// A longer list is cut at so many items; calls have fewer arguments.
const ITEMS: usize = 32;
/// Stands where a secret could.
const WITHHELD: &str = "[withheld]";

/// Gives what is written down of the arguments.
pub(super) fn audited(arguments: &Map<String, Value>, detail: AuditArguments) -> Option<Value> {
    match detail {
        AuditArguments::None => None,
        AuditArguments::Redacted => {
            let few = arguments.iter().take(ITEMS);
            let mut told: Map<String, Value> =
                few.map(|(name, value)| (cut(name, NAME_BYTES), redacted(name, value))).collect();
            if let Some(more) = more(arguments.len()) {
                told.insert("…".to_owned(), more);
            }
            Some(Value::Object(told))
        }
    }
}

fn redacted(name: &str, value: &Value) -> Value {
    let name = name.to_ascii_uppercase();
    // `env`, and what was meant to be it.
    let written: fn(&str) -> Value = if name.contains("ENV") {
        name_of_variable
    } else if denylist::rows().any(|row| row.rule == Rule::Part && name.contains(row.text)) {
        return WITHHELD.into();
    } else {
        |text| cut(text, TEXT_BYTES).into()
    };
    let item = |item: &Value| match item {
        Value::Null | Value::Bool(_) | Value::Number(_) => item.clone(),
        Value::String(text) => written(text),
        Value::Array(_) => "[list]".into(),
        Value::Object(_) => "[object]".into(),
    };
    match value {
        Value::Object(entries) => {
            list(entries.keys().map(|name| cut(name, NAME_BYTES).into()), entries.len())
        }
        Value::Array(items) => list(items.iter().map(item), items.len()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => item(value),
    }
}

/// What stands before the `=` of `NAME=value`; a text without one may be a value.
fn name_of_variable(text: &str) -> Value {
    text.split_once('=').map_or_else(|| WITHHELD.into(), |(name, _)| cut(name, NAME_BYTES).into())
}

fn list(items: impl Iterator<Item = Value>, length: usize) -> Value {
    items.take(ITEMS).chain(more(length)).collect()
}

fn more(length: usize) -> Option<Value> {
    length.checked_sub(ITEMS).filter(|more| *more > 0).map(|more| format!("… [{more} more]").into())
}

fn cut(text: &str, bytes: usize) -> String {
    text::cut_end(text, bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::policy::request::{
        arguments::schema_of, failed_tests::GetFailedTestsArguments, run_tests::RunTestsArguments,
    };

    fn told(arguments: Value) -> Value {
        let Value::Object(arguments) = arguments else { panic!("arguments are an object") };
        audited(&arguments, AuditArguments::Redacted).unwrap()
    }

    #[test]
    fn values_of_variables_are_never_written_down() {
        let secret = "hunter2-hunter2";
        for (rule, arguments, expected) in [
            ("variables", json!({ "env": { "A": secret, "B": secret } }), json!({ "env": ["A", "B"] })),
            (
                "written as a list",
                json!({ "env": [format!("A={secret}"), secret] }),
                json!({ "env": ["A", "[withheld]"] }),
            ),
            ("written as a text", json!({ "env": format!("A={secret}") }), json!({ "env": "A" })),
            (
                "under another name",
                json!({ "environment": { "A": secret } }),
                json!({ "environment": ["A"] }),
            ),
            ("in another object", json!({ "set": { "A": secret } }), json!({ "set": ["A"] })),
            (
                "in a list of objects",
                json!({ "set": [{ "A": secret }, [secret]] }),
                json!({ "set": ["[object]", "[list]"] }),
            ),
            (
                "as an argument",
                json!({ "apiToken": secret, "PASSWORD": secret }),
                json!({ "apiToken": "[withheld]", "PASSWORD": "[withheld]" }),
            ),
        ] {
            let told = told(arguments);
            assert_eq!(told, expected, "{rule}");
            assert!(!told.to_string().contains(secret), "{rule}");
        }
    }

    #[test]
    fn what_is_long_is_cut() {
        let many: Vec<u64> = (0..1_000).collect();
        let told = told(json!({ "tag": "x".repeat(10_000), "project": many }));
        assert_eq!(told["tag"].as_str().unwrap().len(), TEXT_BYTES + "… [9,500 more bytes]".len());
        assert_eq!(told["project"].as_array().unwrap().len(), ITEMS + 1);
        assert_eq!(told["project"][ITEMS], "… [968 more]");
    }

    #[test]
    fn arguments_of_tools_are_written_down() {
        for schema in [schema_of::<RunTestsArguments>(), schema_of::<GetFailedTestsArguments>()] {
            let names = schema["properties"].as_object().unwrap().keys().filter(|name| *name != "env");
            for name in names {
                assert_eq!(redacted(name, &json!("value")), "value", "{name}");
            }
        }
    }

    #[test]
    fn nothing_is_written_down_where_the_policy_says_so() {
        assert_eq!(audited(&Map::new(), AuditArguments::None), None);
    }
}
