//! What a call of a tool came to.

use std::fmt;

use candor_hints::Hints;
use candor_protocol::json::{Decode, Object, RawValue};
use candor_protocol::names::{extension, notification};
use candor_protocol::rpc::Notification;
use candor_protocol::types::{CallToolResult, Content, ToolAnnotations};
use serde_json::Value;

use crate::tool::effects;

/// What the server said without having been asked: progress, log messages, changes.
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

/// What a call of a tool came to.
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

    /// All text of the content, block by block in lines.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The value for programs. Before 2026-07-28 there is one only if it is an object.
    #[must_use]
    pub const fn structured(&self) -> Option<&Value> {
        self.structured.as_ref()
    }

    /// Whether the tool failed, or did not accept its arguments; [`TestResult::text`] says why.
    #[must_use]
    pub fn is_error(&self) -> bool {
        self.result.is_error == Some(true)
    }

    /// The stable word for why it failed: one of [`code`](crate::tool::code), or the tool's own.
    #[must_use]
    pub fn code(&self) -> Option<&str> {
        self.raw["_meta"][extension::ERROR]["code"].as_str()
    }

    /// Why it failed, where the caller is not told: what [`ToolError::internal`](crate::tool::ToolError::internal), `?` or a panic said.
    #[must_use]
    pub fn internal_reason(&self) -> Option<&str> {
        self.reasons.first().map(String::as_str)
    }

    /// The token of a preview, for the call that follows it.
    #[must_use]
    pub fn plan_token(&self) -> Option<&str> {
        self.raw["_meta"][extension::PLAN]["token"].as_str()
    }

    /// Whether this is the result of an earlier call with the same key.
    #[must_use]
    pub fn is_replayed(&self) -> bool {
        self.raw["_meta"][extension::IDEMPOTENCY]["replayed"] == true
    }

    /// The content, block by block.
    #[must_use]
    pub fn content(&self) -> &[Content] {
        &self.result.content
    }

    /// The whole result as it came.
    #[must_use]
    pub const fn raw(&self) -> &Value {
        &self.raw
    }

    /// What the server foresaw of this very call; none for a tool whose arguments make no difference.
    #[must_use]
    pub fn foreseen(&self) -> Option<Hints> {
        let meta = self.result.meta.as_ref()?;
        let said: Object = meta.read(extension::DYNAMIC_ANNOTATIONS).ok()??;
        let annotations: ToolAnnotations = said.read("annotations").ok()??;
        Some(effects::declared_beside(&annotations, Some(meta)).effective().hints)
    }

    /// What the server said before its answer, in order. A modern server runs a handler again after each question, so what
    /// comes before a question is heard again.
    #[must_use]
    pub fn notices(&self) -> &[Notice] {
        &self.notices
    }

    /// The progress that the tool reported: `progress`, and where it was given `total` and `message`.
    #[must_use]
    pub fn progress(&self) -> Vec<&Value> {
        self.params_of(notification::PROGRESS)
    }

    /// The tool's log messages: `level` and `data`.
    #[must_use]
    pub fn log(&self) -> Vec<&Value> {
        self.params_of(notification::MESSAGE)
    }

    fn params_of(&self, method: &str) -> Vec<&Value> {
        self.notices.iter().filter(|n| n.method == method).map(|n| &n.params).collect()
    }
}

/// The text, and the internal reason if there is one: for the message of an assertion.
impl fmt::Display for TestResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)?;
        self.reasons.iter().try_for_each(|reason| write!(f, "\ninternal reason: {reason}"))
    }
}
