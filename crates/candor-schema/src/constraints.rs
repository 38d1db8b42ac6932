//! Constraints that an author puts on a value, and whether the schema can express them.
//!
//! schemars drops a constraint that does not apply to the type, or that is beside a reference. The macros therefore repeat
//! each constraint under [`KEYWORD`]. This module turns it into JSON Schema keywords, or reports a mistake and its place.

use std::sync::Arc;

use serde_json::{Map, Number, Value, json};

use crate::keys::OF_ANY_WIDTH;
use crate::schema::Schema;
use crate::violation::below;
use crate::walk::is_type;
use crate::words::article;

/// Holds the constraints of a field until its schema is published.
pub(crate) const KEYWORD: &str = "x-candor-constraints";

/// The keywords that limit strings and numbers.
const LIMITS: [&str; 6] = ["minLength", "maxLength", "pattern", "format", "minimum", "maximum"];

/// Turns constraints into keywords, everywhere in a schema. Returns the mistakes in them.
pub(crate) fn apply(schema: &mut Value) -> Vec<String> {
    let mut mistakes = Vec::new();
    apply_at(schema, "", &mut mistakes);
    mistakes
}

fn apply_at(schema: &mut Value, at: &str, mistakes: &mut Vec<String>) {
    let Value::Object(keywords) = schema else { return };
    if let Some(Value::Object(constraints)) = keywords.shift_remove(KEYWORD) {
        for (name, limits) in &constraints {
            let forms = constrain(keywords, name, limits);
            let others = forms.others.join(" or ");
            let problem = if !forms.limited {
                format!("{}, and this is {others}", purpose(name))
            } else if !forms.others.is_empty() {
                format!(
                    "{}, and this can also be {others}; use a type with one form, or check the value in the function",
                    purpose(name)
                )
            } else if name == "regex"
                && let Err(error) = Schema::compile(&json!({"pattern": limits}).to_string())
            {
                let error = error.to_string();
                format!(
                    "is invalid: {}; correct the pattern",
                    error.trim_start_matches("/pattern: ")
                )
            } else {
                continue;
            };
            mistakes.push(format!("`{at}`: `#[{name}]` {problem}"));
        }
    }
    each_child(keywords, at, &mut |child, at| apply_at(child, at, mistakes));
}

fn purpose(name: &str) -> &'static str {
    match name {
        "range" => "limits numbers",
        "length" => "limits strings, lists and maps",
        _ => "limits strings",
    }
}

/// The forms that a value can have.
#[derive(Default)]
struct Forms {
    /// Whether the constraint limits at least one of them.
    limited: bool,
    /// The forms that it does not limit, in words. Null does not count: it means that there is no value.
    others: Vec<String>,
}

/// Adds the keywords of a constraint.
fn constrain(schema: &mut Map<String, Value>, name: &str, limits: &Value) -> Forms {
    let mut forms = Forms::default();
    for union in ["anyOf", "oneOf"] {
        if let Some(Value::Array(branches)) = schema.get_mut(union) {
            for branch in branches {
                let of_branch = match branch {
                    Value::Object(branch) => constrain(branch, name, limits),
                    _ => Forms { limited: false, others: vec!["any value".to_owned()] },
                };
                forms.limited |= of_branch.limited;
                forms.others.extend(of_branch.others);
            }
            return forms;
        }
    }
    if schema.contains_key("$ref") {
        forms.others.push("a type that contains itself".to_owned());
        return forms;
    }
    let types: Vec<String> = match schema.get("type") {
        None => {
            if values(schema).is_empty() {
                forms.others.push("any other value".to_owned());
            }
            ["number", "string", "array", "object"].map(str::to_owned).into()
        }
        Some(Value::Array(names)) => {
            names.iter().filter_map(Value::as_str).map(str::to_owned).collect()
        }
        Some(name) => vec![name.as_str().unwrap_or_default().to_owned()],
    };
    for name_of_type in &types {
        let suffix = match (name, name_of_type.as_str()) {
            ("range", "integer" | "number") => "imum",
            ("length", "string") => "Length",
            ("length", "array") => "Items",
            ("length", "object") => "Properties",
            ("email" | "url" | "regex", "string") => "",
            (_, "null") => continue,
            (_, other) => {
                if schema.contains_key("type") {
                    forms.others.push(article(other).to_owned());
                }
                continue;
            }
        };
        forms.limited = true;
        match name {
            "email" => drop(schema.insert("format".to_owned(), "email".into())),
            "url" => drop(schema.insert("format".to_owned(), "uri".into())),
            "regex" => drop(schema.insert("pattern".to_owned(), limits.clone())),
            _ => {
                for end in ["min", "max"] {
                    if let Some(limit) = limits.get(end).or_else(|| limits.get("equal")) {
                        schema.insert(format!("{end}{suffix}"), limit.clone());
                    }
                }
            }
        }
    }
    forms
}

/// Returns what no caller could satisfy: limits that exclude each other, defaults or listed values that their own schema refuses,
/// and integer keys that serde cannot read beside other members.
pub(crate) fn contradictions(root: &Value) -> Vec<String> {
    let mut mistakes = Vec::new();
    let mut root_copy = root.clone();
    contradictions_at(root, &mut root_copy, "", &mut mistakes);
    mistakes
}

fn contradictions_at(root: &Value, schema: &mut Value, at: &str, mistakes: &mut Vec<String>) {
    let Value::Object(keywords) = schema else { return };
    mistakes.extend(excluded(keywords).map(|problem| format!("`{at}`: {problem}")));
    let schema = enforced(root, keywords);
    let refusal = |value: &Value| schema.as_ref()?.check(value).err();
    if let Some(default) = keywords.get("default")
        && let Some(problem) = refusal(default)
    {
        mistakes.push(format!(
            "`{at}`: its own schema refuses the default {default}: {problem}; change the default or the limits"
        ));
    }
    let values = values(keywords);
    if let Some(problem) = values.first().and_then(refusal)
        && values.iter().all(|value| refusal(value).is_some())
    {
        mistakes.push(format!(
            "`{at}`: its limits refuse each of its values: {problem}; change the limits"
        ));
    }
    if has_loose_keys(keywords) {
        mistakes.push(format!(
            "`{at}`: serde reads no integer keys beside other members; write the map in a type with `#[candor::args]`, as a `HashMap` or a `BTreeMap`"
        ));
    }
    each_child(keywords, at, &mut |child, at| contradictions_at(root, child, at, mistakes));
}

/// Returns the limits that exclude each other, in words.
fn excluded(keywords: &Map<String, Value>) -> Option<String> {
    let limit = |keyword: String| keywords.get(&keyword)?.as_number();
    for suffix in ["Length", "Items", "Properties"] {
        if let (Some(least), Some(most)) =
            (limit(format!("min{suffix}")), limit(format!("max{suffix}")))
            && least.as_f64() > most.as_f64()
        {
            return Some(exclude_each_other("value", (least, false), (most, false)));
        }
    }
    let is_integer = is_type(keywords, "integer");
    let ends = |end: &str| {
        let plain = limit(format!("{end}imum")).map(|number| (number, false));
        plain.into_iter().chain(limit(format!("exclusiveM{}imum", &end[1..])).map(|n| (n, true)))
    };
    for least in ends("min") {
        for most in ends("max") {
            let is_empty = if is_integer {
                least_integer(least) > greatest_integer(most)
            } else {
                let (from, to) = (least.0.as_f64(), most.0.as_f64());
                from > to || (from == to && (least.1 || most.1))
            };
            if is_empty {
                let kind = if is_integer { "integer" } else { "value" };
                return Some(exclude_each_other(kind, least, most));
            }
        }
    }
    None
}

/// A limit, and whether it is itself excluded.
type Limit<'s> = (&'s Number, bool);

fn exclude_each_other(kind: &str, least: Limit<'_>, most: Limit<'_>) -> String {
    let from = if least.1 { "more than" } else { "at least" };
    let to = if most.1 { "less than" } else { "at most" };
    format!("no {kind} is {from} {} and {to} {}; change one of the two", least.0, most.0)
}

fn least_integer((limit, is_excluded): Limit<'_>) -> i128 {
    match (limit.as_i128(), limit.as_f64().unwrap_or_default()) {
        (Some(limit), _) => limit + i128::from(is_excluded),
        (None, limit) if is_excluded => whole(limit.floor()).saturating_add(1),
        (None, limit) => whole(limit.ceil()),
    }
}

fn greatest_integer((limit, is_excluded): Limit<'_>) -> i128 {
    match (limit.as_i128(), limit.as_f64().unwrap_or_default()) {
        (Some(limit), _) => limit - i128::from(is_excluded),
        (None, limit) if is_excluded => whole(limit.ceil()).saturating_sub(1),
        (None, limit) => whole(limit.floor()),
    }
}

#[expect(clippy::cast_possible_truncation, reason = "larger numbers are beyond every bound")]
const fn whole(number: f64) -> i128 {
    number as i128
}

/// Returns the values that a schema lists in `const` or `enum`, if any.
fn values(keywords: &Map<String, Value>) -> &[Value] {
    match (keywords.get("const"), keywords.get("enum")) {
        (Some(only), _) => std::slice::from_ref(only),
        (None, Some(Value::Array(values))) => values,
        _ => &[],
    }
}

/// Compiles a schema on its own, if it has a default, or values and limits.
fn enforced(root: &Value, keywords: &Map<String, Value>) -> Option<Arc<Schema>> {
    let has_limits = LIMITS.iter().any(|limit| keywords.contains_key(*limit));
    if !keywords.contains_key("default") && (values(keywords).is_empty() || !has_limits) {
        return None;
    }
    let mut alone = keywords.clone();
    if let Some(definitions) = root.get("$defs") {
        alone.entry("$defs").or_insert_with(|| definitions.clone());
    }
    // If this schema does not compile, compiling the whole schema reports it.
    Schema::compile(&Value::Object(alone).to_string()).ok()
}

/// Returns true if a flattened map has integer keys that its type reads in serde's own way. A map that `#[candor::args]`
/// reads has the bounds of its keys in its patterns.
fn has_loose_keys(keywords: &Map<String, Value>) -> bool {
    let members = |keyword| keywords.get(keyword).and_then(Value::as_object);
    members("properties").is_some_and(|members| !members.is_empty())
        && members("patternProperties").is_some_and(|patterns| {
            OF_ANY_WIDTH.iter().any(|(_, pattern)| patterns.contains_key(*pattern))
        })
}

/// Calls `visit` for each schema inside a schema, with the JSON Pointer of the value that it describes. Items, and members
/// without a name in the schema, get the pointer of their owner.
fn each_child(
    keywords: &mut Map<String, Value>,
    at: &str,
    visit: &mut dyn FnMut(&mut Value, &str),
) {
    for (keyword, value) in keywords {
        match (keyword.as_str(), value) {
            ("properties", Value::Object(members)) => {
                for (name, member) in members {
                    visit(member, &below(at, name));
                }
            }
            ("patternProperties" | "$defs", Value::Object(members)) => {
                members.values_mut().for_each(|member| visit(member, at));
            }
            ("anyOf" | "oneOf" | "allOf" | "prefixItems", Value::Array(items)) => {
                items.iter_mut().for_each(|item| visit(item, at));
            }
            ("items" | "additionalProperties", value) => visit(value, at),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn applied(mut schema: Value) -> (Value, Vec<String>) {
        let mistakes = apply(&mut schema);
        (schema, mistakes)
    }

    #[test]
    fn constraints_become_keywords_of_the_member_type() {
        for (schema, expected) in [
            (
                json!({"type": "object", KEYWORD: {"length": {"max": 2}}}),
                json!({"type": "object", "maxProperties": 2}),
            ),
            (
                json!({"anyOf": [{"type": "string"}, {"type": "null"}], KEYWORD: {"length": {"equal": 2}}}),
                json!({"anyOf": [{"type": "string", "minLength": 2, "maxLength": 2}, {"type": "null"}]}),
            ),
            (
                json!({"type": ["integer", "null"], KEYWORD: {"range": {"min": 1}}}),
                json!({"type": ["integer", "null"], "minimum": 1}),
            ),
        ] {
            assert_eq!(applied(schema), (expected, Vec::new()));
        }
    }

    #[test]
    fn limits_between_two_values_are_reported() {
        let of = |schema: Value| contradictions(&json!({"properties": {"n": schema}}));
        let integer = |limits: Value| {
            let mut schema = json!({"type": "integer"});
            schema.as_object_mut().unwrap().extend(limits.as_object().unwrap().clone());
            schema
        };
        assert_eq!(
            of(integer(json!({"minimum": 0.5, "maximum": 0.7}))),
            ["`/n`: no integer is at least 0.5 and at most 0.7; change one of the two"]
        );
        assert_eq!(
            of(json!({"type": "number", "minimum": 1, "exclusiveMaximum": 1})),
            ["`/n`: no value is at least 1 and less than 1; change one of the two"]
        );
        for limits in [
            json!({"exclusiveMinimum": 1, "maximum": 1.5}),
            json!({"exclusiveMinimum": 1, "exclusiveMaximum": 2}),
            json!({"minimum": 9_007_199_254_740_993_u64, "maximum": 9_007_199_254_740_992_u64}),
            json!({"minimum": 1e300, "maximum": u64::MAX}),
            json!({"minimum": i64::MIN, "maximum": -1e300}),
        ] {
            assert_eq!(of(integer(limits.clone())).len(), 1, "{limits}");
        }
        for limits in [
            json!({"minimum": 0.5, "maximum": 1.2}),
            json!({"minimum": -0.5, "maximum": 0.5}),
            json!({"exclusiveMinimum": 0.5, "exclusiveMaximum": 1.5}),
            json!({"exclusiveMinimum": 0, "exclusiveMaximum": 2}),
            json!({"minimum": 1, "maximum": 1.0}),
            json!({"minimum": i64::MIN, "maximum": u64::MAX}),
        ] {
            assert!(of(integer(limits.clone())).is_empty(), "{limits}");
        }
        for limits in [json!({"minimum": 0.5, "maximum": 0.7}), json!({"minimum": 1, "maximum": 1})]
        {
            let mut number = integer(limits.clone());
            number["type"] = json!("number");
            assert!(of(number).is_empty(), "{limits}");
        }
    }

    #[test]
    fn limits_that_refuse_every_value_are_reported() {
        let of = |limit: Value| {
            let modes = json!({"type": "string", "enum": ["on", "auto"]});
            let mode = crate::merge::merge(
                modes.as_object().unwrap().clone(),
                limit.as_object().unwrap().clone(),
            );
            contradictions(&json!({"properties": {"mode": {"anyOf": [mode, {"type": "null"}]}}}))
        };
        assert_eq!(
            of(json!({"maxLength": 1})),
            [
                "`/mode`: its limits refuse each of its values: expected at most 1 character, received 2 characters; change the limits"
            ]
        );
        assert!(of(json!({"maxLength": 2})).is_empty(), "one of them can be sent");
        assert!(of(json!({})).is_empty());
    }

    #[test]
    fn constraint_that_cannot_apply_is_reported() {
        let owner = |property: Value| json!({"type": "object", "properties": {"a": property}});
        for (property, mistake) in [
            (
                json!({"type": "string", KEYWORD: {"range": {"min": 1}}}),
                "`/a`: `#[range]` limits numbers, and this is a string",
            ),
            (
                json!({"type": ["integer", "null"], KEYWORD: {"length": {"min": 1}}}),
                "`/a`: `#[length]` limits strings, lists and maps, and this is an integer",
            ),
            (
                json!({"anyOf": [{"type": "boolean"}, {"type": "number"}], KEYWORD: {"email": {}}}),
                "`/a`: `#[email]` limits strings, and this is true or false or a number",
            ),
            (
                json!({"type": ["string", "number"], KEYWORD: {"range": {"min": 1}}}),
                "`/a`: `#[range]` limits numbers, and this can also be a string; use a type with one form, or check the value in the function",
            ),
            (
                json!({"anyOf": [{"type": "array"}, {"type": "integer"}, {"type": "null"}], KEYWORD: {"length": {"min": 1}}}),
                "`/a`: `#[length]` limits strings, lists and maps, and this can also be an integer; use a type with one form, or check the value in the function",
            ),
            (
                json!({KEYWORD: {"regex": "^a"}}),
                "`/a`: `#[regex]` limits strings, and this can also be any other value; use a type with one form, or check the value in the function",
            ),
            (
                json!({"type": "string", KEYWORD: {"regex": "("}}),
                "`/a`: `#[regex]` is invalid: the pattern \"(\" cannot be used: unclosed group; correct the pattern",
            ),
        ] {
            assert_eq!(applied(owner(property)).1, [mistake]);
        }
    }
}
