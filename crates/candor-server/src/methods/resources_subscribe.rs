//! `resources/subscribe` and `resources/unsubscribe`, of the legacy era.

use candor_protocol::json::Object;
use candor_protocol::names::method::{RESOURCES_SUBSCRIBE, RESOURCES_UNSUBSCRIBE};
use candor_protocol::rpc::ErrorObject;
use candor_protocol::types::ResourceUriParams;
use serde_json::json;

use super::params;
use crate::answer::Empty;
use crate::dispatch::Answered;
use crate::engine::Engine;
use crate::exchange::Exchange;

pub(crate) fn subscribe(engine: &Engine, asked: Object, exchange: &Exchange) -> Answered {
    let resources = engine.parts().resources.as_ref().filter(|r| r.watches());
    let (Some(resources), Some(session)) = (resources, &exchange.session) else {
        return Err(ErrorObject::method_not_found(RESOURCES_SUBSCRIBE));
    };
    let asked: ResourceUriParams = params(asked)?;
    if !resources.can_watch(&asked.uri) {
        return Err(ErrorObject::invalid_params("This resource cannot be watched")
            .with_data(&json!({"uri": asked.uri})));
    }
    session.subscribe(asked.uri);
    Ok(engine.complete(exchange, Empty::default()))
}

pub(crate) fn unsubscribe(engine: &Engine, asked: Object, exchange: &Exchange) -> Answered {
    let watched = engine.parts().resources.as_ref().is_some_and(|r| r.watches());
    let (true, Some(session)) = (watched, &exchange.session) else {
        return Err(ErrorObject::method_not_found(RESOURCES_UNSUBSCRIBE));
    };
    let asked: ResourceUriParams = params(asked)?;
    session.unsubscribe(&asked.uri);
    Ok(engine.complete(exchange, Empty::default()))
}
