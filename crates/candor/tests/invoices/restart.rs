//! What is remembered when a server comes back.

use candor::auth::BearerTokens;
use serde_json::Value;

use crate::desk::{Desk, Told, mark};
use crate::shop::{Shop, order};

/// The answer without its marks, which differ by nature.
fn bare(mut answer: Value) -> Value {
    answer["result"].as_object_mut().unwrap().remove("_meta");
    answer["id"].take();
    answer
}

async fn create(desk: &Desk, key: &str) -> Value {
    desk.call("create_invoice", &order(key)).await
}

#[cfg(unix)]
#[tokio::test]
async fn result_replays_verbatim_after_restarts() {
    let shop = Shop::new("restart");
    let (server, desk) = shop.http(&[]).await;
    let first = create(&desk, "k").await;
    assert_eq!((&mark(&first)["replayed"], &mark(&first)["attempt"]), (&false.into(), &1.into()));
    let again = create(&desk, "k").await;
    server.terminate();
    assert_eq!(server.ended().await.status.code(), Some(0));

    let (server, desk) = shop.http(&[]).await;
    let stopped = create(&desk, "k").await;
    server.kill().await;

    let (_server, desk) = shop.http(&[]).await;
    let killed = create(&desk, "k").await;
    for repeated in [again, stopped, killed] {
        // The HTTP helper checks that the header agrees.
        assert_eq!(mark(&repeated)["replayed"], true, "{repeated}");
        assert!(mark(&repeated)["completedAt"].is_string(), "{repeated}");
        assert_eq!(bare(repeated), bare(first.clone()));
    }
    assert_eq!(shop.invoices()["k"].len(), 1);
}

#[tokio::test]
async fn result_replays_after_the_host_leaves() {
    let shop = Shop::new("leaves");
    let (server, desk) = shop.stdio(&[]);
    let first = create(&desk, "k").await;
    drop(desk);
    assert_eq!(server.ended().await.status.code(), Some(0));
    let (_server, desk) = shop.stdio(&[]);
    let again = create(&desk, "k").await;
    assert_eq!(mark(&again)["replayed"], true);
    assert_eq!(bare(again), bare(first));
}

#[tokio::test]
async fn same_key_of_another_caller_is_another_operation() {
    let shop = Shop::new("tokens");
    let lines = [BearerTokens::line("alice", "a-token"), BearerTokens::line("bob", "b-token")];
    let tokens = shop.file("tokens");
    std::fs::write(&tokens, lines.join("\n")).unwrap();
    let (_server, desk) = shop.http(&["--tokens", tokens.to_str().unwrap()]).await;
    let (alice, bob) = (desk.with_token("a-token"), desk.with_token("b-token"));
    let of_alice = alice.settle("same").await.unwrap();
    let of_bob = bob.settle("same").await.unwrap();
    let id = |told: &Told| match told {
        Told::Done { id, .. } => id.clone(),
        Told::Unknown => panic!("no server was killed"),
    };
    assert_ne!(id(&of_alice), id(&of_bob));
    assert_eq!(alice.settle("same").await.unwrap(), of_alice);
    assert_eq!(bob.settle("same").await.unwrap(), of_bob);
    assert_eq!(shop.invoices()["same"], [id(&of_alice), id(&of_bob)]);
}
