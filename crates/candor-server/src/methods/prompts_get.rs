//! `prompts/get`.

use std::borrow::Cow;

use candor_protocol::json::Object;
use candor_protocol::names::extension;
use candor_protocol::names::method::PROMPTS_GET;
use candor_protocol::rpc::ErrorObject;
use candor_protocol::types::GetPromptParams;
use candor_schema::Invalid;
use serde_json::json;

use super::asking;
use super::{params, provider_failed};
use crate::attempt::AttemptEnd;
use crate::dispatch::DispatchResult;
use crate::engine::Engine;
use crate::exchange::RequestContext;
use crate::resource::Publisher;
use crate::round::{CarriedState, RequestBinding};
use crate::tool::fields;

pub(crate) async fn answer(
    engine: &Engine,
    asked: Object,
    exchange: &RequestContext,
) -> DispatchResult {
    let Some(source) = &engine.parts().prompts else {
        return Err(ErrorObject::method_not_found(PROMPTS_GET));
    };
    let asked: GetPromptParams = params(asked)?;
    let brought = asking::brought(
        asked.input_responses.as_deref(),
        asked.request_state.as_deref(),
        &asked.extra,
    )?;
    let prompts =
        source.get(&exchange.principal).await.map_err(|e| provider_failed(&e, "prompts"))?;
    let prompt = prompts
        .find(&asked.name)
        .ok_or_else(|| ErrorObject::invalid_params(format!("Unknown prompt: {}", asked.name)))?;
    let arguments = asked.arguments.unwrap_or_default();
    if let Some(missing) = prompt.missing_argument(&arguments) {
        return Err(ErrorObject::invalid_params(format!(
            "Invalid params: the prompt needs the argument {missing:?}"
        )));
    }
    let binding = RequestBinding {
        method: PROMPTS_GET,
        name: &asked.name,
        arguments: Cow::Owned(json!(&arguments)),
        key: None,
    };
    let fill = prompt.prepare(arguments).map_err(invalid)?;
    let round = asking::begin(engine, exchange, &binding, &brought)?;
    match asking::run(engine, exchange, &binding, round, fill).await {
        AttemptEnd::Done(Ok(mut result)) => {
            result.drop_nulls();
            let blocks = result.messages.iter_mut().map(|message| &mut message.content);
            Publisher::to(&exchange.client).blocks(blocks);
            Ok(engine.complete(exchange, result))
        }
        AttemptEnd::Done(Err(error)) => Err(error.into_protocol_error(exchange.era())),
        AttemptEnd::Asks(questions) => {
            Ok(asking::ask(engine, exchange, &binding, questions, None, CarriedState::default()))
        }
        AttemptEnd::Panicked => Err(ErrorObject::internal(asking::PANICKED)),
        AttemptEnd::TookTooLong => Err(ErrorObject::internal(asking::TOOK_TOO_LONG)),
    }
}

/// Returns the error for arguments that the prompt's types reject. Its pointers start at the request's parameters.
fn invalid(mut invalid: Invalid) -> ErrorObject {
    for violation in &mut invalid.violations {
        violation.pointer.insert_str(0, "/arguments");
    }
    let data = json!({extension::ERROR: {"fields": fields(&invalid.violations)}});
    ErrorObject::invalid_params(format!("Invalid params: {invalid}")).with_data(&data)
}
