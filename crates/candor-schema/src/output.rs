//! The output schema of a tool, from the type of its result.
//!
//! Structured content is an object, so every root has `type: object`. Any other value is put in a box.

use schemars::JsonSchema;
use serde_json::{Value, json};

use crate::derive::{View, derive};
use crate::unions::is_null;
use crate::walk::resolve;

/// The member of a box that holds the value.
pub const BOX_FIELD: &str = "result";

/// The keyword that marks a box and names its member, so that a client can open it.
pub const BOX_KEYWORD: &str = "x-dedalus-box";

/// The schema of a result, and how the result is carried.
#[derive(Debug, Clone, PartialEq)]
pub struct OutputSchema {
    /// The schema of the structured content; its root is an object.
    pub schema: Value,
    /// True if the content is a box that holds the value in [`BOX_FIELD`]; false if the value is the content itself.
    pub boxed: bool,
}

/// Derives the output schema of a tool that returns `T`. Returns `None` for `()`, and for a type whose schema allows any
/// value.
///
/// ```
/// let answer = candor_schema::output::<i64>().unwrap();
/// assert!(answer.boxed);
/// assert_eq!(
///     answer.schema,
///     serde_json::json!({
///         "type": "object",
///         "properties": {"result": {"type": "integer"}},
///         "required": ["result"],
///         "x-dedalus-box": {"field": "result"}
///     }),
/// );
/// assert!(candor_schema::output::<()>().is_none());
/// ```
#[must_use]
pub fn output<T: JsonSchema>() -> Option<OutputSchema> {
    let schema = derive::<T>(View::Output);
    if is_null(&schema) || says_nothing(&schema) {
        return None;
    }
    if !is_object(&schema, &schema, 0) {
        return Some(OutputSchema { schema: in_a_box(schema), boxed: true });
    }
    let mut schema = schema;
    if let Value::Object(keywords) = &mut schema {
        keywords.insert("type".to_owned(), "object".into());
        crate::tidy::order(keywords);
    }
    Some(OutputSchema { schema, boxed: false })
}

fn says_nothing(schema: &Value) -> bool {
    match schema {
        Value::Bool(anything) => *anything,
        Value::Object(keywords) => keywords.keys().all(|keyword| keyword == "description"),
        _ => false,
    }
}

/// Returns true if every valid value is an object: the schema is one for objects, or all its alternatives are.
fn is_object(root: &Value, schema: &Value, depth: usize) -> bool {
    let schema = resolve(root, schema);
    if let Some(name) = schema.get("type") {
        return name == "object";
    }
    // A union that contains itself as an alternative has no value; stop recursing.
    depth < 16
        && schema.get("anyOf").and_then(Value::as_array).is_some_and(|branches| {
            branches.iter().all(|branch| is_object(root, branch, depth + 1))
        })
}

fn in_a_box(mut schema: Value) -> Value {
    let definitions = schema.as_object_mut().and_then(|schema| schema.shift_remove("$defs"));
    let mut boxed = json!({
        "type": "object",
        "properties": {BOX_FIELD: schema},
        "required": [BOX_FIELD],
        BOX_KEYWORD: {"field": BOX_FIELD},
    });
    if let Some(definitions) = definitions {
        boxed["$defs"] = definitions;
    }
    boxed
}
