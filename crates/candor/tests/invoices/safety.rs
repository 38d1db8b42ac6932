//! What is changed, deleted and migrated, in the words of the guide to safe tools.

use serde_json::{Value, json};

use crate::desk::{Desk, code};
use crate::messages::text;
use crate::shop::{Shop, order};

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

async fn invoices(desk: &Desk, count: usize) {
    for number in 1..=count {
        desk.call("create_invoice", &order(&format!("k-{number}"))).await;
    }
}

#[tokio::test]
async fn a_refused_deletion_says_what_to_do_instead_and_changes_nothing() {
    let shop = Shop::new("delete");
    let (_server, desk) = shop.stdio(&[]);
    invoices(&desk, 2).await;
    let missing = desk.call("delete_invoice", &json!({"invoice_id": "inv_7"})).await;
    assert_eq!(fails(&missing), "Invoice inv_7 not found. Cannot delete.");
    pay(&shop, 1);
    let paid = desk.call("delete_invoice", &json!({"invoice_id": "inv_1"})).await;
    assert_eq!(
        fails(&paid),
        "Cannot delete paid invoice. Call `void_invoice` instead to prevent future charges."
    );
    let instead = &paid["result"]["_meta"]["dev.candor/error"]["instead"];
    assert_eq!(*instead, json!({"tool": "void_invoice", "arguments": {"invoice_id": "inv_1"}}));
    assert_eq!(status(&shop, 1).as_deref(), Some("paid"));
    let voided = desk.call("void_invoice", &instead["arguments"]).await;
    assert_eq!(text(&voided), "Invoice inv_1 is void.");
    let deleted = desk.call("delete_invoice", &json!({"invoice_id": "inv_2"})).await;
    assert_eq!(text(&deleted), "Invoice inv_2 deleted.");
    assert_eq!(status(&shop, 2), None);
    let again = desk.call("delete_invoice", &json!({"invoice_id": "inv_2"})).await;
    assert_eq!(fails(&again), "Invoice inv_2 not found. Cannot delete.");
}

#[tokio::test]
async fn a_state_is_changed_and_changed_back() {
    let shop = Shop::new("update");
    let (_server, desk) = shop.stdio(&[]);
    invoices(&desk, 1).await;
    for wanted in ["open", "archive", "void", "draft"] {
        let told = desk.call("update_invoice", &json!({"id": "inv_1", "status": wanted})).await;
        assert_eq!(told["result"]["structuredContent"]["status"], wanted, "{told}");
        assert_eq!(status(&shop, 1).as_deref(), Some(wanted));
    }
    let same = desk.call("update_invoice", &json!({"id": "inv_1", "amount_cents": 5})).await;
    assert_eq!(same["result"]["structuredContent"]["amount_cents"], 5);
    let archived = desk.call("archive_invoice", &json!({"invoice_id": "inv_1"})).await;
    assert_eq!(text(&archived), "Invoice inv_1 is archived.");
    let unknown = desk.call("update_invoice", &json!({"id": "inv_1", "status": "paid"})).await;
    assert_eq!(code(&unknown), Some("invalid_arguments"), "that it is paid, the bank says");
    pay(&shop, 1);
    let paid = desk.call("update_invoice", &json!({"id": "inv_1", "status": "draft"})).await;
    assert_eq!(code(&paid), Some("invoice_paid"));
    assert_eq!(status(&shop, 1).as_deref(), Some("paid"));
}

#[tokio::test]
async fn a_migration_is_done_as_it_was_shown_or_not_at_all() {
    let shop = Shop::new("migrate");
    let (_server, desk) = shop.stdio(&[]);
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
    let execute = |shown: &Value, migration: &str| {
        let token = &shown["result"]["_meta"]["dev.candor/plan"]["token"];
        json!({"migration_id": migration, "plan_token": token})
    };
    let other = desk.call("execute_migration", &execute(&shown, "reminders")).await;
    assert_eq!(code(&other), Some("plan_invalid"), "a plan is for one migration");
    shop.books().execute_batch("CREATE TABLE another (id INTEGER)").unwrap();
    let stale = desk.call("execute_migration", &execute(&shown, "refunds")).await;
    assert_eq!(code(&stale), Some("plan_stale"), "{stale}");

    let shown = desk.call("preview_migration", &refunds).await;
    let applied = desk.call("execute_migration", &execute(&shown, "refunds")).await;
    assert_eq!(text(&applied), "Migration refunds applied.");
    shop.books().execute_batch("SELECT iban FROM users; SELECT id FROM refunds").unwrap();
    let twice = desk.call("execute_migration", &execute(&shown, "refunds")).await;
    assert_eq!(code(&twice), Some("already_applied"), "the plan says itself why there is none");
}
