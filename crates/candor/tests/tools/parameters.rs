//! What the parameters of a function become: properties in their order, with docs, defaults and constraints.

use candor::json;
use candor::prelude::*;
use rust_decimal::Decimal;
use serde_json::Value;

use crate::{both, call, input, server};

/// Sends a letter.
///
/// Nobody knows
/// when it arrives.
#[tool(unclassified)]
fn send_letter(
    /// Who gets it
    zebra: String,
    /// The text.
    ///
    /// Plain, and
    /// on two lines.
    apple: String,
    mango: bool,
) -> String {
    format!("{zebra} {apple} {mango}")
}

#[tokio::test]
async fn parameters_keep_their_order_and_their_docs() {
    let client = server(tools![send_letter]).test();
    let tool = client.tool("send_letter").await;
    assert_eq!(
        tool.description.as_deref(),
        Some("Sends a letter.\n\nNobody knows\nwhen it arrives.")
    );
    assert_eq!(
        tool.input_schema.get(),
        json!({
            "type": "object",
            "properties": {
                "zebra": {"type": "string", "description": "Who gets it"},
                "apple": {"type": "string", "description": "The text.\n\nPlain, and\non two lines."},
                "mango": {"type": "boolean", "description": "Parameter mango"}
            },
            "required": ["zebra", "apple", "mango"],
            "additionalProperties": false
        })
        .to_string(),
    );
}

#[tool(reads, name = "find-things", title = "Find things", description = "Said elsewhere.")]
fn find(
    r#type: String,
    #[serde(rename = "maxResults")] max_results: u32,
    mut words: Vec<String>,
) -> String {
    words.sort();
    format!("{type} {max_results} {}", words.concat(), type = r#type)
}

#[tool(reads)]
fn r#match() -> bool {
    true
}

#[tokio::test]
async fn explicit_names_and_texts_are_published() {
    for client in both(|| tools![find, r#match]) {
        let tool = client.tool("find-things").await;
        assert_eq!(tool.title.as_deref(), Some("Find things"));
        assert_eq!(tool.description.as_deref(), Some("Said elsewhere."));
        let schema = input(&client, "find-things").await;
        assert_eq!(schema["required"], json!(["type", "maxResults", "words"]));
        let arguments = json!({"type": "book", "maxResults": 3, "words": ["b", "a"]});
        assert_eq!(call(&client, "find-things", arguments).await.text(), "book 3 ab");
        assert_eq!(call(&client, "match", json!({})).await.text(), "true");
    }
}

#[tool(reads)]
fn say_nothing() {}

#[tokio::test]
async fn function_without_parameters_has_an_empty_closed_schema() {
    let client = server(tools![say_nothing]).test();
    let tool = client.tool("say_nothing").await;
    let expected = r#"{"type":"object","properties":{},"additionalProperties":false}"#;
    assert_eq!(tool.input_schema.get(), expected);
    assert!(tool.description.is_none() && tool.title.is_none());
    call(&client, "say_nothing", json!({})).await;
    call(&client, "say_nothing", json!(null)).await;
    assert!(client.call("say_nothing", json!({"any": 1})).await.is_error());
}

#[candor::args]
#[derive(Debug, Clone, Copy, PartialEq)]
enum Order {
    NewestFirst,
    OldestFirst,
}

const PAGE: u16 = 20;
const SORTED_BY: &str = "date";

#[tool(reads)]
fn list(
    #[default(1)] page: u32,
    #[default(-1)] offset: i8,
    #[default(0.5)] threshold: f64,
    #[default("all")] filter: String,
    #[default(Order::NewestFirst)] order: Order,
    #[default(PAGE)] size: u64,
    #[default(SORTED_BY)] sorted_by: String,
    #[default(60 * 60)] max_age: u64,
    #[default(vec!["a".to_owned(), "b".to_owned()])] tags: Vec<String>,
    #[default(7)] perhaps: Option<u8>,
    #[default("x")] named: Option<String>,
    #[default(Some(PAGE))] several: Option<u16>,
    #[default('c')] letter: char,
) -> String {
    format!(
        "{page} {offset} {threshold} {filter} {order:?} {size} {sorted_by} {max_age} {tags:?} {perhaps:?} {named:?} \
         {several:?} {letter}"
    )
}

#[tokio::test]
async fn defaults_are_published_and_used() {
    let client = server(tools![list]).test();
    let schema = input(&client, "list").await;
    assert_eq!(schema.get("required"), None);
    let defaults: Vec<_> = schema["properties"]
        .as_object()
        .unwrap()
        .values()
        .map(|property| property["default"].clone())
        .collect();
    assert_eq!(
        json!(defaults),
        json!([1, -1, 0.5, "all", "newest_first", 20, "date", 3600, ["a", "b"], 7, "x", 20, "c"])
    );
    assert_eq!(
        call(&client, "list", json!({})).await.text(),
        r#"1 -1 0.5 all NewestFirst 20 date 3600 ["a", "b"] Some(7) Some("x") Some(20) c"#
    );
    let arguments = json!({"order": "oldest_first", "page": 2, "perhaps": null, "named": "y"});
    assert_eq!(
        call(&client, "list", arguments).await.text(),
        r#"2 -1 0.5 all OldestFirst 20 date 3600 ["a", "b"] None Some("y") Some(20) c"#
    );
}

#[tool(reads)]
fn search(query: String, limit: Option<u8>, #[optional] after: Option<String>) -> String {
    format!("{query} {limit:?} {after:?}")
}

#[tokio::test]
async fn option_accepts_null_and_optional_does_not() {
    let client = server(tools![search]).test();
    let schema = input(&client, "search").await;
    assert_eq!(schema["required"], json!(["query"]));
    let limit = &schema["properties"]["limit"];
    assert_eq!(limit["anyOf"][1], json!({"type": "null"}));
    assert_eq!(limit["default"], json!(null));
    assert_eq!(
        schema["properties"]["after"],
        json!({"type": "string", "description": "Parameter after"})
    );
    for (arguments, expected) in [
        (json!({"query": "q"}), "q None None"),
        (json!({"query": "q", "limit": null}), "q None None"),
        (json!({"query": "q", "limit": 3, "after": "x"}), r#"q Some(3) Some("x")"#),
    ] {
        assert_eq!(call(&client, "search", arguments).await.text(), expected);
    }
    let refused = client.call("search", json!({"query": "q", "after": null})).await;
    assert!(refused.is_error() && refused.text().contains("/after"), "{}", refused.text());
}

/// A parameter may have the function's own name.
#[tool(reads)]
async fn echo(echo: String) -> String {
    echo
}

#[tokio::test]
async fn parameter_may_be_named_like_its_function() {
    let client = server(tools![echo]).test();
    assert_eq!(call(&client, "echo", json!({"echo": "hi"})).await.text(), "hi");
}

#[tool(unclassified)]
fn register(
    #[length(min = 3, max = 5)] name: String,
    #[range(min = 1, max = 9)] level: i64,
    #[regex("^[a-z]+$")] slug: String,
    #[email] mail: String,
    #[url] site: String,
    #[schemars(extend("examples" = ["x"]))] note: String,
    #[length(max = 2)] tags: Vec<String>,
    #[range(min = 0.0, max = 1.0)] share: Option<f64>,
) -> String {
    format!("{name} {level} {slug} {mail} {site} {note} {tags:?} {share:?}")
}

#[tokio::test]
async fn constraints_are_published_and_enforced() {
    let client = server(tools![register]).test();
    let schema = input(&client, "register").await;
    let property = |name: &str| {
        let mut property = schema["properties"][name].clone();
        property.as_object_mut().unwrap().remove("description");
        property
    };
    assert_eq!(property("name"), json!({"type": "string", "minLength": 3, "maxLength": 5}));
    assert_eq!(property("level"), json!({"type": "integer", "minimum": 1, "maximum": 9}));
    assert_eq!(property("slug"), json!({"type": "string", "pattern": "^[a-z]+$"}));
    assert_eq!(property("mail"), json!({"type": "string", "format": "email"}));
    assert_eq!(property("site"), json!({"type": "string", "format": "uri"}));
    assert_eq!(property("note"), json!({"type": "string", "examples": ["x"]}));
    assert_eq!(property("tags")["maxItems"], 2);
    assert_eq!(
        property("share")["anyOf"],
        json!([{"type": "number", "minimum": 0.0, "maximum": 1.0}, {"type": "null"}])
    );
    let good = json!({
        "name": "anna", "level": 9, "slug": "ab", "mail": "a@b.ch", "site": "https://b.ch/", "note": "", "tags": []
    });
    call(&client, "register", good.clone()).await;
    for (member, bad) in [
        ("name", json!("al")),
        ("name", json!("annabel")),
        ("level", json!(0)),
        ("slug", json!("AB")),
        ("mail", json!("nobody")),
        ("site", json!("not a url")),
        ("tags", json!(["a", "b", "c"])),
        ("share", json!(1.5)),
    ] {
        let mut arguments = good.clone();
        arguments[member] = bad;
        let refused = client.call("register", &arguments).await;
        let pointer = format!("/{member}");
        assert!(
            refused.is_error() && refused.text().contains(&pointer),
            "{arguments}: {}",
            refused.text()
        );
    }
}

#[candor::args]
struct Weights {
    #[default([0.1, 0.7])]
    two: [f32; 2],
}

#[tool(reads)]
fn mix(
    #[default(0.1)]
    #[range(min = 0.0, max = 0.1)]
    share: f32,
    #[default(1e30)]
    #[range(max = 1e30)]
    far: f32,
    #[default(0.7)]
    #[range(min = 0.7)]
    perhaps: Option<f32>,
    #[default(Weights { two: [0.3, 0.4] })] weights: Weights,
) -> String {
    format!("{share} {far} {perhaps:?} {:?}", weights.two)
}

#[tokio::test]
async fn default_of_32_bits_is_published_as_it_is_written() {
    let client = server(tools![mix]).test();
    let schema = input(&client, "mix").await;
    let of = |name: &str| schema["properties"][name]["default"].to_string();
    assert_eq!([of("share"), of("far"), of("perhaps")], ["0.1", "1e+30", "0.7"]);
    assert_eq!(of("weights"), r#"{"two":[0.3,0.4]}"#);
    let two = &schema["properties"]["weights"]["properties"]["two"]["default"];
    assert_eq!(two.to_string(), "[0.1,0.7]");
    let expected = "0.1 1000000000000000000000000000000 Some(0.7) [0.3, 0.4]";
    assert_eq!(call(&client, "mix", json!({})).await.text(), expected);
    let same = json!({"share": 0.1, "perhaps": 0.7, "weights": {"two": [0.3, 0.4]}});
    assert_eq!(call(&client, "mix", same).await.text(), expected);
}

#[tool(reads)]
fn pay(
    #[range(min = 1)] amount: Decimal,
    #[length(max = 3)] digits: Option<Decimal>,
    #[range(min = 1)] anything: Value,
) -> String {
    format!("{amount} {digits:?} {anything}")
}

#[tool(reads)]
fn matching(#[regex("(")] text: Option<String>, #[regex("^a")] other: String) -> String {
    format!("{text:?} {other}")
}

#[candor::args]
enum Speed {
    Slow,
    Fast,
}

#[tool(reads)]
fn drive(#[length(max = 2)] speed: Option<Speed>) -> bool {
    matches!(speed, Some(Speed::Fast))
}

#[test]
fn constraint_that_the_schema_cannot_enforce_is_not_registered() {
    let form = "use a type with one form, or check the value in the function";
    let also = |at: &str, what: &str, other: &str| {
        format!("`{at}`: {what}, and this can also be {other}; {form}")
    };
    for (tools, expected) in [
        (
            tools![pay],
            vec![
                also("/amount", "`#[range]` limits numbers", "a string"),
                also("/digits", "`#[length]` limits strings, lists and maps", "a number"),
                also("/anything", "`#[range]` limits numbers", "any other value"),
            ],
        ),
        (
            tools![matching],
            vec![
                r#"`/text`: `#[regex]` is invalid: the pattern "(" cannot be used: unclosed group; correct the pattern"#
                    .to_owned(),
            ],
        ),
        (
            tools![drive],
            vec!["`/speed`: its limits refuse each of its values: expected at most 2 characters".to_owned()],
        ),
    ] {
        let error = server(tools).build().unwrap_err().to_string();
        for expected in expected {
            assert!(error.contains(&expected), "{expected} is not in {error}");
        }
        assert!(!error.contains("/other"), "{error}");
    }
}

#[tokio::test]
async fn every_invalid_argument_is_reported_at_once() {
    let client = server(tools![register]).test();
    let refused = client.call("register", json!({"name": "al", "level": "x", "slugg": "ab"})).await;
    let details = &refused.raw()["_meta"]["dev.candor/error"];
    assert_eq!(details["code"], "invalid_arguments");
    let pointers: Vec<_> =
        details["fields"].as_array().unwrap().iter().map(|f| &f["pointer"]).collect();
    for pointer in ["/name", "/level", "/slugg", "/mail", "/site", "/note", "/tags"] {
        assert!(pointers.contains(&&json!(pointer)), "{pointer} is not in {pointers:?}");
    }
}

/// Foreign types, read and described by the author's own means.
mod foreign {
    use serde::Deserialize as _;

    /// It has neither `Deserialize` nor `JsonSchema`.
    #[derive(Debug)]
    pub(super) struct Degrees(pub(super) f64);

    pub(super) fn read<'de, D: serde::Deserializer<'de>>(reader: D) -> Result<Degrees, D::Error> {
        f64::deserialize(reader).map(Degrees)
    }
}

#[tool(reads)]
fn turn(
    #[serde(deserialize_with = "foreign::read")]
    #[schemars(with = "f64")]
    by: foreign::Degrees,
    #[serde(default)] twice: bool,
) -> f64 {
    by.0 * if twice { 2.0 } else { 1.0 }
}

#[tokio::test]
async fn foreign_type_may_use_serde_and_schemars_attributes() {
    let client = server(tools![turn]).test();
    let schema = input(&client, "turn").await;
    assert_eq!(schema["properties"]["by"]["type"], "number");
    assert_eq!(schema["required"], json!(["by"]));
    let turned = call(&client, "turn", json!({"by": 45, "twice": true})).await;
    assert_eq!(turned.structured(), Some(&json!({"result": 90.0})));
}

#[tool(reads)]
fn widths(small: u8, index: usize) -> u64 {
    u64::from(small) + index as u64
}

#[tokio::test]
async fn integral_float_is_accepted_within_the_integer_range() {
    let client = server(tools![widths]).test();
    let sum = call(&client, "widths", json!({"small": 2.0, "index": 3})).await;
    assert_eq!(sum.structured(), Some(&json!({"result": 5})));
    for arguments in [json!({"small": 256, "index": 3}), json!({"small": 2.5, "index": 3})] {
        let refused = client.call("widths", &arguments).await;
        assert!(refused.is_error() && refused.text().contains("/small"), "{}", refused.text());
    }
}
