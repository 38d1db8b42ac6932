//! What a caller is told when a value does not fit.

#![allow(dead_code, missing_docs, reason = "the types are here for their shape")]

use candor_schema::schemars::{self, JsonSchema};
use candor_schema::{Schema, input, output};
use serde_json::{Value, json};

#[derive(JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Mode {
    Fast,
    Accurate,
}

#[derive(JsonSchema)]
#[serde(tag = "kind", rename_all = "lowercase")]
enum Action {
    Chat { message: String, urgent: bool },
    Navigate { url: String },
}

#[derive(JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Shape {
    Circle { radius: f64, centre: f64, colour: u8 },
    Square { side: f64 },
}

#[derive(JsonSchema)]
#[serde(untagged)]
enum Target {
    Point { x: i64, y: i64 },
    Named { name: String },
    Id(u64),
}

#[derive(JsonSchema)]
struct Order {
    name: String,
    #[schemars(range(min = 1, max = 9))]
    count: i64,
    mode: Option<Mode>,
    limit: Option<u32>,
    #[schemars(length(max = 3))]
    tags: Option<Vec<String>>,
    action: Option<Action>,
    shape: Option<Shape>,
    target: Option<Target>,
}

/// What is said of an order with these members beside the two that it needs.
#[track_caller]
fn said(members: &Value) -> String {
    let mut order = json!({"name": "a", "count": 1});
    order.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
    let schema = Schema::compile(&input::<Order>().to_string()).unwrap();
    schema.check(&order).unwrap_err().to_string()
}

#[test]
fn missing_member_is_reported_at_its_pointer() {
    let schema = Schema::compile(&input::<Order>().to_string()).unwrap();
    assert_eq!(
        schema.check(&json!({})).unwrap_err().to_string(),
        "/name: required, but missing; expected a string; \
         /count: required, but missing; expected an integer"
    );
}

#[test]
fn unknown_member_is_reported_with_the_nearest_free_name() {
    assert_eq!(said(&json!({"limti": 1})), "/limti: unknown member; did you mean `limit`?");
    assert_eq!(said(&json!({"a/b": 1, "limit": 1}))[..24], *"/a~1b: unknown member; k");
    assert_eq!(
        said(&json!({"names": 1})),
        "/names: unknown member; known are `name`, `count`, `mode`, `limit`, `tags`, `action`, \
         `shape`, `target`",
        "`name` is there already"
    );
}

#[test]
fn wrong_value_is_reported_with_the_expected_one() {
    for (members, problem) in [
        (json!({"name": 7}), "/name: expected a string, received the number 7"),
        (json!({"name": null}), "/name: expected a string, received null"),
        (json!({"name": ["a"]}), "/name: expected a string, received an array of 1 item"),
        (json!({"count": "six"}), r#"/count: expected an integer, received the string "six""#),
        (json!({"count": 1.5}), "/count: expected an integer, received the number 1.5"),
        (json!({"count": 0}), "/count: expected at least 1, received 0"),
        (json!({"count": 10}), "/count: expected at most 9, received 10"),
        (
            json!({"tags": ["a", "b", "c", "d"]}),
            "/tags: expected at most 3 items, received 4 items",
        ),
        (json!({"tags": ["a", 2]}), "/tags/1: expected a string, received the number 2"),
        (json!({"limit": -1}), "/limit: expected at least 0, received -1"),
    ] {
        assert_eq!(said(&members), problem);
    }
}

#[test]
fn violation_has_the_expected_and_valid_values_as_data() {
    let schema = Schema::compile(&input::<Order>().to_string()).unwrap();
    for (order, expected, allowed) in [
        (json!({"count": 1}), Some("a string"), json!([])),
        (json!({"name": "a", "count": 0}), Some("at least 1"), json!([])),
        (
            json!({"name": "a", "count": 1, "mode": "fats"}),
            Some(r#"one of "fast", "accurate""#),
            json!(["fast", "accurate"]),
        ),
        (
            json!({"name": "a", "count": 1, "action": {"kind": "swim"}}),
            Some(r#"one of "chat", "navigate""#),
            json!(["chat", "navigate"]),
        ),
        (json!({"name": "a", "count": 1, "names": 1}), None, json!([])),
    ] {
        let invalid = schema.check(&order).unwrap_err();
        let [violation] = &invalid.violations[..] else { panic!("{order}: {invalid}") };
        assert_eq!(violation.expected.as_deref(), expected, "{order}");
        assert_eq!(json!(violation.valid_values), allowed, "{order}");
        // The text has the expected value, too.
        assert!(expected.is_none_or(|expected| violation.problem.contains(expected)), "{order}");
    }
}

#[test]
fn valid_values_are_omitted_above_a_hundred() {
    let of = |count: usize| {
        let values: Vec<_> = (0..count).map(|number| format!("v-{number}")).collect();
        let schema = json!({"type": "object", "properties": {"a": {"enum": values}}});
        let schema = Schema::compile(&schema.to_string()).unwrap();
        schema.check(&json!({"a": "x"})).unwrap_err().violations[0].valid_values.len()
    };
    assert_eq!((of(100), of(101)), (100, 0));
}

#[test]
fn optional_value_is_explained_by_its_non_null_type() {
    assert_eq!(
        said(&json!({"mode": "fats"})),
        r#"/mode: expected one of "fast", "accurate", received the string "fats"; did you mean "fast"?"#
    );
    assert_eq!(
        said(&json!({"limit": "many"})),
        r#"/limit: expected an integer or null, received the string "many""#
    );
}

#[test]
fn tagged_value_is_explained_by_its_variant() {
    assert_eq!(
        said(&json!({"action": {"kind": "chat", "mesage": "hi", "urgent": "no"}})),
        "/action/message: required, but missing; expected a string; \
         /action/urgent: expected true or false, received the string \"no\"; \
         /action/mesage: unknown member; did you mean `message`?"
    );
    assert_eq!(
        said(&json!({"action": {"kind": "chatt"}})),
        r#"/action/kind: expected one of "chat", "navigate", received the string "chatt"; did you mean "chat"?"#
    );
    assert_eq!(
        said(&json!({"action": {"message": "hi"}})),
        r#"/action/kind: required, but missing; expected one of "chat", "navigate""#
    );
    assert_eq!(
        said(&json!({"action": 1})),
        "/action: expected an object with `kind` = \"chat\", `message`, `urgent` or an object with \
         `kind` = \"navigate\", `url` or null, received the number 1"
    );
}

#[test]
fn untagged_value_is_explained_by_the_closest_alternative() {
    assert_eq!(
        said(&json!({"shape": {"circle": {"radius": "r", "centre": "c", "colour": 256}}})),
        "/shape/circle/radius: expected a number, received the string \"r\"; \
         /shape/circle/centre: expected a number, received the string \"c\"; \
         /shape/circle/colour: expected at most 255, received 256"
    );
    assert_eq!(
        said(&json!({"target": {"x": 1, "y": "2"}})),
        r#"/target/y: expected an integer, received the string "2""#
    );
    assert_eq!(
        said(&json!({"target": true})),
        "/target: expected an object with `x`, `y` or an object with `name` or an integer or null, \
         received true"
    );
}

#[derive(JsonSchema)]
struct Node {
    value: i64,
    children: Vec<Node>,
}

#[test]
fn explanations_follow_references() {
    let schema = Schema::compile(&output::<Vec<Node>>().unwrap().schema.to_string()).unwrap();
    let nodes = json!({"result": [{"value": 1, "children": [{"valeu": 2, "children": []}]}]});
    assert_eq!(
        schema.check(&nodes).unwrap_err().to_string(),
        "/result/0/children/0/value: required, but missing; expected an integer; \
         /result/0/children/0/valeu: unknown member; did you mean `value`?"
    );
}

#[derive(JsonSchema)]
struct Nothing {}

#[test]
fn unknown_member_of_an_empty_object_is_explained() {
    let schema = Schema::compile(&input::<Nothing>().to_string()).unwrap();
    assert_eq!(
        schema.check(&json!({"x": 1})).unwrap_err().to_string(),
        "/x: unknown member; no more members are allowed here"
    );
    let schema = Schema::compile(r#"{"additionalProperties":false}"#).unwrap();
    assert_eq!(
        schema.check(&json!({"x": 1})).unwrap_err().to_string(),
        "expected an object without members"
    );
}

#[test]
fn long_values_and_lists_are_cut_in_errors() {
    let names: Vec<String> = (0..1000).map(|i| format!("option {i}")).collect();
    let schema = Schema::compile(&json!({"enum": names}).to_string()).unwrap();
    let text = schema.check(&json!("é".repeat(100_000))).unwrap_err().to_string();
    assert!(text.len() < 1_500 && text.contains("and 980 more"), "{text}");

    let schema = Schema::compile(&input::<Nothing>().to_string()).unwrap();
    let members: serde_json::Map<_, _> = (0..500).map(|i| (i.to_string(), json!(0))).collect();
    assert_eq!(schema.check(&members.into()).unwrap_err().violations.len(), 20);
}

#[derive(JsonSchema)]
struct Visit {
    from: std::net::IpAddr,
    at: chrono::NaiveTime,
}

#[test]
fn string_formats_are_named_in_errors() {
    let schema = Schema::compile(&input::<Visit>().to_string()).unwrap();
    assert_eq!(
        schema.check(&json!({"from": "a", "at": "25:00"})).unwrap_err().to_string(),
        "/from: expected a string of format ipv4 or a string of format ipv6, received the string \"a\"; \
         /at: expected a string of format partial-time (such as 14:30:00), received \"25:00\""
    );
}

#[test]
fn unknown_member_error_names_the_allowed_key_form() {
    let text = r#"{"properties": {"id": {}}, "patternProperties": {"^(0|[1-9][0-9]*)$": {}}, "additionalProperties": false}"#;
    let invalid = Schema::compile(text).unwrap().check(&json!({"x": 1})).unwrap_err();
    assert_eq!(
        invalid.to_string(),
        "/x: unknown member; known are `id`, and an integer that is not negative"
    );
}
