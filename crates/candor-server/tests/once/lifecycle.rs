//! How a server ends, how much it does at once, and how it shows that it lives.

use std::sync::Arc;
use std::time::{Duration, Instant};

use candor_server::protocol::types::ToolAnnotations;
use candor_server::store::{LedgerLimits, RecordState, StateKind, UnknownReason};
use candor_server::testing::TestClient;
use candor_server::tool::{JsonTool, ToolError, code};
use serde_json::json;

use crate::bench::{Work, comes_to, id, memory, server, state};
use crate::common::soon;

async fn leave(client: &TestClient, work: &Work) {
    tokio::select! {
        called = client.call("act", json!({})) => panic!("it has ended: {:#}", called.raw()),
        () = work.began() => {}
    }
}

#[tokio::test]
async fn settle_waits_until_running_calls_are_recorded() {
    let work = Work::new();
    let client = server().tool(work.waiting("act")).test().keyed("k");
    leave(&client, &work).await;
    let ending = async {
        tokio::time::sleep(Duration::from_millis(30)).await;
        work.let_go();
    };
    let begun = Instant::now();
    tokio::join!(client.engine().settle(), ending);
    assert_eq!(state(client.engine(), "act", "k").await, StateKind::Completed);
    assert!(begun.elapsed() < Duration::from_secs(4), "it does not wait for the whole drain time");
    assert!(client.call("act", json!({})).await.is_replayed());
    assert_eq!((work.starts(), work.ends()), (1, 1));
}

#[tokio::test]
async fn call_stopped_after_the_drain_time_has_an_unknown_outcome() {
    let work = Work::new();
    let server = server().tool(work.waiting("act"));
    let client = server.limits(|l| l.drain = Duration::from_millis(30)).test().keyed("k");
    let engine = client.engine().clone();
    let ending = async {
        work.began().await;
        engine.settle().await;
    };
    let (told, ()) = tokio::join!(client.call("act", json!({})), ending);
    assert_eq!(
        told.code(),
        Some(code::OUTCOME_UNKNOWN),
        "the waiting caller gets it: {:#}",
        told.raw()
    );
    let found = engine.store().unwrap().find(&id("tester", "act", "k")).await.unwrap().unwrap();
    assert!(
        matches!(
            found.stored.state,
            RecordState::Indeterminate { reason: UnknownReason::Stopped, .. }
        ),
        "{:?}",
        found.stored.state
    );
    work.let_go();
    let again = client.call("act", json!({})).await;
    assert_eq!(again.code(), Some(code::OUTCOME_UNKNOWN));
    assert_eq!((work.starts(), work.ends()), (1, 0));
}

#[tokio::test]
async fn settled_server_refuses_new_keyed_calls() {
    let work = Work::new();
    let server = server().tool(work.waiting("act"));
    let client = server.limits(|l| l.drain = Duration::from_millis(10)).test().keyed("k");
    leave(&client, &work).await;
    client.engine().settle().await;
    let late = client.keyed("late").call("act", json!({})).await;
    assert_eq!(late.code(), Some(code::BUSY), "{:#}", late.raw());
    assert_eq!(state(client.engine(), "act", "late").await, StateKind::Absent);
    assert_eq!(work.starts(), 1);
}

#[tokio::test]
async fn keyed_calls_beyond_the_limit_are_refused_as_busy() {
    let work = Work::new();
    let server = server().tool(work.waiting("act")).tool(work.tool("other"));
    let client = server.limits(|l| l.keyed_calls = 1).test();
    let first = client.keyed("a");
    let meanwhile = async {
        work.began().await;
        let busy = client.keyed("b").call("other", json!({})).await;
        assert_eq!(busy.code(), Some(code::BUSY), "{:#}", busy.raw());
        let details = &busy.raw()["_meta"]["dev.candor/error"];
        assert_eq!((&details["retriable"], &details["retryAfterMs"]), (&json!(true), &json!(1000)));
        assert_eq!(state(client.engine(), "other", "b").await, StateKind::Absent);
        assert!(
            !client.call("other", json!({})).await.is_error(),
            "a call without a key has capacity"
        );
        work.let_go();
    };
    tokio::join!(first.call("act", json!({})), meanwhile);
    // A finished call holds no slot.
    assert!(first.call("act", json!({})).await.is_replayed());
    soon(async {
        while client.keyed("b").call("other", json!({})).await.is_error() {
            tokio::task::yield_now().await;
        }
    })
    .await;
    assert_eq!(work.starts(), 3);
}

#[tokio::test]
async fn call_of_a_disconnected_caller_holds_its_slot() {
    let work = Work::new();
    let server = server().tool(work.waiting("act"));
    let client = server.limits(|l| l.keyed_calls = 1).test().keyed("a");
    leave(&client, &work).await;
    assert_eq!(client.keyed("b").call("act", json!({})).await.code(), Some(code::BUSY));
    work.let_go();
    comes_to(client.engine(), "act", "a", StateKind::Completed).await;
    assert_eq!(work.starts(), 1);
}

/// Looks at a record, and what a repetition is told of it, for as long as it runs.
async fn lives(client: Arc<TestClient>, key: &str, work: &Work) {
    work.began().await;
    let begun = Instant::now();
    loop {
        match state(client.engine(), "act", key).await {
            StateKind::Dispatched => {}
            StateKind::Completed => break,
            other => panic!("{other:?} after {:?}", begun.elapsed()),
        }
        let told = client.keyed(key).call("act", json!({})).await;
        assert_ne!(told.code(), Some(code::OUTCOME_UNKNOWN), "after {:?}", begun.elapsed());
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert!(begun.elapsed() > Duration::from_millis(2600), "{:?}", begun.elapsed());
    assert_eq!(work.starts(), 1);
}

/// A tool that takes five leases; asleep, or without letting go of its thread.
fn long(work: &Work, blocks: bool) -> JsonTool {
    let work = work.clone();
    JsonTool::open("act", move |_, _| {
        let work = work.clone();
        async move {
            const LONG: Duration = Duration::from_secs(3);
            work.start();
            if blocks {
                std::thread::sleep(LONG);
            } else {
                tokio::time::sleep(LONG).await;
            }
            Ok::<_, ToolError>("done")
        }
    })
}

async fn outlives_its_lease(blocks: bool) {
    let work = Work::new();
    let rules = LedgerLimits { lease: Duration::from_millis(600), ..LedgerLimits::default() };
    let server = server().ledger(memory(rules)).tool(long(&work, blocks));
    let client = Arc::new(server.limits(|l| l.join = Duration::ZERO).test());
    let calling = client.clone();
    let call = tokio::spawn(async move { calling.keyed("k").call("act", json!({})).await });
    lives(client, "k", &work).await;
    assert_eq!(call.await.unwrap().text(), "done");
}

#[tokio::test]
async fn call_longer_than_its_lease_stays_running() {
    outlives_its_lease(false).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn call_that_blocks_its_thread_past_its_lease_stays_running() {
    outlives_its_lease(true).await;
}

#[tokio::test]
async fn stopped_reading_call_can_restart_on_another_server() {
    let work = Work::new();
    let mut reads = ToolAnnotations::new();
    reads.read_only_hint = Some(true);
    let store = memory(LedgerLimits::default());
    let on = || server().ledger(store.clone()).tool(work.waiting("act").annotations(reads.clone()));
    let client = on().limits(|l| l.drain = Duration::from_millis(10)).test().keyed("k");
    let engine = client.engine().clone();
    let ending = async {
        work.began().await;
        engine.settle().await;
    };
    let (told, ()) = tokio::join!(client.call("act", json!({})), ending);
    assert!(told.is_error());
    assert!(!told.text().contains("not started again"), "{}", told.text());
    work.let_go();
    let next = on().test().keyed("k").call("act", json!({})).await;
    assert!(!next.is_error(), "by the next server: {:#}", next.raw());
    assert_eq!(work.starts(), 2);
}
