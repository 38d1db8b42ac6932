//! Numbers, strings, lists, maps, and what may be null.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::num::{NonZeroI32, NonZeroU8, NonZeroU64};
use std::sync::Arc;

use candor_schema::KeyedMap;
use candor_schema::schemars::{self, JsonSchema};
use rust_decimal::Decimal;
use serde_json::{Value, json};

use crate::{reads, writes};

#[test]
fn integers_have_bounds_instead_of_formats() {
    let bounded = |least: Value, greatest: Value| json!({"type": "integer", "minimum": least, "maximum": greatest});
    for (schema, least, greatest) in [
        (reads::<i8>(), json!(i8::MIN), json!(i8::MAX)),
        (reads::<i16>(), json!(i16::MIN), json!(i16::MAX)),
        (reads::<i32>(), json!(i32::MIN), json!(i32::MAX)),
        (reads::<isize>(), json!(i64::MIN), json!(i64::MAX)),
        // Limited to the integers that a server reads.
        (reads::<i128>(), json!(i64::MIN), json!(u64::MAX)),
        (reads::<u8>(), json!(0), json!(u8::MAX)),
        (reads::<u16>(), json!(0), json!(u16::MAX)),
        (reads::<u32>(), json!(0), json!(u32::MAX)),
        (reads::<u64>(), json!(0), json!(u64::MAX)),
        (reads::<usize>(), json!(0), json!(u64::MAX)),
        (reads::<u128>(), json!(0), json!(u64::MAX)),
        (reads::<NonZeroU8>(), json!(1), json!(u8::MAX)),
        (reads::<NonZeroU64>(), json!(1), json!(u64::MAX)),
    ] {
        assert_eq!(schema, bounded(least, greatest));
    }
    assert_eq!(
        reads::<NonZeroI32>(),
        json!({"type": "integer", "not": {"const": 0}, "minimum": i32::MIN, "maximum": i32::MAX})
    );
    assert_eq!(reads::<i64>(), json!({"type": "integer"}), "the integer of the document");
    assert_eq!(writes::<i32>(), bounded(json!(i32::MIN), json!(i32::MAX)));
    let wide = json!({"anyOf": [{"type": "integer", "minimum": 0}, {"type": "string", "pattern": "^[0-9]+$"}]});
    assert_eq!(writes::<u128>(), wide);
}

#[derive(JsonSchema)]
struct Narrowed {
    #[schemars(range(min = -5, max = 1000))]
    small: u8,
    #[schemars(range(max = 9))]
    signed: Option<i32>,
}

#[test]
fn range_never_widens_the_type() {
    let schema = reads::<Narrowed>();
    assert_eq!(
        schema["properties"]["small"],
        json!({"type": "integer", "minimum": 0, "maximum": 255})
    );
    assert_eq!(
        schema["properties"]["signed"]["anyOf"][0],
        json!({"type": "integer", "maximum": 9, "minimum": i32::MIN})
    );
}

#[test]
fn decimals_are_limited_to_96_bits() {
    assert_eq!(
        reads::<Decimal>(),
        json!({
            "type": ["string", "number"],
            "pattern": r"^-?[0-9]{1,28}(\.[0-9]+)?$",
            "minimum": -7.922_816_251_426_433e28,
            "maximum": 7.922_816_251_426_433e28
        })
    );
    assert_eq!(writes::<Decimal>(), json!({"type": "string", "pattern": r"^-?\d+(\.\d+)?$"}));
}

#[test]
fn scalars_have_their_json_types() {
    assert_eq!(reads::<f32>(), json!({"type": "number"}));
    assert_eq!(reads::<f64>(), json!({"type": "number"}));
    assert_eq!(reads::<bool>(), json!({"type": "boolean"}));
    assert_eq!(reads::<String>(), json!({"type": "string"}));
    assert_eq!(reads::<char>(), json!({"type": "string", "minLength": 1, "maxLength": 1}));
    assert_eq!(reads::<()>(), json!({"type": "null"}));
    assert_eq!(reads::<Value>(), json!(true));
    assert_eq!(reads::<std::path::PathBuf>(), json!({"type": "string"}));
    assert_eq!(reads::<std::net::Ipv4Addr>(), json!({"type": "string", "format": "ipv4"}));
    assert_eq!(
        reads::<std::net::IpAddr>(),
        json!({"anyOf": [{"type": "string", "format": "ipv4"}, {"type": "string", "format": "ipv6"}]})
    );
}

#[test]
fn dates_and_ids_keep_their_formats() {
    assert_eq!(reads::<uuid::Uuid>(), json!({"type": "string", "format": "uuid"}));
    assert_eq!(reads::<chrono::NaiveDate>(), json!({"type": "string", "format": "date"}));
    assert_eq!(
        reads::<chrono::DateTime<chrono::Utc>>(),
        json!({"type": "string", "format": "date-time"})
    );
}

#[test]
fn smart_pointers_have_the_schema_of_their_target() {
    for schema in [reads::<Box<i64>>(), reads::<Arc<i64>>(), reads::<Cow<'static, i64>>()] {
        assert_eq!(schema, json!({"type": "integer"}));
    }
    assert_eq!(reads::<Cow<'static, str>>(), json!({"type": "string"}));
}

#[test]
fn nested_options_accept_null_once() {
    let optional = json!({"anyOf": [{"type": "integer"}, {"type": "null"}]});
    assert_eq!(reads::<Option<i64>>(), optional);
    assert_eq!(reads::<Option<Option<i64>>>(), optional);
    assert_eq!(writes::<Option<i64>>(), optional);
    assert_eq!(
        reads::<Option<Vec<Option<u8>>>>(),
        json!({"anyOf": [
            {"type": "array", "items": {"anyOf": [{"type": "integer", "minimum": 0, "maximum": 255}, {"type": "null"}]}},
            {"type": "null"}
        ]})
    );
    assert_eq!(reads::<Option<()>>(), json!({"type": "null"}));
    assert_eq!(reads::<Option<Value>>(), json!(true));
}

#[test]
fn lists_sets_arrays_and_tuples_have_array_schemas() {
    let strings = json!({"type": "array", "items": {"type": "string"}});
    assert_eq!(reads::<Vec<String>>(), strings);
    assert_eq!(reads::<Box<[String]>>(), strings);
    let set = json!({"type": "array", "uniqueItems": true, "items": {"type": "string"}});
    assert_eq!(reads::<HashSet<String>>(), set);
    assert_eq!(reads::<BTreeSet<String>>(), set);
    assert_eq!(
        reads::<[bool; 2]>(),
        json!({"type": "array", "items": {"type": "boolean"}, "minItems": 2, "maxItems": 2})
    );
    assert_eq!(
        reads::<(String, i64)>(),
        json!({
            "type": "array",
            "prefixItems": [{"type": "string"}, {"type": "integer"}],
            "minItems": 2,
            "maxItems": 2
        })
    );
}

#[derive(JsonSchema, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Unit {
    Metre,
    Inch,
}

#[test]
fn maps_stay_open_unless_their_keys_are_known() {
    let numbers = json!({"type": "object", "additionalProperties": {"type": "number"}});
    assert_eq!(reads::<HashMap<String, f64>>(), numbers);
    assert_eq!(reads::<BTreeMap<String, f64>>(), numbers);
    assert_eq!(
        reads::<serde_json::Map<String, Value>>(),
        json!({"type": "object", "additionalProperties": true})
    );
    assert_eq!(
        reads::<BTreeMap<Unit, f64>>(),
        json!({
            "type": "object",
            "properties": {"Inch": {"type": "number"}, "Metre": {"type": "number"}},
            "additionalProperties": false
        })
    );
    assert_eq!(
        reads::<BTreeMap<u32, bool>>(),
        json!({
            "type": "object",
            "patternProperties": {"^(0|[1-9][0-9]*)$": {"type": "boolean"}},
            "additionalProperties": false
        })
    );
    assert_eq!(
        reads::<BTreeMap<i32, bool>>(),
        json!({
            "type": "object",
            "patternProperties": {"^(0|-?[1-9][0-9]*)$": {"type": "boolean"}},
            "additionalProperties": false
        })
    );
}

/// With docs, so that each variant is an alternative of its own.
#[derive(JsonSchema)]
enum Documented {
    /// As the crow flies.
    Straight,
    /// By road.
    Winding,
}

#[test]
fn keyed_map_names_the_keys_that_its_type_reads() {
    let numbers = || json!({"type": "number"});
    assert_eq!(
        reads::<KeyedMap<Documented, f64>>(),
        json!({
            "type": "object",
            "properties": {"Straight": numbers(), "Winding": numbers()},
            "additionalProperties": false
        })
    );
    assert_eq!(
        reads::<KeyedMap<bool, f64>>(),
        json!({
            "type": "object",
            "properties": {"true": numbers(), "false": numbers()},
            "additionalProperties": false
        })
    );
    assert_eq!(
        reads::<KeyedMap<NonZeroU8, f64>>()["patternProperties"],
        json!({"^([1-9][0-9]{0,1}|1[0-9]{2}|2[0-4][0-9]|25[0-5])$": numbers()})
    );
    assert_eq!(
        reads::<KeyedMap<Decimal, f64>>(),
        json!({
            "type": "object",
            "patternProperties": {r"^-?[0-9]{1,28}(\.[0-9]+)?$": numbers()},
            "additionalProperties": false
        })
    );
    assert_eq!(
        reads::<KeyedMap<uuid::Uuid, f64>>(),
        json!({"type": "object", "additionalProperties": numbers(), "propertyNames": {"format": "uuid"}})
    );
    assert_eq!(reads::<KeyedMap<String, f64>>(), reads::<HashMap<String, f64>>());
    assert_eq!(
        reads::<KeyedMap<Unit, f64>>()["properties"].as_object().unwrap().len(),
        reads::<HashMap<Unit, f64>>()["properties"].as_object().unwrap().len()
    );
}

#[derive(JsonSchema)]
struct Flat {
    id: u8,
    #[serde(flatten)]
    #[schemars(with = "KeyedMap<i8, f64, true>")]
    by_number: (),
}

#[derive(JsonSchema)]
struct FlatByText {
    id: u8,
    #[serde(flatten)]
    #[schemars(with = "KeyedMap<uuid::Uuid, f64, true>")]
    by_text: (),
}

#[test]
fn flattened_keyed_map_keeps_the_members_of_its_owner() {
    let schema = reads::<Flat>();
    assert_eq!(schema["patternProperties"].as_object().unwrap().len(), 1);
    assert_eq!(schema["properties"].as_object().unwrap().len(), 1);
    assert_eq!(
        (&schema["required"], &schema["additionalProperties"]),
        (&json!(["id"]), &json!(false))
    );
    assert!(candor_schema::is_struct::<Flat>(), "a struct may be all the arguments");
    let schema = reads::<FlatByText>();
    assert_eq!(schema["additionalProperties"], json!({"type": "number"}));
    assert_eq!(schema.get("propertyNames"), None, "`id` is no UUID: {schema}");
}

fn tenth() -> f32 {
    0.1
}

#[derive(JsonSchema)]
struct Share {
    #[serde(default = "tenth")]
    #[schemars(range(max = 0.1))]
    narrow: f32,
    #[serde(default = "f64_of_tenth")]
    wide: f64,
}

fn f64_of_tenth() -> f64 {
    f64::from(tenth())
}

#[test]
fn defaults_of_32_bit_floats_have_their_shortest_form() {
    let schema = reads::<Share>();
    let of = |name: &str| schema["properties"][name]["default"].to_string();
    assert_eq!((of("narrow"), of("wide")), ("0.1".to_owned(), "0.10000000149011612".to_owned()));
}
