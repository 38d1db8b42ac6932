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
fn titles_are_removed_but_data_is_kept() {
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

// The document's own pair: what a generator writes that gives everything a title, and what is left of it.
#[derive(JsonSchema)]
#[schemars(title = "AnalyticsTool")]
struct AnalyticsTool {
    #[schemars(title = "Count")]
    count: i64,
}

#[test]
fn derived_schema_matches_the_documented_before_and_after() {
    let before = schemars::schema_for!(AnalyticsTool);
    assert_eq!(before.get("title"), Some(&json!("AnalyticsTool")));
    assert_eq!(before.pointer("/properties/count/title"), Some(&json!("Count")));
    let mut after = derive::<AnalyticsTool>(View::Input);
    // The document shows neither of these, and asks for both elsewhere.
    let shown = after.as_object_mut().unwrap();
    assert_eq!(shown.remove("required"), Some(json!(["count"])));
    assert_eq!(shown.remove("additionalProperties"), Some(json!(false)));
    assert_eq!(after, json!({"type": "object", "properties": {"count": {"type": "integer"}}}));
}

#[derive(JsonSchema)]
#[schemars(title = "WeatherReport")]
struct WeatherReport {
    #[schemars(title = "Temperature")]
    temperature: f64,
    #[schemars(title = "Location")]
    location: Location,
    #[schemars(title = "Humidity")]
    humidity: Option<f64>,
}

#[derive(JsonSchema)]
#[schemars(title = "Location")]
struct Location {
    #[schemars(title = "Latitude")]
    latitude: f64,
    #[schemars(title = "Longitude")]
    longitude: f64,
}

#[derive(JsonSchema)]
#[schemars(title = "Profile")]
struct Profile {
    #[schemars(title = "Name")]
    name: String,
    #[schemars(title = "Street")]
    street: String,
    #[schemars(title = "City")]
    city: String,
    #[schemars(title = "Tags")]
    tags: Vec<String>,
}

/// What the titles in a schema take, each as it stands in the text.
fn titles(schema: &serde_json::Value) -> usize {
    let own = schema.get("title").and_then(|title| title.as_str());
    let inside: usize = match schema {
        serde_json::Value::Object(members) => members.values().map(titles).sum(),
        serde_json::Value::Array(items) => items.iter().map(titles).sum(),
        _ => 0,
    };
    own.map_or(0, |title| format!("\"title\":\"{title}\",").len()) + inside
}

#[test]
fn removing_titles_saves_20_to_40_percent() {
    fn fall<T: JsonSchema>() -> f64 {
        let titles = titles(schemars::schema_for!(T).as_value());
        let left = derive::<T>(View::Input).to_string();
        assert!(!left.contains("title"), "{left}");
        100.0 * titles as f64 / (titles + left.len()) as f64
    }
    for fall in [fall::<AnalyticsTool>(), fall::<WeatherReport>(), fall::<Profile>()] {
        assert!((20.0..=40.0).contains(&fall), "{fall} %");
    }
}
