//! What a tool returns.

use candor_protocol::json::{Object, raw};
use candor_protocol::types::{CallToolResult, Content};
use serde_json::Value;

/// What a tool returns: content for models and people, and a value for programs.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Output {
    /// For models and people.
    pub content: Vec<Content>,
    /// For programs.
    pub structured: Option<Value>,
    /// Metadata of the result.
    pub meta: Option<Object>,
}

impl Output {
    /// A value for programs, and the same as text for everybody else.
    #[must_use]
    pub fn structured(value: Value) -> Self {
        Self {
            content: vec![Content::text(value.to_string())],
            structured: Some(value),
            meta: None,
        }
    }

    pub(crate) fn into_result(self) -> CallToolResult {
        let mut result = CallToolResult::new(self.content);
        result.structured_content = self.structured.as_ref().map(raw);
        result.meta = self.meta;
        result
    }
}

/// What a handler may return.
#[diagnostic::on_unimplemented(
    message = "a tool cannot return `{Self}`",
    note = "return text, `Content`, a list of `Content`, or an `Output`"
)]
pub trait IntoOutput {
    /// The same as an output.
    fn into_output(self) -> Output;
}

impl IntoOutput for Output {
    fn into_output(self) -> Output {
        self
    }
}

impl IntoOutput for Vec<Content> {
    fn into_output(self) -> Output {
        Output { content: self, ..Output::default() }
    }
}

impl IntoOutput for () {
    fn into_output(self) -> Output {
        Output::default()
    }
}

macro_rules! one_block {
    ($($type:ty)*) => {$(
        impl IntoOutput for $type {
            fn into_output(self) -> Output {
                vec![Content::from(self)].into_output()
            }
        }
    )*};
}
one_block!(Content String &str);
