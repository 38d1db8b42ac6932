//! A call of which nobody knows what came of it: an operator finds out, and says so.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use candor_server::tool::{JsonTool, ToolError};
use serde_json::{Value, json};

use crate::desk::page;
use crate::site::{Reply, Site, server};

struct Bank {
    site: Site,
    started: Arc<AtomicUsize>,
}

impl Bank {
    /// A tool that breaks down the first time, when nobody knows how far it has come.
    async fn new() -> Self {
        let started: Arc<AtomicUsize> = Arc::default();
        let times = Arc::clone(&started);
        let tool = JsonTool::open("pay", move |_, _| {
            let time = times.fetch_add(1, Ordering::SeqCst);
            async move {
                assert!(time > 0, "half way");
                Ok::<_, ToolError>("paid the second time")
            }
        });
        let bank = Self { site: Site::of(server().tool(tool)), started };
        let first = bank.pay().await;
        assert_ne!(first.status, 200, "{}", first.body);
        assert_eq!(bank.state().await, "indeterminate");
        bank
    }

    async fn pay(&self) -> Reply {
        let ask = self.site.ask("POST", "/tools/pay/call").known();
        ask.header("idempotency-key", "order-17").json(&json!({})).send().await
    }

    async fn state(&self) -> String {
        let found = self.site.ask("GET", "/history/order-17").known().send().await.ok();
        found["state"].as_str().unwrap().to_owned()
    }

    async fn resolve(&self, body: Value) -> Reply {
        self.site.post("/history/order-17/resolve", body).await
    }

    fn started(&self) -> usize {
        self.started.load(Ordering::SeqCst)
    }
}

#[tokio::test]
async fn what_was_done_is_told_to_the_next_call_with_the_key() {
    let whole = json!({"content": [{"type": "text", "text": "as it was"}], "isError": false});
    for (body, told) in [
        (json!({"finding": "done", "text": "paid <b>once</b>"}), json!("paid <b>once</b>")),
        (json!({"finding": "done", "result": whole}), json!("as it was")),
        (json!({"finding": "done", "result": {"number": 4711}}), json!("{\"number\":4711}")),
        (json!({"finding": "done", "result": "paid"}), json!("\"paid\"")),
    ] {
        let bank = Bank::new().await;
        let said = bank.resolve(body).await.ok();
        assert_eq!((&said["state"], &said["by"]), (&json!("completed"), &json!("operator")));
        let again = bank.pay().await;
        assert_eq!(again.ok()["content"][0]["text"], told);
        assert_eq!(again.header("idempotent-replayed"), "true");
        assert_eq!(bank.started(), 1, "nothing is done twice");
        bank.resolve(json!({"finding": "abandon"})).await.problem(409, "not_unknown");
        assert_eq!(bank.pay().await.ok()["content"][0]["text"], told);
    }
    let bank = Bank::new().await;
    bank.resolve(json!({"finding": "done"})).await.ok();
    let told = bank.pay().await.ok();
    assert!(told["content"][0]["text"].as_str().unwrap().contains("is not known"), "{told}");
}

/// No number is rounded on its way into the ledger.
#[tokio::test]
async fn a_result_is_kept_digit_for_digit() {
    let bank = Bank::new().await;
    let body = r#"{"finding": "done", "result": {"n": 123456789012345678901234567890, "x": 1.10}}"#;
    let ask = bank.site.ask("POST", "/history/order-17/resolve").known();
    ask.text("application/json", body).send().await.ok();
    let again = bank.pay().await;
    let digits = r#"{"n": 123456789012345678901234567890, "x": 1.10}"#;
    assert_eq!(again.ok()["content"][0]["text"], digits);
}

#[tokio::test]
async fn what_failed_is_an_error_for_the_next_call() {
    let bank = Bank::new().await;
    let said = bank.resolve(json!({"finding": "failed", "text": "no money"})).await.ok();
    assert_eq!((&said["state"], &said["outcome"]), (&json!("completed"), &json!("failure")));
    let again = bank.pay().await.ok();
    assert_eq!(
        (&again["isError"], &again["content"][0]["text"]),
        (&json!(true), &json!("no money"))
    );
    assert_eq!(bank.started(), 1);
}

#[tokio::test]
async fn what_was_not_done_may_start_once_more() {
    let bank = Bank::new().await;
    let said = bank.resolve(json!({"finding": "not_done"})).await.ok();
    assert_eq!(said["state"], "open");
    assert_eq!(bank.pay().await.ok()["content"][0]["text"], "paid the second time");
    assert_eq!(bank.started(), 2);
}

#[tokio::test]
async fn what_is_abandoned_stays_so() {
    let bank = Bank::new().await;
    assert_eq!(bank.resolve(json!({"finding": "abandon"})).await.ok()["state"], "abandoned");
    bank.pay().await.problem(410, "abandoned");
    assert_eq!(bank.started(), 1);
}

#[tokio::test]
async fn what_makes_no_sense_changes_nothing() {
    let bank = Bank::new().await;
    for body in [
        json!({}),
        json!({"finding": null}),
        json!({"finding": "perhaps"}),
        json!({"finding": 7}),
        json!({"finding": "DONE"}),
        json!({"text": "paid"}),
        json!({"finding": "done", "result": 1, "text": "paid"}),
        json!({"finding": "failed", "result": 1, "text": "paid"}),
        json!({"finding": "done", "text": 7}),
        json!({"finding": "done", "results": 1}),
        json!({"finding": "done", "result": {"content": [{"type": "text"}]}}),
        json!({"finding": "done", "result": {"content": [], "isError": "no"}}),
        // A result of what was not done: one of the two is not meant.
        json!({"finding": "not_done", "text": "paid"}),
        json!({"finding": "not_done", "result": 1}),
        json!({"finding": "abandon", "text": ""}),
        json!(["done"]),
    ] {
        let reply = bank.resolve(body.clone()).await;
        assert_eq!(reply.status, 400, "{body}: {}", reply.body);
        reply.problem(400, "bad_request");
    }
    assert_eq!(bank.state().await, "indeterminate");
    let nothing = bank.site.post("/history/order-18/resolve", json!({"finding": "done"})).await;
    nothing.problem(404, "not_found");
    let get = bank.site.ask("GET", "/history/order-17/resolve").known().send().await;
    get.problem(405, "method_not_allowed");
    assert_eq!(bank.started(), 1);
}

#[tokio::test]
async fn the_page_offers_it_where_it_is_needed() {
    let bank = Bank::new().await;
    let list = page(&bank.site, "/ui/history").await;
    assert!(list.contains("<tr data-state=\"unknown\""), "{list}");
    let html = page(&bank.site, "/ui/history/order-17").await;
    assert!(html.contains("data-testid=\"resolve\""), "{html}");
    assert!(html.contains("it panicked"), "{html}");
    bank.resolve(json!({"finding": "done", "text": "paid"})).await.ok();
    let html = page(&bank.site, "/ui/history/order-17").await;
    assert!(!html.contains("data-testid=\"resolve\""), "{html}");
    assert!(html.contains("done, says operator"), "{html}");
}
