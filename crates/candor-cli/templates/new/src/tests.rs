//! The server as a client sees it, without a socket: it checks arguments, and replays calls with a key.

use std::{env, fs, process};

use candor::json;
use candor::testing::TestClient;

use crate::notes::Notes;
use crate::server;

/// A client of a server without notes, for one test.
fn client(test: &str) -> TestClient {
    let file = format!("{}-{}-{test}.txt", env!("CARGO_PKG_NAME"), process::id());
    let path = env::temp_dir().join(file);
    let _ = fs::remove_file(&path);
    server(Notes::at(&path).unwrap()).test()
}

#[tokio::test]
async fn a_note_is_found_again() {
    let client = client("found");
    let empty = client.call("list_notes", json!({})).await;
    assert_eq!(empty.structured(), Some(&json!({"result": []})));

    for (key, text) in [("key-1", "buy milk"), ("key-2", "call Ada")] {
        client
            .call("add_note", json!({"text": text, "idempotency_key": key}))
            .await;
    }
    let latest = client.call("list_notes", json!({"limit": 1})).await;
    assert_eq!(latest.structured(), Some(&json!({"result": ["call Ada"]})));
}

#[tokio::test]
async fn a_repetition_adds_nothing() {
    let client = client("repeated");
    let note = json!({"text": "buy milk", "idempotency_key": "key-1"});
    let first = client.call("add_note", &note).await;
    let again = client.call("add_note", &note).await;
    assert_eq!(again.text(), first.text());
    assert!(!first.is_replayed() && again.is_replayed());
    let all = client.call("list_notes", json!({})).await;
    assert_eq!(all.structured(), Some(&json!({"result": ["buy milk"]})));
}

#[tokio::test]
async fn invalid_arguments_are_refused() {
    let client = client("refused");
    let lines = json!({"text": "one\ntwo", "idempotency_key": "key-1"});
    let refused = client.call("add_note", lines).await;
    assert_eq!(refused.code(), Some("many_lines"));

    let refused = client.call("list_notes", json!({"limit": 0})).await;
    assert!(refused.is_error());
    assert!(refused.text().contains("/limit"), "{}", refused.text());
}

#[tokio::test]
async fn clients_know_beforehand_what_a_call_does() {
    let client = client("hints");
    let hints = client.tool("list_notes").await.annotations.unwrap();
    assert_eq!(hints.read_only_hint, Some(true));
    let hints = client.tool("add_note").await.annotations.unwrap();
    assert_eq!(
        (hints.read_only_hint, hints.destructive_hint),
        (Some(false), Some(false))
    );
}
