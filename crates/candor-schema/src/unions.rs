//! Alternatives, in the one form that hosts, models and serde agree on: `anyOf`.
//!
//! `oneOf` is not used: it refuses a value that matches two variants, but serde accepts such a value. A struct with a
//! flattened enum becomes several closed objects, because serde reads the members of both in one place.

use serde_json::{Map, Value, json};

use crate::merge::merge;
use crate::walk::is_type;

/// Keywords that describe a place and not the values in it.
const ANNOTATIONS: [&str; 6] =
    ["description", "default", "examples", "deprecated", "readOnly", "writeOnly"];

/// Maximum number of combinations to write out for a struct with several flattened enums.
const COMBINATIONS: usize = 64;

/// Rewrites the alternatives of one schema. Its inner schemas are already rewritten.
pub(crate) fn settle(schema: &mut Map<String, Value>) {
    split_null(schema);
    one_of_is_any_of(schema);
    flatten_nested(schema);
    distribute(schema);
    fold_literals(schema);
    unwrap_single(schema);
}

/// Turns `{"type": ["integer", "null"]}` into `anyOf` of an integer and null, with the annotations outside.
fn split_null(schema: &mut Map<String, Value>) {
    let Some(Value::Array(types)) = schema.get("type") else { return };
    if !types.iter().any(|name| name == "null") || types.len() < 2 {
        return;
    }
    let mut others: Vec<Value> = types.iter().filter(|name| *name != "null").cloned().collect();
    let mut value = std::mem::take(schema);
    *schema = take_annotations(&mut value);
    let name = if others.len() == 1 { others.remove(0) } else { others.into() };
    value.insert("type".to_owned(), name);
    if let Some(Value::Array(options)) = value.get_mut("enum") {
        options.retain(|option| !option.is_null());
    }
    schema.insert("anyOf".to_owned(), json!([value, {"type": "null"}]));
}

fn one_of_is_any_of(schema: &mut Map<String, Value>) {
    let Some(branches) = schema.shift_remove("oneOf") else { return };
    if schema.contains_key("anyOf") {
        if let Value::Array(all) = schema.entry("allOf").or_insert_with(|| json!([])) {
            all.push(json!({ "anyOf": branches }));
        }
    } else {
        schema.insert("anyOf".to_owned(), branches);
    }
}

/// Moves the alternatives of a pure union into the outer union.
fn flatten_nested(schema: &mut Map<String, Value>) {
    let Some(Value::Array(branches)) = schema.get_mut("anyOf") else { return };
    let mut flat: Vec<Value> = Vec::with_capacity(branches.len());
    for mut branch in std::mem::take(branches) {
        let inner = match &mut branch {
            Value::Object(only) if only.len() == 1 => only.get_mut("anyOf"),
            _ => None,
        };
        let joining = match inner {
            Some(Value::Array(inner)) => std::mem::take(inner),
            _ => vec![branch],
        };
        for branch in joining {
            if !flat.contains(&branch) {
                flat.push(branch);
            }
        }
    }
    *branches = flat;
}

/// Adds the members of an object to each of its alternatives.
fn distribute(schema: &mut Map<String, Value>) {
    if !is_type(schema, "object") || !(schema.contains_key("anyOf") || schema.contains_key("allOf"))
    {
        return;
    }
    let mut own = schema.clone();
    let words = take_annotations(&mut own);
    let mut unions: Vec<Vec<Map<String, Value>>> = Vec::new();
    if let Some(branches) = own.shift_remove("anyOf") {
        let Some(branches) = plain_objects(branches) else { return };
        unions.push(branches);
    }
    if let Some(Value::Array(all)) = own.shift_remove("allOf") {
        for mut part in all {
            if let Some(branches) = part.get_mut("anyOf").map(Value::take)
                && part.as_object().is_some_and(|part| part.len() == 1)
            {
                let Some(branches) = plain_objects(branches) else { return };
                unions.push(branches);
            } else {
                let Some(mut plain) = plain_objects(json!([part])) else { return };
                own = merge(own, plain.remove(0));
            }
        }
    }
    if unions.iter().map(Vec::len).product::<usize>() > COMBINATIONS {
        return;
    }
    // schemars' rule for members that no part names applies to each whole object.
    match own.shift_remove("unevaluatedProperties") {
        None | Some(Value::Bool(false)) => {}
        Some(open) => {
            own.insert("additionalProperties".to_owned(), open);
        }
    }
    own.entry("properties").or_insert_with(|| json!({}));
    let mut wholes = vec![own];
    for branches in unions {
        wholes = wholes
            .iter()
            .flat_map(|whole| branches.iter().map(|branch| merge(whole.clone(), branch.clone())))
            .collect();
    }
    *schema = words;
    schema.insert("anyOf".to_owned(), wholes.into_iter().map(Value::Object).collect());
}

/// Returns the alternatives, if each is an object without alternatives of its own, or allows anything (an optional flattened
/// enum that is absent).
fn plain_objects(branches: Value) -> Option<Vec<Map<String, Value>>> {
    let Value::Array(branches) = branches else { return None };
    branches
        .into_iter()
        .map(|branch| match branch {
            Value::Bool(true) => Some(Map::new()),
            Value::Object(branch) => {
                let alternatives =
                    ["anyOf", "allOf", "not", "if", "$ref"].iter().any(|k| branch.contains_key(*k));
                let plain = branch.is_empty() || is_type(&branch, "object");
                (plain && !alternatives).then_some(branch)
            }
            _ => None,
        })
        .collect()
}

/// Folds several fixed strings into one `enum`. Their docs join the description.
fn fold_literals(schema: &mut Map<String, Value>) {
    let Some(Value::Array(branches)) = schema.get_mut("anyOf") else { return };
    let literals = branches.iter().filter(|branch| literal(branch).is_some()).count();
    if literals == 0 || (literals == 1 && branches.len() > 1) {
        return;
    }
    let mut options: Vec<Value> = Vec::new();
    let mut docs: Vec<String> = Vec::new();
    let mut place = None;
    let mut rest = Vec::new();
    for branch in std::mem::take(branches) {
        let Some(values) = literal(&branch) else {
            rest.push(branch);
            continue;
        };
        place.get_or_insert(rest.len());
        if let Some(doc) = branch.get("description").and_then(Value::as_str) {
            let doc = doc.split_whitespace().collect::<Vec<_>>().join(" ");
            // Docs that several variants share belong to no single name.
            match values.as_slice() {
                [Value::String(name)] => docs.push(format!("- `{name}`: {doc}")),
                _ => docs.push(doc),
            }
        }
        options.extend(values);
    }
    options.dedup();
    let mut folded = json!({"type": "string", "enum": options});
    if !docs.is_empty() {
        folded["description"] = docs.join("\n").into();
    }
    rest.insert(place.unwrap_or(0), folded);
    if let [Value::Object(only)] = rest.as_mut_slice() {
        let mut only = std::mem::take(only);
        if let (Some(Value::String(words)), Some(Value::String(docs))) =
            (schema.get("description"), only.get("description"))
        {
            only["description"] = format!("{words}\n{docs}").into();
            schema.shift_remove("description");
        }
        schema.shift_remove("anyOf");
        *schema = merge(std::mem::take(schema), only);
    } else {
        *branches = rest;
    }
}

/// Returns the strings of a schema that has nothing but fixed strings and a description.
fn literal(schema: &Value) -> Option<Vec<Value>> {
    let schema = schema.as_object()?;
    let known = |key: &String| matches!(key.as_str(), "type" | "const" | "enum" | "description");
    if !is_type(schema, "string") || !schema.keys().all(known) {
        return None;
    }
    match (schema.get("const"), schema.get("enum")) {
        (Some(value @ Value::String(_)), None) => Some(vec![value.clone()]),
        (None, Some(Value::Array(values))) if values.iter().all(Value::is_string) => {
            Some(values.clone())
        }
        _ => None,
    }
}

/// Unwraps a single alternative. A union without alternatives accepts no value.
fn unwrap_single(schema: &mut Map<String, Value>) {
    let Some(Value::Array(branches)) = schema.get_mut("anyOf") else { return };
    match branches.as_mut_slice() {
        [] => {
            schema.shift_remove("anyOf");
            schema.insert("not".to_owned(), json!({}));
        }
        [Value::Object(only)] => {
            let only = std::mem::take(only);
            schema.shift_remove("anyOf");
            *schema = merge(std::mem::take(schema), only);
        }
        _ => {}
    }
}

/// Returns true if null is one of the alternatives.
pub(crate) fn is_nullable(schema: &Value) -> bool {
    schema
        .get("anyOf")
        .and_then(Value::as_array)
        .is_some_and(|branches| branches.iter().any(is_null))
}

/// Returns true if the schema accepts null and nothing else.
pub(crate) fn is_null(schema: &Value) -> bool {
    schema.get("type").is_some_and(|name| name == "null")
}

fn take_annotations(schema: &mut Map<String, Value>) -> Map<String, Value> {
    let mut taken = Map::new();
    for keyword in ANNOTATIONS {
        if let Some(value) = schema.shift_remove(keyword) {
            taken.insert(keyword.to_owned(), value);
        }
    }
    taken
}
