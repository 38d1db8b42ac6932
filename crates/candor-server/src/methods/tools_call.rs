//! `tools/call`: the pipeline. The stages stand in the order in which they happen.

use std::borrow::Cow;

use candor_protocol::Era;
use candor_protocol::json::Object;
use candor_protocol::names::method;
use candor_protocol::rpc::ErrorObject;
use candor_protocol::types::{CallToolParams, CallToolResult, Content};
use serde_json::json;

use super::asking::{self, Ran};
use super::{params, provider_failed};
use crate::arguments::Arguments;
use crate::dispatch::Answered;
use crate::engine::Engine;
use crate::exchange::Exchange;
use crate::mirror;
use crate::round::Binding;
use crate::tool::{Entry, ErrorKind, Output, Prepared, ToolError};

pub(crate) async fn answer(engine: &Engine, asked: Object, exchange: &Exchange) -> Answered {
    // decode
    let Some(source) = &engine.parts().tools else {
        return Err(ErrorObject::method_not_found(method::TOOLS_CALL));
    };
    let call: CallToolParams = params(asked)?;
    let arguments = Arguments::decode(call.arguments.as_deref())
        .map_err(|problem| ErrorObject::invalid_params(format!("Invalid params: {problem}")))?;
    let brought = asking::brought(
        call.input_responses.as_deref(),
        call.request_state.as_deref(),
        &call.extra,
    )?;

    // look up
    let tools = source.get(&exchange.principal).await.map_err(|e| provider_failed(&e, "tools"))?;
    let entry = tools.find(&call.name).ok_or_else(|| unknown(&call.name))?;

    // validate
    if let Some(headers) = &exchange.mirrored {
        mirror::check(&entry.mirrors, headers, &arguments)?;
    }
    let prepared = match validate(entry, &arguments) {
        Ok(prepared) => prepared,
        Err(result) => return Ok(engine.complete(exchange, result)),
    };

    // run
    let binding = Binding {
        method: method::TOOLS_CALL,
        name: &call.name,
        arguments: Cow::Borrowed(arguments.as_value()),
    };
    let ran = asking::run(engine, exchange, &binding, &brought, |ctx| prepared.run(ctx)).await?;

    // shape
    let result = match ran {
        Ran::Asks(questions) => return Ok(engine.input_required(exchange, questions)),
        Ran::Panicked => failure(asking::PANICKED.to_owned()),
        Ran::TookTooLong => failure(asking::TOOK_TOO_LONG.to_owned()),
        Ran::Done(outcome) => shape(entry, outcome, exchange.era())?,
    };

    // encode
    Ok(engine.complete(exchange, result))
}

fn unknown(name: &str) -> ErrorObject {
    ErrorObject::invalid_params(format!("Unknown tool: {name}")).with_data(&json!({"tool": name}))
}

/// Arguments that do not fit are the model's to mend, so they are a result, not an error (SEP-1303).
fn validate(entry: &Entry, arguments: &Arguments) -> Result<Box<dyn Prepared>, CallToolResult> {
    entry.input.check(arguments).and_then(|()| entry.tool.prepare(arguments.clone())).map_err(
        |invalid| {
            failure(format!("Invalid arguments for {}: {invalid}", entry.tool.definition().name))
        },
    )
}

/// From what the tool returned to what the client may see.
fn shape(
    entry: &Entry,
    outcome: Result<Output, ToolError>,
    era: Era,
) -> Result<CallToolResult, ErrorObject> {
    match outcome {
        Ok(output) => {
            if let Some(violation) = broken_promise(entry, &output) {
                tracing::error!(
                    tool = entry.tool.definition().name,
                    violation,
                    "a result does not fit the output schema"
                );
                return Ok(failure(
                    "result_invalid: the tool ran, but its result does not fit its output schema"
                        .to_owned(),
                ));
            }
            let mut result = output.into_result();
            // Up to 2025-11-25 structured content is an object or absent; the text says the same.
            if era == Era::Legacy
                && result.structured_content.as_ref().is_some_and(|raw| !raw.get().starts_with('{'))
            {
                result.structured_content = None;
            }
            Ok(result)
        }
        Err(error) => match error.0 {
            ErrorKind::Failed(result) => Ok(*result),
            ErrorKind::Ask(error) => match error.protocol_error(era) {
                Some(error) => Err(error),
                None => Ok(failure(error.to_string())),
            },
        },
    }
}

/// How a result breaks the tool's output schema, if it does.
fn broken_promise(entry: &Entry, output: &Output) -> Option<String> {
    let schema = entry.output.as_ref()?;
    match &output.structured {
        None => Some("there is no structured content".to_owned()),
        Some(value) => schema.check(value).err().map(|invalid| invalid.to_string()),
    }
}

fn failure(message: String) -> CallToolResult {
    let mut result = CallToolResult::new(vec![Content::text(message)]);
    result.is_error = Some(true);
    result
}
