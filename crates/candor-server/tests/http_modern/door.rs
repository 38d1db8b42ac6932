//! The door: what is refused before anybody looks for a message, in both eras.

use axum::Router;
use axum::routing::get;
use candor_server::transport::http::{Http, endpoint};
use http::Method;
use http::header::{ACCEPT, CONTENT_TYPE, HOST, ORIGIN};
use serde_json::{Value, json};
use tower::ServiceExt;

use crate::common::{Call, Reply, Site, call, greet, initialize, modern, server, soon, text};

fn site() -> Site {
    Site::of(server().tool(greet()))
}

fn greeting() -> Call {
    call("greet", &json!({"name": "Ada"}))
}

/// A message of each era, and the two methods that have none.
fn comers() -> [Call; 4] {
    [
        greeting(),
        initialize("2025-11-25", &json!({})),
        Call::bare(Method::GET).header("mcp-session-id", "guessed"),
        Call::bare(Method::DELETE).header("mcp-session-id", "guessed"),
    ]
}

#[tokio::test]
async fn request_for_another_host_is_refused() {
    let site = site();
    for comer in comers() {
        for host in ["evil.example.com", "localhost.evil.com:7332", "192.168.1.1"] {
            let reply = site.send(comer.clone().header(HOST, host)).await;
            let error = reply.refusal(403, -32600).await;
            assert_eq!(error["message"], "Invalid request: this Host is not served here");
        }
        let nameless = site.send(comer.without(HOST)).await;
        nameless.refusal(403, -32600).await;
    }
}

#[tokio::test]
async fn request_from_another_origin_is_refused() {
    let site = site();
    for comer in comers() {
        for origin in ["http://evil.example.com", "http://localhost:9999", "null", ""] {
            let reply = site.send(comer.clone().header(ORIGIN, origin)).await;
            let error = reply.refusal(403, -32600).await;
            assert_eq!(error["message"], "Invalid request: this Origin may not use the server");
        }
    }
    let own = greeting().header(ORIGIN, "http://localhost:7332");
    assert_eq!(text(&site.send(own).await.result().await), "Hello, Ada!");
}

#[tokio::test]
async fn get_and_delete_without_a_session_are_not_allowed() {
    let site = site();
    for method in [Method::GET, Method::DELETE] {
        let call = Call::bare(method).header(ACCEPT, "text/event-stream");
        site.send(call.clone()).await.refusal(405, -32600).await;
        let modern = call.header("mcp-protocol-version", "2026-07-28");
        site.send(modern).await.refusal(405, -32600).await;
    }
    assert_eq!(site.send(Call::bare(Method::PUT)).await.status, 405);
}

/// RFC 9110, 15.5.6: a 405 has an `Allow` header.
#[tokio::test]
async fn method_not_allowed_response_has_an_allow_header() {
    let site = site();
    for method in [Method::GET, Method::DELETE, Method::PUT] {
        let reply = site.send(Call::bare(method)).await;
        let allowed = reply.header("allow").expect("an Allow header");
        assert!(allowed.split(',').any(|method| method.trim() == "POST"), "{allowed}");
    }
}

#[tokio::test]
async fn content_type_must_be_json() {
    let site = site();
    for message in [greeting(), initialize("2025-11-25", &json!({}))] {
        for content_type in ["text/plain", "application/jsonp", "multipart/form-data"] {
            let reply = site.send(message.clone().header(CONTENT_TYPE, content_type)).await;
            reply.refusal(415, -32600).await;
        }
        let untyped = site.send(message.clone().without(CONTENT_TYPE)).await;
        untyped.refusal(415, -32600).await;
        let spelled_out = message.header(CONTENT_TYPE, "Application/JSON; charset=utf-8");
        site.send(spelled_out).await.result().await;
    }
}

#[tokio::test]
async fn accept_header_must_allow_json_and_events() {
    let site = site();
    for message in [greeting(), initialize("2025-11-25", &json!({}))] {
        for accept in ["application/json", "text/event-stream", "text/html"] {
            let reply = site.send(message.clone().header(ACCEPT, accept)).await;
            reply.refusal(406, -32600).await;
        }
        for accept in ["*/*", "text/event-stream;q=0.5, application/*"] {
            let reply = site.send(message.clone().header(ACCEPT, accept)).await;
            reply.result().await;
        }
        let two_lines =
            message.clone().header(ACCEPT, "application/json").also(ACCEPT, "text/event-stream");
        site.send(two_lines).await.result().await;
        site.send(message.without(ACCEPT)).await.result().await;
    }
}

/// A message filled up with spaces to this many bytes.
fn padded(message: &Value, bytes: usize) -> String {
    let text = message.to_string();
    format!("{text:<bytes$}")
}

#[tokio::test]
async fn message_beyond_the_byte_limit_is_refused() {
    let site = Site::of(server().tool(greet()).limits(|limits| limits.message_bytes = 1000));
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    }}});
    let list = |bytes| modern("tools/list", &json!({})).body(&padded(&message, bytes));
    site.send(list(1000)).await.result().await;
    let error = site.send(list(1001)).await.refusal(413, -32600).await;
    assert_eq!(
        error["message"],
        "Invalid request: the message is too long: at most 1000 bytes are allowed"
    );
    let legacy = initialize("2025-11-25", &json!({"experimental": {"x": {"y": "z".repeat(1000)}}}));
    site.send(legacy).await.refusal(413, -32600).await;
}

#[tokio::test]
async fn message_beyond_the_depth_limit_is_refused() {
    let site = Site::of(server().tool(greet()).limits(|limits| limits.depth = 8));
    // Message, params and arguments are three levels.
    let nested = |levels: usize| {
        let value = (0..levels).fold(json!(1), |inner, _| json!([inner]));
        call("greet", &json!({"name": "Ada", "more": value}))
    };
    let result = site.send(nested(5)).await.result().await;
    assert_eq!(text(&result), "Hello, Ada!");
    let error = site.send(nested(6)).await.refusal(400, -32700).await;
    let message = error["message"].as_str().unwrap();
    assert!(message.starts_with("Parse error: nested deeper than 8 levels at byte "));
    let bomb = greeting().body(&"[".repeat(100_000));
    site.send(bomb).await.refusal(400, -32700).await;
}

#[tokio::test]
async fn endpoint_works_in_another_app_under_another_path() {
    let engine = server().tool(greet()).build().unwrap();
    let mcp = Router::new().route("/agents", endpoint(engine, Http::default()));
    let app = Router::new().route("/", get(|| async { "the home page" })).nest("/api/v1", mcp);
    let send = async |call: Call| {
        let response = soon(app.clone().oneshot(call.into_request())).await;
        Reply::of(response.unwrap())
    };
    let there = send(greeting().path("/api/v1/agents")).await;
    assert_eq!(text(&there.result().await), "Hello, Ada!");
    let rebound = greeting().path("/api/v1/agents").header(HOST, "evil.example.com");
    send(rebound).await.refusal(403, -32600).await;
    let home = send(Call::bare(Method::GET).path("/")).await;
    assert_eq!(home.text().await, "the home page");
    assert_eq!(send(greeting()).await.status, 404);
}
