//! Bearer tokens that the host refreshes, against a scripted server that accepts one token at a time.

mod common;

use std::future::IntoFuture as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::http::StatusCode;
use candor_client::{Client, Error, Trust};
use serde_json::{Value, json};

use common::scripted::{Asked, Say, Scripted, said, scripted, status, tool, tools};
use common::soon;

/// The number of the token that a server accepts, as both sides see it.
type Accepted = Arc<AtomicUsize>;

fn answer(asked: &Asked, era: &str) -> Say {
    match (asked.method.as_str(), era) {
        ("server/discover", "modern") => Say::Result(json!({
            "resultType": "complete", "supportedVersions": ["2026-07-28"],
            "capabilities": {"tools": {}}, "ttlMs": 0, "cacheScope": "private",
        })),
        ("server/discover", _) => Say::Error(-32601, "Method not found"),
        ("initialize", _) => Say::Result(json!({
            "protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
            "serverInfo": {"name": "old", "version": "1"},
        })),
        ("GET", _) => Say::Whole(status(StatusCode::METHOD_NOT_ALLOWED, "")),
        ("tools/list", _) => tools(&json!([tool("charge", &Value::Null)])),
        _ => said("charged"),
    }
}

fn bears(asked: &Asked, number: usize) -> bool {
    let sent = asked.headers.get("authorization").and_then(|value| value.to_str().ok());
    sent == Some(&format!("Bearer t0ken-{number}"))
}

/// A server of an era that lets in whoever sends the accepted token.
async fn guarded(era: &'static str) -> (Scripted, Accepted) {
    let accepted = Accepted::default();
    let accepts = accepted.clone();
    let server = scripted(move |asked| match bears(asked, accepts.load(Ordering::SeqCst)) {
        true => answer(asked, era),
        false => Say::Whole(status(StatusCode::UNAUTHORIZED, "")),
    })
    .await;
    (server, accepted)
}

#[tokio::test]
async fn refused_token_is_refreshed_once_for_all_requests() {
    for era in ["modern", "legacy"] {
        let (server, accepted) = guarded(era).await;
        let (asked, current) = (Arc::new(AtomicUsize::new(0)), accepted.clone());
        let counted = asked.clone();
        let connect = server.client().trust(Trust::Trusted).bearer_from(move || {
            let number = current.load(Ordering::SeqCst);
            counted.fetch_add(1, Ordering::SeqCst);
            async move {
                tokio::time::sleep(std::time::Duration::from_millis(50)).await;
                Ok::<_, String>(format!("t0ken-{number}"))
            }
        });
        let client = soon(connect.parallel_writes().into_future()).await.unwrap();
        soon(client.tools()).await.unwrap();
        assert_eq!(asked.load(Ordering::SeqCst), 1, "{era}: one token serves all requests");

        accepted.store(1, Ordering::SeqCst);
        let calls = (0..8).map(|_| client.call("charge", json!({})).into_future());
        for result in soon(futures_util::future::join_all(calls)).await {
            assert_eq!(result.unwrap().text(), "charged", "{era}");
        }
        assert_eq!(asked.load(Ordering::SeqCst), 2, "{era}: eight refusals, one refresh");
        let calls = server.asked("tools/call");
        let ran = calls.iter().filter(|call| bears(call, 1)).count();
        assert_eq!(ran, 8, "{era}: each call ran once");
        assert!(!format!("{client:?}").contains("t0ken"), "{client:?}");
    }
}

#[tokio::test]
async fn token_refused_after_a_refresh_ends_the_request() {
    let (server, accepted) = guarded("modern").await;
    let connect = server.client().bearer_from(|| async { Ok::<_, String>("t0ken-0".to_owned()) });
    let client = soon(connect.into_future()).await.unwrap();
    accepted.store(7, Ordering::SeqCst);
    let before = server.methods().len();
    let refused = soon(client.tools()).await.unwrap_err();
    assert!(matches!(refused, Error::Unauthorized { status: 401, .. }), "{refused}");
    assert_eq!(server.methods().len(), before + 1, "the same token is not sent twice");

    let numbers = AtomicUsize::new(100);
    let connect = server.client().bearer_from(move || {
        let number = numbers.fetch_add(1, Ordering::SeqCst);
        async move { Ok::<_, String>(format!("t0ken-{number}")) }
    });
    let before = server.methods().len();
    let refused = soon(connect.into_future()).await.unwrap_err();
    assert!(matches!(refused, Error::Unauthorized { status: 401, .. }), "{refused}");
    assert_eq!(server.methods().len(), before + 2, "one refresh, no more");
}

#[tokio::test]
async fn host_without_a_token_sends_nothing() {
    let (server, _) = guarded("modern").await;
    for (token, why) in [(Err("log in first"), "log in first"), (Ok("a\nb"), "cannot be sent")] {
        let token = token.map(str::to_owned);
        let connect = Client::connect(&server.url).bearer_from(move || {
            let token = token.clone();
            async move { token }
        });
        let error = soon(connect.into_future()).await.unwrap_err();
        assert!(matches!(error, Error::NoToken { .. }), "{error}");
        assert!(error.to_string().contains(why) && !error.to_string().contains("a\nb"), "{error}");
    }
    assert!(server.methods().is_empty());
}
