//! Values: their text for people, their structured content for programs, and the schema that both keep.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use candor::json;
use candor::prelude::*;
use serde_json::Value;

use crate::log::Log;
use crate::ways::{Ways, both_ways};
use crate::{Tools, call, output, server, texts};

#[candor::args]
struct Address {
    street: String,
    number: u32,
}

#[candor::args]
struct User {
    name: String,
    address: Address,
    #[optional]
    phone: Option<String>,
    fax: Option<String>,
}

fn user() -> User {
    let address = Address { street: "Main".to_owned(), number: 1 };
    User { name: "Ada".to_owned(), address, phone: None, fax: None }
}

#[candor::args]
enum Colour {
    Red,
}

#[candor::args]
#[serde(tag = "kind")]
enum Tagged {
    Person { name: String },
    Nobody,
}

#[candor::args]
#[serde(tag = "kind", content = "value")]
enum Adjacent {
    Number(i64),
}

#[candor::args]
enum External {
    Person { name: String },
    Nobody,
}

#[candor::args]
#[serde(untagged)]
enum Untagged {
    Number(i64),
    Person { name: String },
}

#[candor::args]
struct Metres(f64);

#[candor::args]
struct Done;

#[candor::args]
struct Nested {
    name: String,
    within: Option<Box<Nested>>,
}

fn ada() -> String {
    "Ada".to_owned()
}

macro_rules! value_tools {
    ($($name:ident: $type:ty = $value:expr => [$($text:expr),*], $structured:expr;)*) => {
        $(
            #[tool(reads)]
            async fn $name() -> $type {
                $value
            }
        )*

        fn tools() -> Tools {
            tools![$($name),*]
        }

        fn expected() -> Vec<(&'static str, Vec<&'static str>, Value)> {
            vec![$((stringify!($name), vec![$($text),*], $structured)),*]
        }
    };
}

value_tools! {
    text: String = ada() => ["Ada"], json!({"result": "Ada"});
    fixed_text: &'static str = "Ada" => ["Ada"], json!({"result": "Ada"});
    empty_text: String = String::new() => ["\"\""], json!({"result": ""});
    shared_text: Arc<str> = "Ada".into() => ["Ada"], json!({"result": "Ada"});
    boxed_text: Box<str> = "Ada".into() => ["Ada"], json!({"result": "Ada"});
    lent_text: Cow<'static, str> = Cow::Borrowed("Ada") => ["Ada"], json!({"result": "Ada"});
    wide_small: u128 = 7 => ["7"], json!({"result": 7});
    wide: u128 = u128::MAX
        => ["340282366920938463463374607431768211455"],
        json!({"result": "340282366920938463463374607431768211455"});
    wide_signed: Vec<Option<i128>> = vec![Some(i128::MIN), None, Some(-1)]
        => ["-170141183460469231731687303715884105728", "null", "-1"],
        json!({"result": ["-170141183460469231731687303715884105728", null, -1]});
    letter: char = 'a' => ["a"], json!({"result": "a"});
    integer: i64 = 42 => ["42"], json!({"result": 42});
    unsigned: u64 = u64::MAX => ["18446744073709551615"], json!({"result": u64::MAX});
    small: u8 = 7 => ["7"], json!({"result": 7});
    truth: bool = true => ["true"], json!({"result": true});
    number: f64 = 1.5 => ["1.5"], json!({"result": 1.5});
    whole_number: f64 = 2.0 => ["2.0"], json!({"result": 2.0});
    newtype: Metres = Metres(1.5) => ["1.5"], json!({"result": 1.5});
    choice: Colour = Colour::Red => ["red"], json!({"result": "red"});

    list: Vec<String> = vec!["first".to_owned(), "second".to_owned()]
        => ["first", "second"], json!({"result": ["first", "second"]});
    empty_list: Vec<i64> = Vec::new() => ["[]"], json!({"result": []});
    sparse_lists: Vec<Vec<String>> = vec![Vec::new(), vec![String::new(), ada()]]
        => ["[]", "\"\"", "Ada"], json!({"result": [[], ["", "Ada"]]});
    empty_map: BTreeMap<String, i64> = BTreeMap::new() => ["{}"], json!({});
    lists: Vec<Vec<i64>> = vec![vec![1], vec![2, 3]] => ["1", "2", "3"], json!({"result": [[1], [2, 3]]});
    records: Vec<Address> = vec![user().address]
        => [r#"{"street":"Main","number":1}"#], json!({"result": [{"street": "Main", "number": 1}]});
    set: BTreeSet<i64> = BTreeSet::from([2, 1]) => ["1", "2"], json!({"result": [1, 2]});
    triple: (i64, String, bool) = (1, ada(), true) => ["1", "Ada", "true"], json!({"result": [1, "Ada", true]});
    array: [i64; 2] = [1, 2] => ["1", "2"], json!({"result": [1, 2]});

    some: Option<i64> = Some(1) => ["1"], json!({"result": 1});
    none: Option<i64> = None => ["null"], json!({"result": null});
    some_record: Option<Address> = Some(user().address)
        => [r#"{"street":"Main","number":1}"#], json!({"result": {"street": "Main", "number": 1}});
    no_record: Option<Address> = None => ["null"], json!({"result": null});

    record: User = user()
        => [r#"{"name":"Ada","address":{"street":"Main","number":1},"fax":null}"#],
        json!({"name": "Ada", "address": {"street": "Main", "number": 1}, "fax": null});
    fallible: Result<Address, ToolError> = Ok(user().address)
        => [r#"{"street":"Main","number":1}"#], json!({"street": "Main", "number": 1});
    in_a_box: Box<Address> = Box::new(user().address)
        => [r#"{"street":"Main","number":1}"#], json!({"street": "Main", "number": 1});
    shared: Arc<Address> = Arc::new(user().address)
        => [r#"{"street":"Main","number":1}"#], json!({"street": "Main", "number": 1});
    shared_ones: Vec<Arc<Address>> = vec![Arc::new(user().address)]
        => [r#"{"street":"Main","number":1}"#], json!({"result": [{"street": "Main", "number": 1}]});
    map: BTreeMap<String, i64> = BTreeMap::from([("a".to_owned(), 1)]) => [r#"{"a":1}"#], json!({"a": 1});
    numbered: HashMap<u32, bool> = HashMap::from([(7, true)]) => [r#"{"7":true}"#], json!({"7": true});
    recursive: Nested = Nested { name: ada(), within: Some(Box::new(Nested { name: ada(), within: None })) }
        => [r#"{"name":"Ada","within":{"name":"Ada","within":null}}"#],
        json!({"name": "Ada", "within": {"name": "Ada", "within": null}});

    tagged: Tagged = Tagged::Person { name: ada() }
        => [r#"{"kind":"person","name":"Ada"}"#], json!({"kind": "person", "name": "Ada"});
    tagged_unit: Tagged = Tagged::Nobody => [r#"{"kind":"nobody"}"#], json!({"kind": "nobody"});
    adjacent: Adjacent = Adjacent::Number(1)
        => [r#"{"kind":"number","value":1}"#], json!({"kind": "number", "value": 1});
    external: External = External::Person { name: ada() }
        => [r#"{"person":{"name":"Ada"}}"#], json!({"result": {"person": {"name": "Ada"}}});
    external_unit: External = External::Nobody => ["nobody"], json!({"result": "nobody"});
    untagged_number: Untagged = Untagged::Number(1) => ["1"], json!({"result": 1});
    untagged_record: Untagged = Untagged::Person { name: ada() }
        => [r#"{"name":"Ada"}"#], json!({"result": {"name": "Ada"}});
}

#[tokio::test]
async fn every_value_has_its_text_and_keeps_its_schema_in_both_eras() {
    for client in both_ways(tools).await {
        for (tool, blocks, structured) in expected() {
            let schema = output(&client, tool).await.unwrap_or_else(|| panic!("{tool}: no schema"));
            assert_eq!(schema["type"], "object", "{tool}");
            let called = call(&client, tool, json!({})).await;
            assert_eq!(texts(&called), blocks, "{tool}");
            assert_eq!(called.structured(), Some(&structured), "{tool}");
            let nothing_to_show = |block: &&str| block.is_empty();
            assert!(!blocks.is_empty() && !blocks.iter().any(nothing_to_show), "{tool}");
            let is_boxed = schema.get("x-dedalus-box").is_some();
            assert_eq!(is_boxed, structured.get("result").is_some(), "{tool}");
            if !is_boxed {
                let said: Value = serde_json::from_str(called.text()).unwrap();
                assert_eq!(said, structured, "{tool}: the text equals the value");
            }
        }
    }
}

/// More than 64 kB of text, with every kind of element that is empty.
#[tool(reads)]
fn sparse() -> Vec<Option<Vec<String>>> {
    let rows = [None, Some(Vec::new()), Some(vec![String::new(), "x".repeat(100)])];
    rows.into_iter().cycle().take(3_000).collect()
}

#[tokio::test]
async fn large_text_is_omitted_if_the_client_can_rebuild_it() {
    let client = Ways::modern(server(tools![none, empty_list, sparse])).await;
    let declared = json!({"dev.candor/structured-content": {}});
    for extensions in [json!({}), declared.clone()] {
        for (tool, text) in [("none", "null"), ("empty_list", "[]")] {
            let answer = client.call_declaring(&extensions, tool).await;
            let block = json!([{"type": "text", "text": text}]);
            assert_eq!(answer["result"]["content"], block, "{answer}");
        }
    }
    let answer = client.call_declaring(&json!({}), "sparse").await;
    assert_eq!(answer["result"]["content"].as_array().map(Vec::len), Some(4_000));
    let answer = client.call_declaring(&declared, "sparse").await;
    let told = &answer["result"]["_meta"]["dev.candor/structured-content"];
    assert_eq!(*told, json!({"textOmitted": true, "box": "result"}));
}

// ---- nothing

#[tool(unclassified)]
fn unit() {}

#[tool(unclassified)]
fn fallible_unit() -> Result<(), ToolError> {
    Ok(())
}

#[tool(unclassified)]
fn unit_struct() -> Done {
    Done
}

#[tokio::test]
async fn unit_has_no_content_and_a_unit_struct_is_null() {
    for client in both_ways(|| tools![unit, fallible_unit, unit_struct]).await {
        let null = json!([{"type": "text", "text": "null"}]);
        for (tool, content) in
            [("unit", json!([])), ("fallible_unit", json!([])), ("unit_struct", null)]
        {
            assert_eq!(output(&client, tool).await, None, "{tool}");
            let called = call(&client, tool, json!({})).await;
            assert_eq!(called.raw()["content"], content, "{tool}");
            assert_eq!(called.raw().get("structuredContent"), None, "{tool}");
        }
    }
}

// ---- bytes

#[tool(reads)]
fn bytes() -> Vec<u8> {
    b"\x89PNG\r\n\x1a\n".to_vec()
}

#[tool(reads)]
fn fallible_bytes() -> Result<Vec<u8>, String> {
    Ok(b"\x89PNG\r\n\x1a\n".to_vec())
}

#[tokio::test]
async fn bytes_are_base64_text_without_a_structured_value() {
    for client in both_ways(|| tools![bytes, fallible_bytes]).await {
        for tool in ["bytes", "fallible_bytes"] {
            assert_eq!(output(&client, tool).await, None);
            let called = call(&client, tool, json!({})).await;
            assert_eq!((texts(&called), called.structured()), (vec!["iVBORw0KGgo="], None));
        }
    }
}

// ---- promises that cannot be kept

#[tool(reads)]
fn divide(a: f64, b: f64) -> f64 {
    a / b
}

#[tool(reads)]
fn parts() -> BTreeMap<String, f64> {
    BTreeMap::from([("part".to_owned(), f64::INFINITY)])
}

#[tool(reads)]
fn unwritable() -> BTreeMap<Vec<u8>, u8> {
    BTreeMap::from([(vec![1], 2)])
}

#[tokio::test]
async fn result_that_violates_its_schema_is_logged_but_not_sent() {
    for client in both_ways(|| tools![divide, parts]).await {
        for (tool, arguments, place) in
            [("divide", json!({"a": 0.0, "b": 0.0}), "/result"), ("parts", json!({}), "/part")]
        {
            let log = Log::listen();
            let called = client.call(tool, arguments).await;
            assert!(called.is_error() && called.structured().is_none());
            assert_eq!(called.raw()["_meta"]["dev.candor/error"]["code"], "result_invalid");
            assert!(!called.raw().to_string().contains(place), "{}", called.raw());
            let log = log.text();
            assert!(log.contains(place) && log.contains(tool), "{log}");
        }
    }
}

#[tokio::test]
async fn value_that_json_cannot_represent_is_an_internal_error() {
    let [client, _] = both_ways(|| tools![unwritable]).await;
    let log = Log::listen();
    let called = client.call("unwritable", json!({})).await;
    assert!(called.is_error());
    assert_eq!(called.raw()["_meta"]["dev.candor/error"]["code"], "internal");
    assert!(log.text().contains("cannot be written as JSON"), "{}", log.text());
}
