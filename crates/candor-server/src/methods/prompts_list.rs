//! `prompts/list`.

use candor_protocol::json::Object;
use candor_protocol::names::method::PROMPTS_LIST;
use candor_protocol::rpc::ErrorObject;

use super::provider_failed;
use crate::dispatch::DispatchResult;
use crate::engine::Engine;
use crate::exchange::RequestContext;

pub(crate) async fn answer(
    engine: &Engine,
    asked: Object,
    exchange: &RequestContext,
) -> DispatchResult {
    let Some(source) = &engine.parts().prompts else {
        return Err(ErrorObject::method_not_found(PROMPTS_LIST));
    };
    let prompts =
        source.get(&exchange.principal).await.map_err(|e| provider_failed(&e, "prompts"))?;
    let listed: Vec<_> = prompts.definitions().collect();
    super::list(engine, exchange, PROMPTS_LIST, "prompts", asked, &listed)
}
