//! The tools, line by line as the guide to safe tools prints them.

use std::collections::HashSet;

use candor::hints::Declared;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::desk::{Desk, Told, code, mark};
use crate::messages::{modern, text};
use crate::process::Program;
use crate::shop::{CUSTOMER, Shop, order};

/// All tools, by name.
async fn listed(shop: &Shop) -> Value {
    let mut server = Program::start(shop.command().arg("--stdio"));
    let answer = server.ask(&modern(1, "tools/list", &json!({}))).await;
    let tools = answer["result"]["tools"].as_array().unwrap();
    tools.iter().map(|tool| (tool["name"].as_str().unwrap().to_owned(), tool.clone())).collect()
}

/// What published annotations mean to a client that keeps to the protocol.
fn meaning(annotations: &Value) -> [bool; 4] {
    let said = |name: &str| annotations[name].as_bool();
    let declared = Declared {
        read_only: said("readOnlyHint"),
        destructive: said("destructiveHint"),
        idempotent: said("idempotentHint"),
        open_world: said("openWorldHint"),
    };
    let hints = declared.effective().hints;
    [hints.is_read_only(), hints.is_destructive(), hints.is_idempotent(), hints.is_open_world()]
}

#[tokio::test]
async fn every_tool_has_the_hints_and_the_words_of_the_guide() {
    let tools = listed(&Shop::new("listed")).await;
    // Where its lines end is for the author's editor to say.
    let says = |name: &str| {
        let words = tools[name]["description"].as_str().unwrap().split_whitespace();
        words.collect::<Vec<_>>().join(" ")
    };
    // Read-only, destructive, idempotent, open world; `None` where the guide prints nothing.
    let (yes, no) = (Some(true), Some(false));
    for (name, printed) in [
        ("upsert_user", [None, no, yes, None]),
        ("search_issues", [yes, no, yes, no]),
        ("create_invoice", [no, no, yes, no]),
        ("send_invoice_email", [None, None, yes, None]),
        ("delete_invoice", [no, yes, no, no]),
        ("preview_migration", [yes, None, None, None]),
        ("execute_migration", [None, yes, no, None]),
    ] {
        let means = meaning(&tools[name]["annotations"]);
        for (printed, means) in printed.into_iter().zip(means) {
            assert!(printed.is_none_or(|printed| printed == means), "{name}: {}", tools[name]);
        }
    }
    assert_eq!(says("upsert_user"), "Creates a user or updates if exists. Idempotent.");
    assert!(says("search_issues").starts_with("Search for existing issues"));
    assert_eq!(
        says("create_invoice"),
        "Creates a new invoice. Can be reverted with `void_invoice`. Safe to retry with the same idempotency_key."
    );
    assert!(
        says("delete_invoice")
            .starts_with("Permanently deletes an invoice. This cannot be undone.")
    );
    let shows = "Shows what tables and columns would change without executing";
    assert!(says("preview_migration").starts_with(shows));
    let executes = "Executes the migration. Call preview_migration first to review changes.";
    assert!(says("execute_migration").starts_with(executes));
    assert!(says("revoke_sent_invoice").ends_with("Max 10 calls per minute."));
    assert_eq!(
        says("send_invoice_email"),
        "Sends the invoice to the customer via email. Idempotent: calling twice on the same invoice does not send duplicate \
         emails. The customer receives the hosted payment link in the email body. This can be reverted by calling \
         `revoke_sent_invoice` if sent in error."
    );
    assert_eq!(tools["preview_migration"]["annotations"], json!({"readOnlyHint": true}));
    let status = &tools["update_invoice"]["inputSchema"];
    assert_eq!(status["properties"]["status"]["enum"], json!(["draft", "open", "void", "archive"]));
    assert_eq!(status["required"], json!(["id"]));
    let wanted = &tools["create_invoice"]["inputSchema"];
    let customer = &wanted["properties"]["customer_id"];
    assert_eq!((&customer["type"], &customer["format"]), (&json!("string"), &json!("uuid")));
    let amount = &wanted["properties"]["amount_cents"];
    assert_eq!((&amount["type"], &amount["minimum"]), (&json!("integer"), &json!(1)));
    let key = &wanted["properties"]["idempotency_key"];
    assert_eq!(key["type"], "string");
    assert_eq!(
        key["description"],
        "Unique key (e.g., UUID) for this operation. Prevents duplicate invoices if retried. Reuse the same key when you \
         retry; take a new one only for a new operation."
    );
    assert_eq!(wanted["required"], json!(["customer_id", "amount_cents", "idempotency_key"]));
}

#[tokio::test]
async fn the_first_call_gives_id_and_status_and_the_second_the_same_invoice() {
    let shop = Shop::new("first");
    let (_server, desk) = shop.stdio(&[]);
    let first = desk.call("create_invoice", &order("k-1")).await;
    let said: Value = serde_json::from_str(text(&first)).unwrap();
    assert_eq!(said, json!({"invoice_id": "inv_1", "status": "draft"}));
    assert_eq!(first["result"]["structuredContent"], said);
    let again = desk.call("create_invoice", &order("k-1")).await;
    assert_eq!(text(&again), text(&first), "the text names the invoice");
    assert_eq!((&mark(&again)["key"], &mark(&again)["replayed"]), (&json!("k-1"), &json!(true)));
    let other = desk.call("create_invoice", &order("k-2")).await;
    assert_eq!(other["result"]["structuredContent"]["invoice_id"], "inv_2");
    assert_eq!(shop.invoices().values().map(Vec::len).collect::<Vec<_>>(), [1, 1]);
}

#[tokio::test]
async fn arguments_that_are_wrong_are_refused_by_name_and_use_up_no_key() {
    let shop = Shop::new("wrong-arguments");
    let (_server, desk) = shop.stdio(&[]);
    for (wrong, pointer) in [
        (json!({"amount_cents": 0}), "/amount_cents"),
        (json!({"amount_cents": -5}), "/amount_cents"),
        (json!({"amount_cents": 1.5}), "/amount_cents"),
        (json!({"amount_cents": null}), "/amount_cents"),
        (json!({"customer_id": "somebody"}), "/customer_id"),
        (json!({"customer_id": CUSTOMER.replace('8', "g")}), "/customer_id"),
        (json!({"customer_id": format!("{CUSTOMER}0")}), "/customer_id"),
        (json!({"idempotency_key": ""}), "/idempotency_key"),
        (json!({"idempotency_key": "x".repeat(256)}), "/idempotency_key"),
        (json!({"idempotency_key": 7}), "/idempotency_key"),
    ] {
        let mut arguments = order("k");
        arguments.as_object_mut().unwrap().extend(wrong.as_object().unwrap().clone());
        let answer = desk.call("create_invoice", &arguments).await;
        assert_eq!(code(&answer), Some("invalid_arguments"), "{wrong}: {answer}");
        let fields = &answer["result"]["_meta"]["dev.candor/error"]["fields"];
        assert_eq!(fields[0]["pointer"], pointer, "{wrong}: {answer}");
    }
    let mut without = order("k");
    without.as_object_mut().unwrap().remove("idempotency_key");
    let answer = desk.call("create_invoice", &without).await;
    assert_eq!(code(&answer), Some("idempotency_key_required"), "{answer}");
    assert!(shop.invoices().is_empty());

    assert!(desk.settle("k").await.is_some());
    let mut other = order("k");
    other["amount_cents"] = json!(1);
    let answer = desk.call("create_invoice", &other).await;
    assert_eq!(code(&answer), Some("idempotency_key_reused"), "{answer}");
    assert_eq!(shop.invoices()["k"].len(), 1);
}

#[tokio::test]
async fn what_was_created_is_found_by_its_id_and_listed_page_by_page() {
    let shop = Shop::new("pages");
    let (_server, desk) = shop.stdio(&[]);
    for number in 1..=7 {
        desk.settle(&format!("k-{number}")).await.unwrap();
    }
    let found = desk.call("get_invoice", &json!({"invoice_id": "inv_3"})).await;
    let amount = &order("k-3")["amount_cents"];
    let invoice = json!({"invoice_id": "inv_3", "customer_id": CUSTOMER, "amount_cents": amount, "status": "draft"});
    assert_eq!(found["result"]["structuredContent"], invoice);

    let (mut ids, mut wanted) = (Vec::new(), json!({"limit": 3}));
    for pages in 1.. {
        let page = desk.call("list_invoices", &wanted).await;
        let page = &page["result"]["structuredContent"];
        let invoices = page["invoices"].as_array().unwrap();
        ids.extend(invoices.iter().map(|invoice| invoice["invoice_id"].clone()));
        if page["more"] == false {
            assert_eq!(pages, 3);
            break;
        }
        assert_eq!(invoices.len(), 3);
        wanted["after"] = ids.last().unwrap().clone();
    }
    let all: Vec<Value> = (1..=7).map(|number| json!(format!("inv_{number}"))).collect();
    assert_eq!(ids, all);
    let beyond = desk.call("list_invoices", &json!({"after": "inv_7"})).await;
    assert_eq!(beyond["result"]["structuredContent"], json!({"invoices": [], "more": false}));
    let open = desk.call("list_invoices", &json!({"status": "open"})).await;
    assert_eq!(open["result"]["structuredContent"]["invoices"], json!([]));

    for (tool, arguments) in [
        ("get_invoice", json!({"invoice_id": "inv_99"})),
        ("get_invoice", json!({"invoice_id": "3"})),
        ("list_invoices", json!({"after": "yesterday"})),
        ("send_invoice_email", json!({"invoice_id": "inv_99"})),
    ] {
        let answer = desk.call(tool, &arguments).await;
        assert_eq!(code(&answer), Some("not_found"), "{tool} {arguments}: {answer}");
        let id = arguments.as_object().unwrap().values().next().unwrap().as_str().unwrap();
        assert!(text(&answer).contains(&format!("Invoice {id} not found")), "{answer}");
    }
}

#[tokio::test]
async fn a_user_is_created_once_for_an_address_and_changed_by_id() {
    let shop = Shop::new("users");
    let (_server, desk) = shop.stdio(&[]);
    let upsert = async |arguments: Value| desk.call("upsert_user", &arguments).await;
    let first = upsert(json!({"email": "ada@example.com", "name": "Ada"})).await;
    let ada = json!({"id": "user_1", "email": "ada@example.com", "name": "Ada"});
    assert_eq!(first["result"]["structuredContent"], ada);
    for _ in 0..3 {
        let again = upsert(json!({"email": "ada@example.com", "name": "Ada"})).await;
        assert_eq!(again["result"]["structuredContent"], ada, "a retry gives the same");
    }
    let lovelace = json!({"id": "user_1", "email": "ada@example.com", "name": "Ada Lovelace"});
    for _ in 0..2 {
        let changed = upsert(lovelace.clone()).await;
        assert_eq!(changed["result"]["structuredContent"], lovelace);
    }
    let grace = upsert(json!({"email": "grace@example.com", "name": "Grace"})).await;
    assert_eq!(grace["result"]["structuredContent"]["id"], "user_2");
    let users = |shop: &Shop| -> Vec<(i64, String, String)> {
        let books = shop.books();
        let mut all = books.prepare("SELECT id, email, name FROM users ORDER BY id").unwrap();
        let rows = all.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?))).unwrap();
        rows.map(Result::unwrap).collect()
    };
    let both = [
        (1, "ada@example.com".to_owned(), "Ada Lovelace".to_owned()),
        (2, "grace@example.com".to_owned(), "Grace".to_owned()),
    ];
    assert_eq!(users(&shop), both);

    for (wrong, why) in [
        (json!({"id": "user_9", "email": "x@example.com", "name": "X"}), "not_found"),
        (json!({"id": "ada", "email": "x@example.com", "name": "X"}), "not_found"),
        (json!({"id": "user_2", "email": "ada@example.com", "name": "X"}), "conflict"),
        (json!({"email": "nobody", "name": "X"}), "invalid_arguments"),
    ] {
        let answer = upsert(wrong.clone()).await;
        assert_eq!(code(&answer), Some(why), "{wrong}: {answer}");
    }
    assert_eq!(users(&shop), both, "what fails changes nothing");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reads_may_be_repeated_and_run_side_by_side() {
    let shop = Shop::new("reads");
    let (_server, desk) = shop.http(&[]).await;
    desk.settle("k").await.unwrap();
    let mut found = HashSet::new();
    for _ in 0..10 {
        let answer = desk.call("search_issues", &json!({"query": "CUSTOMER"})).await;
        assert_eq!(code(&answer), None);
        found.insert(answer["result"].to_string());
    }
    assert_eq!(found.len(), 1, "{found:?}");
    let only = found.into_iter().next().unwrap();
    assert!(only.contains("Customer charged twice") && !only.contains("Reminder"), "{only}");

    let mut reading = JoinSet::new();
    for (tool, arguments) in [
        ("search_issues", json!({"query": "invoice"})),
        ("search_issues", json!({"query": "invoice", "limit": 1})),
        ("get_invoice", json!({"invoice_id": "inv_1"})),
        ("list_invoices", json!({})),
        ("list_invoices", json!({"status": "draft"})),
    ] {
        let desk: Desk = desk.clone();
        reading.spawn(async move { desk.call(tool, &arguments).await });
    }
    let answers = reading.join_all().await;
    assert_eq!(answers.len(), 5);
    assert!(answers.iter().all(|answer| code(answer).is_none()), "{answers:?}");
    assert!(answers.iter().all(|answer| mark(answer).is_null()), "reads need no key");
}

#[tokio::test]
async fn an_invoice_is_mailed_once_however_often_it_is_sent() {
    let shop = Shop::new("mail");
    let (_server, desk) = shop.stdio(&[]);
    desk.settle("k").await.unwrap();
    let id = json!({"invoice_id": "inv_1"});
    let answers =
        [desk.call("send_invoice_email", &id).await, desk.call("send_invoice_email", &id).await];
    for answer in &answers {
        assert_eq!(text(answer), "Invoice inv_1 sent.", "{answer}");
    }
    let mails: Vec<String> = {
        let books = shop.books();
        let mut outbox = books.prepare("SELECT body FROM outbox").unwrap();
        outbox.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
    };
    assert_eq!(mails.len(), 1, "{mails:?}");
    assert!(mails[0].contains("https://pay.example/inv_1"), "with the payment link: {mails:?}");
    let found = desk.call("get_invoice", &id).await;
    assert_eq!(found["result"]["structuredContent"]["status"], "open");
    let open = desk.call("list_invoices", &json!({"status": "open"})).await;
    assert_eq!(open["result"]["structuredContent"]["invoices"][0]["invoice_id"], "inv_1");

    for _ in 0..2 {
        let revoked = desk.call("revoke_sent_invoice", &id).await;
        assert_eq!(text(&revoked), "Invoice inv_1 is not sent.", "{revoked}");
    }
    let found = desk.call("get_invoice", &id).await;
    assert_eq!(found["result"]["structuredContent"]["status"], "draft");
    assert_eq!(text(&desk.call("send_invoice_email", &id).await), "Invoice inv_1 sent.");
}

#[tokio::test]
async fn what_certainly_has_not_happened_may_be_tried_again_under_its_key() {
    let shop = Shop::new("busy");
    let (_server, desk) = shop.stdio(&[]);
    desk.settle("before").await.unwrap();
    let books = shop.books();
    books.execute_batch("BEGIN IMMEDIATE").unwrap();
    let answer = desk.call("create_invoice", &order("k")).await;
    assert_eq!(code(&answer), Some("busy"), "{answer}");
    assert_eq!(mark(&answer)["released"], true, "{answer}");
    books.execute_batch("ROLLBACK").unwrap();
    assert!(matches!(desk.settle("k").await, Some(Told::Done { .. })));
    assert_eq!(shop.invoices()["k"].len(), 1);
}
