//! Members that are named like keywords.

use candor_schema::schemars::{self, JsonSchema};
use candor_schema::{View, derive};
use serde_json::json;

use crate::{keys_at, reads};

#[derive(JsonSchema)]
struct Awkward {
    title: String,
    default: Option<String>,
    #[serde(rename = "$defs")]
    defs: u8,
    required: bool,
    r#type: String,
    properties: Vec<String>,
    format: String,
    description: String,
    #[serde(rename = "$ref")]
    reference: String,
    #[serde(rename = "anyOf")]
    any_of: Vec<u8>,
    #[serde(rename = "oneOf")]
    one_of: Inner,
    #[serde(rename = "enum")]
    options: String,
    #[serde(rename = "$schema")]
    schema: String,
}

#[derive(JsonSchema)]
struct Inner {
    title: String,
    #[serde(rename = "additionalProperties")]
    additional: bool,
}

#[test]
fn members_named_like_keywords_survive() {
    let schema = reads::<Awkward>();
    let names = [
        "title",
        "default",
        "$defs",
        "required",
        "type",
        "properties",
        "format",
        "description",
        "$ref",
        "anyOf",
        "oneOf",
        "enum",
        "$schema",
    ];
    assert_eq!(keys_at(&schema, "/properties"), names);
    assert_eq!(schema["properties"]["title"], json!({"type": "string"}));
    assert_eq!(schema["properties"]["$ref"], json!({"type": "string"}));
    assert_eq!(
        schema["properties"]["oneOf"],
        json!({
            "type": "object",
            "properties": {"title": {"type": "string"}, "additionalProperties": {"type": "boolean"}},
            "required": ["title", "additionalProperties"],
            "additionalProperties": false
        })
    );
    let required: Vec<_> = names.iter().filter(|name| **name != "default").collect();
    assert_eq!(schema["required"], json!(required));
}

/// # Analytics tool
///
/// Counts things.
#[derive(JsonSchema)]
#[schemars(example = &json!({"title": "an example", "count": 1}))]
struct Titled {
    #[schemars(title = "Count")]
    count: i64,
    #[schemars(title = "Mode", extend("const" = {"title": "fixed", "oneOf": []}))]
    mode: serde_json::Value,
}

#[test]
fn titles_go_and_data_stays() {
    assert_eq!(
        derive::<Titled>(View::Input),
        json!({
            "type": "object",
            "properties": {
                "count": {"type": "integer"},
                "mode": {"const": {"title": "fixed", "oneOf": []}}
            },
            "required": ["count", "mode"],
            "additionalProperties": false,
            "description": "Counts things.",
            "examples": [{"title": "an example", "count": 1}]
        })
    );
}
