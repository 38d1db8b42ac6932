//! Values of which nothing is known before they are there.

use candor::json;
use candor::prelude::*;
use serde_json::{Map, Value};

use crate::ways::both_ways;
use crate::{call, input, output};

#[tool(reads)]
fn echo(value: Value) -> Value {
    value
}

#[tool(reads)]
fn echo_result(value: Value) -> Result<Value, ToolError> {
    Ok(value)
}

#[tool(reads)]
fn echo_object(value: Map<String, Value>) -> Map<String, Value> {
    value
}

#[candor::args]
struct Wrapped(Value);

#[tool(reads)]
fn echo_wrapped(value: Wrapped) -> Wrapped {
    value
}

#[tokio::test]
async fn dynamic_value_is_shaped_at_run_time() {
    for client in both_ways(|| tools![echo, echo_result, echo_wrapped]).await {
        let anything = json!({"description": "Parameter value"});
        assert_eq!(input(&client, "echo").await["properties"]["value"], anything);
        for tool in ["echo", "echo_result", "echo_wrapped"] {
            assert_eq!(output(&client, tool).await, None, "{tool}");
            for (value, texts, structured) in [
                (json!({"a": 1}), json!([r#"{"a":1}"#]), json!({"a": 1})),
                (json!({}), json!(["{}"]), json!({})),
                (json!("a"), json!(["a"]), json!({"result": "a"})),
                (json!(7), json!(["7"]), json!({"result": 7})),
                (
                    json!(["a", {"b": 1}]),
                    json!(["a", r#"{"b":1}"#]),
                    json!({"result": ["a", {"b": 1}]}),
                ),
                (json!([]), json!(["[]"]), json!({"result": []})),
                (json!(""), json!([r#""""#]), json!({"result": ""})),
                (json!(null), json!(["null"]), json!(null)),
            ] {
                let called = call(&client, tool, json!({"value": value})).await;
                assert_eq!(json!(crate::texts(&called)), texts, "{tool} {value}");
                assert_eq!(
                    called.structured().unwrap_or(&Value::Null),
                    &structured,
                    "{tool} {value}"
                );
                let absent = called.raw().get("structuredContent").is_none();
                assert_eq!(absent, value.is_null(), "{tool} {value}");
            }
        }
    }
}

#[tokio::test]
async fn object_that_is_a_valid_tool_result_is_sent_as_one() {
    let block = json!({"type": "text", "text": "a"});
    for client in both_ways(|| tools![echo]).await {
        for (value, content, structured, is_error) in [
            (json!({"content": [block]}), json!([block]), json!(null), json!(null)),
            (
                json!({"content": [block], "isError": true}),
                json!([block]),
                json!(null),
                json!(true),
            ),
            (json!({"structuredContent": {"x": 1}}), json!([]), json!({"x": 1}), json!(null)),
            (
                json!({"content": [], "structuredContent": {"x": 1}, "meta": {"org.example/a": 1}}),
                json!([]),
                json!({"x": 1}),
                json!(null),
            ),
        ] {
            let called = client.call("echo", json!({"value": value})).await;
            let raw = called.raw();
            assert_eq!(raw["content"], content, "{value}");
            assert_eq!(
                raw.get("structuredContent").unwrap_or(&Value::Null),
                &structured,
                "{value}"
            );
            assert_eq!(raw.get("isError").unwrap_or(&Value::Null), &is_error, "{value}");
            if value.get("meta").is_some() {
                assert_eq!(raw["_meta"]["org.example/a"], 1);
            }
        }
    }
}

#[tokio::test]
async fn object_that_is_not_a_valid_tool_result_is_a_value() {
    for client in both_ways(|| tools![echo, echo_object]).await {
        for tool in ["echo", "echo_object"] {
            for value in [
                json!({"content": "a book"}),
                json!({"content": [{"type": "hologram"}]}),
                json!({"content": [{"type": "image"}]}),
                json!({"content": [], "isError": "perhaps"}),
                json!({"isError": 7}),
                json!({"_meta": {"a": 1}, "name": "x"}),
                json!({"meta": {"a": 1}, "name": "x"}),
            ] {
                let called = call(&client, tool, json!({"value": value})).await;
                assert_eq!(called.structured(), Some(&value), "{tool}");
                assert_eq!(called.text(), value.to_string(), "{tool}");
            }
        }
    }
}
