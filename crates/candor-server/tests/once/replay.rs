//! A repetition gets the first result, word for word, as its own client can take it.

use candor_server::Server;
use candor_server::protocol::Revision;
use candor_server::protocol::json::Object;
use candor_server::testing::TestClient;
use candor_server::tool::{Idempotency, JsonTool, ToolError, code};
use serde_json::{Value, json};

use crate::bench::{File, KEY, Work, bare, mark, raw, remembering, server};
use crate::common::{Session, Site, call, modern};

/// Everything that a result can hold, with members in an order that nobody would sort them in.
fn everything() -> Value {
    json!({
        "content": [
            {"type": "text", "text": "Zwölf\n\"Äpfel\"", "annotations": {"audience": ["user"], "priority": 0.5}, "_meta": {"a/b": [1]}},
            {"type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/png"},
            {"type": "audio", "data": "UklGRg==", "mimeType": "audio/wav"},
            {"type": "resource_link", "uri": "memo:///z", "name": "z", "title": "Z", "size": 3},
            {"type": "resource", "resource": {"uri": "memo:///a", "mimeType": "text/plain", "text": "a", "_meta": {"x/y": 1}}},
        ],
        "structuredContent": {"zeta": 1.5, "alpha": {"c": [null, true, 9007199254740991_i64], "b": "é"}, "mid": 1e300},
        "_meta": {"shop.example/trace": {"z": 1, "a": "2"}},
    })
}

fn returning(result: Value) -> JsonTool {
    JsonTool::open("act", move |_, _| {
        let result = result.clone();
        async move { Ok::<_, ToolError>(result) }
    })
}

/// A client of each era, of one server.
fn both(server: Server) -> [TestClient; 2] {
    let modern = server.test();
    let legacy = modern.speaking(Revision::LATEST_LEGACY);
    [modern, legacy]
}

/// The first result and its repetition, for each pair of eras; and what a first call gives to the era of the repetition.
async fn repeated(server: impl Fn() -> Server) -> Vec<(Value, Value, Value)> {
    let mut all = Vec::new();
    for first in [0, 1] {
        for again in [0, 1] {
            let clients = both(server());
            let ask = async |at: usize| clients[at].keyed("k").call("act", json!({})).await;
            let (one, two) = (ask(first).await, ask(again).await);
            assert!(!one.is_replayed() && two.is_replayed(), "{:#}", two.raw());
            let fresh = both(server())[again].keyed("k").call("act", json!({})).await;
            all.push((one.raw().clone(), two.raw().clone(), fresh.raw().clone()));
        }
    }
    all
}

#[tokio::test]
async fn replay_equals_the_first_result_across_eras() {
    // An embedded resource is encoded for each client. Without one, the stored result is sent unchanged.
    let mut plain = everything();
    plain["content"].as_array_mut().unwrap().pop();
    plain["shop.example/odd"] = json!([1.50, null]);
    for given in [everything(), plain] {
        for (first, again, fresh) in repeated(|| server().tool(returning(given.clone()))).await {
            // The order of the result's own members may differ.
            assert_eq!((bare(&again), bare(&again)), (bare(&fresh), bare(&first)));
            for part in ["content", "structuredContent"] {
                assert_eq!(again[part].to_string(), first[part].to_string());
            }
            assert_eq!(bare(&again)["structuredContent"], given["structuredContent"]);
            assert_eq!(again["_meta"]["shop.example/trace"], json!({"z": 1, "a": "2"}));
        }
    }
}

#[tokio::test]
async fn failure_is_replayed_like_a_success() {
    let given = json!({"content": [{"type": "text", "text": "Out of paper"}], "isError": true, "_meta": {"a/b": 1}});
    for (first, again, fresh) in repeated(|| server().tool(returning(given.clone()))).await {
        assert_eq!(again["isError"], true);
        assert_eq!(bare(&again).to_string(), bare(&fresh).to_string());
        assert_eq!(bare(&again), bare(&first));
    }
    let failing = || {
        let work = Work::new();
        JsonTool::open("act", move |_, _| {
            let number = work.start();
            async move {
                let error = ToolError::new(format!("Failed for the {number}. time"))
                    .code("no_paper")
                    .instead("refill", json!({"tray": 2}))
                    .field("/tray", "is empty");
                Err::<(), _>(error)
            }
        })
    };
    for (first, again, _) in repeated(|| server().tool(failing())).await {
        assert_eq!(bare(&again).to_string(), bare(&first).to_string());
        assert_eq!(again["_meta"]["dev.candor/error"]["code"], "no_paper");
        assert!(
            again["content"][0]["text"].as_str().unwrap().starts_with("Failed for the 1. time")
        );
        assert_eq!(mark(&first)["recorded"], true);
        assert_eq!(mark(&first).get("released"), None);
    }
}

#[tokio::test]
async fn boxed_value_is_replayed_in_the_form_of_each_client() {
    let schema = json!({
        "type": "object",
        "properties": {"result": {"type": "array", "items": {"type": "integer"}}},
        "required": ["result"],
        candor_schema::BOX_KEYWORD: true,
    });
    let list = || returning(json!([3, 1, 2])).output_schema(&schema);
    for (_, again, fresh) in repeated(|| server().tool(list())).await {
        assert_eq!(again["structuredContent"], json!({"result": [3, 1, 2]}));
        assert_eq!(bare(&again).to_string(), bare(&fresh).to_string());
    }
    let native = repeated(|| server().tool(list()).native_output()).await;
    let shown: Vec<_> = native
        .iter()
        .map(|(first, again, _)| [first, again].map(|r| &r["structuredContent"]))
        .collect();
    let (open, boxed) = (json!([3, 1, 2]), json!({"result": [3, 1, 2]}));
    assert_eq!(shown, [[&open, &open], [&open, &boxed], [&boxed, &open], [&boxed, &boxed]]);
}

#[tokio::test]
async fn non_object_structured_content_is_replayed_to_modern_clients() {
    let given = json!({"content": [{"type": "text", "text": "7"}], "structuredContent": 7});
    for (at, (_, again, fresh)) in
        repeated(|| server().tool(returning(given.clone()))).await.into_iter().enumerate()
    {
        let modern = at % 2 == 0;
        assert_eq!(again.get("structuredContent"), modern.then_some(&json!(7)), "{again}");
        assert_eq!(bare(&again), bare(&fresh));
    }
}

#[tokio::test]
async fn embedded_resource_is_replayed_in_the_form_of_each_client() {
    let embedded = json!({"content": [{"type": "resource", "resource": {
        "uri": "memo:///a", "text": "a", "annotations": {"priority": 1.0, "audience": ["user"]},
    }}]});
    let knows = |client: &TestClient, yes: bool| {
        client.by("tester").capabilities(|can| {
            let known = std::iter::once(("dev.candor/resource".to_owned(), Object::new()));
            can.extensions = yes.then(|| known.collect());
        })
    };
    for first in [true, false] {
        for again in [true, false] {
            let client = server().tool(returning(embedded.clone())).test();
            let one = knows(&client, first).keyed("k").call("act", json!({})).await;
            let two = knows(&client, again).keyed("k").call("act", json!({})).await;
            assert!(two.is_replayed());
            let fresh = server().tool(returning(embedded.clone())).test();
            let fresh = knows(&fresh, again).keyed("k").call("act", json!({})).await;
            assert_eq!(bare(two.raw()), bare(fresh.raw()));
            assert_eq!(one.raw()["content"] == two.raw()["content"], first == again);
        }
    }
}

#[tokio::test]
async fn idempotency_metadata_has_key_time_and_attempt() {
    let clients = both(server().tool(Work::new().tool("act")));
    for (client, key) in clients.iter().zip(["order-17", "order-18"]) {
        let client = client.keyed(key);
        let first = client.call("act", json!({})).await;
        let expected = json!({"key": key, "replayed": false, "attempt": 1, "recorded": true});
        assert_eq!(mark(first.raw()), &expected);
        let again = client.call("act", json!({})).await;
        let mark = mark(again.raw());
        let when = mark["completedAt"].as_str().unwrap();
        assert!(when.starts_with("20") && when.ends_with('Z') && when.contains('T'), "{when}");
        let expected = json!({"key": key, "replayed": true, "completedAt": when, "attempt": 1});
        assert_eq!(mark, &expected);
    }
}

#[tokio::test]
async fn call_without_a_key_is_not_replayed() {
    let work = Work::new();
    for client in both(server().tool(work.tool("act"))) {
        let called = client.call("act", json!({})).await;
        assert_eq!(mark(called.raw()), &Value::Null);
        assert_eq!(called.structured().unwrap()["key"], Value::Null);
    }
    assert_eq!(work.starts(), 2);
}

#[tokio::test]
async fn replay_has_an_http_header_in_both_eras() {
    let site = Site::of(remembering().tool(Work::new().tool("act")));
    let session = Session::open(&site, "2025-11-25").await;
    let params = |key: &str| json!({"name": "act", "_meta": {KEY: key}});
    let replayed =
        |reply: &crate::common::Reply| reply.header("idempotent-replayed").map(ToOwned::to_owned);
    for (key, first_modern) in [("a", true), ("b", false)] {
        let in_modern = async || site.send(modern("tools/call", &params(key))).await;
        let in_legacy = async || session.request("tools/call", &params(key)).await;
        let first = if first_modern { in_modern().await } else { in_legacy().await };
        assert_eq!(replayed(&first), None);
        let first = first.result().await;
        for again in [in_modern().await, in_legacy().await] {
            assert_eq!(replayed(&again).as_deref(), Some("true"));
            let again = again.result().await;
            assert_eq!(mark(&again)["replayed"], true);
            assert_eq!(bare(&again), bare(&first));
        }
    }
    let reused =
        modern("tools/call", &json!({"name": "act", "arguments": {"x": 1}, "_meta": {KEY: "a"}}));
    let reused = site.send(reused).await;
    assert_eq!(replayed(&reused), None, "a refusal is not a replay");
    assert_eq!(reused.result().await["_meta"]["dev.candor/error"]["code"], code::KEY_REUSED);
}

#[tokio::test]
async fn result_is_replayed_after_the_ledger_is_reopened() {
    let (file, work) = (File::new(), Work::new());
    let first = {
        let client = server().ledger(file.open()).tool(work.tool("act")).test();
        client.keyed("k").call("act", json!({})).await
    };
    let client = server().ledger(file.open()).tool(work.tool("act")).test();
    let again = client.keyed("k").call("act", json!({})).await;
    assert!(again.is_replayed());
    assert_eq!(bare(again.raw()), bare(first.raw()));
    assert_eq!(work.starts(), 1);
}

#[tokio::test]
async fn replay_sends_no_notifications() {
    let chatty = JsonTool::open("act", |_, ctx| async move {
        ctx.progress(1, 2, "half way").await;
        Ok::<_, ToolError>("done")
    });
    let client = server().tool(chatty.idempotency(Idempotency::Argument)).test().keyed("k");
    let first = client.call("act", json!({})).await;
    assert_eq!(first.progress().len(), 1);
    let again = client.call("act", json!({})).await;
    assert!(again.is_replayed() && again.notices().is_empty());
    let result = raw(&client, "act", json!({"arguments": {}})).await;
    assert_eq!(result["content"][0]["text"], "done");
    let site = Site::of(remembering().tool(Work::new().tool("act")));
    let reply = site.send(call("act", &json!({})).header("idempotency-key", "k")).await;
    assert_eq!(reply.header("idempotent-replayed"), None);
}
