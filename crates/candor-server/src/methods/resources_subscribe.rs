//! `resources/subscribe` and `resources/unsubscribe`, of the legacy era.

use std::sync::Arc;

use candor_protocol::json::Object;
use candor_protocol::names::method::{RESOURCES_SUBSCRIBE, RESOURCES_UNSUBSCRIBE};
use candor_protocol::rpc::ErrorObject;
use candor_protocol::types::ResourceUriParams;

use super::params;
use crate::answer::Empty;
use crate::dispatch::DispatchResult;
use crate::engine::Engine;
use crate::exchange::RequestContext;
use crate::room::AtCapacity;
use crate::session::Session;

/// Maximum number of watched resources. The protocol sets no limit, but each watch uses memory.
pub(crate) const MOST_WATCHED: usize = 10_000;

pub(crate) async fn subscribe(
    engine: &Engine,
    asked: Object,
    exchange: &RequestContext,
) -> DispatchResult {
    let session = watching(engine, exchange, RESOURCES_SUBSCRIBE)?;
    let asked: ResourceUriParams = params(asked)?;
    // A session that subscribes again already has a slot.
    let place = session.place_of(&asked.uri);
    if place.is_none() && session.watched() >= MOST_WATCHED {
        return Err(ErrorObject::invalid_params(format!(
            "At most {MOST_WATCHED} resources are watched at a time; unsubscribe from some first"
        )));
    }
    let place = match place {
        Some(place) => place,
        None => Arc::new(engine.rooms().watched(exchange.sharer()).map_err(AtCapacity::why)?),
    };
    let watching = engine
        .parts()
        .resources
        .watch(&asked.uri, engine.changes(), &exchange.principal)
        .await
        .map_err(|trouble| trouble.into_error(&asked.uri, exchange.era(), true))?;
    session.subscribe(asked.uri, (watching, place));
    Ok(engine.complete(exchange, Empty::default()))
}

pub(crate) fn unsubscribe(
    engine: &Engine,
    asked: Object,
    exchange: &RequestContext,
) -> DispatchResult {
    let session = watching(engine, exchange, RESOURCES_UNSUBSCRIBE)?;
    let asked: ResourceUriParams = params(asked)?;
    session.unsubscribe(&asked.uri);
    Ok(engine.complete(exchange, Empty::default()))
}

/// Returns the session. Without a session or resources to watch, the method does not exist.
fn watching<'a>(
    engine: &Engine,
    exchange: &'a RequestContext,
    method: &str,
) -> Result<&'a Arc<Session>, ErrorObject> {
    let session = exchange.session.as_ref().filter(|_| engine.parts().resources.offers().watching);
    session.ok_or_else(|| ErrorObject::method_not_found(method))
}
