//! What a server declares that it can do.

use std::collections::BTreeMap;

use candor_engine::resource::Offers;
use candor_engine::{Engine, Lists};
use candor_protocol::Principal;
use candor_protocol::json::Object;
use candor_protocol::names::extension;
use candor_protocol::types::{
    ListCapability, ResourcesCapability, ServerCapabilities, ToolsCapability,
};

/// Returns what a server can do, as either era declares it to this caller. Without a caller, it depends on the policy alone.
pub(crate) fn capabilities(engine: &Engine, caller: Option<&Principal>) -> ServerCapabilities {
    let mut capabilities = ServerCapabilities::new();
    let tools_may_change = engine.tools_may_change();
    let has_dynamic_effects = engine.has_dynamic_effects();
    capabilities.tools = tools_may_change.map(|may_change| {
        let mut capability = ToolsCapability::new();
        capability.list_changed = Some(may_change);
        capability.dynamic_annotations = has_dynamic_effects.then_some(true);
        capability
    });
    let offers = engine.resource_offers();
    let mut extensions = extensions(has_dynamic_effects, offers);
    if let (Some(settings), true) = (engine.ledger_settings(), tools_may_change.is_some()) {
        extensions.insert(extension::IDEMPOTENCY.to_owned(), settings);
        if engine.may_ask() {
            let settings = Object::new()
                .with("version", &1)
                .with("ask", engine.asks().as_str())
                .with("client", &engine.asks_client_of(caller))
                .with("expect", &true)
                .with("explain", &true);
            extensions.insert(extension::APPROVAL.to_owned(), settings);
        }
    }
    capabilities.extensions = Some(extensions).filter(|extensions| !extensions.is_empty());
    capabilities.prompts = engine.prompts_may_change().map(|may_change| {
        let mut capability = ListCapability::new();
        capability.list_changed = may_change.then_some(true);
        capability
    });
    capabilities.resources = offers.map(|offers| {
        let mut capability = ResourcesCapability::new();
        capability.list_changed = offers.changes.then_some(true);
        capability.subscribe = offers.watching.then_some(true);
        capability
    });
    capabilities.completions = engine.completes().then(Object::new);
    capabilities.logging = Some(Object::new());
    capabilities
}

/// Returns the extensions that the server offers beyond the published protocol.
fn extensions(has_dynamic_effects: bool, offers: Option<Offers>) -> BTreeMap<String, Object> {
    let mut extensions = BTreeMap::new();
    if has_dynamic_effects {
        extensions.insert(extension::TOOL_RESOLUTION.to_owned(), Object::new());
        let settings = Object::new().with("version", &1).with("partial", &true);
        extensions.insert(extension::DYNAMIC_ANNOTATIONS.to_owned(), settings);
    }
    if let Some(offers) = offers {
        let settings = Object::new().with("version", &1).with("children", &offers.children);
        extensions.insert(extension::RESOURCE.to_owned(), settings);
        if offers.children {
            let settings = Object::new().with("directoryRead", &true);
            extensions.insert(extension::SKILLS.to_owned(), settings);
        }
    }
    extensions
}

/// Returns the lists whose changes a server has announced. It reports no others.
pub(crate) fn announced_lists(capabilities: &ServerCapabilities) -> Lists {
    let tools = capabilities.tools.as_ref();
    let prompts = capabilities.prompts.as_ref();
    let resources = capabilities.resources.as_ref();
    Lists {
        tools: tools.is_some_and(|t| t.list_changed == Some(true)),
        prompts: prompts.is_some_and(|p| p.list_changed == Some(true)),
        resources: resources.is_some_and(|r| r.list_changed == Some(true)),
    }
}
