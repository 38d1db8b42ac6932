//! How tools fail: what the caller reads, what programs read, and what only the log does.

use std::fmt;
use std::time::Duration;

use candor::json;
use candor::prelude::*;
use candor::testing::TestResult;
use serde_json::Value;

use crate::log::Log;
use crate::{both, server};

const HIDDEN: &str = "It failed unexpectedly; the server's log says why.";

/// What programs are told, but for the number of its line in the log.
fn details(called: &TestResult) -> Value {
    without_number(called).0
}

fn without_number(called: &TestResult) -> (Value, String) {
    assert!(called.is_error() && called.structured().is_none(), "{}", called.raw());
    let mut details = called.raw()["_meta"]["dev.candor/error"].clone();
    let number = details.as_object_mut().unwrap().shift_remove("traceId");
    let number = number.unwrap_or_else(|| panic!("no number: {details}"));
    (details, number.as_str().unwrap().to_owned())
}

/// The same; the line must be there.
fn but_for_the_number(called: &TestResult, log: &Log) -> Value {
    let (details, number) = without_number(called);
    assert!(log.text().contains(&number), "{number} in {}", log.text());
    details
}

#[tool(reads)]
fn pay(id: i64) -> Result<String, ToolError> {
    match id {
        1 => Ok("paid".to_owned()),
        2 => Err(ToolError::new("No.")),
        3 => Err(ToolError::new("Too many requests")
            .code("busy")
            .retry_after(Duration::from_millis(1500))),
        4 => Err(ToolError::new("There is no such invoice")
            .code("not_found")
            .field("/id", "no invoice has this number")
            .instead("list_invoices", json!({"year": 2026}))
            .never_retry()
            .log("id 4 was deleted by root")
            .content([Content::text("See the manual")])),
        _ => Err(ToolError::internal("the database is on fire")),
    }
}

#[tokio::test]
async fn tool_error_carries_its_code_and_advice() {
    for client in both(|| tools![pay]) {
        assert!(!client.call("pay", json!({"id": 1})).await.is_error());

        let called = client.call("pay", json!({"id": 2})).await;
        assert_eq!(details(&called), json!({"code": "failed"}));
        assert_eq!(called.text(), "No.");

        let called = client.call("pay", json!({"id": 3})).await;
        assert_eq!(
            details(&called),
            json!({"code": "busy", "retriable": true, "retryAfterMs": 1500})
        );
        assert_eq!(called.text(), "Too many requests. Try again in 2 s.");

        let log = Log::listen();
        let called = client.call("pay", json!({"id": 4})).await;
        assert_eq!(
            but_for_the_number(&called, &log),
            json!({
                "code": "not_found",
                "retriable": false,
                "instead": {"tool": "list_invoices", "arguments": {"year": 2026}},
                "fields": [{"pointer": "/id", "problem": "no invoice has this number"}]
            })
        );
        assert_eq!(
            crate::texts(&called),
            [
                "There is no such invoice. /id: no invoice has this number. Call list_invoices with {\"year\":2026} \
                 instead. Do not try the same call again.",
                "See the manual"
            ]
        );
        assert!(log.text().contains("deleted by root") && log.text().contains("pay"));
        assert!(!called.raw().to_string().contains("root"));

        let called = client.call("pay", json!({"id": 5})).await;
        assert_eq!(but_for_the_number(&called, &log), json!({"code": "internal"}));
        assert_eq!(called.text(), HIDDEN);
        assert!(log.text().contains("the database is on fire"));
    }
}

// ---- errors of other kinds

#[derive(Debug)]
struct Leak(std::num::ParseIntError);

impl fmt::Display for Leak {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("password=hunter2")
    }
}

impl std::error::Error for Leak {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.0)
    }
}

fn leaks() -> Result<i64, Leak> {
    "x".parse().map_err(Leak)
}

#[tool(reads)]
fn by_question_mark() -> Result<i64, ToolError> {
    Ok(leaks()?)
}

#[tool(reads)]
async fn as_it_is() -> Result<i64, Leak> {
    leaks()
}

#[tool(reads)]
fn in_a_box() -> Result<i64, Box<dyn std::error::Error + Send + Sync>> {
    Ok(leaks()?)
}

/// Words, but no error.
struct Words;

impl fmt::Display for Words {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("password=hunter2")
    }
}

#[tool(reads)]
fn summary() -> Result<i64, Words> {
    Err(Words)
}

#[tokio::test]
async fn text_of_a_foreign_error_goes_only_to_the_log() {
    for client in both(|| tools![by_question_mark, as_it_is, in_a_box, summary]) {
        for tool in ["by_question_mark", "as_it_is", "in_a_box", "summary"] {
            let log = Log::listen();
            let called = client.call(tool, json!({})).await;
            assert_eq!(but_for_the_number(&called, &log), json!({"code": "internal"}), "{tool}");
            assert_eq!(called.text(), HIDDEN, "{tool}");
            assert!(!called.raw().to_string().contains("hunter2"), "{tool}");
            let log = log.text();
            assert!(log.contains("hunter2") && log.contains(tool), "{tool}: {log}");
            let with_reasons = ["by_question_mark", "as_it_is"].contains(&tool);
            assert!(!with_reasons || log.contains("invalid digit"), "{tool}: {log}");
        }
    }
}

#[tool(reads)]
fn text(name: String) -> Result<i64, String> {
    Err(format!("Nobody is called {name}"))
}

#[tool(reads)]
fn fixed_text() -> Result<(), &'static str> {
    Err("Not today")
}

/// An error of the author's own, which knows what to tell the caller.
#[derive(Debug)]
enum Shop {
    Closed,
}

impl From<Shop> for ToolError {
    fn from(Shop::Closed: Shop) -> Self {
        Self::new("The shop is closed").code("closed")
    }
}

#[tool(reads)]
fn shop() -> Result<i64, Shop> {
    Err(Shop::Closed)
}

#[tokio::test]
async fn text_errors_and_conversions_reach_the_caller() {
    for client in both(|| tools![text, fixed_text, shop]) {
        let called = client.call("text", json!({"name": "Ada"})).await;
        assert_eq!(called.text(), "Nobody is called Ada");
        assert_eq!(details(&called), json!({"code": "failed"}));
        assert_eq!(client.call("fixed_text", json!({})).await.text(), "Not today");
        let called = client.call("shop", json!({})).await;
        assert_eq!(called.text(), "The shop is closed");
        assert_eq!(details(&called), json!({"code": "closed"}));
    }
}

// ---- panics, deadlines, strangers

#[tool(reads)]
fn panics() -> i64 {
    panic!("password=hunter2")
}

#[tool(reads)]
async fn panics_later() -> i64 {
    tokio::task::yield_now().await;
    panic!("password=hunter2")
}

#[tool(reads, blocking)]
fn panics_elsewhere() -> i64 {
    panic!("password=hunter2")
}

#[tokio::test]
async fn panic_fails_only_its_call() {
    for client in both(|| tools![panics, panics_later, panics_elsewhere]) {
        for tool in ["panics", "panics_later", "panics_elsewhere"] {
            let log = Log::listen();
            let called = client.call(tool, json!({})).await;
            assert_eq!(but_for_the_number(&called, &log), json!({"code": "internal"}));
            assert_eq!(called.text(), HIDDEN);
            assert!(log.text().contains("hunter2"));
        }
    }
}

#[tool(reads, blocking)]
fn blocks() -> i64 {
    std::thread::sleep(Duration::from_millis(500));
    1
}

#[tokio::test]
async fn blocking_tool_does_not_delay_other_calls() {
    // One thread serves all.
    let client = server(tools![blocks, pay]).test();
    let begun = std::time::Instant::now();
    let (_, quick) = tokio::join!(client.call("blocks", json!({})), async {
        client.call("pay", json!({})).await;
        begun.elapsed()
    });
    assert!(quick < Duration::from_millis(400), "{quick:?}");
}

#[tool(reads)]
async fn sleeps() -> i64 {
    tokio::time::sleep(Duration::from_secs(600)).await;
    1
}

#[tokio::test]
async fn call_past_its_deadline_is_stopped() {
    let server = || server(tools![sleeps]).limits(|l| l.deadline = Duration::from_millis(20));
    for client in [server().test(), server().test_legacy()] {
        let called = client.call("sleeps", json!({})).await;
        assert_eq!(details(&called), json!({"code": "timed_out", "raisedBy": "server"}));
        assert!(called.text().contains("took too long"), "{}", called.text());
    }
}

#[tokio::test]
async fn unknown_tool_is_a_protocol_error() {
    for client in both(|| tools![pay]) {
        let error = client.try_call("pray", json!({})).await.unwrap_err();
        assert_eq!(error.code(), -32602);
        assert!(error.message.contains("pray"), "{}", error.message);
    }
}

#[tool(reads)]
async fn asks(ctx: Ctx) -> Result<String, ToolError> {
    let answer =
        ctx.elicit(Elicit::form("Who?", &json!({"type": "object", "properties": {}}))).await?;
    Ok(format!("{answer:?}"))
}

#[tokio::test]
async fn unsupported_elicitation_is_reported_to_the_caller() {
    let [modern, legacy] = both(|| tools![asks]);
    let error = modern.try_call("asks", json!({})).await.unwrap_err();
    assert!(error.message.contains("capability"), "{}", error.message);
    let called = legacy.call("asks", json!({})).await;
    assert_eq!(details(&called), json!({"code": "failed"}));
    assert_ne!(called.text(), HIDDEN);
}
