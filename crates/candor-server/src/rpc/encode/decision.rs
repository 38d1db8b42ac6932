//! A decision about a call, for `tools/annotations` and `tools/resolve`.

use candor_engine::tool::refined_fields;
use candor_engine::{Decision, DecisionId, trace};
use candor_hints::HintSource;
use candor_protocol::json::Object;
use candor_protocol::names::extension;
use candor_protocol::rpc::ErrorObject;
use serde_json::{Value, json};

use super::error::unexplained;

/// Returns the decision, or the error for a call that cannot be explained. `partial`: arguments may be missing.
pub(crate) fn explained(
    tool: &str,
    partial: bool,
    mut decision: Decision,
) -> Result<Decision, ErrorObject> {
    match (decision.id, decision.exact) {
        (None, _) if !partial || decision.refusal.is_some() => Err(match decision.refusal.take() {
            Some(refusal) => unexplained(tool, refusal),
            None => not_evaluated(tool),
        }),
        (Some(_), false) => Err(not_evaluated(tool)),
        _ => Ok(decision),
    }
}

/// Logs that the evaluator failed, and returns an error for the client. `tools/call` returns no such error: there the call counts
/// as the worst case.
fn not_evaluated(tool: &str) -> ErrorObject {
    trace::note(format_args!("the effects of {tool} could not be evaluated"));
    let trace_id = trace::id();
    tracing::error!(tool, trace_id, "effects could not be evaluated");
    ErrorObject::internal("Internal error: the effects of this call could not be evaluated")
}

/// Returns what the server adds to an explanation: its verdict on the call, and its decision. Without a ledger, the verdict is the
/// decision.
pub(crate) fn approval(decision: &Decision, has_ledger: bool) -> Value {
    let mut approval = json!({"verdict": decision.verdict.as_str()});
    let id: Option<DecisionId> = decision.id.filter(|_| has_ledger);
    if let Some(id) = id {
        approval["decision"] = json!({"next": decision.next.as_str(), "id": id});
    }
    approval
}

/// Returns the metadata of `tools/annotations`: the source of each hint, not a confidence, because no hint is a guess.
pub(crate) fn annotations_meta(decision: &Decision, has_ledger: bool) -> Object {
    let [read_only, destructive, idempotent, open_world] =
        decision.effect.sources.map(HintSource::as_str);
    let mut about = json!({
        "sources": {
            "readOnlyHint": read_only,
            "destructiveHint": destructive,
            "idempotentHint": idempotent,
            "openWorldHint": open_world,
        },
        "effect": decision.effect.hints.effect().as_str(),
        "summary": decision.effect.summary(),
    });
    if let Some(fields) = refined_fields(&decision.annotations) {
        about["fields"] = json!(fields);
    }
    Object::new()
        .with(extension::DYNAMIC_ANNOTATIONS, &about)
        .with(extension::APPROVAL, &approval(decision, has_ledger))
}
