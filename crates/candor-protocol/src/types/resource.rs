//! Resources: as they are listed and read.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;

use super::common::{Annotations, Icon};
use crate::json::{Decode, Json, Malformed, Number, Object, RawValue};
use crate::message::message;
use crate::names::extension;

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
        /// What can be done with it; absent means that nobody has said.
        optional capabilities: ResourceCapabilities = "capabilities",
        /// Metadata.
        optional meta: Object = "_meta",
    }

    /// What can be done with a resource, besides reading it.
    pub struct ResourceCapabilities {
        /// `resources/list` with its URI lists what stands directly beneath it.
        optional list: bool = "list",
        /// It can be watched.
        optional subscribe: bool = "subscribe",
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

    /// What reading a resource gives: text or bytes, and what the resource is.
    ///
    /// The published protocol has the URI, the media type and the content here; the rest is as in [`Resource`]. Contents
    /// without a name are valid: most servers send no more.
    pub struct ResourceContents {
        /// Its URI.
        required uri: String = "uri",
        /// Name for programs.
        optional name: String = "name",
        /// Name for people.
        optional title: String = "title",
        /// What it holds.
        optional description: String = "description",
        /// Its media type.
        optional mime_type: String = "mimeType",
        /// Size in bytes of this very content, before Base64.
        optional size: Number = "size",
        /// Pictures.
        optional icons: Vec<Icon> = "icons",
        /// Advice.
        optional annotations: Annotations = "annotations",
        /// What can be done with it.
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
        /// What the earlier round gave to bring back.
        optional request_state: String = "requestState",
        /// Metadata.
        optional meta: Object = "_meta",
    }

    /// Parameters of `resources/list`, and of `resources/directory/read`.
    pub struct ListResourcesParams {
        /// Whose children; without it, the default list.
        optional uri: String = "uri",
        /// Where the page before this one ended.
        optional cursor: String = "cursor",
        /// Metadata of the request.
        optional meta: Object = "_meta",
    }

    /// What a resource is, without its content.
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

    /// What a resource holds.
    pub struct ReadResourceResult {
        /// Its contents.
        required contents: Vec<ResourceContents> = "contents",
        /// Metadata.
        optional meta: Object = "_meta",
    }
}

/// Builders, so that a resource is one expression.
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
    /// With a name for people.
    #[must_use]
    pub fn titled(mut self, title: impl Into<String>) -> Self {
        self.title = Some(title.into());
        self
    }

    /// With a description.
    #[must_use]
    pub fn described(mut self, description: impl Into<String>) -> Self {
        self.description = Some(description.into());
        self
    }

    /// Of this media type.
    #[must_use]
    pub fn of_type(mut self, mime_type: impl Into<String>) -> Self {
        self.mime_type = Some(mime_type.into());
        self
    }

    /// Of this many bytes.
    #[must_use]
    pub fn sized(mut self, bytes: u64) -> Self {
        self.size = Some(bytes.into());
        self
    }

    /// Last changed at this time, ISO 8601.
    #[must_use]
    pub fn modified(mut self, time: impl Into<String>) -> Self {
        self.annotations.get_or_insert_with(Annotations::new).last_modified = Some(time.into());
        self
    }

    /// That lists what stands beneath it.
    #[must_use]
    pub fn listable(mut self) -> Self {
        self.said_capabilities().list = Some(true);
        self
    }

    /// That can be watched.
    #[must_use]
    pub fn watchable(mut self) -> Self {
        self.said_capabilities().subscribe = Some(true);
        self
    }

    /// That says of both whether it can, and no where nothing was said.
    #[must_use]
    pub fn definite(mut self) -> Self {
        self.said_capabilities();
        self
    }

    /// Its capabilities, both of them said.
    fn said_capabilities(&mut self) -> &mut ResourceCapabilities {
        let capabilities = self.capabilities.get_or_insert_with(ResourceCapabilities::new);
        capabilities.list.get_or_insert(false);
        capabilities.subscribe.get_or_insert(false);
        capabilities
    }

    /// That can be had in several media types, the preferred one first. There is only one `mimeType`; all of them stand in
    /// `_meta["dev.candor/resource"].formats`.
    #[must_use]
    pub fn formats<T: Into<String>>(mut self, formats: impl IntoIterator<Item = T>) -> Self {
        let formats: Vec<String> = formats.into_iter().map(Into::into).collect();
        self.mime_type = formats.first().cloned().or(self.mime_type);
        let meta = self.meta.get_or_insert_with(Object::new);
        let ours: Object = meta.read(extension::RESOURCE).ok().flatten().unwrap_or_default();
        meta.set(extension::RESOURCE, crate::json::raw(&ours.with("formats", &formats)));
        self
    }

    /// True if it says that it can be listed. Silence is no yes.
    #[must_use]
    pub fn is_listable(&self) -> bool {
        self.capabilities.as_ref().and_then(|c| c.list) == Some(true)
    }

    /// True if it says that it can be watched.
    #[must_use]
    pub fn is_watchable(&self) -> bool {
        self.capabilities.as_ref().and_then(|c| c.subscribe) == Some(true)
    }
}

/// They have many members: what holds them beside smaller things keeps them elsewhere.
impl Decode for Box<ResourceContents> {
    fn decode(json: Json<'_>) -> Result<Self, Malformed> {
        ResourceContents::decode(json).map(Self::new)
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

    /// Contents that are bytes.
    #[must_use]
    pub fn of_bytes(uri: impl Into<String>, mime_type: impl Into<String>, bytes: &[u8]) -> Self {
        Self::of_blob(uri, mime_type, BASE64.encode(bytes))
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
