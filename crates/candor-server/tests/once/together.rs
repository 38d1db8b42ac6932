//! Repetitions at the same time: one starts, the others wait for it, and all get the same.

use std::sync::Arc;
use std::time::{Duration, Instant};

use candor_server::protocol::Revision;
use candor_server::store::StateKind;
use candor_server::tool::code;
use serde_json::json;

use crate::bench::{File, Work, bare, comes_to, rows, server};

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn concurrent_retries_share_one_start_and_one_result() {
    for sqlite in [false, true] {
        let (file, work) = (File::new(), Work::new());
        let server = server().tool(work.waiting("act"));
        let server = if sqlite { server.ledger(file.open()) } else { server };
        let client = Arc::new(server.test());
        let calls: Vec<_> = (0..200)
            .map(|at| {
                let client = client.clone();
                tokio::spawn(async move {
                    let client = client.keyed("k");
                    let client = match at % 2 {
                        0 => client,
                        _ => client.speaking(Revision::LATEST_LEGACY),
                    };
                    client.call("act", json!({"n": 1})).await
                })
            })
            .collect();
        work.began().await;
        work.let_go();
        let mut first = 0;
        let mut answers = Vec::new();
        for call in calls {
            let called = call.await.unwrap();
            first += usize::from(!called.is_replayed());
            answers.push(bare(called.raw()).to_string());
        }
        assert_eq!((work.starts(), work.ends(), first), (1, 1, 1), "sqlite: {sqlite}");
        assert!(answers.iter().all(|answer| *answer == answers[0]), "{answers:?}");
        client.engine().settle().await;
        let rows = rows(client.engine()).await;
        let changes = rows.iter().filter(|row| row.change.is_some());
        let changes: Vec<_> = changes.map(|row| row.event.as_str()).collect();
        assert_eq!(changes, ["start", "complete"]);
        assert_eq!(rows.iter().filter(|row| row.event == "replayed").count(), 199);
    }
}

#[tokio::test]
async fn retry_gets_in_progress_after_the_join_limit() {
    let work = Work::new();
    let server = server().tool(work.waiting("act"));
    let client = server.limits(|l| l.join = Duration::from_millis(40)).test().keyed("k");
    let repeating = async {
        work.began().await;
        let begun = Instant::now();
        for client in [client.by("tester"), client.speaking(Revision::LATEST_LEGACY)] {
            let told = client.call("act", json!({})).await;
            assert_eq!(told.code(), Some(code::IN_PROGRESS), "{:#}", told.raw());
            let details = &told.raw()["_meta"]["dev.candor/error"];
            let after = details["retryAfterMs"].as_u64().unwrap();
            assert!((1000..=5000).contains(&after), "{details}");
            assert_eq!(details["retriable"], true);
            assert!(told.text().contains("same key"), "{}", told.text());
        }
        assert!(
            begun.elapsed() >= Duration::from_millis(80),
            "each retry waits for the join limit"
        );
        work.let_go();
    };
    let (first, ()) = tokio::join!(client.call("act", json!({})), repeating);
    let again = client.call("act", json!({})).await;
    assert!(again.is_replayed());
    assert_eq!(bare(again.raw()), bare(first.raw()));
    assert_eq!(work.starts(), 1);
}

#[tokio::test]
async fn retry_joins_a_call_on_another_replica() {
    let (file, work) = (File::new(), Work::new());
    let one = server().ledger(file.open()).tool(work.waiting("act")).test().keyed("k");
    let two = server().ledger(file.open()).tool(work.waiting("act")).test().keyed("k");
    let joining = async {
        work.began().await;
        let joined = two.call("act", json!({}));
        let releasing = async {
            tokio::time::sleep(Duration::from_millis(60)).await;
            work.let_go();
        };
        tokio::join!(joined, releasing).0
    };
    let (first, joined) = tokio::join!(one.call("act", json!({})), joining);
    assert!(joined.is_replayed(), "{:#}", joined.raw());
    assert_eq!(bare(joined.raw()), bare(first.raw()));
    assert_eq!(work.starts(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn each_key_starts_once_across_two_replicas() {
    let (file, work) = (File::new(), Work::new());
    let servers: Vec<_> = (0..2)
        .map(|_| Arc::new(server().ledger(file.open()).tool(work.tool("act")).test()))
        .collect();
    let calls: Vec<_> = (0..200)
        .map(|at| {
            let client = servers[at % 2].clone();
            let key = format!("k-{}", at / 10);
            tokio::spawn(
                async move { (key.clone(), client.keyed(&key).call("act", json!({})).await) },
            )
        })
        .collect();
    let mut numbers = std::collections::BTreeMap::new();
    for call in calls {
        let (key, called) = call.await.unwrap();
        let number = called.structured().unwrap()["number"].clone();
        assert_eq!(*numbers.entry(key).or_insert(number.clone()), number);
    }
    assert_eq!((work.starts(), numbers.len()), (20, 20));
}

#[tokio::test]
async fn joiner_that_disconnects_does_not_stop_the_call() {
    let work = Work::new();
    let client = server().tool(work.waiting("act")).test().keyed("k");
    let leaving = async {
        work.began().await;
        let joined = client.call("act", json!({}));
        assert!(tokio::time::timeout(Duration::from_millis(30), joined).await.is_err());
        work.let_go();
    };
    let (first, ()) = tokio::join!(client.call("act", json!({})), leaving);
    assert!(!first.is_error() && !first.is_replayed());
    comes_to(client.engine(), "act", "k", StateKind::Completed).await;
    assert_eq!(work.starts(), 1);
}
