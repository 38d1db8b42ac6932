//! Calls that have a key: started at most once, whatever happens to the caller, the handler or the store.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use candor_server::Server;
use candor_server::tool::{Idempotency, JsonTool, ToolError, code};
use serde_json::json;

#[tokio::test]
async fn the_same_call_again_is_answered_with_the_first_result() {
    let effects = Arc::new(AtomicUsize::new(0));
    let count = effects.clone();
    let create = JsonTool::open("create", move |args, ctx| {
        let number = count.fetch_add(1, Ordering::SeqCst) + 1;
        async move {
            assert!(args.get("idempotency_key").is_none());
            Ok::<_, ToolError>(json!({"invoice": number, "key": ctx.key()}))
        }
    })
    .idempotency(Idempotency::Required);
    let client = Server::new("invoices", "1").tool(create).test();
    let call = |key: &str| client.call("create", json!({"amount": 5, "idempotency_key": key}));
    let first = call("k-1").await;
    let again = call("k-1").await;
    assert!(!first.is_replayed() && again.is_replayed(), "{:#}", again.raw());
    assert_eq!(first.structured(), again.structured());
    assert_eq!(first.text(), again.text());
    let beside = client.keyed("k-1").call("create", json!({"amount": 5})).await;
    assert!(beside.is_replayed());
    let other = client.keyed("k-1").call("create", json!({"amount": 6})).await;
    assert_eq!(other.code(), Some(code::KEY_REUSED));
    let none = client.call("create", json!({"amount": 5})).await;
    assert_eq!(none.code(), Some(code::KEY_REQUIRED), "{}", none.text());
    assert_eq!(effects.load(Ordering::SeqCst), 1);
}
