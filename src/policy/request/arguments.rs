//! From JSON arguments to a typed struct, with errors for the model that wrote them.
//!
//! Strict where a dropped argument would change what runs (unknown names, empty strings), lenient where it is safe:
//! `null` is absent, a string is an array of one, `5.0` is an integer. Schemas are plain, since some models refuse
//! unions, type arrays and references.

use std::{collections::BTreeMap, marker::PhantomData, sync::LazyLock, time::Duration};

use schemars::{JsonSchema, generate::SchemaSettings, transform::RecursiveTransform};
use serde::{Deserialize, Deserializer, de::DeserializeOwned, de::Error as _};
use serde_json::{Map, Value};
use thiserror::Error;

use crate::{
    path::{PathError, handle::DirHandle, project::CandidateDir},
    policy::{source::suggest::nearest, tool::ToolName},
    text,
};

/// One argument may hold this many bytes of text: Linux passes no longer one on a command line (`MAX_ARG_STRLEN`).
const ARGUMENT_BYTES: usize = 100_000;
/// A message repeats at most this many bytes of what was given.
const ECHO_BYTES: usize = 500;
/// A message repeats at most this many bytes of an unknown name.
const NAME_BYTES: usize = 64;

/// Why arguments were refused; the message is for the caller, who wrote them.
#[derive(Debug, Error)]
pub enum ArgumentError {
    /// A name that the tool does not know.
    #[error("unknown argument `{name}`")]
    Unknown {
        /// The name as given.
        name: String,
        /// The nearest known name, or all of them.
        hint: String,
    },
    /// A tool that policies may name and this version does not have.
    #[error("this version has no tool `{0}`")]
    NoSuchTool(ToolName),
    /// A value of the wrong type or out of its range.
    #[error("at `{at}`: {problem}")]
    Invalid {
        /// The argument.
        at: String,
        /// What was expected, and what was found.
        problem: String,
    },
}

impl ArgumentError {
    /// An error about the value of one argument.
    pub fn invalid(at: &str, problem: impl Into<String>) -> Self {
        Self::Invalid { at: echo(at), problem: echo(&problem.into()) }
    }

    /// What to do about it.
    pub fn hint(&self) -> Option<&str> {
        match self {
            Self::Unknown { hint, .. } => Some(hint),
            Self::Invalid { .. } | Self::NoSuchTool(_) => None,
        }
    }
}

fn echo(text: &str) -> String {
    text::cut_middle(text, ECHO_BYTES).into_owned()
}

/// The schema of an argument struct, plain: no references, no type arrays, no unions, no formats.
pub fn schema_of<T: JsonSchema>() -> Map<String, Value> {
    let mut settings = SchemaSettings::draft2020_12();
    settings.inline_subschemas = true;
    settings.meta_schema = None;
    let plain = |schema: &mut schemars::Schema| {
        for key in ["format", "default", "title"] {
            schema.remove(key);
        }
        merge_choices(schema);
    };
    let generator = settings.with_transform(RecursiveTransform(plain)).into_generator();
    match generator.into_root_schema_for::<T>().to_value() {
        Value::Object(mut schema) => {
            // Some clients refuse an object that names no properties, even where there are none.
            schema.entry("properties").or_insert_with(|| Map::new().into());
            schema
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => Map::new(),
    }
}

/// Turns a union of constant strings, which is how documented variants come, into a plain list of choices.
fn merge_choices(schema: &mut schemars::Schema) {
    let choice = |one: &Value| one.get("const").filter(|value| value.is_string()).cloned();
    let choices: Option<Vec<Value>> =
        schema.get("oneOf").and_then(Value::as_array).and_then(|union| union.iter().map(choice).collect());
    let (Some(choices), Some(object)) = (choices, schema.as_object_mut()) else { return };
    object.shift_remove("oneOf");
    // Type and choices come before the description, as in every other schema.
    object.shift_insert(0, "enum".to_owned(), choices.into());
    object.shift_insert(0, "type".to_owned(), "string".into());
}

/// How the arguments of one tool are read: into `T`, against its schema, which is made once.
#[derive(Debug)]
pub struct Reader<T> {
    schema: LazyLock<Map<String, Value>>,
    arguments: PhantomData<fn() -> T>,
}

impl<T: DeserializeOwned + JsonSchema> Reader<T> {
    /// A reader for a `static`; the schema is made when it is first needed.
    #[expect(clippy::new_without_default, reason = "a `static` needs a `const fn`")]
    pub const fn new() -> Self {
        Self { schema: LazyLock::new(schema_of::<T>), arguments: PhantomData }
    }

    /// Reads the arguments of a call; a `null` counts as absent, an empty string is refused.
    ///
    /// # Errors
    /// [`ArgumentError`] for the first thing that is wrong.
    pub fn read(&self, mut arguments: Map<String, Value>) -> Result<T, ArgumentError> {
        arguments.retain(|_, value| !value.is_null());
        let none = Map::new();
        let properties = self.schema.get("properties").and_then(Value::as_object).unwrap_or(&none);
        for (name, value) in &arguments {
            let Some(schema) = properties.get(name) else {
                let name = text::cut_end(name, NAME_BYTES);
                return Err(ArgumentError::Unknown {
                    hint: hint(&name, properties),
                    name: name.into_owned(),
                });
            };
            if let Some(problem) = problem(value, schema) {
                return Err(ArgumentError::invalid(name, problem));
            }
        }
        serde_path_to_error::deserialize(Value::Object(arguments)).map_err(|error| {
            let at = error.path().to_string();
            ArgumentError::invalid(&at, error.into_inner().to_string())
        })
    }
}

/// What is wrong with a value before its type is looked at.
fn problem(value: &Value, schema: &Value) -> Option<String> {
    if text_bytes(value) > ARGUMENT_BYTES {
        return Some(format!("longer than {ARGUMENT_BYTES} bytes"));
    }
    if value.as_str().is_some_and(str::is_empty) {
        return Some("an empty string; leave the argument out instead".to_owned());
    }
    let choices = schema.get("enum")?.as_array()?;
    let written = || choices.iter().map(Value::to_string).collect::<Vec<_>>().join(", ");
    (!choices.contains(value)).then(|| format!("expected one of {}, got {value}", written()))
}

/// How many bytes all texts in a value have.
fn text_bytes(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(text_bytes).sum(),
        Value::Object(entries) => entries.iter().map(|(name, value)| name.len() + text_bytes(value)).sum(),
    }
}

fn hint(name: &str, known: &Map<String, Value>) -> String {
    match nearest(name, known.keys().map(String::as_str)) {
        Some(candidate) => format!("did you mean `{candidate}`?"),
        None if known.is_empty() => "this tool takes no arguments".to_owned(),
        None => format!("known arguments: {}", known.keys().cloned().collect::<Vec<_>>().join(", ")),
    }
}

/// Looks up `workingDirectory`, `.` where it is absent.
///
/// # Errors
/// [`ArgumentError`] when the text is no path at all.
pub fn working_directory(asked: Option<&str>, launch: &DirHandle) -> Result<CandidateDir, ArgumentError> {
    let asked = asked.unwrap_or(".");
    if asked == "~" || asked.starts_with("~/") {
        return Err(ArgumentError::invalid("workingDirectory", "`~` is not expanded; write the path out"));
    }
    CandidateDir::look_up(launch, asked)
        .map_err(|error: PathError| ArgumentError::invalid("workingDirectory", error.to_string()))
}

/// Reads an integer of at least `LEAST`; `5.0` is one too.
///
/// # Errors
/// When it is no integer, or smaller.
pub fn integer<'de, const LEAST: u64, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<u64>, D::Error> {
    let value = Value::deserialize(deserializer)?;
    whole(&value)
        .filter(|number| *number >= LEAST)
        .map(Some)
        .ok_or_else(|| D::Error::custom(format!("expected an integer of at least {LEAST}, got {value}")))
}

fn whole(value: &Value) -> Option<u64> {
    const LARGEST_EXACT: f64 = 9_007_199_254_740_991.0;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "checked to be exact just before"
    )]
    let exact = |number: f64| {
        (number.fract() == 0.0 && (0.0..=LARGEST_EXACT).contains(&number)).then_some(number as u64)
    };
    value.as_u64().or_else(|| value.as_f64().and_then(exact))
}

/// Reads an array of strings; a single string is an array of one, empty strings are refused.
///
/// # Errors
/// When it is neither, or empty.
pub fn strings<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    let value = Value::deserialize(deserializer)?;
    let text = |item: &Value| item.as_str().map(str::to_owned);
    let list: Option<Vec<String>> = match value.as_array() {
        Some(items) => items.iter().map(text).collect(),
        None => text(&value).map(|one| vec![one]),
    };
    let list = list.ok_or_else(|| D::Error::custom(format!("expected an array of strings, got {value}")))?;
    if list.is_empty() || list.iter().any(String::is_empty) {
        return Err(D::Error::custom("an empty list or string; leave the argument out instead"));
    }
    Ok(list)
}

/// Reads an object of strings; its errors repeat no value, since it may be a secret.
///
/// # Errors
/// When it is no object, or one of its values is no string.
pub fn texts<'de, D: Deserializer<'de>>(deserializer: D) -> Result<BTreeMap<String, String>, D::Error> {
    let Value::Object(given) = Value::deserialize(deserializer)? else {
        return Err(D::Error::custom("expected an object with a string for each name"));
    };
    let text = |(name, value): (String, Value)| match value {
        Value::String(text) => Ok((name, text)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            Err(D::Error::custom(format!("the value of `{name}` is not a string")))
        }
    };
    given.into_iter().map(text).collect()
}

/// Milliseconds as a duration.
pub fn milliseconds(number: u64) -> Duration {
    Duration::from_millis(number)
}
