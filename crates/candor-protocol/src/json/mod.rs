//! JSON as text: a scanner for incoming messages, objects that lose nothing, numbers that keep their digits.

mod decode;
mod line;
mod number;
mod object;
mod plain;
mod scan;
mod text;

pub use decode::{Decode, Malformed};
pub use line::in_one_line;
pub use number::{Number, first_inexact_number};
pub use object::Object;
pub(crate) use scan::scan_members;
pub use scan::{DEFAULT_DEPTH, Problem, ScanError, scan};
pub use serde_json::value::RawValue;
pub use text::Json;

/// Writes a value as raw JSON.
///
/// # Panics
/// If the value cannot be written as JSON, such as a map whose keys are not strings.
#[must_use]
pub fn raw(value: &(impl serde::Serialize + ?Sized)) -> Box<RawValue> {
    serde_json::value::to_raw_value(value).expect("a value that JSON can write")
}

/// Writes a large value as raw JSON, into memory of exactly its length. A growing buffer would leave gaps as large as the value.
///
/// # Panics
/// As [`raw`].
#[must_use]
pub fn raw_large(value: &(impl serde::Serialize + ?Sized)) -> Box<RawValue> {
    let mut out = Vec::with_capacity(length(value));
    serde_json::to_writer(&mut out, value).expect("a value that JSON can write");
    let text = String::from_utf8(out).expect("JSON is text");
    RawValue::from_string(text).expect("JSON that was just written")
}

/// Returns how many bytes a value has as JSON, without writing it.
///
/// # Panics
/// As [`raw`].
pub fn length(value: &(impl serde::Serialize + ?Sized)) -> usize {
    let mut counter = Counter(0);
    serde_json::to_writer(&mut counter, value).expect("a value that JSON can write");
    counter.0
}

struct Counter(usize);

impl std::io::Write for Counter {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Strategies for property tests.
#[cfg(test)]
pub(crate) mod testing {
    use proptest::prelude::*;
    use serde_json::Value;

    /// Any JSON value, a few levels deep.
    pub(crate) fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            any::<f64>().prop_filter("finite", |f| f.is_finite()).prop_map(Value::from),
            ".{0,12}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 32, 6, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
                prop::collection::btree_map(".{0,8}", inner, 0..6)
                    .prop_map(|m| Value::Object(m.into_iter().collect())),
            ]
        })
    }
}
