//! Changes that clients are told of.

use candor_server::protocol::types::{Resource, ResourceContents};
use candor_server::resource::ResourceSet;
use candor_server::tool::{ToolSet, provider_fn};
use candor_server::{RunningServer, Server};
use serde_json::{Value, json};

use crate::client::{Client, cancelled, code, modern, notification, request};

const WATCHED: &str = "memo:///today";

/// A server whose tools may change and whose memo can be watched.
fn engine() -> RunningServer {
    let memo =
        |uri, _| async move { Ok(vec![ResourceContents::of_text(uri, "text/plain", "Buy milk")]) };
    let resources = ResourceSet::new()
        .resource(Resource::new(WATCHED, "today"), memo)
        .resource(Resource::new("memo:///past", "past"), memo)
        .watched(WATCHED);
    Server::new("test", "1.0.0")
        .tools_from(provider_fn(|_| Ok(ToolSet::default().into())))
        .resources(resources)
        .build()
        .unwrap()
}

fn done(id: u64) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "result": {}})
}

#[tokio::test(start_paused = true)]
async fn session_receives_changes_of_subscribed_resources_only() {
    let engine = engine();
    let mut client = Client::connect(&engine);
    client.initialize("2025-11-25").await;
    engine.changes().resource(WATCHED);
    client.expect_silence().await;

    let watched = json!({"uri": WATCHED});
    let answer = client.ask(&request(1, "resources/subscribe", &watched)).await;
    assert_eq!(answer, done(1));
    engine.changes().resource("memo:///past");
    engine.changes().resource(WATCHED);
    assert_eq!(client.next().await, notification("notifications/resources/updated", &watched));

    let answer = client.ask(&request(2, "resources/unsubscribe", &watched)).await;
    assert_eq!(answer, done(2));
    engine.changes().resource(WATCHED);
    client.expect_silence().await;
}

#[tokio::test(start_paused = true)]
async fn unwatchable_resource_cannot_be_subscribed_to() {
    let mut client = Client::connect(&engine());
    client.initialize("2025-11-25").await;
    let answer =
        client.ask(&request(1, "resources/subscribe", &json!({"uri": "memo:///past"}))).await;
    assert_eq!(code(&answer), -32602);
    assert_eq!(answer["error"]["data"], json!({"dev.candor/error": {"code": "not_watchable"}}));
}

#[tokio::test(start_paused = true)]
async fn initialized_session_is_notified_of_tool_changes() {
    let engine = engine();
    let mut client = Client::connect(&engine);
    engine.changes().tools();
    client.expect_silence().await;
    client.initialize("2025-11-25").await;
    engine.changes().tools();
    assert_eq!(client.next().await, notification("notifications/tools/list_changed", &json!({})));
}

fn listen(id: u64) -> Value {
    let wanted = json!({"toolsListChanged": true, "promptsListChanged": true, "resourceSubscriptions": [WATCHED, "memo:///past"]});
    modern(id, "subscriptions/listen", &json!({"notifications": wanted}))
}

/// The mark on everything that a subscription says.
fn tag(id: u64) -> Value {
    json!({"io.modelcontextprotocol/subscriptionId": id})
}

async fn listening(engine: &RunningServer, id: u64) -> Client {
    let mut client = Client::connect(engine);
    client.send(&listen(id)).await;
    let honoured = json!({"toolsListChanged": true, "resourceSubscriptions": [WATCHED]});
    assert_eq!(
        client.next().await,
        notification(
            "notifications/subscriptions/acknowledged",
            &json!({"notifications": honoured, "_meta": tag(id)})
        ),
        "what is not offered is not honoured"
    );
    client
}

fn result_of_listening(id: u64) -> Value {
    let mut meta = tag(id);
    meta["io.modelcontextprotocol/serverInfo"] = json!({"name": "test", "version": "1.0.0"});
    json!({"jsonrpc": "2.0", "id": id, "result": {"resultType": "complete", "_meta": meta}})
}

#[tokio::test(start_paused = true)]
async fn modern_subscription_is_acknowledged_and_tags_notifications() {
    let engine = engine();
    let mut client = listening(&engine, 7).await;
    engine.changes().prompts();
    engine.changes().resource("memo:///past");
    engine.changes().tools();
    engine.changes().resource(WATCHED);
    assert_eq!(
        client.next().await,
        notification("notifications/tools/list_changed", &json!({"_meta": tag(7)}))
    );
    assert_eq!(
        client.next().await,
        notification("notifications/resources/updated", &json!({"uri": WATCHED, "_meta": tag(7)}))
    );
    client.expect_silence().await;
}

#[tokio::test(start_paused = true)]
async fn cancelled_modern_subscription_ends_without_a_result() {
    let engine = engine();
    let mut client = listening(&engine, 7).await;
    client.send(&cancelled(7)).await;
    client.expect_silence().await;
    engine.changes().tools();
    client.expect_silence().await;
    assert!(client.end().await.is_empty());
}

#[tokio::test(start_paused = true)]
async fn modern_subscription_ends_with_a_result_at_end_of_input() {
    let client = listening(&engine(), 7).await;
    assert_eq!(client.end().await, [result_of_listening(7)]);
}

#[tokio::test(start_paused = true)]
async fn modern_subscription_ends_with_a_result_at_server_stop() {
    let engine = engine();
    let mut client = listening(&engine, 7).await;
    engine.stop();
    assert_eq!(client.next().await, result_of_listening(7));
}

#[tokio::test(start_paused = true)]
async fn end_of_a_connection_leaves_other_subscriptions_open() {
    let engine = engine();
    let (one, mut other) = (listening(&engine, 1).await, listening(&engine, 2).await);
    assert_eq!(one.end().await, [result_of_listening(1)]);
    engine.changes().tools();
    assert_eq!(
        other.next().await,
        notification("notifications/tools/list_changed", &json!({"_meta": tag(2)}))
    );
}

#[tokio::test(start_paused = true)]
async fn successive_connections_can_subscribe() {
    let engine = engine();
    for id in [1, 2] {
        let mut client = listening(&engine, id).await;
        client.expect_silence().await;
        assert_eq!(client.end().await, [result_of_listening(id)]);
    }
}
