//! All that is told, as one JSON object: `docs/check-policy.md` describes it.
//!
//! In: what was examined. Out: one line. Names are stable; a new one is a new minor version.

use std::io::{self, Write};

use serde_json::json;

use crate::{
    cli::check_policy::Examined,
    policy::{Policy, diagnostic::Severity, effective},
};

/// The version of the JSON output.
const FORMAT_VERSION: &str = "1.1";

/// Writes the object.
///
/// # Errors
/// When it can't be written.
pub(super) fn write(out: &mut impl Write, examined: &Examined) -> io::Result<()> {
    let policy = examined.loaded.policy.as_ref();
    let call = examined.call.as_ref().map(|answer| match answer {
        Ok(answer) => json!(answer),
        Err(problem) => json!({ "decision": "invalid", "message": problem }),
    });
    let answer = json!({
        "format_version": FORMAT_VERSION,
        "valid": examined.is_valid(),
        "error_count": examined.count(Severity::Error),
        "warning_count": examined.count(Severity::Warning),
        "diagnostics": examined.loaded.diagnostics,
        "layers": examined.loaded.layers,
        "hash": policy.map(Policy::hash),
        "effective": policy.map(effective::effective),
        "sandbox": examined.sandbox,
        "audit": policy.map(|_| &examined.sinks),
        "expectations": examined.expectations,
        "call": call,
    });
    writeln!(out, "{answer}")
}
