//! Evaluates a call for `tools/annotations` and `tools/resolve`: the path of `tools/call`, without running anything.

use candor_hints::{EffectiveHints, Verdict};
use candor_protocol::json::Object;
use candor_protocol::names::extension;
use candor_protocol::rpc::ErrorObject;
use candor_protocol::types::{ToolAnnotations, ToolAnnotationsParams};
use serde_json::{Map, Value, json};

use super::reading::{self, DecodedCall, InvalidCall, PreparedCall};
use super::{params, provider_failed};
use crate::engine::Engine;
use crate::exchange::RequestContext;
use crate::foresight;
use crate::gate::approval::verdict;
use crate::ledger::Call;
use crate::tool::{Evaluated, RegisteredTool};

/// A call with its effect and its verdict.
pub(super) struct EvaluatedCall {
    /// The tool's name, as the client sent it.
    pub(super) name: String,
    /// What the call may do.
    pub(super) effective: EffectiveHints,
    /// The tool's annotations, with the hints of this call and the fields that the author refines for it.
    pub(super) annotations: ToolAnnotations,
    /// The refined fields alone.
    pub(super) fields: Map<String, Value>,
    /// Whether the effect depends on the arguments.
    pub(super) dynamic: bool,
    /// The server's verdict. It includes grants if the arguments are complete.
    pub(super) judgement: Verdict,
}

/// Whether a call has all its arguments.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Completeness {
    All,
    Some,
}

pub(super) async fn foresee(
    engine: &Engine,
    method: &str,
    asked: Object,
    given: Completeness,
    exchange: &RequestContext,
) -> Result<EvaluatedCall, ErrorObject> {
    let explains = engine.parts().foresees || engine.parts().policy.asks();
    let Some(source) = engine.parts().tools.as_ref().filter(|_| explains) else {
        return Err(ErrorObject::method_not_found(method));
    };
    engine.rates().admit_question(engine.limits().foresights, &exchange.principal)?;
    let asked: ToolAnnotationsParams = params(asked)?;
    let sent = reading::decode(Some((&*asked.arguments).into()))?;
    let beside = reading::key_beside(engine, exchange, &asked.extra)?;
    let tools = source.get(&exchange.principal).await.map_err(|e| provider_failed(&e, "tools"))?;
    let found = tools
        .find(&asked.name, engine.parts().form)
        .ok_or_else(|| reading::unknown(&asked.name))?;
    let entry = found.entry;
    let unfit = |unfit: Box<InvalidCall>| unfit.into_protocol_error(&asked.name);
    let taken = DecodedCall::from(&found, sent, beside, exchange).map_err(unfit)?;
    let (Evaluated { effective: nature, fields }, key, judgement) = match given {
        // A grant covers only calls with complete arguments.
        Completeness::Some => {
            let nature = entry.effects.of_partial(&taken.arguments);
            (nature.into(), taken.key, engine.parts().policy.judge(entry, nature.hints))
        }
        Completeness::All => {
            let mut ready = taken.ready().map_err(unfit)?;
            let evaluated = ready.foresee().await.map_err(|_| not_evaluated(entry))?;
            let PreparedCall { arguments, key, .. } = ready;
            let call = Call {
                entry,
                arguments: &arguments,
                hints: evaluated.effective.hints,
                has_key: key.is_some(),
                exchange,
            };
            let (judgement, _) = verdict(engine, &call, key.as_ref()).await;
            (evaluated, key, judgement)
        }
    };
    let effective = entry.of_keyed(nature, key.is_some());
    let annotations = foresight::annotations(entry, effective, &fields);
    let dynamic = found.is_dynamic();
    Ok(EvaluatedCall { name: asked.name, effective, annotations, fields, dynamic, judgement })
}

/// Logs that the evaluator failed, and returns an error for the client. `tools/call` returns no such error: there the call counts
/// as the worst case.
fn not_evaluated(entry: &RegisteredTool) -> ErrorObject {
    crate::trace::note(format_args!("the effects of {} could not be evaluated", entry.name()));
    let trace_id = crate::trace::id();
    tracing::error!(tool = entry.name(), trace_id, "effects could not be evaluated");
    ErrorObject::internal("Internal error: the effects of this call could not be evaluated")
}

/// Returns what the server adds to an explanation: its verdict on the call.
pub(super) fn approval(judgement: Verdict) -> Value {
    json!({"verdict": judgement.as_str()})
}

/// Returns true if the client of this request declares the extension for tool resolution, with empty settings.
pub(crate) fn resolves(exchange: &RequestContext) -> bool {
    let extensions = exchange.client.capabilities.extensions.as_ref();
    let settings = extensions.and_then(|all| all.get(extension::TOOL_RESOLUTION));
    settings.is_some_and(Object::is_empty)
}
