//! The results of tools.

use std::collections::BTreeMap;

use candor_schema::schemars::{self, JsonSchema};
use candor_schema::{BOX_FIELD, BOX_KEYWORD, output};
use serde_json::{Value, json};

use crate::checked;

fn boxed<T: JsonSchema>() -> Value {
    let output = output::<T>().unwrap();
    assert!(output.boxed, "{}", output.schema);
    checked(output.schema)
}

fn unboxed<T: JsonSchema>() -> Value {
    let output = output::<T>().unwrap();
    assert!(!output.boxed, "{}", output.schema);
    assert_eq!(output.schema["type"], "object");
    checked(output.schema)
}

fn in_a_box(schema: &Value) -> Value {
    json!({
        "type": "object",
        "properties": {"result": schema},
        "required": ["result"],
        "x-dedalus-box": {"field": "result"}
    })
}

#[derive(JsonSchema)]
struct Count {
    records: i64,
}

#[test]
fn output_that_is_no_object_is_wrapped() {
    assert_eq!((BOX_FIELD, BOX_KEYWORD), ("result", "x-dedalus-box"));
    assert_eq!(boxed::<i64>(), in_a_box(&json!({"type": "integer"})));
    assert_eq!(boxed::<String>(), in_a_box(&json!({"type": "string"})));
    assert_eq!(boxed::<bool>(), in_a_box(&json!({"type": "boolean"})));
    assert_eq!(boxed::<f64>(), in_a_box(&json!({"type": "number"})));
    assert_eq!(
        boxed::<Vec<String>>(),
        in_a_box(&json!({"type": "array", "items": {"type": "string"}}))
    );
    assert_eq!(
        boxed::<Option<Count>>(),
        in_a_box(&json!({"anyOf": [unboxed::<Count>(), {"type": "null"}]}))
    );
    assert_eq!(boxed::<Vec<Value>>(), in_a_box(&json!({"type": "array", "items": true})));
}

#[test]
fn object_output_is_not_wrapped() {
    assert_eq!(
        unboxed::<Count>(),
        json!({
            "type": "object",
            "properties": {"records": {"type": "integer"}},
            "required": ["records"],
            "additionalProperties": false
        })
    );
    assert_eq!(
        unboxed::<BTreeMap<String, f64>>(),
        json!({"type": "object", "additionalProperties": {"type": "number"}})
    );
}

#[derive(JsonSchema)]
#[serde(tag = "kind", rename_all = "lowercase")]
enum Action {
    Chat { message: String },
    Navigate { url: String },
}

#[derive(JsonSchema)]
enum Mixed {
    Nothing,
    Some { a: u8 },
}

#[derive(JsonSchema)]
#[serde(untagged)]
enum Nested {
    Action(Action),
    Count(Count),
}

#[test]
fn union_output_is_wrapped_unless_all_parts_are_objects() {
    let action = unboxed::<Action>();
    assert_eq!(
        action,
        json!({
            "type": "object",
            "anyOf": [
                {
                    "type": "object",
                    "properties": {
                        "kind": {"type": "string", "const": "chat"},
                        "message": {"type": "string"}
                    },
                    "required": ["kind", "message"],
                    "additionalProperties": false
                },
                {
                    "type": "object",
                    "properties": {
                        "kind": {"type": "string", "const": "navigate"},
                        "url": {"type": "string"}
                    },
                    "required": ["kind", "url"],
                    "additionalProperties": false
                }
            ]
        })
    );
    assert_eq!(unboxed::<Nested>()["anyOf"].as_array().unwrap().len(), 3);
    boxed::<Mixed>();
    boxed::<Option<Action>>();
}

#[derive(JsonSchema)]
struct Nothing;

#[test]
fn unit_and_untyped_outputs_have_no_schema() {
    assert_eq!(output::<()>(), None);
    assert_eq!(output::<Nothing>(), None);
    assert_eq!(output::<Value>(), None);
    assert_eq!(output::<Option<Value>>(), None);
}

#[derive(JsonSchema)]
struct Node {
    children: Vec<Node>,
}

#[derive(JsonSchema)]
#[serde(tag = "t")]
enum Term {
    Leaf { n: i64 },
    Not { term: Box<Term> },
}

#[test]
fn definitions_are_at_the_root_of_a_wrapped_output() {
    let nodes = boxed::<Vec<Node>>();
    assert_eq!(nodes["properties"]["result"]["items"], json!({"$ref": "#/$defs/Node"}));
    assert!(nodes["$defs"]["Node"]["properties"]["children"].is_object());
    assert!(nodes["properties"]["result"].get("$defs").is_none());
    assert!(unboxed::<Node>()["$defs"]["Node"].is_object());
    assert!(unboxed::<Term>()["$defs"]["Term"].is_object());
    assert_eq!(boxed::<Option<Term>>()["properties"]["result"]["anyOf"][0]["$ref"], "#/$defs/Term");
}
