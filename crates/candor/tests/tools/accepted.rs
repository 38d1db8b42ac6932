//! The schema is what is accepted: whatever it lets through a handler gets, and what it refuses has its exact place.

use std::collections::{BTreeMap, HashMap};
use std::num::NonZeroU8;

use candor::json;
use candor::prelude::*;
use rust_decimal::Decimal;
use serde_json::Value;

use crate::ways::{Ways, both_ways};
use crate::{Tools, call, input, server};

#[tool(reads)]
fn numbers(
    signed: i32,
    unsigned: u64,
    #[default(NonZeroU8::MIN)] nonzero: NonZeroU8,
    #[default(Decimal::ONE)]
    #[schemars(with = "Decimal")]
    price: Decimal,
    #[optional] wide: Option<i64>,
) -> String {
    format!("{signed} {unsigned} {nonzero} {price} {wide:?}")
}

/// Where a thing is.
#[candor::args]
#[derive(PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Side {
    /// To the left
    Left,
    /// To the right
    Right,
}

#[tool(reads)]
fn by_number(names: HashMap<u8, String>) -> usize {
    names.len()
}

#[tool(reads)]
fn by_side_hashed(sides: HashMap<Side, Vec<i8>>) -> usize {
    sides.len()
}

#[tool(reads)]
fn by_side_ordered(sides: BTreeMap<Side, Vec<i8>>) -> usize {
    sides.len()
}

/// A rule that no schema knows.
#[derive(Debug, Clone, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String")]
struct Weekday(String);

impl TryFrom<String> for Weekday {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let is_weekday = ["monday", "tuesday"].contains(&&*text);
        if is_weekday { Ok(Self(text)) } else { Err("is no weekday".to_owned()) }
    }
}

impl From<Weekday> for String {
    fn from(day: Weekday) -> Self {
        day.0
    }
}

#[candor::args]
#[serde(tag = "kind")]
enum Tagged {
    Once { day: Weekday, hour: u8 },
    Often { days: Vec<Weekday>, seats: HashMap<u16, i16> },
}

#[candor::args]
#[serde(tag = "t", content = "c")]
enum Adjacent {
    Once { day: Weekday, hour: u8 },
    Never,
}

#[candor::args]
#[serde(untagged)]
enum Untagged {
    Count(i8),
    Plan { day: Weekday, hour: u8 },
    Days(Vec<Weekday>),
}

#[candor::args]
struct Flattened {
    id: i16,
    #[serde(flatten)]
    plan: Tagged,
}

#[tool(reads)]
fn plan(
    #[optional] tagged: Option<Tagged>,
    #[optional] adjacent: Option<Adjacent>,
    #[optional] untagged: Option<Vec<Untagged>>,
    #[optional] flattened: Option<Flattened>,
) -> usize {
    usize::from(tagged.is_some())
        + usize::from(adjacent.is_some())
        + untagged.map_or(0, |all| all.len())
        + usize::from(flattened.is_some())
}

fn tools() -> Tools {
    tools![numbers, by_number, by_side_hashed, by_side_ordered, plan]
}

/// Calls that must be refused, with the pointers that programs get.
async fn refused(client: &Ways, tool: &str, calls: Vec<(Value, &[&str])>) {
    for (arguments, expected) in calls {
        let called = client.call(tool, arguments.clone()).await;
        assert!(called.is_error(), "{tool} took {arguments}");
        let fields = called.raw().pointer("/_meta/dev.candor~1error/fields");
        let fields =
            fields.and_then(Value::as_array).unwrap_or_else(|| panic!("{:?}", called.raw()));
        let pointers: Vec<_> =
            fields.iter().filter_map(|field| field["pointer"].as_str()).collect();
        assert_eq!(pointers, expected, "{tool} {arguments}: {}", called.text());
        for word in ["Untagged", "Tagged", "Weekday", "enum", "struct", "line 1", "variant", "u8"] {
            assert!(!called.text().contains(word), "{word}: {}", called.text());
        }
    }
}

#[tokio::test]
async fn integers_and_decimals_are_accepted_within_their_published_bounds() {
    for client in both_ways(tools).await {
        let schema = input(&client, "numbers").await;
        for (name, least, greatest) in [
            ("signed", json!(i32::MIN), json!(i32::MAX)),
            ("unsigned", json!(0), json!(u64::MAX)),
            ("nonzero", json!(1), json!(255)),
        ] {
            let property = &schema["properties"][name];
            assert_eq!((&property["minimum"], &property["maximum"]), (&least, &greatest), "{name}");
            for end in [least, greatest] {
                let mut arguments = json!({"signed": 0, "unsigned": 0});
                arguments[name] = end;
                call(&client, "numbers", arguments).await;
            }
        }
        call(
            &client,
            "numbers",
            json!({"signed": 0, "unsigned": 0, "price": "0.10", "wide": i64::MIN}),
        )
        .await;
        let with = |name: &str, value: Value| {
            let mut arguments = json!({"signed": 0, "unsigned": 0});
            arguments[name] = value;
            arguments
        };
        refused(
            &client,
            "numbers",
            vec![
                (with("signed", json!(2_147_483_648_u32)), &["/signed"]),
                (with("unsigned", json!(-1)), &["/unsigned"]),
                (with("unsigned", json!(1e20)), &["/unsigned"]),
                (with("nonzero", json!(0)), &["/nonzero"]),
                (with("price", json!("1e40")), &["/price"]),
                (with("price", json!(1e30)), &["/price"]),
                (with("wide", json!(9_223_372_036_854_775_808_u64)), &["/wide"]),
            ],
        )
        .await;
    }
}

#[tokio::test]
async fn map_is_one_argument_with_the_keys_that_its_type_reads() {
    for client in both_ways(tools).await {
        let schema = input(&client, "by_number").await;
        let names = schema["properties"]["names"]["patternProperties"].as_object().unwrap();
        assert_eq!(
            names.keys().collect::<Vec<_>>(),
            ["^(0|[1-9][0-9]{0,1}|1[0-9]{2}|2[0-4][0-9]|25[0-5])$"]
        );
        call(&client, "by_number", json!({"names": {"0": "a", "255": "b"}})).await;
        refused(
            &client,
            "by_number",
            vec![
                (json!({"names": {"256": "a", "1": "b"}}), &["/names/256"]),
                (json!({"names": {"1": "a", "-1": "b"}}), &["/names/-1"]),
                (json!({"names": {"a/b": "c"}}), &["/names/a~1b"]),
            ],
        )
        .await;

        let schema = input(&client, "by_side_hashed").await;
        assert_eq!(schema, input(&client, "by_side_ordered").await);
        let sides = schema["properties"]["sides"]["properties"].as_object().unwrap();
        assert_eq!(sides.keys().collect::<Vec<_>>(), ["left", "right"]);
        for tool in ["by_side_hashed", "by_side_ordered"] {
            call(&client, tool, json!({"sides": {"left": [1], "right": [-128]}})).await;
            refused(
                &client,
                tool,
                vec![
                    (json!({"sides": {"up": [1]}}), &["/sides/up"]),
                    (json!({"sides": {"left": [1, 128]}}), &["/sides/left/1"]),
                ],
            )
            .await;
        }
    }
}

#[tokio::test]
async fn pointers_are_exact_inside_tagged_untagged_and_flattened_types() {
    for client in both_ways(tools).await {
        call(
            &client,
            "plan",
            json!({
                "tagged": {"kind": "often", "days": ["monday"], "seats": {"7": -7}},
                "untagged": [1, {"day": "monday", "hour": 8}, ["tuesday"]],
                "flattened": {"id": 1, "kind": "often", "days": [], "seats": {"1": 1}}
            }),
        )
        .await;
        refused(&client, "plan", vec![
            (json!({"tagged": {"kind": "once", "day": "monday", "hour": 256}}), &["/tagged/hour"]),
            (json!({"tagged": {"kind": "once", "day": "sunday", "hour": 25}}), &["/tagged/day"]),
            (json!({"tagged": {"hour": 25, "day": "sunday", "kind": "once"}}), &["/tagged/day"]),
            (
                json!({"tagged": {"kind": "often", "days": ["monday", "x", "y"], "seats": {}}}),
                &["/tagged/days/1"],
            ),
            (
                json!({"tagged": {"kind": "often", "days": [], "seats": {"65536": 1}}}),
                &["/tagged/seats/65536"],
            ),
            (json!({"adjacent": {"t": "once", "c": {"day": "x", "hour": 1}}}), &["/adjacent/c/day"]),
            (json!({"adjacent": {"t": "once", "c": {"day": "monday", "hour": -1}}}), &["/adjacent/c/hour"]),
            (json!({"untagged": [1, 128]}), &["/untagged/1"]),
            (json!({"untagged": [{"day": "monday", "hour": 1}, {"day": "x", "hour": 1}]}), &["/untagged/1/day"]),
            (json!({"untagged": [["monday", "x"]]}), &["/untagged/0/1"]),
            (
                json!({"flattened": {"id": 32_768, "kind": "once", "day": "monday", "hour": 1}}),
                &["/flattened/id"],
            ),
            (
                json!({"flattened": {"id": 1, "kind": "once", "day": "x", "hour": 1}}),
                &["/flattened/day"],
            ),
        ])
        .await;
    }
}

/// Hides the type of its keys from the macros.
type Keys = BTreeMap<u8, u8>;

#[candor::args]
#[serde(untagged)]
enum HiddenUntagged {
    A { n: u8, m: Keys },
    B(Vec<u8>),
}

#[candor::args]
#[serde(tag = "kind")]
enum HiddenTagged {
    A { n: u8, m: Keys },
    B { n: u8 },
}

#[candor::args]
struct HiddenInside {
    n: u8,
    m: Keys,
}

#[candor::args]
struct HiddenFlat {
    a: u8,
    #[serde(flatten)]
    i: HiddenInside,
}

#[tool(reads)]
fn hidden_untagged(v: Vec<HiddenUntagged>) -> usize {
    let keys = |one: &HiddenUntagged| match one {
        HiddenUntagged::A { n: _, m } => m.len(),
        HiddenUntagged::B(list) => list.len(),
    };
    v.iter().map(keys).sum()
}

#[tool(reads)]
fn hidden_tagged(v: HiddenTagged) -> usize {
    match v {
        HiddenTagged::A { n: _, m } => m.len(),
        HiddenTagged::B { n } => n.into(),
    }
}

#[tool(reads)]
fn hidden_flat(v: Vec<HiddenFlat>) -> usize {
    v.iter().map(|one| usize::from(one.a) + usize::from(one.i.n) + one.i.m.len()).sum()
}

#[tokio::test]
async fn wrong_key_behind_an_alias_has_its_own_pointer_in_every_type() {
    let tools = || tools![hidden_untagged, hidden_tagged, hidden_flat];
    for client in both_ways(tools).await {
        call(&client, "hidden_untagged", json!({"v": [{"n": 1, "m": {"2": 1}}]})).await;
        call(&client, "hidden_tagged", json!({"v": {"kind": "a", "n": 1, "m": {"2": 1}}})).await;
        call(&client, "hidden_flat", json!({"v": [{"a": 1, "n": 1, "m": {"2": 1}}]})).await;
        refused(
            &client,
            "hidden_untagged",
            vec![
                (json!({"v": [{"n": 1, "m": {"300": 1}}]}), &["/v/0/m/300"]),
                (json!({"v": [{"n": 1, "m": {"2": 1, "300": 1}}]}), &["/v/0/m/300"]),
                (json!({"v": [{"n": 1, "m": {"2": 1, "300": 1, "4": 1}}]}), &["/v/0/m/300"]),
                (json!({"v": [{"n": 1, "m": {"2": 1, "x": 1}}]}), &["/v/0/m/x"]),
            ],
        )
        .await;
        let tagged = |m: Value| json!({"v": {"kind": "a", "n": 1, "m": m}});
        refused(
            &client,
            "hidden_tagged",
            vec![
                (tagged(json!({"300": 1})), &["/v/m/300"]),
                (tagged(json!({"2": 1, "x": 1})), &["/v/m/x"]),
            ],
        )
        .await;
        let flat = |m: Value| json!({"v": [{"a": 1, "n": 1, "m": m}]});
        refused(
            &client,
            "hidden_flat",
            vec![
                (flat(json!({"300": 1})), &["/v/0/m/300"]),
                (flat(json!({"2": 1, "x": 1})), &["/v/0/m/x"]),
            ],
        )
        .await;
    }
}

type Amount = String;

#[tool(reads)]
fn range_on_text(#[range(min = 1)] amount: Amount) -> String {
    amount
}

#[tool(reads)]
fn length_on_flag(#[length(max = 3)] flag: Option<Side>, #[length(min = 1)] on: Flag) -> bool {
    flag.is_some() && on
}

type Flag = bool;

const TEN: u8 = 10;

#[tool(reads)]
fn default_outside(
    #[default(TEN)]
    #[range(max = 9)]
    count: u8,
) -> u8 {
    count
}

#[candor::args]
struct Settings {
    #[default("loud")]
    #[schemars(extend("enum" = ["low", "high"]))]
    volume: String,
    #[serde(default)]
    #[length(min = 1)]
    names: Vec<String>,
}

#[tool(reads)]
fn defaults_inside(settings: Settings, #[range(min = 300)] level: u8) -> String {
    format!("{} {} {level}", settings.volume, settings.names.len())
}

#[tool(reads)]
fn between_integers(
    #[range(min = 0.5, max = 0.7)] weight: i64,
    #[range(min = 10_000_000_000_000_000_000_u64)] size: Option<i64>,
    #[range(min = 0.5, max = 1.5)] one: i64,
    #[range(min = 0.5, max = 0.7)] share: f64,
) -> f64 {
    share + if size == Some(weight + one) { 1.0 } else { 0.0 }
}

/// A tool whose constraints fit its types.
#[tool(reads)]
fn constrained(
    #[length(max = 1)] sides: HashMap<Side, u8>,
    #[range(max = 9)] level: Option<u8>,
) -> usize {
    sides.len() + usize::from(level.unwrap_or(0))
}

#[tokio::test]
async fn inapplicable_constraint_or_invalid_default_is_not_registered() {
    for (tools, expected) in [
        (
            tools![range_on_text],
            &["`/amount`: `#[range]` limits numbers, and this is a string"][..],
        ),
        (
            tools![length_on_flag],
            &["`/on`: `#[length]` limits strings, lists and maps, and this is true or false"],
        ),
        (
            tools![default_outside],
            &["`/count`: its own schema refuses the default 10: expected at most 9, received 10"],
        ),
        (
            tools![defaults_inside],
            &[
                r#"`/settings/volume`: its own schema refuses the default "loud""#,
                "`/settings/names`: its own schema refuses the default []",
                "`/level`: no integer is at least 300 and at most 255",
            ],
        ),
        (
            tools![between_integers],
            &[
                "`/weight`: no integer is at least 0.5 and at most 0.7",
                "`/size`: no integer is at least 10000000000000000000 and at most 9223372036854775807",
            ],
        ),
    ] {
        let error = server(tools).build().expect_err("it does not build").to_string();
        assert!(!error.contains("/one") && !error.contains("/share"), "{error}");
        for expected in expected {
            assert!(error.contains(expected), "{expected} is not in {error}");
        }
    }
    let client = Ways::modern(server(tools![constrained])).await;
    call(&client, "constrained", json!({"sides": {"left": 1}, "level": 9})).await;
    refused(
        &client,
        "constrained",
        vec![
            (json!({"sides": {"left": 1, "right": 2}}), &["/sides"]),
            (json!({"sides": {}, "level": 10}), &["/level"]),
        ],
    )
    .await;
}
