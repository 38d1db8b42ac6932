//! A type whose schema cannot be used costs its own tool its schema, and the server nothing.

use std::borrow::Cow;

use candor::auth::BearerTokens;
use candor::console::Console;
use candor::hints::Hints;
use candor::protocol::Principal;
use candor::protocol::types::Tool as Listed;
use candor::testing::TestResult;
use candor::tool::ToolError;
use candor::transport::stdio;
use candor::{Server, json, tool, tools};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, duplex};
use tokio::net::TcpListener;

use crate::http;
use crate::log::Log;
use crate::messages::modern;
use crate::ways::{Ways, both_ways};
use crate::{Asks as _, Tools};

/// Its schema is nonsense: no type has this name, and the pattern is none.
#[derive(Deserialize, Serialize)]
struct Weekday(u8);

impl JsonSchema for Weekday {
    fn schema_name() -> Cow<'static, str> {
        "Weekday".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "strin", "pattern": "["})
    }
}

/// Its derivation panics.
#[derive(Deserialize, Serialize)]
struct Booking {
    room: String,
    nights: u8,
}

impl JsonSchema for Booking {
    fn schema_name() -> Cow<'static, str> {
        "Booking".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        panic!("no schema for a booking")
    }
}

/// Opens on a day.
#[tool(reads)]
fn open_on(day: Weekday) -> Result<String, ToolError> {
    Ok(format!("open on {}", day.0))
}

/// Books a room.
#[tool(adds)]
fn book(booking: Booking) -> String {
    format!("{} for {} nights", booking.room, booking.nights)
}

/// The next day.
#[tool(reads)]
fn next_day() -> Weekday {
    Weekday(3)
}

/// The last booking.
#[tool(reads)]
fn last_booking() -> Booking {
    Booking { room: "7".to_owned(), nights: 2 }
}

/// Reads or deletes.
#[tool(effects(day == 1 => reads, otherwise => deletes))]
fn by_day(day: Weekday) -> String {
    day.0.to_string()
}

/// Greets.
#[tool(reads)]
fn greet(name: String) -> String {
    format!("Hello, {name}!")
}

fn broken_and_good() -> Tools {
    tools![open_on, book, next_day, last_booking, by_day, greet]
}

fn server(tools: Tools) -> Server {
    Server::new("test", "1.0.0").tools(tools)
}

const PERMISSIVE: &str = r#"{"type":"object","additionalProperties":true}"#;

fn unavailable(tool: &Listed) -> Value {
    serde_json::to_value(tool).unwrap()["_meta"]["dev.candor/schema"]["unavailable"].take()
}

#[track_caller]
fn refused(called: &TestResult, pointer: &str) {
    let raw = called.raw();
    assert_eq!(raw["isError"], json!(true), "{raw}");
    let text = raw["content"][0]["text"].as_str().unwrap();
    assert!(text.contains(pointer), "{text}");
}

#[tokio::test]
async fn broken_schema_costs_its_own_tool_over_http() {
    for ways in both_ways(broken_and_good).await {
        for name in ["open_on", "book", "by_day"] {
            let listed = ways.tool(name).await;
            assert_eq!(listed.input_schema.get(), PERMISSIVE);
            assert_eq!(unavailable(&listed), json!(["input"]));
        }
        for name in ["next_day", "last_booking"] {
            let listed = ways.tool(name).await;
            assert!(listed.output_schema.is_none(), "{listed:?}");
            assert_eq!(unavailable(&listed), json!(["output"]));
        }
        assert_eq!(unavailable(&ways.tool("greet").await), Value::Null);
        assert_eq!(called(&ways, "greet", json!({"name": "Ann"})).await, "Hello, Ann!");
        // The types check what no schema does.
        assert_eq!(called(&ways, "open_on", json!({"day": 3})).await, "open on 3");
        refused(&ways.call("open_on", json!({"day": "x"})).await, "/day");
        let booking = json!({"room": "7", "nights": 2});
        assert_eq!(called(&ways, "book", booking).await, "7 for 2 nights");
        refused(&ways.call("book", json!({"room": "7", "nights": -2})).await, "/nights");
        assert_eq!(ways.call("next_day", json!({})).await.raw()["isError"], Value::Null);
        let last = ways.call("last_booking", json!({})).await;
        assert_eq!(last.raw()["structuredContent"], json!({"room": "7", "nights": 2}));
    }
}

async fn called(ways: &Ways, tool: &str, arguments: Value) -> String {
    let called = ways.call(tool, arguments).await;
    called.raw()["content"][0]["text"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn effects_of_unchecked_arguments_are_the_worst_case() {
    let client = server(broken_and_good()).test();
    let listed = serde_json::to_value(client.listed("by_day").await).unwrap();
    assert_eq!(listed.get("dynamicAnnotations"), None, "{listed}");
    let hints = &listed["annotations"];
    assert_eq!(hints["readOnlyHint"], json!(false), "{hints}");
    assert_eq!(hints["destructiveHint"], json!(Hints::WORST.is_destructive()));
    assert_eq!(hints["openWorldHint"], json!(true));
}

#[tokio::test]
async fn broken_schema_costs_its_own_tool_over_stdio() {
    /// Opens at a place. The log warns of a tool once in a process, so this one is only here.
    #[tool(reads)]
    fn open_at(day: Weekday) -> String {
        format!("open on {}", day.0)
    }
    let log = Log::listen();
    let engine = server(tools![open_at, greet]).build().unwrap();
    let ((mut input, theirs), (output, ours)) = (duplex(1 << 16), duplex(1 << 16));
    tokio::spawn(async move { stdio::serve(&engine, Principal::new("t"), theirs, ours).await });
    let mut output = BufReader::new(output).lines();
    let mut ask = async |method: &str, params: Value| -> Value {
        let line = format!("{}\n", modern(1, method, &params));
        input.write_all(line.as_bytes()).await.unwrap();
        serde_json::from_str(&output.next_line().await.unwrap().unwrap()).unwrap()
    };
    let listed = ask("tools/list", json!({})).await;
    assert_eq!(listed["result"]["tools"][0]["inputSchema"].to_string(), PERMISSIVE, "{listed}");
    for (tool, arguments, text) in [
        ("greet", json!({"name": "Ann"}), "Hello, Ann!"),
        ("open_at", json!({"day": 3}), "open on 3"),
    ] {
        let answer = ask("tools/call", json!({"name": tool, "arguments": arguments})).await;
        assert_eq!(answer["result"]["content"][0]["text"], text, "{answer}");
    }
    let text = log.text();
    let warned = |line: &str| {
        line.contains("WARN") && line.contains("open_at") && line.contains("input schema cannot")
    };
    assert_eq!(text.lines().filter(|line| warned(line)).count(), 1, "{text}");
}

#[test]
fn strict_servers_refuse_broken_schemas_and_name_the_tool() {
    let refused = |tools: Tools| server(tools).strict().build().err().map(|e| e.to_string());
    let said = refused(tools![greet, book]).unwrap();
    assert!(said.starts_with(r#"tool "book": its type's input schema cannot be used"#), "{said}");
    assert!(said.contains("no schema for a booking"), "{said}");
    let said = refused(tools![next_day]).unwrap();
    assert!(said.starts_with(r#"tool "next_day": its type's output schema"#), "{said}");
    assert_eq!(refused(tools![greet]), None);
}

#[test]
fn broken_handwritten_schema_is_an_error() {
    /// Says nothing.
    #[tool(reads, input_schema = r#"{"type":"object","properties":{"a":{"type":"strin"}}}"#)]
    fn given(a: String) -> String {
        a
    }
    let said = server(tools![given]).build().unwrap_err().to_string();
    assert!(said.contains("/properties/a/type"), "{said}");
}

#[test]
fn tool_without_description_is_named_in_the_log() {
    #[tool(reads)]
    fn undescribed_tool() -> String {
        String::new()
    }
    let log = Log::listen();
    server(tools![undescribed_tool, greet]).build().unwrap();
    let text = log.text();
    let warned = |line: &&str| line.contains("WARN") && line.contains("no description");
    let lines: Vec<_> = text.lines().filter(warned).collect();
    assert!(matches!(lines[..], [line] if line.contains("undescribed_tool")), "{text}");
}

#[tokio::test]
async fn only_operators_see_why_a_schema_is_unavailable() {
    let tokens = BearerTokens::default()
        .token("t-member", Principal::new("ann"))
        .token("t-operator", Principal::new("root"))
        .operator(Principal::new("root"));
    let engine = server(tools![book, greet]).authenticator(tokens).build().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let router = Console::of(engine).router();
    tokio::spawn(async move { axum::serve(listener, router).await });
    let get = async |path: &str, token: &str| {
        let token = format!("Bearer {token}");
        http::ask(&address, "GET", path, &[("Authorization", &token)], "").await
    };
    for (token, is_operator) in [("t-member", false), ("t-operator", true)] {
        let listed = get("/tools", token).await.json();
        assert_eq!(listed[0]["schemaUnavailable"], json!(["input"]), "{listed}");
        assert_eq!(listed[1].get("schemaUnavailable"), None, "{listed}");
        let one = get("/tools/book", token).await.json();
        assert_eq!(one["inputSchema"].to_string(), PERMISSIVE);
        let why = "the derivation panicked: no schema for a booking";
        let problems = json!([{"schema": "input", "problem": why}]);
        assert_eq!(one.get("schemaProblems"), is_operator.then_some(&problems), "{one}");
        let list = get("/ui/", token).await;
        assert_eq!(list.body.matches("data-testid=\"schema-problem\"").count(), 1, "{list:?}");
        let page = get("/ui/tools/book", token).await;
        assert!(page.body.contains("data-testid=\"schema-problem\""), "{page:?}");
        assert_eq!(page.body.contains(why), is_operator, "{page:?}");
    }
}
