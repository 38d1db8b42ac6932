//! When a parameter is all of the arguments, and when it is one of them.

use std::collections::BTreeMap;

use candor::json;
use candor::prelude::*;
use serde_json::Value;

use crate::ways::Ways;
use crate::{call, input, server};

#[candor::args]
#[derive(Debug, Clone)]
struct Point {
    /// To the right
    x: i64,
    #[default(0)]
    y: i64,
}

#[candor::args]
#[derive(Debug)]
enum Shape {
    Dot(Point),
    Circle { radius: u32 },
}

#[candor::args]
#[derive(Debug)]
struct Tree {
    name: String,
    children: Vec<Tree>,
}

#[candor::args]
struct Name(String);

#[tool(reads)]
fn one_struct(point: Point) -> String {
    format!("{point:?}")
}

#[tool(reads)]
fn one_struct_and_the_server(ctx: Ctx, point: Point) -> String {
    format!("{} {point:?}", ctx.principal().as_str())
}

#[tool(reads)]
fn two_structs(from: Point, to: Point) -> String {
    format!("{from:?} {to:?}")
}

#[tool(reads)]
fn an_enum(shape: Shape) -> String {
    format!("{shape:?}")
}

#[tool(reads)]
fn an_option(point: Option<Point>) -> String {
    format!("{point:?}")
}

#[tool(reads)]
fn a_default(#[default(Point { x: 1, y: 2 })] point: Point) -> String {
    format!("{point:?}")
}

#[tool(reads)]
fn a_map(words: BTreeMap<String, i32>) -> String {
    format!("{words:?}")
}

#[tool(reads)]
fn a_tree(tree: Tree) -> String {
    format!("{tree:?}")
}

#[tool(reads)]
fn a_newtype(name: Name) -> String {
    name.0
}

#[tool(reads)]
fn a_tuple(pair: (i32, String)) -> String {
    format!("{pair:?}")
}

#[tool(reads)]
fn anything(value: Value) -> String {
    value.to_string()
}

fn all() -> Server {
    server(tools![
        one_struct,
        one_struct_and_the_server,
        two_structs,
        an_enum,
        an_option,
        a_default,
        a_map,
        a_tree,
        a_newtype,
        a_tuple,
        anything
    ])
}

#[tokio::test]
async fn single_struct_parameter_is_the_arguments() {
    let client = Ways::modern(all()).await;
    let schema = input(&client, "one_struct").await;
    assert_eq!(
        schema,
        json!({
            "type": "object",
            "properties": {
                "x": {"type": "integer", "description": "To the right"},
                "y": {"type": "integer", "description": "Parameter y", "default": 0}
            },
            "required": ["x"],
            "additionalProperties": false
        })
    );
    assert_eq!(input(&client, "one_struct_and_the_server").await, schema);
    let called = call(&client, "one_struct", json!({"x": 1})).await;
    assert_eq!(called.text(), "Point { x: 1, y: 0 }");
    let called = call(&client, "one_struct_and_the_server", json!({"x": 1, "y": 2})).await;
    assert_eq!(called.text(), "tester Point { x: 1, y: 2 }");
}

#[tokio::test]
async fn other_parameters_are_each_one_argument() {
    let client = Ways::modern(all()).await;
    for (tool, names, arguments, expected) in [
        (
            "two_structs",
            json!(["from", "to"]),
            json!({"from": {"x": 1}, "to": {"x": 2}}),
            "Point { x: 1, y: 0 } Point { x: 2, y: 0 }",
        ),
        (
            "an_enum",
            json!(["shape"]),
            json!({"shape": {"circle": {"radius": 2}}}),
            "Circle { radius: 2 }",
        ),
        (
            "an_enum",
            json!(["shape"]),
            json!({"shape": {"dot": {"x": 2}}}),
            "Dot(Point { x: 2, y: 0 })",
        ),
        ("an_option", json!(null), json!({"point": {"x": 1}}), "Some(Point { x: 1, y: 0 })"),
        ("an_option", json!(null), json!({}), "None"),
        ("a_default", json!(null), json!({}), "Point { x: 1, y: 2 }"),
        ("a_map", json!(["words"]), json!({"words": {"a": 1}}), r#"{"a": 1}"#),
        ("a_newtype", json!(["name"]), json!({"name": "Ada"}), "Ada"),
        ("a_tuple", json!(["pair"]), json!({"pair": [1, "a"]}), r#"(1, "a")"#),
        ("anything", json!(["value"]), json!({"value": [1]}), "[1]"),
    ] {
        let schema = input(&client, tool).await;
        assert_eq!(schema.get("required").unwrap_or(&Value::Null), &names, "{tool}");
        assert_eq!(schema["additionalProperties"], json!(false), "{tool}");
        for combinator in ["anyOf", "oneOf", "allOf", "$ref"] {
            assert!(schema.get(combinator).is_none(), "{tool} has {combinator} at its root");
        }
        assert_eq!(call(&client, tool, arguments).await.text(), expected, "{tool}");
    }
}

#[tokio::test]
async fn recursive_struct_may_be_the_arguments() {
    let client = Ways::modern(all()).await;
    let schema = input(&client, "a_tree").await;
    assert_eq!(schema["required"], json!(["name", "children"]));
    let validator = jsonschema::validator_for(&schema).unwrap();
    let tree = |name: Value| json!({"name": "a", "children": [{"name": name, "children": []}]});
    assert!(validator.is_valid(&tree(json!("b"))));
    assert!(!validator.is_valid(&tree(json!(7))));
    assert_eq!(
        call(&client, "a_tree", tree(json!("b"))).await.text(),
        r#"Tree { name: "a", children: [Tree { name: "b", children: [] }] }"#
    );
    let refused = client.call("a_tree", tree(json!(7))).await;
    assert!(refused.text().contains("/children/0/name"), "{}", refused.text());
}

#[candor::args]
#[derive(Debug)]
struct Forest {
    trees: Vec<Branch>,
}

#[candor::args]
#[derive(Debug)]
struct Branch {
    within: Option<Box<Forest>>,
}

#[tool(reads)]
fn each_in_the_other(forest: Forest) -> Forest {
    forest
}

#[tokio::test]
async fn mutually_recursive_types_are_arguments_and_results() {
    let client = Ways::modern(server(tools![each_in_the_other])).await;
    let forest = json!({"trees": [{"within": {"trees": [{"within": null}]}}]});
    let called = call(&client, "each_in_the_other", forest.clone()).await;
    assert_eq!(called.structured(), Some(&forest));
}
