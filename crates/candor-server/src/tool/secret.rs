//! Arguments that are nobody's to read: those whose schema says `writeOnly`, `format: password` or `x-secret`.
//!
//! They reach the handler and nothing else: whoever is asked about a call sees that they are there and how long they are, and the
//! ledger keeps no more of them.

use serde_json::{Map, Value};

/// More branches and references than this of one place are not looked at; what stands there is covered.
const MOST: usize = 64;

/// The value with its secrets covered.
pub(crate) fn covered(schema: &Value, value: &Value) -> Value {
    cover(schema, &[schema], value)
}

/// Whether an argument of this name is a secret, or has one in it.
pub(super) fn is_in(schema: &Value, argument: &str) -> bool {
    fn somewhere(root: &Value, at: &[&Value], levels: usize) -> bool {
        let Some(all) = branches(root, at) else { return true };
        let below = all.iter().flat_map(|schema| {
            let members = ["properties", "patternProperties"].map(|name| schema.get(name));
            let members = members.into_iter().flatten().filter_map(Value::as_object);
            let rest = ["items", "additionalProperties", "contains"].map(|name| schema.get(name));
            let places = schema.get("prefixItems").and_then(Value::as_array);
            members
                .flat_map(Map::values)
                .chain(rest.into_iter().flatten())
                .chain(places.into_iter().flatten())
        });
        all.iter().any(|schema| says_so(schema))
            || (levels > 0 && below.into_iter().any(|inner| somewhere(root, &[inner], levels - 1)))
    }
    let Some(all) = branches(schema, &[schema]) else { return true };
    let found = all.iter().filter_map(|schema| schema.get("properties")?.get(argument));
    somewhere(schema, &found.collect::<Vec<_>>(), 8)
}

fn cover(root: &Value, at: &[&Value], value: &Value) -> Value {
    let all = branches(root, at);
    let Some(all) = all.filter(|all| !all.iter().any(|schema| says_so(schema))) else {
        return in_place_of(value);
    };
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

/// All schemas that may speak of one place; nothing if there are too many.
fn branches<'s>(root: &'s Value, at: &[&'s Value]) -> Option<Vec<&'s Value>> {
    let mut all: Vec<&Value> = at.to_vec();
    let mut next = 0;
    while let Some(schema) = all.get(next).copied() {
        for name in ["allOf", "anyOf", "oneOf"] {
            all.extend(schema.get(name).and_then(Value::as_array).into_iter().flatten());
        }
        all.extend(["then", "else"].into_iter().filter_map(|name| schema.get(name)));
        let reference = schema.get("$ref").and_then(Value::as_str);
        let referred = reference.and_then(|to| root.pointer(to.strip_prefix('#')?));
        all.extend(referred.filter(|to| !all.iter().any(|known| std::ptr::eq(*known, *to))));
        next += 1;
        if all.len() > MOST {
            return None;
        }
    }
    Some(all)
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
    fn what_is_too_tangled_to_be_understood_is_covered_and_nothing_hangs() {
        let many: Vec<Value> = (0..100).map(|n| json!({"minimum": n})).collect();
        let schema = json!({"type": "object", "properties": {"a": {"allOf": many}, "b": {}}});
        assert_eq!(covered(&schema, &json!({"a": 1, "b": 1})), json!({"a": "••••", "b": 1}));
        let loops =
            json!({"$ref": "#", "properties": {"a": {"$ref": "#"}, "s": {"writeOnly": true}}});
        let sent = json!({"a": {"a": {"s": "x"}}});
        assert_eq!(covered(&loops, &sent), json!({"a": {"a": {"s": "•••• (1 characters)"}}}));
        assert!(is_in(&loops, "a"));
    }
}
