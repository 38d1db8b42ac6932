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
        assert_eq!(bank.state().await, "outcome_unknown");
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
async fn result_recorded_by_an_operator_is_replayed() {
    let whole = json!({"content": [{"type": "text", "text": "as it was"}], "isError": false});
    for (body, told) in [
        (json!({"state": "succeeded", "text": "paid <b>once</b>"}), json!("paid <b>once</b>")),
        (json!({"state": "succeeded", "result": whole}), json!("as it was")),
        (json!({"state": "succeeded", "result": {"number": 4711}}), json!("{\"number\":4711}")),
        (json!({"state": "succeeded", "result": "paid"}), json!("\"paid\"")),
    ] {
        let bank = Bank::new().await;
        let said = bank.resolve(body).await.ok();
        assert_eq!((&said["state"], &said["by"]), (&json!("succeeded"), &json!("operator")));
        let again = bank.pay().await;
        assert_eq!(again.ok()["content"][0]["text"], told);
        assert_eq!(again.header("idempotent-replayed"), "true");
        assert_eq!(bank.started(), 1, "the handler ran once");
        bank.resolve(json!({"state": "abandoned"})).await.problem(409, "already_resolved");
        assert_eq!(bank.pay().await.ok()["content"][0]["text"], told);
    }
    let bank = Bank::new().await;
    bank.resolve(json!({"state": "succeeded"})).await.ok();
    let told = bank.pay().await.ok();
    assert!(told["content"][0]["text"].as_str().unwrap().contains("is not known"), "{told}");
}

/// No number is rounded on its way into the ledger.
#[tokio::test]
async fn recorded_result_keeps_every_digit() {
    let bank = Bank::new().await;
    let body =
        r#"{"state": "succeeded", "result": {"n": 123456789012345678901234567890, "x": 1.10}}"#;
    let ask = bank.site.ask("POST", "/history/order-17/resolve").known();
    ask.text("application/json", body).send().await.ok();
    let again = bank.pay().await;
    let digits = r#"{"n": 123456789012345678901234567890, "x": 1.10}"#;
    assert_eq!(again.ok()["content"][0]["text"], digits);
}

#[tokio::test]
async fn outcome_resolved_as_failed_is_replayed_as_an_error() {
    let bank = Bank::new().await;
    let said = bank.resolve(json!({"state": "failed", "text": "no money"})).await.ok();
    assert_eq!((&said["state"], &said["outcome"]), (&json!("failed"), &json!("failed")));
    let again = bank.pay().await.ok();
    assert_eq!(
        (&again["isError"], &again["content"][0]["text"]),
        (&json!(true), &json!("no money"))
    );
    assert_eq!(bank.started(), 1);
}

#[tokio::test]
async fn outcome_resolved_as_not_run_lets_the_call_start_again() {
    let bank = Bank::new().await;
    let said = bank.resolve(json!({"state": "not_run"})).await.ok();
    assert_eq!(said["state"], "not_run");
    assert_eq!(bank.pay().await.ok()["content"][0]["text"], "paid the second time");
    assert_eq!(bank.started(), 2);
}

#[tokio::test]
async fn abandoned_operation_refuses_later_calls() {
    let bank = Bank::new().await;
    assert_eq!(bank.resolve(json!({"state": "abandoned"})).await.ok()["state"], "abandoned");
    bank.pay().await.problem(410, "abandoned");
    assert_eq!(bank.started(), 1);
}

#[tokio::test]
async fn invalid_resolution_is_refused() {
    let bank = Bank::new().await;
    for body in [
        json!({}),
        json!({"state": null}),
        json!({"state": "perhaps"}),
        json!({"state": 7}),
        json!({"state": "SUCCEEDED"}),
        json!({"text": "paid"}),
        json!({"state": "succeeded", "result": 1, "text": "paid"}),
        json!({"state": "failed", "result": 1, "text": "paid"}),
        json!({"state": "succeeded", "text": 7}),
        json!({"state": "succeeded", "results": 1}),
        json!({"state": "succeeded", "result": {"content": [{"type": "text"}]}}),
        json!({"state": "succeeded", "result": {"content": [], "isError": "no"}}),
        // A result contradicts the state.
        json!({"state": "not_run", "text": "paid"}),
        json!({"state": "not_run", "result": 1}),
        json!({"state": "abandoned", "text": ""}),
        json!(["done"]),
    ] {
        let reply = bank.resolve(body.clone()).await;
        assert_eq!(reply.status, 400, "{body}: {}", reply.body);
        reply.problem(400, "bad_request");
    }
    assert_eq!(bank.state().await, "outcome_unknown");
    let nothing = bank.site.post("/history/order-18/resolve", json!({"state": "succeeded"})).await;
    nothing.problem(404, "not_found");
    let get = bank.site.ask("GET", "/history/order-17/resolve").known().send().await;
    get.problem(405, "method_not_allowed");
    assert_eq!(bank.started(), 1);
}

#[tokio::test]
async fn page_offers_resolution_only_for_an_unknown_outcome() {
    let bank = Bank::new().await;
    let list = page(&bank.site, "/ui/history").await;
    assert!(list.contains("<tr data-state=\"unknown\""), "{list}");
    let html = page(&bank.site, "/ui/history/order-17").await;
    assert!(html.contains("data-testid=\"resolve\""), "{html}");
    assert!(html.contains("the handler crashed"), "{html}");
    bank.resolve(json!({"state": "succeeded", "text": "paid"})).await.ok();
    let html = page(&bank.site, "/ui/history/order-17").await;
    assert!(!html.contains("data-testid=\"resolve\""), "{html}");
    assert!(html.contains("Succeeded, resolved by operator"), "{html}");
}
