//! The frame around the three methods whose handlers may ask: `tools/call`, `prompts/get`, `resources/read`.

use candor_protocol::json::{Object, RawValue};
use candor_protocol::rpc::ErrorObject;

use crate::answer::Answer;
use crate::attempt::{AttemptEnd, RunSubject, attempt_in_time};
use crate::ctx::Ctx;
use crate::engine::Engine;
use crate::exchange::RequestContext;
use crate::round::{CarriedState, Questions, RequestBinding, ResumePoint, RetryState, Round};

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
) -> Result<RetryState<'a>, ErrorObject> {
    // An explicit null is neither an answer nor the absence of one.
    if extra.get("inputResponses").is_some() || extra.get("requestState").is_some() {
        return Err(ErrorObject::invalid_params(
            "Invalid params: inputResponses and requestState cannot be null",
        ));
    }
    Ok(RetryState { responses, state })
}

/// Runs a handler to its end, or to its first questions that have no answer yet.
pub(super) async fn run<T, F>(
    engine: &Engine,
    exchange: &RequestContext,
    binding: &RequestBinding<'_>,
    round: Round,
    handler: impl FnOnce(Ctx) -> F,
) -> AttemptEnd<T>
where
    F: Future<Output = T>,
{
    let ctx = Ctx::new(engine, exchange, round);
    let subject = RunSubject { method: binding.method, name: binding.name };
    let ran = attempt_in_time(&ctx, subject, handler).await;
    ctx.end().await;
    ran
}

/// What a retry brings, for a handler to find.
pub(super) fn begin(
    engine: &Engine,
    exchange: &RequestContext,
    binding: &RequestBinding<'_>,
    brought: &RetryState<'_>,
) -> Result<Round, ErrorObject> {
    Round::begin(engine.rounds(), &exchange.principal, binding, brought)
}

/// Answers with questions, whose answers may go on with a call in the ledger.
pub(super) fn ask(
    engine: &Engine,
    exchange: &RequestContext,
    binding: &RequestBinding<'_>,
    questions: Questions,
    resumes: Option<ResumePoint>,
    carried: CarriedState,
) -> Answer {
    let bound = binding.digest(&exchange.principal);
    let put = questions.put(engine.rounds(), &bound, engine.limits().round, resumes, carried);
    engine.input_required(exchange, put)
}
