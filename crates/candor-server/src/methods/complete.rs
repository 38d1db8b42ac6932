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

/// The protocol's bound on proposals in one answer.
const MOST: usize = 100;

pub(crate) async fn answer(engine: &Engine, asked: Object, exchange: &Exchange) -> Answered {
    let completions = &engine.parts().completions;
    if completions.is_empty() {
        return Err(ErrorObject::method_not_found(COMPLETE));
    }
    let asked: CompleteParams = params(asked)?;
    let subject = Subject::of(asked.reference)?;
    let decided = asked.context.and_then(|c| c.arguments).unwrap_or_default();
    let mut values =
        completions.propose(subject, asked.argument.name, asked.argument.value, decided).await;
    let total = values.len();
    values.truncate(MOST);
    let mut completion = Completion::new(values);
    completion.total = Some(Number::from(total));
    completion.has_more = Some(total > MOST);
    Ok(engine.complete(exchange, CompleteResult::new(completion)))
}
