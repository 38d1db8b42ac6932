//! `completion/complete`.

use candor_protocol::json::{Number, Object};
use candor_protocol::names::method::COMPLETE;
use candor_protocol::rpc::ErrorObject;
use candor_protocol::types::{CompleteParams, CompleteResult, Completion};

use super::{asking, params, provider_failed};
use crate::attempt::{AttemptEnd, RunSubject as Attempted, attempt_in_time};
use crate::completion::CompletionSubject;
use crate::ctx::Ctx;
use crate::dispatch::DispatchResult;
use crate::engine::Engine;
use crate::exchange::RequestContext;
use crate::resource::Completing;
use crate::round::Round;
use crate::tool::ToolError;
use crate::trace;

/// The protocol's limit for proposals in one answer.
const MOST: usize = 100;

pub(crate) async fn answer(
    engine: &Engine,
    asked: Object,
    exchange: &RequestContext,
) -> DispatchResult {
    let completions = &engine.parts().completions;
    let resources = &engine.parts().resources;
    if !engine.parts().completes() {
        return Err(ErrorObject::method_not_found(COMPLETE));
    }
    let asked: CompleteParams = params(asked)?;
    let subject = CompletionSubject::of(asked.reference)?;
    let decided = asked.context.and_then(|c| c.arguments).unwrap_or_default();
    let (argument, typed) = (asked.argument.name, asked.argument.value);
    let from_tree = match &subject {
        CompletionSubject::Template(template) => {
            let completing =
                Completing { template, variable: &argument, typed: &typed, decided: &decided };
            resources
                .complete(&completing, &exchange.principal)
                .await
                .map_err(|trouble| trouble.into_error("", exchange.era(), true))?
        }
        CompletionSubject::Prompt(_) => None,
    };
    let mut values = match from_tree {
        Some(values) => values,
        None => match (completions.find(&subject, &argument), &subject) {
            (Some(propose), _) => run(engine, exchange, |ctx| propose(typed, decided, ctx)).await?,
            (None, CompletionSubject::Prompt(name)) => {
                values_of_prompt(engine, exchange, name, &argument, &typed).await?
            }
            (None, CompletionSubject::Template(_)) => Vec::new(),
        },
    };
    let total = values.len();
    values.truncate(MOST);
    let mut completion = Completion::new(values);
    completion.total = Some(Number::from(total));
    completion.has_more = Some(total > MOST);
    Ok(engine.complete(exchange, CompleteResult::new(completion)))
}

/// Returns the values that a prompt proposes for its own argument.
async fn values_of_prompt(
    engine: &Engine,
    exchange: &RequestContext,
    name: &str,
    argument: &str,
    typed: &str,
) -> Result<Vec<String>, ErrorObject> {
    let Some(source) = &engine.parts().prompts else { return Ok(Vec::new()) };
    let prompts =
        source.get(&exchange.principal).await.map_err(|e| provider_failed(&e, "prompts"))?;
    Ok(prompts.find(name).map(|prompt| prompt.proposals(argument, typed)).unwrap_or_default())
}

async fn run<F>(
    engine: &Engine,
    exchange: &RequestContext,
    propose: impl FnOnce(Ctx) -> F,
) -> Result<Vec<String>, ErrorObject>
where
    F: Future<Output = Result<Vec<String>, ToolError>>,
{
    let ctx = Ctx::new(engine, exchange, Round::default());
    let subject = Attempted { method: COMPLETE, name: "" };
    let ran = attempt_in_time(&ctx, subject, propose).await;
    ctx.end().await;
    match ran {
        AttemptEnd::Done(proposals) => proposals.map_err(|e| e.into_protocol_error(exchange.era())),
        // The protocol allows no questions here: the user is typing.
        AttemptEnd::Asks(_) => {
            trace::note(
                "a completion handler asked the client a question, which the modern era does not allow",
            );
            tracing::error!(trace_id = trace::id(), "a completion asked its client");
            Err(ErrorObject::internal(asking::PANICKED))
        }
        AttemptEnd::Panicked => Err(ErrorObject::internal(asking::PANICKED)),
        AttemptEnd::TookTooLong => Err(ErrorObject::internal(asking::TOOK_TOO_LONG)),
    }
}
