//! `tools/annotations`: the hints of a call, without running it.

use candor_protocol::json::Object;
use candor_protocol::names::{extension, method};
use candor_protocol::types::ToolAnnotationsResult;
use serde_json::json;

use super::evaluate::{Completeness, evaluate};
use crate::dispatch::DispatchResult;
use crate::engine::Engine;
use crate::exchange::RequestContext;
use crate::tool::effects;

pub(crate) async fn answer(
    engine: &Engine,
    asked: Object,
    exchange: &RequestContext,
) -> DispatchResult {
    let given = given(exchange);
    let evaluated = evaluate(engine, method::TOOLS_ANNOTATIONS, asked, given, exchange).await?;
    let [read_only, destructive, idempotent, open_world] =
        evaluated.effective.sources.map(candor_hints::HintSource::as_str);
    // The source of each hint, not a confidence: no hint is a guess.
    let mut about = json!({
        "sources": {
            "readOnlyHint": read_only,
            "destructiveHint": destructive,
            "idempotentHint": idempotent,
            "openWorldHint": open_world,
        },
        "effect": evaluated.effective.hints.effect().as_str(),
        "summary": evaluated.effective.summary(),
    });
    if let Some(fields) = effects::fields(&evaluated.annotations) {
        about["fields"] = json!(fields);
    }
    let approval = evaluated.approval();
    let mut result = ToolAnnotationsResult::new(evaluated.annotations);
    let meta = Object::new().with(extension::DYNAMIC_ANNOTATIONS, &about);
    result.meta = Some(meta.with(extension::APPROVAL, &approval));
    Ok(engine.complete(exchange, result))
}

/// Reads whether the arguments are complete. The flag `partial` is Candor's own extension.
fn given(exchange: &RequestContext) -> Completeness {
    let wanted = exchange.meta.read::<Object>(extension::DYNAMIC_ANNOTATIONS).ok().flatten();
    match wanted.and_then(|wanted| wanted.read("partial").ok().flatten()) {
        Some(true) => Completeness::Some,
        _ => Completeness::All,
    }
}
