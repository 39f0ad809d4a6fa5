//! What an agent reads: bounded answers, and errors with a code, a message and what to do.
//!
//! In: results and refusals of the rooms below. Out: MCP results. Text from tests and pages stands in fields of its
//! own, printable and with known secrets taken out. What an answer says is left to `run` and `failed_tests`.

pub mod failures;
pub mod fit;
pub mod refusals;

use rmcp::model::{CallToolResult, ContentBlock};
use serde::Serialize;
use serde_json::Value;

use crate::text::{self, chain};

/// The text of an error is cut at this many bytes.
const ERROR_BYTES: usize = 8_000;
/// So many bytes of it are for a partial result.
pub const RESULT_BYTES: usize = 7_000;

/// Stable codes of refusals and failures; README lists them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorCode {
    /// An argument is unknown, of the wrong type, or out of range.
    InvalidArguments,
    /// The policy does not allow the call.
    PolicyDenied,
    /// The project's directory does not exist or is none.
    NoSuchDirectory,
    /// The spec names nothing in the project, or several files.
    SpecNotFound,
    /// No `node` on the server's `PATH`.
    NodeNotFound,
    /// Playwright is not installed in the project, or can't be used.
    PlaywrightNotFound,
    /// The project, or the server, has as many active runs as allowed.
    RunActive,
    /// No run of this server has this id in this project.
    RunNotFound,
    /// The run took longer than its timeout; `result` holds what there is.
    RunTimedOut,
    /// The asked confinement can't be had, and the policy requires it.
    SandboxUnavailable,
    /// There is no report to read.
    ReportNotFound,
    /// The report is no regular file, too large, or no Playwright report.
    ReportUnreadable,
    /// A decision could not be written to the audit log.
    AuditUnavailable,
    /// The server itself failed.
    Internal,
}

impl ErrorCode {
    /// Every code.
    pub const ALL: [Self; 14] = [
        Self::InvalidArguments,
        Self::PolicyDenied,
        Self::NoSuchDirectory,
        Self::SpecNotFound,
        Self::NodeNotFound,
        Self::PlaywrightNotFound,
        Self::RunActive,
        Self::RunNotFound,
        Self::RunTimedOut,
        Self::SandboxUnavailable,
        Self::ReportNotFound,
        Self::ReportUnreadable,
        Self::AuditUnavailable,
        Self::Internal,
    ];

    /// The code as an answer has it.
    pub fn name(self) -> String {
        let word = serde_json::to_value(self).ok();
        word.as_ref().and_then(Value::as_str).unwrap_or_default().to_owned()
    }
}

/// A refusal or a failure, as the agent reads it.
#[derive(Clone, Debug, Serialize)]
pub struct ToolError {
    /// The stable code.
    pub code: ErrorCode,
    /// What happened.
    pub message: String,
    /// What to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// The policy key that decided.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// What an operator looks up in the audit log.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decision: Option<String>,
    /// What there is all the same.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<Value>,
}

impl ToolError {
    /// An error without more than a code and what happened.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        let message = text::printable(&message.into()).into_owned();
        Self { code, message, hint: None, rule: None, decision: None, result: None }
    }

    /// The same error with what to do about it.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// An error of the server itself, with its causes.
    pub fn internal(error: &dyn std::error::Error) -> Self {
        Self::new(ErrorCode::Internal, chain(error))
    }
}

/// What a tool answers: one text, and for structured answers the same as JSON.
#[derive(Clone, Debug)]
pub struct Answer {
    text: String,
    structured: Value,
}

impl Answer {
    /// An answer from its compact JSON text.
    pub fn from_json(text: String) -> Self {
        let structured = serde_json::from_str(&text).unwrap_or(Value::Null);
        Self { text, structured }
    }

    /// The answer as data.
    pub fn into_value(self) -> Value {
        self.structured
    }
}

/// What a call comes to.
pub type ToolResult = Result<Answer, ToolError>;

/// The MCP result of a call.
pub fn call_result(result: ToolResult) -> CallToolResult {
    match result {
        Ok(answer) => {
            let mut result = CallToolResult::success(vec![ContentBlock::text(answer.text)]);
            result.structured_content = Some(answer.structured);
            result
        }
        Err(error) => CallToolResult::error(vec![ContentBlock::text(error_text(error))]),
    }
}

/// The JSON of an error, cut down to its bound: first the partial result goes, then the message is cut.
fn error_text(mut error: ToolError) -> String {
    let written = |error: &ToolError| serde_json::to_string(error).unwrap_or_default();
    if written(&error).len() > ERROR_BYTES {
        error.result = None;
    }
    for bytes in [4_000, 1_000, 200] {
        if written(&error).len() <= ERROR_BYTES {
            break;
        }
        error.message = text::cut_end(&error.message, bytes).into_owned();
        error.hint = error.hint.map(|hint| text::cut_end(&hint, bytes).into_owned());
    }
    written(&error)
}
