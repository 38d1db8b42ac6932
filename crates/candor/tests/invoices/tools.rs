//! The tools, line by line as the guide to safe tools prints them.

use std::collections::HashSet;

use candor::hints::DeclaredHints;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::client::{Client, Kind, Person, everywhere};
use crate::desk::{Told, code, mark};
use crate::messages::text;
use crate::shop::{CUSTOMER, Shop, order};

/// As the guide has them.
const HINTS: [&str; 4] = ["readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"];

/// What published annotations mean to a client that keeps to the protocol.
fn meaning(annotations: &Value) -> [bool; 4] {
    let said = |name: &str| annotations[name].as_bool();
    let declared = DeclaredHints {
        read_only: said("readOnlyHint"),
        destructive: said("destructiveHint"),
        idempotent: said("idempotentHint"),
        open_world: said("openWorldHint"),
        effect: None,
    };
    let hints = declared.effective().hints;
    [hints.is_read_only(), hints.is_destructive(), hints.is_idempotent(), hints.is_open_world()]
}

#[tokio::test]
async fn every_tool_has_the_hints_and_texts_of_the_guide() {
    everywhere("listed", &[], async |_, client| {
    let tools = client.tools().await;
    // Line breaks in the description do not count.
    let says = |name: &str| {
        let words = tools[name]["description"].as_str().unwrap().split_whitespace();
        words.collect::<Vec<_>>().join(" ")
    };
    // Read-only, destructive, idempotent, open world; `None` where the guide prints nothing.
    let (yes, no) = (Some(true), Some(false));
    let invoice = json!({"invoice_id": "inv_1"});
    let migration = json!({"migration_id": "refunds"});
    for (name, printed, arguments) in [
        ("upsert_user", [None, no, yes, None], json!({"email": "ada@example.com", "name": "Ada"})),
        ("search_issues", [yes, no, yes, no], json!({"query": "customer"})),
        ("create_invoice", [no, no, yes, no], order("k")),
        ("send_invoice_email", [None, None, yes, None], invoice.clone()),
        ("delete_invoice", [no, yes, no, no], invoice),
        ("preview_migration", [yes, None, None, None], migration.clone()),
        ("execute_migration", [None, yes, no, None], migration),
    ] {
        let told = client.request("tools/annotations", &json!({"name": name, "arguments": arguments})).await;
        let answered = &told["result"]["annotations"];
        assert_eq!(answered.as_object().map(serde_json::Map::len), Some(4), "{told}");
        // As listed, and as evaluated for the call.
        for means in [meaning(&tools[name]["annotations"]), HINTS.map(|hint| answered[hint] == true)] {
            for (printed, means) in printed.into_iter().zip(means) {
                assert!(printed.is_none_or(|printed| printed == means), "{name}: {} {told}", tools[name]);
            }
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
    })
    .await;
}

#[tokio::test]
async fn retry_returns_the_same_invoice() {
    everywhere("first", &[], async |shop, desk| {
        let first = desk.call("create_invoice", &order("k-1")).await;
        let said: Value = serde_json::from_str(text(&first)).unwrap();
        assert_eq!(said, json!({"invoice_id": "inv_1", "status": "draft"}));
        assert_eq!(first["result"]["structuredContent"], said);
        let again = desk.call("create_invoice", &order("k-1")).await;
        assert_eq!(text(&again), text(&first), "the text names the invoice");
        assert_eq!(
            (&mark(&again)["key"], &mark(&again)["replayed"]),
            (&json!("k-1"), &json!(true))
        );
        let other = desk.call("create_invoice", &order("k-2")).await;
        assert_eq!(other["result"]["structuredContent"]["invoice_id"], "inv_2");
        assert_eq!(shop.invoices().values().map(Vec::len).collect::<Vec<_>>(), [1, 1]);
    })
    .await;
}

#[tokio::test]
async fn invalid_arguments_do_not_use_up_the_key() {
    everywhere("wrong-arguments", &[], async |shop, desk| {
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

        assert_eq!(code(&desk.call("create_invoice", &order("k")).await), None);
        let mut other = order("k");
        other["amount_cents"] = json!(1);
        let answer = desk.call("create_invoice", &other).await;
        assert_eq!(code(&answer), Some("idempotency_key_reused"), "{answer}");
        assert_eq!(shop.invoices()["k"].len(), 1);
    })
    .await;
}

#[tokio::test]
async fn created_invoices_are_found_by_id_and_listed_page_by_page() {
    everywhere("pages", &[], async |_, desk| {
    for number in 1..=7 {
        desk.call("create_invoice", &order(&format!("k-{number}"))).await;
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
    })
    .await;
}

#[tokio::test]
async fn upsert_user_creates_once_per_email_and_changes_by_id() {
    everywhere("users", &[], async |shop, desk| {
        let upsert = async |arguments: Value| desk.call("upsert_user", &arguments).await;
        let first = upsert(json!({"email": "ada@example.com", "name": "Ada"})).await;
        let ada = json!({"id": "user_1", "email": "ada@example.com", "name": "Ada"});
        assert_eq!(first["result"]["structuredContent"], ada);
        for _ in 0..3 {
            let again = upsert(json!({"email": "ada@example.com", "name": "Ada"})).await;
            assert_eq!(again["result"]["structuredContent"], ada, "a retry returns the same");
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
            let mut all =
                books.prepare("SELECT id, email, name FROM users ORDER BY version").unwrap();
            let rows =
                all.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?))).unwrap();
            rows.map(Result::unwrap).collect()
        };
        // The tool is declared as adding, so earlier versions are still there.
        let versions = [
            (1, "ada@example.com".to_owned(), "Ada".to_owned()),
            (1, "ada@example.com".to_owned(), "Ada Lovelace".to_owned()),
            (2, "grace@example.com".to_owned(), "Grace".to_owned()),
        ];
        assert_eq!(users(shop), versions);

        for (wrong, why) in [
            (json!({"id": "user_9", "email": "x@example.com", "name": "X"}), "not_found"),
            (json!({"id": "ada", "email": "x@example.com", "name": "X"}), "not_found"),
            (json!({"id": "user_2", "email": "ada@example.com", "name": "X"}), "conflict"),
            (json!({"email": "nobody", "name": "X"}), "invalid_arguments"),
        ] {
            let answer = upsert(wrong.clone()).await;
            assert_eq!(code(&answer), Some(why), "{wrong}: {answer}");
        }
        assert_eq!(users(shop), versions, "a failed call adds nothing");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn repeated_and_concurrent_reads_succeed_without_keys() {
    everywhere("reads", &[], async |_, desk| {
        desk.call("create_invoice", &order("k")).await;
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
            let desk: Client = desk.clone();
            reading.spawn(async move { desk.call(tool, &arguments).await });
        }
        let answers = reading.join_all().await;
        assert_eq!(answers.len(), 5);
        assert!(answers.iter().all(|answer| code(answer).is_none()), "{answers:?}");
        assert!(answers.iter().all(|answer| mark(answer).is_null()), "reads need no key");
    })
    .await;
}

#[tokio::test]
async fn repeated_send_mails_the_invoice_once() {
    everywhere("mail", &[], async |shop, desk| {
        desk.call("create_invoice", &order("k")).await;
        let id = json!({"invoice_id": "inv_1"});
        let answers = [
            desk.call("send_invoice_email", &id).await,
            desk.call("send_invoice_email", &id).await,
        ];
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
    })
    .await;
}

#[tokio::test]
async fn call_that_did_not_run_may_retry_with_its_key() {
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

/// A tool that deletes, voids, changes data or cannot be undone is destructive in the protocol's sense. No other tool is.
#[tokio::test]
async fn effect_distinguishes_changes_from_deletions() {
    everywhere("destructive", &[], async |_, client| {
        let tools = client.tools().await;
        let mut destructive: Vec<&str> = Vec::new();
        for (name, tool) in tools.as_object().unwrap() {
            if meaning(&tool["annotations"])[1] {
                destructive.push(name);
            }
        }
        destructive.sort_unstable();
        let expected = [
            ("archive_invoice", "changes"),
            ("delete_invoice", "deletes"),
            ("execute_migration", "changes"),
            ("revoke_sent_invoice", "changes"),
            ("send_invoice_email", "changes"),
            // By its worst call.
            ("update_invoice", "deletes"),
            ("void_invoice", "deletes"),
        ];
        assert_eq!(destructive, expected.map(|(name, _)| name));
        let beside =
            |message: &Value| message["_meta"]["dev.candor/dynamic-annotations"]["effect"].clone();
        for (name, effect) in expected {
            assert_eq!(beside(&tools[name]), effect, "{name}");
        }
        for (argument, value, effect) in [
            ("status", json!("void"), "deletes"),
            ("status", json!("open"), "changes"),
            ("status", json!("archive"), "changes"),
            ("amount_cents", json!(7), "changes"),
        ] {
            let call =
                json!({"name": "update_invoice", "arguments": {"id": "inv_1", argument: value}});
            let told = client.request("tools/annotations", &call).await;
            assert_eq!(told["result"]["annotations"]["destructiveHint"], true, "{told}");
            assert_eq!(beside(&told["result"]), effect, "{told}");
        }
    })
    .await;
}

/// Every classified tool publishes all four hints, as directories demand, and answers the same of its calls.
#[tokio::test]
async fn every_classified_tool_publishes_all_four_hints() {
    everywhere("defaults", &[], async |_, client| {
        let tools = client.tools().await;
        let published = |name: &str| tools[name]["annotations"].clone();
        let whole = |read, destroys, idempotent, outside| {
            json!({
                "readOnlyHint": read, "destructiveHint": destroys, "idempotentHint": idempotent, "openWorldHint": outside,
            })
        };
        let migration = json!({"migration_id": "refunds"});
        let invoice = json!({"invoice_id": "inv_1"});
        let found = json!({"query": "customer"});
        for tool in tools.as_object().unwrap().keys() {
            let hints = published(tool);
            assert!(HINTS.iter().all(|hint| hints[hint].is_boolean()), "{tool}: {hints}");
        }
        for (tool, arguments, means) in [
            ("search_issues", &found, whole(true, false, true, false)),
            ("preview_migration", &migration, whole(true, false, true, true)),
            ("execute_migration", &migration, whole(false, true, false, true)),
            ("send_invoice_email", &invoice, whole(false, true, true, true)),
            ("delete_invoice", &invoice, whole(false, true, false, false)),
        ] {
            assert_eq!(published(tool), means, "{tool}");
            let call = json!({"name": tool, "arguments": arguments});
            let told = client.request("tools/annotations", &call).await;
            assert_eq!(told["result"]["annotations"], means, "{tool}");
            let sources = &told["result"]["_meta"]["dev.candor/dynamic-annotations"]["sources"];
            let mut sources = sources.as_object().unwrap().values();
            assert!(sources.all(|source| source == "declared"), "{tool}: {told}");
        }
    })
    .await;
}

/// No description contradicts the hints, and every destructive tool states whether it can be undone.
#[tokio::test]
async fn descriptions_and_hints_agree() {
    everywhere("agree", &[], async |_, client| {
        let tools = client.tools().await;
        for (name, tool) in tools.as_object().unwrap() {
            let words = tool["description"].as_str().unwrap().split_whitespace();
            let says = words.collect::<Vec<_>>().join(" ");
            let [reads, destroys, idempotent, _] = meaning(&tool["annotations"]);
            // A tool that is neither safe to retry nor marked as destructive would be wrong.
            assert!(reads || idempotent || destroys, "{name}: {says}");
            if says.contains("Safe to retry with") && !says.contains("Not safe") {
                assert!(idempotent, "{name}: {says}");
            }
            assert_eq!(
                says.contains("Not safe to retry with same inputs."),
                !reads && !idempotent,
                "{name}: {says}"
            );
            if says.contains("This cannot be undone.") {
                assert!(destroys, "{name}: {says}");
            }
            let back = [
                "This cannot be undone.",
                "Can be reverted with `",
                "can be reverted by calling `",
            ];
            let opened = "can be opened again with `update_invoice`";
            let says_so = back.iter().any(|words| says.contains(words)) || says.contains(opened);
            assert!(!destroys || says_so, "{name}: {says}");
            // Each tool that it names exists.
            for other in says.split('`').skip(1).step_by(2) {
                assert!(!tools[other].is_null(), "{name} names {other}");
            }
        }
    })
    .await;
}

/// Registration warns of descriptions that contradict declarations, and of deletions by ids that no tool lists. The example has
/// neither, so it starts without a warning.
#[cfg(unix)]
#[tokio::test]
async fn example_starts_without_warnings() {
    let shop = Shop::new("quiet");
    let kind = Kind::ALL[1];
    let (server, client) = shop.client(kind, &[], Person::Nobody).await;
    assert!(client.tools().await.as_object().unwrap().len() > 10);
    drop(client);
    server.terminate();
    let ended = server.ended().await;
    assert_eq!((ended.status.code(), ended.stderr), (Some(0), Vec::new()));
}

/// The description of a tool states that it needs approval.
#[tokio::test]
async fn description_mentions_required_approval() {
    everywhere("said", &["--ask", "destructive"], async |_, client| {
        let tools = client.tools().await;
        for (name, tool) in tools.as_object().unwrap() {
            let says = tool["description"].as_str().unwrap();
            let asks = says.contains("Requires human approval before executing.");
            let [_, destroys, _, _] = meaning(&tool["annotations"]);
            // For this tool it depends on the call.
            assert_eq!(asks, destroys && name != "update_invoice", "{name}: {says}");
        }
    })
    .await;
}

/// The server enforces the limit in the description.
#[tokio::test]
async fn documented_rate_limit_is_enforced() {
    everywhere("rate", &[], async |shop, client| {
        let said = client.tools().await["revoke_sent_invoice"]["description"].clone();
        assert!(said.as_str().unwrap().ends_with("Max 10 calls per minute."), "{said}");
        client.call("create_invoice", &order("k")).await;
        let id = json!({"invoice_id": "inv_1"});
        for number in 1..=10 {
            let revoked = client.call("revoke_sent_invoice", &id).await;
            assert_eq!(code(&revoked), None, "{number}: {revoked}");
        }
        client.call("send_invoice_email", &id).await;
        let refused = client.call("revoke_sent_invoice", &id).await;
        assert_eq!(code(&refused), Some("rate_limited"), "{refused}");
        let error = &refused["result"]["_meta"]["dev.candor/error"];
        assert_eq!(error["retriable"], true, "{refused}");
        let wait = error["retryAfterMs"].as_u64().unwrap();
        assert!((1..=60_000).contains(&wait), "{refused}");
        let mails = "SELECT count(*) FROM outbox";
        let mails: i64 = shop.books().query_row(mails, [], |row| row.get(0)).unwrap();
        assert_eq!(mails, 1, "the eleventh call did not run");
    })
    .await;
}

/// A key may come in a header, and another header marks a replayed result.
#[tokio::test]
async fn http_headers_carry_the_key_and_mark_replays() {
    for kind in Kind::HTTP {
        let shop = Shop::new(&format!("header-{kind}"));
        let (_server, client) = shop.client(kind, &[], Person::Nobody).await;
        let arguments = json!({"customer_id": CUSTOMER, "amount_cents": 5});
        let create = async |key: &str| client.call_keyed("create_invoice", &arguments, key).await;
        // A structured header has quotes, and many leave them out.
        let (first, header) = create("\"k-1\"").await;
        assert_eq!((&mark(&first)["key"], header), (&json!("k-1"), None), "{first}");
        let (again, header) = create("k-1").await;
        assert_eq!(header.as_deref(), Some("true"), "{kind}: {again}");
        assert_eq!(mark(&again)["replayed"], true, "{again}");
        assert_eq!(again["result"]["content"], first["result"]["content"]);
        assert_eq!(create("k-2").await.1, None);
        let without = client.call("create_invoice", &arguments).await;
        assert_eq!(code(&without), Some("idempotency_key_required"), "{without}");
        // The same key among the arguments is the same call; another one beside it is a contradiction.
        let mut within = arguments.clone();
        within["idempotency_key"] = json!("k-1");
        assert_eq!(mark(&client.call("create_invoice", &within).await)["replayed"], true);
        let (two, _) = client.call_keyed("create_invoice", &within, "k-2").await;
        assert_eq!(code(&two), Some("idempotency_key_invalid"), "{two}");
        assert_eq!(shop.invoices().values().map(Vec::len).collect::<Vec<_>>(), [1, 1]);
    }
}
