//! Merges two schemas that apply to the same value.

use serde_json::{Map, Value, json};

/// Merges two schemas. `first` is the nearer one: its keywords win, and its members come first.
pub(crate) fn merge(first: Map<String, Value>, second: Map<String, Value>) -> Map<String, Value> {
    let mut merged = first;
    for (keyword, value) in second {
        let Some(mine) = merged.get_mut(&keyword) else {
            merged.insert(keyword, value);
            continue;
        };
        match (keyword.as_str(), mine, value) {
            ("properties" | "patternProperties", Value::Object(mine), Value::Object(theirs)) => {
                for (name, schema) in theirs {
                    mine.entry(name).or_insert(schema);
                }
            }
            ("required", Value::Array(mine), Value::Array(theirs)) => {
                for name in theirs {
                    if !mine.contains(&name) {
                        mine.push(name);
                    }
                }
            }
            ("allOf", Value::Array(mine), Value::Array(theirs)) => mine.extend(theirs),
            ("anyOf" | "oneOf", _, theirs) => {
                let all = merged.entry("allOf").or_insert_with(|| json!([]));
                if let Value::Array(all) = all {
                    all.push(json!({ keyword: theirs }));
                }
            }
            // A member that only one of the two names is a member of the merged object. That object is open if either one is (a
            // flattened map); otherwise only the schema that it ends up in closes it.
            ("additionalProperties", mine @ Value::Bool(false), theirs) => *mine = theirs,
            _ => {}
        }
    }
    merged
}
