//! Asking what a call would do: the same path as `tools/call`, cut off before anything happens.

use candor_hints::{Effective, Judgement};
use candor_protocol::json::Object;
use candor_protocol::names::extension;
use candor_protocol::rpc::ErrorObject;
use candor_protocol::types::{ToolAnnotations, ToolAnnotationsParams};
use serde_json::json;

use super::tools_call::{unknown, validate};
use super::{params, provider_failed};
use crate::admission::plan;
use crate::arguments::Arguments;
use crate::engine::Engine;
use crate::exchange::Exchange;
use crate::ledger::key;
use crate::tool::{Entry, Invalid, Prepared, effects, fields};

/// What was found out about a call.
pub(super) struct Foreseen {
    /// The tool's name, as it was asked for.
    pub(super) name: String,
    /// What the call may do.
    pub(super) effective: Effective,
    /// The annotations of the tool with the hints of the call.
    pub(super) annotations: ToolAnnotations,
    /// Whether the arguments make a difference.
    pub(super) dynamic: bool,
    /// What the server's policy makes of it.
    pub(super) judgement: Judgement,
}

/// Whether all arguments of a call are there.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Given {
    All,
    Some,
}

pub(super) async fn foresee(
    engine: &Engine,
    method: &str,
    asked: Object,
    given: Given,
    exchange: &Exchange,
) -> Result<Foreseen, ErrorObject> {
    let Some(source) = engine.parts().tools.as_ref().filter(|_| engine.parts().foresees) else {
        return Err(ErrorObject::method_not_found(method));
    };
    engine.rates().admit_question(engine.limits().foresights, &exchange.principal)?;
    let asked: ToolAnnotationsParams = params(asked)?;
    let arguments = Arguments::decode(Some(&asked.arguments))
        .map_err(|problem| ErrorObject::invalid_params(format!("Invalid params: {problem}")))?;
    let tools = source.get(&exchange.principal).await.map_err(|e| provider_failed(&e, "tools"))?;
    let found = tools.find(&asked.name, engine.parts().form).ok_or_else(|| unknown(&asked.name))?;
    let entry = found.entry;
    let invalid = |invalid: Invalid| unfit(&asked.name, &invalid);
    let arguments = found.complete(arguments).map_err(invalid)?;
    let beside = match engine.ledger() {
        Some(_) => key::beside(exchange, &asked.extra)?,
        None => None,
    };
    let refused = |error| ErrorObject::invalid_params(format!("Invalid params: {error}"));
    let key::Brought { arguments, key } = key::take(entry, arguments, beside).map_err(refused)?;
    let plan::Brought { arguments, .. } =
        plan::take(entry, arguments, exchange).map_err(refused)?;
    let effective = match given {
        Given::Some => entry.effects.of_partial(&arguments),
        Given::All => {
            let prepared = validate(entry, &arguments).map_err(invalid)?;
            of_call(entry, &arguments, prepared).await?
        }
    };
    let effective = entry.of_keyed(effective, key.is_some());
    let definition = &entry.definition;
    let mut annotations = definition.annotations.clone().unwrap_or_else(ToolAnnotations::new);
    effects::write(effective.hints.declared(), &mut annotations);
    let dynamic = found.is_dynamic();
    let judgement = engine.parts().policy.judge(entry, effective.hints);
    Ok(Foreseen { name: asked.name, effective, annotations, dynamic, judgement })
}

/// What a complete call would do.
async fn of_call(
    entry: &Entry,
    arguments: &Arguments,
    prepared: Box<dyn Prepared>,
) -> Result<Effective, ErrorObject> {
    let (_, effective) = entry.effects.of(arguments, prepared).await;
    effective.map_err(|_| {
        tracing::error!(
            tool = entry.name(),
            trace_id = crate::trace::id(),
            "effects could not be evaluated"
        );
        ErrorObject::internal("Internal error: the effects of this call could not be evaluated")
    })
}

fn unfit(tool: &str, invalid: &Invalid) -> ErrorObject {
    let fields = fields(&invalid.violations);
    ErrorObject::invalid_params(format!("Invalid params: arguments for {tool}: {invalid}"))
        .with_data(&json!({"tool": tool, "fields": fields}))
}

/// Whether the client of this request has declared the extension for tool resolution. Its settings are empty.
pub(crate) fn resolves(exchange: &Exchange) -> bool {
    let extensions = exchange.client.capabilities.extensions.as_ref();
    let settings = extensions.and_then(|all| all.get(extension::TOOL_RESOLUTION));
    settings.is_some_and(Object::is_empty)
}
