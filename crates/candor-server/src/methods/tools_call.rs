//! `tools/call`: the pipeline. The stages stand in the order in which they happen.

use std::borrow::Cow;

use candor_hints::Hints;
use candor_protocol::Era;
use candor_protocol::json::{Decode, Json, Object, RawValue};
use candor_protocol::names::{extension, method};
use candor_protocol::rpc::ErrorObject;
use candor_protocol::types::{CallToolParams, CallToolResult};
use serde_json::{Value, json};

use super::asking::{self, Ran};
use super::{params, provider_failed};
use crate::arguments::Arguments;
use crate::dispatch::Answered;
use crate::engine::Engine;
use crate::exchange::Exchange;
use crate::mirror;
use crate::resource::Publisher;
use crate::round::Binding;
use crate::tool::{Entry, Invalid, Output, Prepared, ToolError, code, effects};

pub(crate) async fn answer(engine: &Engine, asked: Object, exchange: &Exchange) -> Answered {
    let era = exchange.era();

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
    let found = tools.find(&call.name, engine.parts().form).ok_or_else(|| unknown(&call.name))?;
    let entry = found.entry;

    // validate
    if let Some(headers) = &exchange.mirrored {
        mirror::check(&entry.mirrors, headers, &arguments)?;
    }
    let validated = found.complete(arguments).and_then(|all| Ok((validate(entry, &all)?, all)));
    let (prepared, arguments) = match validated {
        Ok(validated) => validated,
        Err(invalid) => return Ok(engine.complete(exchange, refuse(&call.name, invalid, era)?)),
    };

    // foresee
    let (prepared, effective) = entry.effects.of(&arguments, prepared).await;
    // An evaluator that fails cannot make a call look safe.
    let foreseen = effective.map_or(Hints::WORST, |effective| effective.hints);
    let prepared = match prepared.map_or_else(|| validate(entry, &arguments), Ok) {
        Ok(prepared) => prepared,
        Err(invalid) => return Ok(engine.complete(exchange, refuse(&call.name, invalid, era)?)),
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
        Ran::Panicked => Err(ToolError::new(asking::PANICKED).code(code::INTERNAL)),
        Ran::TookTooLong => Err(ToolError::new(asking::TOOK_TOO_LONG).code(code::TIMED_OUT)),
        Ran::Done(outcome) => outcome.and_then(|output| shape(engine, entry, output, era)),
    };

    // encode
    let mut result = result.or_else(|error| error.into_result(&call.name, era))?;
    Publisher::to(&exchange.client).blocks(&mut result.content);
    if entry.effects.is_dynamic() {
        let said = json!({"foreseen": effects::annotations(foreseen)});
        let meta = result.meta.take().unwrap_or_default();
        result.meta = Some(meta.with(extension::DYNAMIC_ANNOTATIONS, &said));
    }
    Ok(engine.complete(exchange, result))
}

pub(super) fn unknown(name: &str) -> ErrorObject {
    ErrorObject::invalid_params(format!("Unknown tool: {name}")).with_data(&json!({"tool": name}))
}

/// Makes a call ready, if it is acceptable: the same for whoever makes it and whoever asks about it.
pub(super) fn validate(entry: &Entry, arguments: &Arguments) -> Result<Box<dyn Prepared>, Invalid> {
    entry.input.check(arguments).and_then(|()| entry.tool.prepare(arguments.clone()))
}

/// Arguments that do not fit are the model's to mend, so a result, not an error (SEP-1303).
fn refuse(tool: &str, invalid: Invalid, era: Era) -> Result<CallToolResult, ErrorObject> {
    ToolError::invalid(tool, invalid).into_result(tool, era)
}

/// From what the tool returned to what the client may see.
fn shape(
    engine: &Engine,
    entry: &Entry,
    output: Output,
    era: Era,
) -> Result<CallToolResult, ToolError> {
    if let Some(violation) = broken_promise(entry, &output) {
        return Err(ToolError::new("The tool ran, but its result does not fit its output schema.")
            .code(code::RESULT_INVALID)
            .log(violation));
    }
    let mut result = output.into_result();
    if era == Era::Modern && engine.parts().form.native_output && entry.boxed {
        result.structured_content = result.structured_content.and_then(|raw| unboxed(&raw));
    }
    // Up to 2025-11-25 structured content is an object or absent; the text says the same.
    if era == Era::Legacy
        && result.structured_content.as_ref().is_some_and(|raw| !raw.get().starts_with('{'))
    {
        result.structured_content = None;
    }
    Ok(result)
}

/// The value in a box.
fn unboxed(raw: &RawValue) -> Option<Box<RawValue>> {
    let boxed = Object::decode(raw.into()).ok()?;
    boxed.get(candor_schema::BOX_FIELD).map(Json::to_raw)
}

/// How deep structured content may nest: parsers of clients give up not far above it.
const DEEPEST: usize = 100;

fn is_deeper(value: &Value, levels: usize) -> bool {
    let deeper = |inner: &Value| levels == 0 || is_deeper(inner, levels - 1);
    match value {
        Value::Array(items) => items.iter().any(deeper),
        Value::Object(members) => members.values().any(deeper),
        _ => false,
    }
}

/// How a result breaks the tool's output schema, or everybody's, if it does.
fn broken_promise(entry: &Entry, output: &Output) -> Option<String> {
    if output.structured.as_ref().is_some_and(|value| is_deeper(value, DEEPEST)) {
        return Some(format!("nested deeper than {DEEPEST} levels"));
    }
    let schema = entry.output.as_ref()?;
    if output.is_error() {
        return None;
    }
    match output.checked_value() {
        None => Some("there is no structured content".to_owned()),
        Some(value) => schema.check(&value).err().map(|invalid| invalid.to_string()),
    }
}
