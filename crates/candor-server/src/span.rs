//! One tracing span per request, in the words of the OpenTelemetry conventions for MCP.

use candor_protocol::json::{Decode, Json, Malformed, Object};
use candor_protocol::names::method;
use tracing::Span;
use tracing::field::Empty;

use crate::exchange::Exchange;

/// The span that a request runs in. Costs next to nothing while nobody wants spans of this level.
///
/// The caller's trace, from `traceparent` in `_meta`, is recorded as `trace_id` and `parent_id`.
pub(crate) fn of(exchange: &Exchange, name: &str, params: &Object) -> Span {
    let span = tracing::info_span!(
        target: "candor::request",
        "mcp.request",
        otel.kind = "server",
        otel.name = Empty,
        mcp.method.name = name,
        mcp.protocol.version = exchange.client.revision.as_str(),
        mcp.session.id = Empty,
        jsonrpc.request.id = exchange.id.as_json(),
        gen_ai.tool.name = Empty,
        gen_ai.prompt.name = Empty,
        mcp.resource.uri = Empty,
        enduser.id = exchange.principal.as_str(),
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
        // A URI may be anything; a span's name should be one of few.
        Some(subject) if name != method::RESOURCES_READ => {
            span.record("otel.name", format!("{name} {subject}"));
        }
        _ => {
            span.record("otel.name", name);
        }
    }
    if let Some(session) = &exchange.session {
        span.record("mcp.session.id", session.id.as_str());
    }
    if let Ok(Some(parent)) = exchange.meta.read::<TraceParent>("traceparent") {
        span.record("trace_id", parent.trace_id);
        span.record("parent_id", parent.parent_id);
    }
    span
}

fn record(span: &Span, field: &str, params: &Object, key: &str) -> Option<String> {
    let value: String = params.read(key).ok().flatten()?;
    span.record(field, value.as_str());
    Some(value)
}

/// A W3C trace context: `00-<32 hex>-<16 hex>-<2 hex>`.
struct TraceParent {
    trace_id: String,
    parent_id: String,
}

impl Decode for TraceParent {
    fn decode(json: Json<'_>) -> Result<Self, Malformed> {
        let text = json.as_str()?;
        let refuse = || Malformed::here("is not a W3C traceparent");
        let parts: Vec<&str> = text.split('-').collect();
        let hex = |part: &str, len: usize| {
            part.len() == len
                && part.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
                && (len == 2 || part.bytes().any(|b| b != b'0'))
        };
        match parts[..] {
            [version, trace_id, parent_id, flags, ..]
                if hex(version, 2)
                    && version != "ff"
                    && (version != "00" || parts.len() == 4)
                    && hex(trace_id, 32)
                    && hex(parent_id, 16)
                    && hex(flags, 2) =>
            {
                Ok(Self { trace_id: trace_id.to_owned(), parent_id: parent_id.to_owned() })
            }
            _ => Err(refuse()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use candor_protocol::json::raw;

    #[test]
    fn trace_contexts_are_read_as_the_w3c_says() {
        let read = |text: &str| TraceParent::decode((&*raw(text)).into()).ok();
        let parent = read("00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01").unwrap();
        assert_eq!(parent.trace_id, "0af7651916cd43dd8448eb211c80319c");
        assert_eq!(parent.parent_id, "00f067aa0ba902b7");
        for bad in [
            "",
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
            "00-0AF7651916CD43DD8448EB211C80319C-00f067aa0ba902b7-01",
            "ff-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01",
            "00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01-x",
            "00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7",
        ] {
            assert!(read(bad).is_none(), "{bad}");
        }
    }
}
