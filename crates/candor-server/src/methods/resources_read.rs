//! `resources/read`.

use std::borrow::Cow;

use candor_protocol::Era;
use candor_protocol::json::Object;
use candor_protocol::names::method::RESOURCES_READ;
use candor_protocol::rpc::{ErrorObject, code};
use candor_protocol::types::ResourceUriParams;
use serde_json::json;

use super::asking::{self, Ran};
use super::params;
use crate::answer::CacheHint;
use crate::dispatch::Answered;
use crate::engine::Engine;
use crate::exchange::Exchange;
use crate::round::Binding;

pub(crate) async fn answer(engine: &Engine, asked: Object, exchange: &Exchange) -> Answered {
    let Some(resources) = &engine.parts().resources else {
        return Err(ErrorObject::method_not_found(RESOURCES_READ));
    };
    let asked: ResourceUriParams = params(asked)?;
    let brought = asking::brought(
        asked.input_responses.as_deref(),
        asked.request_state.as_deref(),
        &asked.extra,
    )?;
    let asked_before = asked.request_state.is_some() || asked.input_responses.is_some();
    let binding = Binding {
        method: RESOURCES_READ,
        name: &asked.uri,
        arguments: Cow::Owned(serde_json::Value::Null),
    };
    match asking::run(engine, exchange, &binding, &brought, |ctx| resources.read(&asked.uri, ctx))
        .await?
    {
        Ran::Done(Ok(Some(result))) => {
            // What depends on answers must not be kept: they are no part of a cache's key.
            let hint = if asked_before { CacheHint::default() } else { engine.parts().cache };
            Ok(engine.complete_cacheable(exchange, result, hint))
        }
        Ran::Done(Ok(None)) => Err(not_found(&asked.uri, exchange.era())),
        Ran::Done(Err(error)) => Err(error.into_protocol_error(exchange.era())),
        Ran::Asks(questions) => Ok(engine.input_required(exchange, questions)),
        Ran::Panicked => Err(ErrorObject::internal(asking::PANICKED)),
        Ran::TookTooLong => Err(ErrorObject::internal(asking::TOOK_TOO_LONG)),
    }
}

/// The code differs by era; the modern revision forbids the old one.
pub(super) fn not_found(uri: &str, era: Era) -> ErrorObject {
    let code = match era {
        Era::Legacy => code::RESOURCE_NOT_FOUND,
        Era::Modern => code::INVALID_PARAMS,
    };
    ErrorObject::new(code, "Resource not found").with_data(&json!({"uri": uri}))
}
