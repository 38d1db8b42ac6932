//! `tools/list`, `tools/call`, `tools/annotations`, `tools/resolve`.

use candor_engine::tool::{
    Arguments, Invalid, ListingOptions, Violation, hint_annotations, refined_fields,
};
use candor_engine::{Call, Decision, Expectation, Refusal};
use candor_protocol::Era;
use candor_protocol::json::{Json, Object, raw};
use candor_protocol::names::{extension, meta, method};
use candor_protocol::rpc::{ErrorObject, code};
use candor_protocol::types::{
    CallToolParams, PageParams, ResolveToolResult, ToolAnnotationsParams, ToolAnnotationsResult,
};
use serde_json::json;

use super::{DispatchResult, params, resume};
use crate::rpc::context::RequestContext;
use crate::rpc::encode::answer::ListPage;
use crate::rpc::encode::call::{outcome, refused};
use crate::rpc::encode::decision::{annotations_meta, approval, explained};
use crate::rpc::encode::error;
use crate::rpc::encode::list::{complete, complete_cacheable};
use crate::rpc::page::{self, PAGE_SIZE};
use crate::rpc::{key, mirror};

/// `tools/list`, from JSON that each set of tools caches.
pub(crate) async fn list(asked: Object, request: &RequestContext) -> DispatchResult {
    let server = &request.server;
    if server.tools_may_change().is_none() {
        return Err(ErrorObject::method_not_found(method::TOOLS_LIST));
    }
    let asked: PageParams = params(asked)?;
    let cursors = server.cursors();
    let start = page::start(cursors, method::TOOLS_LIST, asked.cursor.as_deref())?;
    let listing = server.listing();
    let options = ListingOptions {
        resolution: knows_resolution(request),
        // Up to 2025-11-25 structured content is an object.
        objects_only: request.era() == Era::Legacy,
        native_output: listing.native_output && request.era() == Era::Modern,
        ..listing
    };
    let listed = request.view.tool_page(start, options).await.map_err(error::refused)?;
    let page = ListPage {
        key: "tools",
        items: listed.items,
        next_cursor: page::next(cursors, method::TOOLS_LIST, start + PAGE_SIZE, listed.tools),
        meta: None,
    };
    Ok(complete_cacheable(request, page, server.cache_hint()))
}

/// `tools/call`.
pub(crate) async fn call(asked: Object, request: &RequestContext) -> DispatchResult {
    if request.server.tools_may_change().is_none() {
        return Err(ErrorObject::method_not_found(method::TOOLS_CALL));
    }
    // Decode arguments first: they borrow from the request buffer, and later stages would have to copy them.
    let arguments = decode(asked.get("arguments").filter(|sent| !sent.is_null()))?;
    let asked: CallToolParams = params(asked.without("arguments"))?;
    let tool = asked.name;
    let call = Call {
        resume: resume(asked.input_responses.as_deref(), asked.request_state, &asked.extra)?,
        key: key::beside(request, &asked.extra)?,
        expect: expectation(request.meta())?,
        plan: match plan_token(request, &tool) {
            Ok(plan) => plan,
            Err(refusal) => return Ok(refused(request, &tool, refusal)),
        },
        ..Call::new(&*tool, arguments)
    };
    if let Some(headers) = &request.mirrored {
        let mirrors = request.view.mirrors(&tool).await.map_err(error::refused)?;
        mirror::check(mirrors, headers, &call.arguments)?;
    }
    let peer = request.peer.clone();
    outcome(request, &tool, request.view.call(call, peer).await)
}

/// `tools/annotations`: the hints of a call, without running it.
pub(crate) async fn annotations(asked: Object, request: &RequestContext) -> DispatchResult {
    // The flag `partial` is Candor's own extension.
    let wanted = request.meta().read::<Object>(extension::DYNAMIC_ANNOTATIONS).ok().flatten();
    let partial = wanted.and_then(|wanted| wanted.read("partial").ok().flatten()) == Some(true);
    let (_, decision) = explain(method::TOOLS_ANNOTATIONS, asked, partial, request).await?;
    let meta = annotations_meta(&decision, request.server.store().is_some());
    let mut result = ToolAnnotationsResult::new(decision.annotations);
    result.meta = Some(meta);
    Ok(complete(request, result))
}

/// `tools/resolve`: the hints of a call, in the form of the working group's extension.
pub(crate) async fn resolve(asked: Object, request: &RequestContext) -> DispatchResult {
    let server = &request.server;
    if !server.has_dynamic_effects() {
        return Err(ErrorObject::method_not_found(method::TOOLS_RESOLVE));
    }
    if !knows_resolution(request) {
        let needed = json!({"extensions": {extension::TOOL_RESOLUTION: {}}});
        return Err(ErrorObject::new(
            code::MISSING_CLIENT_CAPABILITY,
            format!("tools/resolve is for clients that declare {}", extension::TOOL_RESOLUTION),
        )
        .with_data(&json!({"requiredCapabilities": needed})));
    }
    let (tool, decision) = explain(method::TOOLS_RESOLVE, asked, false, request).await?;
    if !decision.dynamic {
        let problem = format!(
            "Invalid params: {tool} cannot be resolved: its static annotations apply to every call"
        );
        return Err(ErrorObject::invalid_params(problem));
    }
    // The draft has exactly the four hints. Other fields are present only if the author refines them for this call.
    let mut annotations = hint_annotations(decision.effect.hints);
    candor_engine::tool::add_fields(&decision.fields, &mut annotations);
    let mut about = json!({"effect": decision.effect.hints.effect().as_str()});
    if let Some(fields) = refined_fields(&annotations) {
        about["fields"] = json!(fields);
    }
    let mut result = ResolveToolResult::new(tool, annotations);
    let mut meta = Object::new().with(extension::DYNAMIC_ANNOTATIONS, &about);
    if server.may_ask() {
        meta = meta.with(extension::APPROVAL, &approval(&decision, server.store().is_some()));
    }
    result.meta = Some(meta);
    if request.era() == Era::Legacy {
        // The draft requires this member in every result, although legacy results have no such member.
        result.extra.set("resultType", raw("complete"));
    }
    Ok(complete(request, result))
}

/// Explains a call. Returns the tool's name, as the client sent it, and the decision.
async fn explain(
    method: &str,
    asked: Object,
    partial: bool,
    request: &RequestContext,
) -> Result<(String, Decision), ErrorObject> {
    let server = &request.server;
    let explains = server.has_dynamic_effects() || server.may_ask();
    if server.tools_may_change().is_none() || !explains {
        return Err(ErrorObject::method_not_found(method));
    }
    let asked: ToolAnnotationsParams = params(asked)?;
    let tool = asked.name;
    let call = Call {
        key: key::beside(request, &asked.extra)?,
        plan: plan_token(request, &tool).map_err(|refusal| error::unexplained(&tool, refusal))?,
        partial,
        ..Call::new(&*tool, decode(Some((&*asked.arguments).into()))?)
    };
    let decision = request.view.decide(&call).await.map_err(error::refused)?;
    Ok((tool.clone(), explained(&tool, partial, decision)?))
}

/// Decodes the arguments once. All later stages share them.
fn decode(sent: Option<Json<'_>>) -> Result<Arguments, ErrorObject> {
    Arguments::decode(sent)
        .map_err(|problem| ErrorObject::invalid_params(format!("Invalid params: {problem}")))
}

/// Returns the plan token beside the arguments.
fn plan_token(request: &RequestContext, tool: &str) -> Result<Option<String>, Refusal> {
    match request.meta().get(meta::PLAN_TOKEN).map(Json::as_str) {
        None => Ok(None),
        Some(Ok(text)) => Ok(Some(text.into_owned())),
        Some(Err(_)) => {
            let violation = Violation::new("/_meta", "the plan token must be a string")
                .expecting("the token that a preview has given");
            let invalid = Invalid::from(violation);
            Err(Refusal::InvalidArguments { tool: tool.to_owned(), invalid })
        }
    }
}

/// Reads what the caller expects: `_meta["dev.candor/approval"] = {"expect": "ask"}`, or the id of a decision instead of `"ask"`.
///
/// An expectation that the server does not know is an error. To ignore it would run the call under an unchecked condition.
fn expectation(meta: &Object) -> Result<Option<Expectation>, ErrorObject> {
    let invalid = |problem: &str| {
        let place = format!("_meta[\"{}\"]", extension::APPROVAL);
        ErrorObject::invalid_params(format!("Invalid params: {place}{problem}"))
    };
    let Some(settings) =
        meta.read::<Object>(extension::APPROVAL).map_err(|_| invalid(" must be an object"))?
    else {
        return Ok(None);
    };
    let Some(expected) = settings.get("expect") else { return Ok(None) };
    let expected = expected.as_str().ok().and_then(|text| Expectation::parse(&text));
    expected.map(Some).ok_or_else(|| invalid(".expect must be \"ask\" or the id of a decision"))
}

/// Returns true if the client of this request declares the extension for tool resolution, with empty settings.
fn knows_resolution(request: &RequestContext) -> bool {
    let extensions = request.client().capabilities.extensions.as_ref();
    let settings = extensions.and_then(|all| all.get(extension::TOOL_RESOLUTION));
    settings.is_some_and(Object::is_empty)
}
