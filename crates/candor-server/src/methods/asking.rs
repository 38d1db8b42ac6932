//! The frame around the three methods whose handlers may ask: `tools/call`, `prompts/get`, `resources/read`.

use std::panic::AssertUnwindSafe;

use candor_protocol::json::{Object, RawValue};
use candor_protocol::rpc::ErrorObject;
use candor_protocol::types::InputRequired;
use futures_util::FutureExt;

use crate::ctx::Ctx;
use crate::engine::Engine;
use crate::exchange::Exchange;
use crate::round::{Binding, Brought, Round};

/// How a handler ended.
pub(super) enum Ran<T> {
    /// With a value.
    Done(T),
    /// With questions for a modern client.
    Asks(InputRequired),
    /// With a panic; it has been logged.
    Panicked,
    /// Not in time; it has been stopped, and that has been logged.
    TookTooLong,
}

/// What to tell the client of a handler that panicked.
pub(super) const PANICKED: &str = "It failed unexpectedly; the server's log says why.";

/// What to tell the client of a handler that was stopped.
pub(super) const TOOK_TOO_LONG: &str =
    "It took too long and was stopped; what it had done by then is not known.";

/// What a retry brings, from the members that the three methods share.
pub(super) fn brought<'a>(
    responses: Option<&'a RawValue>,
    state: Option<&'a str>,
    extra: &Object,
) -> Result<Brought<'a>, ErrorObject> {
    // An explicit null is neither an answer nor the absence of one.
    if extra.get("inputResponses").is_some() || extra.get("requestState").is_some() {
        return Err(ErrorObject::invalid_params(
            "Invalid params: inputResponses and requestState cannot be null",
        ));
    }
    Ok(Brought { responses, state })
}

/// Runs a handler to its end, or to its first questions that have no answer yet.
pub(super) async fn run<T, F>(
    engine: &Engine,
    exchange: &Exchange,
    binding: &Binding<'_>,
    brought: &Brought<'_>,
    handler: impl FnOnce(Ctx) -> F,
) -> Result<Ran<T>, ErrorObject>
where
    F: Future<Output = T>,
{
    let round = Round::begin(engine.rounds(), &exchange.principal, binding, brought)?;
    let ctx = Ctx::new(engine, exchange, round);
    // A handler may panic before its first await, so it is called inside.
    let started = AssertUnwindSafe(async { handler(ctx.clone()).await }).catch_unwind();
    let in_time = tokio::select! {
        biased;
        ran = ctx.round().run(started) => Some(ran),
        () = ctx.deadline().passed() => None,
    };
    let ran = match in_time {
        None => {
            tracing::warn!(method = binding.method, name = binding.name, "a handler took too long");
            Ran::TookTooLong
        }
        Some(Some(Ok(value))) => Ran::Done(value),
        Some(Some(Err(panic))) => {
            let reason = panic.downcast_ref::<&str>().map(|s| (*s).to_owned());
            let reason =
                reason.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default();
            tracing::error!(
                method = binding.method,
                name = binding.name,
                reason,
                "a handler panicked"
            );
            Ran::Panicked
        }
        Some(None) => Ran::Asks(ctx.round().suspend(
            engine.rounds(),
            &exchange.principal,
            binding,
            engine.limits().round,
        )),
    };
    ctx.end().await;
    Ok(ran)
}
