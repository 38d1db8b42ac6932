//! A tool whose input has everything that a form must be able to hold: nested objects, lists of them, one of several shapes,
//! members of any name, and a number that no double can hold.

use candor_server::protocol::types::ToolAnnotations;
use candor_server::tool::{JsonTool, ToolError};
use serde_json::{Value, json};

pub(crate) fn tool() -> JsonTool {
    let mut hints = ToolAnnotations::new();
    hints.read_only_hint = Some(true);
    hints.open_world_hint = Some(false);
    // It returns its input, so that tests see what was sent.
    JsonTool::new("place_order", &schema(), |args, _| async move {
        Ok::<_, ToolError>(json!({"order": Value::clone(&args)}))
    })
    .description("Repeats an order, however it is nested")
    .annotations(hints)
}

fn schema() -> Value {
    let address = json!({"type": "object", "required": ["city"], "additionalProperties": false, "properties": {
        "city": {"type": "string"},
        "zip": {"type": "string", "pattern": "^[0-9]{5}$"},
    }});
    let payment = json!({"oneOf": [
        {"title": "Card", "type": "object", "required": ["kind", "number"], "properties": {
            "kind": {"const": "card"}, "number": {"type": "string"}}},
        {"title": "Invoice", "type": "object", "required": ["kind", "days"], "properties": {
            "kind": {"const": "invoice"}, "days": {"type": "integer", "minimum": 1}}},
    ]});
    let line = json!({"type": "object", "required": ["article", "count"], "properties": {
        "article": {"type": "string"},
        "count": {"type": "integer", "minimum": 1},
        "options": {"type": "array", "items": {"enum": ["gift", "express"]}},
    }});
    json!({"type": "object", "required": ["customer", "lines"], "additionalProperties": false, "properties": {
        "customer": {"type": "object", "required": ["name", "address"], "properties": {
            "name": {"type": "string", "description": "Who gets it"},
            "address": address,
        }},
        "lines": {"type": "array", "minItems": 1, "items": line},
        "payment": payment,
        "labels": {"type": "object", "additionalProperties": {"type": "string"}},
        "reference": {"type": "integer", "description": "Digits of any length"},
    }})
}
