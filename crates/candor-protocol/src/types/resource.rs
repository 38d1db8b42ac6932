//! Resources: as they are listed and read.

use super::common::{Annotations, Icon};
use crate::json::{Number, Object, RawValue};
use crate::message::message;

message! {
    /// A resource as it is listed.
    pub struct Resource {
        /// Its URI.
        required uri: String = "uri",
        /// Name for programs.
        required name: String = "name",
        /// Name for people.
        optional title: String = "title",
        /// What it holds.
        optional description: String = "description",
        /// Its media type.
        optional mime_type: String = "mimeType",
        /// Size in bytes.
        optional size: Number = "size",
        /// Pictures.
        optional icons: Vec<Icon> = "icons",
        /// Advice.
        optional annotations: Annotations = "annotations",
        /// Metadata.
        optional meta: Object = "_meta",
    }

    /// A family of resources.
    pub struct ResourceTemplate {
        /// RFC 6570 template of the URIs.
        required uri_template: String = "uriTemplate",
        /// Name for programs.
        required name: String = "name",
        /// Name for people.
        optional title: String = "title",
        /// What they hold.
        optional description: String = "description",
        /// Their media type, if they have one in common.
        optional mime_type: String = "mimeType",
        /// Pictures.
        optional icons: Vec<Icon> = "icons",
        /// Advice.
        optional annotations: Annotations = "annotations",
        /// Metadata.
        optional meta: Object = "_meta",
    }

    /// What reading a resource gives: text or bytes.
    pub struct ResourceContents {
        /// Its URI.
        required uri: String = "uri",
        /// Its media type.
        optional mime_type: String = "mimeType",
        /// The text.
        optional text: String = "text",
        /// The bytes in Base64, if they are not text.
        optional blob: String = "blob",
        /// Metadata.
        optional meta: Object = "_meta",
    }

    /// Parameters of methods that name one resource.
    pub struct ResourceUriParams {
        /// The resource.
        required uri: String = "uri",
        /// Answers to an earlier round's questions.
        optional input_responses: Box<RawValue> = "inputResponses",
        /// What the earlier round gave to bring back.
        optional request_state: String = "requestState",
        /// Metadata.
        optional meta: Object = "_meta",
    }

    /// A page of resources.
    pub struct ListResourcesResult {
        /// The resources.
        required resources: Vec<Resource> = "resources",
        /// Where the next page begins.
        optional next_cursor: String = "nextCursor",
        /// Metadata.
        optional meta: Object = "_meta",
    }

    /// A page of templates.
    pub struct ListTemplatesResult {
        /// The templates.
        required resource_templates: Vec<ResourceTemplate> = "resourceTemplates",
        /// Where the next page begins.
        optional next_cursor: String = "nextCursor",
        /// Metadata.
        optional meta: Object = "_meta",
    }

    /// What a resource holds.
    pub struct ReadResourceResult {
        /// Its contents.
        required contents: Vec<ResourceContents> = "contents",
        /// Metadata.
        optional meta: Object = "_meta",
    }
}

impl ResourceContents {
    /// Contents that are text.
    #[must_use]
    pub fn of_text(
        uri: impl Into<String>,
        mime_type: impl Into<String>,
        text: impl Into<String>,
    ) -> Self {
        let mut contents = Self::new(uri);
        contents.mime_type = Some(mime_type.into());
        contents.text = Some(text.into());
        contents
    }

    /// Contents that are bytes, given in Base64.
    #[must_use]
    pub fn of_blob(
        uri: impl Into<String>,
        mime_type: impl Into<String>,
        base64: impl Into<String>,
    ) -> Self {
        let mut contents = Self::new(uri);
        contents.mime_type = Some(mime_type.into());
        contents.blob = Some(base64.into());
        contents
    }
}
