//! `tools/resolve`: the hints of a call, in the form of the working group's extension.

use candor_protocol::Era;
use candor_protocol::json::{Object, raw};
use candor_protocol::names::{extension, method};
use candor_protocol::rpc::{ErrorObject, code};
use candor_protocol::types::ResolveToolResult;
use serde_json::json;

use super::evaluate::{Completeness, evaluate, resolves};
use crate::dispatch::DispatchResult;
use crate::engine::Engine;
use crate::exchange::RequestContext;
use crate::tool::effects;

pub(crate) async fn answer(
    engine: &Engine,
    asked: Object,
    exchange: &RequestContext,
) -> DispatchResult {
    if engine.parts().foresees && !resolves(exchange) {
        let needed = json!({"extensions": {extension::TOOL_RESOLUTION: {}}});
        return Err(ErrorObject::new(
            code::MISSING_CLIENT_CAPABILITY,
            format!("tools/resolve is for clients that declare {}", extension::TOOL_RESOLUTION),
        )
        .with_data(&json!({"requiredCapabilities": needed})));
    }
    if !engine.parts().foresees {
        return Err(ErrorObject::method_not_found(method::TOOLS_RESOLVE));
    }
    let evaluated =
        evaluate(engine, method::TOOLS_RESOLVE, asked, Completeness::All, exchange).await?;
    if !evaluated.dynamic {
        let problem = format!(
            "Invalid params: {} cannot be resolved: its static annotations apply to every call",
            evaluated.name
        );
        return Err(ErrorObject::invalid_params(problem));
    }
    // The draft has exactly the four hints. Other fields are present only if the author refines them for this call.
    let mut annotations = effects::annotations(evaluated.effective.hints);
    effects::add_fields(&evaluated.fields, &mut annotations);
    let mut about = json!({"effect": evaluated.effective.hints.effect().as_str()});
    if let Some(fields) = effects::fields(&annotations) {
        about["fields"] = json!(fields);
    }
    let approval = evaluated.approval();
    let mut result = ResolveToolResult::new(evaluated.name, annotations);
    let mut meta = Object::new().with(extension::DYNAMIC_ANNOTATIONS, &about);
    if engine.parts().policy.asks() {
        meta = meta.with(extension::APPROVAL, &approval);
    }
    result.meta = Some(meta);
    if exchange.era() == Era::Legacy {
        // The draft requires this member in every result, although legacy results have no such member.
        result.extra.set("resultType", raw("complete"));
    }
    Ok(engine.complete(exchange, result))
}
