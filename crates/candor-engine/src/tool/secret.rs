//! Secret arguments: those whose schema says `writeOnly`, `format: password` or `x-secret`.
//!
//! Only the handler receives them. A reviewer sees that they are present and how long a text is, and the ledger stores no more of
//! them.

use std::collections::HashSet;

use candor_schema::{References, Schema};
use serde_json::{Map, Value, json};

/// Returns the value with its secrets redacted.
pub(crate) fn covered(schema: &Value, value: &Value) -> Value {
    // A value that is not a schema does not tell which arguments are secrets.
    let unknown = json!({"additionalProperties": {"writeOnly": true}});
    let schema = if schema.is_object() || schema.is_boolean() { schema } else { &unknown };
    match References::of(schema) {
        Some(mut references) => cover(&mut references, &[schema], value),
        None => in_place_of(value),
    }
}

/// Returns the arguments that redaction changed.
pub(crate) fn changed<'a>(sent: &'a Value, covered: &Value) -> Vec<&'a str> {
    let differs = |(name, value): &(&String, &Value)| covered.get(name.as_str()) != Some(*value);
    sent.as_object().into_iter().flatten().filter(differs).map(|(name, _)| name.as_str()).collect()
}

/// Returns true if an argument of this name is a secret or contains one.
pub(super) fn is_in(schema: &Value, argument: &str) -> bool {
    let Some(mut references) = References::of(schema) else { return true };
    let Some(whole) = reachable(&mut references, &[schema], beside) else { return true };
    let all = reachable(&mut references, &of_member(&whole, argument), |schema| {
        let mut inner = beside(schema);
        inner.extend(beneath(schema));
        inner
    });
    all.is_none_or(|all| all.into_iter().any(says_so))
}

fn cover<'s>(references: &mut References<'s>, at: &[&'s Value], value: &Value) -> Value {
    let Some(all) = reachable(references, at, beside) else { return in_place_of(value) };
    if all.iter().any(|schema| says_so(schema)) {
        return in_place_of(value);
    }
    match value {
        Value::Object(members) => {
            let covered = |(name, member): (&String, &Value)| {
                (name.clone(), cover(references, &of_member(&all, name), member))
            };
            Value::Object(members.iter().map(covered).collect())
        }
        Value::Array(items) => {
            let covered = |(place, item)| cover(references, &of_item(&all, place), item);
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
        Value::String(text) => match text.chars().count() {
            1 => "•••• (1 character)".into(),
            count => format!("•••• ({count} characters)").into(),
        },
        _ => "••••".into(),
    }
}

/// Returns schemas, and all that `next` and references lead to, each once: schemas may refer to each other in circles. `None`: a
/// reference cannot be followed, and its target may be a secret.
fn reachable<'s>(
    references: &mut References<'s>,
    from: &[&'s Value],
    next: impl Fn(&'s Value) -> Vec<&'s Value>,
) -> Option<Vec<&'s Value>> {
    let (mut found, mut left, mut seen) = (Vec::new(), from.to_vec(), HashSet::new());
    while let Some(schema) = left.pop() {
        if seen.insert(std::ptr::from_ref(schema)) {
            found.push(schema);
            left.extend(next(schema));
            left.extend(references.from(schema)?);
        }
    }
    Some(found)
}

/// Returns the schemas that may describe the same value as this schema.
fn beside(schema: &Value) -> Vec<&Value> {
    let branches = ["allOf", "anyOf", "oneOf"].into_iter().filter_map(|name| schema.get(name));
    let branches = branches.filter_map(Value::as_array).flatten();
    let ways = ["if", "then", "else"].into_iter().filter_map(|name| schema.get(name));
    branches.chain(ways).chain(members(schema, &["dependentSchemas", "dependencies"])).collect()
}

/// Returns the schemas that describe values inside the one that this schema describes.
fn beneath(schema: &Value) -> Vec<&Value> {
    let places = [schema.get("prefixItems"), schema.get("items")].into_iter().flatten();
    let places = places.filter_map(Value::as_array).flatten();
    let rest = ["additionalProperties", "unevaluatedProperties"].into_iter().chain(ITEMS);
    let rest = rest.filter_map(|name| schema.get(name));
    members(schema, &["properties", "patternProperties"]).chain(places).chain(rest).collect()
}

/// The keywords that may describe any item of a list.
const ITEMS: [&str; 4] = ["items", "additionalItems", "unevaluatedItems", "contains"];

fn members<'s>(schema: &'s Value, keywords: &[&str]) -> impl Iterator<Item = &'s Value> {
    let found: Vec<_> = keywords.iter().filter_map(|name| schema.get(name)?.as_object()).collect();
    found.into_iter().flat_map(Map::values)
}

fn of_member<'s>(all: &[&'s Value], name: &str) -> Vec<&'s Value> {
    let mut found = Vec::new();
    for schema in all {
        let before = found.len();
        found.extend(schema.get("properties").and_then(|members| members.get(name)));
        let patterns = schema.get("patternProperties").and_then(Value::as_object);
        for (pattern, member) in patterns.into_iter().flatten() {
            if may_match(pattern, name) {
                found.push(member);
            }
        }
        // These two do not apply to a member that the schema names itself.
        if found.len() == before {
            let others = ["additionalProperties", "unevaluatedProperties"];
            found.extend(others.into_iter().filter_map(|keyword| schema.get(keyword)));
        }
    }
    found
}

/// Returns true if a pattern matches a name, or if that is unknown.
fn may_match(pattern: &str, name: &str) -> bool {
    let other = json!({"not": {"pattern": pattern}}).to_string();
    !Schema::compile(&other).is_ok_and(|other| other.check(&name.into()).is_ok())
}

fn of_item<'s>(all: &[&'s Value], place: usize) -> Vec<&'s Value> {
    let mut found = Vec::new();
    for schema in all {
        // Older drafts list the positions in `items`.
        let places = ["prefixItems", "items"].into_iter().filter_map(|name| schema.get(name));
        let by_place = places.filter_map(Value::as_array).find_map(|places| places.get(place));
        found.extend(by_place.or_else(|| schema.get("items").filter(|items| !items.is_array())));
        let others = if by_place.is_some() { &ITEMS[3..] } else { &ITEMS[1..] };
        found.extend(others.iter().filter_map(|name| schema.get(name)));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_argument_is_redacted_without_a_schema() {
        let complaint = json!("the derivation panicked");
        let covered = covered(&complaint, &json!({"a": "abc", "b": {"c": 1}}));
        assert_eq!(covered, json!({"a": "•••• (3 characters)", "b": "••••"}));
    }

    #[test]
    fn secrets_are_redacted_wherever_the_schema_marks_them() {
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
    fn plain_value_with_many_alternatives_is_not_redacted() {
        let many: Vec<Value> = (0..1000).map(|n| json!({"const": n})).collect();
        let schema = json!({"type": "object", "properties": {"a": {"oneOf": many}}});
        assert_eq!(covered(&schema, &json!({"a": 7})), json!({"a": 7}));
        assert!(!is_in(&schema, "a"));
    }

    #[test]
    fn secrets_of_a_recursive_schema_are_redacted() {
        let members: Map<String, Value> =
            (0..50).map(|n| (format!("a{n}"), json!({"$ref": "#"}))).collect();
        let mut loops = json!({"$ref": "#", "properties": members});
        assert!(!is_in(&loops, "a0"));
        loops["properties"]["s"] = json!({"writeOnly": true});
        let sent = json!({"a0": {"a1": {"s": "x"}}});
        assert_eq!(covered(&loops, &sent), json!({"a0": {"a1": {"s": "•••• (1 character)"}}}));
        assert!(is_in(&loops, "a0"));
    }

    #[test]
    fn every_kind_of_reference_is_followed() {
        let schema = json!({
            "type": "object",
            "$id": "https://example.invalid/tool",
            "properties": {
                "anchor": {"$ref": "#key"},
                "name": {"$ref": "inner"},
                "dynamic": {"type": "array", "items": {"$dynamicRef": "#any"}},
                "plain": {"$ref": "#open"},
            },
            "$defs": {
                "key": {"$anchor": "key", "properties": {"token": {"writeOnly": true}}},
                "inner": {"$id": "inner", "$ref": "#pin", "$defs": {"p": {"$anchor": "pin", "x-secret": true}}},
                "any": {"$dynamicAnchor": "any", "format": "password"},
                "open": {"$anchor": "open", "type": "string"},
            },
        });
        Schema::compile(&schema.to_string()).unwrap();
        let sent =
            json!({"anchor": {"id": 1, "token": "abc"}, "name": 7, "dynamic": ["a"], "plain": "p"});
        let seen = json!({
            "anchor": {"id": 1, "token": "•••• (3 characters)"}, "name": "••••",
            "dynamic": ["•••• (1 character)"], "plain": "p",
        });
        assert_eq!(covered(&schema, &sent), seen);
        for (argument, secret) in
            [("anchor", true), ("name", true), ("dynamic", true), ("plain", false)]
        {
            assert_eq!(is_in(&schema, argument), secret, "{argument}");
        }
    }

    #[test]
    fn value_behind_an_unresolved_reference_is_redacted() {
        let schema = json!({"properties": {
            "lost": {"$ref": "#nowhere"},
            "away": {"items": {"$ref": "https://example.invalid/other"}},
            "user": {"type": "string"},
        }});
        let sent = json!({"lost": {"a": 1}, "away": ["x", "y"], "user": "ada"});
        let seen = json!({
            "lost": "••••", "away": ["•••• (1 character)", "•••• (1 character)"], "user": "ada",
        });
        assert_eq!(covered(&schema, &sent), seen);
        assert!(is_in(&schema, "lost") && is_in(&schema, "away") && !is_in(&schema, "user"));
        let unknown = json!({"$schema": "https://example.invalid/dialect"});
        assert_eq!(covered(&unknown, &sent), json!("••••"));
        assert!(is_in(&unknown, "user"));
    }

    #[test]
    fn secret_is_found_under_every_keyword_for_subschemas() {
        let secret = || json!({"writeOnly": true});
        for (schema, sent, seen) in [
            (
                json!({"properties": {"pin": {}}, "patternProperties": {"^p": secret()}}),
                json!({"pin": 1, "user": 2}),
                json!({"pin": "••••", "user": 2}),
            ),
            (
                json!({"patternProperties": {"^user$": {}}, "additionalProperties": secret()}),
                json!({"pin": 1, "user": 2}),
                json!({"pin": "••••", "user": 2}),
            ),
            (
                json!({"properties": {"user": {}}, "unevaluatedProperties": secret()}),
                json!({"pin": 1, "user": 2}),
                json!({"pin": "••••", "user": 2}),
            ),
            (
                json!({"dependentSchemas": {"user": {"properties": {"pin": secret()}}}}),
                json!({"pin": 1, "user": 2}),
                json!({"pin": "••••", "user": 2}),
            ),
            (
                json!({"if": {"properties": {"pin": secret()}}}),
                json!({"pin": 1, "user": 2}),
                json!({"pin": "••••", "user": 2}),
            ),
            (
                json!({"properties": {"pin": {"contains": secret()}}}),
                json!({"pin": [1], "user": 2}),
                json!({"pin": ["••••"], "user": 2}),
            ),
            (
                json!({"properties": {"pin": {"prefixItems": [{}], "unevaluatedItems": secret()}}}),
                json!({"pin": [1, 2], "user": 2}),
                json!({"pin": [1, "••••"], "user": 2}),
            ),
            (
                json!({"$schema": "http://json-schema.org/draft-07/schema#", "properties": {"pin": {"items": [{}, secret()], "additionalItems": secret()}}}),
                json!({"pin": [1, 2, 3], "user": 2}),
                json!({"pin": [1, "••••", "••••"], "user": 2}),
            ),
        ] {
            assert_eq!(covered(&schema, &sent), seen, "{schema}");
            assert!(is_in(&schema, "pin"), "{schema}");
            assert!(!is_in(&schema, "user"), "{schema}");
        }
    }
}
