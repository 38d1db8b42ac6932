//! Strict JSON: every parser reads it the same way, and no number is rounded.

use candor::protocol::json::{DEFAULT_DEPTH, first_inexact_number, scan};
use serde_json::Value;

/// Parses a JSON text. The error says what is wrong with it.
pub(super) fn json(text: &str) -> Result<Value, String> {
    let text = text.trim();
    scan(text.as_bytes(), DEFAULT_DEPTH).map_err(|error| error.to_string())?;
    if let Some(number) = first_inexact_number(text) {
        return Err(too_large(number));
    }
    serde_json::from_str(text).map_err(|error| error.to_string())
}

/// Returns the problem of a number that would be rounded.
pub(super) fn too_large(number: &str) -> String {
    if number.contains(['.', 'e', 'E']) {
        return format!("{number} would be rounded: it has more digits than a 64-bit number holds");
    }
    format!("{number} is outside the range of a 64-bit integer")
}

/// Returns true if a text is a number as JSON writes it: 007 and +1 are not.
pub(super) fn is_number(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    digits.starts_with(|c: char| c.is_ascii_digit())
        && !text.ends_with(char::is_whitespace)
        && scan(text.as_bytes(), DEFAULT_DEPTH).is_ok()
}
