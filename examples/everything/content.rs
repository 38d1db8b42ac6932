//! Tools that return every kind of content, and one with every kind of schema keyword.

use std::sync::Arc;

use candor::prelude::*;
use candor::protocol::json::raw;
use candor::protocol::types::{AudioContent, ImageContent, Tool as ToolDefinition};
use candor::tool::Tool;
use serde_json::Value;

use crate::{shown, simple};

/// A red pixel.
pub(crate) const PNG: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==";

/// A moment of silence.
const WAV: &str = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQAAAAA=";

pub(crate) fn tools() -> Vec<Arc<dyn Tool>> {
    vec![
        simple("test_simple_text", "Returns text", |_| async {
            Ok("This is a simple text response for testing.")
        }),
        simple("test_image_content", "Returns an image", |_| async { Ok(image()) }),
        simple("test_audio_content", "Returns sound", |_| async {
            Ok(Content::from(AudioContent::new(WAV, "audio/wav")))
        }),
        simple("test_embedded_resource", "Returns a resource's contents", |_| async {
            Ok(embedded(
                "test://embedded-resource",
                "text/plain",
                "This is an embedded resource content.",
            ))
        }),
        simple("test_multiple_content_types", "Returns several kinds of content", |_| async {
            let resource = embedded(
                "test://mixed-content-resource",
                "application/json",
                r#"{"test":"data","value":123}"#,
            );
            Ok(vec![Content::text("Multiple content types test:"), image(), resource])
        }),
        simple("test_error_handling", "Fails", |_| async {
            Err::<(), _>(ToolError::new("This tool intentionally returns an error for testing"))
        }),
        structured(),
        mirrored(),
        every_keyword(),
    ]
}

pub(crate) fn image() -> Content {
    ImageContent::new(PNG, "image/png").into()
}

pub(crate) fn embedded(uri: &str, kind: &str, text: &str) -> Content {
    Content::resource(ResourceContents::of_text(uri, kind, text))
}

/// Creates a tool whose result has a schema.
fn structured() -> Arc<dyn Tool> {
    let input = json!({
        "type": "object",
        "properties": {"a": {"type": "number"}, "b": {"type": "number"}},
        "required": ["a", "b"],
        "additionalProperties": false,
    });
    let output =
        json!({"type": "object", "properties": {"sum": {"type": "number"}}, "required": ["sum"]});
    let add = JsonTool::new("add", &input, |args, _| async move {
        let sum = args["a"].as_f64().unwrap_or_default() + args["b"].as_f64().unwrap_or_default();
        Ok(Output::structured(json!({"sum": sum})))
    });
    // A definition from elsewhere may have a `null` title. No client may see the `null`.
    let untitled = |own: &mut ToolDefinition| own.extra.set("title", raw(&Value::Null));
    shown(add.description("Adds two numbers").output_schema(&output).define(untitled))
}

/// Creates a tool with arguments that modern clients repeat in HTTP headers.
fn mirrored() -> Arc<dyn Tool> {
    let schema = json!({
        "type": "object",
        "properties": {
            "region": {"type": "string", "x-mcp-header": "Region"},
            "priority": {"type": "integer", "x-mcp-header": "Priority"},
        },
        "additionalProperties": false,
    });
    let tool =
        JsonTool::new(
            "test_custom_headers",
            &schema,
            |args, _| async move { Ok(args.to_string()) },
        );
    shown(tool.description("Echoes arguments that have headers of their own"))
}

fn every_keyword() -> Arc<dyn Tool> {
    let schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {
            "address": {
                "$anchor": "addressDef",
                "type": "object",
                "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
            },
        },
        "properties": {
            "name": {"type": "string"},
            "address": {"$ref": "#/$defs/address"},
            "contactMethod": {"type": "string", "enum": ["phone", "email"]},
            "phone": {"type": "string"},
            "email": {"type": "string"},
        },
        "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
        "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
        "then": {"required": ["phone"]},
        "else": {"required": ["email"]},
        "additionalProperties": false,
    });
    let tool = JsonTool::new("json_schema_2020_12_tool", &schema, |args, _| async move {
        Ok(args.to_string())
    });
    shown(tool.description("Tool with JSON Schema 2020-12 features"))
}
