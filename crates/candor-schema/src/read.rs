//! From a checked value to a Rust value.
//!
//! JSON Schema calls `3.0` an integer and knows no widths; serde does the opposite. Both differences end
//! here: integral floats are read as integers, and a number that is too wide is named with its place.

use serde::de::DeserializeOwned;
use serde_json::{Number, Value};
use serde_path_to_error::{Path, Segment};

use crate::violation::{Invalid, Violation, below, shorten};

/// The ends of what integers hold: -2^63, 2^63 and 2^64, each a float exactly.
const LEAST: f64 = -9_223_372_036_854_775_808.0;
const SIGNED_END: f64 = 9_223_372_036_854_775_808.0;
const UNSIGNED_END: f64 = 18_446_744_073_709_551_616.0;

/// Reads a value that fits its schema.
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
    serde_path_to_error::deserialize(&integral)
        .map_err(|error| violation(error.path(), &error.inner().to_string()).into())
}

/// The same value with integral floats as integers.
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

fn violation(path: &Path, problem: &str) -> Violation {
    let mut pointer = String::new();
    for segment in path {
        pointer = match segment {
            Segment::Seq { index } => below(&pointer, &index.to_string()),
            Segment::Map { key } => below(&pointer, key),
            Segment::Enum { variant } => below(&pointer, variant),
            Segment::Unknown => break,
        };
    }
    if let Some(name) = problem.strip_prefix("missing field `").and_then(|p| p.strip_suffix('`')) {
        return Violation::new(below(&pointer, name), "required, but missing");
    }
    match out_of_range(problem) {
        Some((said, expected)) => Violation::new(pointer, said).expecting(expected),
        None => Violation::new(pointer, shorten(problem)),
    }
}

/// serde says "invalid value: integer `300`, expected u8" of a number that is too wide. In our words, and what was expected.
fn out_of_range(problem: &str) -> Option<(String, String)> {
    let rest = problem
        .strip_prefix("invalid value: integer `")
        .or_else(|| problem.strip_prefix("invalid type: floating point `"))?;
    let (number, expected) = rest.split_once("`, expected ")?;
    let whole = number.parse::<f64>().is_ok_and(|float| float.fract() == 0.0);
    let integer = match expected {
        "i8" | "i16" | "i32" | "i64" | "i128" => format!("a {}-bit integer", &expected[1..]),
        "u8" | "u16" | "u32" | "u64" | "u128" => {
            format!("an unsigned {}-bit integer", &expected[1..])
        }
        "isize" => "a 64-bit integer".to_owned(),
        "usize" => "an unsigned 64-bit integer".to_owned(),
        _ => return None,
    };
    let said = if whole {
        format!("{number} is out of range for {integer}")
    } else {
        format!("expected {integer}, received {number}")
    };
    Some((said, integer))
}
