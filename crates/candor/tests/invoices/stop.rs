//! Servers that are told to stop while a call with a key runs. It runs for as long as the books are locked.

use std::time::{Duration, Instant};

use candor::store;
use rusqlite::Connection;

use crate::desk::{Desk, Told, code};
use crate::messages::text;
use crate::process::{Ended, Program};
use crate::shop::{Shop, Way, order};

/// A call that has started, at a server that was then told to stop.
async fn stopped(shop: &Shop, server: Program, desk: &Desk) -> (Connection, Calling, Stopping) {
    // The first has nothing in its way.
    assert!(matches!(desk.settle("before").await, Some(Told::Done { .. })));
    let books = shop.books();
    books.execute_batch("BEGIN IMMEDIATE").unwrap();
    let asking = desk.clone();
    let calling =
        tokio::spawn(async move { asking.try_call("create_invoice", &order("running")).await });
    started(shop, 2).await;
    server.terminate();
    (books, calling, tokio::spawn(server.ended()))
}

type Calling = tokio::task::JoinHandle<Option<serde_json::Value>>;
type Stopping = tokio::task::JoinHandle<Ended>;

/// Waits until the ledger knows of so many starts: from then on, a call runs.
async fn started(shop: &Shop, starts: usize) {
    let place = format!("sqlite:{}", shop.file("ledger.db").display());
    let ledger = store::open(&place, store::Options::default()).unwrap();
    let begun = Instant::now();
    let all = store::Page { from: None, most: 100, order: store::Order::Oldest };
    loop {
        let rows = ledger.rows(store::Filter::default(), all).await.unwrap().items;
        if rows.iter().filter(|row| row.event == "start").count() >= starts {
            return;
        }
        assert!(begun.elapsed() < Duration::from_secs(5), "it was never started");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

#[tokio::test]
async fn stopping_server_finishes_and_answers_a_running_call() {
    for (name, way) in [("stop-http", Way::Http), ("stop-stdio", Way::Stdio)] {
        let shop = Shop::new(name);
        let (server, desk) = shop.start(way).await;
        let (books, calling, stopping) = stopped(&shop, server, &desk).await;
        tokio::time::sleep(Duration::from_millis(100)).await;
        assert!(!stopping.is_finished(), "the server ended before its running call");
        books.execute_batch("ROLLBACK").unwrap();
        let answer = calling.await.unwrap().expect("the caller gets an answer");
        assert_eq!(code(&answer), None, "{answer}");
        assert_eq!(stopping.await.unwrap().status.code(), Some(0));

        let (_server, desk) = shop.start(way).await;
        let again = desk.call("create_invoice", &order("running")).await;
        assert_eq!(text(&again), text(&answer));
        assert_eq!(shop.invoices()["running"].len(), 1);
    }
}

/// The handler's thread waits for the books and cannot be stopped. It ends after the record is closed as outcome unknown.
#[tokio::test]
async fn call_that_outlives_the_drain_is_not_started_again() {
    let shop = Shop::new("stop-late");
    let (server, desk) = shop.http(&["--drain", "100ms"]).await;
    let (books, calling, stopping) = stopped(&shop, server, &desk).await;
    // The caller gets no answer, or "outcome unknown" in the last moment.
    if let Some(told) = calling.await.unwrap() {
        assert_eq!(code(&told), Some("outcome_unknown"), "{told}");
    }
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert!(!stopping.is_finished());
    books.execute_batch("ROLLBACK").unwrap();
    assert_eq!(stopping.await.unwrap().status.code(), Some(0));

    let happened = shop.invoices();
    let (_server, desk) = shop.http(&[]).await;
    match desk.settle("running").await.unwrap() {
        Told::Done { id, .. } => assert_eq!(happened["running"], [id]),
        Told::Unknown => {}
    }
    assert_eq!(shop.invoices(), happened, "the call was not started again");
}
