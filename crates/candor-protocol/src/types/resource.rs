//! Resources: definitions, metadata and contents.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;

use super::common::{Annotations, Icon};
use crate::json::{Decode, Json, Malformed, Number, Object, RawValue};
use crate::message::message;
use crate::names::extension;

message! {
    /// A resource in a list.
    pub struct Resource {
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
        /// What a client can do with it besides reading. Absent means unknown.
        optional capabilities: ResourceCapabilities = "capabilities",
        /// Metadata.
        optional meta: Object = "_meta",
    }

    /// What a client can do with a resource besides reading.
    pub struct ResourceCapabilities {
        /// `resources/list` with its URI lists its children.
        optional list: bool = "list",
        /// Clients can subscribe to its changes.
        optional subscribe: bool = "subscribe",
    }

    /// A family of resources.
    pub struct ResourceTemplate {
        /// RFC 6570 template of the URIs.
        required uri_template: String = "uriTemplate",
        /// Name for programs.
        required name: String = "name",
        /// Display name.
        optional title: String = "title",
        /// What they hold.
        optional description: String = "description",
        /// Their media type, if they have one in common.
        optional mime_type: String = "mimeType",
        /// Icons.
        optional icons: Vec<Icon> = "icons",
        /// Audience, priority and last change.
        optional annotations: Annotations = "annotations",
        /// Metadata.
        optional meta: Object = "_meta",
    }

    /// The contents of a resource: text or bytes, and its metadata.
    ///
    /// The published protocol has the URI, the media type and the content here; the rest is as in [`Resource`]. Contents
    /// without a name are valid: most servers send no more.
    pub struct ResourceContents {
        /// Its URI.
        required uri: String = "uri",
        /// Name for programs.
        optional name: String = "name",
        /// Display name.
        optional title: String = "title",
        /// What it holds.
        optional description: String = "description",
        /// Its media type.
        optional mime_type: String = "mimeType",
        /// Size of this content in bytes, before Base64.
        optional size: Number = "size",
        /// Icons.
        optional icons: Vec<Icon> = "icons",
        /// Audience, priority and last change.
        optional annotations: Annotations = "annotations",
        /// What a client can do with it besides reading.
        optional capabilities: ResourceCapabilities = "capabilities",
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
        /// Opaque state from the earlier round.
        optional request_state: String = "requestState",
        /// Metadata.
        optional meta: Object = "_meta",
    }

    /// Parameters of `resources/list`, and of `resources/directory/read`.
    pub struct ListResourcesParams {
        /// The resource whose children to list; without it, the default list.
        optional uri: String = "uri",
        /// Where the page before this one ended.
        optional cursor: String = "cursor",
        /// Metadata of the request.
        optional meta: Object = "_meta",
    }

    /// The metadata of a resource, without its content.
    pub struct ResourceMetadataResult {
        /// The resource.
        required resource: Resource = "resource",
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

    /// The result of `resources/read`.
    pub struct ReadResourceResult {
        /// Its contents.
        required contents: Vec<ResourceContents> = "contents",
        /// Metadata.
        optional meta: Object = "_meta",
    }
}

/// Builder methods, so that a resource is one expression.
///
/// ```
/// use candor_protocol::types::Resource;
///
/// let report = Resource::new("docs:///report", "report")
///     .titled("Quarterly report")
///     .formats(["application/pdf", "text/plain"])
///     .watchable();
/// assert_eq!(report.mime_type.as_deref(), Some("application/pdf"));
/// assert!(report.is_watchable() && !report.is_listable());
/// ```
impl Resource {
    /// Sets the display name.
    #[must_use]
    pub fn titled(mut self, title: impl Into<String>) -> Self {
        self.title = Some(title.into());
        self
    }

    /// Sets the description.
    #[must_use]
    pub fn described(mut self, description: impl Into<String>) -> Self {
        self.description = Some(description.into());
        self
    }

    /// Sets the media type.
    #[must_use]
    pub fn of_type(mut self, mime_type: impl Into<String>) -> Self {
        self.mime_type = Some(mime_type.into());
        self
    }

    /// Sets the size in bytes.
    #[must_use]
    pub fn sized(mut self, bytes: u64) -> Self {
        self.size = Some(bytes.into());
        self
    }

    /// Sets the time of the last change, ISO 8601.
    #[must_use]
    pub fn modified(mut self, time: impl Into<String>) -> Self {
        self.annotations.get_or_insert_with(Annotations::new).last_modified = Some(time.into());
        self
    }

    /// Declares that the resource lists its children.
    #[must_use]
    pub fn listable(mut self) -> Self {
        self.said_capabilities().list = Some(true);
        self
    }

    /// Declares that clients can subscribe to the resource.
    #[must_use]
    pub fn watchable(mut self) -> Self {
        self.said_capabilities().subscribe = Some(true);
        self
    }

    /// Sets both capabilities explicitly: a missing one becomes false.
    #[must_use]
    pub fn definite(mut self) -> Self {
        self.said_capabilities();
        self
    }

    /// Returns the capabilities, both of them set.
    fn said_capabilities(&mut self) -> &mut ResourceCapabilities {
        let capabilities = self.capabilities.get_or_insert_with(ResourceCapabilities::new);
        capabilities.list.get_or_insert(false);
        capabilities.subscribe.get_or_insert(false);
        capabilities
    }

    /// Sets the media types in which the resource is available, the preferred one first. Only that one is the `mimeType`; all of
    /// them are in `_meta["dev.candor/resource"].formats`.
    #[must_use]
    pub fn formats<T: Into<String>>(mut self, formats: impl IntoIterator<Item = T>) -> Self {
        let formats: Vec<String> = formats.into_iter().map(Into::into).collect();
        self.mime_type = formats.first().cloned().or(self.mime_type);
        let meta = self.meta.get_or_insert_with(Object::new);
        let ours: Object = meta.read(extension::RESOURCE).ok().flatten().unwrap_or_default();
        meta.set(extension::RESOURCE, crate::json::raw(&ours.with("formats", &formats)));
        self
    }

    /// Returns true if the resource declares that it lists its children. A missing capability counts as no.
    #[must_use]
    pub fn is_listable(&self) -> bool {
        self.capabilities.as_ref().and_then(|c| c.list) == Some(true)
    }

    /// Returns true if the resource declares that clients can subscribe to it.
    #[must_use]
    pub fn is_watchable(&self) -> bool {
        self.capabilities.as_ref().and_then(|c| c.subscribe) == Some(true)
    }
}

/// Contents have many members, so types that also hold smaller values box them.
impl Decode for Box<ResourceContents> {
    fn decode(json: Json<'_>) -> Result<Self, Malformed> {
        ResourceContents::decode(json).map(Self::new)
    }
}

impl ResourceContents {
    /// Creates contents from text.
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

    /// Creates contents from bytes.
    #[must_use]
    pub fn of_bytes(uri: impl Into<String>, mime_type: impl Into<String>, bytes: &[u8]) -> Self {
        Self::of_blob(uri, mime_type, BASE64.encode(bytes))
    }

    /// Creates contents from bytes in Base64.
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
