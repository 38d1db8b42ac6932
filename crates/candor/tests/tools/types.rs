//! `#[candor::args]`: what it adds to a type, and what it leaves to the author.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::IpAddr;
use std::num::{NonZeroI128, NonZeroU128};
use std::path::PathBuf;

use candor::json;
use candor::prelude::*;
use candor::testing::TestResult;
use chrono::{NaiveDateTime, NaiveTime};
use serde_json::Value;

use crate::ways::Ways;
use crate::{call, input, output, server};

#[candor::args]
#[serde(rename_all = "camelCase")]
#[derive(Debug)]
struct Settings {
    max_size: u32,
    /// Said twice is said once
    #[serde(default)]
    dark_mode: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    font: Option<String>,
    #[serde(skip)]
    #[allow(dead_code)]
    cache: Cache,
}

/// Nothing that could be sent.
#[derive(Debug, Default)]
struct Cache;

#[candor::args]
#[serde(tag = "type", rename_all_fields = "camelCase")]
#[derive(Debug)]
enum Step {
    WalkTo {
        #[default(1)]
        how_far: u32,
    },
    WaitFor {
        #[default(2)]
        how_far: u32,
    },
    #[serde(rename = "STOP")]
    Stop,
}

#[candor::args]
#[derive(Debug, Default)]
#[serde(default)]
struct Window {
    width: Option<u32>,
    title: String,
}

#[candor::args]
#[derive(Debug, serde::Serialize, serde::Deserialize)]
struct DerivedInPart {
    id: u64,
}

#[candor::args]
#[derive(Debug)]
struct Open {
    id: u64,
    #[serde(flatten)]
    rest: BTreeMap<String, Value>,
}

#[candor::args]
#[derive(Debug)]
struct Page<T> {
    items: Vec<T>,
    next: Option<u64>,
}

#[tool(reads)]
fn settings(settings: Settings) -> Settings {
    settings
}

#[tool(reads)]
fn steps(steps: Vec<Step>) -> String {
    format!("{steps:?}")
}

#[tool(reads)]
fn window(window: Window) -> String {
    format!("{window:?}")
}

#[tool(reads)]
fn in_part(args: DerivedInPart) -> DerivedInPart {
    args
}

#[tool(reads)]
fn open(args: Open) -> String {
    format!("{args:?}")
}

#[tool(reads)]
fn page() -> Page<DerivedInPart> {
    Page { items: vec![DerivedInPart { id: 7 }], next: None }
}

#[tool(reads)]
fn kinds(set: BTreeSet<String>, pair: (u8, String), bytes: Base64, path: PathBuf) -> String {
    format!("{set:?} {pair:?} {} {}", bytes.0.len(), path.display())
}

fn all() -> Server {
    server(tools![settings, steps, window, in_part, open, page, kinds])
}

#[tokio::test]
async fn sets_tuples_bytes_and_paths_have_json_schemas() {
    let client = Ways::modern(all()).await;
    let schema = input(&client, "kinds").await;
    let of = |name: &str| &schema["properties"][name];
    assert_eq!((&of("set")["uniqueItems"], &of("set")["type"]), (&json!(true), &json!("array")));
    let pair = of("pair")["prefixItems"].as_array().unwrap();
    assert_eq!((&pair[0]["type"], &pair[1]["type"]), (&json!("integer"), &json!("string")));
    assert_eq!(of("bytes")["contentEncoding"], "base64");
    assert_eq!(of("path")["type"], "string");
    let arguments = json!({"set": ["b", "a"], "pair": [7, "x"], "bytes": "AAEC", "path": "a/b"});
    let called = call(&client, "kinds", arguments.clone()).await;
    assert_eq!(called.text(), r#"{"a", "b"} (7, "x") 3 a/b"#);
    for (name, wrong) in [
        ("set", json!(["a", "a"])),
        ("pair", json!([7])),
        ("pair", json!([7, "x", 1])),
        ("bytes", json!("not base64!")),
        ("path", json!(1)),
    ] {
        let mut arguments = arguments.clone();
        arguments[name] = wrong;
        assert!(client.call("kinds", arguments.clone()).await.is_error(), "{arguments}");
    }
}

#[tokio::test]
async fn serde_attributes_of_the_author_apply() {
    let client = Ways::modern(all()).await;
    let schema = input(&client, "settings").await;
    let names: Vec<_> = schema["properties"].as_object().unwrap().keys().collect();
    assert_eq!(names, ["maxSize", "darkMode", "font"]);
    assert_eq!(schema["required"], json!(["maxSize"]));
    let called = call(&client, "settings", json!({"maxSize": 1})).await;
    assert_eq!(called.structured(), Some(&json!({"maxSize": 1, "darkMode": null})));
    assert!(client.call("settings", json!({"max_size": 1})).await.is_error());
}

#[tokio::test]
async fn variants_are_in_snake_case_and_have_defaults_of_their_own() {
    let client = Ways::modern(all()).await;
    let arguments = json!({"steps": [
        {"type": "walk_to"}, {"type": "wait_for"}, {"type": "walk_to", "howFar": 9}, {"type": "STOP"}
    ]});
    let expected = "[WalkTo { how_far: 1 }, WaitFor { how_far: 2 }, WalkTo { how_far: 9 }, Stop]";
    assert_eq!(call(&client, "steps", arguments).await.text(), expected);
    let refused = client.call("steps", json!({"steps": [{"type": "walk_to", "far": 1}]})).await;
    assert!(refused.is_error(), "a variant is closed");
}

#[tokio::test]
async fn struct_default_applies_to_its_fields() {
    let client = Ways::modern(all()).await;
    let schema = input(&client, "window").await;
    assert_eq!(schema.get("required"), None);
    let names: Vec<_> = schema["properties"].as_object().unwrap().keys().collect();
    assert_eq!(
        names,
        ["width", "title"],
        "a property named title stays, although schema titles are left out"
    );
    let called = call(&client, "window", json!({"title": "x"})).await;
    assert_eq!(called.text(), r#"Window { width: None, title: "x" }"#);
}

#[tokio::test]
async fn args_accepts_traits_that_are_already_derived() {
    let client = Ways::modern(all()).await;
    let called = call(&client, "in_part", json!({"id": 7})).await;
    assert_eq!(called.structured(), Some(&json!({"id": 7})));
}

#[tokio::test]
async fn flattened_map_leaves_the_type_open() {
    let client = Ways::modern(all()).await;
    let called = call(&client, "open", json!({"id": 7, "more": true})).await;
    assert_eq!(called.text(), r#"Open { id: 7, rest: {"more": Bool(true)} }"#);
}

#[tokio::test]
async fn generic_type_is_published_inline() {
    let client = Ways::modern(all()).await;
    let schema = output(&client, "page").await.unwrap();
    assert_eq!(schema["properties"]["items"]["items"]["required"], json!(["id"]));
    assert!(!schema.to_string().contains("\"title\""), "no type publishes its title: {schema}");
    let called = call(&client, "page", json!({})).await;
    assert_eq!(called.structured(), Some(&json!({"items": [{"id": 7}], "next": null})));
}

/// Refuses odd numbers, so that a refusal comes from the type and not from its schema.
#[derive(Debug, Clone, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(try_from = "i64", into = "i64")]
#[schemars(with = "i64")]
struct Even(i64);

impl TryFrom<i64> for Even {
    type Error = String;

    fn try_from(number: i64) -> Result<Self, String> {
        if number % 2 == 0 { Ok(Self(number)) } else { Err(format!("{number} is odd")) }
    }
}

impl From<Even> for i64 {
    fn from(even: Even) -> Self {
        even.0
    }
}

#[candor::args]
struct Wide {
    unsigned: u128,
    signed: Option<i128>,
    nonzero: NonZeroU128,
    list: Vec<u128>,
    pair: (i128, u8),
    two: [u128; 2],
    by_id: BTreeMap<u128, Option<u128>>,
    #[default(NonZeroI128::MIN)]
    other: NonZeroI128,
    even: Even,
}

#[candor::args]
#[serde(tag = "kind")]
enum WideTagged {
    New(Wide),
    Own { unsigned: u128, even: Even },
}

#[candor::args]
#[serde(tag = "t", content = "c")]
enum WideAdjacent {
    New(Wide),
    One(u128),
}

#[candor::args]
#[serde(untagged)]
enum WideUntagged {
    New(Wide),
    One(i128),
}

#[candor::args]
struct WideFlat {
    page: u8,
    #[serde(flatten)]
    wide: Wide,
}

#[tool(reads)]
fn wide(
    #[optional] tagged: Option<WideTagged>,
    #[optional] adjacent: Option<WideAdjacent>,
    #[optional] untagged: Option<Vec<WideUntagged>>,
    #[optional] flat: Option<WideFlat>,
) -> String {
    let of = |wide: &Wide| wide.unsigned.to_string();
    let flat = flat.map(|flat| format!("{} {}", flat.page, of(&flat.wide)));
    let tagged = tagged.map(|tagged| match tagged {
        WideTagged::New(wide) => of(&wide),
        WideTagged::Own { unsigned, .. } => unsigned.to_string(),
    });
    let adjacent = adjacent.map(|adjacent| match adjacent {
        WideAdjacent::New(wide) => of(&wide),
        WideAdjacent::One(one) => one.to_string(),
    });
    let untagged = untagged.into_iter().flatten().map(|untagged| match untagged {
        WideUntagged::New(wide) => of(&wide),
        WideUntagged::One(one) => one.to_string(),
    });
    [tagged, adjacent, flat].into_iter().flatten().chain(untagged).collect::<Vec<_>>().join(" ")
}

fn a_wide() -> Value {
    json!({
        "unsigned": u64::MAX, "signed": i64::MIN, "nonzero": 7.0, "list": [1, 2], "pair": [-3, 4], "two": [5, 6],
        "by_id": {"18446744073709551616": 8, "9": null}, "other": -1, "even": 2,
    })
}

/// Puts a value inside a type that serde copies.
type Shape<'s> = &'s dyn Fn(&Value) -> Value;

/// The same value with another one at a pointer.
fn with(value: &Value, pointer: &str, other: Value) -> Value {
    let mut value = value.clone();
    *value.pointer_mut(pointer).unwrap() = other;
    value
}

fn joined(value: &Value, more: &Value) -> Value {
    let mut value = value.clone();
    value.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    value
}

/// The places of a refusal, and its text.
#[track_caller]
fn places(called: &TestResult) -> (Vec<String>, String) {
    let fields = called.raw().pointer("/_meta/dev.candor~1error/fields");
    let fields = fields.and_then(Value::as_array).unwrap_or_else(|| panic!("{:?}", called.raw()));
    let pointers = fields.iter().map(|field| field["pointer"].as_str().unwrap().to_owned());
    (pointers.collect(), called.text().to_owned())
}

#[tokio::test]
async fn wide_integers_inside_copied_types_are_read_and_refused_in_place() {
    let client = Ways::modern(server(tools![wide])).await;
    let largest = u64::MAX.to_string();
    let wide = a_wide();
    let shapes: [(&str, Shape<'_>, &str); 5] = [
        ("/tagged", &|wide| joined(wide, &json!({"kind": "new"})), ""),
        ("/adjacent", &|wide| json!({"t": "new", "c": wide}), "/c"),
        ("/adjacent", &|wide| json!({"c": wide, "t": "new"}), "/c"),
        ("/untagged", &|wide| json!([-1, wide]), "/1"),
        ("/flat", &|wide| joined(wide, &json!({"page": 1})), ""),
    ];
    for (argument, shape, inside) in shapes {
        let sent = |wide: &Value| json!({&argument[1..]: shape(wide)});
        let called = call(&client, "wide", sent(&wide)).await;
        assert!(called.text().contains(&largest), "{}", called.text());
        for (pointer, wrong) in [
            ("/even", json!(3)),
            ("/unsigned", json!(1e20)),
            ("/nonzero", json!(0)),
            ("/list/1", json!(-1)),
            ("/pair/1", json!(256)),
        ] {
            let refused = client.call("wide", sent(&with(&wide, pointer, wrong))).await;
            let (pointers, text) = places(&refused);
            assert_eq!(pointers, [format!("{argument}{inside}{pointer}")], "{text}");
            assert!(!text.contains("u128") && !text.contains("i128"), "{text}");
        }
    }
    for (arguments, expected) in [
        (json!({"tagged": {"kind": "own", "unsigned": u64::MAX, "even": 2}}), &*largest),
        (json!({"adjacent": {"c": 5, "t": "one"}}), "5"),
        (json!({"untagged": [-1, i64::MIN]}), "-1 -9223372036854775808"),
    ] {
        assert_eq!(call(&client, "wide", arguments).await.text(), expected);
    }
}

#[test]
fn wide_integers_parsed_from_text_lose_no_digits() {
    let mut wide = a_wide();
    wide["unsigned"] = json!("unsigned");
    wide["nonzero"] = json!(7);
    let text = wide
        .to_string()
        .replace("\"unsigned\":\"unsigned\"", &format!("\"unsigned\":{}", u128::MAX));
    assert_eq!(serde_json::from_str::<Wide>(&text).unwrap().unsigned, u128::MAX);
}

/// Derives everything itself.
#[derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(tag = "kind")]
enum Foreign {
    Own { unsigned: u128 },
}

#[tool(reads)]
fn foreign_wide(#[optional] foreign: Option<Foreign>) -> Option<u128> {
    foreign.map(|Foreign::Own { unsigned }| unsigned)
}

#[tokio::test]
async fn wide_integer_that_cannot_be_read_is_refused_in_words_of_json() {
    let client = Ways::modern(server(tools![foreign_wide])).await;
    let called =
        client.call("foreign_wide", json!({"foreign": {"kind": "Own", "unsigned": 1}})).await;
    let (_, text) = places(&called);
    assert!(text.contains("a 128-bit integer cannot be read inside a tagged"), "{text}");
    assert!(!text.contains("u128"), "{text}");
}

#[candor::args]
struct FlatKeys {
    id: u8,
    #[serde(flatten)]
    rest: HashMap<i8, Even>,
}

#[candor::args]
struct FlatFlags {
    id: u8,
    #[serde(flatten)]
    rest: Option<BTreeMap<bool, u8>>,
}

/// Two maps, of which one has names that look like the keys of the other.
#[candor::args]
#[serde(tag = "kind")]
enum Keys {
    Both { numbers: HashMap<u8, Even>, names: HashMap<String, Even>, flags: HashMap<bool, u8> },
}

#[tool(reads)]
fn keys(
    #[optional] flat: Option<FlatKeys>,
    #[optional] flags: Option<FlatFlags>,
    #[optional] keys: Option<Keys>,
) -> String {
    let flat =
        flat.map(|flat| flat.rest.values().map(|even| even.0).sum::<i64>() + i64::from(flat.id));
    let flags = flags.map(|flags| (flags.id, flags.rest.unwrap_or_default()));
    let keys = keys.map(|Keys::Both { numbers, names, flags }| {
        (numbers.len(), names.len(), flags.contains_key(&true))
    });
    format!("{flat:?} {flags:?} {keys:?}")
}

#[tool(reads)]
fn only_flat(flat: FlatKeys) -> usize {
    flat.rest.len()
}

#[tokio::test]
async fn keys_of_maps_inside_copied_types_are_read_and_refused_in_place() {
    let client = Ways::modern(server(tools![keys, only_flat])).await;
    let schema = input(&client, "only_flat").await;
    assert_eq!(schema["required"], json!(["id"]), "a struct is the arguments: {schema}");
    assert_eq!(schema["additionalProperties"], json!(false), "{schema}");
    assert_eq!(call(&client, "only_flat", json!({"id": 1, "-7": 2})).await.text(), "1");
    let both =
        json!({"kind": "both", "numbers": {"1": 2}, "names": {"3": 4}, "flags": {"true": 5}});
    for (arguments, expected) in [
        (json!({"flat": {"id": 1, "-128": 2, "127": 4}}), "Some(7) None None"),
        (json!({"flags": {"true": 2, "id": 1}}), "None Some((1, {true: 2})) None"),
        (json!({"keys": both}), "None None Some((1, 1, true))"),
    ] {
        assert_eq!(call(&client, "keys", arguments).await.text(), expected);
    }
    for (arguments, pointer) in [
        (json!({"flat": {"id": 4, "-1": 2, "1": 3}}), "/flat/1"),
        (json!({"flat": {"id": 4, "-1": 2, "128": 2}}), "/flat/128"),
        (json!({"flat": {"id": 4, "x": 2}}), "/flat/x"),
        (json!({"flat": {"id": 256, "1": 2}}), "/flat/id"),
        (json!({"flags": {"id": 4, "1": 2}}), "/flags/1"),
        (json!({"flags": {"id": 4, "true": 256}}), "/flags/true"),
        (json!({"keys": with(&both, "/numbers/1", json!(1))}), "/keys/numbers/1"),
        (json!({"keys": with(&both, "/names/3", json!(1))}), "/keys/names/3"),
    ] {
        let (pointers, text) = places(&client.call("keys", arguments.clone()).await);
        assert_eq!(pointers, [pointer], "{arguments}: {text}");
    }
}

/// serde's own derive reads its keys.
#[derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
struct LooseKeys {
    id: u8,
    #[serde(flatten)]
    rest: HashMap<i8, u8>,
}

#[tool(reads)]
fn loose_keys(#[optional] flat: Option<LooseKeys>) -> usize {
    flat.map_or(0, |flat| flat.rest.len() + usize::from(flat.id))
}

#[test]
fn integer_keys_that_serde_cannot_read_are_not_registered() {
    let error = server(tools![loose_keys]).build().unwrap_err().to_string();
    assert!(error.contains("`/flat`: serde reads no integer keys beside other members"), "{error}");
}

#[candor::args]
#[serde(tag = "kind")]
enum ById {
    Prices(HashMap<uuid::Uuid, u8>),
    Sizes(HashMap<u8, u8>),
}

#[tool(reads)]
fn by_id(#[optional] of: Option<ById>) -> usize {
    of.map_or(0, |of| match of {
        ById::Prices(prices) => prices.len(),
        ById::Sizes(sizes) => sizes.len(),
    })
}

#[tokio::test]
async fn tag_of_a_map_is_not_one_of_its_keys() {
    let client = Ways::modern(server(tools![by_id])).await;
    let id = "67e55044-10b1-426f-9247-bb680e5fe0c8";
    for of in [json!({"kind": "prices", id: 2}), json!({"kind": "sizes", "255": 2})] {
        assert_eq!(call(&client, "by_id", json!({"of": of})).await.text(), "1");
    }
    let refused = client.call("by_id", json!({"of": {"kind": "sizes", "256": 2}})).await;
    assert_eq!(places(&refused).0, ["/of/256"]);
}

#[tool(reads)]
fn ask(
    #[optional] address: Option<IpAddr>,
    #[optional] time: Option<NaiveTime>,
    #[optional] at: Option<NaiveDateTime>,
) -> String {
    format!("{address:?} {time:?} {at:?}")
}

#[tokio::test]
async fn refusals_name_the_format_that_is_expected() {
    let client = Ways::modern(server(tools![ask])).await;
    for (name, wrong, expected) in [
        (
            "address",
            "a",
            r#"expected a string of format ipv4 or a string of format ipv6, received the string "a""#,
        ),
        (
            "time",
            "noon",
            r#"expected a string of format partial-time (such as 14:30:00), received "noon""#,
        ),
        (
            "at",
            "2024-02-30T00:00:00",
            r#"expected a string of format partial-date-time (such as 2024-12-31T14:30:00), received "2024-02-30T00:00:00""#,
        ),
    ] {
        let (pointers, text) = places(&client.call("ask", json!({name: wrong})).await);
        assert_eq!(pointers, [format!("/{name}")]);
        assert!(text.contains(expected), "{text}");
    }
    for (arguments, expected) in [
        (json!({"time": "14:30"}), "Some(14:30:00)"),
        (json!({"time": "23:59:60.5"}), "Some(23:59:60.500)"),
        (json!({"at": "2024-12-31T14:30:00.25"}), "Some(2024-12-31T14:30:00.250)"),
        (json!({"address": "::1"}), "Some(::1)"),
    ] {
        let called = call(&client, "ask", arguments).await;
        assert!(called.text().contains(expected), "{}", called.text());
    }
}
