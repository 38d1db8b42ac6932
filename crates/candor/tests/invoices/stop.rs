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
async fn a_server_that_is_told_to_stop_lets_the_call_end_and_answers_it() {
    for (name, way) in [("stop-http", Way::Http), ("stop-stdio", Way::Stdio)] {
        let shop = Shop::new(name);
        let (server, desk) = shop.start(way).await;
        let (books, calling, stopping) = stopped(&shop, server, &desk).await;
        tokio::time::sleep(Duration::from_millis(100)).await;
        assert!(!stopping.is_finished(), "it left a running call alone");
        books.execute_batch("ROLLBACK").unwrap();
        let answer = calling.await.unwrap().expect("its caller is answered");
        assert_eq!(code(&answer), None, "{answer}");
        assert_eq!(stopping.await.unwrap().status.code(), Some(0));

        let (_server, desk) = shop.start(way).await;
        let again = desk.call("create_invoice", &order("running")).await;
        assert_eq!(text(&again), text(&answer));
        assert_eq!(shop.invoices()["running"].len(), 1);
    }
}

/// Its thread waits for the books, and nobody can stop a thread: it ends after the record was closed, so that says "unknown".
#[tokio::test]
async fn a_call_that_does_not_end_in_time_is_unknown_and_not_started_again() {
    let shop = Shop::new("stop-late");
    let (server, desk) = shop.http(&["--drain", "100ms"]).await;
    let (books, calling, stopping) = stopped(&shop, server, &desk).await;
    // It hears no more, or in the last moment that nobody knows.
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
    assert_eq!(shop.invoices(), happened, "it was not started again");
}
