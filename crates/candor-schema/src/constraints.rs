//! What an author demands of a value, and whether the schema can demand it.
//!
//! schemars drops a constraint that does not fit the type, or that is beside a reference. The macros therefore repeat
//! each constraint under [`KEYWORD`]: here it becomes keywords of JSON Schema, or a mistake with its place.

use serde_json::{Map, Value};

use crate::schema::Schema;
use crate::violation::below;
use crate::words::article;

/// Holds the constraints of a field until its schema is published.
pub(crate) const KEYWORD: &str = "x-candor-constraints";

/// Turns constraints into keywords, everywhere in a schema. Returns what is wrong with them.
pub(crate) fn apply(schema: &mut Value) -> Vec<String> {
    let mut mistakes = Vec::new();
    apply_at(schema, "", &mut mistakes);
    mistakes
}

fn apply_at(schema: &mut Value, at: &str, mistakes: &mut Vec<String>) {
    let Value::Object(keywords) = schema else { return };
    if let Some(Value::Object(constraints)) = keywords.shift_remove(KEYWORD) {
        for (name, limits) in &constraints {
            if let Err(found) = constrain(keywords, name, limits) {
                let attribute = format!("`#[{name}]`");
                mistakes
                    .push(format!("`{at}`: {attribute} {}, and this is {found}", purpose(name)));
            }
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

/// Adds the keywords of a constraint. If they cannot apply, returns what the value is instead.
fn constrain(schema: &mut Map<String, Value>, name: &str, limits: &Value) -> Result<(), String> {
    for union in ["anyOf", "oneOf"] {
        if let Some(Value::Array(branches)) = schema.get_mut(union) {
            let branches: Vec<_> = branches.iter_mut().filter_map(Value::as_object_mut).collect();
            let results: Vec<_> =
                branches.into_iter().map(|b| constrain(b, name, limits)).collect();
            let applied = results.iter().any(Result::is_ok);
            let found: Vec<String> = results.into_iter().filter_map(Result::err).collect();
            return if applied { Ok(()) } else { Err(found.join(" or ")) };
        }
    }
    if schema.contains_key("$ref") {
        return Err("a type that contains itself".to_owned());
    }
    let types: Vec<String> = match schema.get("type") {
        None => ["number", "string", "array", "object"].map(str::to_owned).into(),
        Some(Value::Array(names)) => {
            names.iter().filter_map(Value::as_str).map(str::to_owned).collect()
        }
        Some(name) => vec![name.as_str().unwrap_or_default().to_owned()],
    };
    let mut applied = false;
    for name_of_type in &types {
        let suffix = match (name, name_of_type.as_str()) {
            ("range", "integer" | "number") => "imum",
            ("length", "string") => "Length",
            ("length", "array") => "Items",
            ("length", "object") => "Properties",
            ("email" | "url" | "regex", "string") => "",
            _ => continue,
        };
        applied = true;
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
    let found = types.iter().filter(|name| *name != "null").map(|name| article(name));
    if applied { Ok(()) } else { Err(found.collect::<Vec<_>>().join(" or ")) }
}

/// Returns what no caller could obey: limits that exclude each other, and defaults that their own schema refuses.
pub(crate) fn contradictions(root: &Value) -> Vec<String> {
    let mut mistakes = Vec::new();
    let mut root_copy = root.clone();
    contradictions_at(root, &mut root_copy, "", &mut mistakes);
    mistakes
}

fn contradictions_at(root: &Value, schema: &mut Value, at: &str, mistakes: &mut Vec<String>) {
    let Value::Object(keywords) = schema else { return };
    for suffix in ["imum", "Length", "Items", "Properties"] {
        let limit = |end: &str| keywords.get(&format!("{end}{suffix}"));
        if let (Some(least), Some(most)) = (limit("min"), limit("max"))
            && least.as_f64() > most.as_f64()
        {
            mistakes.push(format!(
                "`{at}`: no value is at least {least} and at most {most}; change one of the two"
            ));
        }
    }
    if let Some(default) = keywords.get("default")
        && let Some(problem) = refusal(root, keywords, default)
    {
        mistakes.push(format!(
            "`{at}`: its own schema refuses the default {default}: {problem}; change the default or the limits"
        ));
    }
    each_child(keywords, at, &mut |child, at| contradictions_at(root, child, at, mistakes));
}

/// Why a schema refuses its own default.
fn refusal(root: &Value, keywords: &Map<String, Value>, default: &Value) -> Option<String> {
    let mut alone = keywords.clone();
    if let Some(definitions) = root.get("$defs") {
        alone.entry("$defs").or_insert_with(|| definitions.clone());
    }
    let alone = Value::Object(alone);
    // A schema that cannot be compiled is refused where the whole is compiled.
    let compiled = Schema::compile(&alone.to_string()).ok()?;
    compiled.check(default).err().map(|invalid| invalid.to_string())
}

/// Calls `visit` for each schema inside a schema, with the JSON Pointer that a value there has. Items and other members
/// without a name of their own have that of their owner.
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
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn applied(mut schema: Value) -> (Value, Vec<String>) {
        let mistakes = apply(&mut schema);
        (schema, mistakes)
    }

    #[test]
    fn constraints_become_keywords_of_the_type_at_hand() {
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
    fn constraint_that_cannot_apply_is_a_mistake() {
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
        ] {
            assert_eq!(applied(owner(property)).1, [mistake]);
        }
    }
}
