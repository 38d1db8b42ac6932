//! The handshake of the legacy era, the self-contained requests of the modern one, and both on one connection.

use candor_server::protocol::types::LogLevel;
use serde_json::{Value, json};

use crate::client::{
    Client, call, code, initialize, modern, modern_call, notification, request, said, text,
};
use crate::tools::{Gate, server, tool};

#[tokio::test(start_paused = true)]
async fn legacy_client_initializes_and_calls() {
    let mut client = Client::of(server().instructions("Be nice."));
    let opened = client.initialize("2025-06-18").await;
    assert_eq!(
        opened,
        json!({
            "protocolVersion": "2025-06-18",
            "capabilities": {"tools": {"listChanged": false}, "logging": {}},
            "serverInfo": {"name": "test", "version": "1.0.0"},
            "instructions": "Be nice.",
        })
    );
    let answer = client.ask(&call(1, "greet")).await;
    assert_eq!(answer, said(1, "Hello!"));
    let answer = client.ask(&request("p", "ping", &json!({}))).await;
    assert_eq!(answer, json!({"jsonrpc": "2.0", "id": "p", "result": {}}));
    assert!(client.end().await.is_empty());
}

#[tokio::test(start_paused = true)]
async fn unknown_revision_is_answered_with_the_latest_legacy_one() {
    for asked in ["2031-01-01", "2026-07-28", "tomorrow"] {
        let opened = Client::of(server()).initialize(asked).await;
        assert_eq!(opened["protocolVersion"], "2025-11-25", "asked {asked}");
    }
}

#[tokio::test(start_paused = true)]
async fn modern_client_calls_without_a_handshake() {
    let mut client = Client::of(server());
    let answer = client.ask(&modern_call(1, "greet")).await;
    assert_eq!(
        answer,
        json!({"jsonrpc": "2.0", "id": 1, "result": {
            "resultType": "complete",
            "content": [{"type": "text", "text": "Hello!"}],
            "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "test", "version": "1.0.0"}},
        }})
    );
}

#[tokio::test(start_paused = true)]
async fn both_eras_share_one_connection() {
    let mut client = Client::of(server());
    let before = client.ask(&modern_call(1, "greet")).await;
    client.initialize("2025-11-25").await;
    let legacy = client.ask(&call(2, "greet")).await;
    let after = client.ask(&modern_call(3, "greet")).await;
    assert_eq!(before["result"]["resultType"], "complete");
    assert_eq!(legacy, said(2, "Hello!"));
    assert_eq!(after["result"]["resultType"], "complete");

    // Each era keeps its own methods, whatever else the connection has seen.
    let ping = client.ask(&modern(4, "ping", &json!({}))).await;
    assert_eq!(code(&ping), -32601);
    let discover = client.ask(&request(5, "server/discover", &json!({}))).await;
    assert_eq!(code(&discover), -32601);
}

#[tokio::test(start_paused = true)]
async fn request_before_a_handshake_is_refused_with_the_reason() {
    let mut client = Client::of(server());
    let answer = client.ask(&call(1, "greet")).await;
    assert_eq!(code(&answer), -32602);
    let message = answer["error"]["message"].as_str().unwrap();
    assert!(
        message.contains("io.modelcontextprotocol/protocolVersion") && message.contains("_meta"),
        "{message}"
    );
    client.initialize("2025-11-25").await;
    assert_eq!(client.ask(&call(2, "greet")).await, said(2, "Hello!"));
}

#[tokio::test(start_paused = true)]
async fn unsupported_revision_error_lists_the_supported_ones() {
    let mut client = Client::of(server());
    let mut asked = modern_call(1, "greet");
    asked["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!("2031-01-01");
    let answer = client.ask(&asked).await;
    assert_eq!(code(&answer), -32022);
    assert_eq!(
        answer["error"]["data"],
        json!({
            "requested": "2031-01-01",
            "supported": ["2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"],
        })
    );
}

#[tokio::test(start_paused = true)]
async fn discover_returns_server_info_and_revisions() {
    let mut client = Client::of(server().instructions("Be nice."));
    let answer = client.ask(&modern("d", "server/discover", &json!({}))).await;
    assert_eq!(
        answer["result"],
        json!({
            "resultType": "complete",
            "ttlMs": 0,
            "cacheScope": "private",
            "supportedVersions": ["2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"],
            "capabilities": {"tools": {"listChanged": false}, "logging": {}},
            "instructions": "Be nice.",
            "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "test", "version": "1.0.0"}},
        })
    );
}

#[tokio::test(start_paused = true)]
async fn second_handshake_is_refused() {
    let mut client = Client::initialized(server()).await;
    let answer = client.ask(&initialize(2, "2025-03-26")).await;
    assert_eq!(
        answer["error"],
        json!({"code": -32600, "message": "Invalid request: this connection is initialized already"})
    );
    assert_eq!(client.ask(&call(3, "greet")).await, said(3, "Hello!"));
}

#[tokio::test(start_paused = true)]
async fn malformed_handshake_allows_another() {
    let mut client = Client::of(server());
    let answer =
        client.ask(&request(1, "initialize", &json!({"protocolVersion": "2025-11-25"}))).await;
    assert_eq!(code(&answer), -32602);
    assert_eq!(client.initialize("2025-11-25").await["protocolVersion"], "2025-11-25");
    assert_eq!(client.ask(&call(3, "greet")).await, said(3, "Hello!"));
}

#[tokio::test(start_paused = true)]
async fn batches_are_refused_unless_2025_03_26_is_negotiated() {
    let refusal = json!({"jsonrpc": "2.0", "error": {
        "code": -32600,
        "message": "Invalid request: batches are not part of this protocol revision",
    }});
    let batch = json!([call(1, "greet"), call(2, "greet")]);

    let mut client = Client::of(server());
    client.send(&batch).await;
    assert_eq!(client.next().await, refusal, "no revision was negotiated");
    for revision in ["2024-11-05", "2025-06-18", "2025-11-25"] {
        let mut client = Client::of(server());
        client.initialize(revision).await;
        client.send(&batch).await;
        assert_eq!(client.next().await, refusal, "{revision}");
        client.expect_silence().await;
    }
}

#[tokio::test(start_paused = true)]
async fn batch_of_2025_03_26_is_answered_together() {
    let gate = Gate::new();
    let mut client = Client::of(server().tool(gate.tool()));
    client.initialize("2025-03-26").await;
    let notice = notification("notifications/roots/list_changed", &json!({}));
    let broken = json!({"jsonrpc": "2.0", "id": 3});
    client.send(&json!([call(1, "greet"), notice, broken, call(2, "wait")])).await;
    gate.began().await;
    client.expect_silence().await;
    gate.open();
    let Value::Array(mut answers) = client.next().await else { panic!("the answers are a batch") };
    answers.sort_by_key(|answer| answer["id"].as_u64());
    assert_eq!(answers.len(), 3, "{answers:?}");
    assert_eq!(answers[..2], [said(1, "Hello!"), said(2, "Let go.")]);
    assert_eq!((&answers[2]["id"], code(&answers[2])), (&json!(3), -32600));

    client.send(&json!([notice])).await;
    client.expect_silence().await;
    client.send(&json!([])).await;
    assert_eq!(code(&client.next().await), -32600, "an empty batch");
    client.expect_silence().await;
}

#[tokio::test(start_paused = true)]
async fn session_receives_logs_from_the_requested_level() {
    let chatty = tool("chatty", |ctx| async move {
        ctx.log(LogLevel::Info, "in passing").await;
        ctx.log(LogLevel::Error, "on fire").await;
        Ok("Said both.")
    });
    let mut client = Client::initialized(server().tool(chatty)).await;
    // In one write: what follows a change of level sees the change.
    client
        .send_together(&[
            request(1, "logging/setLevel", &json!({"level": "warning"})),
            call(2, "chatty"),
        ])
        .await;
    assert_eq!(client.next().await, json!({"jsonrpc": "2.0", "id": 1, "result": {}}));
    assert_eq!(
        client.next().await,
        notification("notifications/message", &json!({"level": "error", "data": "on fire"}))
    );
    assert_eq!(text(&client.next().await), "Said both.");

    let unknown = request(3, "logging/setLevel", &json!({"level": "loud"}));
    assert_eq!(code(&client.ask(&unknown).await), -32602);
}
