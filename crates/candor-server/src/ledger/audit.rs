//! What is written down of a call: who, what, with which effects, how it ended. Of its arguments the shape, and a digest that
//! nobody can try values against; values only where the tool's author allows it.

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use candor_ledger::{AuditRow, Moment, Note};
use serde_json::Value;

/// Bytes of a shape that are kept. A caller chooses how much it sends; not how much is written down.
const LONGEST: usize = 2048;

/// How deep a shape is looked into.
const DEEPEST: usize = 3;

/// Characters of a recorded text.
const LONGEST_TEXT: usize = 256;

/// Calls that change nothing and have no key: as many as a person would look at.
const REMEMBERED: usize = 1000;

/// Which calls leave a durable row.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Audit {
    /// Those that have a key, were refused, or may change something. The last thousand others are remembered in memory.
    #[default]
    Writes,
    /// All.
    All,
}

/// The arguments without their values: names, kinds, lengths. Those that are named in `recorded` with their values.
pub(super) fn shape(arguments: &Value, recorded: &[String]) -> String {
    let mut text = String::new();
    match arguments {
        Value::Object(members) => {
            text.push('{');
            for (at, (name, value)) in members.iter().enumerate() {
                if at > 0 {
                    text.push(',');
                }
                if text.len() > LONGEST {
                    text.push_str("\"…\":\"…\"");
                    break;
                }
                let _ = write!(text, "{}:", quoted(name));
                if recorded.iter().any(|allowed| allowed == name) {
                    let _ = write!(text, "{{\"=\":{}}}", shown(value));
                } else {
                    kind(&mut text, value, DEEPEST);
                }
            }
            text.push('}');
        }
        other => kind(&mut text, other, DEEPEST),
    }
    text
}

fn kind(text: &mut String, value: &Value, levels: usize) {
    let _ = match value {
        Value::Null => write!(text, "\"null\""),
        Value::Bool(_) => write!(text, "\"boolean\""),
        Value::Number(number) if number.is_f64() => write!(text, "\"number\""),
        Value::Number(_) => write!(text, "\"integer\""),
        Value::String(string) => write!(text, "\"string({})\"", string.chars().count()),
        Value::Array(items) => write!(text, "\"array({})\"", items.len()),
        Value::Object(members) if levels == 0 => write!(text, "\"object({})\"", members.len()),
        Value::Object(members) => {
            text.push('{');
            for (at, (name, value)) in members.iter().enumerate() {
                if at > 0 {
                    text.push(',');
                }
                if text.len() > LONGEST {
                    text.push_str("\"…\":\"…\"");
                    break;
                }
                let _ = write!(text, "{}:", quoted(name));
                kind(text, value, levels - 1);
            }
            text.push('}');
            Ok(())
        }
    };
}

fn quoted(name: &str) -> String {
    let cut: String = name.chars().take(64).collect();
    Value::String(cut).to_string()
}

/// A value that may be shown, as far as it is short.
fn shown(value: &Value) -> String {
    match value {
        Value::String(text) if text.chars().count() > LONGEST_TEXT => {
            let cut: String = text.chars().take(LONGEST_TEXT).collect();
            Value::String(format!("{cut}…")).to_string()
        }
        Value::Array(_) | Value::Object(_) => {
            let text = value.to_string();
            if text.len() > LONGEST_TEXT { "\"…\"".to_owned() } else { text }
        }
        other => other.to_string(),
    }
}

/// The last calls that left no durable row.
#[derive(Default)]
pub(super) struct Recent(Mutex<(u64, VecDeque<Arc<AuditRow>>)>);

impl Recent {
    pub(super) fn push(&self, note: Note) {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let at = Moment(i64::try_from(since.as_millis()).unwrap_or(i64::MAX));
        let mut recent = self.lock();
        recent.0 += 1;
        let row = AuditRow { seq: recent.0, ..AuditRow::of_note(note, at) };
        if recent.1.len() == REMEMBERED {
            recent.1.pop_front();
        }
        recent.1.push_back(Arc::new(row));
    }

    /// The latest first.
    pub(super) fn rows(&self) -> Vec<Arc<AuditRow>> {
        self.lock().1.iter().rev().cloned().collect()
    }

    fn lock(&self) -> MutexGuard<'_, (u64, VecDeque<Arc<AuditRow>>)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_shape_has_names_and_kinds_and_only_the_values_that_are_allowed() {
        let arguments = json!({
            "name": "Ada", "amount": 4200, "rate": 0.5, "vip": true, "tags": ["a", "b"], "none": null,
            "address": {"street": {"no": {"secret": {"deep": 1}}}},
        });
        let shape = shape(&arguments, &["amount".to_owned()]);
        let read: Value = serde_json::from_str(&shape).unwrap();
        assert_eq!(
            read,
            json!({
                "name": "string(3)", "amount": {"=": 4200}, "rate": "number", "vip": "boolean", "tags": "array(2)",
                "none": "null", "address": {"street": {"no": {"secret": "object(1)"}}},
            })
        );
        assert!(!shape.contains("Ada"));
    }

    #[test]
    fn a_shape_is_no_longer_than_somebody_wants_to_keep() {
        let many: serde_json::Map<_, _> =
            (0..100_000).map(|n| (format!("name-{n}"), json!("x".repeat(1000)))).collect();
        let text = shape(&Value::Object(many), &[]);
        assert!(text.len() < LONGEST + 200, "{}", text.len());
        assert!(serde_json::from_str::<Value>(&text).is_ok());
        let long = shape(&json!({"a": "x".repeat(1_000_000)}), &["a".to_owned()]);
        assert!(long.len() < 400);
    }
}
