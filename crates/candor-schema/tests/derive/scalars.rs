//! Numbers, strings, lists, maps, and what may be null.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::num::{NonZeroI32, NonZeroU8};
use std::sync::Arc;

use candor_schema::schemars::{self, JsonSchema};
use serde_json::{Value, json};

use crate::{reads, writes};

#[test]
fn integers_have_bounds_instead_of_formats() {
    assert_eq!(reads::<i8>(), json!({"type": "integer", "minimum": -128, "maximum": 127}));
    assert_eq!(reads::<i16>(), json!({"type": "integer", "minimum": -32768, "maximum": 32767}));
    assert_eq!(reads::<u8>(), json!({"type": "integer", "minimum": 0, "maximum": 255}));
    assert_eq!(reads::<u16>(), json!({"type": "integer", "minimum": 0, "maximum": 65535}));
    for signed in [reads::<i32>(), reads::<i64>(), reads::<i128>(), reads::<isize>()] {
        assert_eq!(signed, json!({"type": "integer"}));
    }
    for unsigned in [reads::<u32>(), reads::<u64>(), reads::<u128>(), reads::<usize>()] {
        assert_eq!(unsigned, json!({"type": "integer", "minimum": 0}));
    }
    assert_eq!(reads::<NonZeroU8>(), json!({"type": "integer", "minimum": 1, "maximum": 255}));
    assert_eq!(reads::<NonZeroI32>(), json!({"type": "integer", "not": {"const": 0}}));
}

#[test]
fn other_scalars() {
    assert_eq!(reads::<f32>(), json!({"type": "number"}));
    assert_eq!(reads::<f64>(), json!({"type": "number"}));
    assert_eq!(reads::<bool>(), json!({"type": "boolean"}));
    assert_eq!(reads::<String>(), json!({"type": "string"}));
    assert_eq!(reads::<char>(), json!({"type": "string", "minLength": 1, "maxLength": 1}));
    assert_eq!(reads::<()>(), json!({"type": "null"}));
    assert_eq!(reads::<Value>(), json!(true));
    assert_eq!(reads::<std::path::PathBuf>(), json!({"type": "string"}));
    assert_eq!(reads::<std::net::Ipv4Addr>(), json!({"type": "string", "format": "ipv4"}));
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
fn pointers_are_what_they_point_to() {
    for schema in [reads::<Box<i64>>(), reads::<Arc<i64>>(), reads::<Cow<'static, i64>>()] {
        assert_eq!(schema, json!({"type": "integer"}));
    }
    assert_eq!(reads::<Cow<'static, str>>(), json!({"type": "string"}));
}

#[test]
fn what_may_be_null_says_so_once() {
    let optional = json!({"anyOf": [{"type": "integer"}, {"type": "null"}]});
    assert_eq!(reads::<Option<i64>>(), optional);
    assert_eq!(reads::<Option<Option<i64>>>(), optional);
    assert_eq!(writes::<Option<i64>>(), optional);
    assert_eq!(
        reads::<Option<Vec<Option<u32>>>>(),
        json!({"anyOf": [
            {"type": "array", "items": {"anyOf": [{"type": "integer", "minimum": 0}, {"type": "null"}]}},
            {"type": "null"}
        ]})
    );
    assert_eq!(reads::<Option<()>>(), json!({"type": "null"}));
    assert_eq!(reads::<Option<Value>>(), json!(true));
}

#[test]
fn lists() {
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
        reads::<(String, i32)>(),
        json!({
            "type": "array",
            "prefixItems": [{"type": "string"}, {"type": "integer"}],
            "minItems": 2,
            "maxItems": 2
        })
    );
}

#[derive(JsonSchema, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Unit {
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
