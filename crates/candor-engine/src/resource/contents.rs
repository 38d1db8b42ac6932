//! The return types of resource handlers, and their conversion to contents.

use std::fmt::{self, Display};

use candor_protocol::json::{Decode, raw};
use candor_protocol::types::{ReadResourceResult, ResourceContents};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::error::ToolError;

/// The resource that is read, as it was declared.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct ReadTarget<'a> {
    /// Its URI.
    pub uri: &'a str,
    /// The media type that was declared for it. It takes precedence over the default of a return type.
    pub mime_type: Option<&'a str>,
}

impl ReadTarget<'_> {
    fn text(&self, text: impl Into<String>, otherwise: &str) -> ReadResourceResult {
        let mime_type = self.mime_type.unwrap_or(otherwise);
        ReadResourceResult::new(vec![ResourceContents::of_text(self.uri, mime_type, text)])
    }

    fn bytes(&self, bytes: &[u8]) -> ReadResourceResult {
        let mime_type = self.mime_type.unwrap_or("application/octet-stream");
        ReadResourceResult::new(vec![ResourceContents::of_bytes(self.uri, mime_type, bytes)])
    }
}

/// What a resource handler may return. Implement it for your own types.
#[diagnostic::on_unimplemented(
    message = "a resource cannot be read as `{Self}`",
    note = "return text, bytes, a `serde_json::Value`, `ResourceContents` or a list of them",
    note = "or wrap it: `AsJson(value)` for what serialises, `AsText(value)` for what can be printed"
)]
pub trait IntoContents: Sized {
    /// Converts the value to contents of the resource that is read.
    fn into_contents(self, asked: ReadTarget<'_>) -> Result<ReadResourceResult, ToolError>;
}

/// The content of a resource before it is encoded. Made from anything that is [`IntoContents`]: `Ok(Some("text".into()))`.
pub struct Contents(Box<Shape>);

type Shape = dyn FnOnce(ReadTarget<'_>) -> Result<ReadResourceResult, ToolError> + Send;

impl<T: IntoContents + Send + 'static> From<T> for Contents {
    fn from(value: T) -> Self {
        Self(Box::new(move |asked| value.into_contents(asked)))
    }
}

impl Contents {
    /// Converts the value to contents of the resource that is read.
    pub(crate) fn shape(self, asked: ReadTarget<'_>) -> Result<ReadResourceResult, ToolError> {
        (self.0)(asked)
    }
}

impl fmt::Debug for Contents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Contents").finish_non_exhaustive()
    }
}

impl IntoContents for ReadResourceResult {
    /// Returns the result unchanged.
    fn into_contents(self, _: ReadTarget<'_>) -> Result<ReadResourceResult, ToolError> {
        Ok(self)
    }
}

impl IntoContents for ResourceContents {
    fn into_contents(self, _: ReadTarget<'_>) -> Result<ReadResourceResult, ToolError> {
        Ok(ReadResourceResult::new(vec![self]))
    }
}

impl IntoContents for Vec<ResourceContents> {
    fn into_contents(self, _: ReadTarget<'_>) -> Result<ReadResourceResult, ToolError> {
        Ok(ReadResourceResult::new(self))
    }
}

macro_rules! text {
    ($($type:ty)*) => {$(
        impl IntoContents for $type {
            fn into_contents(self, asked: ReadTarget<'_>) -> Result<ReadResourceResult, ToolError> {
                Ok(asked.text(self, "text/plain"))
            }
        }
    )*};
}
text!(String & str);

macro_rules! bytes {
    ($($type:ty)*) => {$(
        impl IntoContents for $type {
            fn into_contents(self, asked: ReadTarget<'_>) -> Result<ReadResourceResult, ToolError> {
                Ok(asked.bytes(&self))
            }
        }
    )*};
}
bytes!(Vec<u8> &[u8] bytes::Bytes);

impl IntoContents for Map<String, Value> {
    /// Becomes contents if the object has their members, otherwise its JSON text.
    fn into_contents(self, asked: ReadTarget<'_>) -> Result<ReadResourceResult, ToolError> {
        let mut members = self.clone();
        members.entry("uri").or_insert_with(|| asked.uri.into());
        if let Some(mime_type) = asked.mime_type {
            members.entry("mimeType").or_insert_with(|| mime_type.into());
        }
        let contents = ResourceContents::decode((&*raw(&Value::Object(members))).into());
        match contents {
            // Either text or blob, and no unknown members.
            Ok(contents)
                if contents.text.is_some() != contents.blob.is_some()
                    && contents.extra.is_empty() =>
            {
                contents.into_contents(asked)
            }
            _ => AsJson(self).into_contents(asked),
        }
    }
}

impl IntoContents for Value {
    fn into_contents(self, asked: ReadTarget<'_>) -> Result<ReadResourceResult, ToolError> {
        match self {
            Self::Object(members) => members.into_contents(asked),
            Self::String(text) => text.into_contents(asked),
            other => AsJson(other).into_contents(asked),
        }
    }
}

/// A value that is read as its JSON text. Its media type is `application/json` unless the resource declares another.
#[derive(Debug, Clone)]
pub struct AsJson<T>(pub T);

impl<T: Serialize> IntoContents for AsJson<T> {
    fn into_contents(self, asked: ReadTarget<'_>) -> Result<ReadResourceResult, ToolError> {
        let text = serde_json::to_string(&self.0)?;
        Ok(asked.text(text, "application/json"))
    }
}

/// A value that is read as its `Display` text.
#[derive(Debug, Clone)]
pub struct AsText<T>(pub T);

impl<T: Display> IntoContents for AsText<T> {
    fn into_contents(self, asked: ReadTarget<'_>) -> Result<ReadResourceResult, ToolError> {
        self.0.to_string().into_contents(asked)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn contents(value: impl IntoContents, mime_type: Option<&str>) -> Value {
        let result = value.into_contents(ReadTarget { uri: "memo:///a", mime_type }).unwrap();
        let mut result = serde_json::to_value(&result).unwrap();
        let contents = result["contents"].take();
        match contents.as_array().map(Vec::as_slice) {
            Some([one]) => one.clone(),
            _ => contents,
        }
    }

    #[test]
    fn text_and_bytes_get_default_types_unless_one_is_declared() {
        assert_eq!(
            contents("hi", None),
            json!({"uri": "memo:///a", "mimeType": "text/plain", "text": "hi"})
        );
        assert_eq!(contents("{}", Some("application/json"))["mimeType"], "application/json");
        assert_eq!(
            contents(vec![0x89_u8, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a], None),
            json!({"uri": "memo:///a", "mimeType": "application/octet-stream", "blob": "iVBORw0KGgo="})
        );
        assert_eq!(contents(vec![1_u8], Some("image/png"))["mimeType"], "image/png");
    }

    #[test]
    fn values_become_json_or_plain_text() {
        #[derive(Serialize)]
        struct Config {
            debug: bool,
        }
        assert_eq!(
            contents(AsJson(Config { debug: true }), None),
            json!({"uri": "memo:///a", "mimeType": "application/json", "text": r#"{"debug":true}"#})
        );
        assert_eq!(contents(AsText(1.5), None)["text"], "1.5");
        assert_eq!(contents(json!([1, 2]), None)["text"], "[1,2]");
        assert_eq!(contents(json!("plain"), None)["mimeType"], "text/plain");
    }

    #[test]
    fn object_with_only_members_of_contents_is_contents() {
        assert_eq!(
            contents(json!({"text": "hi"}), Some("text/x")),
            json!({"uri": "memo:///a", "mimeType": "text/x", "text": "hi"})
        );
        assert_eq!(contents(json!({"blob": "AA==", "uri": "memo:///b"}), None)["uri"], "memo:///b");
        for other in [
            json!({"text": "hi", "sizes": 1}),
            json!({"text": "a", "blob": "b"}),
            json!({"text": 7}),
        ] {
            assert_eq!(contents(other.clone(), None)["text"], other.to_string());
        }
    }

    #[test]
    fn explicit_contents_are_passed_unchanged() {
        let one = ResourceContents::of_text("memo:///other", "text/x", "t");
        assert_eq!(contents(one.clone(), Some("text/plain"))["mimeType"], "text/x");
        assert_eq!(contents(vec![one.clone(), one.clone()], None).as_array().unwrap().len(), 2);
        let mut result = ReadResourceResult::new(vec![one]);
        result.meta = Some(candor_protocol::json::Object::new().with("a", &1));
        let kept =
            result.clone().into_contents(ReadTarget { uri: "x:y", mime_type: None }).unwrap();
        assert_eq!(serde_json::to_value(&kept).unwrap(), serde_json::to_value(&result).unwrap());
    }
}
