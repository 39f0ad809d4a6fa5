//! The arguments of `get_policy`: none, and whatever is given is refused.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::policy::request::arguments::{ArgumentError, Reader};

/// The arguments as JSON has them.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GetPolicyArguments {}

static READER: Reader<GetPolicyArguments> = Reader::new();

/// Parses the arguments of a call.
///
/// # Errors
/// [`ArgumentError`] for any argument.
pub fn parse(arguments: Map<String, Value>) -> Result<(), ArgumentError> {
    READER.read(arguments).map(|GetPolicyArguments {}| ())
}
