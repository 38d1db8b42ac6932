//! Makes the schemas of schemars as plain, closed and short as the value allows.

use serde_json::{Map, Value, json};

use crate::derive::View;
use crate::keys;
use crate::unions::is_nullable;
use crate::walk::is_type;

/// Keywords that apply a schema to the same value, so that members are named in more than one place.
const IN_PLACE: [&str; 8] = ["$ref", "anyOf", "oneOf", "allOf", "if", "then", "else", "not"];

/// The reading order for users and models. Other keywords go between the two lists.
const FIRST: [&str; 10] = [
    "$ref",
    "type",
    "const",
    "enum",
    "properties",
    "patternProperties",
    "required",
    "additionalProperties",
    "prefixItems",
    "items",
];
const LAST: [&str; 8] =
    ["anyOf", "description", "default", "examples", "deprecated", "readOnly", "writeOnly", "$defs"];

/// Removes the keywords that tell a caller nothing.
pub(crate) fn prune(schema: &mut Map<String, Value>) {
    schema.shift_remove("title");
    schema.shift_remove("$schema");
    if schema.shift_remove(keys::MARK).is_some() && schema.contains_key("properties") {
        // The tag of a variant is not a key of the map.
        schema.shift_remove("propertyNames");
    }
    if let Some(Value::Object(patterns)) = schema.get_mut("patternProperties") {
        for (loose, exact) in keys::OF_ANY_WIDTH {
            if let Some(value) = patterns.shift_remove(loose) {
                patterns.insert(exact.to_owned(), value);
            }
        }
    }
}

/// Closes the objects, top down, because whether an object may be closed depends on what surrounds it.
pub(crate) fn close(schema: &mut Value) {
    close_at(schema, true);
}

fn close_at(schema: &mut Value, whole: bool) {
    let Value::Object(keywords) = schema else { return };
    let shared = is_type(keywords, "object") && IN_PLACE.iter().any(|k| keywords.contains_key(*k));
    let says =
        ["additionalProperties", "unevaluatedProperties"].iter().any(|k| keywords.contains_key(*k));
    if whole && !says && keywords.contains_key("properties") {
        let keyword = if shared { "unevaluatedProperties" } else { "additionalProperties" };
        keywords.insert(keyword.to_owned(), Value::Bool(false));
    }
    for (keyword, value) in keywords {
        let inside = !IN_PLACE.contains(&keyword.as_str());
        let whole = inside || (whole && !shared);
        match (keyword.as_str(), value) {
            ("properties" | "patternProperties" | "$defs", Value::Object(members)) => {
                members.values_mut().for_each(|member| close_at(member, true));
            }
            ("anyOf" | "oneOf" | "allOf" | "prefixItems", Value::Array(items)) => {
                items.iter_mut().for_each(|item| close_at(item, whole));
            }
            ("items" | "additionalProperties" | "contains", value) => close_at(value, true),
            _ => {}
        }
    }
}

/// Sorts `required` in the order of the members, and sets or removes the defaults of members.
pub(crate) fn members(schema: &mut Map<String, Value>, view: View) {
    let mut required = match schema.shift_remove("required") {
        Some(Value::Array(names)) => names,
        _ => Vec::new(),
    };
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        let place = |name: &Value| {
            let name = name.as_str().unwrap_or_default();
            properties.keys().position(|key| key == name).unwrap_or(usize::MAX)
        };
        required.sort_by_cached_key(place);
        required.dedup();
        for (name, property) in properties {
            let Value::Object(property) = property else { continue };
            match view {
                // serde reads an absent `Option` as `None`, and null means the same.
                View::Input => {
                    if !property.contains_key("default")
                        && !required.iter().any(|required| required == name)
                        && property
                            .get("anyOf")
                            .is_some_and(|any| is_nullable(&json!({"anyOf": any})))
                    {
                        property.insert("default".to_owned(), Value::Null);
                    }
                }
                // No reader fills in the defaults of a result.
                View::Output => {
                    property.shift_remove("default");
                }
            }
        }
    }
    if !required.is_empty() {
        schema.insert("required".to_owned(), required.into());
    }
}

/// Sorts the keywords into reading order.
pub(crate) fn order(schema: &mut Map<String, Value>) {
    let mut old = std::mem::take(schema);
    let mut last = Map::new();
    for keyword in LAST {
        if let Some(value) = old.shift_remove(keyword) {
            last.insert(keyword.to_owned(), value);
        }
    }
    for keyword in FIRST {
        if let Some(value) = old.shift_remove(keyword) {
            schema.insert(keyword.to_owned(), value);
        }
    }
    schema.extend(old);
    schema.extend(last);
}
