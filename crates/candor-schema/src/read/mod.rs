//! Reads a checked JSON value as a Rust value.
//!
//! JSON Schema calls `3.0` an integer, but serde does not: integral floats are read as integers. If a type refuses a value,
//! the error names the place, in JSON terms. serde's own deserializer for values does neither.

mod deserializer;
mod locate;
mod names;
mod refusal;
mod ways;

use serde::de::DeserializeOwned;
use serde_json::{Number, Value};

use crate::violation::Invalid;
use deserializer::{IntegerKeys, Log, Reading, ValueReader};
use refusal::Refusal;

pub use ways::{MapKey, Natural, ReadAs, WideInteger, read_as};

/// The bounds of integers: -2^63, 2^63 and 2^64. Each is exact as a float.
const LEAST: f64 = -9_223_372_036_854_775_808.0;
const SIGNED_END: f64 = 9_223_372_036_854_775_808.0;
const UNSIGNED_END: f64 = 18_446_744_073_709_551_616.0;

/// Reads a value that its schema accepts.
///
/// ```
/// let numbers: Vec<u8> = candor_schema::read(&serde_json::json!([1, 2.0]))?;
/// assert_eq!(numbers, [1, 2]);
///
/// let invalid = candor_schema::read::<Vec<i32>>(&serde_json::json!([1, 3_000_000_000_u32])).unwrap_err();
/// assert_eq!(invalid.to_string(), "/1: 3000000000 is out of range for a 32-bit integer");
/// # Ok::<(), candor_schema::Invalid>(())
/// ```
pub fn read<T: DeserializeOwned>(value: &Value) -> Result<T, Invalid> {
    if let Ok(read) = T::deserialize(value) {
        return Ok(read);
    }
    let integral = integral(value);
    if let Ok(read) = T::deserialize(&integral) {
        return Ok(read);
    }
    let attempt = |value: &Value, integer_keys: IntegerKeys| -> (Result<T, Refusal>, Log) {
        let reading = Reading::new(integer_keys);
        let read = T::deserialize(ValueReader::new(value, &reading));
        (read, reading.into_log())
    };
    // serde reads the keys of a map as strings wherever it first buffers the whole: inside tagged, untagged and flattened
    // types. With integer keys, such a map can be read after all.
    if let (Ok(read), _) = attempt(&integral, IntegerKeys::OfWholeObjects) {
        return Ok(read);
    }
    let refuse = |value: &Value, integer_keys: IntegerKeys| {
        let (read, log) = attempt(value, integer_keys);
        (read.err(), log)
    };
    Err(locate::locate(&integral, &refuse).into())
}

/// Returns the value with integral floats as integers.
fn integral(value: &Value) -> Value {
    match value {
        Value::Number(number) => Value::Number(integral_number(number)),
        Value::Array(items) => items.iter().map(integral).collect(),
        Value::Object(members) => Value::Object(
            members.iter().map(|(name, value)| (name.clone(), integral(value))).collect(),
        ),
        other => other.clone(),
    }
}

fn integral_number(number: &Number) -> Number {
    let whole = |float: &f64| number.is_f64() && float.fract() == 0.0;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "whole, and in range"
    )]
    match number.as_f64().filter(whole) {
        Some(float) if (LEAST..SIGNED_END).contains(&float) => Number::from(float as i64),
        Some(float) if (SIGNED_END..UNSIGNED_END).contains(&float) => Number::from(float as u64),
        _ => number.clone(),
    }
}
