//! How a tool fails.

use std::fmt;

use candor_protocol::Era;
use candor_protocol::rpc::ErrorObject;
use candor_protocol::types::{CallToolResult, Content};

use crate::ask::AskError;

/// A failure that the model should read: it becomes a result with `isError`.
///
/// Say what happened and what to do now. What a stranger may not see belongs into the log.
#[derive(Debug, Clone)]
pub struct ToolError(pub(crate) ErrorKind);

#[derive(Debug, Clone)]
pub(crate) enum ErrorKind {
    /// The tool's own failure.
    Failed(Box<CallToolResult>),
    /// A question had no answer.
    Ask(AskError),
}

impl ToolError {
    /// A failure in words.
    pub fn new(message: impl Into<String>) -> Self {
        Self::with_content(vec![Content::text(message)])
    }

    /// A failure that needs more than words.
    #[must_use]
    pub fn with_content(content: Vec<Content>) -> Self {
        let mut result = CallToolResult::new(content);
        result.is_error = Some(true);
        Self(ErrorKind::Failed(Box::new(result)))
    }
}

impl ToolError {
    /// The same where results cannot be errors: for resources and prompts.
    pub(crate) fn into_protocol_error(self, era: Era) -> ErrorObject {
        let asked = match &self.0 {
            ErrorKind::Ask(error) => error.protocol_error(era),
            ErrorKind::Failed(_) => None,
        };
        asked.unwrap_or_else(|| ErrorObject::internal(self.to_string()))
    }
}

impl fmt::Display for ToolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            ErrorKind::Failed(result) => {
                let text: Vec<_> = result.content.iter().filter_map(Content::as_text).collect();
                f.write_str(&text.join("\n"))
            }
            ErrorKind::Ask(error) => error.fmt(f),
        }
    }
}

impl From<AskError> for ToolError {
    fn from(error: AskError) -> Self {
        Self(ErrorKind::Ask(error))
    }
}

impl From<String> for ToolError {
    fn from(message: String) -> Self {
        Self::new(message)
    }
}

impl From<&str> for ToolError {
    fn from(message: &str) -> Self {
        Self::new(message)
    }
}
