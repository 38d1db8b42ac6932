//! `resources/metadata`: what a resource is, without reading it.

use candor_protocol::json::Object;
use candor_protocol::names::method::RESOURCES_METADATA;
use candor_protocol::types::{ResourceMetadataResult, ResourceUriParams};

use super::params;
use crate::dispatch::DispatchResult;
use crate::engine::Engine;
use crate::exchange::RequestContext;
use crate::resource::Publisher;

pub(crate) async fn answer(
    engine: &Engine,
    asked: Object,
    exchange: &RequestContext,
) -> DispatchResult {
    let tree = super::resources(engine, RESOURCES_METADATA)?;
    let asked: ResourceUriParams = params(asked)?;
    let found = tree
        .find(&asked.uri, &exchange.principal)
        .await
        .map_err(|trouble| trouble.into_error(&asked.uri, exchange.era(), false))?;
    let resource = Publisher::to(&exchange.client).resource(found.resource);
    let result = ResourceMetadataResult::new(resource);
    Ok(engine.complete_cacheable(exchange, result, engine.parts().cache))
}
