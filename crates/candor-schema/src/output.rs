//! The output schema of a tool, from the type of its result.
//!
//! Structured content is an object, so every root says `type: object`; what is no object is put in a box.

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
    /// Whether the value stands under [`BOX_FIELD`] instead of being the content itself.
    pub boxed: bool,
}

/// Derives the output schema of a tool that returns `T`; none for `()` and for a value of which nothing
/// is known.
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

/// Whether every value that fits is an object: an object, or alternatives that all are.
fn is_object(root: &Value, schema: &Value, depth: usize) -> bool {
    let schema = resolve(root, schema);
    if let Some(name) = schema.get("type") {
        return name == "object";
    }
    // A union that contains itself as an alternative has no value; stop asking.
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
