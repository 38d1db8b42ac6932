//! Content blocks of tool results, prompts and model messages.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde::{Serialize, Serializer};

use super::common::{Annotations, Icon};
use super::resource::{ResourceCapabilities, ResourceContents};
use crate::json::{Decode, Json, Malformed, Number, Object, RawValue};
use crate::message::{Members, Message, message};

message! {
    /// Text.
    pub struct TextContent {
        /// The text.
        required text: String = "text",
        /// Audience, priority and last change.
        optional annotations: Annotations = "annotations",
        /// Metadata.
        optional meta: Object = "_meta",
    }

    /// An image.
    pub struct ImageContent {
        /// Base64.
        required data: String = "data",
        /// Its media type.
        required mime_type: String = "mimeType",
        /// Audience, priority and last change.
        optional annotations: Annotations = "annotations",
        /// Metadata.
        optional meta: Object = "_meta",
    }

    /// Audio.
    pub struct AudioContent {
        /// Base64.
        required data: String = "data",
        /// Its media type.
        required mime_type: String = "mimeType",
        /// Audience, priority and last change.
        optional annotations: Annotations = "annotations",
        /// Metadata.
        optional meta: Object = "_meta",
    }

    /// An embedded resource.
    pub struct EmbeddedResource {
        /// The contents, with their annotations.
        required resource: Box<ResourceContents> = "resource",
        /// Annotations, where the published protocol has them. Read them with [`EmbeddedResource::advice`].
        optional annotations: Annotations = "annotations",
        /// Metadata.
        optional meta: Object = "_meta",
    }

    /// A resource that can be read.
    pub struct ResourceLink {
        /// Its URI.
        required uri: String = "uri",
        /// Name for programs.
        required name: String = "name",
        /// Display name.
        optional title: String = "title",
        /// What it holds.
        optional description: String = "description",
        /// Its media type.
        optional mime_type: String = "mimeType",
        /// Size in bytes.
        optional size: Number = "size",
        /// Icons.
        optional icons: Vec<Icon> = "icons",
        /// Audience, priority and last change.
        optional annotations: Annotations = "annotations",
        /// What a client can do with it besides reading.
        optional capabilities: ResourceCapabilities = "capabilities",
        /// Metadata.
        optional meta: Object = "_meta",
    }

    /// A model's request to use a tool.
    pub struct ToolUseContent {
        /// The id that the result repeats.
        required id: String = "id",
        /// The tool.
        required name: String = "name",
        /// The arguments.
        required input: Object = "input",
        /// Metadata.
        optional meta: Object = "_meta",
    }

    /// The result of a model's tool use.
    pub struct ToolResultContent {
        /// The id of the tool use.
        required tool_use_id: String = "toolUseId",
        /// What the tool returned.
        required content: Vec<Content> = "content",
        /// The structured result, for programs.
        optional structured_content: Box<RawValue> = "structuredContent",
        /// Whether it failed.
        optional is_error: bool = "isError",
        /// Metadata.
        optional meta: Object = "_meta",
    }
}

macro_rules! content {
    ($( $variant:ident($type:ty) = $tag:literal, )*) => {
        /// A content block, distinguished by its `type`.
        ///
        /// ```
        /// use candor_protocol::types::{Content, ImageContent};
        ///
        /// let blocks = vec![Content::text("One pixel:"), ImageContent::new("iVBORw0KGgo=", "image/png").into()];
        /// assert_eq!(blocks[0].as_text(), Some("One pixel:"));
        /// ```
        #[derive(Debug, Clone)]
        #[non_exhaustive]
        pub enum Content {
            $(
                #[doc = concat!("`", $tag, "`")]
                $variant($type),
            )*
            /// A block whose type this version does not know, as it arrived.
            Other(Object),
        }

        impl Decode for Content {
            fn decode(json: Json<'_>) -> Result<Self, Malformed> {
                let mut object = Object::decode(json)?;
                let tag: String = object.read("type")?.ok_or_else(|| Malformed::missing("type"))?;
                match tag.as_str() {
                    $($tag => {
                        object.retain(|key, _| Ok(key != "type"))?;
                        <$type>::from_object(object).map(Self::$variant)
                    })*
                    _ => Ok(Self::Other(object)),
                }
            }
        }

        impl Serialize for Content {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                use serde::ser::SerializeMap;
                match self {
                    $(Self::$variant(block) => {
                        let mut map = serializer.serialize_map(None)?;
                        map.serialize_entry("type", $tag)?;
                        block.write_members(&mut map)?;
                        map.end()
                    })*
                    Self::Other(object) => object.serialize(serializer),
                }
            }
        }

        $(
            impl From<$type> for Content {
                fn from(block: $type) -> Self {
                    Self::$variant(block)
                }
            }
        )*
    };
}

content! {
    Text(TextContent) = "text",
    Image(ImageContent) = "image",
    Audio(AudioContent) = "audio",
    Resource(EmbeddedResource) = "resource",
    ResourceLink(ResourceLink) = "resource_link",
    ToolUse(ToolUseContent) = "tool_use",
    ToolResult(ToolResultContent) = "tool_result",
}

/// How deep arrays are split into texts: as deep as Candor's structured content may nest.
const DEEPEST: usize = 100;

fn push_texts(json: &str, levels: usize, texts: &mut Vec<String>) {
    match json.as_bytes().first() {
        Some(b'"') => {
            let text = serde_json::from_str::<String>(json).ok().filter(|text| !text.is_empty());
            texts.push(text.unwrap_or_else(|| json.to_owned()));
        }
        Some(b'[') if levels > 0 => {
            let items: Vec<&RawValue> = serde_json::from_str(json).unwrap_or_default();
            if items.is_empty() {
                texts.push("[]".to_owned());
            }
            items.iter().for_each(|item| push_texts(item.get(), levels - 1, texts));
        }
        _ => texts.push(json.to_owned()),
    }
}

impl Content {
    /// Creates a block of text.
    pub fn text(text: impl Into<String>) -> Self {
        TextContent::new(text).into()
    }

    /// Creates an image from its bytes, and encodes them in Base64.
    ///
    /// ```
    /// use candor_protocol::types::Content;
    ///
    /// let picture = Content::image(b"\x89PNG\r\n\x1a\n", "image/png");
    /// assert!(matches!(picture, Content::Image(block) if block.data == "iVBORw0KGgo="));
    /// ```
    pub fn image(bytes: impl AsRef<[u8]>, mime_type: impl Into<String>) -> Self {
        ImageContent::new(BASE64.encode(bytes), mime_type).into()
    }

    /// Creates audio from its bytes, and encodes them in Base64.
    pub fn audio(bytes: impl AsRef<[u8]>, mime_type: impl Into<String>) -> Self {
        AudioContent::new(BASE64.encode(bytes), mime_type).into()
    }

    /// Creates an embedded resource from its bytes, and encodes them in Base64.
    pub fn blob(
        uri: impl Into<String>,
        bytes: impl AsRef<[u8]>,
        mime_type: impl Into<String>,
    ) -> Self {
        Self::resource(ResourceContents::of_bytes(uri, mime_type, bytes.as_ref()))
    }

    /// Embeds the contents of a resource.
    pub fn resource(contents: ResourceContents) -> Self {
        EmbeddedResource::new(contents).into()
    }

    /// Returns the texts that repeat structured content for clients that do not read it. An array gives those of its elements, a
    /// string itself, anything else its JSON. No text is empty: an empty string or array gives its JSON, `""` or `[]`.
    #[must_use]
    pub fn texts_of(structured: &RawValue) -> Vec<String> {
        let mut texts = Vec::new();
        push_texts(structured.get(), DEEPEST, &mut texts);
        texts
    }

    /// Returns the text, if this is a block of text.
    #[must_use]
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(block) => Some(&block.text),
            _ => None,
        }
    }
}

impl EmbeddedResource {
    /// Returns the annotations. Two places can hold them; the inner ones, inside `resource`, win.
    #[must_use]
    pub fn advice(&self) -> Option<&Annotations> {
        self.resource.annotations.as_ref().or(self.annotations.as_ref())
    }

    /// Moves the annotations inside `resource`, where they belong. With `beside`, keeps them beside it, too, for a peer that looks
    /// only there.
    pub fn settle_advice(&mut self, beside: bool) {
        let advice = self.advice().cloned();
        self.annotations = advice.clone().filter(|_| beside);
        self.resource.annotations = advice;
    }
}

impl From<&str> for Content {
    fn from(text: &str) -> Self {
        Self::text(text)
    }
}

impl From<String> for Content {
    fn from(text: String) -> Self {
        Self::text(text)
    }
}
