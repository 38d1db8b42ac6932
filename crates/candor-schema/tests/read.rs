//! What is read from a checked value, and what is said when that cannot be done.

#![allow(dead_code, missing_docs, reason = "the types are here for their shape")]

use std::collections::BTreeMap;

use candor_schema::read;
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Value, json};

#[derive(Debug, Deserialize, PartialEq)]
struct Order {
    name: String,
    count: i32,
    price: f64,
    #[serde(default)]
    lines: Vec<Line>,
}

#[derive(Debug, Deserialize, PartialEq)]
struct Line {
    amount: u8,
    action: Action,
}

#[derive(Debug, Deserialize, PartialEq)]
enum Action {
    Add(i16),
    Stop,
}

#[track_caller]
fn said<T: DeserializeOwned>(value: &Value) -> String {
    match read::<T>(value) {
        Ok(_) => panic!("{value} can be read"),
        Err(invalid) => invalid.to_string(),
    }
}

#[test]
fn integral_floats_are_integers() {
    let order: Order = read(&json!({
        "name": "a", "count": 3.0, "price": 2, "lines": [{"amount": 1e2, "action": {"Add": -1.0}}]
    }))
    .unwrap();
    let lines = vec![Line { amount: 100, action: Action::Add(-1) }];
    assert_eq!(order, Order { name: "a".into(), count: 3, price: 2.0, lines });
    assert_eq!(read::<i64>(&json!(-0.0)).unwrap(), 0);
    assert_eq!(read::<u64>(&json!(9_007_199_254_740_991.0)).unwrap(), 9_007_199_254_740_991);
    assert_eq!(read::<f64>(&json!(1e300)).unwrap(), 1e300);
    assert_eq!(read::<Value>(&json!(3.0)).unwrap(), json!(3.0), "nothing is changed without need");
}

#[test]
fn a_number_that_is_too_wide_is_named_with_its_place() {
    let line = |amount: Value| json!({"name": "a", "count": 1, "price": 1, "lines": [{"amount": amount, "action": "Stop"}]});
    assert_eq!(
        said::<Order>(&line(json!(300))),
        "/lines/0/amount: 300 is out of range for an unsigned 8-bit integer"
    );
    assert_eq!(
        said::<Order>(&line(json!(2.5))),
        "/lines/0/amount: expected an unsigned 8-bit integer, received 2.5"
    );
    assert_eq!(
        said::<Order>(&json!({"name": "a", "count": 3_000_000_000_u32, "price": 1})),
        "/count: 3000000000 is out of range for a 32-bit integer"
    );
    assert_eq!(said::<u32>(&json!(-1)), "-1 is out of range for an unsigned 32-bit integer");
    assert_eq!(said::<i64>(&json!(1e20)), "1e+20 is out of range for a 64-bit integer");
    assert_eq!(
        said::<BTreeMap<String, Action>>(&json!({"a/b": {"Add": 40_000}})),
        "/a~1b/Add: 40000 is out of range for a 16-bit integer"
    );
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Strict {
    name: String,
}

#[test]
fn other_problems_have_their_place_too() {
    assert_eq!(said::<Order>(&json!({"name": "a", "price": 1})), "/count: required, but missing");
    assert_eq!(
        said::<Vec<Strict>>(&json!([{"name": "a"}, {"nmae": "b"}])),
        "/1/nmae: unknown field `nmae`, expected `name`"
    );
    assert_eq!(
        said::<BTreeMap<String, uuid::Uuid>>(&json!({"id": "x"}))[..5],
        *"/id: ",
        "what a type itself refuses"
    );
}
