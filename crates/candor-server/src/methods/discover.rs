//! `server/discover`, of the modern era.

use candor_protocol::Revision;
use candor_protocol::types::DiscoverResult;

use crate::dispatch::DispatchResult;
use crate::engine::Engine;
use crate::exchange::RequestContext;

pub(crate) fn answer(engine: &Engine, exchange: &RequestContext) -> DispatchResult {
    let versions: Vec<String> = Revision::ALL.iter().map(|r| r.as_str().to_owned()).collect();
    let mut result = DiscoverResult::new(versions, engine.capabilities(Some(&exchange.principal)));
    result.instructions = engine.parts().instructions.clone();
    Ok(engine.complete_cacheable(exchange, result, engine.parts().cache))
}
