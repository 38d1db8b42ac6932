//! The shapes of bodies, as JSON schemas.

use serde_json::{Value, json};

/// All of them, by name.
pub(super) fn all() -> Value {
    let mut all = of_tools();
    if let (Value::Object(all), Value::Object(more)) = (&mut all, of_operators()) {
        all.extend(more);
    }
    all
}

/// What those see and send who decide about the calls of others.
fn of_operators() -> Value {
    let question = json!({"type": "string", "description": "The question that was shown, as the list names it."});
    json!({
        "Waiting": {
            "type": "object",
            "properties": {"question": question, "id": {"type": "string"}},
            "required": ["question", "id"],
        },
        "WaitingList": {"type": "array", "items": {"$ref": "#/components/schemas/Waiting"}},
        "Approval": {
            "type": "object",
            "properties": {
                "question": question,
                "for": {
                    "type": "object",
                    "description": "Permits calls like this one for a while: with any value of some arguments, or any below a folder.",
                    "properties": {
                        "minutes": {"type": "integer", "minimum": 1, "maximum": 10080},
                        "any": {"type": "array", "items": {"type": "string"}},
                        "under": {"type": "object", "additionalProperties": {"type": "string"}},
                    },
                    "required": ["minutes"],
                    "additionalProperties": false,
                },
            },
            "required": ["question"],
            "additionalProperties": false,
        },
        "Denial": {
            "type": "object",
            "properties": {"question": question, "reason": {"type": "string"}},
            "required": ["question"],
            "additionalProperties": false,
        },
        "Decided": {
            "type": "object",
            "properties": {
                "id": {"type": "string"},
                "decision": {"enum": ["approved", "denied"]},
                "by": {"type": "string"},
                "rule": {"type": ["object", "null"]},
            },
            "required": ["id", "decision", "by", "rule"],
        },
        "Rule": {"type": "object", "properties": {"id": {}}, "required": ["id"]},
        "Rules": {"type": "array", "items": {"$ref": "#/components/schemas/Rule"}},
        "Operation": {"type": "object"},
        "Operations": {
            "type": "object",
            "properties": {
                "items": {"type": "array", "items": {"$ref": "#/components/schemas/Operation"}},
                "next": {"type": ["integer", "null"], "description": "The cursor of the next page."},
            },
            "required": ["items", "next"],
        },
        "Finding": {
            "type": "object",
            "properties": {
                "finding": {"enum": ["done", "failed", "not_done", "abandon"]},
                "result": {"description": "What it came to."},
                "text": {"type": "string", "description": "The same in words."},
            },
            "required": ["finding"],
            "additionalProperties": false,
        },
    })
}

/// What everybody sees and sends.
fn of_tools() -> Value {
    let hints = json!({
        "type": "object",
        "properties": {
            "readOnlyHint": {"type": "boolean"},
            "destructiveHint": {"type": "boolean"},
            "idempotentHint": {"type": "boolean"},
            "openWorldHint": {"type": "boolean"},
        },
        "additionalProperties": false,
    });
    let mut four = hints.clone();
    four["required"] =
        json!(["readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"]);
    let mut some = hints;
    some["minProperties"] = 1.into();
    let source = json!({"enum": ["declared", "default", "resolved"]});
    let summary = json!({
        "name": {"type": "string"},
        "description": {"type": "string"},
        "annotations": {"$ref": "#/components/schemas/SomeHints"},
    });
    let mut tool = summary.clone();
    tool["inputSchema"] = json!({"type": "object"});
    tool["title"] = json!({"type": "string"});
    tool["outputSchema"] = json!({"type": ["object", "boolean"]});
    tool["dynamicAnnotations"] =
        json!({"const": true, "description": "The hints of a call depend on its arguments."});
    let error = json!({
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "A JSON Pointer."},
            "message": {"type": "string"},
        },
        "required": ["path", "message"],
    });
    let errors = json!({"type": "array", "items": {"$ref": "#/components/schemas/FieldError"}});
    let page = |name: &str| {
        json!({
            "type": "object",
            "properties": {
                name: {"type": "array", "items": {"type": "object"}},
                "nextCursor": {"type": "string"},
            },
            "required": [name],
        })
    };
    json!({
        "Anything": {},
        "Arguments": {"type": "object", "description": "The arguments; {} if there are none."},
        "SomeHints": some,
        "Hints": four,
        "ToolSummary": {
            "type": "object",
            "properties": summary,
            "required": ["name", "description"],
            "additionalProperties": false,
        },
        "ToolList": {"type": "array", "items": {"$ref": "#/components/schemas/ToolSummary"}},
        "Tool": {
            "type": "object",
            "properties": tool,
            "required": ["name", "description", "inputSchema"],
            "additionalProperties": false,
        },
        "NoSuchTool": {
            "type": "object",
            "properties": {"error": {"type": "string"}},
            "required": ["error"],
            "additionalProperties": false,
        },
        "FieldError": error,
        "Validation": {
            "type": "object",
            "properties": {"valid": {"type": "boolean"}, "errors": errors},
            "required": ["valid"],
            "additionalProperties": false,
        },
        "Foresight": {
            "type": "object",
            "properties": {
                "valid": {"type": "boolean"},
                "errors": errors,
                "annotations": {"$ref": "#/components/schemas/Hints"},
                "sources": {
                    "type": "object",
                    "properties": {
                        "readOnlyHint": source,
                        "destructiveHint": source,
                        "idempotentHint": source,
                        "openWorldHint": source,
                    },
                },
                "verdict": {"enum": ["reads", "adds", "changes", "deletes"]},
                "summary": {"type": "string"},
                "exact": {"type": "boolean"},
                "approval": {"enum": ["none", "ask", "deny"]},
                "standing": {
                    "type": ["object", "null"],
                    "properties": {"state": {"enum": [
                        "replay", "running", "waiting", "approved", "denied", "unknown", "reused", "closed", "unavailable",
                    ]}},
                    "required": ["state"],
                },
                "preview": {"type": "string"},
                "undo": {"type": "string"},
            },
            "required": [
                "valid", "errors", "annotations", "sources", "verdict", "summary", "exact", "approval", "standing",
            ],
        },
        "CallResult": {
            "type": "object",
            "properties": {
                "content": {"type": "array", "items": {"type": "object", "required": ["type"]}},
                "structuredContent": {},
                "isError": {"type": "boolean"},
                "_meta": {"type": "object"},
            },
            "required": ["content"],
        },
        "ResourceList": page("resources"),
        "ResourceMetadata": {
            "type": "object",
            "properties": {"resource": {"type": "object", "required": ["uri"]}},
            "required": ["resource"],
        },
        "ResourceContent": {
            "type": "object",
            "properties": {"contents": {"type": "array", "items": {"type": "object", "required": ["uri"]}}},
            "required": ["contents"],
        },
        "Problem": {
            "type": "object",
            "description": "RFC 9457, and what helps whoever comes next.",
            "properties": {
                "type": {"type": "string"},
                "title": {"type": "string"},
                "status": {"type": "integer"},
                "detail": {"type": "string"},
                "error": {"type": "string", "description": "The same as detail."},
                "code": {"type": "string", "description": "A stable word."},
                "is_retriable": {"type": "boolean"},
                "retry_after_ms": {"type": "integer"},
                "suggestions": {"type": "array", "items": {"type": "string"}},
                "trace_id": {"type": "string"},
                "operation": {"type": "string"},
                "next_operation": {
                    "type": "object",
                    "properties": {"tool": {"type": "string"}, "arguments": {"type": "object"}},
                },
                "errors": {"type": "array", "items": {"type": "object"}},
            },
            "required": ["type", "title", "status", "detail", "error", "code", "is_retriable"],
        },
    })
}
