//! One tracing span per request, with the OpenTelemetry conventions for MCP.

use candor_engine::trace::{self, TraceParent};
use candor_protocol::json::Object;
use candor_protocol::names::method;
use tracing::Span;
use tracing::field::Empty;

use super::context::RequestContext;

/// Returns the span that a request runs in. It costs next to nothing if no subscriber wants spans of this level.
///
/// It records the caller's trace, from `traceparent` in `_meta`, as `trace_id` and `parent_id`. Without one, `trace_id` is the id
/// that the server's own errors name.
pub(crate) fn of(request: &RequestContext, name: &str, params: &Object) -> Span {
    let span = tracing::info_span!(
        target: "candor::request",
        "mcp.request",
        otel.kind = "server",
        otel.name = Empty,
        mcp.method.name = name,
        mcp.protocol.version = request.client().revision.as_str(),
        mcp.session.id = Empty,
        jsonrpc.request.id = request.id.as_json(),
        gen_ai.tool.name = Empty,
        gen_ai.prompt.name = Empty,
        mcp.resource.uri = Empty,
        enduser.id = request.principal().as_str(),
        trace_id = Empty,
        parent_id = Empty,
        error.r#type = Empty,
    );
    if span.is_disabled() {
        return span;
    }
    let subject = match name {
        method::TOOLS_CALL => record(&span, "gen_ai.tool.name", params, "name"),
        method::PROMPTS_GET => record(&span, "gen_ai.prompt.name", params, "name"),
        method::RESOURCES_READ => record(&span, "mcp.resource.uri", params, "uri"),
        _ => None,
    };
    match subject {
        // Excludes URIs: span names should have few values.
        Some(subject) if name != method::RESOURCES_READ => {
            span.record("otel.name", format!("{name} {subject}"));
        }
        _ => {
            span.record("otel.name", name);
        }
    }
    if let Some(session) = &request.session {
        span.record("mcp.session.id", session.id.as_str());
    }
    if let Some(parent) = TraceParent::of(request.meta()) {
        span.record("parent_id", parent.parent_id);
    }
    span.record("trace_id", trace::id());
    span
}

fn record(span: &Span, field: &str, params: &Object, key: &str) -> Option<String> {
    let value: String = params.read(key).ok().flatten()?;
    span.record(field, value.as_str());
    Some(value)
}
