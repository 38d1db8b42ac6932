//! The arguments of tools, as they are published.

use std::collections::{BTreeMap, HashMap};

use candor_schema::schemars::{self, JsonSchema};
use candor_schema::{KeyedMap, input, is_struct, permissive, plain_optionals};
use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::keys_at;
use crate::scalars::Unit;

fn yes() -> bool {
    true
}

#[derive(JsonSchema)]
struct Greet {
    name: String,
    age: i64,
    #[serde(default = "yes")]
    active: bool,
}

#[test]
fn scalar_arguments_have_descriptions_and_defaults() {
    let schema = input::<Greet>();
    assert_eq!(
        schema,
        json!({
            "type": "object",
            "properties": {
                "name": {"type": "string", "description": "Parameter name"},
                "age": {"type": "integer", "description": "Parameter age"},
                "active": {"type": "boolean", "description": "Parameter active", "default": true}
            },
            "required": ["name", "age"],
            "additionalProperties": false
        })
    );
    assert_eq!(keys_at(&schema, "/properties"), ["name", "age", "active"]);
    assert_eq!(keys_at(&schema, "/properties/active"), ["type", "description", "default"]);
}

fn hundred() -> i64 {
    100
}

#[derive(JsonSchema)]
struct Analyze {
    dataset: String,
    #[serde(default = "hundred")]
    limit: i64,
    filters: Option<BTreeMap<String, String>>,
}

#[test]
fn optional_map_argument_accepts_null() {
    assert_eq!(
        input::<Analyze>(),
        json!({
            "type": "object",
            "properties": {
                "dataset": {"type": "string", "description": "Parameter dataset"},
                "limit": {"type": "integer", "description": "Parameter limit", "default": 100},
                "filters": {
                    "anyOf": [
                        {"type": "object", "additionalProperties": {"type": "string"}},
                        {"type": "null"}
                    ],
                    "description": "Parameter filters",
                    "default": null
                }
            },
            "required": ["dataset"],
            "additionalProperties": false
        })
    );
}

#[derive(JsonSchema)]
struct CreateUserRequest {
    #[schemars(length(min = 3, max = 20), regex(pattern = r"^[a-zA-Z0-9_]+$"))]
    username: String,
    #[schemars(email)]
    email: String,
    #[schemars(range(min = 13, max = 120))]
    age: i64,
    #[schemars(length(max = 500))]
    bio: Option<String>,
}

#[test]
fn argument_constraints_become_schema_keywords() {
    assert_eq!(
        input::<CreateUserRequest>(),
        json!({
            "type": "object",
            "properties": {
                "username": {
                    "type": "string",
                    "minLength": 3,
                    "maxLength": 20,
                    "pattern": "^[a-zA-Z0-9_]+$",
                    "description": "Parameter username"
                },
                "email": {"type": "string", "format": "email", "description": "Parameter email"},
                "age": {
                    "type": "integer",
                    "minimum": 13,
                    "maximum": 120,
                    "description": "Parameter age"
                },
                "bio": {
                    "anyOf": [{"type": "string", "maxLength": 500}, {"type": "null"}],
                    "description": "Parameter bio",
                    "default": null
                }
            },
            "required": ["username", "email", "age"],
            "additionalProperties": false
        })
    );
}

#[derive(JsonSchema)]
struct None {}

#[derive(JsonSchema)]
struct Anything {
    /// What you like.
    one: Value,
    two: Value,
}

#[derive(JsonSchema)]
struct Open {
    name: String,
    #[serde(flatten)]
    rest: BTreeMap<String, Value>,
}

#[test]
fn empty_and_untyped_arguments_have_minimal_schemas() {
    assert_eq!(
        input::<None>().to_string(),
        r#"{"type":"object","properties":{},"additionalProperties":false}"#
    );
    assert_eq!(
        input::<Anything>()["properties"],
        json!({"one": {"description": "What you like."}, "two": {"description": "Parameter two"}})
    );
    assert_eq!(input::<Open>()["additionalProperties"], json!(true));
}

#[derive(JsonSchema, Serialize, Deserialize)]
#[serde(tag = "kind")]
enum Choice {
    A { x: u8 },
    B,
}

#[derive(JsonSchema)]
struct Flattened {
    id: u8,
    #[serde(flatten)]
    choice: Choice,
}

#[derive(JsonSchema)]
struct Looped {
    next: Option<Box<Looped>>,
}

#[derive(JsonSchema)]
struct Wrapper(Greet);

#[test]
fn only_structs_can_be_the_arguments() {
    fn derived<T: JsonSchema>() -> bool {
        is_struct::<T>()
    }
    assert!(derived::<Greet>() && derived::<Box<Greet>>() && derived::<Wrapper>());
    assert!(derived::<Open>() && derived::<Looped>());
    assert!(!derived::<Choice>() && !derived::<Flattened>() && !derived::<Option<Greet>>());
    assert!(!derived::<BTreeMap<String, u8>>() && !derived::<String>() && !derived::<Value>());
    assert!(!derived::<BTreeMap<u8, u8>>() && !derived::<Box<HashMap<Unit, u8>>>());
    assert!(!derived::<KeyedMap<Unit, u8>>() && !derived::<IndexMap<Unit, u8>>());
    assert!(!derived::<Vec<Greet>>() && !derived::<()>());
    for root in [input::<Choice>(), input::<Flattened>(), input::<u8>(), input::<Value>()] {
        assert_eq!(root, permissive(), "hosts drop a union at the root");
    }
    assert_eq!(permissive(), json!({"type": "object", "additionalProperties": true}));
}

#[derive(JsonSchema)]
struct Nullable {
    limit: Option<u8>,
    choice: Option<Choice>,
    items: Vec<Option<u8>>,
    nested: Vec<Analyze>,
    #[schemars(required)]
    must: Option<String>,
}

#[test]
fn strict_hosts_get_optional_members_without_null() {
    let full = input::<Nullable>();
    let plain = plain_optionals(&full);
    assert_eq!(
        plain["properties"]["limit"],
        json!({"type": "integer", "minimum": 0, "maximum": 255, "description": "Parameter limit"})
    );
    assert_eq!(plain["properties"]["choice"]["anyOf"].as_array().unwrap().len(), 2);
    assert!(plain["properties"]["choice"].get("default").is_none());
    assert_eq!(
        plain["properties"]["nested"]["items"]["properties"]["filters"],
        json!({"type": "object", "additionalProperties": {"type": "string"}})
    );
    for same in ["items", "must"] {
        assert_eq!(plain["properties"][same], full["properties"][same], "{same} is not optional");
    }
    assert_eq!(plain["required"], full["required"]);
    assert_eq!(plain_optionals(&input::<Greet>()), input::<Greet>());
}
