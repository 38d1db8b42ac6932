//! Finds the schemas inside a schema. Everything else (`default`, `const`, `enum`, `examples`, the names of properties) is
//! data and is never searched.

use serde_json::{Map, Value};

/// Keywords whose members are schemas.
const NAMED: [&str; 4] = ["properties", "patternProperties", "dependentSchemas", "$defs"];

/// Keywords whose items are schemas.
const LISTED: [&str; 4] = ["anyOf", "oneOf", "allOf", "prefixItems"];

/// Keywords that are one schema.
const SINGLE: [&str; 11] = [
    "items",
    "additionalProperties",
    "unevaluatedProperties",
    "unevaluatedItems",
    "contains",
    "propertyNames",
    "contentSchema",
    "not",
    "if",
    "then",
    "else",
];

/// Returns the schemas directly inside a schema.
pub(crate) fn children(schema: &Value) -> Vec<&Value> {
    let Value::Object(keywords) = schema else { return Vec::new() };
    let mut found = Vec::new();
    for (keyword, value) in keywords {
        match value {
            Value::Object(members) if NAMED.contains(&keyword.as_str()) => {
                found.extend(members.values());
            }
            Value::Array(items) if LISTED.contains(&keyword.as_str()) => found.extend(items),
            _ if SINGLE.contains(&keyword.as_str()) => found.push(value),
            _ => {}
        }
    }
    found
}

/// Returns the schemas directly inside a schema, for changes.
pub(crate) fn children_mut(keywords: &mut Map<String, Value>) -> Vec<&mut Value> {
    let mut found = Vec::new();
    for (keyword, value) in keywords {
        let keyword = keyword.as_str();
        if SINGLE.contains(&keyword) {
            found.push(value);
            continue;
        }
        match value {
            Value::Object(members) if NAMED.contains(&keyword) => {
                found.extend(members.values_mut());
            }
            Value::Array(items) if LISTED.contains(&keyword) => found.extend(items),
            _ => {}
        }
    }
    found
}

/// Calls `change` for every schema that is an object, innermost first.
pub(crate) fn from_the_leaves(schema: &mut Value, change: &impl Fn(&mut Map<String, Value>)) {
    let Value::Object(keywords) = schema else { return };
    for child in children_mut(keywords) {
        from_the_leaves(child, change);
    }
    change(keywords);
}

/// Returns true if `type` is this one name. A list of types never matches.
pub(crate) fn is_type(keywords: &Map<String, Value>, name: &str) -> bool {
    keywords.get("type").and_then(Value::as_str) == Some(name)
}

/// Returns the schema that a `$ref` inside the document leads to.
pub(crate) fn resolve<'a>(root: &'a Value, schema: &'a Value) -> &'a Value {
    let mut schema = schema;
    // Enough for any honest chain; a circular one ends soon.
    for _ in 0..8 {
        let Some(reference) = schema.get("$ref").and_then(Value::as_str) else { break };
        let Some(target) = reference.strip_prefix('#').and_then(|p| root.pointer(&unescape(p)))
        else {
            break;
        };
        schema = target;
    }
    schema
}

/// Decodes the percent encoding of a JSON Pointer in a URI fragment.
pub(crate) fn unescape(pointer: &str) -> String {
    let mut bytes = Vec::with_capacity(pointer.len());
    let mut rest = pointer.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        let escaped = (byte == b'%')
            .then(|| after.get(..2).and_then(|hex| std::str::from_utf8(hex).ok()))
            .flatten()
            .and_then(|hex| u8::from_str_radix(hex, 16).ok());
        bytes.push(escaped.unwrap_or(byte));
        rest = if escaped.is_some() { &after[2..] } else { after };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
