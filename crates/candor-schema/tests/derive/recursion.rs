//! Types that contain themselves keep references, and every reference leads somewhere.

use candor_schema::schemars::{self, JsonSchema};
use candor_schema::{Schema, input, output};
use serde_json::{Value, json};

use crate::{reads, writes};

/// A folder.
#[derive(JsonSchema)]
struct Folder {
    name: String,
    folders: Vec<Folder>,
    parent: Option<Box<Folder>>,
}

#[derive(JsonSchema)]
struct Backup {
    /// What to copy.
    source: Folder,
    label: Label,
}

#[derive(JsonSchema)]
struct Label(String);

fn folder() -> Value {
    json!({
        "type": "object",
        "properties": {
            "name": {"type": "string"},
            "folders": {"type": "array", "items": {"$ref": "#/$defs/Folder"}},
            "parent": {"anyOf": [{"$ref": "#/$defs/Folder"}, {"type": "null"}], "default": null}
        },
        "required": ["name", "folders"],
        "additionalProperties": false,
        "description": "A folder."
    })
}

#[test]
fn recursive_root_is_expanded_once() {
    let mut expected = folder();
    expected["$defs"] = json!({"Folder": folder()});
    assert_eq!(reads::<Folder>(), expected);
}

#[test]
fn only_the_recursive_member_becomes_a_reference() {
    assert_eq!(
        reads::<Backup>(),
        json!({
            "type": "object",
            "properties": {
                "source": {"$ref": "#/$defs/Folder", "description": "What to copy."},
                "label": {"type": "string"}
            },
            "required": ["source", "label"],
            "additionalProperties": false,
            "$defs": {"Folder": folder()}
        })
    );
}

#[derive(JsonSchema)]
#[serde(tag = "op", rename_all = "lowercase")]
enum Expression {
    Literal { value: f64 },
    Add { left: Box<Expression>, right: Box<Expression> },
    Call(Call),
}

#[derive(JsonSchema)]
struct Call {
    name: String,
    arguments: Vec<Expression>,
}

#[test]
fn mutual_recursion_keeps_one_definition() {
    let schema = reads::<Expression>();
    let expression = &schema["$defs"]["Expression"];
    assert_eq!(schema["anyOf"], expression["anyOf"]);
    assert_eq!(
        expression["anyOf"][2],
        json!({
            "type": "object",
            "properties": {
                "op": {"type": "string", "const": "call"},
                "name": {"type": "string"},
                "arguments": {"type": "array", "items": {"$ref": "#/$defs/Expression"}}
            },
            "required": ["op", "name", "arguments"],
            "additionalProperties": false
        })
    );
    assert_eq!(schema["$defs"].as_object().unwrap().len(), 1, "Call is used nowhere else");
    let schema = Schema::compile(&schema.to_string()).unwrap();
    let sum = json!({"op": "add", "left": {"op": "literal", "value": 1}, "right":
        {"op": "call", "name": "f", "arguments": [{"op": "literal", "value": 2.5}]}});
    schema.check(&sum).unwrap();
}

#[derive(JsonSchema)]
struct Author {
    books: Vec<Book>,
}

#[derive(JsonSchema)]
struct Book {
    authors: Vec<Author>,
    chapters: Vec<Chapter>,
}

#[derive(JsonSchema)]
struct Chapter {
    title: String,
}

#[test]
fn only_recursive_types_stay_definitions() {
    let schema = reads::<Author>();
    let names: Vec<_> = schema["$defs"].as_object().unwrap().keys().collect();
    assert_eq!(names, ["Author", "Book"]);
    assert_eq!(
        schema["$defs"]["Book"]["properties"]["chapters"]["items"]["properties"],
        json!({"title": {"type": "string"}})
    );
}

#[derive(JsonSchema)]
struct Tree<T> {
    value: T,
    branches: Vec<Tree<T>>,
}

#[test]
fn references_to_generic_types_resolve() {
    for schema in [
        reads::<(Tree<i32>, Tree<Vec<String>>)>(),
        reads::<Tree<Option<Folder>>>(),
        writes::<Option<Expression>>(),
        input::<Backup>(),
        output::<Vec<Tree<u8>>>().unwrap().schema,
        output::<Folder>().unwrap().schema,
    ] {
        no_reference_dangles(&schema);
    }
}

/// Every `$ref` resolves, and every definition is used.
fn no_reference_dangles(schema: &Value) {
    fn references<'a>(value: &'a Value, found: &mut Vec<&'a str>) {
        match value {
            Value::Object(members) => {
                found.extend(members.get("$ref").and_then(Value::as_str));
                members.values().for_each(|member| references(member, found));
            }
            Value::Array(items) => items.iter().for_each(|item| references(item, found)),
            _ => {}
        }
    }
    let mut found = Vec::new();
    references(schema, &mut found);
    assert!(!found.is_empty());
    for reference in &found {
        assert!(schema.pointer(&reference[1..]).is_some(), "{reference} in {schema}");
    }
    for name in schema["$defs"].as_object().unwrap().keys() {
        assert!(found.contains(&format!("#/$defs/{name}").as_str()), "{name} in {schema}");
    }
    Schema::compile(&schema.to_string()).unwrap();
}
