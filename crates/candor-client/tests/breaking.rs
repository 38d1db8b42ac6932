//! The circuit breaker, on real sockets: what fails again and again rests, and what is back is used soon.

mod common;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::http::StatusCode;
use candor_client::{Client, Error, Interest, Retry, Trust};
use serde_json::{Value, json};

use common::scripted::{Say, Scripted, events, modern, said, status, tool, tools};
use common::soon;

fn overloaded() -> Say {
    Say::Whole(status(StatusCode::SERVICE_UNAVAILABLE, ""))
}

/// Lists are answered, calls only once `back` says so.
async fn half_down(back: Arc<AtomicBool>) -> Scripted {
    modern(json!({"tools": {}}), move |asked| match asked.method.as_str() {
        "tools/list" => tools(&json!([tool("t", &Value::Null)])),
        _ if back.load(Ordering::SeqCst) => said("done"),
        _ => overloaded(),
    })
    .await
}

async fn call(client: &Client) -> Result<String, Error> {
    soon(client.call("t", json!({})).into_future()).await.map(|result| result.text())
}

#[tokio::test]
async fn breaker_stops_failing_calls_while_lists_succeed() {
    let server = half_down(Arc::default()).await;
    let mut retry = Retry::default();
    (retry.rest, retry.longest_rest) = (Duration::from_secs(60), Duration::from_secs(60));
    let client = soon(server.client().retry(retry).into_future()).await.unwrap();
    for nth in 0..16 {
        soon(client.tools()).await.unwrap();
        let told = call(&client).await.unwrap_err();
        assert_eq!(matches!(told, Error::Resting { .. }), nth >= 5, "{nth}: {told}");
    }
    assert_eq!(server.asked("tools/call").len(), 5);
    assert_eq!(server.asked("tools/list").len(), 16);
    client.reset();
    assert!(matches!(call(&client).await, Err(Error::Http { .. })));
    assert_eq!(server.asked("tools/call").len(), 6);
}

#[tokio::test]
async fn recovered_server_is_probed_after_a_short_rest() {
    let back = Arc::new(AtomicBool::new(false));
    let server = half_down(back.clone()).await;
    // By default, the first probe comes after a second.
    assert!(Retry::default().rest <= Duration::from_secs(1));
    let mut retry = Retry::default();
    retry.rest = Duration::from_millis(50);
    let client = soon(server.client().retry(retry).into_future()).await.unwrap();
    for _ in 0..5 {
        call(&client).await.unwrap_err();
    }
    back.store(true, Ordering::SeqCst);
    let first = loop {
        match call(&client).await {
            Err(Error::Resting { rest }) => tokio::time::sleep(rest).await,
            answered => break answered,
        }
    };
    assert_eq!(first.unwrap(), "done");
    assert_eq!(call(&client).await.unwrap(), "done", "later calls run");
    assert_eq!(server.asked("tools/call").len(), 7);
}

#[tokio::test]
async fn listener_reconnects_do_not_open_the_breaker() {
    let server = modern(json!({"tools": {"listChanged": true}}), |asked| {
        match (asked.method.as_str(), asked.nth) {
            ("tools/list", _) => tools(&json!([tool("t", &Value::Null)])),
            ("subscriptions/listen", 0) => {
                let params = json!({"_meta": {"io.modelcontextprotocol/subscriptionId": asked.id},
                    "notifications": {"toolsListChanged": true}});
                let heard = json!({"jsonrpc": "2.0", "method": "notifications/subscriptions/acknowledged", "params": params});
                Say::Whole(events(format!("data: {heard}\n\n")))
            }
            ("subscriptions/listen", _) => overloaded(),
            _ => said("done"),
        }
    })
    .await;
    let mut retry = Retry::default();
    (retry.base, retry.rest) = (Duration::from_millis(1), Duration::from_secs(60));
    let connect = server.client().trust(Trust::Trusted).retry(retry);
    let client = soon(connect.into_future()).await.unwrap();
    let _listening = soon(client.listen(Interest::new().lists())).await.unwrap();
    let reconnected = async {
        while server.asked("subscriptions/listen").len() < 8 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    soon(reconnected).await;
    assert_eq!(call(&client).await.unwrap(), "done");
    soon(client.ping()).await.unwrap();
}

#[tokio::test]
async fn listener_backs_off_if_its_stream_always_breaks() {
    let server = modern(json!({"tools": {"listChanged": true}}), |asked| {
        let params = json!({"_meta": {"io.modelcontextprotocol/subscriptionId": asked.id},
            "notifications": {"toolsListChanged": true}});
        let heard = json!({"jsonrpc": "2.0", "method": "notifications/subscriptions/acknowledged", "params": params});
        Say::Whole(events(format!("retry: 0\ndata: {heard}\n\n")))
    })
    .await;
    let mut retry = Retry::default();
    retry.base = Duration::from_millis(10);
    let client = soon(server.client().retry(retry).into_future()).await.unwrap();
    let _listening = soon(client.listen(Interest::new().lists())).await.unwrap();
    tokio::time::sleep(Duration::from_secs(1)).await;
    let asked = server.asked("subscriptions/listen").len();
    assert!((3..=8).contains(&asked), "{asked} in a second");
}
