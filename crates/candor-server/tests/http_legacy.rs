//! HTTP as clients of 2025-03-26 to 2025-11-25 see it: sessions, and streams that can be resumed.

mod common;

#[path = "http_legacy/changes.rs"]
mod changes;
#[path = "http_legacy/questions.rs"]
mod questions;
#[path = "http_legacy/streams.rs"]
mod streams;

use std::time::Duration;

use candor_server::tool::{JsonTool, Output};
use common::{
    Call, Session, Site, endless, greet, initialize, memos, server, soon, text, tool, two,
};
use http::Method;
use http::header::ACCEPT;
use serde_json::{Value, json};

fn site() -> Site {
    Site::of(server().tool(greet()).resources(memos()))
}

fn ping(id: u64) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": "ping"})
}

#[tokio::test]
async fn session_uses_the_requested_or_the_latest_legacy_revision() {
    let site = site();
    for (asked, spoken) in [
        ("2024-11-05", "2024-11-05"),
        ("2025-03-26", "2025-03-26"),
        ("2025-06-18", "2025-06-18"),
        ("2025-11-25", "2025-11-25"),
        ("2026-07-28", "2025-11-25"),
        ("nonsense", "2025-11-25"),
    ] {
        let reply = site.send(initialize(asked, &json!({}))).await;
        let id = reply.header("mcp-session-id").expect("a session id").to_owned();
        assert!(id.len() >= 32 && id.bytes().all(|b| b.is_ascii_graphic()), "{id}");
        let expected = json!({
            "protocolVersion": spoken,
            "capabilities": {
                "tools": {"listChanged": false},
                "resources": {"subscribe": true},
                "logging": {},
                "extensions": {"dev.candor/resource": {"version": 1, "children": false}},
            },
            "serverInfo": {"name": "bench", "version": "1.2.3"},
        });
        assert_eq!(reply.result().await, expected);
    }
}

#[tokio::test]
async fn initialize_without_required_members_opens_no_session() {
    let site = site();
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}});
    let reply = site.send(Call::post(&message)).await;
    assert_eq!(reply.header("mcp-session-id"), None);
    reply.error(400, -32602).await;
}

#[tokio::test]
async fn request_without_an_open_session_is_refused() {
    let site = site();
    let nowhere = site.send(Call::post(&ping(1))).await;
    nowhere.error(400, -32600).await;
    let answer = json!({"jsonrpc": "2.0", "id": 1, "result": {}});
    site.send(Call::post(&answer)).await.refusal(400, -32600).await;

    let guessed = |call: Call| call.header("mcp-session-id", "0123456789abcdef0123456789abcdef");
    site.send(guessed(Call::post(&ping(1)))).await.error(404, -32600).await;
    let notice = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    for message in [notice, answer, json!([ping(1)])] {
        site.send(guessed(Call::post(&message))).await.refusal(404, -32600).await;
    }
    for method in [Method::GET, Method::DELETE] {
        let call = Call::bare(method).header(ACCEPT, "text/event-stream");
        site.send(guessed(call)).await.refusal(404, -32600).await;
    }
}

#[tokio::test]
async fn unknown_revision_header_is_refused_within_a_session() {
    let site = site();
    let session = Session::open(&site, "2025-11-25").await;
    let call = session.within(Call::post(&ping(1))).header("mcp-protocol-version", "1999-12-31");
    let error = site.send(call).await.error(400, -32022).await;
    assert_eq!(error["data"]["requested"], "1999-12-31");
}

#[tokio::test]
async fn ended_session_cancels_its_calls_and_is_gone() {
    let (forever, mut told) = endless("forever");
    let site = Site::of(server().tool(forever));
    let session = Session::open(&site, "2025-11-25").await;
    let stream = session.get(None).await.events();
    let running = session.call("forever").await.events();
    assert_eq!(soon(told.recv()).await, Some("started"));

    session.delete().await.must_be_empty(204).await;
    assert_eq!(two(&mut told).await, ["cancelled", "dropped"]);
    assert_eq!(stream.rest().await, Vec::<Value>::new());
    let messages = running.rest().await;
    assert_eq!(messages.len(), 1, "progress, but no answer: {messages:?}");
    session.send(&ping(1)).await.error(404, -32600).await;
    session.get(None).await.refusal(404, -32600).await;
    session.delete().await.refusal(404, -32600).await;
}

#[tokio::test]
async fn session_id_of_another_principal_is_refused() {
    let site = Site::guarded(server().tool(greet()));
    let session = Session::by(&site, "alice").await;
    let stolen = |call: Call| session.within(call).by("bob");
    site.send(stolen(Call::post(&ping(1)))).await.error(404, -32600).await;
    let get = Call::bare(Method::GET).header(ACCEPT, "text/event-stream");
    site.send(stolen(get)).await.refusal(404, -32600).await;
    site.send(stolen(Call::bare(Method::DELETE))).await.refusal(404, -32600).await;
    assert_eq!(
        session.send(&ping(1)).await.result().await,
        json!({}),
        "the session still belongs to alice"
    );
}

#[tokio::test]
async fn idle_session_expires() {
    let site = Site::of(server().tool(greet()).limits(|l| l.session_idle = Duration::ZERO));
    let reply = site.send(initialize("2025-11-25", &json!({}))).await;
    let id = reply.header("mcp-session-id").unwrap().to_owned();
    let late = Call::post(&ping(1)).header("mcp-session-id", &id);
    site.send(late).await.error(404, -32600).await;
}

#[tokio::test]
async fn session_with_an_open_stream_is_not_idle() {
    const IDLE: Duration = Duration::from_millis(50);
    let site = Site::of(server().tool(greet()).limits(|l| l.session_idle = IDLE));
    let session = Session::open(&site, "2025-11-25").await;
    let _listening = session.get(None).await.events();
    // Longer than a session may be idle.
    tokio::time::sleep(2 * IDLE).await;
    assert_eq!(session.send(&ping(1)).await.result().await, json!({}));
}

#[tokio::test]
async fn session_beyond_the_limit_is_refused() {
    let site = Site::of(server().tool(greet()).limits(|l| l.sessions = 1));
    let first = Session::open(&site, "2025-11-25").await;
    let second = site.send(initialize("2025-11-25", &json!({}))).await;
    assert_eq!(second.header("mcp-session-id"), None);
    second.error(503, -32603).await;
    first.delete().await.must_be_empty(204).await;
    Session::open(&site, "2025-11-25").await;
}

#[tokio::test]
async fn caller_beyond_its_session_share_loses_its_oldest_session() {
    let site = Site::guarded(server().tool(greet()).limits(|l| l.sessions = 4));
    let first = Session::by(&site, "alice").await;
    Session::by(&site, "alice").await;
    let third = Session::by(&site, "alice").await;
    first.send(&ping(1)).await.error(404, -32600).await;
    assert_eq!(third.send(&ping(1)).await.result().await, json!({}));
    for _ in 0..2 {
        Session::by(&site, "bob").await;
    }
    assert_eq!(
        third.send(&ping(1)).await.result().await,
        json!({}),
        "the sessions of bob are separate"
    );
}

#[tokio::test]
async fn initialize_with_large_capabilities_is_refused() {
    let site = site();
    let large = json!({"experimental": {"padding": "a".repeat(64 * 1024)}});
    let refused = site.send(initialize("2025-11-25", &large)).await;
    assert_eq!(refused.header("mcp-session-id"), None);
    refused.error(400, -32602).await;
}

#[tokio::test]
async fn call_without_notifications_is_answered_with_json() {
    let site = site();
    for revision in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        let session = Session::open(&site, revision).await;
        let params = json!({"name": "greet", "arguments": {"name": "Ada"}});
        let reply = session.request("tools/call", &params).await;
        assert_eq!(reply.status, 200);
        // Exactly this, without what the modern era adds.
        let result = json!({"content": [{"type": "text", "text": "Hello, Ada!"}]});
        assert_eq!(reply.json().await, json!({"jsonrpc": "2.0", "id": 1, "result": result}));
    }
}

#[tokio::test]
async fn legacy_lists_have_no_cache_hints() {
    let site = site();
    let session = Session::open(&site, "2025-11-25").await;
    let list = session.request("resources/list", &json!({})).await.result().await;
    let able = json!({"list": false, "subscribe": true});
    let today = json!({
        "uri": "memo:///today",
        "name": "today",
        "capabilities": able,
        "_meta": {"dev.candor/resource": {"capabilities": able}},
    });
    assert_eq!(list, json!({"resources": [today]}));
}

#[tokio::test]
async fn unknown_method_is_an_error_with_status_200() {
    let site = site();
    let session = Session::open(&site, "2025-11-25").await;
    for method in ["tools/dance", "server/discover", "subscriptions/listen", "prompts/list"] {
        let error = session.request(method, &json!({})).await.error(200, -32601).await;
        assert_eq!(error["message"], format!("Method not found: {method}"));
    }
}

#[tokio::test]
async fn missing_resource_has_the_legacy_error_code() {
    let site = site();
    let session = Session::open(&site, "2025-11-25").await;
    let params = json!({"uri": "memo:///tomorrow"});
    let error = session.request("resources/read", &params).await.error(200, -32002).await;
    assert_eq!(error["data"], json!({"uri": "memo:///tomorrow"}));
}

/// A tool whose result is this value.
fn measuring(value: Value) -> JsonTool {
    tool("measure", move |_, _| {
        let value = value.clone();
        async move { Ok(Output::structured(value)) }
    })
}

#[tokio::test]
async fn structured_content_other_than_an_object_is_omitted() {
    for (value, kept) in [
        (json!({"metres": 42}), Some(json!({"metres": 42}))),
        (json!(42), None),
        (json!([1, 2]), None),
        (json!(null), None),
    ] {
        let site = Site::of(server().tool(measuring(value.clone())));
        let session = Session::open(&site, "2025-11-25").await;
        let result = session.call("measure").await.result().await;
        assert_eq!(result.get("structuredContent"), kept.as_ref());
        assert_eq!(text(&result), value.to_string(), "the text has the value");
    }
}

/// Up to 2025-11-25 the schema's root is `"type": "object"`, and a client that finds one expects structured content.
#[tokio::test]
async fn output_schema_other_than_an_object_is_not_listed() {
    let number = measuring(json!(42)).output_schema(&json!({"type": "integer"}));
    let site = Site::of(server().tool(number));
    let session = Session::open(&site, "2025-11-25").await;
    let list = session.request("tools/list", &json!({})).await.result().await;
    assert_eq!(list["tools"][0]["name"], "measure");
    assert_eq!(list["tools"][0].get("outputSchema"), None);
}

#[tokio::test]
async fn batch_is_answered_with_an_array_in_2025_03_26() {
    let site = site();
    let session = Session::open(&site, "2025-03-26").await;
    let call = json!({"name": "greet", "arguments": {"name": "Ada"}});
    let batch = json!([
        ping(7),
        {"jsonrpc": "2.0", "method": "notifications/whatever"},
        {"jsonrpc": "2.0", "id": "call", "method": "tools/call", "params": call},
        {"jsonrpc": "2.0", "id": 9, "method": "tools/dance"},
        {"jsonrpc": "1.0", "id": 8, "method": "ping"},
    ]);
    let reply = session.send(&batch).await;
    assert_eq!(reply.status, 200);
    let answers = reply.json().await;
    let answer = |id: Value| answers.as_array().unwrap().iter().find(|a| a["id"] == id).unwrap();
    assert_eq!(answers.as_array().unwrap().len(), 4, "{answers}");
    assert_eq!(*answer(json!(7)), json!({"jsonrpc": "2.0", "id": 7, "result": {}}));
    assert_eq!(text(&answer(json!("call"))["result"]), "Hello, Ada!");
    assert_eq!(answer(json!(9))["error"]["code"], -32601);
    assert_eq!(answer(json!(8))["error"]["code"], -32600);

    let notices = json!([{"jsonrpc": "2.0", "method": "notifications/whatever"}]);
    session.send(&notices).await.must_be_empty(202).await;
    session.send(&json!([])).await.refusal(400, -32600).await;
}

#[tokio::test]
async fn batch_response_contains_no_notifications() {
    let chatty = tool("count", |_, ctx| async move {
        ctx.progress(1, None, None).await;
        Ok("counted")
    });
    let site = Site::of(server().tool(chatty));
    let session = Session::open(&site, "2025-03-26").await;
    let params = json!({"name": "count", "_meta": {"progressToken": 1}});
    let batch = json!([{"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": params}]);
    let answers = session.send(&batch).await.json().await;
    assert_eq!(answers.as_array().unwrap().len(), 1, "{answers}");
    assert_eq!((&answers[0]["id"], text(&answers[0]["result"])), (&json!(5), "counted"));
}

#[tokio::test]
async fn cancelled_call_of_a_batch_has_no_response() {
    let (forever, mut told) = endless("forever");
    let site = Site::of(server().tool(forever));
    let session = Session::open(&site, "2025-03-26").await;
    let params = json!({"name": "forever", "_meta": {"progressToken": 1}});
    let batch = json!([
        {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params},
        ping(7),
    ]);
    let (reply, ()) = tokio::join!(session.send(&batch), async {
        assert_eq!(soon(told.recv()).await, Some("started"));
        session.cancel().await;
    });
    assert_eq!(reply.json().await, json!([{"jsonrpc": "2.0", "id": 7, "result": {}}]));
}

#[tokio::test]
async fn finished_requests_of_a_batch_release_their_slots() {
    let (forever, mut told) = endless("forever");
    let limits = |limits: &mut candor_server::Limits| limits.http_requests = 3;
    let site = Site::of(server().tool(forever).limits(limits));
    let session = Session::open(&site, "2025-03-26").await;
    let params = json!({"name": "forever"});
    let slow = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
    let batch = json!([slow, ping(7), ping(8)]);
    let (reply, ()) = tokio::join!(session.send(&batch), async {
        assert_eq!(soon(told.recv()).await, Some("started"));
        soon(async {
            while session.send(&ping(9)).await.status != 200 {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        })
        .await;
        session.cancel().await;
    });
    assert_eq!(reply.json().await.as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn batches_are_refused_in_every_other_revision() {
    let site = site();
    for revision in ["2024-11-05", "2025-06-18", "2025-11-25"] {
        let session = Session::open(&site, revision).await;
        let error = session.send(&json!([ping(1)])).await.refusal(400, -32600).await;
        let problem = "Invalid request: batches are not part of this protocol revision";
        assert_eq!(error["message"], problem);
    }
    let modern = Call::post(&json!([ping(1)])).header("mcp-protocol-version", "2026-07-28");
    site.send(modern).await.refusal(400, -32600).await;
}
