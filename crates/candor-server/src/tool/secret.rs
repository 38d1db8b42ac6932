//! Arguments that are nobody's to read: those whose schema says `writeOnly`, `format: password` or `x-secret`.
//!
//! They reach the handler and nothing else: whoever is asked about a call sees that they are there and how long they are, and the
//! ledger keeps no more of them.

use std::collections::HashSet;

use serde_json::{Map, Value};

/// The value with its secrets covered.
pub(crate) fn covered(schema: &Value, value: &Value) -> Value {
    cover(schema, &[schema], value)
}

/// Whether an argument of this name is a secret, or has one in it.
pub(super) fn is_in(schema: &Value, argument: &str) -> bool {
    let whole = reachable(schema, &[schema], beside);
    let of_argument: Vec<&Value> =
        whole.iter().filter_map(|schema| schema.get("properties")?.get(argument)).collect();
    let all = reachable(schema, &of_argument, |schema| {
        let mut inner = beside(schema);
        inner.extend(beneath(schema));
        inner
    });
    all.into_iter().any(says_so)
}

fn cover(root: &Value, at: &[&Value], value: &Value) -> Value {
    let all = reachable(root, at, beside);
    if all.iter().any(|schema| says_so(schema)) {
        return in_place_of(value);
    }
    match value {
        Value::Object(members) => {
            let covered = |(name, member): (&String, &Value)| {
                (name.clone(), cover(root, &of_member(&all, name), member))
            };
            Value::Object(members.iter().map(covered).collect())
        }
        Value::Array(items) => {
            let covered = |(place, item)| cover(root, &of_item(&all, place), item);
            items.iter().enumerate().map(covered).collect()
        }
        other => other.clone(),
    }
}

fn says_so(schema: &Value) -> bool {
    let is = |name| schema.get(name) == Some(&Value::Bool(true));
    is("writeOnly")
        || is("x-secret")
        || schema.get("format").and_then(Value::as_str) == Some("password")
}

fn in_place_of(value: &Value) -> Value {
    match value {
        Value::Null => Value::Null,
        Value::String(text) => format!("•••• ({} characters)", text.chars().count()).into(),
        _ => "••••".into(),
    }
}

/// Schemas, and all that `next` and references lead to, each once: a schema may go round in circles.
fn reachable<'s>(
    root: &'s Value,
    from: &[&'s Value],
    next: impl Fn(&'s Value) -> Vec<&'s Value>,
) -> Vec<&'s Value> {
    let (mut found, mut left, mut seen) = (Vec::new(), from.to_vec(), HashSet::new());
    while let Some(schema) = left.pop() {
        if seen.insert(std::ptr::from_ref(schema)) {
            found.push(schema);
            left.extend(next(schema));
            let reference = schema.get("$ref").and_then(Value::as_str);
            left.extend(reference.and_then(|to| root.pointer(to.strip_prefix('#')?)));
        }
    }
    found
}

/// What may speak of the same value as a schema.
fn beside(schema: &Value) -> Vec<&Value> {
    let branches = ["allOf", "anyOf", "oneOf"].into_iter().filter_map(|name| schema.get(name));
    let branches = branches.filter_map(Value::as_array).flatten();
    branches.chain(["then", "else"].into_iter().filter_map(|name| schema.get(name))).collect()
}

/// What speaks of the values in the one that a schema speaks of.
fn beneath(schema: &Value) -> Vec<&Value> {
    let get = |name: &'static str| schema.get(name);
    let members = ["properties", "patternProperties"].into_iter().filter_map(get);
    let members = members.filter_map(Value::as_object).flat_map(Map::values);
    let places = get("prefixItems").and_then(Value::as_array).into_iter().flatten();
    let rest = ["items", "additionalProperties"].into_iter().filter_map(get);
    members.chain(places).chain(rest).collect()
}

fn of_member<'s>(all: &[&'s Value], name: &str) -> Vec<&'s Value> {
    let mut found = Vec::new();
    for schema in all {
        match schema.get("properties").and_then(|members| members.get(name)) {
            Some(member) => found.push(member),
            // Patterns are not matched here: what any of them says counts for all that is not named.
            None => {
                let patterns = schema.get("patternProperties").and_then(Value::as_object);
                found.extend(patterns.into_iter().flat_map(Map::values));
                found.extend(schema.get("additionalProperties"));
            }
        }
    }
    found
}

fn of_item<'s>(all: &[&'s Value], place: usize) -> Vec<&'s Value> {
    let of = |schema: &&'s Value| {
        let by_place = schema.get("prefixItems").and_then(|places| places.get(place));
        by_place.or_else(|| schema.get("items"))
    };
    all.iter().filter_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn secrets_are_covered_wherever_the_schema_has_them() {
        let schema = json!({
            "type": "object",
            "properties": {
                "user": {"type": "string"},
                "password": {"type": "string", "format": "password"},
                "pin": {"type": "integer", "writeOnly": true},
                "keys": {"type": "array", "items": {"anyOf": [{"$ref": "#/$defs/key"}, {"type": "null"}]}},
                "more": {"type": "object", "additionalProperties": {"x-secret": true}},
                "none": {"type": ["string", "null"], "writeOnly": true}
            },
            "$defs": {"key": {"type": "object", "properties": {"id": {}, "token": {"writeOnly": true}}}}
        });
        let sent = json!({
            "user": "ada", "password": "hünter2", "pin": 1234,
            "keys": [{"id": 1, "token": "t0p"}, null], "more": {"a": [1, 2]}, "none": null, "other": "as it is"
        });
        assert_eq!(
            covered(&schema, &sent),
            json!({
                "user": "ada", "password": "•••• (7 characters)", "pin": "••••",
                "keys": [{"id": 1, "token": "•••• (3 characters)"}, null], "more": {"a": "••••"}, "none": null, "other": "as it is"
            })
        );
        for secret in ["password", "pin", "keys", "more"] {
            assert!(is_in(&schema, secret), "{secret}");
        }
        assert!(!is_in(&schema, "user") && !is_in(&schema, "other"));
    }

    #[test]
    fn what_is_no_secret_is_seen_however_many_ways_there_are_to_say_it() {
        let many: Vec<Value> = (0..1000).map(|n| json!({"const": n})).collect();
        let schema = json!({"type": "object", "properties": {"a": {"oneOf": many}}});
        assert_eq!(covered(&schema, &json!({"a": 7})), json!({"a": 7}));
        assert!(!is_in(&schema, "a"));
    }

    #[test]
    fn what_goes_round_in_circles_is_looked_at_once() {
        let members: Map<String, Value> =
            (0..50).map(|n| (format!("a{n}"), json!({"$ref": "#"}))).collect();
        let mut loops = json!({"$ref": "#", "properties": members});
        assert!(!is_in(&loops, "a0"));
        loops["properties"]["s"] = json!({"writeOnly": true});
        let sent = json!({"a0": {"a1": {"s": "x"}}});
        assert_eq!(covered(&loops, &sent), json!({"a0": {"a1": {"s": "•••• (1 characters)"}}}));
        assert!(is_in(&loops, "a0"));
    }
}
