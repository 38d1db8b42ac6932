//! Keys as `#[tool]` declares them: as an argument, of the framework or the author's own, or made of the arguments.

// Tools own their arguments, also those that only look at them.
#![allow(clippy::needless_pass_by_value)]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use candor::prelude::*;
use candor::protocol::Revision;
use candor::testing::TestClient;
use candor::tool::code;
use serde_json::Value;

use crate::{input, server};

/// How often a tool ran.
#[derive(Default)]
struct Runs(AtomicUsize);

impl Runs {
    fn next(&self) -> usize {
        self.0.fetch_add(1, Ordering::SeqCst) + 1
    }
}

/// Books a room
#[tool(adds, closed_world, idempotency = argument)]
fn book(room: u32, ctx: Ctx, runs: State<Runs>) -> Value {
    json!({"room": room, "key": ctx.key(), "run": runs.next()})
}

/// Creates an invoice
#[tool(adds, closed_world, idempotency = required)]
fn invoice(amount: u32, runs: State<Runs>) -> Value {
    json!({"amount": amount, "run": runs.next()})
}

/// Creates an invoice, and keeps the key
#[tool(adds, closed_world, idempotency = required)]
fn invoice_with_key(
    amount: u32,
    /// Prevents duplicate invoices if retried.
    idempotency_key: String,
    runs: State<Runs>,
) -> Value {
    json!({"amount": amount, "key": idempotency_key, "run": runs.next()})
}

/// The same, where the author can do without
#[tool(adds, closed_world, idempotency = argument)]
fn maybe_with_key(#[optional] idempotency_key: Option<String>, runs: State<Runs>) -> Value {
    json!({"key": idempotency_key, "run": runs.next()})
}

/// Ships an order
#[tool(adds, idempotency = key(order_id))]
fn ship(order_id: String, express: bool, ctx: Ctx, runs: State<Runs>) -> Value {
    json!({"order": order_id, "express": express, "key": ctx.key(), "run": runs.next()})
}

/// Refunds part of an order
#[tool(deletes, idempotency = key(format!("{order_id}/{}", part.unwrap_or(1) + 1)))]
fn refund(order_id: u64, #[optional] part: Option<u32>, ctx: Ctx, runs: State<Runs>) -> Value {
    json!({"order": order_id, "part": part, "key": ctx.key(), "run": runs.next()})
}

#[candor::args]
struct Transfer {
    from: String,
    to: String,
    cents: u64,
}

impl Transfer {
    fn reference(&self) -> String {
        format!("{}-{}-{}", self.from, self.to, self.cents)
    }
}

/// Moves money
#[tool(deletes, idempotency = key(transfer.reference()))]
async fn transfer(transfer: Transfer, ctx: Ctx, runs: State<Runs>) -> Value {
    json!({"to": transfer.to, "key": ctx.key(), "run": runs.next()})
}

/// Takes whatever it is given
#[tool(deletes, idempotency = key(everything["id"].as_str().unwrap()))]
fn take(everything: Arguments, ctx: Ctx, runs: State<Runs>) -> Value {
    json!({"given": *everything, "key": ctx.key(), "run": runs.next()})
}

#[derive(Clone)]
struct Desk {
    prefix: String,
}

#[toolbox]
impl Desk {
    /// Reserves a seat
    #[tool(adds, idempotency = key(Self::name(*seat)))]
    async fn reserve(&self, seat: u32, ctx: Ctx, runs: State<Runs>) -> Value {
        json!({"seat": format!("{}{seat}", self.prefix), "key": ctx.key(), "run": runs.next()})
    }

    /// Cancels a seat
    #[tool(deletes, idempotency = required, recorded(seat))]
    fn release(&self, seat: u32, runs: State<Runs>) -> Value {
        json!({"seat": seat, "run": runs.next()})
    }
}

impl Desk {
    fn name(seat: u32) -> String {
        format!("seat-{seat}")
    }
}

fn client() -> (TestClient, Arc<Runs>) {
    let runs = Arc::new(Runs::default());
    let mut all =
        tools![book, invoice, invoice_with_key, maybe_with_key, ship, refund, transfer, take];
    all.extend(Desk { prefix: "A".to_owned() }.into_tools());
    (server(all).shared_state(runs.clone()).test(), runs)
}

#[tokio::test]
async fn key_argument_is_published_but_not_passed_to_the_function() {
    let (modern, runs) = client();
    assert_eq!(input(&modern, "book").await["required"], json!(["room"]));
    assert_eq!(input(&modern, "invoice").await["required"], json!(["amount", "idempotency_key"]));
    for client in [modern.by("a"), modern.by("b").speaking(Revision::LATEST_LEGACY)] {
        let first = client.call("book", json!({"room": 7, "idempotency_key": "k"})).await;
        assert_eq!(first.structured().unwrap()["key"], "k");
        assert!(client.keyed("k").call("book", json!({"room": 7})).await.is_replayed());
        assert!(!client.call("book", json!({"room": 7})).await.is_replayed());
        let missing = client.call("invoice", json!({"amount": 5})).await;
        assert_eq!(missing.code(), Some(code::KEY_REQUIRED));
        let first = client.call("invoice", json!({"amount": 5, "idempotency_key": "k"})).await;
        assert!(!first.is_error(), "{:#}", first.raw());
        assert!(
            client
                .call("invoice", json!({"amount": 5, "idempotency_key": "k"}))
                .await
                .is_replayed()
        );
    }
    assert_eq!(runs.0.load(Ordering::SeqCst), 6);
}

#[tokio::test]
async fn idempotency_key_parameter_gets_the_key() {
    let (client, _) = client();
    let said = &input(&client, "invoice_with_key").await["properties"]["idempotency_key"];
    assert_eq!(
        said["description"],
        "Prevents duplicate invoices if retried. Reuse the same key when you retry; take a new one only for a new operation."
    );
    let among = client.call("invoice_with_key", json!({"amount": 5, "idempotency_key": "k"})).await;
    assert_eq!(among.structured().unwrap()["key"], "k");
    let beside = client.keyed("k-2").call("invoice_with_key", json!({"amount": 5})).await;
    assert_eq!(beside.structured().unwrap()["key"], "k-2", "{:#}", beside.raw());
    let without = client.call("maybe_with_key", json!({})).await;
    assert_eq!(without.structured().unwrap()["key"], Value::Null);
    let with = client.keyed("k").call("maybe_with_key", json!({})).await;
    assert_eq!(with.structured().unwrap()["key"], "k");
    assert!(client.call("maybe_with_key", json!({"idempotency_key": "k"})).await.is_replayed());
}

/// The key that a tool makes of arguments, which is the same the second time.
async fn made(tool: &str, arguments: Value) -> String {
    let (client, runs) = client();
    let legacy = client.speaking(Revision::LATEST_LEGACY);
    let first = client.call(tool, arguments.clone()).await;
    let again = legacy.call(tool, arguments).await;
    assert!(!first.is_error() && again.is_replayed(), "{tool}: {:#}", again.raw());
    assert_eq!(first.structured(), again.structured());
    assert_eq!(runs.0.load(Ordering::SeqCst), 1, "{tool}");
    let key = &again.raw()["_meta"]["dev.candor/idempotency"]["key"];
    let seen = first.structured().unwrap().get("key").unwrap_or(key);
    assert_eq!(seen, key);
    key.as_str().unwrap().to_owned()
}

#[tokio::test]
async fn key_expression_may_use_any_argument() {
    assert_eq!(made("ship", json!({"order_id": "o-1", "express": true})).await, "o-1");
    assert_eq!(made("refund", json!({"order_id": 17})).await, "17/2");
    assert_eq!(made("refund", json!({"order_id": 17, "part": 5})).await, "17/6");
    assert_eq!(made("transfer", json!({"from": "a", "to": "b", "cents": 5})).await, "a-b-5");
    assert_eq!(made("take", json!({"id": "x", "n": 1})).await, "x");
    assert_eq!(made("reserve", json!({"seat": 12})).await, "seat-12");
}

#[tokio::test]
async fn invalid_key_starts_nothing() {
    let (client, runs) = client();
    for (tool, arguments) in [
        ("take", json!({"no": "id"})),
        ("ship", json!({"order_id": "", "express": true})),
        ("ship", json!({"order_id": "two words", "express": true})),
    ] {
        let refused = client.call(tool, arguments).await;
        assert_eq!(refused.code(), Some(code::KEY_INVALID), "{:#}", refused.raw());
    }
    let other = client.keyed("other").call("ship", json!({"order_id": "o", "express": true})).await;
    assert_eq!(other.code(), Some(code::KEY_INVALID));
    assert_eq!(runs.0.load(Ordering::SeqCst), 0);
    client.call("ship", json!({"order_id": "o", "express": true})).await;
    let changed = client.call("ship", json!({"order_id": "o", "express": false})).await;
    assert_eq!(changed.code(), Some(code::KEY_REUSED));
}

#[tokio::test]
async fn key_makes_the_call_idempotent() {
    let (client, _) = client();
    let hint = async |tool: &str| client.tool(tool).await.annotations.unwrap().idempotent_hint;
    assert_eq!(hint("book").await, Some(false));
    for tool in
        ["invoice", "invoice_with_key", "ship", "refund", "transfer", "take", "reserve", "release"]
    {
        assert_eq!(hint(tool).await, Some(true), "{tool}");
    }
    assert!(!client.hints("book", json!({"room": 1})).await.is_idempotent());
    assert!(client.hints("book", json!({"room": 1, "idempotency_key": "k"})).await.is_idempotent());
}

#[tokio::test]
async fn only_recorded_arguments_keep_their_values() {
    let (client, _) = client();
    client.call("release", json!({"seat": 4711, "idempotency_key": "k"})).await;
    client.call("book", json!({"room": 4712})).await;
    let store = client.engine().store().unwrap();
    let rows = store.rows(Default::default(), Default::default()).await.unwrap().items;
    let shapes: Vec<_> = rows.iter().filter_map(|row| row.circumstances.shape.as_deref()).collect();
    assert!(shapes.contains(&r#"{"seat":{"=":4711}}"#), "{shapes:?}");
    assert!(shapes.contains(&r#"{"room":"integer"}"#), "{shapes:?}");
}
