//! What a client says.

#![allow(dead_code)] // several test programs share this file, and each uses a part of it

use serde_json::{Value, json};

/// A legacy request, or any request without `_meta`.
pub(crate) fn request(id: u64, method: &str, params: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

/// A modern request: it says by itself what its client is.
pub(crate) fn modern(id: u64, method: &str, params: &Value) -> Value {
    let mut request = request(id, method, params);
    let meta = &mut request["params"]["_meta"];
    meta["io.modelcontextprotocol/protocolVersion"] = json!("2026-07-28");
    meta["io.modelcontextprotocol/clientCapabilities"] = json!({"elicitation": {}});
    request
}

/// A modern call of a tool.
pub(crate) fn call(id: u64, tool: &str, arguments: &Value) -> Value {
    modern(id, "tools/call", &json!({"name": tool, "arguments": arguments}))
}

pub(crate) fn initialize(id: u64) -> Value {
    let client = json!({"name": "tester", "version": "1"});
    let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client});
    request(id, "initialize", &params)
}

/// The text of a tool's answer.
pub(crate) fn text(answer: &Value) -> &str {
    answer["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("no text: {answer}"))
}
