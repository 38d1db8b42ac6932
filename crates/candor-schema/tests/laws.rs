//! The laws that tie a type to its schemas, for many values:
//! what a type writes fits its output schema and can be read; what fits its input schema can be read; what
//! can be read fits.

#![allow(missing_docs)]

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Debug;
use std::net::IpAddr;
use std::num::{NonZeroI32, NonZeroU8, NonZeroU64};
use std::sync::Arc;

use candor_schema::schemars::{self, JsonSchema};
use candor_schema::{BOX_FIELD, Invalid, KeyedMap, Schema, View, derive, output, read};
use chrono::{DateTime, NaiveDate, Utc};
use indexmap::IndexMap;
use proptest::prelude::*;
use rust_decimal::Decimal;
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
    #[schemars(with = "KeyedMap<u16, bool>")]
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

/// Every width of integers, and texts of a form.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Widths {
    signed: (i8, i16, i32, i128, isize),
    unsigned: (u8, u16, u32, u64, u128, usize),
    nonzero: (NonZeroU8, NonZeroI32, Option<NonZeroU64>),
    decimal: Decimal,
    date: NaiveDate,
    time: DateTime<Utc>,
    address: IpAddr,
}

/// Maps as the macros describe them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Maps {
    #[schemars(with = "KeyedMap<u8, i8>")]
    small: BTreeMap<u8, i8>,
    #[schemars(with = "KeyedMap<i32, bool>")]
    signed: HashMap<i32, bool>,
    #[schemars(with = "KeyedMap<NonZeroU64, bool>")]
    large: BTreeMap<NonZeroU64, bool>,
    #[schemars(with = "KeyedMap<Color, Vec<u8>>")]
    colors: BTreeMap<Color, Vec<u8>>,
    #[schemars(with = "KeyedMap<char, u8>")]
    letters: IndexMap<char, u8>,
    #[schemars(with = "KeyedMap<bool, u8>")]
    flags: BTreeMap<bool, u8>,
}

/// A rule that no schema knows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String")]
struct Even(String);

impl TryFrom<String> for Even {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        if text.len().is_multiple_of(2) {
            Ok(Self(text))
        } else {
            Err("has an odd length".to_owned())
        }
    }
}

impl From<Even> for String {
    fn from(even: Even) -> Self {
        even.0
    }
}

/// Everything that serde copies before it reads it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum Copied {
    Row {
        even: Even,
        count: i32,
        rest: Vec<Even>,
    },
    Keyed {
        #[schemars(with = "KeyedMap<u16, i16>")]
        map: BTreeMap<u16, i16>,
        last: Even,
    },
    One(Inside),
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
struct Inside {
    width: u32,
    even: Even,
    #[serde(flatten)]
    more: More,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
struct More {
    depth: i8,
    date: NaiveDate,
    either: Either,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
enum Either {
    Small { small: u8, even: Even },
    Point { x: i32, y: i32 },
    Day(NaiveDate),
}

fn even() -> BoxedStrategy<Even> {
    "([a-z]{2}){0,3}".prop_map(Even).boxed()
}

fn date() -> BoxedStrategy<NaiveDate> {
    (0..40_000_i32)
        .prop_map(|days| NaiveDate::from_num_days_from_ce_opt(700_000 + days).unwrap())
        .boxed()
}

fn widths() -> BoxedStrategy<Widths> {
    // What a number of JSON holds here.
    let i128s = prop_oneof![any::<i64>().prop_map(i128::from), any::<u64>().prop_map(i128::from)];
    let signed = (any::<i8>(), any::<i16>(), any::<i32>(), i128s, any::<isize>());
    let u128s = any::<u64>().prop_map(u128::from);
    let unsigned = (any::<u8>(), any::<u16>(), any::<u32>(), any::<u64>(), u128s, any::<usize>());
    let decimal = (any::<i64>(), 0..10_u32).prop_map(|(digits, scale)| Decimal::new(digits, scale));
    let time = (0..4_000_000_000_i64).prop_map(|t| DateTime::from_timestamp(t, 0).unwrap());
    let nonzero = (any::<NonZeroU8>(), any::<NonZeroI32>(), any::<Option<NonZeroU64>>());
    (signed, unsigned, nonzero, decimal, date(), time, any::<IpAddr>())
        .prop_map(|(signed, unsigned, nonzero, decimal, date, time, address)| Widths {
            signed,
            unsigned,
            nonzero,
            decimal,
            date,
            time,
            address,
        })
        .boxed()
}

fn maps() -> BoxedStrategy<Maps> {
    use proptest::collection::{btree_map, hash_map, vec};
    (
        btree_map(any::<u8>(), any::<i8>(), 0..3),
        hash_map(any::<i32>(), any::<bool>(), 0..3),
        btree_map(any::<NonZeroU64>(), any::<bool>(), 0..3),
        btree_map(color(), any::<Vec<u8>>(), 0..3),
        vec((any::<char>(), any::<u8>()), 0..3),
        btree_map(any::<bool>(), any::<u8>(), 0..3),
    )
        .prop_map(|(small, signed, large, colors, letters, flags)| Maps {
            small,
            signed,
            large,
            colors,
            letters: letters.into_iter().collect(),
            flags,
        })
        .boxed()
}

fn copied() -> BoxedStrategy<Copied> {
    let either = prop_oneof![
        (any::<u8>(), even()).prop_map(|(small, even)| Either::Small { small, even }),
        any::<(i32, i32)>().prop_map(|(x, y)| Either::Point { x, y }),
        date().prop_map(Either::Day),
    ];
    let map = proptest::collection::btree_map(any::<u16>(), any::<i16>(), 0..3);
    prop_oneof![
        (even(), any::<i32>(), proptest::collection::vec(even(), 0..3))
            .prop_map(|(even, count, rest)| Copied::Row { even, count, rest }),
        (map, even()).prop_map(|(map, last)| Copied::Keyed { map, last }),
        (any::<u32>(), even(), any::<i8>(), date(), either).prop_map(
            |(width, even, depth, date, either)| Copied::One(Inside {
                width,
                even,
                more: More { depth, date, either },
            })
        ),
    ]
    .boxed()
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
            Just(json!("2024-02-30")),
            Just(json!("79228162514264337593543950336")),
            // Each end of each width, and one beyond.
            proptest::sample::select(vec![
                i64::from(i8::MIN),
                i64::from(i8::MAX),
                i64::from(i16::MIN),
                i64::from(i16::MAX),
                i64::from(i32::MIN),
                i64::from(i32::MAX),
                i64::from(u16::MAX),
                i64::from(u32::MAX),
                i64::MIN,
                i64::MAX,
            ])
            .prop_flat_map(|end| prop_oneof![
                Just(end),
                Just(end.saturating_add(1)),
                Just(end.saturating_sub(1))
            ])
            .prop_map(Value::from),
            proptest::sample::select(vec![
                json!(u64::MAX),
                json!(1_u64 << 63),
                json!(1e19),
                json!(-1e19),
                json!(1e20),
                json!(-1e30),
                json!(7.922_816_251_426_433e28),
                json!(7.922_816_251_426_434e28),
            ]),
        ]
    };
    let name = || {
        prop_oneof![
            "kind|t|c|a|b|x|id|color|part|later|maybe|007|7|red|true|even|small",
            "-0|-1|255|256|2147483648|-2147483649|18446744073709551616|1.0|1e2|99999999999999999999999999999999999999999",
            "[a-z]{1,3}",
        ]
    };
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
    if let Err(invalid) = &fits {
        speaks_of_json(invalid)?;
    }
    match read::<T>(value) {
        // A rule that the type alone knows, and `i64`, whose schema is the document's plain integer.
        Err(invalid) if fits.is_ok() && is_beyond_schemas(value, &invalid) => {
            speaks_of_json(&invalid)?;
        }
        Err(invalid) => {
            prop_assert!(fits.is_err(), "fits, but {invalid}: {value}");
            speaks_of_json(&invalid)?;
        }
        Ok(read) if exact => {
            prop_assert!(fits.is_ok(), "{read:?}, but {}: {value}", fits.unwrap_err());
        }
        Ok(_) => {}
    }
    Ok(())
}

/// Whether the one thing that is wrong, at the very place that is named, is something that the schema cannot say.
fn is_beyond_schemas(value: &Value, invalid: &Invalid) -> bool {
    let [violation] = &invalid.violations[..] else { return false };
    let part = value.pointer(&violation.pointer);
    let is_odd = || part.and_then(Value::as_str).is_some_and(|text| !text.len().is_multiple_of(2));
    let is_wide = || part.and_then(Value::as_f64).is_some_and(|n| n.abs() >= 9.2e18);
    match violation.problem.as_str() {
        "has an odd length" => is_odd(),
        problem => problem.ends_with("is out of range for a 64-bit integer") && is_wide(),
    }
}

/// What callers read has no names of Rust types and no positions in a text.
fn speaks_of_json(invalid: &Invalid) -> Result<(), TestCaseError> {
    let text = invalid.to_string();
    for word in [
        "struct ",
        "enum ",
        "untagged",
        "variant of",
        "line 1",
        "i32",
        "u8",
        "Inside",
        "Either",
        "a map",
        "a sequence",
    ] {
        prop_assert!(!text.contains(word), "{word}: {text}");
    }
    Ok(())
}

/// The pointers of all numbers and texts.
fn scalars(value: &Value, at: &str, found: &mut Vec<String>) {
    match value {
        Value::Array(items) => {
            items
                .iter()
                .enumerate()
                .for_each(|(i, item)| scalars(item, &format!("{at}/{i}"), found));
        }
        Value::Object(members) => members.iter().for_each(|(name, member)| {
            scalars(member, &format!("{at}/{}", name.replace('~', "~0").replace('/', "~1")), found);
        }),
        Value::Number(_) | Value::String(_) => found.push(at.to_owned()),
        _ => {}
    }
}

/// One number or text that is wrong is what the pointer of every violation leads to.
fn wrong_is_where_the_pointer_is<T>(value: &T, seed: usize) -> Result<(), TestCaseError>
where
    T: Serialize + DeserializeOwned + JsonSchema + Debug,
{
    let mut value = serde_json::to_value(value).unwrap();
    let mut found = Vec::new();
    scalars(&value, "", &mut found);
    if found.is_empty() {
        return Ok(());
    }
    let place = &found[seed % found.len()];
    let part = value.pointer_mut(place).unwrap();
    *part = if part.is_string() { json!("wrong") } else { json!(-1e30) };
    let checked = compiled::<T>(View::Input).check(&value);
    if let Err(invalid) = checked.and_then(|()| read::<T>(&value).map(drop)) {
        for violation in &invalid.violations {
            prop_assert_eq!(&violation.pointer, place, "{}: {}", invalid, value);
        }
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
                fn written_value_matches_its_schema(value in super::$name()) {
                    writing_fits::<$type>(&value)?;
                }

                #[test]
                fn wrong_scalar_is_reported_at_its_pointer(value in super::$name(), seed in any::<usize>()) {
                    wrong_is_where_the_pointer_is::<$type>(&value, seed)?;
                }

                #[test]
                fn value_that_matches_the_schema_is_read(value in super::$name(), changes in changes()) {
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
    widths: Widths, false;
    maps: Maps, false;
    copied: Copied, false;
}
