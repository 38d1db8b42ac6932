//! What a tool returns, and the conversion of values of every kind into it.

use std::borrow::Cow;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use candor_protocol::json::{Decode, Object, raw, raw_large};
use candor_protocol::types::{
    AudioContent, CallToolResult, Content, EmbeddedResource, ImageContent, ResourceLink,
    TextContent,
};
use candor_schema::OutputSchema;
use serde_json::{Map, Value};

use super::ToolError;
use crate::capacity::SMALL;
use crate::weight;

/// What a tool returns: content for models and users, and a value for programs.
///
/// Most tools return a type of their own, which is converted into this. To send content that differs from the value, build it:
///
/// ```
/// use candor_server::{protocol::types::Content, tool::Output};
/// use serde_json::json;
///
/// let mut output = Output::structured(json!({"celsius": 21.5}));
/// output.content = vec![Content::text("It is warm.")];
/// ```
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Output {
    /// For models and users.
    pub content: Vec<Content>,
    /// For programs.
    pub structured: Option<Value>,
    /// Metadata of the result.
    pub meta: Option<Object>,
    /// A whole result that the tool made itself: sent unchanged.
    given: Option<Box<CallToolResult>>,
    /// The state digest of a plan.
    pub(crate) plan: Option<String>,
}

impl Output {
    /// Creates an output with text, and nothing for programs.
    pub fn text(text: impl Into<String>) -> Self {
        Self { content: vec![Content::text(text)], ..Self::default() }
    }

    /// Creates an output with a value for programs, and the same value as text for models and users.
    #[must_use]
    pub fn structured(value: Value) -> Self {
        Self {
            content: vec![Content::text(value.to_string())],
            structured: Some(value),
            ..Self::default()
        }
    }

    /// Creates an output from a value of a known type. An object is structured content. Any other value is in a box of one field,
    /// as its schema says.
    pub(crate) fn of(value: Value, boxed: bool) -> Self {
        let mut content = Vec::new();
        as_blocks(&value, &mut content);
        let structured = if boxed { boxed_value(value) } else { value };
        Self { content, structured: Some(structured), ..Self::default() }
    }

    /// Creates an output from a value whose type was unknown until now.
    pub(crate) fn of_any(value: Value) -> Self {
        match value {
            Value::Null => Self::text("null"),
            Value::Object(members) => match as_result(&members) {
                Some(result) => result.into(),
                None => Self::of(Value::Object(members), false),
            },
            other => Self::of(other, true),
        }
    }

    /// Returns the value for programs that is to be checked, if there is one.
    pub(crate) fn checked_value(&self) -> Option<Cow<'_, Value>> {
        match &self.given {
            None => self.structured.as_ref().map(Cow::Borrowed),
            Some(given) => {
                let raw = given.structured_content.as_ref()?;
                serde_json::from_str(raw.get()).ok().map(Cow::Owned)
            }
        }
    }

    /// Returns about how many bytes it has in memory.
    pub(crate) fn weight(&self) -> usize {
        let given = self.given.as_ref().map_or(0, |given| weight::of_result(given));
        let structured = self.structured.as_ref().map_or(0, weight::of_value);
        given + structured + weight::of_content(&self.content)
    }

    /// Returns true if the tool itself reports a failure. No schema describes it.
    pub(crate) fn is_error(&self) -> bool {
        self.given.as_ref().is_some_and(|given| given.is_error == Some(true))
    }

    pub(crate) fn into_result(self) -> CallToolResult {
        if let Some(given) = self.given {
            return *given;
        }
        let mut result = CallToolResult::new(self.content);
        result.structured_content = self.structured.map(|value| {
            if weight::of_value(&value) > SMALL { raw_large(&value) } else { raw(&value) }
        });
        result.meta = self.meta;
        result
    }
}

fn boxed_value(value: Value) -> Value {
    Value::Object(Map::from_iter([(candor_schema::BOX_FIELD.to_owned(), value)]))
}

/// Adds a value as text blocks: an array adds those of its elements.
///
/// Hosts that read only text show nothing for an absent or empty block, and model APIs reject empty ones. So `null`, an empty
/// string and an empty array become their JSON. [`Content::texts_of`] does the same for clients.
fn as_blocks(value: &Value, content: &mut Vec<Content>) {
    match value {
        Value::String(text) if !text.is_empty() => content.push(Content::text(text.as_str())),
        Value::Array(items) if !items.is_empty() => {
            items.iter().for_each(|item| as_blocks(item, content));
        }
        other => content.push(Content::text(other.to_string())),
    }
}

/// Returns text as a block that is not empty.
fn text_block(text: String) -> Content {
    Content::text(if text.is_empty() { r#""""#.to_owned() } else { text })
}

/// Decodes an object as a result, if it looks like one and is valid.
fn as_result(members: &Map<String, Value>) -> Option<CallToolResult> {
    if !members.contains_key("content") {
        // Without `content`, one of these members must mark a result: the other members are too general.
        let telling = ["structuredContent", "isError"];
        if !telling.iter().any(|key| members.contains_key(*key)) {
            return None;
        }
    }
    let mut members = members.clone();
    members.entry("content").or_insert_with(|| Value::Array(Vec::new()));
    if let Some(meta) = members.remove("meta") {
        members.entry("_meta").or_insert(meta);
    }
    let result = CallToolResult::decode((&*raw(&Value::Object(members))).into()).ok()?;
    let known = |block: &Content| !matches!(block, Content::Other(_));
    result.content.iter().all(known).then_some(result)
}

impl From<CallToolResult> for Output {
    fn from(mut result: CallToolResult) -> Self {
        result.drop_nulls();
        // A result of another server has it; the engine's peer writes it.
        result.extra = result.extra.without("resultType");
        Self { given: Some(Box::new(result)), ..Self::default() }
    }
}

/// A type that a handler may return. Implement it for your own types whose content should not be their JSON text.
///
/// Typed tools may also return any type that is `Serialize` and `JsonSchema`, and any of them in a `Result`.
#[diagnostic::on_unimplemented(
    message = "a tool cannot return `{Self}`",
    label = "not something that a caller could be sent",
    note = "derive `serde::Serialize` and `schemars::JsonSchema` for it, or put `#[candor::args]` on it",
    note = "or return text, `Content`, a list of `Content`, or an `Output`; or implement `IntoOutput`"
)]
pub trait IntoOutput: Sized {
    /// Returns the schema of the structured content that every output has, or `None` if there is no structured content.
    #[must_use]
    fn schema() -> Option<OutputSchema> {
        None
    }

    /// Converts the value into an output.
    fn into_output(self) -> Result<Output, ToolError>;
}

impl IntoOutput for Output {
    fn into_output(self) -> Result<Output, ToolError> {
        Ok(self)
    }
}

impl IntoOutput for CallToolResult {
    fn into_output(self) -> Result<Output, ToolError> {
        Ok(self.into())
    }
}

impl IntoOutput for Option<CallToolResult> {
    fn into_output(self) -> Result<Output, ToolError> {
        Ok(self.map_or_else(|| Output::text("null"), Output::from))
    }
}

impl IntoOutput for () {
    fn into_output(self) -> Result<Output, ToolError> {
        Ok(Output::default())
    }
}

impl IntoOutput for Value {
    fn into_output(self) -> Result<Output, ToolError> {
        Ok(Output::of_any(self))
    }
}

impl IntoOutput for Map<String, Value> {
    fn into_output(self) -> Result<Output, ToolError> {
        Ok(Output::of_any(Value::Object(self)))
    }
}

macro_rules! into_text {
    ($($type:ty)*) => {$(
        impl IntoOutput for $type {
            fn into_output(self) -> Result<Output, ToolError> {
                Ok(Output { content: vec![text_block(self.into())], ..Output::default() })
            }
        }
    )*};
}
into_text!(String &str Box<str> Cow<'_, str>);

macro_rules! into_base64 {
    ($($type:ty)*) => {$(
        impl IntoOutput for $type {
            fn into_output(self) -> Result<Output, ToolError> {
                Ok(Output { content: vec![text_block(BASE64.encode(self))], ..Output::default() })
            }
        }
    )*};
}
into_base64!(Vec<u8> bytes::Bytes);

#[diagnostic::do_not_recommend]
impl<T: Blocks> IntoOutput for T {
    fn into_output(self) -> Result<Output, ToolError> {
        let mut output = Output::default();
        self.push_into(&mut output.content);
        output.content.iter_mut().for_each(Content::drop_nulls);
        // Hosts that show only text would show nothing.
        if output.content.is_empty() {
            output.content.push(Content::text(T::EMPTY));
        }
        Ok(output)
    }
}

/// Content, alone or in lists, tuples, maps and options. Every client understands it, so it has no schema.
pub trait Blocks {
    /// The text that is sent if there is no block.
    const EMPTY: &str = "[]";

    /// Adds the blocks in order.
    fn push_into(self, content: &mut Vec<Content>);
}

macro_rules! blocks {
    ($($type:ty)*) => {$(
        impl Blocks for $type {
            fn push_into(self, content: &mut Vec<Content>) {
                content.push(self.into());
            }
        }
    )*};
}
blocks!(Content TextContent ImageContent AudioContent ResourceLink EmbeddedResource);

macro_rules! lists_of_blocks {
    ($($type:ty [$($generics:tt)*])*) => {$(
        impl<T: Blocks, $($generics)*> Blocks for $type {
            fn push_into(self, content: &mut Vec<Content>) {
                self.into_iter().for_each(|block| block.push_into(content));
            }
        }
    )*};
}
lists_of_blocks!(Vec<T> [] [T; N] [const N: usize]);

impl<T: Blocks> Blocks for Option<T> {
    const EMPTY: &str = "null";

    fn push_into(self, content: &mut Vec<Content>) {
        if let Some(blocks) = self {
            blocks.push_into(content);
        }
    }
}

impl<T: Blocks> Blocks for Box<T> {
    const EMPTY: &str = T::EMPTY;

    fn push_into(self, content: &mut Vec<Content>) {
        (*self).push_into(content);
    }
}

impl<T: Blocks + Clone> Blocks for Arc<T> {
    const EMPTY: &str = T::EMPTY;

    fn push_into(self, content: &mut Vec<Content>) {
        Arc::unwrap_or_clone(self).push_into(content);
    }
}

macro_rules! maps_of_blocks {
    ($($type:ty)*) => {$(
        impl<K, T: Blocks> Blocks for $type {
            fn push_into(self, content: &mut Vec<Content>) {
                self.into_iter().for_each(|(_, block)| block.push_into(content));
            }
        }
    )*};
}
maps_of_blocks!(std::collections::BTreeMap<K, T> std::collections::HashMap<K, T>);

macro_rules! tuples_of_blocks {
    ($(($($name:ident)*))*) => {$(
        #[allow(non_snake_case)]
        impl<$($name: Blocks),*> Blocks for ($($name,)*) {
            fn push_into(self, content: &mut Vec<Content>) {
                let ($($name,)*) = self;
                $($name.push_into(content);)*
            }
        }
    )*};
}
tuples_of_blocks!((A)(A B)(A B C)(A B C D));
