//! Bounds of Rust's number types, as JSON Schema keywords.
//!
//! schemars writes a width as `format`, which no validator enforces. Every host understands bounds. `i64` is the plain
//! integer of JSON: it stays `{"type": "integer"}`. [`crate::read`] refuses a wider value and names its place.

use serde_json::{Map, Number, Value, json};

use crate::derive::View;
use crate::walk::is_type;

/// The pattern that schemars writes for a decimal argument.
pub(crate) const DECIMAL: &str = r"^-?\d+(\.\d+)?([eE]\d+)?$";

/// The pattern that replaces it. A decimal has 96 bits: all numbers with 28 digits before the point fit, but only some with
/// 29.
pub(crate) const NARROW_DECIMAL: &str = r"^-?[0-9]{1,28}(\.[0-9]+)?$";

/// The largest double that fits into 96 bits.
const LARGEST_DECIMAL: f64 = 7.922_816_251_426_433e28;

/// Returns the least and the greatest value of an integer type, by its format. Returns `None` for any other format.
pub(crate) fn of_format(format: &str) -> Option<(i128, u128)> {
    macro_rules! widths {
        ($($name:literal: $type:ty;)*) => {
            match format {
                $($name => Some((<$type>::MIN as i128, <$type>::MAX as u128)),)*
                _ => None,
            }
        };
    }
    widths! {
        "int8": i8; "int16": i16; "int32": i32; "int64": i64; "int128": i128; "int": i64;
        "uint8": u8; "uint16": u16; "uint32": u32; "uint64": u64; "uint128": u128; "uint": u64;
    }
}

/// The keywords that limit a number.
const LIMITS: [&str; 5] =
    ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"];

/// Rewrites the limits and the default of an `f32` in the shortest form: an author's 0.1 is 0.1, not 0.10000000149011612.
pub(crate) fn shorten(schema: &mut Map<String, Value>) {
    for keyword in LIMITS.into_iter().chain(["default"]) {
        if let Some(mut value) = schema.get(keyword).cloned() {
            shorten_value(schema, &mut value);
            schema.insert(keyword.to_owned(), value);
        }
    }
}

/// Shortens the numbers in a value that are 32-bit floats in its schema.
fn shorten_value(schema: &Map<String, Value>, value: &mut Value) {
    let each = |schema: Option<&Value>, value: &mut Value| {
        if let Some(Value::Object(schema)) = schema {
            shorten_value(schema, value);
        }
    };
    for union in ["anyOf", "oneOf", "allOf"] {
        let branches = schema.get(union).and_then(Value::as_array);
        branches.into_iter().flatten().for_each(|branch| each(Some(branch), value));
    }
    match value {
        Value::Number(number) if schema.get("format").is_some_and(|format| format == "float") => {
            if let Some(shortest) = number.as_f64().filter(|_| number.is_f64()).and_then(shortest) {
                *number = shortest;
            }
        }
        Value::Array(items) => {
            let places = schema.get("prefixItems").and_then(Value::as_array);
            for (index, item) in items.iter_mut().enumerate() {
                let place = places.and_then(|places| places.get(index));
                each(place.or(schema.get("items")), item);
            }
        }
        Value::Object(members) => {
            let known = schema.get("properties");
            for (name, member) in members {
                let member_schema = known.and_then(|known| known.get(name));
                each(member_schema.or(schema.get("additionalProperties")), member);
            }
        }
        _ => {}
    }
}

/// Returns the shortest number with the same 32-bit value. Returns `None` if the number is not exact in 32 bits.
fn shortest(number: f64) -> Option<Number> {
    #[expect(clippy::cast_possible_truncation, reason = "compared below")]
    let narrow = number as f32;
    let is_narrow = f64::from(narrow) == number;
    is_narrow.then(|| narrow.to_string().parse().ok().and_then(Number::from_f64)).flatten()
}

/// Whether `i64` gets its bounds, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Bounds {
    /// No: it is published as the plain integer of JSON.
    Published,
    /// Yes: the schema then has exactly the integers that the type reads.
    All,
}

/// Replaces the format of a width with its bounds. Narrower limits of the author stay.
pub(crate) fn bound(schema: &mut Map<String, Value>, view: View, bounds: Bounds) {
    decimal(schema);
    let Some(Value::String(format)) = schema.get("format") else { return };
    if is_type(schema, "string") {
        if format == "ip" {
            schema.shift_remove("format");
            schema.shift_remove("type");
            let versions = ["ipv4", "ipv6"].map(|v| json!({"type": "string", "format": v}));
            schema.insert("anyOf".to_owned(), versions.as_slice().into());
        }
        return;
    }
    match format.as_str() {
        "float" | "double" => {}
        "int64" if bounds == Bounds::Published => {}
        // A result may be wider than the numbers that this server reads.
        "int128" | "uint128" if view == View::Output => {}
        format => {
            let Some((least, greatest)) = of_format(format) else { return };
            let least = i64::try_from(least).unwrap_or(i64::MIN);
            let greatest = u64::try_from(greatest).unwrap_or(u64::MAX);
            narrow(schema, "minimum", "exclusiveMinimum", least.into(), |mine, bound| mine > bound);
            narrow(schema, "maximum", "exclusiveMaximum", greatest.into(), |mine, bound| {
                mine < bound
            });
        }
    }
    schema.shift_remove("format");
}

/// Sets a bound, unless the schema has a narrower one.
fn narrow(
    schema: &mut Map<String, Value>,
    keyword: &str,
    exclusive: &str,
    bound: Number,
    is_narrower: fn(f64, f64) -> bool,
) {
    let limit = bound.as_f64().unwrap_or_default();
    let holds = |keyword| {
        schema.get(keyword).and_then(Value::as_f64).is_some_and(|mine| is_narrower(mine, limit))
    };
    if !holds(keyword) && !holds(exclusive) {
        schema.insert(keyword.to_owned(), bound.into());
    }
}

fn decimal(schema: &mut Map<String, Value>) {
    if schema.get("pattern").is_none_or(|pattern| pattern != DECIMAL) {
        return;
    }
    schema.insert("pattern".to_owned(), NARROW_DECIMAL.into());
    for (keyword, bound) in [("minimum", -LARGEST_DECIMAL), ("maximum", LARGEST_DECIMAL)] {
        schema.entry(keyword).or_insert_with(|| bound.into());
    }
}
