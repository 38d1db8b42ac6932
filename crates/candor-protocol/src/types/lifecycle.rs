//! How client and server introduce themselves, in both eras.

use std::collections::BTreeMap;

use super::common::Implementation;
use crate::json::{Number, Object};
use crate::message::message;

message! {
    /// Parameters of the legacy `initialize`.
    pub struct InitializeParams {
        /// The revision that the client wants.
        required protocol_version: String = "protocolVersion",
        /// Its capabilities.
        required capabilities: ClientCapabilities = "capabilities",
        /// Its name and version.
        required client_info: Implementation = "clientInfo",
        /// Metadata.
        optional meta: Object = "_meta",
    }

    /// The result of `initialize`.
    pub struct InitializeResult {
        /// The revision that this session speaks.
        required protocol_version: String = "protocolVersion",
        /// The server's capabilities.
        required capabilities: ServerCapabilities = "capabilities",
        /// Its name and version.
        required server_info: Implementation = "serverInfo",
        /// Instructions for models.
        optional instructions: String = "instructions",
        /// Metadata.
        optional meta: Object = "_meta",
    }

    /// The result of the modern `server/discover`.
    pub struct DiscoverResult {
        /// The revisions that the server speaks.
        required supported_versions: Vec<String> = "supportedVersions",
        /// Its capabilities.
        required capabilities: ServerCapabilities = "capabilities",
        /// Instructions for models.
        optional instructions: String = "instructions",
        /// How long the result stays fresh, in milliseconds.
        optional ttl_ms: Number = "ttlMs",
        /// Who may cache it.
        optional cache_scope: String = "cacheScope",
        /// Metadata, with the server's name and version.
        optional meta: Object = "_meta",
    }

    /// The capabilities of a client.
    pub struct ClientCapabilities {
        /// It can ask its user.
        optional elicitation: ElicitationCapability = "elicitation",
        /// It can ask its model.
        optional sampling: SamplingCapability = "sampling",
        /// It can list its folders.
        optional roots: Object = "roots",
        /// Extensions and their settings.
        optional extensions: BTreeMap<String, Object> = "extensions",
        /// Experiments and their settings.
        optional experimental: BTreeMap<String, Object> = "experimental",
    }

    /// How a client can ask its user. If neither is named, it can show forms.
    pub struct ElicitationCapability {
        /// With forms.
        optional form: Object = "form",
        /// With pages to visit.
        optional url: Object = "url",
    }

    /// How a client can ask its model.
    pub struct SamplingCapability {
        /// With context of this or other servers.
        optional context: Object = "context",
        /// With tools.
        optional tools: Object = "tools",
    }

    /// The capabilities of a server.
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

    /// The capabilities for tools.
    pub struct ToolsCapability {
        /// The server reports changes of the list.
        optional list_changed: bool = "listChanged",
        /// The server answers `tools/annotations`.
        optional dynamic_annotations: bool = "dynamicAnnotations",
    }

    /// A list that may change.
    pub struct ListCapability {
        /// The server reports changes.
        optional list_changed: bool = "listChanged",
    }

    /// The capabilities for resources.
    pub struct ResourcesCapability {
        /// The server reports changes of the list.
        optional list_changed: bool = "listChanged",
        /// The server reports changes of one resource.
        optional subscribe: bool = "subscribe",
    }
}

impl ClientCapabilities {
    /// Returns true if the client can show its user a form.
    #[must_use]
    pub fn elicits_forms(&self) -> bool {
        self.elicitation.as_ref().is_some_and(|e| e.form.is_some() || e.url.is_none())
    }

    /// Returns true if the client can send its user to a page.
    #[must_use]
    pub fn elicits_urls(&self) -> bool {
        self.elicitation.as_ref().is_some_and(|e| e.url.is_some())
    }
}
