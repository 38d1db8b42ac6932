//! Structs: nesting, docs, constraints, and the attributes of serde.

use std::collections::BTreeMap;
use std::time::Duration;

use candor_schema::schemars::{self, JsonSchema};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::{keys_at, reads, writes};

#[derive(JsonSchema, Serialize, Deserialize)]
struct Address {
    street: String,
    city: String,
    postal_code: u8,
}

#[derive(JsonSchema, Serialize, Deserialize)]
struct Profile {
    name: String,
    address: Address,
    tags: Vec<String>,
}

#[test]
fn nested_structs_are_inline_closed_objects() {
    let profile = json!({
        "type": "object",
        "properties": {
            "name": {"type": "string"},
            "address": {
                "type": "object",
                "properties": {
                    "street": {"type": "string"},
                    "city": {"type": "string"},
                    "postal_code": {"type": "integer", "minimum": 0, "maximum": 255}
                },
                "required": ["street", "city", "postal_code"],
                "additionalProperties": false
            },
            "tags": {"type": "array", "items": {"type": "string"}}
        },
        "required": ["name", "address", "tags"],
        "additionalProperties": false
    });
    assert_eq!(reads::<Profile>(), profile);
    assert_eq!(writes::<Profile>(), profile);
    assert_eq!(
        keys_at(&reads::<Profile>(), ""),
        ["type", "properties", "required", "additionalProperties"]
    );
    assert_eq!(keys_at(&reads::<Profile>(), "/properties"), ["name", "address", "tags"]);
}

#[derive(JsonSchema)]
struct WeatherReport {
    temperature: f64,
    humidity: Option<f64>,
}

#[test]
fn option_is_optional_in_input_and_required_in_output() {
    let number_or_null = json!([{"type": "number"}, {"type": "null"}]);
    assert_eq!(
        reads::<WeatherReport>(),
        json!({
            "type": "object",
            "properties": {
                "temperature": {"type": "number"},
                "humidity": {"anyOf": number_or_null, "default": null}
            },
            "required": ["temperature"],
            "additionalProperties": false
        })
    );
    assert_eq!(
        writes::<WeatherReport>(),
        json!({
            "type": "object",
            "properties": {
                "temperature": {"type": "number"},
                "humidity": {"anyOf": number_or_null}
            },
            "required": ["temperature", "humidity"],
            "additionalProperties": false
        })
    );
}

/// Where it is.
#[derive(JsonSchema)]
struct Place {
    /// Degrees north.
    latitude: f64,
    label: Label,
    /// What people call it.
    nickname: Label,
    previous: Option<Box<Label>>,
}

/// A short text.
#[derive(JsonSchema)]
struct Label(String);

#[test]
fn nearest_doc_comment_describes_a_member() {
    assert_eq!(
        reads::<Place>(),
        json!({
            "type": "object",
            "properties": {
                "latitude": {"type": "number", "description": "Degrees north."},
                "label": {"type": "string", "description": "A short text."},
                "nickname": {"type": "string", "description": "What people call it."},
                "previous": {
                    "anyOf": [{"type": "string"}, {"type": "null"}],
                    "description": "A short text.",
                    "default": null
                }
            },
            "required": ["latitude", "label", "nickname"],
            "additionalProperties": false,
            "description": "Where it is."
        })
    );
}

#[derive(JsonSchema)]
struct Level(i64);

#[derive(JsonSchema)]
struct CreateUser {
    #[schemars(length(min = 3, max = 20), regex(pattern = r"^[a-zA-Z0-9_]+$"))]
    username: String,
    #[schemars(email)]
    email: String,
    #[schemars(range(min = 13, max = 120))]
    age: u8,
    #[schemars(length(max = 500))]
    bio: Option<String>,
    #[schemars(range(max = 9))]
    level: Level,
    #[schemars(length(min = 1), inner(length(max = 8)))]
    tags: Vec<String>,
}

#[test]
fn constraints_apply_through_options_newtypes_and_lists() {
    assert_eq!(
        reads::<CreateUser>()["properties"],
        json!({
            "username": {
                "type": "string",
                "minLength": 3,
                "maxLength": 20,
                "pattern": "^[a-zA-Z0-9_]+$"
            },
            "email": {"type": "string", "format": "email"},
            "age": {"type": "integer", "minimum": 13, "maximum": 120},
            "bio": {"anyOf": [{"type": "string", "maxLength": 500}, {"type": "null"}], "default": null},
            "level": {"type": "integer", "maximum": 9},
            "tags": {"type": "array", "minItems": 1, "items": {"type": "string", "maxLength": 8}}
        })
    );
}

fn ten() -> u8 {
    10
}

#[derive(JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Page {
    #[serde(default = "ten")]
    page_size: u8,
    #[serde(rename = "after", alias = "cursor")]
    from: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sort_by: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    tags: Vec<String>,
    #[serde(skip)]
    cached: bool,
    #[serde(skip_serializing, default)]
    secret: String,
    #[serde(skip_deserializing)]
    total: u8,
}

#[test]
fn serde_attributes_apply_to_input_and_output() {
    let text_or_null = json!([{"type": "string"}, {"type": "null"}]);
    assert_eq!(
        reads::<Page>(),
        json!({
            "type": "object",
            "properties": {
                "pageSize": {"type": "integer", "minimum": 0, "maximum": 255, "default": 10},
                "after": {"anyOf": text_or_null, "default": null},
                "sortBy": {"anyOf": text_or_null, "default": null},
                "tags": {"type": "array", "items": {"type": "string"}},
                "secret": {"type": "string", "writeOnly": true}
            },
            "additionalProperties": false
        })
    );
    assert_eq!(
        writes::<Page>(),
        json!({
            "type": "object",
            "properties": {
                "pageSize": {"type": "integer", "minimum": 0, "maximum": 255},
                "after": {"anyOf": text_or_null},
                "sortBy": {"anyOf": text_or_null},
                "tags": {"type": "array", "items": {"type": "string"}},
                "total": {"type": "integer", "minimum": 0, "maximum": 255, "readOnly": true}
            },
            "required": ["pageSize", "after", "total"],
            "additionalProperties": false
        })
    );
}

#[derive(JsonSchema, Serialize, Deserialize)]
#[serde(default)]
struct Settings {
    depth: u8,
    deep: Deep,
}

#[derive(JsonSchema, Serialize, Deserialize)]
struct Deep {
    title: String,
}

impl Default for Settings {
    fn default() -> Self {
        Self { depth: 3, deep: Deep { title: "kept".into() } }
    }
}

#[test]
fn default_values_are_kept_unchanged() {
    assert_eq!(
        reads::<Settings>(),
        json!({
            "type": "object",
            "properties": {
                "depth": {"type": "integer", "minimum": 0, "maximum": 255, "default": 3},
                "deep": {
                    "type": "object",
                    "properties": {"title": {"type": "string"}},
                    "required": ["title"],
                    "additionalProperties": false,
                    "default": {"title": "kept"}
                }
            },
            "additionalProperties": false
        })
    );
}

#[derive(JsonSchema)]
struct Empty {}

#[derive(JsonSchema)]
struct Nothing;

#[derive(JsonSchema)]
struct Pair(String, Option<u8>);

#[test]
fn structs_without_named_members_have_their_json_shape() {
    assert_eq!(reads::<Empty>(), json!({"type": "object"}));
    assert_eq!(reads::<Nothing>(), json!({"type": "null"}));
    assert_eq!(
        reads::<Pair>(),
        json!({
            "type": "array",
            "prefixItems": [
                {"type": "string"},
                {"anyOf": [{"type": "integer", "minimum": 0, "maximum": 255}, {"type": "null"}]}
            ],
            "minItems": 2,
            "maxItems": 2
        })
    );
}

#[derive(JsonSchema)]
struct Pause(#[schemars(with = "String", regex(pattern = "^[0-9]+(ms|s)$"))] Duration);

#[test]
fn own_schema_of_a_type_is_used() {
    assert_eq!(reads::<Pause>(), json!({"type": "string", "pattern": "^[0-9]+(ms|s)$"}));
    assert_eq!(
        reads::<Duration>(),
        json!({
            "type": "object",
            "properties": {
                "secs": {"type": "integer", "minimum": 0, "maximum": u64::MAX},
                "nanos": {"type": "integer", "minimum": 0, "maximum": u32::MAX}
            },
            "required": ["secs", "nanos"],
            "additionalProperties": false
        })
    );
}

#[derive(JsonSchema)]
struct Paging {
    limit: u8,
    offset: Option<u8>,
}

#[derive(JsonSchema)]
struct Search {
    #[serde(flatten)]
    paging: Paging,
    query: String,
}

#[derive(JsonSchema)]
struct Labelled {
    name: String,
    #[serde(flatten)]
    labels: BTreeMap<String, String>,
}

#[derive(JsonSchema)]
struct MaybePaged {
    query: String,
    #[serde(flatten)]
    paging: Option<Paging>,
}

#[test]
fn flattened_struct_joins_the_closed_object_of_its_owner() {
    assert_eq!(
        reads::<Search>(),
        json!({
            "type": "object",
            "properties": {
                "limit": {"type": "integer", "minimum": 0, "maximum": 255},
                "offset": {
                    "anyOf": [{"type": "integer", "minimum": 0, "maximum": 255}, {"type": "null"}],
                    "default": null
                },
                "query": {"type": "string"}
            },
            "required": ["limit", "query"],
            "additionalProperties": false
        })
    );
    assert_eq!(
        reads::<Labelled>(),
        json!({
            "type": "object",
            "properties": {"name": {"type": "string"}},
            "required": ["name"],
            "additionalProperties": {"type": "string"}
        })
    );
    assert_eq!(reads::<MaybePaged>()["required"], json!(["query"]));
    assert_eq!(reads::<MaybePaged>()["additionalProperties"], json!(false));
}

#[test]
fn derived_schema_is_deterministic() {
    assert_eq!(reads::<CreateUser>().to_string(), reads::<CreateUser>().to_string());
    assert_eq!(writes::<Page>().to_string(), writes::<Page>().to_string());
}
