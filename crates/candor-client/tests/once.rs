//! One confirmation, one start: what a server claims never makes the client send a call again that is not safe to retry.

mod common;

use std::time::Duration;

use axum::http::StatusCode;
use candor_client::{Client, ClientLimits, Era, Error, Key, Retry, Trust};
use serde_json::{Value, json};

use common::scripted::{Asked, Say, Scripted, events, modern, scripted, status, tool, tools};
use common::soon;

fn quick() -> Retry {
    let mut retry = Retry::default();
    retry.base = Duration::from_millis(1);
    retry
}

fn with_status(code: StatusCode, header: (&'static str, &str), body: &Value) -> Say {
    let mut response = status(code, &body.to_string());
    response.headers_mut().insert("content-type", "application/json".parse().unwrap());
    response.headers_mut().insert(header.0, header.1.parse().unwrap());
    Say::Whole(response)
}

/// A legacy server with sessions that refuses every call with `refusal`, in whatever session.
async fn forgetful(refusal: fn(&Asked) -> Say) -> Scripted {
    scripted(move |asked| match asked.method.as_str() {
        "initialize" => {
            let session = format!("session-{}", asked.nth);
            let result = json!({"protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                "serverInfo": {"name": "s", "version": "1"}});
            let message = json!({"jsonrpc": "2.0", "id": asked.id, "result": result});
            with_status(StatusCode::OK, ("mcp-session-id", &session), &message)
        }
        "GET" => Say::Whole(status(StatusCode::METHOD_NOT_ALLOWED, "")),
        "tools/list" => Say::Result(json!({"tools": [tool("wipe", &Value::Null)]})),
        "tools/call" => refusal(asked),
        _ => Say::Whole(status(StatusCode::ACCEPTED, "")),
    })
    .await
}

/// Calls a tool that may do anything, and says yes.
async fn confirmed(client: &Client) -> Error {
    let call = client.call_safely("wipe", json!({})).confirm(|_| std::future::ready(true));
    soon(call.into_future()).await.unwrap_err()
}

#[tokio::test]
async fn only_a_trusted_server_gets_an_unsafe_call_in_a_new_session() {
    let refusals: [fn(&Asked) -> Say; 2] = [
        |_| Say::Whole(status(StatusCode::NOT_FOUND, "")),
        |asked| {
            let error = json!({"code": -32000, "message": "No valid session ID provided"});
            let message = json!({"jsonrpc": "2.0", "id": asked.id, "error": error});
            with_status(StatusCode::BAD_REQUEST, ("x", "y"), &message)
        },
    ];
    for refusal in refusals {
        for (trust, sends) in [(Trust::Untrusted, 1), (Trust::Trusted, 2)] {
            let server = forgetful(refusal).await;
            let connect = server.client().era(Era::Legacy).trust(trust).retry(quick());
            let client = soon(connect.into_future()).await.unwrap();
            let told = confirmed(&client).await;
            assert!(matches!(told, Error::SessionExpired), "{told:?}");
            assert!(told.may_have_run(), "only the server claims that nothing was run");
            assert_eq!(server.asked("tools/call").len(), sends, "{trust:?}");
        }
    }
}

#[tokio::test]
async fn refused_call_without_a_new_session_may_have_run() {
    let server = scripted(|asked| match (asked.method.as_str(), asked.nth) {
        ("initialize", 0) => {
            let result = json!({"protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                "serverInfo": {"name": "s", "version": "1"}});
            let message = json!({"jsonrpc": "2.0", "id": asked.id, "result": result});
            with_status(StatusCode::OK, ("mcp-session-id", "one"), &message)
        }
        ("initialize", _) => Say::Whole(status(StatusCode::SERVICE_UNAVAILABLE, "")),
        ("GET", _) => Say::Whole(status(StatusCode::METHOD_NOT_ALLOWED, "")),
        ("tools/list", _) => Say::Result(json!({"tools": [tool("wipe", &Value::Null)]})),
        ("tools/call", _) => Say::Whole(status(StatusCode::NOT_FOUND, "")),
        _ => Say::Whole(status(StatusCode::ACCEPTED, "")),
    })
    .await;
    let connect = server.client().era(Era::Legacy).trust(Trust::Trusted).retry(quick());
    let client = soon(connect.into_future()).await.unwrap();
    assert!(confirmed(&client).await.may_have_run());
    assert_eq!(server.asked("tools/call").len(), 1);
}

type Claim = fn() -> Say;

/// What a server may answer to make a client call again.
fn claims() -> Vec<(&'static str, Claim)> {
    fn failed(code: &str) -> Say {
        let told =
            json!({"code": code, "raisedBy": "server", "retriable": true, "retryAfterMs": 1});
        Say::Result(json!({"resultType": "complete", "isError": true, "content": [],
            "_meta": {"dev.candor/error": told}}))
    }
    vec![
        ("busy", || failed("busy")),
        ("rate_limited", || failed("rate_limited")),
        ("ledger_unavailable", || failed("ledger_unavailable")),
        ("in_progress", || failed("in_progress")),
        ("4290", || Say::Error(4290, "Too many requests are running")),
        ("invalid params", || Say::Error(-32602, "Invalid params")),
        ("unauthorized", || Say::Whole(status(StatusCode::UNAUTHORIZED, ""))),
        ("header mismatch", || Say::Error(-32020, "Header mismatch")),
        ("internal", || Say::Error(-32603, "Internal error")),
        ("429", || with_status(StatusCode::TOO_MANY_REQUESTS, ("retry-after", "0"), &json!({}))),
        ("503", || with_status(StatusCode::SERVICE_UNAVAILABLE, ("retry-after", "0"), &json!({}))),
    ]
}

/// It claims to know keys, to make them itself, and that nothing is done twice.
async fn claiming(claim: Claim) -> Scripted {
    let capabilities = json!({"tools": {}, "extensions": {"dev.candor/idempotency": {}}});
    modern(capabilities, move |asked| match asked.method.as_str() {
        "tools/list" => {
            let mut wipe = tool("wipe", &json!({"readOnlyHint": true, "idempotentHint": true}));
            wipe["_meta"] = json!({"dev.candor/idempotency": {"key": "derived"}});
            tools(&json!([wipe]))
        }
        "tools/call" => claim(),
        other => panic!("{other}"),
    })
    .await
}

#[tokio::test]
async fn call_is_not_resent_after_an_untrusted_refusal() {
    for (name, claim) in claims() {
        let server = claiming(claim).await;
        let client = soon(server.client().retry(quick()).into_future()).await.unwrap();
        let call = client.call_safely("wipe", json!({})).key(Key::new());
        let told = soon(call.confirm(|_| std::future::ready(true)).into_future()).await;
        assert!(told.map_or_else(|error| error.may_have_run(), |_| true), "{name}");
        assert_eq!(server.asked("tools/call").len(), 1, "{name}, confirmed");
        let told = soon(client.call("wipe", json!({})).into_future()).await;
        assert!(told.map_or_else(|error| error.may_have_run(), |_| true), "{name}");
        assert_eq!(server.asked("tools/call").len(), 2, "{name}, without a question");
    }
}

#[tokio::test]
async fn call_is_resent_after_a_trusted_refusal() {
    for (name, claim) in claims() {
        let server = claiming(claim).await;
        let connect = server.client().trust(Trust::Trusted).retry(quick());
        let client = soon(connect.into_future()).await.unwrap();
        let _ = soon(client.call("wipe", json!({})).into_future()).await;
        let expected = match name {
            "invalid params" | "unauthorized" => 1,
            "header mismatch" => 2,
            _ => 4,
        };
        assert_eq!(server.asked("tools/call").len(), expected, "{name}");
    }
}

/// A server with or without keys that marks every result with this.
async fn replaying(has_keys: bool, mark: Value) -> Scripted {
    let keys = if has_keys { json!({"dev.candor/idempotency": {}}) } else { json!({}) };
    modern(json!({"tools": {}, "extensions": keys}), move |asked| match asked.method.as_str() {
        "tools/list" => tools(&json!([
            tool("t", &json!({"destructiveHint": false})),
            tool("get", &json!({"readOnlyHint": true}))
        ])),
        // A key that is made for a call was used before only if the first answer is lost.
        _ if asked.params["arguments"]["lost"] == true && asked.nth == 0 => {
            Say::Whole(status(StatusCode::SERVICE_UNAVAILABLE, ""))
        }
        _ => Say::Result(json!({"resultType": "complete", "content": [],
            "_meta": {"dev.candor/idempotency": mark}})),
    })
    .await
}

#[tokio::test]
async fn replay_mark_needs_trust_and_a_matching_key() {
    let unnamed = json!({"replayed": true});
    let named = json!({"replayed": true, "key": "k"});
    let other = json!({"replayed": true, "key": "zz"});
    let none = json!({"replayed": false, "key": "k"});
    for (has_keys, trust, mark, expected) in [
        (true, Trust::Trusted, &unnamed, Some(true)),
        (true, Trust::Trusted, &named, Some(true)),
        (true, Trust::Trusted, &other, None),
        (true, Trust::Trusted, &none, Some(false)),
        (true, Trust::Untrusted, &named, None),
        (false, Trust::Trusted, &named, None),
    ] {
        let server = replaying(has_keys, mark.clone()).await;
        let client = soon(server.client().trust(trust).into_future()).await.unwrap();
        for tool in ["t", "get"] {
            let call = client.call(tool, json!({})).key("k").unsafe_key();
            let result = soon(call.into_future()).await.unwrap();
            assert_eq!(result.replayed(), expected, "{tool} {has_keys} {trust:?} {mark}");
            assert_eq!(result.is_replayed(), expected == Some(true));
            let result = soon(client.call(tool, json!({})).into_future()).await.unwrap();
            assert_eq!(result.replayed(), None, "without a key: {tool} {trust:?} {mark}");
        }
    }
}

#[tokio::test]
async fn replay_of_a_new_key_counts_only_after_a_second_send() {
    for (lost, expected) in [(false, None), (true, Some(true))] {
        let server = replaying(true, json!({"replayed": true})).await;
        let connect = server.client().trust(Trust::Trusted).retry(quick());
        let client = soon(connect.into_future()).await.unwrap();
        // With `on_send`, the client makes a key of its own.
        let call = client.call_safely("t", json!({"lost": lost})).on_send(|key| {
            assert!(key.is_some());
        });
        let result = soon(call.into_future()).await.unwrap();
        assert_eq!(result.replayed(), expected, "lost: {lost}");
    }
}

#[tokio::test]
async fn may_have_run_survives_a_refusal_of_the_retry() {
    let capabilities = json!({"tools": {}, "extensions": {"dev.candor/idempotency": {}}});
    let server = modern(capabilities, |asked| match (asked.method.as_str(), asked.nth) {
        ("tools/list", _) => tools(&json!([tool("t", &json!({"destructiveHint": false}))])),
        (_, 0) => Say::Whole(status(StatusCode::GATEWAY_TIMEOUT, "")),
        _ => Say::Error(4290, "Too many requests are running"),
    })
    .await;
    let connect = server.client().trust(Trust::Trusted).retry(quick());
    let client = soon(connect.into_future()).await.unwrap();
    let told = soon(client.call("t", json!({})).key("k").into_future()).await.unwrap_err();
    assert!(matches!(told.cause(), Error::Server(_)), "{told:?}");
    assert!(told.may_have_run(), "the first attempt may have run: {told}");
}

/// A stream with one event, and its end. Every reconnect gets another one.
fn cut_off(asked: &Asked) -> Say {
    let news = json!({"jsonrpc": "2.0", "method": "notifications/message",
        "params": {"level": "info", "data": asked.nth}});
    Say::Whole(events(format!("retry: 0\nid: e{}\ndata: {news}\n\n", asked.nth)))
}

#[tokio::test]
async fn cut_stream_with_retry_zero_backs_off() {
    let server = scripted(|asked| match asked.method.as_str() {
        "initialize" => Say::Result(json!({"protocolVersion": "2025-11-25",
            "capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"}})),
        "tools/list" => Say::Result(json!({"tools": [tool("t", &Value::Null)]})),
        "tools/call" => cut_off(asked),
        "GET" if asked.headers.contains_key("last-event-id") => cut_off(asked),
        "GET" => Say::Whole(status(StatusCode::METHOD_NOT_ALLOWED, "")),
        _ => Say::Whole(status(StatusCode::ACCEPTED, "")),
    })
    .await;
    let mut limits = ClientLimits::default();
    limits.answer = Duration::from_secs(2);
    let connect = server.client().era(Era::Legacy).limits(limits);
    let client = soon(connect.into_future()).await.unwrap();
    let told = soon(client.call("t", json!({})).into_future()).await.unwrap_err();
    assert!(matches!(told, Error::TimedOut { .. }), "{told:?}");
    let resumed = server.asked("GET").len();
    assert!((2..=6).contains(&resumed), "{resumed} in two seconds");
    assert_eq!(server.asked("tools/call").len(), 1);
}
