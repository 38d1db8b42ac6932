//! `ping`, of the legacy era.

use crate::answer::Empty;
use crate::dispatch::Answered;
use crate::engine::Engine;
use crate::exchange::Exchange;

#[allow(clippy::unnecessary_wraps)] // all methods answer alike
pub(crate) fn answer(engine: &Engine, exchange: &Exchange) -> Answered {
    Ok(engine.complete(exchange, Empty::default()))
}
