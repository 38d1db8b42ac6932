//! How the two sides get to know each other, in both eras.

use std::collections::BTreeMap;

use super::common::Implementation;
use crate::json::{Number, Object};
use crate::message::message;

message! {
    /// Parameters of the legacy `initialize`.
    pub struct InitializeParams {
        /// The revision that the client wants.
        required protocol_version: String = "protocolVersion",
        /// What it can do.
        required capabilities: ClientCapabilities = "capabilities",
        /// What it is.
        required client_info: Implementation = "clientInfo",
        /// Metadata.
        optional meta: Object = "_meta",
    }

    /// The answer to `initialize`.
    pub struct InitializeResult {
        /// The revision that this session speaks.
        required protocol_version: String = "protocolVersion",
        /// What the server can do.
        required capabilities: ServerCapabilities = "capabilities",
        /// What it is.
        required server_info: Implementation = "serverInfo",
        /// Advice for models.
        optional instructions: String = "instructions",
        /// Metadata.
        optional meta: Object = "_meta",
    }

    /// The answer to the modern `server/discover`.
    pub struct DiscoverResult {
        /// The revisions that the server speaks.
        required supported_versions: Vec<String> = "supportedVersions",
        /// What it can do.
        required capabilities: ServerCapabilities = "capabilities",
        /// Advice for models.
        optional instructions: String = "instructions",
        /// How long the answer stays fresh.
        optional ttl_ms: Number = "ttlMs",
        /// Who may keep it.
        optional cache_scope: String = "cacheScope",
        /// Metadata; holds what the server is.
        optional meta: Object = "_meta",
    }

    /// What a client can do.
    pub struct ClientCapabilities {
        /// It can ask its person.
        optional elicitation: ElicitationCapability = "elicitation",
        /// It can ask its model.
        optional sampling: SamplingCapability = "sampling",
        /// It can name its folders.
        optional roots: Object = "roots",
        /// Extensions and their settings.
        optional extensions: BTreeMap<String, Object> = "extensions",
        /// Experiments and their settings.
        optional experimental: BTreeMap<String, Object> = "experimental",
    }

    /// How a client can ask its person. Neither named means forms.
    pub struct ElicitationCapability {
        /// By forms.
        optional form: Object = "form",
        /// By pages to visit.
        optional url: Object = "url",
    }

    /// How a client can ask its model.
    pub struct SamplingCapability {
        /// With context of this or other servers.
        optional context: Object = "context",
        /// With tools.
        optional tools: Object = "tools",
    }

    /// What a server can do.
    pub struct ServerCapabilities {
        /// It has tools.
        optional tools: ToolsCapability = "tools",
        /// It has resources.
        optional resources: ResourcesCapability = "resources",
        /// It has prompts.
        optional prompts: ListCapability = "prompts",
        /// It completes arguments.
        optional completions: Object = "completions",
        /// It sends log messages.
        optional logging: Object = "logging",
        /// Extensions and their settings.
        optional extensions: BTreeMap<String, Object> = "extensions",
        /// Experiments and their settings.
        optional experimental: BTreeMap<String, Object> = "experimental",
    }

    /// Tools, of which more may be said for certain arguments.
    pub struct ToolsCapability {
        /// The server says when the list changes.
        optional list_changed: bool = "listChanged",
        /// The server answers `tools/annotations`.
        optional dynamic_annotations: bool = "dynamicAnnotations",
    }

    /// A list that may change.
    pub struct ListCapability {
        /// The server says when it does.
        optional list_changed: bool = "listChanged",
    }

    /// Resources, which may change too.
    pub struct ResourcesCapability {
        /// The server says when the list changes.
        optional list_changed: bool = "listChanged",
        /// The server says when one resource changes.
        optional subscribe: bool = "subscribe",
    }
}

impl ClientCapabilities {
    /// True if the client can ask its person by a form.
    #[must_use]
    pub fn elicits_forms(&self) -> bool {
        self.elicitation.as_ref().is_some_and(|e| e.form.is_some() || e.url.is_none())
    }

    /// True if the client can send its person to a page.
    #[must_use]
    pub fn elicits_urls(&self) -> bool {
        self.elicitation.as_ref().is_some_and(|e| e.url.is_some())
    }
}
