//! The input schema of a tool, from the struct of its arguments.

use schemars::JsonSchema;
use serde_json::{Map, Value, json};

use crate::derive::{Inspected, View, derive, inspect, is_map};
use crate::unions::{is_null, is_nullable};
use crate::walk::{children_mut, is_type};

/// Derives the input schema of a tool whose arguments are the struct `T`.
///
/// Every argument has a description: the author's, else `Parameter <name>`. For a type that cannot hold the arguments of a
/// tool (a number, an enum), returns [`permissive`].
///
/// ```
/// #[derive(schemars::JsonSchema)]
/// struct Greet {
///     name: String,
/// }
///
/// assert_eq!(
///     candor_schema::input::<Greet>(),
///     serde_json::json!({
///         "type": "object",
///         "properties": {"name": {"type": "string", "description": "Parameter name"}},
///         "required": ["name"],
///         "additionalProperties": false
///     }),
/// );
/// ```
#[must_use]
pub fn input<T: JsonSchema>() -> Value {
    input_schema::<T>().schema
}

/// The schema of a tool's arguments, and the author's mistakes in it.
#[derive(Debug, Clone, PartialEq)]
pub struct InputSchema {
    /// The schema; its root is an object.
    pub schema: Value,
    /// The schema with the bounds of `i64`, which the published one omits.
    pub bounded: Value,
    /// Constraints that the schema cannot express, and contradictions such as a default outside its own limits. Each mistake
    /// names its place.
    pub mistakes: Vec<String>,
}

/// Derives the same schema as [`input`], and finds the author's mistakes in it.
#[must_use]
pub fn input_schema<T: JsonSchema>() -> InputSchema {
    let Inspected { schema, bounded, mistakes } = inspect::<T>();
    let input = |derived| match derived {
        Value::Object(derived) if is_type(&derived, "object") && !is_combined(&derived) => {
            as_input(derived)
        }
        _ => permissive(),
    };
    InputSchema { schema: input(schema), bounded: input(bounded), mistakes }
}

fn as_input(derived: Map<String, Value>) -> Value {
    let open = derived.get("additionalProperties").is_some_and(|more| *more != Value::Bool(false));
    let is_map = !derived.contains_key("properties") && open;
    let mut schema = Map::new();
    schema.insert("type".to_owned(), "object".into());
    if !is_map {
        schema.insert("properties".to_owned(), json!({}));
    }
    schema.extend(derived);
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        for (name, property) in properties {
            describe(name, property);
        }
    }
    schema.entry("additionalProperties").or_insert(Value::Bool(false));
    crate::tidy::order(&mut schema);
    Value::Object(schema)
}

fn describe(name: &str, property: &mut Value) {
    if *property == Value::Bool(true) {
        *property = json!({});
    }
    if let Value::Object(keywords) = property
        && !keywords.contains_key("description")
    {
        keywords.insert("description".to_owned(), format!("Parameter {name}").into());
        crate::tidy::order(keywords);
    }
}

/// Returns true if a type is a struct, which can hold all arguments of a tool. Any other type becomes one named argument:
/// hosts drop tools whose input is a union at its root, and the keys of a map are data.
#[must_use]
pub fn is_struct<T: JsonSchema>() -> bool {
    let derived = derive::<T>(View::Input);
    derived.as_object().is_some_and(|schema| {
        // A struct without fields has no properties to show, but it is closed.
        let closed = schema.get("additionalProperties") == Some(&Value::Bool(false));
        is_type(schema, "object")
            && (schema.contains_key("properties") || closed)
            && !is_combined(schema)
            && !is_map::<T>()
    })
}

fn is_combined(schema: &Map<String, Value>) -> bool {
    ["anyOf", "oneOf", "allOf", "not", "if", "$ref"].iter().any(|k| schema.contains_key(*k))
}

/// Returns the schema of arguments about which nothing is known: any object.
#[must_use]
pub fn permissive() -> Value {
    json!({"type": "object", "additionalProperties": true})
}

/// Returns the schema for hosts that refuse `anyOf` with null: an optional member becomes a plain member that is not
/// required. For publishing only: the enforced schema still accepts null.
#[must_use]
pub fn plain_optionals(schema: &Value) -> Value {
    let mut plain = schema.clone();
    plain_members(&mut plain);
    plain
}

fn plain_members(schema: &mut Value) {
    let Value::Object(keywords) = schema else { return };
    children_mut(keywords).into_iter().for_each(plain_members);
    let required = keywords.get("required").cloned().unwrap_or_default();
    let is_required =
        |name: &str| required.as_array().is_some_and(|r| r.iter().any(|required| required == name));
    let Some(Value::Object(properties)) = keywords.get_mut("properties") else { return };
    for (name, property) in properties {
        if !is_required(name) && is_nullable(property) {
            without_null(property);
        }
    }
}

fn without_null(property: &mut Value) {
    let Value::Object(keywords) = property else { return };
    let Some(Value::Array(branches)) = keywords.get_mut("anyOf") else { return };
    branches.retain(|branch| !is_null(branch));
    if let [Value::Object(only)] = branches.as_mut_slice() {
        let only = std::mem::take(only);
        keywords.shift_remove("anyOf");
        *keywords = crate::merge::merge(std::mem::take(keywords), only);
    }
    if keywords.get("default").is_some_and(Value::is_null) {
        keywords.shift_remove("default");
    }
    crate::tidy::order(keywords);
}
