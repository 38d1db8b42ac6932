//! The messages of every comparison: one tool, one set of arguments, in both eras.

use serde_json::{Value, json};

/// The tool that answers with its arguments as text.
pub const ECHO: &str = "echo";

/// The same, after one progress notification, so that the answer comes as events.
pub const ECHO_WITH_PROGRESS: &str = "echo_with_progress";

/// The same, with effects that depend on its arguments.
pub const ECHO_BY_UNITS: &str = "echo_by_units";

/// The same, and says that it changes nothing.
pub const ECHO_READ: &str = "echo_read";

/// The key of calls that have one.
pub const KEY: &str = "bench-operation-1";

/// The token of calls that need one.
pub const TOKEN: &str = "bench-token-0123456789abcdef0123456789abcdef";

/// The legacy revision that sessions are opened with.
pub const LEGACY: &str = "2025-11-25";

/// The modern revision.
pub const MODERN: &str = "2026-07-28";

/// Stands in the arguments, so in every right answer to a call.
pub const MARK: &str = "by the lake";

/// The arguments of every call: 75 bytes, one for each of the schema's properties.
#[must_use]
pub fn arguments() -> Value {
    json!({"city": "Bern", "days": 3, "units": "metric", "hourly": true, "note": MARK})
}

/// The tool's input schema. `about` is in it, so that no two tools need to have the same.
#[must_use]
pub fn input_schema(about: &str) -> Value {
    json!({
        "type": "object",
        "properties": {
            "city": {"type": "string", "minLength": 1, "description": about},
            "days": {"type": "integer", "minimum": 1, "maximum": 14},
            "units": {"type": "string", "enum": ["metric", "imperial"]},
            "hourly": {"type": "boolean"},
            "note": {"type": "string"},
        },
        "required": ["city", "days"],
        "additionalProperties": false,
    })
}

/// Parameters of a call, without `_meta`.
fn call_params(tool: &str) -> Value {
    json!({"name": tool, "arguments": arguments()})
}

/// `_meta` of a modern request.
fn modern_meta() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "bench", "version": "1.0.0"},
    })
}

/// A call by a modern client.
#[must_use]
pub fn modern_call(id: u64, tool: &str) -> Value {
    let mut params = call_params(tool);
    params["_meta"] = modern_meta();
    if tool == ECHO_WITH_PROGRESS {
        params["_meta"]["progressToken"] = json!("t");
    }
    request(id, "tools/call", &params)
}

/// A call by a modern client that has a key: the first runs, all others are answered with its result.
#[must_use]
pub fn modern_keyed_call(id: u64, tool: &str) -> Value {
    let mut call = modern_call(id, tool);
    call["params"]["_meta"]["dev.candor/idempotencyKey"] = json!(KEY);
    call
}

/// A call by a legacy client.
#[must_use]
pub fn legacy_call(id: u64, tool: &str) -> Value {
    let mut params = call_params(tool);
    if tool == ECHO_WITH_PROGRESS {
        params["_meta"] = json!({"progressToken": "t"});
    }
    request(id, "tools/call", &params)
}

/// A modern client's question what a call would do.
#[must_use]
pub fn modern_annotations(id: u64) -> Value {
    let mut params = call_params(ECHO_BY_UNITS);
    params["_meta"] = modern_meta();
    request(id, "tools/annotations", &params)
}

/// A modern client's request for the list of tools.
#[must_use]
pub fn modern_list(id: u64) -> Value {
    request(id, "tools/list", &json!({"_meta": modern_meta()}))
}

/// A modern client's request for a page of what is in a folder.
#[must_use]
pub fn modern_listing(uri: &str, cursor: Option<&str>) -> Value {
    let mut params = json!({"uri": uri, "_meta": modern_meta()});
    if let Some(cursor) = cursor {
        params["cursor"] = cursor.into();
    }
    request(1, "resources/list", &params)
}

/// Opens a legacy session.
#[must_use]
pub fn initialize() -> Value {
    let client = json!({"name": "bench", "version": "1.0.0"});
    let params = json!({"protocolVersion": LEGACY, "capabilities": {}, "clientInfo": client});
    request(0, "initialize", &params)
}

/// Ends the handshake of a legacy session.
#[must_use]
pub fn initialized() -> Value {
    json!({"jsonrpc": "2.0", "method": "notifications/initialized"})
}

fn request(id: u64, method: &str, params: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}
