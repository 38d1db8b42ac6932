//! One text for all spellings of a value: sorted keys, no spaces.

use serde_json::Value;

/// Writes a value so that equal values give equal text, whatever order their keys came in.
///
/// The order of a `serde_json` map depends on a feature that any crate in a build can switch on, so
/// keys are sorted here.
///
/// ```
/// let a = serde_json::json!({"b": [1, 2.50], "a": null});
/// assert_eq!(candor_schema::canonical(&a), r#"{"a":null,"b":[1,2.5]}"#);
/// ```
#[must_use]
pub fn canonical(value: &Value) -> String {
    let mut out = String::new();
    write(value, &mut out);
    out
}

fn write(value: &Value, out: &mut String) {
    match value {
        Value::Object(members) => {
            let mut keys: Vec<&String> = members.keys().collect();
            keys.sort_unstable();
            out.push('{');
            for (i, key) in keys.into_iter().enumerate() {
                if i > 0 {
                    out.push(',');
                }
                write(&Value::String(key.clone()), out);
                out.push(':');
                write(&members[key], out);
            }
            out.push('}');
        }
        Value::Array(items) => {
            out.push('[');
            for (i, item) in items.iter().enumerate() {
                if i > 0 {
                    out.push(',');
                }
                write(item, out);
            }
            out.push(']');
        }
        leaf => out.push_str(&leaf.to_string()),
    }
}
