//! What is written down of every call: what it may do, and who has let it.

use candor::hints::Hints;
use candor::store::{AuditRow, Circumstances, Decision, Event, Filter, Options, Order, Page, Via};
use serde_json::{Value, json};

use crate::client::{Client, Kind, Person, everywhere};
use crate::desk::code;
use crate::shop::{Shop, order};

/// All rows, the earliest first.
async fn rows(shop: &Shop) -> Vec<AuditRow> {
    let all = Page { from: None, most: 1000, order: Order::Oldest };
    let ledger = shop.ledger(Options::default());
    ledger.rows(Filter::default(), all).await.unwrap().items
}

/// The four hints of a call, in the words of the audit. Each set has words of its own.
async fn hints(client: &Client, tool: &str, arguments: &Value) -> String {
    let call = json!({"name": tool, "arguments": arguments});
    let told = client.request("tools/annotations", &call).await;
    let hint = |name: &str| told["result"]["annotations"][name].as_bool().unwrap();
    let [read_only, destructive, idempotent, open_world] =
        ["readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"].map(hint);
    Hints::new(read_only, destructive, idempotent, open_world).in_words()
}

/// The rows of each call have its whole set of hints; `--audit all` those of reads, too.
#[tokio::test]
async fn every_call_leaves_its_hints() {
    everywhere("audit", &["--audit", "all"], async |shop, client| {
        client.call("create_invoice", &order("k")).await;
        let invoice = json!({"invoice_id": "inv_1"});
        let mut wanted = Vec::new();
        for (tool, arguments) in [
            ("get_invoice", invoice.clone()),
            ("list_invoices", json!({})),
            ("upsert_user", json!({"email": "ada@example.com", "name": "Ada"})),
            ("send_invoice_email", invoice.clone()),
            ("update_invoice", json!({"id": "inv_1", "status": "archive"})),
            ("update_invoice", json!({"id": "inv_1", "status": "void"})),
            ("preview_migration", json!({"migration_id": "refunds"})),
            ("delete_invoice", invoice),
        ] {
            let told = client.call(tool, &arguments).await;
            assert_eq!(code(&told), None, "{told}");
            wanted.push((tool.to_owned(), Some(hints(client, tool, &arguments).await)));
        }
        let refused = client.call("execute_migration", &json!({"migration_id": "refunds"})).await;
        assert_eq!(code(&refused), Some("preview_required"));
        let deletes = Hints::DELETES.in_words();
        wanted.push(("execute_migration".to_owned(), Some(deletes)));
        let rows = rows(shop).await;
        let [start, complete, others @ ..] = &rows[..] else { panic!("{rows:?}") };
        assert_eq!((&*start.event, &*complete.event), ("start", "complete"));
        // By its nature: that it has a key changes nothing of what it does.
        let adds = Hints::ADDS.closed_world().in_words();
        assert_eq!(start.circumstances.hints.as_deref(), Some(&*adds));
        let written: Vec<_> = others
            .iter()
            .map(|row| {
                (row.scope.tool.clone(), row.circumstances.hints.as_deref().map(str::to_owned))
            })
            .collect();
        assert_eq!(written, wanted);
        let last = others.last().unwrap();
        assert_eq!((&*last.event, last.outcome), ("refused", None));
        let names = rows.iter().filter(|row| row.event != "complete");
        assert!(names.into_iter().all(|row| row.circumstances.note.as_deref() == Some("tester 1")));
    })
    .await;
}

/// The decision stands in a row of its own and in that of the start: who, and on which way.
#[tokio::test]
async fn who_has_let_a_call_start_is_written_down_with_it() {
    let flags = ["--ask", "destructive", "--hold", "50ms"];
    for kind in Kind::ALL {
        for (via, allows) in [
            (Via::Client, true),
            (Via::Client, false),
            (Via::Operator, true),
            (Via::Operator, false),
        ] {
            let shop = Shop::new(&format!("audit-{}-{allows}-{kind}", via.as_str()));
            let person = match (via, allows) {
                (Via::Operator, _) => Person::Nobody,
                (Via::Client, true) => Person::approving().0,
                (Via::Client, false) => Person::denying().0,
            };
            let (_server, client) = shop.client(kind, &flags, person).await;
            client.call("create_invoice", &order("k")).await;
            let invoice = json!({"invoice_id": "inv_1"});
            let mut told = client.call("delete_invoice", &invoice).await;
            if via == Via::Operator {
                assert_eq!(code(&told), Some("approval_required"), "{told}");
                let ledger = shop.ledger(Options::default());
                let waiting = ledger.waiting(Filter::default(), Page::default()).await.unwrap();
                let question = waiting.items[0].stored.question().unwrap();
                let decision = match allows {
                    true => Decision::Approve,
                    false => Decision::Deny { reason: Some("it is needed".to_owned()) },
                };
                let event = Event::Decide { question, by: "olga".to_owned(), via, decision };
                let (id, none) = (&waiting.items[0].id, Circumstances::default());
                ledger.apply(id, event, none).await.unwrap();
                told = client.call("delete_invoice", &invoice).await;
            }
            assert_eq!(code(&told), (!allows).then_some("denied"), "{kind}: {told}");
            let mut rows = rows(&shop).await;
            rows.retain(|row| row.scope.tool == "delete_invoice");
            let row = |event: &str| rows.iter().find(|row| row.event == event);
            let deletes = Hints::DELETES.closed_world().in_words();
            let ask = row("ask").expect("a question");
            assert_eq!(ask.circumstances.hints.as_deref(), Some(&*deletes));
            let decide = row("decide").expect("a decision");
            let by = decide.by.clone().expect("somebody");
            assert_eq!(by == "olga", via == Via::Operator, "{by}");
            assert_eq!(decide.via, Some(via));
            let to = decide.change.unwrap().to.as_str();
            assert_eq!(to, if allows { "approved" } else { "denied" });
            match row("start") {
                Some(start) => {
                    assert!(allows, "{kind}: {start:?}");
                    assert_eq!((start.by.as_ref(), start.via), (Some(&by), Some(via)), "{kind}");
                    assert_eq!(start.circumstances.hints.as_deref(), Some(&*deletes));
                }
                None => assert!(!allows, "{kind}: {rows:?}"),
            }
            if (via, allows) == (Via::Operator, false) {
                assert_eq!(decide.why.as_deref(), Some("it is needed"));
            }
        }
    }
}
