//! `resources/read`.

use std::borrow::Cow;

use candor_protocol::json::{Number, Object};
use candor_protocol::names::method::RESOURCES_READ;
use candor_protocol::rpc::ErrorObject;
use candor_protocol::types::ResourceUriParams;

use super::asking;
use super::params;
use crate::answer::CacheHint;
use crate::attempt::AttemptEnd;
use crate::dispatch::DispatchResult;
use crate::engine::Engine;
use crate::exchange::RequestContext;
use crate::resource::{Publisher, ResourceFailure};
use crate::room::AtCapacity;
use crate::round::{CarriedState, RequestBinding};

pub(crate) async fn answer(
    engine: &Engine,
    asked: Object,
    exchange: &RequestContext,
) -> DispatchResult {
    let tree = super::resources(engine, RESOURCES_READ)?;
    let asked: ResourceUriParams = params(asked)?;
    let brought = asking::brought(
        asked.input_responses.as_deref(),
        asked.request_state.as_deref(),
        &asked.extra,
    )?;
    let asked_before = asked.request_state.is_some() || asked.input_responses.is_some();
    let uri = asked.uri.as_str();
    let refused = |trouble: ResourceFailure| trouble.into_error(uri, exchange.era(), true);
    let found = tree.find(uri, &exchange.principal).await.map_err(refused)?;
    let binding = RequestBinding {
        method: RESOURCES_READ,
        name: uri,
        arguments: Cow::Owned(serde_json::Value::Null),
        key: None,
    };
    if let Some(capacity) = &exchange.response
        && let Some(size) = found.resource.size.as_ref().and_then(Number::as_u64)
    {
        capacity.wait_for_resource(size).await.map_err(AtCapacity::why)?;
    }
    let round = asking::begin(engine, exchange, &binding, &brought)?;
    match asking::run(engine, exchange, &binding, round, |ctx| found.read(uri, ctx)).await {
        AttemptEnd::Done(Ok(Some(contents))) => {
            let settled = tree.settle(&found, uri, contents, &exchange.principal).await;
            let mut result = settled.map_err(refused)?;
            let publisher = Publisher::to(&exchange.client);
            result.contents.iter_mut().for_each(|content| publisher.contents(content));
            // A result that depends on the client's answers must not be cached: they are not part of a cache's key.
            let hint = if asked_before { CacheHint::default() } else { engine.parts().cache };
            Ok(engine.complete_cacheable(exchange, result, hint))
        }
        AttemptEnd::Done(Ok(None)) => Err(refused(ResourceFailure::NotFound)),
        AttemptEnd::Done(Err(error)) => Err(refused(ResourceFailure::Failed(error))),
        AttemptEnd::Asks(questions) => {
            Ok(asking::ask(engine, exchange, &binding, questions, None, CarriedState::default()))
        }
        AttemptEnd::Panicked => Err(ErrorObject::internal(asking::PANICKED)),
        AttemptEnd::TookTooLong => Err(ErrorObject::internal(asking::TOOK_TOO_LONG)),
    }
}
