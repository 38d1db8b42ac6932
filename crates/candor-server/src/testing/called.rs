//! The result of a tool call in a test.

use std::fmt;

use candor_hints::Hints;
use candor_protocol::json::{Decode, Object, RawValue};
use candor_protocol::names::{extension, notification};
use candor_protocol::rpc::Notification;
use candor_protocol::types::{CallToolResult, Content, ToolAnnotations};
use serde_json::Value;

use candor_engine::tool::declared_hints;

/// A notification of the server: progress, a log message, a change.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Notice {
    /// The notification's method, such as `notifications/progress`.
    pub method: String,
    /// Its parameters.
    pub params: Value,
}

impl From<Notification> for Notice {
    fn from(notice: Notification) -> Self {
        let params = serde_json::to_value(&notice.params).unwrap_or_default();
        Self { method: notice.method, params }
    }
}

/// The result of a tool call.
#[derive(Debug, Clone)]
pub struct TestResult {
    text: String,
    structured: Option<Value>,
    result: CallToolResult,
    raw: Value,
    notices: Vec<Notice>,
    reasons: Vec<String>,
}

impl TestResult {
    pub(super) fn of(
        result: &RawValue,
        notices: Vec<Notice>,
        reasons: Vec<String>,
    ) -> Result<Self, String> {
        let raw = serde_json::from_str(result.get()).map_err(|e| e.to_string())?;
        let decoded = CallToolResult::decode(result.into()).map_err(|e| e.to_string())?;
        let text: Vec<_> = decoded.content.iter().filter_map(Content::as_text).collect();
        let structured = match &decoded.structured_content {
            None => None,
            Some(value) => serde_json::from_str(value.get()).map_err(|e| e.to_string())?,
        };
        Ok(Self { text: text.join("\n"), structured, result: decoded, raw, notices, reasons })
    }

    /// Returns all text of the content, with a line break between blocks.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the structured content. Before 2026-07-28 there is one only if it is an object.
    #[must_use]
    pub const fn structured(&self) -> Option<&Value> {
        self.structured.as_ref()
    }

    /// Returns true if the tool failed or did not accept its arguments. [`TestResult::text`] has the reason.
    #[must_use]
    pub fn is_error(&self) -> bool {
        self.result.is_error == Some(true)
    }

    /// Returns the error code: one of [`code`](crate::tool::code), or the tool's own.
    #[must_use]
    pub fn code(&self) -> Option<&str> {
        self.raw["_meta"][extension::ERROR]["code"].as_str()
    }

    /// Returns the internal reason of a failure, which callers do not see. It is the text of
    /// [`ToolError::internal`](crate::tool::ToolError::internal), of an error that `?` returned, or of a panic.
    #[must_use]
    pub fn internal_reason(&self) -> Option<&str> {
        self.reasons.first().map(String::as_str)
    }

    /// Returns the plan token of a preview, for the call that follows it.
    #[must_use]
    pub fn plan_token(&self) -> Option<&str> {
        self.raw["_meta"][extension::PLAN]["token"].as_str()
    }

    /// Returns true if this is the result of an earlier call with the same key.
    #[must_use]
    pub fn is_replayed(&self) -> bool {
        self.raw["_meta"][extension::IDEMPOTENCY]["replayed"] == true
    }

    /// Returns the content, block by block.
    #[must_use]
    pub fn content(&self) -> &[Content] {
        &self.result.content
    }

    /// Returns the whole result as it was sent.
    #[must_use]
    pub const fn raw(&self) -> &Value {
        &self.raw
    }

    /// Returns the hints that the server evaluated for this call. Returns `None` for a tool whose arguments do not change its
    /// effect.
    #[must_use]
    pub fn foreseen(&self) -> Option<Hints> {
        let meta = self.result.meta.as_ref()?;
        let said: Object = meta.read(extension::DYNAMIC_ANNOTATIONS).ok()??;
        let annotations: ToolAnnotations = said.read("annotations").ok()??;
        Some(declared_hints(&annotations, Some(meta)).effective().hints)
    }

    /// Returns the notifications before the answer, in order. A modern server runs a handler again after each question, so
    /// notifications before a question occur again.
    #[must_use]
    pub fn notices(&self) -> &[Notice] {
        &self.notices
    }

    /// Returns the progress that the tool reported: `progress`, and `total` and `message` if they were given.
    #[must_use]
    pub fn progress(&self) -> Vec<&Value> {
        self.params_of(notification::PROGRESS)
    }

    /// Returns the tool's log messages: `level` and `data`.
    #[must_use]
    pub fn log(&self) -> Vec<&Value> {
        self.params_of(notification::MESSAGE)
    }

    fn params_of(&self, method: &str) -> Vec<&Value> {
        self.notices.iter().filter(|n| n.method == method).map(|n| &n.params).collect()
    }
}

/// Shows the text and the internal reasons, for the message of an assertion.
impl fmt::Display for TestResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)?;
        self.reasons.iter().try_for_each(|reason| write!(f, "\ninternal reason: {reason}"))
    }
}
