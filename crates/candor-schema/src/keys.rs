//! Schemas of maps, by the type of their keys.
//!
//! schemars drops the width of integer keys and the names of documented variants. The macros therefore describe the maps of
//! a signature with [`KeyedMap`].

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::marker::PhantomData;
use std::sync::LazyLock;

use schemars::generate::SchemaGenerator;
use schemars::{JsonSchema, Schema, json_schema};
use serde_json::{Map, Value, json};

use crate::walk::unescape;
use crate::widths;

/// Marks the schema of a map until it is published: a map never holds all the arguments of a tool.
pub(crate) const MARK: &str = "x-candor-map";

/// The patterns that schemars writes for integer keys, each with the pattern of what serde reads: JSON numbers have no
/// leading zeros.
pub(crate) const OF_ANY_WIDTH: [(&str, &str); 2] =
    [(r"^\d+$", "^(0|[1-9][0-9]*)$"), (r"^-?\d+$", "^(0|-?[1-9][0-9]*)$")];

/// The exact schema of a map from `K` to `V`: it refuses each key that the type refuses.
///
/// ```
/// use candor_schema::{KeyedMap, View, derive};
///
/// assert_eq!(
///     derive::<KeyedMap<u8, bool>>(View::Input),
///     serde_json::json!({
///         "type": "object",
///         "patternProperties": {
///             "^(0|[1-9][0-9]{0,1}|1[0-9]{2}|2[0-4][0-9]|25[0-5])$": {"type": "boolean"}
///         },
///         "additionalProperties": false
///     }),
/// );
/// ```
///
/// `FLAT` describes a flattened map: its keys are among the members of its owner.
pub struct KeyedMap<K, V, const FLAT: bool = false>(PhantomData<fn() -> (K, V)>);

impl<K: JsonSchema, V: JsonSchema, const FLAT: bool> JsonSchema for KeyedMap<K, V, FLAT> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        BTreeMap::<K, V>::schema_name()
    }

    fn schema_id() -> Cow<'static, str> {
        format!("Keyed{}", BTreeMap::<K, V>::schema_id()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let key = generator.subschema_for::<K>().to_value();
        let value = generator.subschema_for::<V>().to_value();
        let mut keys = Keys::default();
        keys.add(&key, generator.definitions(), 0);
        let mut schema = json_schema!({"type": "object"});
        if !FLAT {
            schema.insert(MARK.to_owned(), true.into());
        }
        let object = |names: Vec<String>| -> Value {
            names.into_iter().map(|name| (name, value.clone())).collect::<Map<_, _>>().into()
        };
        if let Some(names) = keys.open {
            schema.insert("additionalProperties".to_owned(), value);
            // In a flattened map, `propertyNames` would refuse the members of the owner.
            if names != json!({}) && !FLAT {
                schema.insert("propertyNames".to_owned(), names);
            }
            return schema;
        }
        if !keys.patterns.is_empty() {
            schema.insert("patternProperties".to_owned(), object(keys.patterns));
        }
        if !keys.names.is_empty() {
            schema.insert("properties".to_owned(), object(keys.names));
        }
        schema.insert("additionalProperties".to_owned(), false.into());
        schema
    }
}

/// The strings that are a key.
#[derive(Default)]
struct Keys {
    names: Vec<String>,
    patterns: Vec<String>,
    /// The schema of other keys, if names and patterns do not describe all of them.
    open: Option<Value>,
}

impl Keys {
    fn add(&mut self, schema: &Value, definitions: &Map<String, Value>, depth: usize) {
        let schema = match schema.get("$ref").and_then(Value::as_str) {
            Some(reference) => definition(definitions, reference).unwrap_or(schema),
            None => schema,
        };
        let branches =
            schema.get("anyOf").or_else(|| schema.get("oneOf")).and_then(Value::as_array);
        if let (Some(branches), true) = (branches, depth < 8) {
            branches.iter().for_each(|branch| self.add(branch, definitions, depth + 1));
            return;
        }
        let options = match (schema.get("const"), schema.get("enum")) {
            (Some(only), _) => std::slice::from_ref(only),
            (None, Some(Value::Array(options))) => options,
            _ => &[],
        };
        let names = options.iter().filter_map(Value::as_str).map(str::to_owned);
        match schema.get("type").and_then(Value::as_str) {
            _ if schema.get("pattern").is_some_and(|pattern| pattern == widths::DECIMAL) => {
                self.patterns.push(widths::NARROW_DECIMAL.to_owned());
            }
            _ if !options.is_empty() => self.names.extend(names),
            Some("boolean") => self.names.extend(["true", "false"].map(str::to_owned)),
            Some("integer") => self.patterns.push(integers(schema)),
            Some("string") => self.text(schema),
            _ => self.open = Some(json!({})),
        }
    }

    fn text(&mut self, schema: &Value) {
        let mut names = schema.clone();
        if let Value::Object(keywords) = &mut names {
            ["type", "title", "description"]
                .iter()
                .for_each(|word| drop(keywords.shift_remove(*word)));
        }
        // With two kinds of strings, only the type is certain.
        self.open = Some(if self.open.is_none() { names } else { json!({}) });
    }
}

fn definition<'d>(definitions: &'d Map<String, Value>, reference: &str) -> Option<&'d Value> {
    let name = reference.strip_prefix("#/$defs/")?;
    definitions.get(&unescape(name).replace("~1", "/").replace("~0", "~"))
}

/// Returns the pattern of the keys that an integer type reads.
fn integers(schema: &Value) -> String {
    let format = schema.get("format").and_then(Value::as_str).unwrap_or("int64");
    let (least, greatest) =
        widths::of_format(format).unwrap_or((i64::MIN.into(), i64::MAX as u128));
    let without_zero = schema.get("not") == Some(&json!({"const": 0}))
        || schema.get("minimum").and_then(Value::as_i64).is_some_and(|minimum| minimum > 0);
    pattern(least, greatest, !without_zero)
}

/// Returns a pattern of the integers from `least`, which is at most 0, to `greatest`, as JSON writes them.
fn pattern(least: i128, greatest: u128, with_zero: bool) -> String {
    let mut options = Vec::new();
    if with_zero {
        options.push("0".to_owned());
    }
    options.extend(up_to(greatest));
    if least < 0 {
        options.push(format!("-({})", up_to(least.unsigned_abs()).join("|")));
    }
    format!("^({})$", options.join("|"))
}

/// Returns patterns that together match the integers from 1 to `greatest`.
fn up_to(greatest: u128) -> Vec<String> {
    let digits = greatest.to_string();
    let any = |count: usize| match count {
        0 => String::new(),
        1 => "[0-9]".to_owned(),
        _ => format!("[0-9]{{{count}}}"),
    };
    let mut options = Vec::new();
    if digits.len() > 1 {
        options.push(format!("[1-9][0-9]{{0,{}}}", digits.len() - 2));
    }
    for (at, digit) in digits.bytes().enumerate() {
        let (least, rest) = (if at == 0 { b'1' } else { b'0' }, digits.len() - at - 1);
        let last = rest == 0;
        let greatest = if last { digit } else { digit.saturating_sub(1) };
        let class = match (u8::cmp(&least, &greatest), last || digit > b'0') {
            (_, false) | (std::cmp::Ordering::Greater, _) => continue,
            (std::cmp::Ordering::Equal, _) => char::from(least).to_string(),
            (std::cmp::Ordering::Less, _) => {
                format!("[{}-{}]", char::from(least), char::from(greatest))
            }
        };
        options.push(format!("{}{class}{}", &digits[..at], any(rest)));
    }
    options
}

/// Describes a pattern of numeric keys in words. Returns `None` for any other pattern.
pub(crate) fn described(asked: &str) -> Option<String> {
    static WORDS: LazyLock<Vec<(String, String)>> = LazyLock::new(|| {
        let [(_, unsigned), (_, signed)] = OF_ANY_WIDTH;
        let mut words = vec![
            (unsigned.to_owned(), "an integer that is not negative".to_owned()),
            (signed.to_owned(), "an integer".to_owned()),
            (widths::NARROW_DECIMAL.to_owned(), "a decimal number".to_owned()),
        ];
        for sign in ["int", "uint"] {
            for width in ["8", "16", "32", "64", "128"] {
                let Some((least, greatest)) = widths::of_format(&format!("{sign}{width}")) else {
                    continue;
                };
                let least_but_zero = if least == 0 { 1 } else { least };
                words.push((
                    pattern(least, greatest, true),
                    format!("an integer from {least} to {greatest}"),
                ));
                let but_zero = if least < 0 { ", but not 0" } else { "" };
                words.push((
                    pattern(least, greatest, false),
                    format!("an integer from {least_but_zero} to {greatest}{but_zero}"),
                ));
            }
        }
        words
    });
    WORDS.iter().find(|(pattern, _)| pattern == asked).map(|(_, words)| words.clone())
}

#[cfg(test)]
mod tests {
    use regex_automata::meta::Regex;

    use super::*;

    #[test]
    fn key_pattern_matches_exactly_the_integers_of_its_width() {
        for (least, greatest) in
            [(0, 255), (-128, 127), (0, 9), (0, 10), (-1, 100), (0, 109), (0, 2099)]
        {
            let regex = Regex::new(&pattern(least, greatest, true)).unwrap();
            for number in -3000_i128..3000 {
                let fits = number >= least && number <= i128::try_from(greatest).unwrap();
                assert_eq!(
                    regex.is_match(&*number.to_string()),
                    fits,
                    "{number} in {least}..={greatest}"
                );
            }
            for text in ["", "00", "01", "-0", "-01", "+1", "1.0", " 1", "1e0"] {
                assert!(!regex.is_match(text), "{text}");
            }
        }
        for (greatest, next) in [
            (u128::from(u32::MAX), "4294967296"),
            (u128::from(u64::MAX), "18446744073709551616"),
            (u128::MAX, "340282366920938463463374607431768211456"),
        ] {
            let regex = Regex::new(&pattern(0, greatest, true)).unwrap();
            assert!(regex.is_match(&*greatest.to_string()) && !regex.is_match(next), "{greatest}");
        }
        let regex = Regex::new(&pattern(i64::MIN.into(), i64::MAX as u128, false)).unwrap();
        assert!(regex.is_match("-9223372036854775808") && !regex.is_match("-9223372036854775809"));
        assert!(regex.is_match("9223372036854775807") && !regex.is_match("9223372036854775808"));
        assert!(!regex.is_match("0"));
    }
}
