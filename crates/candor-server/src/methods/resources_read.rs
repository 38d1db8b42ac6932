//! `resources/read`.

use std::borrow::Cow;

use candor_protocol::json::{Number, Object};
use candor_protocol::names::method::RESOURCES_READ;
use candor_protocol::rpc::ErrorObject;
use candor_protocol::types::ResourceUriParams;

use super::asking;
use super::params;
use crate::answer::CacheHint;
use crate::attempt::Ran;
use crate::dispatch::Answered;
use crate::engine::Engine;
use crate::exchange::Exchange;
use crate::resource::{Publisher, Trouble};
use crate::room::Full;
use crate::round::{Binding, Carried};

pub(crate) async fn answer(engine: &Engine, asked: Object, exchange: &Exchange) -> Answered {
    let tree = super::resources(engine, RESOURCES_READ)?;
    let asked: ResourceUriParams = params(asked)?;
    let brought = asking::brought(
        asked.input_responses.as_deref(),
        asked.request_state.as_deref(),
        &asked.extra,
    )?;
    let asked_before = asked.request_state.is_some() || asked.input_responses.is_some();
    let uri = asked.uri.as_str();
    let refused = |trouble: Trouble| trouble.into_error(uri, exchange.era(), true);
    let found = tree.find(uri, &exchange.principal).await.map_err(refused)?;
    let binding = Binding {
        method: RESOURCES_READ,
        name: uri,
        arguments: Cow::Owned(serde_json::Value::Null),
        key: None,
    };
    if let Some(capacity) = &exchange.response
        && let Some(size) = found.resource.size.as_ref().and_then(Number::as_u64)
    {
        capacity.wait_for_resource(size).await.map_err(Full::why)?;
    }
    let round = asking::begin(engine, exchange, &binding, &brought)?;
    match asking::run(engine, exchange, &binding, round, |ctx| found.read(uri, ctx)).await {
        Ran::Done(Ok(Some(contents))) => {
            let settled = tree.settle(&found, uri, contents, &exchange.principal).await;
            let mut result = settled.map_err(refused)?;
            let publisher = Publisher::to(&exchange.client);
            result.contents.iter_mut().for_each(|content| publisher.contents(content));
            // What depends on answers must not be kept: they are no part of a cache's key.
            let hint = if asked_before { CacheHint::default() } else { engine.parts().cache };
            Ok(engine.complete_cacheable(exchange, result, hint))
        }
        Ran::Done(Ok(None)) => Err(refused(Trouble::NotFound)),
        Ran::Done(Err(error)) => Err(refused(Trouble::Failed(error))),
        Ran::Asks(questions) => {
            Ok(asking::ask(engine, exchange, &binding, questions, None, Carried::default()))
        }
        Ran::Panicked => Err(ErrorObject::internal(asking::PANICKED)),
        Ran::TookTooLong => Err(ErrorObject::internal(asking::TOOK_TOO_LONG)),
    }
}
