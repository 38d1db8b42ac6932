//! Two servers of one person, as two hosts start them: with the same books and the same ledger.

use serde_json::json;
use tokio::task::JoinSet;

use crate::desk::{Desk, Told};
use crate::messages::text;
use crate::shop::Shop;

const KEYS: usize = 300;

/// Asks for all keys at both, twice each, from different ends.
async fn race(desks: [&Desk; 2]) -> Vec<(String, Told)> {
    let mut racing = JoinSet::new();
    for (at, desk) in desks.into_iter().cycle().take(4).enumerate() {
        for lane in 0..8 {
            let desk = desk.clone();
            racing.spawn(async move {
                let mut told = Vec::new();
                for step in (lane..KEYS).step_by(8) {
                    let key = format!("key-{}", if at < 2 { step } else { KEYS - 1 - step });
                    let answer = desk.settle(&key).await.expect("both servers live");
                    told.push((key, answer));
                }
                told
            });
        }
    }
    racing.join_all().await.into_iter().flatten().collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_servers_that_race_for_the_same_keys_create_each_invoice_once() {
    let shop = Shop::new("two");
    // Both start at once in an empty folder.
    let ((_first, one), (_second, other)) = (shop.stdio(&[]), shop.stdio(&[]));
    let answers = race([&one, &other]).await;
    assert_eq!(answers.len(), 4 * KEYS);
    let invoices = shop.invoices();
    assert_eq!(invoices.len(), KEYS);
    for (key, told) in answers {
        let Told::Done { id, .. } = told else { panic!("{key}: {told:?}") };
        assert_eq!(invoices[&key], [id], "{key}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn servers_that_create_one_ledger_at_once_all_start() {
    for round in 0..20 {
        let shop = Shop::new("at-once");
        let servers: Vec<_> = (0..4).map(|_| shop.stdio(&[])).collect();
        for (_, desk) in &servers {
            let told = desk.settle("same").await;
            assert!(matches!(told, Some(Told::Done { .. })), "round {round}: {told:?}");
        }
        assert_eq!(shop.invoices()["same"].len(), 1);
    }
}

#[tokio::test]
async fn servers_with_different_books_share_a_ledger_but_no_keys() {
    let (shop, ours) = (Shop::new("books"), Shop::new("other-books"));
    let (_first, one) = shop.stdio(&[]);
    let mut command = ours.bare();
    command.arg("--stdio").arg("--ledger");
    command.arg(format!("sqlite:{}", shop.file("ledger.db").display()));
    let mut second = crate::process::Program::start(&mut command);
    let other = Desk::stdio(&mut second);
    for desk in [&one, &other] {
        assert!(matches!(desk.settle("same").await, Some(Told::Done { .. })));
    }
    assert_eq!((shop.invoices().len(), ours.invoices().len()), (1, 1));
    let list = other.call("list_invoices", &json!({})).await;
    assert!(text(&list).contains("inv_1"), "{list}");
}
