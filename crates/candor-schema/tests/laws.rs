//! The laws that tie a type to its schemas, for many values:
//! what a type writes fits its output schema and can be read; what fits its input schema can be read; what
//! can be read fits.

#![allow(missing_docs)]

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::sync::Arc;

use candor_schema::schemars::{self, JsonSchema};
use candor_schema::{BOX_FIELD, Schema, View, derive, output, read};
use proptest::prelude::*;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Value, json};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Plain {
    text: String,
    small: u8,
    number: i64,
    ratio: f64,
    flag: bool,
    letter: char,
    maybe: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    later: Option<String>,
    #[serde(default)]
    list: Vec<Option<i16>>,
    pair: (bool, String),
    map: BTreeMap<String, u32>,
    keyed: BTreeMap<u16, bool>,
    unit: (),
    three: [u8; 3],
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Sets {
    bytes: BTreeSet<u8>,
    sides: BTreeMap<Side, BTreeSet<Option<bool>>>,
}

/// Without docs on its variants: with them, schemars forgets the names when they are keys of a map.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
enum Side {
    Left,
    Right,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
enum External {
    Nothing,
    Number(i64),
    Pair(bool, Option<u8>),
    Named { a: Vec<Color>, b: Option<Box<External>> },
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum Color {
    /// Like blood.
    Red,
    DarkBlue,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "camelCase", deny_unknown_fields)]
enum Internal {
    Chat { message: String, count: u32 },
    Stop,
    Nested { inner: Vec<Internal> },
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "t", content = "c", deny_unknown_fields)]
enum Adjacent {
    Unit,
    Number(i32),
    Named { x: Option<String> },
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
enum Untagged {
    Number(i64),
    Text(String),
    List(Vec<Untagged>),
    Color { color: Color },
}

/// serde cannot refuse unknown members beside a flattened one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
struct Flattened {
    id: u32,
    #[serde(flatten)]
    internal: Adjacent,
    #[serde(flatten)]
    part: Part,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
struct Part {
    part: Option<bool>,
    color: Color,
}

fn color() -> BoxedStrategy<Color> {
    prop_oneof![Just(Color::Red), Just(Color::DarkBlue)].boxed()
}

fn plain() -> BoxedStrategy<Plain> {
    let scalars = (
        ".{0,4}",
        any::<u8>(),
        -9_000_000_000_000_000..9_000_000_000_000_000_i64,
        -1e6..1e6,
        any::<bool>(),
        any::<char>(),
        any::<Option<i32>>(),
        proptest::option::of("[a-z]{0,3}"),
    );
    let lists = (
        any::<Vec<Option<i16>>>(),
        (any::<bool>(), "[a-z]{0,3}"),
        proptest::collection::btree_map("[a-z~/]{0,3}", any::<u32>(), 0..3),
        proptest::collection::btree_map(any::<u16>(), any::<bool>(), 0..3),
        any::<[u8; 3]>(),
    );
    (scalars, lists)
        .prop_map(
            |(
                (text, small, number, ratio, flag, letter, maybe, later),
                (list, pair, map, keyed, three),
            )| Plain {
                text,
                small,
                number,
                ratio,
                flag,
                letter,
                maybe: maybe.map(i64::from),
                later,
                list,
                pair,
                map,
                keyed,
                unit: (),
                three,
            },
        )
        .boxed()
}

fn sets() -> BoxedStrategy<Sets> {
    let side = prop_oneof![Just(Side::Left), Just(Side::Right)];
    let sides = proptest::collection::btree_map(side, any::<BTreeSet<Option<bool>>>(), 0..3);
    (any::<BTreeSet<u8>>(), sides).prop_map(|(bytes, sides)| Sets { bytes, sides }).boxed()
}

fn external() -> BoxedStrategy<External> {
    let leaf = prop_oneof![
        Just(External::Nothing),
        any::<i32>().prop_map(|n| External::Number(n.into())),
        (any::<bool>(), any::<Option<u8>>()).prop_map(|(a, b)| External::Pair(a, b)),
    ];
    leaf.prop_recursive(3, 8, 2, |inner| {
        (proptest::collection::vec(color(), 0..3), proptest::option::of(inner.prop_map(Box::new)))
            .prop_map(|(a, b)| External::Named { a, b })
    })
    .boxed()
}

fn internal() -> BoxedStrategy<Internal> {
    let leaf = prop_oneof![
        Just(Internal::Stop),
        (".{0,3}", any::<u32>()).prop_map(|(message, count)| Internal::Chat { message, count }),
    ];
    leaf.prop_recursive(3, 8, 3, |inner| {
        proptest::collection::vec(inner, 0..3).prop_map(|inner| Internal::Nested { inner })
    })
    .boxed()
}

fn adjacent() -> BoxedStrategy<Adjacent> {
    prop_oneof![
        Just(Adjacent::Unit),
        any::<i32>().prop_map(Adjacent::Number),
        proptest::option::of("[a-z]{0,3}").prop_map(|x| Adjacent::Named { x }),
    ]
    .boxed()
}

fn untagged() -> BoxedStrategy<Untagged> {
    let leaf = prop_oneof![
        any::<i32>().prop_map(|n| Untagged::Number(n.into())),
        ".{0,3}".prop_map(Untagged::Text),
        color().prop_map(|color| Untagged::Color { color }),
    ];
    leaf.prop_recursive(3, 8, 3, |inner| {
        proptest::collection::vec(inner, 0..3).prop_map(Untagged::List)
    })
    .boxed()
}

fn flattened() -> BoxedStrategy<Flattened> {
    (any::<u32>(), adjacent(), any::<Option<bool>>(), color())
        .prop_map(|(id, internal, part, color)| Flattened {
            id,
            internal,
            part: Part { part, color },
        })
        .boxed()
}

/// A change of one place in a value, to something that may or may not fit.
#[derive(Debug, Clone)]
enum Change {
    Replace(Value),
    Remove,
    Add(String, Value),
    Rename(String),
    Float,
    Duplicate,
}

fn change() -> impl Strategy<Value = Change> {
    let value = || {
        prop_oneof![
            Just(json!(null)),
            Just(json!(true)),
            Just(json!("")),
            Just(json!("red")),
            Just(json!("Nothing")),
            Just(json!("chat")),
            Just(json!([])),
            Just(json!({})),
            Just(json!(0)),
            Just(json!(-1)),
            Just(json!(255.0)),
            Just(json!(256)),
            Just(json!(-0.0)),
            Just(json!(1.5)),
            Just(json!([0, 1.0, 2])),
        ]
    };
    let name = || prop_oneof!["kind|t|c|a|b|x|id|color|part|later|maybe|007|7", "[a-z]{1,3}"];
    prop_oneof![
        value().prop_map(Change::Replace),
        Just(Change::Remove),
        (name(), value()).prop_map(|(name, value)| Change::Add(name, value)),
        name().prop_map(Change::Rename),
        Just(Change::Float),
        Just(Change::Duplicate),
    ]
}

/// Applies a change at the place that `seed` walks to.
fn apply(value: &mut Value, change: &Change, seed: u64) {
    let children = match value {
        Value::Array(items) => items.len(),
        Value::Object(members) => members.len(),
        _ => 0,
    } as u64;
    let deeper = seed / 4;
    if children > 0 && !seed.is_multiple_of(4) {
        let index = usize::try_from(deeper % children).unwrap();
        let last_step = (deeper / children).is_multiple_of(4);
        match (&mut *value, change) {
            (Value::Array(items), Change::Remove) if last_step => drop(items.remove(index)),
            (Value::Array(items), Change::Duplicate) if last_step => {
                items.push(items[index].clone());
            }
            (Value::Object(members), Change::Remove | Change::Rename(_)) if last_step => {
                let key = members.keys().nth(index).unwrap().clone();
                let old = members.remove(&key).unwrap();
                if let Change::Rename(name) = change {
                    members.insert(name.clone(), old);
                }
            }
            (Value::Array(items), _) => apply(&mut items[index], change, deeper / children),
            (Value::Object(members), _) => {
                apply(members.values_mut().nth(index).unwrap(), change, deeper / children);
            }
            _ => unreachable!("only containers have children"),
        }
        return;
    }
    match (value, change) {
        (value, Change::Replace(new)) => *value = new.clone(),
        (Value::Object(members), Change::Add(name, new)) => {
            members.insert(name.clone(), new.clone());
        }
        (value @ Value::Number(_), Change::Float) => *value = json!(value.as_f64().unwrap()),
        _ => {}
    }
}

fn compiled<T: JsonSchema>(view: View) -> Arc<Schema> {
    Schema::compile(&derive::<T>(view).to_string()).unwrap()
}

fn writing_fits<T>(value: &T) -> Result<(), TestCaseError>
where
    T: Serialize + DeserializeOwned + JsonSchema + PartialEq + Debug,
{
    let written = serde_json::to_value(value).unwrap();
    let output = output::<T>().unwrap();
    let content = if output.boxed { json!({ BOX_FIELD: written }) } else { written.clone() };
    let schema = Schema::compile(&output.schema.to_string()).unwrap();
    prop_assert!(schema.check(&content).is_ok(), "{}", schema.check(&content).unwrap_err());
    prop_assert!(compiled::<T>(View::Input).check(&written).is_ok());
    prop_assert_eq!(&read::<T>(&written).unwrap(), value);
    Ok(())
}

/// Any value near one of the type either fits and can be read, or neither.
fn fitting_is_reading<T>(value: &Value, exact: bool) -> Result<(), TestCaseError>
where
    T: DeserializeOwned + JsonSchema + Debug,
{
    let fits = compiled::<T>(View::Input).check(value);
    match read::<T>(value) {
        Err(invalid) => prop_assert!(fits.is_err(), "fits, but {invalid}: {value}"),
        Ok(read) if exact => {
            prop_assert!(fits.is_ok(), "{read:?}, but {}: {value}", fits.unwrap_err());
        }
        Ok(_) => {}
    }
    Ok(())
}

fn changed<T: Serialize + Debug>(value: &T, changes: &[(Change, u64)]) -> Value {
    let mut value = serde_json::to_value(value).unwrap();
    for (change, seed) in changes {
        apply(&mut value, change, *seed);
    }
    value
}

fn changes() -> impl Strategy<Value = Vec<(Change, u64)>> {
    proptest::collection::vec((change(), any::<u64>()), 0..4)
}

/// For each type whether reading is fitting, too. It is not where serde takes more than it writes: repeated
/// items of a set, and unknown members of flattened structs, untagged variants and tagged units.
macro_rules! laws {
    ($($name:ident: $type:ty, $exact:expr;)*) => {$(
        mod $name {
            use super::*;

            proptest! {
                #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

                #[test]
                fn what_is_written_fits(value in super::$name()) {
                    writing_fits::<$type>(&value)?;
                }

                #[test]
                fn what_fits_is_read(value in super::$name(), changes in changes()) {
                    fitting_is_reading::<$type>(&changed(&value, &changes), $exact)?;
                }
            }
        }
    )*};
}

laws! {
    color: Color, true;
    plain: Plain, true;
    sets: Sets, false;
    external: External, true;
    internal: Internal, false;
    adjacent: Adjacent, false;
    untagged: Untagged, false;
    flattened: Flattened, false;
}
