//! Two schemas that hold for the same value, written as one.

use serde_json::{Map, Value, json};

/// Joins two schemas of which `first` is the nearer one: its words win, its members come first.
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
            // Members that only one of the two names are members of the whole: the whole is open if
            // either is (a flattened map), and closed only by the schema that it ends up in.
            ("additionalProperties", mine @ Value::Bool(false), theirs) => *mine = theirs,
            _ => {}
        }
    }
    merged
}
