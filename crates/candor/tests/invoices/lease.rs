//! A server is killed while it runs a call, and the caller repeats the call at the next one.

use candor::protocol::names::waiting;
use candor::store::{Filter, Options, Page, StateKind};
use serde_json::Value;

use crate::desk::code;
use crate::messages::call;
use crate::process::{Program, output};
use crate::shop::{Shop, order};

/// Ends when the handler of this key runs.
async fn dispatched(shop: &Shop, key: &str) {
    let ledger = shop.ledger(Options::default());
    let state = Some(StateKind::Dispatched);
    let running = Filter { key: Some(key.to_owned()), state, ..Filter::default() };
    while ledger.records(running.clone(), Page::default()).await.unwrap().items.is_empty() {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn retry_after_a_kill_reports_the_remaining_lease() {
    let shop = Shop::new("lease");
    let flags = ["--lease", "4s"];
    let (server, desk) = shop.stdio(&flags);
    desk.settle("before").await.unwrap();
    // The handler waits for the books, so it is killed before it can end.
    let books = shop.books();
    books.execute_batch("BEGIN IMMEDIATE").unwrap();
    let first = tokio::spawn(async move { desk.try_call("create_invoice", &order("k")).await });
    dispatched(&shop, "k").await;
    server.kill().await;
    books.execute_batch("ROLLBACK").unwrap();
    assert_eq!(first.await.unwrap(), None);

    let mut server = Program::start(shop.command().arg("--stdio").args(flags));
    let mut again = call(1, "create_invoice", &order("k"));
    again["params"]["_meta"]["progressToken"] = "p".into();
    server.write(&again.to_string()).await;
    let mut said = Vec::new();
    let answer = loop {
        let message = server.next().await;
        if message["id"] == 1 {
            break message;
        }
        said.push(message["params"].clone());
    };
    assert_eq!(code(&answer), Some("outcome_unknown"), "{answer}");
    let (last, earlier) = said.split_last().expect("a progress message");
    let seconds = |params: &Value, prefix: &str| {
        let text = params["message"].as_str()?.strip_prefix(prefix)?.strip_suffix(" s")?;
        text.parse::<u32>().ok()
    };
    let left = seconds(last, waiting::FOR_LEASE_OF_SILENT);
    assert!(left.is_some_and(|left| (1..=2).contains(&left)), "{last}");
    for params in earlier {
        let left = seconds(params, waiting::FOR_RUNNING);
        assert!(left.is_some_and(|left| (1..=4).contains(&left)), "{params}");
    }
    let steps: Vec<_> = said.iter().map(|params| params["progress"].as_f64().unwrap()).collect();
    assert!(steps.is_sorted_by(|a, b| a < b), "{steps:?}");
    assert!(!shop.invoices().contains_key("k"));
}

#[tokio::test]
async fn lease_outside_its_bounds_is_a_usage_error() {
    let shop = Shop::new("lease, bounds");
    for bad in ["0s", "500ms", "2h", "soon"] {
        let ended = output(shop.command().args(["--stdio", "--lease", bad])).await;
        assert_eq!(ended.status.code(), Some(2), "{bad}: {:?}", ended.stderr);
        let text = ended.stderr.join("\n");
        assert!(text.contains("--lease") && text.contains("1h"), "{text}");
    }
}
