//! Canonical JSON: one text for all spellings of a value, with sorted keys and no spaces.

use serde::Serialize;
use serde_json::Value;

/// Returns a value as JSON text. Equal values give equal text, in whatever order their keys are.
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
    let mut out = Vec::with_capacity(USUAL);
    write(value, &mut out);
    String::from_utf8(out).expect("JSON is UTF-8")
}

/// Initial buffer size in bytes, enough for the arguments of most calls.
const USUAL: usize = 256;

fn write(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Object(members) => {
            let mut sorted: Vec<_> = members.iter().collect();
            sorted.sort_unstable_by_key(|(key, _)| *key);
            out.push(b'{');
            for (i, (key, member)) in sorted.into_iter().enumerate() {
                if i > 0 {
                    out.push(b',');
                }
                leaf(key, out);
                out.push(b':');
                write(member, out);
            }
            out.push(b'}');
        }
        Value::Array(items) => {
            out.push(b'[');
            for (i, item) in items.iter().enumerate() {
                if i > 0 {
                    out.push(b',');
                }
                write(item, out);
            }
            out.push(b']');
        }
        plain => leaf(plain, out),
    }
}

fn leaf(value: &impl Serialize, out: &mut Vec<u8>) {
    // Writing to memory cannot fail.
    serde_json::to_writer(out, value).expect("texts, numbers and words are JSON");
}
