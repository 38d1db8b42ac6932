//! Servers that publish for strict hosts.

use candor::json;
use candor::prelude::*;
use serde_json::Value;

use crate::ways::Ways;
use crate::{call, input, output, server};

#[candor::args]
struct Node {
    next: Option<Box<Node>>,
}

#[candor::args]
struct Filter {
    after: Option<String>,
    #[default(3)]
    limit: u8,
}

#[tool(reads)]
fn count(words: Vec<String>) -> usize {
    words.len()
}

#[tool(reads)]
fn find(
    limit: Option<u8>,
    filter: Option<Filter>,
    #[optional] after: Option<String>,
) -> Option<String> {
    let filter = filter.map(|filter| format!("{:?} {}", filter.after, filter.limit));
    let asked = limit.is_some() || filter.is_some() || after.is_some();
    asked.then(|| format!("{limit:?} {filter:?} {after:?}"))
}

#[tool(reads)]
fn nodes() -> Vec<Node> {
    vec![Node { next: None }]
}

#[tool(reads)]
fn node() -> Node {
    Node { next: None }
}

fn all() -> Server {
    server(tools![count, find, nodes, node])
}

#[tokio::test]
async fn native_output_has_no_boxes_for_modern_clients() {
    let modern = Ways::modern(all().native_output()).await;
    let schema = output(&modern, "count").await.unwrap();
    assert_eq!((&schema["type"], schema.get("x-dedalus-box")), (&json!("integer"), None));
    let called = call(&modern, "count", json!({"words": ["a", "b"]})).await;
    assert_eq!((called.structured(), called.text()), (Some(&json!(2)), "2"));

    let called = call(&modern, "nodes", json!({})).await;
    assert_eq!(called.structured(), Some(&json!([{"next": null}])));
    let called = call(&modern, "node", json!({})).await;
    assert_eq!(called.structured(), Some(&json!({"next": null})), "an object is never boxed");
    let called = call(&modern, "find", json!({"limit": 1})).await;
    assert_eq!(called.structured(), Some(&json!("Some(1) None None")));
    let called = call(&modern, "find", json!({})).await;
    assert_eq!(called.raw()["structuredContent"], Value::Null);
}

#[tokio::test]
async fn native_output_leaves_the_boxes_of_legacy_clients() {
    let with = Ways::legacy(all().native_output()).await;
    let without = Ways::legacy(all()).await;
    for tool in ["count", "find", "nodes", "node"] {
        assert_eq!(output(&with, tool).await, output(&without, tool).await, "{tool}");
    }
    let called = call(&with, "count", json!({"words": ["a", "b"]})).await;
    assert_eq!(called.structured(), Some(&json!({"result": 2})));
}

#[tokio::test]
async fn plain_optionals_publish_no_null_and_accept_it() {
    let options = || all().plain_optionals();
    for client in [Ways::modern(options()).await, Ways::legacy(options()).await] {
        let schema = input(&client, "find").await;
        assert!(!schema.to_string().contains("null"), "{schema}");
        assert_eq!(schema.get("required"), None);
        let limit = &schema["properties"]["limit"];
        assert_eq!((&limit["type"], limit.get("anyOf")), (&json!("integer"), None));
        assert_eq!(limit["description"], "Parameter limit");
        let filter = &schema["properties"]["filter"];
        assert_eq!(filter["properties"]["after"]["type"], "string", "{filter}");
        assert_eq!(filter["properties"]["limit"]["default"], 3);

        for (arguments, expected) in [
            (json!({"limit": null, "after": "x"}), r#"None None Some("x")"#),
            (json!({"limit": 2}), "Some(2) None None"),
            (json!({"filter": {"after": null}}), r#"None Some("None 3") None"#),
            (json!({"filter": {}}), r#"None Some("None 3") None"#),
        ] {
            assert_eq!(call(&client, "find", arguments).await.text(), expected);
        }
        assert!(client.call("find", json!({"limit": "x"})).await.is_error());
        assert!(client.call("find", json!({"after": null})).await.is_error());
    }
}

#[tokio::test]
async fn native_output_and_plain_optionals_combine() {
    let client = Ways::modern(all().plain_optionals().native_output()).await;
    assert!(!input(&client, "find").await.to_string().contains("null"));
    assert_eq!(output(&client, "count").await.unwrap()["type"], "integer");
    let called = call(&client, "nodes", json!({})).await;
    assert_eq!(called.structured(), Some(&json!([{"next": null}])));
}
