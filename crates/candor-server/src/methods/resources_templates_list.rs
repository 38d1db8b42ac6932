//! `resources/templates/list`.

use candor_protocol::json::Object;
use candor_protocol::names::method::RESOURCES_TEMPLATES_LIST;

use crate::dispatch::DispatchResult;
use crate::engine::Engine;
use crate::exchange::RequestContext;

pub(crate) async fn answer(
    engine: &Engine,
    asked: Object,
    exchange: &RequestContext,
) -> DispatchResult {
    let tree = super::resources(engine, RESOURCES_TEMPLATES_LIST)?;
    let listed = tree
        .templates(&exchange.principal)
        .await
        .map_err(|trouble| trouble.into_error("", exchange.era(), true))?;
    super::list(engine, exchange, RESOURCES_TEMPLATES_LIST, "resourceTemplates", asked, &listed)
}
