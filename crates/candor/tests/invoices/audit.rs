//! What is written down of every call: what it may do, and who has let it.

use candor::hints::{DeclaredHints, Effect, Hints};
use candor::operator::{RecordedEffect, find_operation, when};
use candor::store::{
    ApprovalChannel, AuditContext, AuditRow, Event, Filter, Options, Order, Page, Review,
};
use serde_json::{Value, json};

use crate::client::{Client, Kind, Person, everywhere};
use crate::desk::code;
use crate::messages::text;
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
    let beside = &told["result"]["_meta"]["dev.candor/dynamic-annotations"]["effect"];
    let declared = DeclaredHints {
        effect: Effect::from_word(beside.as_str().unwrap()),
        ..Hints::new(read_only, destructive, idempotent, open_world).declared()
    };
    declared.effective().hints.summary()
}

/// The effect of a row, in words.
fn effect(row: &AuditRow) -> Option<String> {
    RecordedEffect::of_row(row).map(|effect| effect.summary().into_owned())
}

/// The rows of each call have its whole set of hints; `--audit all` those of reads, too.
#[tokio::test]
async fn every_call_records_its_hints() {
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
        let changes = Hints::CHANGES.summary();
        wanted.push(("execute_migration".to_owned(), Some(changes)));
        let rows = rows(shop).await;
        let [start, complete, others @ ..] = &rows[..] else { panic!("{rows:?}") };
        assert_eq!((&*start.event, &*complete.event), ("start", "complete"));
        // With its key, a call may be repeated safely.
        let adds = Hints::ADDS.idempotent().closed_world().summary();
        assert_eq!(effect(start), Some(adds));
        let written: Vec<_> =
            others.iter().map(|row| (row.scope.tool.clone(), effect(row))).collect();
        assert_eq!(written, wanted);
        let last = others.last().unwrap();
        assert_eq!((&*last.event, last.outcome), ("refused", None));
        let names = rows.iter().filter(|row| row.event != "complete");
        assert!(names.into_iter().all(|row| row.circumstances.note.as_deref() == Some("tester 1")));
    })
    .await;
}

#[tokio::test]
async fn replay_is_a_durable_audit_row() {
    let shop = Shop::new("audit, replayed");
    let mut expected = 0;
    // The first server ends in good order and the second is stopped; neither loses a row.
    for round in 0..2 {
        let (server, desk) = shop.stdio(&[]);
        for _ in 0..3 {
            desk.settle("k").await.unwrap();
        }
        expected += if round == 0 { 2 } else { 3 };
        #[cfg(unix)]
        if round == 1 {
            server.terminate();
        }
        drop(desk);
        assert_eq!(server.ended().await.status.code(), Some(0));
        let rows = rows(&shop).await;
        let replays: Vec<_> = rows.iter().filter(|row| row.event == "replayed").collect();
        assert_eq!(replays.len(), expected, "{rows:?}");
        for row in replays {
            let key = row.key.as_ref().map(ToString::to_string);
            assert_eq!((key.as_deref(), &*row.scope.tool), (Some("k"), "create_invoice"));
        }
    }
    assert_eq!(shop.invoices()["k"].len(), 1);
}

/// The operation with this key, as history shows it.
async fn shown(shop: &Shop, key: &str) -> (String, Value) {
    let ledger = shop.ledger(Options::default());
    let operation = find_operation(&*ledger, key).await.unwrap();
    let full = serde_json::from_str(&operation.full_json(when::now())).unwrap();
    (operation.label().to_owned(), full)
}

#[tokio::test]
async fn released_key_shows_as_failed_with_its_error() {
    let shop = Shop::new("audit, released");
    let (_server, desk) = shop.stdio(&["--keep-arguments", "all"]);
    desk.settle("before").await.unwrap();
    let books = shop.books();
    books.execute_batch("BEGIN IMMEDIATE").unwrap();
    let answer = desk.call("create_invoice", &order("k")).await;
    assert_eq!(code(&answer), Some("busy"), "{answer}");
    let (words, full) = shown(&shop, "k").await;
    assert_eq!((&*words, &full["outcome"]), ("Failed", &json!("failed")), "{full}");
    assert_eq!(full["error"]["code"], "busy", "{full}");
    let message = full["error"]["message"].as_str().unwrap();
    assert!(text(&answer).contains(message), "{message} in {answer}");
    assert_eq!(full["arguments"]["amount_cents"], order("k")["amount_cents"], "{full}");

    books.execute_batch("ROLLBACK").unwrap();
    desk.settle("k").await.unwrap();
    let (words, full) = shown(&shop, "k").await;
    assert_eq!((&*words, &full["error"]), ("Succeeded", &Value::Null), "{full}");
    let errors: Vec<_> =
        full["timeline"].as_array().unwrap().iter().map(|row| &row["error"]).collect();
    assert_eq!(errors.iter().filter(|error| error["code"] == "busy").count(), 1, "{errors:?}");
}

/// The decision has a row of its own, and the start row repeats the reviewer and the channel.
#[tokio::test]
async fn start_row_records_the_reviewer_and_the_channel() {
    let flags = ["--ask", "destructive", "--hold", "50ms"];
    for kind in Kind::ALL {
        for (via, allows) in [
            (ApprovalChannel::Client, true),
            (ApprovalChannel::Client, false),
            (ApprovalChannel::Operator, true),
            (ApprovalChannel::Operator, false),
        ] {
            let shop = Shop::new(&format!("audit-{}-{allows}-{kind}", via.as_str()));
            let person = match (via, allows) {
                (ApprovalChannel::Operator, _) => Person::Nobody,
                (ApprovalChannel::Client, true) => Person::approving().0,
                (ApprovalChannel::Client, false) => Person::denying().0,
            };
            let (_server, client) = shop.client(kind, &flags, person).await;
            client.call("create_invoice", &order("k")).await;
            let invoice = json!({"invoice_id": "inv_1"});
            let mut told = client.call("delete_invoice", &invoice).await;
            if via == ApprovalChannel::Operator {
                assert_eq!(code(&told), Some("approval_required"), "{told}");
                let ledger = shop.ledger(Options::default());
                let waiting = ledger.waiting(Filter::default(), Page::default()).await.unwrap();
                let question = waiting.items[0].stored.question().unwrap();
                let decision = match allows {
                    true => Review::Approve,
                    false => Review::Deny { reason: Some("it is needed".to_owned()) },
                };
                let event = Event::Decide { question, by: "olga".to_owned(), via, decision };
                let (id, none) = (&waiting.items[0].id, AuditContext::default());
                ledger.apply(id, event, none).await.unwrap();
                told = client.call("delete_invoice", &invoice).await;
            }
            assert_eq!(code(&told), (!allows).then_some("denied"), "{kind}: {told}");
            let mut rows = rows(&shop).await;
            rows.retain(|row| row.scope.tool == "delete_invoice");
            let row = |event: &str| rows.iter().find(|row| row.event == event);
            let deletes = Hints::DELETES.closed_world().summary();
            let ask = row("ask").expect("a question");
            assert_eq!(effect(ask), Some(deletes.clone()));
            let decide = row("decide").expect("a decision");
            let by = decide.by.clone().expect("a reviewer");
            assert_eq!(by == "olga", via == ApprovalChannel::Operator, "{by}");
            assert_eq!(decide.via, Some(via));
            let to = decide.change.unwrap().to.as_str();
            assert_eq!(to, if allows { "approved" } else { "denied" });
            match row("start") {
                Some(start) => {
                    assert!(allows, "{kind}: {start:?}");
                    assert_eq!((start.by.as_ref(), start.via), (Some(&by), Some(via)), "{kind}");
                    assert_eq!(effect(start), Some(deletes));
                }
                None => assert!(!allows, "{kind}: {rows:?}"),
            }
            if (via, allows) == (ApprovalChannel::Operator, false) {
                assert_eq!(decide.why.as_deref(), Some("it is needed"));
            }
        }
    }
}
