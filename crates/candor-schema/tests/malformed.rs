//! Schemas that are none are refused when they are compiled, with the place of the keyword that is wrong.

#![allow(missing_docs, reason = "these are tests")]

use candor_schema::Schema;
use serde_json::{Value, json};

#[track_caller]
fn refused(schema: &Value, place: &str) {
    let error = Schema::compile(&schema.to_string()).unwrap_err().to_string();
    assert!(error.starts_with(&format!("{place}: ")), "{schema}: {error}");
    assert!(jsonschema::validator_for(schema).is_err(), "{schema} is refused by us alone: {error}");
}

#[test]
fn malformed_keyword_is_reported_at_its_pointer() {
    for (keyword, value) in [
        ("type", json!("text")),
        ("type", json!([])),
        ("type", json!(["null", "null"])),
        ("enum", json!("a")),
        ("minimum", json!("1")),
        ("exclusiveMaximum", json!(true)),
        ("multipleOf", json!(0)),
        ("multipleOf", json!(-1.5)),
        ("minLength", json!(-1)),
        ("maxItems", json!(1.5)),
        ("pattern", json!(1)),
        ("format", json!(null)),
        ("required", json!("a")),
        ("required", json!(["a", "a"])),
        ("required", json!([1])),
        ("properties", json!([])),
        ("patternProperties", json!(1)),
        ("dependentRequired", json!({"a": ["b", 1]})),
        ("dependentSchemas", json!([])),
        ("uniqueItems", json!(1)),
        ("minContains", json!("1")),
        ("allOf", json!([])),
        ("anyOf", json!({})),
        ("not", json!(1)),
        ("items", json!([{}])),
        ("additionalProperties", json!("no")),
        ("$ref", json!(1)),
        ("$defs", json!([])),
        ("title", json!(1)),
        ("readOnly", json!("yes")),
    ] {
        refused(&json!({ keyword: value }), &format!("/{keyword}"));
        let inside = json!({"$defs": {"a/b": {"items": { keyword: value }}}});
        refused(&inside, &format!("/$defs/a~1b/items/{keyword}"));
    }
}

#[test]
fn value_that_is_no_schema_is_reported_at_its_pointer() {
    refused(&json!({"properties": {"a": 1}}), "/properties/a");
    refused(&json!({"allOf": [{}, "b"]}), "/allOf/1");
    refused(&json!({"$id": "http://example.org/#frag"}), "/$id");
}

#[test]
fn bad_pattern_or_reference_is_an_error_only_if_used() {
    for (keyword, value) in [
        ("pattern", "("),
        ("pattern", "(?=a)b\\1"),
        ("$ref", "#/$defs/none"),
        ("$ref", "#none"),
        ("$ref", "http://example.org/other.json"),
        ("$ref", "https://json-schema.org/draft/2020-12/schema"),
    ] {
        let error = |schema: Value| Schema::compile(&schema.to_string()).unwrap_err().to_string();
        assert!(error(json!({keyword: value})).starts_with(&format!("/{keyword}: ")));
        let definitions = json!({"a": {"not": {keyword: value}}});
        let used = error(json!({"$ref": "#/$defs/a", "$defs": definitions}));
        assert!(used.starts_with(&format!("/$defs/a/not/{keyword}: ")), "{used}");
        assert!(Schema::compile(&json!({"$defs": definitions}).to_string()).is_ok());
    }
    let pattern = json!({"items": {"patternProperties": {"[": {}}}});
    let error = Schema::compile(&pattern.to_string()).unwrap_err().to_string();
    assert!(error.starts_with("/items/patternProperties/[: the pattern"), "{error}");
}

#[test]
fn each_draft_has_its_own_keywords() {
    let draft_4 = "http://json-schema.org/draft-04/schema#";
    refused(&json!({"$schema": draft_4, "properties": {"a": true}}), "/properties/a");
    refused(&json!({"$schema": draft_4, "exclusiveMinimum": 1}), "/exclusiveMinimum");
    refused(&json!({"$schema": draft_4, "required": []}), "/required");
    let fine = [
        json!({"$schema": draft_4, "additionalProperties": false, "minimum": 1, "exclusiveMinimum": true}),
        json!({"$schema": draft_4, "const": 1, "if": 5, "prefixItems": "unknown here"}),
        json!({"unknown": {"type": "nonsense"}, "x-vendor": [1]}),
        json!({"minLength": 2.0, "required": [], "enum": []}),
    ];
    for schema in fine {
        assert!(Schema::compile(&schema.to_string()).is_ok(), "{schema}");
    }
}

#[test]
fn check_that_is_too_costly_fails() {
    let mut definitions = serde_json::Map::new();
    for i in 0..30 {
        let next = json!({"$ref": format!("#/$defs/{}", i + 1)});
        definitions.insert(i.to_string(), json!({"anyOf": [next, {"allOf": [next]}]}));
    }
    definitions.insert("30".to_owned(), json!({"maximum": 0}));
    let schema = json!({"$ref": "#/$defs/0", "$defs": definitions});
    let invalid = Schema::compile(&schema.to_string()).unwrap().check(&json!(1)).unwrap_err();
    assert!(invalid.to_string().starts_with("too costly to check"), "{invalid}");
}
