//! Enums in all the forms in which serde writes them.

use candor_schema::Schema;
use candor_schema::schemars::{self, JsonSchema};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::{reads, writes};

#[derive(JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Mode {
    Fast,
    Accurate,
    Balanced,
}

/// How to sort.
#[derive(JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Sort {
    /// Newest
    /// first.
    Newest,
    /// By size.
    BySize,
    Unsorted,
}

#[derive(JsonSchema)]
struct Sorted {
    sort: Sort,
    /// The second key.
    then: Sort,
    other: Option<Sort>,
    mode: Option<Mode>,
}

const ABOUT: &str = "How to sort.\n- `newest`: Newest first.\n- `by_size`: By size.";

#[test]
fn unit_variants_become_a_string_enum() {
    let modes = json!({"type": "string", "enum": ["fast", "accurate", "balanced"]});
    assert_eq!(reads::<Mode>(), modes);
    assert_eq!(reads::<Option<Mode>>(), json!({"anyOf": [modes, {"type": "null"}]}));
}

#[test]
fn variant_docs_join_the_description() {
    let names = json!(["unsorted", "newest", "by_size"]);
    assert_eq!(reads::<Sort>(), json!({"type": "string", "enum": names, "description": ABOUT}));
    let sorted = reads::<Sorted>();
    assert_eq!(sorted["properties"]["sort"], reads::<Sort>());
    assert_eq!(
        sorted["properties"]["then"]["description"],
        "The second key.\n- `newest`: Newest first.\n- `by_size`: By size."
    );
    assert_eq!(
        sorted["properties"]["other"],
        json!({"anyOf": [reads::<Sort>(), {"type": "null"}], "default": null})
    );
    assert_eq!(
        sorted["properties"]["mode"],
        json!({"anyOf": [reads::<Mode>(), {"type": "null"}], "default": null})
    );
}

#[derive(JsonSchema)]
enum External {
    Nothing,
    /// With docs.
    Documented,
    Number(i64),
    Pair(String, bool),
    Named {
        a: u8,
    },
}

#[test]
fn externally_tagged_enum_becomes_closed_alternatives() {
    assert_eq!(
        reads::<External>(),
        json!({"anyOf": [
            {
                "type": "string",
                "enum": ["Nothing", "Documented"],
                "description": "- `Documented`: With docs."
            },
            {
                "type": "object",
                "properties": {"Number": {"type": "integer"}},
                "required": ["Number"],
                "additionalProperties": false
            },
            {
                "type": "object",
                "properties": {"Pair": {
                    "type": "array",
                    "prefixItems": [{"type": "string"}, {"type": "boolean"}],
                    "minItems": 2,
                    "maxItems": 2
                }},
                "required": ["Pair"],
                "additionalProperties": false
            },
            {
                "type": "object",
                "properties": {"Named": {
                    "type": "object",
                    "properties": {"a": {"type": "integer", "minimum": 0, "maximum": 255}},
                    "required": ["a"],
                    "additionalProperties": false
                }},
                "required": ["Named"],
                "additionalProperties": false
            }
        ]})
    );
}

#[derive(JsonSchema, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
enum Action {
    Chat { message: String },
    Navigate(Destination),
    Stop,
}

#[derive(JsonSchema, Serialize, Deserialize)]
struct Destination {
    url: String,
}

#[test]
fn internally_tagged_enum_becomes_objects_with_a_constant_tag() {
    let action = json!({"anyOf": [
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
        },
        {
            "type": "object",
            "properties": {"kind": {"type": "string", "const": "stop"}},
            "required": ["kind"],
            "additionalProperties": false
        }
    ]});
    assert_eq!(reads::<Action>(), action);
    assert_eq!(writes::<Action>(), action);
}

#[derive(JsonSchema)]
#[serde(tag = "t", content = "c")]
enum Adjacent {
    Unit,
    Number(f64),
}

#[test]
fn adjacently_tagged_enum_becomes_tag_and_content_members() {
    assert_eq!(
        reads::<Adjacent>(),
        json!({"anyOf": [
            {
                "type": "object",
                "properties": {"t": {"type": "string", "const": "Unit"}},
                "required": ["t"],
                "additionalProperties": false
            },
            {
                "type": "object",
                "properties": {"t": {"type": "string", "const": "Number"}, "c": {"type": "number"}},
                "required": ["t", "c"],
                "additionalProperties": false
            }
        ]})
    );
}

#[derive(JsonSchema)]
#[serde(untagged)]
enum IdOrName {
    Id(u8),
    Name(String),
    Both { id: u8, name: String },
}

#[test]
fn optional_untagged_enum_becomes_one_list_with_null() {
    let branches = json!([
        {"type": "integer", "minimum": 0, "maximum": 255},
        {"type": "string"},
        {
            "type": "object",
            "properties": {"id": {"type": "integer", "minimum": 0, "maximum": 255}, "name": {"type": "string"}},
            "required": ["id", "name"],
            "additionalProperties": false
        }
    ]);
    assert_eq!(reads::<IdOrName>(), json!({"anyOf": branches}));
    let mut with_null = branches.as_array().unwrap().clone();
    with_null.push(json!({"type": "null"}));
    assert_eq!(reads::<Option<IdOrName>>(), json!({ "anyOf": with_null }), "one list, not two");
}

#[derive(JsonSchema)]
struct Step {
    id: u8,
    #[serde(flatten)]
    action: Action,
}

#[derive(JsonSchema)]
struct MaybeStep {
    id: u8,
    #[serde(flatten)]
    action: Option<Adjacent>,
}

#[derive(JsonSchema)]
struct TwoSteps {
    #[serde(flatten)]
    action: Action,
    #[serde(flatten)]
    adjacent: Adjacent,
}

#[derive(JsonSchema)]
struct OpenStep {
    #[serde(flatten)]
    action: Action,
    #[serde(flatten)]
    rest: std::collections::BTreeMap<String, i64>,
}

#[test]
fn flattened_enum_becomes_several_closed_objects() {
    let step = reads::<Step>();
    assert_eq!(
        step["anyOf"][0],
        json!({
            "type": "object",
            "properties": {
                "id": {"type": "integer", "minimum": 0, "maximum": 255},
                "kind": {"type": "string", "const": "chat"},
                "message": {"type": "string"}
            },
            "required": ["id", "kind", "message"],
            "additionalProperties": false
        })
    );
    assert_eq!(step["anyOf"].as_array().unwrap().len(), 3);
    assert_eq!(step.as_object().unwrap().len(), 1);

    let maybe = reads::<MaybeStep>();
    assert_eq!(
        maybe["anyOf"][2],
        json!({
            "type": "object",
            "properties": {"id": {"type": "integer", "minimum": 0, "maximum": 255}},
            "required": ["id"],
            "additionalProperties": false
        })
    );
    assert_eq!(reads::<TwoSteps>()["anyOf"].as_array().unwrap().len(), 6);
    for branch in reads::<OpenStep>()["anyOf"].as_array().unwrap() {
        assert_eq!(branch["additionalProperties"], json!({"type": "integer"}));
    }
}

macro_rules! five {
    ($name:ident: $a:ident $b:ident $c:ident $d:ident $e:ident) => {
        #[derive(JsonSchema)]
        enum $name {
            $a(u8),
            $b(u8),
            $c(u8),
            $d(u8),
            $e { x: u8 },
        }
    };
}

five!(First: A1 A2 A3 A4 A5);
five!(Second: B1 B2 B3 B4 B5);
five!(Third: C1 C2 C3 C4 C5);

#[derive(JsonSchema)]
struct Many {
    id: u8,
    #[serde(flatten)]
    first: First,
    #[serde(flatten)]
    second: Second,
    #[serde(flatten)]
    third: Third,
}

#[test]
fn too_many_flattened_combinations_stay_short_and_closed() {
    let schema = reads::<Many>();
    assert!(schema.to_string().len() < 4_000, "{schema}");
    let schema = Schema::compile(&schema.to_string()).unwrap();
    schema.check(&json!({"id": 1, "A1": 1, "B2": 2, "C5": {"x": 3}})).unwrap();
    assert!(schema.check(&json!({"id": 1, "A1": 1, "B2": 2})).is_err());
    assert!(schema.check(&json!({"id": 1, "A1": 1, "B2": 2, "C3": 3, "D": 0})).is_err());
    assert!(schema.check(&json!({"id": 1, "A1": 1, "B2": 2, "C5": {"x": 3, "y": 0}})).is_err());
}

#[derive(JsonSchema)]
enum Never {}

#[test]
fn enum_without_variants_matches_nothing() {
    assert_eq!(reads::<Never>(), json!(false));
}
