//! `logging/setLevel`, of the legacy era.

use candor_protocol::json::Object;
use candor_protocol::names::method::SET_LEVEL;
use candor_protocol::rpc::ErrorObject;
use candor_protocol::types::SetLevelParams;

use super::params;
use crate::answer::Empty;
use crate::dispatch::DispatchResult;
use crate::engine::Engine;
use crate::exchange::RequestContext;

pub(crate) fn answer(engine: &Engine, asked: Object, exchange: &RequestContext) -> DispatchResult {
    let Some(session) = &exchange.session else {
        return Err(ErrorObject::method_not_found(SET_LEVEL));
    };
    let asked: SetLevelParams = params(asked)?;
    session.set_log_level(asked.level);
    Ok(engine.complete(exchange, Empty::default()))
}
