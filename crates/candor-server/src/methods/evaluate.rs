//! Evaluates a call for `tools/annotations` and `tools/resolve`: the path of `tools/call`, without running anything.

use candor_hints::{EffectiveHints, Verdict};
use candor_protocol::json::Object;
use candor_protocol::names::extension;
use candor_protocol::rpc::ErrorObject;
use candor_protocol::types::{ToolAnnotations, ToolAnnotationsParams};
use serde_json::{Map, Value, json};

use super::reading::{self, DecodedCall, InvalidCall, PreparedCall};
use super::{params, provider_failed};
use crate::decision::facts::{CallQuestion, gather};
use crate::decision::{self, DecisionId, NextStep};
use crate::engine::Engine;
use crate::exchange::RequestContext;
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
    pub(super) verdict: Verdict,
    /// The decision and its id, if the arguments are complete and the server has a ledger.
    pub(super) decision: Option<(NextStep, DecisionId)>,
}

/// Whether a call has all its arguments.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Completeness {
    All,
    Some,
}

pub(super) async fn evaluate(
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
    let policy = &engine.parts().policy;
    let (Evaluated { effective: without_key, fields }, key, verdict, decision) = match given {
        // A grant covers only calls with complete arguments.
        Completeness::Some => {
            let worst = entry.effects.of_partial(&taken.arguments);
            (worst.into(), taken.key, policy.verdict(entry, worst.hints), None)
        }
        Completeness::All => {
            let lacks_key = taken.lacks_key();
            let mut ready = taken.ready().map_err(unfit)?;
            let evaluated = ready.evaluate().await.map_err(|_| not_evaluated(entry))?;
            let PreparedCall { arguments, key, token, .. } = ready;
            let call = Call {
                entry,
                arguments: &arguments,
                hints: evaluated.effective.hints,
                has_key: key.is_some(),
                exchange,
            };
            let question = CallQuestion {
                call: &call,
                key: key.as_ref(),
                lacks_key,
                preview: found.preview.map(|preview| &**preview),
                token: token.as_deref(),
                resumes: None,
            };
            let gathered = gather(engine, question).await;
            // Without a ledger, the verdict is the decision.
            let decision =
                engine.ledger().map(|_| (gathered.next(), gathered.decision_id(&call, policy)));
            (evaluated, key, gathered.verdict(), decision)
        }
    };
    let effective = entry.of_keyed(without_key, key.is_some());
    let annotations = decision::annotations(entry, effective, &fields);
    let dynamic = found.is_dynamic();
    Ok(EvaluatedCall {
        name: asked.name,
        effective,
        annotations,
        fields,
        dynamic,
        verdict,
        decision,
    })
}

/// Logs that the evaluator failed, and returns an error for the client. `tools/call` returns no such error: there the call counts
/// as the worst case.
fn not_evaluated(entry: &RegisteredTool) -> ErrorObject {
    crate::trace::note(format_args!("the effects of {} could not be evaluated", entry.name()));
    let trace_id = crate::trace::id();
    tracing::error!(tool = entry.name(), trace_id, "effects could not be evaluated");
    ErrorObject::internal("Internal error: the effects of this call could not be evaluated")
}

impl EvaluatedCall {
    /// Returns what the server adds to an explanation: its verdict on the call, and its decision.
    pub(super) fn approval(&self) -> Value {
        let mut approval = json!({"verdict": self.verdict.as_str()});
        if let Some((next, id)) = self.decision {
            approval["decision"] = json!({"next": next.as_str(), "id": id});
        }
        approval
    }
}

/// Returns true if the client of this request declares the extension for tool resolution, with empty settings.
pub(crate) fn resolves(exchange: &RequestContext) -> bool {
    let extensions = exchange.client.capabilities.extensions.as_ref();
    let settings = extensions.and_then(|all| all.get(extension::TOOL_RESOLUTION));
    settings.is_some_and(Object::is_empty)
}
