//! JSON Schema as far as this server uses it.
//!
//! In: a schema and a value. Out: what is wrong with either. Some models and clients refuse unions, type arrays,
//! references and formats, so any keyword beyond the few known here is a fault of the schema.

use serde_json::{Map, Value};

/// Everything that the schemas of tools may use.
const KEYWORDS: [&str; 8] =
    ["type", "description", "properties", "required", "additionalProperties", "items", "enum", "minimum"];

/// What is not plain in a schema, each with its place.
pub fn unplain(schema: &Value, at: &str) -> Vec<String> {
    let Some(object) = schema.as_object() else { return vec![format!("{at}: no object")] };
    let unknown = object.keys().filter(|key| !KEYWORDS.contains(&key.as_str()));
    let mut faults: Vec<String> = unknown.map(|key| format!("{at}: {key}")).collect();
    if !object.get("type").is_some_and(Value::is_string) {
        faults.push(format!("{at}: no single type"));
    }
    let inner = properties(object).map(|(name, inner)| (format!("{at}/{name}"), inner));
    let items = object.get("items").map(|items| (format!("{at}[]"), items));
    let values = object.get("additionalProperties").filter(|values| !values.is_boolean());
    let values = values.map(|values| (format!("{at}/*"), values));
    for (at, inner) in inner.chain(items).chain(values) {
        faults.extend(unplain(inner, &at));
    }
    faults
}

/// What of a value does not keep to a plain schema, each with its place.
pub fn faults(schema: &Value, value: &Value, at: &str) -> Vec<String> {
    let object = schema.as_object().unwrap();
    let of_type = match object["type"].as_str().unwrap() {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        other => panic!("{at}: type {other}"),
    };
    if !of_type {
        return vec![format!("{at}: {value} is no {}", object["type"])];
    }
    let mut faults = Vec::new();
    if object.get("enum").is_some_and(|choices| !choices.as_array().unwrap().contains(value)) {
        faults.push(format!("{at}: {value} is no choice"));
    }
    if object.get("minimum").is_some_and(|least| value.as_f64() < least.as_f64()) {
        faults.push(format!("{at}: {value} is too small"));
    }
    for item in value.as_array().into_iter().flatten() {
        faults.extend(self::faults(&object["items"], item, &format!("{at}[]")));
    }
    for name in object.get("required").and_then(Value::as_array).into_iter().flatten() {
        if value.get(name.as_str().unwrap()).is_none() {
            faults.push(format!("{at}: {name} is missing"));
        }
    }
    for (name, inner) in value.as_object().into_iter().flatten() {
        let at = format!("{at}/{name}");
        match properties(object).find(|(known, _)| *known == name) {
            Some((_, schema)) => faults.extend(self::faults(schema, inner, &at)),
            // What an answer holds is what its schema tells, so a client sees all of it.
            None => faults.push(format!("{at}: not in the schema")),
        }
    }
    faults
}

fn properties(schema: &Map<String, Value>) -> impl Iterator<Item = (&String, &Value)> {
    schema.get("properties").and_then(Value::as_object).into_iter().flatten()
}
