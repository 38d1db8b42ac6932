//! `completion/complete`.

use candor_protocol::json::{Number, Object};
use candor_protocol::names::method::COMPLETE;
use candor_protocol::rpc::ErrorObject;
use candor_protocol::types::{CompleteParams, CompleteResult, Completion};

use super::params;
use crate::completion::Subject;
use crate::dispatch::Answered;
use crate::engine::Engine;
use crate::exchange::Exchange;
use crate::resource::Completing;

/// The protocol's bound on proposals in one answer.
const MOST: usize = 100;

pub(crate) async fn answer(engine: &Engine, asked: Object, exchange: &Exchange) -> Answered {
    let completions = &engine.parts().completions;
    let resources = &engine.parts().resources;
    if completions.is_empty() && !resources.offers().completion {
        return Err(ErrorObject::method_not_found(COMPLETE));
    }
    let asked: CompleteParams = params(asked)?;
    let subject = Subject::of(asked.reference)?;
    let decided = asked.context.and_then(|c| c.arguments).unwrap_or_default();
    let (argument, typed) = (asked.argument.name, asked.argument.value);
    let from_tree = match &subject {
        Subject::Template(template) => {
            let completing =
                Completing { template, variable: &argument, typed: &typed, decided: &decided };
            resources
                .complete(&completing, &exchange.principal)
                .await
                .map_err(|trouble| trouble.into_error("", exchange.era(), true))?
        }
        Subject::Prompt(_) => None,
    };
    let mut values = match from_tree {
        Some(values) => values,
        None => completions.propose(subject, argument, typed, decided).await,
    };
    let total = values.len();
    values.truncate(MOST);
    let mut completion = Completion::new(values);
    completion.total = Some(Number::from(total));
    completion.has_more = Some(total > MOST);
    Ok(engine.complete(exchange, CompleteResult::new(completion)))
}
