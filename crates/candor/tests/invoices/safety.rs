//! What is changed, deleted and migrated, in the words of the guide to safe tools.

use serde_json::{Value, json};

use crate::client::{Client, everywhere};
use crate::desk::code;
use crate::messages::text;
use crate::shop::{CUSTOMER, Shop, order};

fn fails(answer: &Value) -> &str {
    assert_eq!(answer["result"]["isError"], true, "{answer}");
    text(answer)
}

/// What the database says of an invoice.
fn status(shop: &Shop, id: i64) -> Option<String> {
    let of_id = "SELECT status FROM invoices WHERE id = ?";
    shop.books().query_row(of_id, [id], |row| row.get(0)).ok()
}

fn pay(shop: &Shop, id: i64) {
    shop.books().execute("UPDATE invoices SET status = 'paid' WHERE id = ?", [id]).unwrap();
}

async fn invoices(client: &Client, count: usize) {
    for number in 1..=count {
        let made = client.call("create_invoice", &order(&format!("k-{number}"))).await;
        assert_eq!(code(&made), None, "{made}");
    }
}

/// The tables of the books, and their columns.
fn schema(shop: &Shop) -> Vec<String> {
    let books = shop.books();
    let mut all = books.prepare("SELECT sql FROM sqlite_schema ORDER BY name").unwrap();
    let rows = all.query_map([], |row| Ok(row.get::<_, Option<String>>(0)?.unwrap_or_default()));
    rows.unwrap().map(Result::unwrap).collect()
}

/// A second deletion fails.
#[tokio::test]
async fn refused_deletion_changes_nothing_and_names_an_alternative() {
    everywhere("delete", &[], async |shop, desk| {
        invoices(desk, 2).await;
        let missing = desk.call("delete_invoice", &json!({"invoice_id": "inv_7"})).await;
        assert_eq!(fails(&missing), "Invoice inv_7 not found. Cannot delete.");
        pay(shop, 1);
        let paid = desk.call("delete_invoice", &json!({"invoice_id": "inv_1"})).await;
        assert_eq!(
            fails(&paid),
            "Cannot delete paid invoice. Call `void_invoice` instead to prevent future charges."
        );
        let instead = &paid["result"]["_meta"]["dev.candor/error"]["instead"];
        assert_eq!(*instead, json!({"tool": "void_invoice", "arguments": {"invoice_id": "inv_1"}}));
        assert_eq!(status(shop, 1).as_deref(), Some("paid"));
        let voided = desk.call("void_invoice", &instead["arguments"]).await;
        assert_eq!(text(&voided), "Invoice inv_1 is void.");
        let deleted = desk.call("delete_invoice", &json!({"invoice_id": "inv_2"})).await;
        assert_eq!(text(&deleted), "Invoice inv_2 deleted.");
        assert_eq!(status(shop, 2), None);
        let again = desk.call("delete_invoice", &json!({"invoice_id": "inv_2"})).await;
        assert_eq!(fails(&again), "Invoice inv_2 not found. Cannot delete.");
        assert_eq!(status(shop, 1).as_deref(), Some("void"), "the other invoice is unchanged");
    })
    .await;
}

/// A deletion takes an id that `list_invoices` returns and `get_invoice` accepts.
#[tokio::test]
async fn deletion_needs_an_id_that_the_list_returns() {
    everywhere("list-get-delete", &[], async |shop, desk| {
        invoices(desk, 3).await;
        let list = desk.call("list_invoices", &json!({})).await;
        let listed = list["result"]["structuredContent"]["invoices"].as_array().unwrap().clone();
        let ids: Vec<_> =
            listed.iter().map(|invoice| invoice["invoice_id"].as_str().unwrap()).collect();
        assert_eq!(ids, ["inv_1", "inv_2", "inv_3"]);
        let details = desk.call("get_invoice", &json!({"invoice_id": ids[1]})).await;
        assert_eq!(
            details["result"]["structuredContent"],
            json!({
                "invoice_id": "inv_2", "customer_id": CUSTOMER,
                "amount_cents": order("k-2")["amount_cents"], "status": "draft",
            })
        );
        let deleted = desk.call("delete_invoice", &json!({"invoice_id": ids[1]})).await;
        assert_eq!(text(&deleted), "Invoice inv_2 deleted.");
        let list = desk.call("list_invoices", &json!({})).await;
        assert_eq!(list["result"]["structuredContent"]["invoices"].as_array().unwrap().len(), 2);
        // Nothing is deleted without a valid id.
        for none in [
            json!({}),
            json!({"invoice_id": null}),
            json!({"invoice_id": 1}),
            json!({"id": "inv_1"}),
        ] {
            let answer = desk.call("delete_invoice", &none).await;
            assert_eq!(code(&answer), Some("invalid_arguments"), "{answer}");
        }
        for unknown in ["", "inv_", "1", "inv_1; DROP TABLE invoices", "inv_2"] {
            let answer = desk.call("delete_invoice", &json!({"invoice_id": unknown})).await;
            assert_eq!(fails(&answer), format!("Invoice {unknown} not found. Cannot delete."));
        }
        assert_eq!(
            (status(shop, 1).as_deref(), status(shop, 3).as_deref()),
            (Some("draft"), Some("draft"))
        );
    })
    .await;
}

/// The status takes each of these values, and a void invoice can change again.
#[tokio::test]
async fn invoice_status_can_be_changed_and_changed_back() {
    everywhere("update", &[], async |shop, desk| {
        invoices(desk, 1).await;
        for wanted in ["open", "archive", "void", "draft"] {
            let told = desk.call("update_invoice", &json!({"id": "inv_1", "status": wanted})).await;
            assert_eq!(told["result"]["structuredContent"]["status"], wanted, "{told}");
            assert_eq!(status(shop, 1).as_deref(), Some(wanted));
        }
        let same = desk.call("update_invoice", &json!({"id": "inv_1", "amount_cents": 5})).await;
        assert_eq!(same["result"]["structuredContent"]["amount_cents"], 5);
        let archived = desk.call("archive_invoice", &json!({"invoice_id": "inv_1"})).await;
        assert_eq!(text(&archived), "Invoice inv_1 is archived.");
        let unknown = desk.call("update_invoice", &json!({"id": "inv_1", "status": "paid"})).await;
        assert_eq!(code(&unknown), Some("invalid_arguments"), "only the bank sets the status paid");
        pay(shop, 1);
        let paid = desk.call("update_invoice", &json!({"id": "inv_1", "status": "draft"})).await;
        assert_eq!(code(&paid), Some("invoice_paid"));
        assert_eq!(status(shop, 1).as_deref(), Some("paid"));
    })
    .await;
}

/// Voiding can be undone. Deletion cannot.
#[tokio::test]
async fn voided_invoice_can_be_reopened_and_deleted_invoice_cannot() {
    everywhere("void", &[], async |shop, desk| {
        invoices(desk, 1).await;
        for _ in 0..2 {
            let voided = desk.call("void_invoice", &json!({"invoice_id": "inv_1"})).await;
            assert_eq!(text(&voided), "Invoice inv_1 is void.", "voiding is idempotent");
        }
        assert_eq!(status(shop, 1).as_deref(), Some("void"));
        let opened = desk.call("update_invoice", &json!({"id": "inv_1", "status": "open"})).await;
        assert_eq!(opened["result"]["structuredContent"]["status"], "open", "{opened}");
        desk.call("delete_invoice", &json!({"invoice_id": "inv_1"})).await;
        let gone = desk.call("update_invoice", &json!({"id": "inv_1", "status": "open"})).await;
        assert_eq!(code(&gone), Some("not_found"));
    })
    .await;
}

#[tokio::test]
async fn paid_invoice_stays_void_once_it_is_voided() {
    everywhere("void-paid", &[], async |shop, desk| {
        invoices(desk, 1).await;
        pay(shop, 1);
        let void = async || desk.call("void_invoice", &json!({"invoice_id": "inv_1"})).await;
        assert_eq!(text(&void().await), "Invoice inv_1 is void.");
        for wanted in ["draft", "open", "archive"] {
            let change = json!({"id": "inv_1", "status": wanted});
            let refused = desk.call("update_invoice", &change).await;
            assert_eq!(code(&refused), Some("invoice_paid"), "{wanted}: {refused}");
        }
        let archived = desk.call("archive_invoice", &json!({"invoice_id": "inv_1"})).await;
        assert_eq!(code(&archived), Some("invoice_paid"), "{archived}");
        let deleted = desk.call("delete_invoice", &json!({"invoice_id": "inv_1"})).await;
        assert_eq!(
            fails(&deleted),
            "Invoice inv_1 was paid, and is void for good. Nothing was run."
        );
        let error = &deleted["result"]["_meta"]["dev.candor/error"];
        assert_eq!(error.get("instead"), None, "it is void already");
        assert_eq!(text(&void().await), "Invoice inv_1 is void.");
        assert_eq!(status(shop, 1).as_deref(), Some("void"));
    })
    .await;
}

#[tokio::test]
async fn migration_runs_only_as_previewed() {
    everywhere("migrate", &[], async |shop, desk| {
    let tools = desk.tools().await;
    let (shows, does) = (&tools["preview_migration"], &tools["execute_migration"]);
    assert!(does["description"].as_str().unwrap().contains("Call preview_migration first"));
    // The arguments differ only in the plan token.
    let mut taken = does["inputSchema"].clone();
    assert!(taken["properties"].as_object_mut().unwrap().shift_remove("plan_token").is_some());
    taken["required"].as_array_mut().unwrap().retain(|name| name != "plan_token");
    assert_eq!(taken, shows["inputSchema"]);
    let before = schema(shop);
    let refunds = json!({"migration_id": "refunds"});
    let unseen = desk.call("execute_migration", &refunds).await;
    assert_eq!(code(&unseen), Some("preview_required"));
    let instead = &unseen["result"]["_meta"]["dev.candor/error"]["instead"];
    assert_eq!(*instead, json!({"tool": "preview_migration", "arguments": refunds}));

    let shown = desk.call("preview_migration", &refunds).await;
    assert_eq!(
        text(&shown),
        "Would create tables: refunds, refund_reasons. Would add columns: invoices.refunded_cents, users.iban."
    );
    assert_eq!(schema(shop), before, "a preview changes nothing");
    let execute = |shown: &Value, migration: &str| {
        let token = &shown["result"]["_meta"]["dev.candor/plan"]["token"];
        json!({"migration_id": migration, "plan_token": token})
    };
    let other = desk.call("execute_migration", &execute(&shown, "reminders")).await;
    assert_eq!(code(&other), Some("plan_invalid"), "a plan is for one migration");
    shop.books().execute_batch("CREATE TABLE another (id INTEGER)").unwrap();
    let stale = desk.call("execute_migration", &execute(&shown, "refunds")).await;
    assert_eq!(code(&stale), Some("plan_stale"), "{stale}");
    let mut forged = execute(&shown, "refunds");
    forged["plan_token"] = json!(format!("{}x", forged["plan_token"].as_str().unwrap()));
    let forged = desk.call("execute_migration", &forged).await;
    assert_eq!(code(&forged), Some("plan_invalid"), "{forged}");
    assert_eq!(schema(shop).len(), before.len() + 1, "only the test has changed the schema");

    let shown = desk.call("preview_migration", &refunds).await;
    let applied = desk.call("execute_migration", &execute(&shown, "refunds")).await;
    assert_eq!(text(&applied), "Migration refunds applied.");
    shop.books().execute_batch("SELECT iban FROM users; SELECT id FROM refunds").unwrap();
    let twice = desk.call("execute_migration", &execute(&shown, "refunds")).await;
    assert_eq!(code(&twice), Some("already_applied"), "the preview reports why there is no plan");
    })
    .await;
}
