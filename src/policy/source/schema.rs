//! The JSON Schema of a policy file, for editors that complete and check TOML.
//!
//! In: the declared keys, and their defaults as the example policy writes them. Out: a schema of draft 7, since TOML
//! tools know no later one. What a schema can't say is left to `document` and `compile`.

use serde_json::{Map, Value, json};

use crate::policy::limits::{MAX_SECONDS, UNLIMITED};
use crate::policy::source::keys::{Key, Kind, Table, VERSION, tables};
use crate::policy::tool::ToolName;

/// The name under which editors find the schema.
const ID: &str = concat!(env!("CARGO_PKG_REPOSITORY"), "/raw/main/policy.schema.json");
/// The policy in which each key stands at its default, as a test proves.
const EXAMPLE: &str = include_str!("../../../policy.example.toml");

/// Makes the schema.
///
/// # Errors
/// When the example policy that this program was built with is not TOML.
pub fn schema() -> Result<Value, toml::de::Error> {
    let defaults: Map<String, Value> = toml::from_str(EXAMPLE)?;
    let mut properties = Map::new();
    let version = "The version of this format. A file for another version is refused.";
    properties.insert("version".to_owned(), json!({ "description": version, "enum": [VERSION] }));
    let exclusive = "Only in a file below /etc: this file grants, all others only take away.";
    properties.insert("exclusive".to_owned(), json!({ "description": exclusive, "type": "boolean" }));
    for table in tables() {
        properties.insert(table.name.to_owned(), of_table(table, defaults.get(table.name)));
    }
    properties.insert("expect".to_owned(), expectations());
    Ok(json!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "$id": ID,
        "title": "Policy of playwright-warden",
        "type": "object",
        "additionalProperties": false,
        "required": ["version"],
        "properties": properties,
    }))
}

fn of_table(table: &Table, defaults: Option<&Value>) -> Value {
    let keys = table.keys.iter().map(|key| {
        let mut schema = Map::from_iter([("description".to_owned(), description(key).into())]);
        schema.extend(of_kind(table, key));
        schema.extend(
            defaults.and_then(|table| table.get(key.name)).map(|value| ("default".to_owned(), value.clone())),
        );
        (key.name.to_owned(), Value::Object(schema))
    });
    json!({
        "description": table.meaning,
        "type": "object",
        "additionalProperties": false,
        "properties": keys.collect::<Map<_, _>>(),
    })
}

fn description(key: &Key) -> String {
    let layers = format!("Layers: {}.", key.combination);
    [key.meaning, key.caveat, &layers]
        .into_iter()
        .filter(|part| !part.is_empty())
        .collect::<Vec<_>>()
        .join(" ")
}

fn of_kind(table: &Table, key: &Key) -> Map<String, Value> {
    let text = json!({ "type": "string", "minLength": 1 });
    let schema = match key.kind {
        // A tool that no version has is refused.
        Kind::Words if table.name == "tools" => {
            json!({ "type": "array", "items": { "type": "string", "enum": tool_names() } })
        }
        Kind::Words => json!({ "type": "array", "items": text }),
        Kind::Path => text,
        Kind::Flag => json!({ "type": "boolean" }),
        Kind::Choice { now, .. } => json!({ "type": "string", "enum": now }),
        Kind::Choices { now } => json!({ "type": "array", "items": { "type": "string", "enum": now } }),
        Kind::Bound => {
            let most = if key.name.ends_with("_seconds") { MAX_SECONDS } else { i64::MAX.unsigned_abs() };
            let number = json!({ "type": "integer", "minimum": 1, "maximum": most });
            json!({ "anyOf": [number, { "type": "string", "enum": [UNLIMITED] }] })
        }
        Kind::WordsByName => json!({
            "type": "object",
            "additionalProperties": { "type": "array", "items": { "type": "string" } },
        }),
    };
    match schema {
        Value::Object(schema) => schema,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => Map::new(),
    }
}

fn tool_names() -> Vec<&'static str> {
    ToolName::ALL.iter().map(|tool| tool.as_str()).collect()
}

fn expectations() -> Value {
    json!({
        "description": "What the policy should decide: tests inside the policy, run by --check-policy. All layers' are checked.",
        "type": "array",
        "items": {
            "type": "object",
            "additionalProperties": false,
            "required": ["call", "decision"],
            "properties": {
                "call": {
                    "description": "A call, as --call takes it.",
                    "type": "object",
                    "additionalProperties": false,
                    "required": ["tool"],
                    "properties": {
                        "tool": { "type": "string", "enum": tool_names() },
                        "arguments": { "type": "object" },
                    },
                },
                "decision": { "type": "string", "enum": ["allow", "deny"] },
                "rule": { "description": "The policy key that should decide a denial.", "type": "string" },
            },
        },
    })
}
