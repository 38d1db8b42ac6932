//! Shared code of the three methods whose handlers can ask the client: `tools/call`, `prompts/get`, `resources/read`.

use candor_protocol::json::{Object, RawValue};
use candor_protocol::rpc::ErrorObject;

use crate::answer::Answer;
use crate::attempt::{AttemptEnd, RunSubject, attempt_in_time};
use crate::ctx::Ctx;
use crate::engine::Engine;
use crate::exchange::RequestContext;
use crate::round::{CarriedState, Questions, RequestBinding, ResumePoint, RetryState, Round};

/// The text that the client receives if the handler panicked.
pub(super) const PANICKED: &str = "It failed unexpectedly; the server's log says why.";

/// The text that the client receives if the handler took too long and was stopped.
pub(super) const TOOK_TOO_LONG: &str =
    "It took too long and was stopped; what it had done by then is not known.";

/// Returns what a retry carries, from the members that the three methods share.
pub(super) fn brought<'a>(
    responses: Option<&'a RawValue>,
    state: Option<&'a str>,
    extra: &Object,
) -> Result<RetryState<'a>, ErrorObject> {
    // An explicit null is neither an answer nor an absent one.
    if extra.get("inputResponses").is_some() || extra.get("requestState").is_some() {
        return Err(ErrorObject::invalid_params(
            "Invalid params: inputResponses and requestState cannot be null",
        ));
    }
    Ok(RetryState { responses, state })
}

/// Runs a handler until it ends, or until it asks questions that have no answer yet.
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

/// Starts a round, in which the handler finds the answers that a retry carries.
pub(super) fn begin(
    engine: &Engine,
    exchange: &RequestContext,
    binding: &RequestBinding<'_>,
    brought: &RetryState<'_>,
) -> Result<Round, ErrorObject> {
    Round::begin(engine.rounds(), &exchange.principal, binding, brought)
}

/// Answers with questions. If `resumes` is given, their answers resume a recorded call.
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
