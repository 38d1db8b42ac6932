//! Schemas that the author gives, and arguments without any.

use std::sync::Arc;

use candor::json;
use candor::prelude::*;
use serde_json::Value;

use crate::log::Log;
use crate::ways::{Ways, both_ways};
use crate::{call, output, server};

#[tool(unclassified)]
fn anything(args: Arguments) -> String {
    args.as_value().to_string()
}

#[tokio::test]
async fn arguments_without_a_schema_are_any_object() {
    for client in both_ways(|| tools![anything]).await {
        let tool = client.tool("anything").await;
        assert_eq!(tool.input_schema.get(), r#"{"type":"object","additionalProperties":true}"#);
        assert!(tool.annotations.is_none(), "an unclassified tool has no hints");
        let arguments = json!({"a": [1, {"b": null}], "": "x"});
        assert_eq!(
            call(&client, "anything", arguments.clone()).await.text(),
            arguments.to_string()
        );
        assert_eq!(call(&client, "anything", json!({})).await.text(), "{}");
    }
}

/// Spaces and order as nobody would derive them.
const INPUT: &str =
    r#"{ "required": ["level"],  "properties": {"level": {"enum": [1, 2]}}, "type": "object" }"#;

#[tool(reads, input_schema = INPUT)]
fn raw(args: Arguments) -> i64 {
    args["level"].as_i64().unwrap_or_default()
}

#[tool(reads, input_schema = INPUT)]
fn typed(level: u8, #[default("none")] note: String) -> String {
    format!("{level} {note}")
}

#[candor::args]
struct Level {
    level: u8,
}

#[tool(reads, input_schema = INPUT)]
fn structured(args: Level) -> u8 {
    args.level
}

#[tool(reads, input_schema = json!({"type": "object", "properties": {"a": {"type": "string"}}}))]
fn from_json(a: Option<String>) -> String {
    a.unwrap_or_default()
}

#[tokio::test]
async fn given_input_schema_is_published_byte_for_byte_and_enforced() {
    for client in both_ways(|| tools![raw, typed, structured, from_json]).await {
        for tool in ["raw", "typed", "structured"] {
            assert_eq!(client.tool(tool).await.input_schema.get(), INPUT, "{tool}");
            call(&client, tool, json!({"level": 2})).await;
            let refused = client.call(tool, json!({"level": 3})).await;
            assert!(refused.is_error() && refused.text().contains("/level"), "{}", refused.text());
        }
        assert_eq!(
            client.tool("from_json").await.input_schema.get(),
            r#"{"type":"object","properties":{"a":{"type":"string"}}}"#
        );
    }
}

#[tokio::test]
async fn call_that_a_given_schema_accepts_is_accepted() {
    let client = Ways::modern(server(tools![typed])).await;
    let called = call(&client, "typed", json!({"level": 1, "note": "x", "more": true})).await;
    assert_eq!(called.text(), "1 x");
}

#[tokio::test]
async fn argument_that_only_the_type_refuses_is_reported_to_the_caller() {
    let client = Ways::modern(server(tools![from_json])).await;
    let called = call(&client, "from_json", json!({})).await;
    assert_eq!(called.text(), r#""""#);
    let client = Ways::modern(server(tools![typed])).await;
    let refused = client.call("typed", json!({"level": 1, "note": 7})).await;
    assert!(refused.is_error() && refused.text().contains("/note"), "{}", refused.text());
}

const OUTPUT: &str = r#"{ "type": "object", "required": ["count"], "properties": {"count": {"type": "integer", "maximum": 9}} }"#;

#[tool(reads, output_schema = OUTPUT)]
fn count(to: Value) -> Value {
    json!({"count": to})
}

#[tool(reads, output_schema = json!({"type": "integer", "maximum": 9}))]
fn plain(to: i64) -> i64 {
    to
}

#[tokio::test]
async fn given_output_schema_is_published_byte_for_byte_and_enforced() {
    for client in both_ways(|| tools![count]).await {
        assert_eq!(client.tool("count").await.output_schema.unwrap().get(), OUTPUT);
        let called = call(&client, "count", json!({"to": 9})).await;
        assert_eq!(called.structured(), Some(&json!({"count": 9})));
        let log = Log::listen();
        let refused = client.call("count", json!({"to": 10})).await;
        assert!(refused.is_error());
        assert_eq!(refused.raw()["_meta"]["dev.candor/error"]["code"], "result_invalid");
        assert!(!refused.text().contains("/count"), "{}", refused.text());
        assert!(log.text().contains("/count"), "{}", log.text());
    }
}

#[tokio::test]
async fn given_scalar_output_schema_is_not_boxed() {
    let [modern, legacy] = both_ways(|| tools![plain]).await;
    assert_eq!(output(&modern, "plain").await, Some(json!({"type": "integer", "maximum": 9})));
    assert_eq!(call(&modern, "plain", json!({"to": 9})).await.structured(), Some(&json!(9)));
    assert!(modern.call("plain", json!({"to": 10})).await.is_error());
    // Before 2026-07-28 structured content is an object, or there is none.
    assert_eq!(output(&legacy, "plain").await, None);
    let called = call(&legacy, "plain", json!({"to": 9})).await;
    assert_eq!((called.structured(), called.text()), (None, "9"));
}

#[candor::args]
#[derive(serde::Serialize)]
struct Weather {
    celsius: f64,
}

#[tool(reads, output_schema = none)]
fn weather(celsius: f64) -> Weather {
    Weather { celsius }
}

#[tool(reads, output_schema = none)]
fn sum(a: i64, b: i64) -> Result<i64, ToolError> {
    Ok(a + b)
}

#[tokio::test]
async fn results_are_sent_without_an_output_schema() {
    for client in both_ways(|| tools![weather, sum]).await {
        assert_eq!(output(&client, "weather").await, None);
        assert_eq!(output(&client, "sum").await, None);
        let called = call(&client, "weather", json!({"celsius": 7.5})).await;
        assert_eq!(called.structured(), Some(&json!({"celsius": 7.5})));
        let called = call(&client, "sum", json!({"a": 3, "b": 4})).await;
        assert_eq!((called.text(), called.structured()), ("7", Some(&json!({"result": 7}))));
    }
}

#[test]
fn schema_with_a_remote_reference_is_refused() {
    #[tool(reads, input_schema = json!({"type": "object", "properties": {"a": {"$ref": "http://127.0.0.1:9/a"}}}))]
    fn far_away(args: Arguments) -> bool {
        args.is_object()
    }
    let error = server(tools![far_away]).build().err().unwrap().to_string();
    assert!(error.contains("\"far_away\"") && error.contains("input schema"), "{error}");
}

#[tokio::test]
async fn json_tool_definition_is_published_unchanged() {
    let definition = json!({
        "name": "greet",
        "inputSchema": {"properties": {"name": {"type": "string"}}, "type": "object"},
        "title": "Greeter",
        "description": "Greets by name",
        "outputSchema": {"type": "object", "required": ["text"]},
        "annotations": {"readOnlyHint": true, "x-audit": 1},
        "icons": [{"src": "https://example.org/a.png"}],
        "_meta": {"org.example/a": 1},
        "x-more": [null],
    });
    let tools = || {
        let greet = JsonTool::from_json(&definition, |args, _| async move {
            let name = args["name"].as_str().unwrap_or("you");
            Ok(Output::structured(json!({"text": format!("Hello, {name}!")})))
        });
        vec![Arc::new(greet.unwrap()) as Arc<dyn candor::tool::Tool>]
    };
    for client in both_ways(tools).await {
        let listed: Value =
            serde_json::from_str(&client.ask("tools/list", &json!({})).await).unwrap();
        assert_eq!(listed["result"]["tools"], json!([definition]));
        let called = call(&client, "greet", json!({"name": "Ada"})).await;
        assert_eq!(called.structured(), Some(&json!({"text": "Hello, Ada!"})));
    }
}

#[test]
fn invalid_json_tool_definition_is_refused_with_its_pointer() {
    let schema = json!({"type": "object"});
    for (definition, problem) in [
        (json!({"inputSchema": schema}), "the value is missing \"name\""),
        (json!({"name": "a"}), "the value is missing \"inputSchema\""),
        (json!({"name": "a", "inputSchema": "{}"}), "/inputSchema is not an object"),
        (json!({"name": "a", "inputSchema": null}), "/inputSchema is not an object"),
        (
            json!({"name": "a", "inputSchema": schema, "outputSchema": 7}),
            "/outputSchema is not an object",
        ),
        (
            json!({"name": "a", "inputSchema": schema, "annotations": {"readOnlyHint": "yes"}}),
            "/annotations/readOnlyHint is not true or false",
        ),
        (
            json!({"name": "a", "inputSchema": schema, "icons": [{"src": 7}]}),
            "/icons/0/src is not a string",
        ),
        (json!([]), "the value is not an object"),
    ] {
        let made = JsonTool::from_json(&definition, |_, _| async { Ok("") });
        assert_eq!(made.err().map(|e| e.to_string()).as_deref(), Some(problem), "{definition}");
    }
}
