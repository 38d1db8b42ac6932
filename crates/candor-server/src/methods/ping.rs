//! `ping`, of the legacy era.

use crate::answer::Empty;
use crate::dispatch::DispatchResult;
use crate::engine::Engine;
use crate::exchange::RequestContext;

#[allow(clippy::unnecessary_wraps)] // all methods answer alike
pub(crate) fn answer(engine: &Engine, exchange: &RequestContext) -> DispatchResult {
    Ok(engine.complete(exchange, Empty::default()))
}
