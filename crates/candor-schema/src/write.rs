//! Writes a Rust value as the JSON that its output schema describes.
//!
//! A [`Value`] holds integers up to 64 bits exactly. A wider one becomes a string with its decimal digits, and the output schema
//! of a 128-bit type allows both forms. A JSON number would lose digits in most readers, this framework's included.

use std::io;

use serde::Serialize;
use serde_json::ser::{Formatter, Serializer};
use serde_json::{Map, Value, json};

/// Returns a value as JSON. An integer that a [`Value`] cannot hold becomes a string with its digits.
///
/// ```
/// use candor_schema::write;
/// use serde_json::json;
///
/// assert_eq!(write(&7_u128)?, json!(7));
/// assert_eq!(write(&u128::MAX)?, json!("340282366920938463463374607431768211455"));
/// # Ok::<(), serde_json::Error>(())
/// ```
pub fn write(value: &(impl Serialize + ?Sized)) -> serde_json::Result<Value> {
    serde_json::to_value(value).or_else(|error| {
        let mut text = Vec::new();
        let mut serializer = Serializer::with_formatter(&mut text, WideAsText::default());
        match value.serialize(&mut serializer) {
            Ok(()) => serde_json::from_slice(&text),
            // The width is not the problem: the first attempt has the reason.
            Err(_) => Err(error),
        }
    })
}

/// Writes integers beyond 64 bits as strings.
#[derive(Default)]
struct WideAsText {
    /// True inside a key, which has quotes already.
    in_key: bool,
}

impl WideAsText {
    fn write<W: io::Write + ?Sized>(
        &self,
        writer: &mut W,
        fits: bool,
        digits: &impl std::fmt::Display,
    ) -> io::Result<()> {
        if fits || self.in_key {
            write!(writer, "{digits}")
        } else {
            write!(writer, "\"{digits}\"")
        }
    }
}

impl Formatter for WideAsText {
    fn write_i128<W: io::Write + ?Sized>(&mut self, writer: &mut W, value: i128) -> io::Result<()> {
        let fits = i64::try_from(value).is_ok() || u64::try_from(value).is_ok();
        self.write(writer, fits, &value)
    }

    fn write_u128<W: io::Write + ?Sized>(&mut self, writer: &mut W, value: u128) -> io::Result<()> {
        self.write(writer, u64::try_from(value).is_ok(), &value)
    }

    fn begin_object_key<W: io::Write + ?Sized>(
        &mut self,
        writer: &mut W,
        first: bool,
    ) -> io::Result<()> {
        self.in_key = true;
        if first { Ok(()) } else { writer.write_all(b",") }
    }

    fn end_object_key<W: io::Write + ?Sized>(&mut self, _writer: &mut W) -> io::Result<()> {
        self.in_key = false;
        Ok(())
    }
}

/// The keywords that describe numbers.
const OF_NUMBERS: [&str; 6] =
    ["format", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"];

/// Allows the digits of a 128-bit integer as a string, in one schema of the output view.
pub(crate) fn allow_digits(schema: &mut Map<String, Value>) {
    let pattern = match schema.get("format").and_then(Value::as_str) {
        Some("uint128") => "^[0-9]+$",
        Some("int128") => "^-?[0-9]+$",
        _ => return,
    };
    let nullable = match schema.get("type") {
        Some(Value::String(name)) if name == "integer" => false,
        Some(Value::Array(names)) if names.iter().any(|name| name == "integer") => {
            names.iter().any(|name| name == "null")
        }
        _ => return,
    };
    schema.shift_remove("type");
    let mut number = Map::from_iter([("type".to_owned(), json!("integer"))]);
    for keyword in OF_NUMBERS {
        number.extend(schema.shift_remove_entry(keyword));
    }
    let digits = json!({"type": "string", "pattern": pattern});
    let null = nullable.then(|| json!({"type": "null"}));
    let forms: Vec<Value> = [Value::Object(number), digits].into_iter().chain(null).collect();
    schema.insert("anyOf".to_owned(), forms.into());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output;
    use schemars::JsonSchema;
    use std::collections::BTreeMap;

    #[derive(Serialize, JsonSchema)]
    #[schemars(crate = "crate::schemars")]
    struct Wide {
        /// Its size
        size: u128,
        balance: Option<i128>,
        by_id: BTreeMap<u128, u128>,
    }

    #[test]
    fn integers_beyond_64_bits_are_written_as_digit_strings() {
        let schema = output::<Wide>().unwrap().schema;
        let size = json!({
            "anyOf": [{"type": "integer", "minimum": 0}, {"type": "string", "pattern": "^[0-9]+$"}],
            "description": "Its size",
        });
        assert_eq!(schema["properties"]["size"], size);
        let compiled = crate::Schema::compile(&schema.to_string()).unwrap();
        for (value, digits) in [
            (
                Wide {
                    size: u128::MAX,
                    balance: Some(i128::MIN),
                    by_id: BTreeMap::from([(u128::MAX, u128::MAX)]),
                },
                json!({
                    "size": u128::MAX.to_string(),
                    "balance": i128::MIN.to_string(),
                    "by_id": {u128::MAX.to_string(): u128::MAX.to_string()},
                }),
            ),
            (
                Wide {
                    size: u64::MAX.into(),
                    balance: Some(i64::MIN.into()),
                    by_id: BTreeMap::new(),
                },
                json!({"size": u64::MAX, "balance": i64::MIN, "by_id": {}}),
            ),
            (
                Wide {
                    size: u128::from(u64::MAX) + 1,
                    balance: None,
                    by_id: BTreeMap::from([(1, 2)]),
                },
                json!({"size": "18446744073709551616", "balance": null, "by_id": {"1": 2}}),
            ),
        ] {
            let written = write(&value).unwrap();
            assert_eq!(written, digits);
            compiled.check(&written).unwrap();
        }
    }

    #[test]
    fn unwritable_value_error_keeps_its_reason() {
        let error = write(&BTreeMap::from([((1, 2), 3)])).unwrap_err();
        assert!(error.to_string().contains("key must be a string"), "{error}");
    }
}
