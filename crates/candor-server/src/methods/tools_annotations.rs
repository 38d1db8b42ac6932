//! `tools/annotations`: the hints of a call, before it is made.

use candor_protocol::json::Object;
use candor_protocol::names::{extension, method};
use candor_protocol::types::ToolAnnotationsResult;
use serde_json::json;

use super::foreseeing::{Completeness, approval, foresee};
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
    let foreseen = foresee(engine, method::TOOLS_ANNOTATIONS, asked, given, exchange).await?;
    let [read_only, destructive, idempotent, open_world] =
        foreseen.effective.sources.map(candor_hints::HintSource::as_str);
    // Where each hint comes from, instead of how sure we are: it is never a guess.
    let mut about = json!({
        "sources": {
            "readOnlyHint": read_only,
            "destructiveHint": destructive,
            "idempotentHint": idempotent,
            "openWorldHint": open_world,
        },
        "effect": foreseen.effective.hints.effect().as_str(),
        "summary": foreseen.effective.in_words(),
    });
    if let Some(fields) = effects::fields(&foreseen.annotations) {
        about["fields"] = json!(fields);
    }
    let mut result = ToolAnnotationsResult::new(foreseen.annotations);
    let meta = Object::new().with(extension::DYNAMIC_ANNOTATIONS, &about);
    result.meta = Some(meta.with(extension::APPROVAL, &approval(foreseen.judgement)));
    Ok(engine.complete(exchange, result))
}

/// Whether the request says that its arguments are not complete yet: ours to offer, so ours to name.
fn given(exchange: &RequestContext) -> Completeness {
    let wanted = exchange.meta.read::<Object>(extension::DYNAMIC_ANNOTATIONS).ok().flatten();
    match wanted.and_then(|wanted| wanted.read("partial").ok().flatten()) {
        Some(true) => Completeness::Some,
        _ => Completeness::All,
    }
}
