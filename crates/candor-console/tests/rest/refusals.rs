//! What the framework refuses is a problem with a status; what to do next is said in it.

use std::sync::Arc;
use std::time::Duration;

use candor_server::tool::{Idempotency, JsonTool, RateLimit, ToolError};
use candor_server::{AskLevel, Server};
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::foreseen::manage;
use crate::site::{Reply, Site, delete_record, server};

fn pay() -> JsonTool {
    JsonTool::open("pay", |_, _| async { Ok::<_, ToolError>("paid") })
}

async fn keyed(site: &Site, key: &str, arguments: Value) -> Reply {
    let ask = site.ask("POST", "/tools/pay/call").known().header("idempotency-key", key);
    ask.json(&arguments).send().await
}

fn suggestions(said: &Value) -> Vec<&str> {
    said["suggestions"].as_array().unwrap().iter().map(|one| one.as_str().unwrap()).collect()
}

#[tokio::test]
async fn invalid_argument_problem_names_the_expected_values() {
    let schema = json!({
        "type": "object",
        "properties": {
            "mode": {"type": "string", "enum": ["fast", "slow"]},
            "list": {"type": "array", "items": {"type": "integer"}},
        },
        "required": ["mode"],
    });
    let tool = JsonTool::new("pay", &schema, |_, _| async { Ok::<_, ToolError>("") });
    let site = Site::of(server().tool(tool));
    let reply = site.post("/tools/pay/call", json!({"mode": "quick", "list": [1, "x"]})).await;
    let said = reply.problem(422, "invalid_arguments");
    assert_eq!(said["is_retriable"], false);
    let errors = said["errors"].as_array().unwrap();
    let of = |pointer: &str| errors.iter().find(|e| e["pointer"] == pointer).unwrap();
    let mode = of("/mode");
    assert_eq!(mode["valid_values"], json!(["fast", "slow"]));
    assert!(mode["expected"].is_string());
    assert!(mode["reason"].is_string());
    assert!(of("/list/1")["expected"].as_str().is_some_and(|said| said.contains("integer")));
    assert!(!suggestions(&said).is_empty());
}

#[tokio::test]
async fn body_with_a_duplicate_json_key_is_refused() {
    let site = Site::of(server().tool(pay()));
    let post = site.ask("POST", "/tools/pay/call").known();
    let refused = post.text("application/json", r#"{"n":1,"n":2}"#).send().await;
    let problem = refused.problem(400, "bad_request");
    assert_eq!(problem["detail"], "The body has the duplicate key \"n\" at byte 7", "{problem}");
}

#[tokio::test]
async fn invalid_or_reused_idempotency_key_is_refused() {
    let site = Site::of(server().tool(pay().idempotency(Idempotency::Required)));
    site.post("/tools/pay/call", json!({})).await.problem(400, "idempotency_key_required");
    for bad in ["~server", &"k".repeat(10_000), ""] {
        keyed(&site, bad, json!({})).await.problem(400, "idempotency_key_invalid");
    }
    let twice = site.ask("POST", "/tools/pay/call").known().header("idempotency-key", "a");
    let twice = twice.header("idempotency-key", "b").json(&json!({})).send().await;
    twice.problem(400, "idempotency_key_invalid");
    keyed(&site, "k", json!({})).await.ok();
    let reused = keyed(&site, "k", json!({"other": 1})).await;
    assert_eq!(reused.problem(422, "idempotency_key_reused")["is_retriable"], false);
    let among = keyed(&site, "k", json!({"idempotency_key": "other"})).await;
    among.problem(400, "idempotency_key_invalid");
}

#[tokio::test]
async fn running_call_is_not_started_twice() {
    let (runs, goes_on) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (says, waits) = (runs.clone(), goes_on.clone());
    let tool = JsonTool::open("pay", move |_, _| {
        let (says, waits) = (says.clone(), waits.clone());
        async move {
            says.notify_one();
            waits.notified().await;
            Ok::<_, ToolError>("paid")
        }
    });
    let server = server().tool(tool).limits(|limits| limits.join = Duration::from_millis(1));
    let site = Site::of(server);
    let second = async {
        runs.notified().await;
        let reply = keyed(&site, "k", json!({})).await;
        goes_on.notify_one();
        reply
    };
    let (first, second) = tokio::join!(keyed(&site, "k", json!({})), second);
    let said = second.problem(409, "in_progress");
    assert_eq!(said["is_retriable"], true);
    let millis = said["retry_after_ms"].as_u64().unwrap();
    assert_eq!(second.header("retry-after"), millis.div_ceil(1000).to_string());
    assert_eq!(first.ok()["content"][0]["text"], "paid");
}

#[tokio::test]
async fn call_with_an_unknown_outcome_is_not_rerun() {
    let tool = JsonTool::open("pay", |_, _| async {
        if true {
            panic!("on the way")
        }
        Ok::<_, ToolError>("")
    });
    let site = Site::of(server().tool(tool));
    keyed(&site, "k", json!({})).await;
    let said = keyed(&site, "k", json!({})).await.problem(409, "outcome_unknown");
    assert_eq!(said["is_retriable"], false);
}

#[tokio::test]
async fn annotations_rate_limit_returns_retry_after() {
    let tool = JsonTool::open("act", |_, _| async { Ok::<_, ToolError>("") });
    let limited =
        server().tool(tool).limits(|limits| limits.foresights = Some(RateLimit::per_minute(1)));
    let site = Site::of(limited);
    site.post("/tools/act/annotations", json!({})).await.ok();
    let refused = site.post("/tools/act/annotations", json!({})).await;
    let said = refused.problem(429, "busy");
    let wait = said["retry_after_ms"].as_u64().unwrap();
    assert!((1..=60_000).contains(&wait), "{said}");
    assert_eq!(refused.header("retry-after"), wait.div_ceil(1000).to_string());
    site.post("/tools/act/call", json!({})).await.ok();
}

#[tokio::test]
async fn call_above_the_rate_limit_is_refused() {
    let site = Site::of(server().tool(pay().rate(RateLimit::per_day(1))));
    site.post("/tools/pay/call", json!({})).await.ok();
    let limited = site.post("/tools/pay/call", json!({})).await;
    let said = limited.problem(429, "rate_limited");
    assert_eq!(said["is_retriable"], true);
    assert!(said["retry_after_ms"].as_u64().is_some_and(|millis| millis > 0));
    assert!(limited.header("retry-after").parse::<u64>().is_ok_and(|seconds| seconds > 0));
}

#[tokio::test]
async fn approval_and_deny_policies_refuse_the_call() {
    let asks = server().tool(manage()).ask(AskLevel::Destructive).hold(Duration::from_millis(1));
    let site = Site::of(asks);
    let waits = site.post("/tools/manage/call", json!({"path": "a", "action": "delete"})).await;
    let said = waits.problem(403, "approval_required");
    assert_eq!(said["is_retriable"], true);
    assert!(said["operation"].is_string() && said["retry_after_ms"].is_u64(), "{said}");
    site.post("/tools/manage/call", json!({"path": "a", "action": "read"})).await.ok();
    let denies = Site::of(server().tool(pay()).deny("pay"));
    let said = denies.post("/tools/pay/call", json!({})).await.problem(403, "denied");
    assert_eq!(said["is_retriable"], false);
}

#[tokio::test]
async fn call_that_requires_a_preview_names_the_preview_tool() {
    let tool = delete_record()
        .requires_preview()
        .preview(|_, _| async { Ok::<_, ToolError>("Would delete it.") });
    let site = Site::of(server().tool(tool));
    let said = site.post("/tools/delete_record/call", json!({"id": 7})).await;
    let said = said.problem(409, "preview_required");
    let next = &said["next_operation"];
    assert_eq!(next["arguments"], json!({"id": 7}));
    assert!(suggestions(&said)[0].contains(next["tool"].as_str().unwrap()), "{said}");
    let wrong = site.post("/tools/delete_record/call", json!({"id": 7, "plan_token": "x"})).await;
    wrong.problem(409, "plan_invalid");
    let path = format!("/tools/{}/call", next["tool"].as_str().unwrap());
    let shown = site.post(&path, next["arguments"].clone()).await.ok();
    let token = &shown["_meta"]["dev.candor/plan"]["token"];
    site.post("/tools/delete_record/call", json!({"id": 7, "plan_token": token})).await.ok();
}

#[tokio::test]
async fn timeout_and_missing_ledger_have_their_own_statuses() {
    let tool = JsonTool::open("pay", |_, _| async {
        std::future::pending::<()>().await;
        Ok::<_, ToolError>("")
    });
    let slow = server().tool(tool).limits(|limits| limits.deadline = Duration::from_millis(1));
    Site::of(slow).post("/tools/pay/call", json!({})).await.problem(504, "timed_out");
    let forgetful = Server::new("s", "1")
        .tools_from(|| vec![Arc::new(pay().idempotency(Idempotency::Required)) as Arc<_>]);
    let said = keyed(&Site::of(forgetful), "k", json!({"idempotency_key": "k"})).await;
    said.problem(503, "ledger_unavailable");
}
