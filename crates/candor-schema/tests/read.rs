//! What is read from a checked value, and what is said when that cannot be done.

#![allow(dead_code, missing_docs, reason = "the types are here for their shape")]

use std::collections::BTreeMap;

use candor_schema::{MapKey, Natural, WideInteger, read, read_as};
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
fn integral_floats_are_read_as_integers() {
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
fn out_of_range_number_is_reported_at_its_pointer() {
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
    assert_eq!(said::<i8>(&json!(128)), "128 is out of range for an 8-bit integer");
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
fn every_read_error_has_its_pointer() {
    assert_eq!(said::<Order>(&json!({"name": "a", "price": 1})), "/count: required, but missing");
    assert_eq!(
        said::<Vec<Strict>>(&json!([{"name": "a"}, {"nmae": "b"}])),
        "/1/nmae: unknown member; known are `name`"
    );
    assert_eq!(
        said::<BTreeMap<String, uuid::Uuid>>(&json!({"id": "x"}))[..5],
        *"/id: ",
        "what a type itself refuses"
    );
}

/// Refused as a whole: neither end is wrong by itself.
#[derive(Debug, Clone, Deserialize)]
#[serde(try_from = "Ends")]
struct Span {
    start: i64,
    end: i64,
}

#[derive(Debug, Clone, Deserialize)]
struct Ends {
    start: i64,
    end: i64,
}

impl TryFrom<Ends> for Span {
    type Error = &'static str;

    fn try_from(Ends { start, end }: Ends) -> Result<Self, &'static str> {
        if start <= end { Ok(Self { start, end }) } else { Err("ends before it starts") }
    }
}

#[derive(Debug, Deserialize)]
#[serde(tag = "kind")]
enum Tagged {
    Short {
        date: chrono::NaiveDate,
    },
    Long {
        spans: Vec<Span>,
        first: chrono::NaiveDate,
        last: chrono::NaiveDate,
        by_year: BTreeMap<u16, Inner>,
    },
}

#[derive(Debug, Deserialize)]
struct Inner {
    #[serde(flatten)]
    span: Span,
    #[serde(flatten)]
    flat: Untagged,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Untagged {
    Dated { date: chrono::NaiveDate },
    Counted { count: u8 },
}

#[test]
fn pointer_is_exact_inside_buffered_types() {
    let long = |edit: &dyn Fn(&mut Value)| {
        let mut value = json!({
            "kind": "Long",
            "spans": [{"start": 1, "end": 2}, {"start": 3, "end": 4}],
            "first": "2024-01-01",
            "last": "2024-12-31",
            "by_year": {"2024": {"start": 1, "end": 2, "date": "2024-01-01"}, "7": {"start": 1, "end": 2, "count": 7}}
        });
        edit(&mut value);
        vec![value]
    };
    read::<Vec<Tagged>>(&json!(long(&|_| {}))).unwrap();
    for (pointer, wrong) in [
        ("/first", json!("2024-02-30")),
        ("/last", json!("2024-02-30")),
        ("/by_year/2024/date", json!("2024-02-30")),
        ("/by_year/7/count", json!(256)),
    ] {
        let value = json!(long(&|value| *value.pointer_mut(pointer).unwrap() = wrong.clone()));
        let told = said::<Vec<Tagged>>(&value);
        assert!(told.starts_with(&format!("/0{pointer}: ")), "{pointer}: {told}");
    }
    for pointer in ["/spans/1", "/by_year/2024"] {
        let value = json!(long(&|value| value.pointer_mut(pointer).unwrap()["start"] = json!(9)));
        assert_eq!(said::<Vec<Tagged>>(&value), format!("/0{pointer}: ends before it starts"));
    }
    let both = json!(long(&|value| {
        value["first"] = json!("2024-02-30");
        value["last"] = json!("2024-02-30");
    }));
    assert!(said::<Vec<Tagged>>(&both).starts_with("/0/first: "));
    assert!(
        said::<Tagged>(&json!({"kind": "Short", "date": "x"})).starts_with("/date: "),
        "the only member beside the tag"
    );
}

type ByNumber = BTreeMap<u8, u8>;

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum KeyedUntagged {
    A { n: u16, m: ByNumber },
    B(Vec<u8>),
}

#[derive(Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum KeyedTagged {
    A { n: u16, m: ByNumber },
    B { n: u16 },
}

#[derive(Debug, Deserialize)]
struct KeyedInside {
    n: u16,
    m: ByNumber,
    #[serde(default)]
    days: BTreeMap<chrono::NaiveDate, BTreeMap<u8, u8>>,
    #[serde(default)]
    last: Option<u8>,
}

#[derive(Debug, Deserialize)]
struct KeyedFlat {
    a: u8,
    #[serde(flatten)]
    i: KeyedInside,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
struct Keyed {
    #[serde(default)]
    un: Vec<KeyedUntagged>,
    #[serde(default)]
    tag: Vec<KeyedTagged>,
    #[serde(default)]
    flat: Vec<KeyedFlat>,
}

#[test]
fn wrong_key_inside_a_buffered_type_has_its_own_pointer() {
    let in_range = "300 is out of range for an unsigned 8-bit integer";
    for (value, expected) in [
        (json!({"un": [{"n": 1, "m": {"300": 1}}]}), format!("/un/0/m/300: {in_range}")),
        (json!({"un": [{"n": 1, "m": {"2": 1, "300": 1}}]}), format!("/un/0/m/300: {in_range}")),
        (
            json!({"un": [{"n": 1, "m": {"2": 1, "300": 1, "4": 1}}]}),
            format!("/un/0/m/300: {in_range}"),
        ),
        (json!({"un": [{"m": {"300": 300}, "n": 300}]}), format!("/un/0/m/300: {in_range}")),
        (json!({"un": [{"n": 300, "m": {"300": 1}}]}), format!("/un/0/m/300: {in_range}")),
        (json!({"un": [{"n": 300, "m": {"2": 300}}]}), format!("/un/0/m/2: {in_range}")),
        (
            json!({"un": [{"n": 1, "m": {"2": 1}}, {"n": 1, "m": {"3": 1, "300": 1}}]}),
            format!("/un/1/m/300: {in_range}"),
        ),
        (
            json!({"tag": [{"kind": "a", "n": 1, "m": {"300": 1}}]}),
            format!("/tag/0/m/300: {in_range}"),
        ),
        (
            json!({"tag": [{"kind": "b", "n": 1}, {"m": {"2": 1, "300": 1}, "n": 1, "kind": "a"}]}),
            format!("/tag/1/m/300: {in_range}"),
        ),
        (
            json!({"tag": [{"kind": "a", "n": 1, "m": {"2": 1, "x": 1}}]}),
            "/tag/0/m/x: expected an unsigned 8-bit integer, received the string \"x\"".to_owned(),
        ),
        (
            json!({"flat": [{"a": 1, "n": 1, "m": {"300": 1}}]}),
            format!("/flat/0/m/300: {in_range}"),
        ),
        (
            json!({"flat": [{"a": 1, "n": 1, "m": {"2": 1}}, {"m": {"3": 1, "300": 1}, "a": 1, "n": 1}]}),
            format!("/flat/1/m/300: {in_range}"),
        ),
        (
            json!({"flat": [{"a": 1, "n": 1, "m": {}, "days": {"2026-01-01": {"1": 1, "300": 1}}}]}),
            format!("/flat/0/days/2026-01-01/300: {in_range}"),
        ),
        (
            json!({"flat": [{"a": 1, "n": 1, "m": {}, "last": 300}]}),
            format!("/flat/0/last: {in_range}"),
        ),
    ] {
        assert_eq!(said::<Keyed>(&value), expected, "{value}");
    }
    // Two wrong keys with the same message.
    let days = json!({"flat": [{"a": 1, "n": 1, "m": {}, "days": {"2026-01-01": {}, "x": {}, "y": {"1": 1}}, "last": 1}]});
    assert!(said::<Keyed>(&days).starts_with("/flat/0/days/x: "), "{}", said::<Keyed>(&days));
}

#[test]
fn pointer_of_a_refusal_never_names_a_valid_value() {
    /// Says the same about every wrong key and value.
    #[derive(Debug, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
    #[serde(try_from = "String")]
    struct Even(String);
    impl TryFrom<String> for Even {
        type Error = &'static str;
        fn try_from(text: String) -> Result<Self, &'static str> {
            if text.len().is_multiple_of(2) { Ok(Self(text)) } else { Err("not even") }
        }
    }
    #[derive(Debug, Deserialize)]
    #[serde(untagged)]
    enum Choice {
        Long { kind: Even, m: BTreeMap<Even, Even>, list: Vec<Even> },
        Short { only: u8 },
    }
    #[derive(Debug, Deserialize)]
    #[serde(tag = "t")]
    enum Tagged {
        Long { kind: Even, m: BTreeMap<Even, Even>, list: Vec<Even> },
    }
    fn check<T: DeserializeOwned>(value: &Value, wrong: &[&str]) {
        let invalid = read::<T>(value).map(drop).expect_err("it is wrong");
        let [violation] = &invalid.violations[..] else { panic!("{invalid}") };
        let at = &violation.pointer;
        let is_right = |wrong: &&str| *wrong == at || wrong.starts_with(&format!("{at}/"));
        assert!(wrong.iter().any(is_right), "{at} in {value}: {invalid}");
    }
    // Numbers: a key or value of `m` is a `u8`, `n` is a `u16`.
    let numbers = [("1", json!(1)), ("300", json!(300)), ("70000", json!(70_000)), ("x", json!(1))];
    let fits_u8 = |name: &str| name.parse::<u8>().is_ok();
    for case in 0..4_usize.pow(5) {
        let pick = |at: u32| &numbers[case / 4_usize.pow(at) % 4];
        let (n, [(first, one), (second, two)]) =
            (&pick(0).1, [(pick(1).0, &pick(2).1), (pick(3).0, &pick(4).1)]);
        let mut wrong = Vec::new();
        if n == 70_000 {
            wrong.push("/n".to_owned());
        }
        let members: BTreeMap<_, _> = [(first, one), (second, two)].into();
        for (name, value) in &members {
            if !fits_u8(name) || *value != 1 {
                wrong.push(format!("/m/{name}"));
            }
        }
        if wrong.is_empty() {
            continue;
        }
        let wrong: Vec<&str> = wrong.iter().map(|at| &**at).collect();
        check::<KeyedUntagged>(&json!({"n": n, "m": members}), &wrong);
        check::<KeyedUntagged>(&json!({"m": members, "n": n}), &wrong);
        check::<KeyedTagged>(&json!({"kind": "a", "n": n, "m": members}), &wrong);
        check::<KeyedTagged>(&json!({"m": members, "n": n, "kind": "a"}), &wrong);
        check::<KeyedFlat>(&json!({"a": 1, "n": n, "m": members, "last": 1}), &wrong);
        check::<KeyedFlat>(&json!({"m": members, "a": 1, "n": n}), &wrong);
    }
    // Bits say which places are wrong.
    for bits in 1..64_u32 {
        let text = |bit: u32, name: &str| match bits >> bit & 1 {
            0 => format!("{name}{name}"),
            _ => name.to_owned(),
        };
        let keys = [text(1, "k"), text(2, "l")];
        let value = json!({
            "kind": text(0, "a"),
            "m": {&*keys[0]: text(3, "b"), &*keys[1]: text(4, "c")},
            "list": ["dd", text(5, "e")],
        });
        let places = [
            "/kind".to_owned(),
            format!("/m/{}", keys[0]),
            format!("/m/{}", keys[1]),
            format!("/m/{}", keys[0]),
            format!("/m/{}", keys[1]),
            "/list/1".to_owned(),
        ];
        let wrong: Vec<&str> = places
            .iter()
            .enumerate()
            .filter(|(bit, _)| bits >> bit & 1 == 1)
            .map(|(_, at)| &**at)
            .collect();
        check::<Choice>(&value, &wrong);
        let mut tagged = value.clone();
        tagged["t"] = json!("Long");
        check::<Tagged>(&tagged, &wrong);
    }
}

#[test]
fn map_keys_are_read_as_their_type() {
    type Keyed = BTreeMap<u16, bool>;
    assert_eq!(
        said::<Keyed>(&json!({"65536": true})),
        "/65536: 65536 is out of range for an unsigned 16-bit integer"
    );
    let huge = "340282366920938463463374607431768211456";
    assert_eq!(
        said::<Keyed>(&json!({huge: true})),
        format!("/{huge}: {huge} is out of range for an unsigned 16-bit integer")
    );
    assert_eq!(
        said::<Keyed>(&json!({"a/b": true})),
        "/a~1b: expected an unsigned 16-bit integer, received the string \"a/b\""
    );
    let largest = u128::MAX.to_string();
    assert_eq!(
        read::<BTreeMap<u128, u8>>(&json!({&*largest: 1.0})).unwrap(),
        [(u128::MAX, 1)].into()
    );
    assert_eq!(read::<BTreeMap<bool, u8>>(&json!({"true": 1.0})).unwrap(), [(true, 1)].into());
}

#[test]
fn read_errors_name_no_rust_type() {
    #[derive(Debug, Deserialize)]
    struct Pair(u8, u8);
    #[derive(Debug, Deserialize)]
    struct Unit;
    assert_eq!(said::<Strict>(&json!(7)), "expected an object, received the number 7");
    assert_eq!(said::<Pair>(&json!([1])), "expected an array of 2 items, received 1 item");
    let decimals = said::<BTreeMap<rust_decimal::Decimal, u8>>(&json!({"1.5": 1, "x": 1}));
    assert_eq!(decimals, "/x: expected a decimal number, received the string \"x\"");
    assert_eq!(said::<Unit>(&json!(7)), "expected null, received the number 7");
    assert_eq!(said::<Vec<u8>>(&json!({})), "expected an array, received an object");
    assert_eq!(said::<Untagged>(&json!(7)), "expected one of the forms that the schema names");
    assert_eq!(said::<Tagged>(&json!(7)), "expected an object, received the number 7");
    assert_eq!(
        said::<Action>(&json!("Go")),
        "expected one of \"Add\", \"Stop\", received the string \"Go\""
    );
    assert_eq!(
        said::<std::time::Duration>(&json!({"secs": u64::MAX, "nanos": u32::MAX})),
        "too large"
    );
    assert_eq!(
        said::<std::num::NonZeroU8>(&json!(0)),
        "0 is out of range for an unsigned 8-bit integer other than 0"
    );
}

/// What `#[candor::args]` writes.
#[derive(Debug, Deserialize, PartialEq)]
#[serde(untagged)]
enum Copied {
    Wide {
        #[serde(deserialize_with = "read_as::<Vec<Option<WideInteger>>, _, _>")]
        sizes: Vec<Option<u128>>,
        #[serde(deserialize_with = "read_as::<BTreeMap<MapKey, Natural>, _, _>")]
        by_id: BTreeMap<i128, i8>,
    },
    Pair(
        #[serde(deserialize_with = "read_as::<(WideInteger, Natural), _, _>")] (i128, u8),
        #[serde(deserialize_with = "read_as::<[WideInteger; 2], _, _>")] [u128; 2],
    ),
}

#[test]
fn buffered_types_read_wide_integers_and_typed_keys() {
    let value = json!({"sizes": [u64::MAX, null, 3.0], "by_id": {"-5": 1, "170141183460469231731687303715884105727": 2}});
    let copied = Copied::Wide {
        sizes: vec![Some(u64::MAX.into()), None, Some(3)],
        by_id: [(-5, 1), (i128::MAX, 2)].into(),
    };
    assert_eq!(read::<Copied>(&value).unwrap(), copied);
    assert_eq!(read::<Copied>(&json!([[-1, 2], [3, 4]])).unwrap(), Copied::Pair((-1, 2), [3, 4]));
    for (value, expected) in [
        (
            json!({"sizes": [1, -2], "by_id": {}}),
            "/sizes/1: -2 is out of range for an unsigned 128-bit integer",
        ),
        (
            json!({"sizes": [], "by_id": {"7": 128}}),
            "/by_id/7: 128 is out of range for an 8-bit integer",
        ),
        (json!([[1, 256], [3, 4]]), "/0/1: 256 is out of range for an unsigned 8-bit integer"),
        (json!([[1, 2], [3, -4]]), "/1/1: -4 is out of range for an unsigned 128-bit integer"),
    ] {
        assert_eq!(said::<Copied>(&value), expected);
    }
}

#[test]
fn unreadable_128_bit_integer_is_explained_in_json_terms() {
    #[derive(Debug, Deserialize)]
    #[serde(untagged)]
    enum Foreign {
        Unsigned { size: u128 },
        Signed { shift: i128 },
    }
    for value in [json!({"size": 1}), json!({"shift": 1})] {
        let said = said::<Foreign>(&value);
        let expected =
            "a 128-bit integer cannot be read inside a tagged, untagged or flattened type";
        assert!(said.ends_with(expected), "{said}");
    }
}
