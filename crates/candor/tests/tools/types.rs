//! `#[candor::args]`: what it adds to a type, and what it leaves to the author.

use std::collections::BTreeSet;
use std::path::PathBuf;

use candor::json;
use candor::prelude::*;

use crate::ways::Ways;
use crate::{call, input, output, server};

#[candor::args]
#[serde(rename_all = "camelCase")]
#[derive(Debug)]
struct Settings {
    max_size: u32,
    /// Said twice is said once
    #[serde(default)]
    dark_mode: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    font: Option<String>,
    #[serde(skip)]
    #[allow(dead_code)]
    cache: Cache,
}

/// Nothing that could be sent.
#[derive(Debug, Default)]
struct Cache;

#[candor::args]
#[serde(tag = "type", rename_all_fields = "camelCase")]
#[derive(Debug)]
enum Step {
    WalkTo {
        #[default(1)]
        how_far: u32,
    },
    WaitFor {
        #[default(2)]
        how_far: u32,
    },
    #[serde(rename = "STOP")]
    Stop,
}

#[candor::args]
#[derive(Debug, Default)]
#[serde(default)]
struct Window {
    width: Option<u32>,
    title: String,
}

#[candor::args]
#[derive(Debug, serde::Serialize, serde::Deserialize)]
struct DerivedInPart {
    id: u64,
}

#[candor::args]
#[derive(Debug)]
struct Open {
    id: u64,
    #[serde(flatten)]
    rest: std::collections::BTreeMap<String, serde_json::Value>,
}

#[candor::args]
#[derive(Debug)]
struct Page<T> {
    items: Vec<T>,
    next: Option<u64>,
}

#[tool(reads)]
fn settings(settings: Settings) -> Settings {
    settings
}

#[tool(reads)]
fn steps(steps: Vec<Step>) -> String {
    format!("{steps:?}")
}

#[tool(reads)]
fn window(window: Window) -> String {
    format!("{window:?}")
}

#[tool(reads)]
fn in_part(args: DerivedInPart) -> DerivedInPart {
    args
}

#[tool(reads)]
fn open(args: Open) -> String {
    format!("{args:?}")
}

#[tool(reads)]
fn page() -> Page<DerivedInPart> {
    Page { items: vec![DerivedInPart { id: 7 }], next: None }
}

#[tool(reads)]
fn kinds(set: BTreeSet<String>, pair: (u8, String), bytes: Base64, path: PathBuf) -> String {
    format!("{set:?} {pair:?} {} {}", bytes.0.len(), path.display())
}

fn all() -> Server {
    server(tools![settings, steps, window, in_part, open, page, kinds])
}

#[tokio::test]
async fn a_set_a_pair_bytes_and_a_path_are_what_json_has_for_them() {
    let client = Ways::modern(all()).await;
    let schema = input(&client, "kinds").await;
    let of = |name: &str| &schema["properties"][name];
    assert_eq!((&of("set")["uniqueItems"], &of("set")["type"]), (&json!(true), &json!("array")));
    let pair = of("pair")["prefixItems"].as_array().unwrap();
    assert_eq!((&pair[0]["type"], &pair[1]["type"]), (&json!("integer"), &json!("string")));
    assert_eq!(of("bytes")["contentEncoding"], "base64");
    assert_eq!(of("path")["type"], "string");
    let arguments = json!({"set": ["b", "a"], "pair": [7, "x"], "bytes": "AAEC", "path": "a/b"});
    let called = call(&client, "kinds", arguments.clone()).await;
    assert_eq!(called.text(), r#"{"a", "b"} (7, "x") 3 a/b"#);
    for (name, wrong) in [
        ("set", json!(["a", "a"])),
        ("pair", json!([7])),
        ("pair", json!([7, "x", 1])),
        ("bytes", json!("not base64!")),
        ("path", json!(1)),
    ] {
        let mut arguments = arguments.clone();
        arguments[name] = wrong;
        assert!(client.call("kinds", arguments.clone()).await.is_error(), "{arguments}");
    }
}

#[tokio::test]
async fn what_the_author_tells_serde_is_not_told_again() {
    let client = Ways::modern(all()).await;
    let schema = input(&client, "settings").await;
    let names: Vec<_> = schema["properties"].as_object().unwrap().keys().collect();
    assert_eq!(names, ["maxSize", "darkMode", "font"]);
    assert_eq!(schema["required"], json!(["maxSize"]));
    let called = call(&client, "settings", json!({"maxSize": 1})).await;
    assert_eq!(called.structured(), Some(&json!({"maxSize": 1, "darkMode": null})));
    assert!(client.call("settings", json!({"max_size": 1})).await.is_error());
}

#[tokio::test]
async fn variants_are_in_snake_case_and_have_defaults_of_their_own() {
    let client = Ways::modern(all()).await;
    let arguments = json!({"steps": [
        {"type": "walk_to"}, {"type": "wait_for"}, {"type": "walk_to", "howFar": 9}, {"type": "STOP"}
    ]});
    let expected = "[WalkTo { how_far: 1 }, WaitFor { how_far: 2 }, WalkTo { how_far: 9 }, Stop]";
    assert_eq!(call(&client, "steps", arguments).await.text(), expected);
    let refused = client.call("steps", json!({"steps": [{"type": "walk_to", "far": 1}]})).await;
    assert!(refused.is_error(), "a variant is closed");
}

#[tokio::test]
async fn a_default_of_the_whole_is_that_of_its_fields() {
    let client = Ways::modern(all()).await;
    let schema = input(&client, "window").await;
    assert_eq!(schema.get("required"), None);
    let names: Vec<_> = schema["properties"].as_object().unwrap().keys().collect();
    assert_eq!(
        names,
        ["width", "title"],
        "a property of this name is none of the titles that are left out"
    );
    let called = call(&client, "window", json!({"title": "x"})).await;
    assert_eq!(called.text(), r#"Window { width: None, title: "x" }"#);
}

#[tokio::test]
async fn what_is_derived_already_is_not_derived_again() {
    let client = Ways::modern(all()).await;
    let called = call(&client, "in_part", json!({"id": 7})).await;
    assert_eq!(called.structured(), Some(&json!({"id": 7})));
}

#[tokio::test]
async fn a_type_that_takes_in_everything_is_open() {
    let client = Ways::modern(all()).await;
    let called = call(&client, "open", json!({"id": 7, "more": true})).await;
    assert_eq!(called.text(), r#"Open { id: 7, rest: {"more": Bool(true)} }"#);
}

#[tokio::test]
async fn a_generic_type_is_described_where_it_is_used() {
    let client = Ways::modern(all()).await;
    let schema = output(&client, "page").await.unwrap();
    assert_eq!(schema["properties"]["items"]["items"]["required"], json!(["id"]));
    assert!(!schema.to_string().contains("\"title\""), "no type names itself: {schema}");
    let called = call(&client, "page", json!({})).await;
    assert_eq!(called.structured(), Some(&json!({"items": [{"id": 7}], "next": null})));
}
