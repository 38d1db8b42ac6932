//! `tools/resolve`: the hints of a call, in the form of the working group's extension.

use candor_protocol::Era;
use candor_protocol::json::{Object, raw};
use candor_protocol::names::{extension, method};
use candor_protocol::rpc::{ErrorObject, code};
use candor_protocol::types::ResolveToolResult;
use serde_json::json;

use super::foreseeing::{Completeness, approval, foresee, resolves};
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
    let foreseen =
        foresee(engine, method::TOOLS_RESOLVE, asked, Completeness::All, exchange).await?;
    if !foreseen.dynamic {
        let problem = format!("Invalid params: {} says all in its annotations", foreseen.name);
        return Err(ErrorObject::invalid_params(problem));
    }
    // The draft has exactly the four hints. Other fields are present only if the author refines them for this call.
    let mut annotations = effects::annotations(foreseen.effective.hints);
    effects::add_fields(&foreseen.fields, &mut annotations);
    let mut about = json!({"effect": foreseen.effective.hints.effect().as_str()});
    if let Some(fields) = effects::fields(&annotations) {
        about["fields"] = json!(fields);
    }
    let mut result = ResolveToolResult::new(foreseen.name, annotations);
    let mut meta = Object::new().with(extension::DYNAMIC_ANNOTATIONS, &about);
    if engine.parts().policy.asks() {
        meta = meta.with(extension::APPROVAL, &approval(foreseen.judgement));
    }
    result.meta = Some(meta);
    if exchange.era() == Era::Legacy {
        // The draft requires this member in every result, although legacy results have no such member.
        result.extra.set("resultType", raw("complete"));
    }
    Ok(engine.complete(exchange, result))
}
