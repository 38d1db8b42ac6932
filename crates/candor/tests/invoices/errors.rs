//! What a call that fails tells a model, and what it tells a program; and what it tells nobody.

use serde_json::{Value, json};

use crate::client::{Kind, Person, everywhere};
use crate::desk::{code, mark};
use crate::messages::text;
use crate::shop::{CUSTOMER, Shop, order};

fn fields(answer: &Value) -> &Value {
    assert_eq!(code(answer), Some("invalid_arguments"), "{answer}");
    &answer["result"]["_meta"]["dev.candor/error"]["fields"]
}

/// For each invalid argument: its pointer, the problem, the expected value and, if they can be listed, the valid values.
#[tokio::test]
async fn every_invalid_argument_is_reported_with_the_expected_value() {
    everywhere("fields", &[], async |shop, client| {
        let update = json!({"id": 5, "status": "viod", "amount_cents": 0, "note": "x"});
        let told = client.call("update_invoice", &update).await;
        let states = json!(["draft", "open", "void", "archive"]);
        let expected = r#"one of "draft", "open", "void", "archive""#;
        assert_eq!(
            *fields(&told),
            json!([
                {
                    "pointer": "/id", "problem": "expected a string, received the number 5",
                    "expected": "a string",
                },
                {
                    "pointer": "/status",
                    "problem": format!("expected {expected}, received the string \"viod\"; did you mean \"void\"?"),
                    "expected": expected, "validValues": states,
                },
                {
                    "pointer": "/amount_cents", "problem": "expected at least 1, received 0",
                    "expected": "at least 1",
                },
                {
                    "pointer": "/note",
                    "problem": "unknown member; known are `id`, `status`, `amount_cents`",
                },
            ])
        );
        // The model reads the same.
        for said in ["/id: expected a string", "did you mean \"void\"?", "/amount_cents: expected at least 1"] {
            assert!(text(&told).contains(said), "{told}");
        }

        let empty = json!({"idempotency_key": "k"});
        let told = client.call("create_invoice", &empty).await;
        assert_eq!(
            *fields(&told),
            json!([
                {
                    "pointer": "/customer_id", "problem": "required, but missing; expected a string",
                    "expected": "a string",
                },
                {
                    "pointer": "/amount_cents", "problem": "required, but missing; expected an integer",
                    "expected": "an integer",
                },
            ])
        );
        let mut nobody = order("k");
        nobody["customer_id"] = json!("somebody");
        let told = client.call("create_invoice", &nobody).await;
        assert_eq!(fields(&told)[0]["expected"], "a string of format uuid", "{told}");
        let keyless = json!({"customer_id": CUSTOMER, "amount_cents": 5});
        let told = client.call("create_invoice", &keyless).await;
        let error = &told["result"]["_meta"]["dev.candor/error"];
        assert_eq!(error["code"], "idempotency_key_required");
        assert_eq!(error["fields"][0]["pointer"], "/idempotency_key");
        assert_eq!(
            error["fields"][0]["expected"],
            "a string of 1 to 255 visible ASCII characters"
        );
        // An evaluation reports the same.
        let call = json!({"name": "update_invoice", "arguments": {"id": "inv_1", "status": "paid"}});
        let told = client.request("tools/annotations", &call).await;
        assert_eq!(told["error"]["data"]["fields"][0]["validValues"], states, "{told}");
        assert!(shop.invoices().is_empty());
    })
    .await;
}

/// The error names another call, with its arguments.
#[tokio::test]
async fn error_names_another_call_that_works() {
    everywhere("next", &[], async |shop, client| {
        client.call("create_invoice", &order("k")).await;
        shop.books().execute("UPDATE invoices SET status = 'paid'", []).unwrap();
        for (tool, arguments, next) in [
            (
                "delete_invoice",
                json!({"invoice_id": "inv_1"}),
                json!({"tool": "void_invoice", "arguments": {"invoice_id": "inv_1"}}),
            ),
            (
                "execute_migration",
                json!({"migration_id": "refunds"}),
                json!({"tool": "preview_migration", "arguments": {"migration_id": "refunds"}}),
            ),
            (
                "get_invoice",
                json!({"invoice_id": "inv_9"}),
                json!({"tool": "list_invoices", "arguments": {}}),
            ),
        ] {
            let told = client.call(tool, &arguments).await;
            let instead = &told["result"]["_meta"]["dev.candor/error"]["instead"];
            assert_eq!(*instead, next, "{tool}: {told}");
            assert!(text(&told).contains(next["tool"].as_str().unwrap()), "{told}");
            // That call works as given.
            let name = next["tool"].as_str().unwrap();
            let made = client.call(name, &next["arguments"]).await;
            assert_eq!(code(&made), None, "{made}");
        }
    })
    .await;
}

/// An internal error is a normal result. It gives no details, but the trace id of a line in the log.
#[tokio::test]
async fn internal_error_hides_its_cause_from_the_caller() {
    for kind in Kind::ALL {
        let shop = Shop::new(&format!("inside-{kind}"));
        let (mut server, client) = shop.client(kind, &[], Person::Nobody).await;
        client.call("create_invoice", &order("k")).await;
        let books = shop.books();
        books.execute_batch("ALTER TABLE invoices RENAME TO lost").unwrap();
        let mut failed = Value::Null;
        for (tool, arguments) in [
            ("get_invoice", json!({"invoice_id": "inv_1"})),
            ("delete_invoice", json!({"invoice_id": "inv_1"})),
            ("list_invoices", json!({})),
            // In a task of its own.
            ("create_invoice", order("another")),
        ] {
            let told = client.call(tool, &arguments).await;
            assert_eq!(told["result"]["isError"], true, "{told}");
            assert_eq!(code(&told), Some("internal"), "{told}");
            assert_eq!(text(&told), "It failed unexpectedly; the server's log says why.");
            let all = told.to_string();
            for inside in ["no such table", "sqlite", ".rs", "SELECT", "panicked", "backtrace"] {
                assert!(!all.contains(inside), "{inside} in {all}");
            }
            let trace = told["result"]["_meta"]["dev.candor/error"]["traceId"].as_str().unwrap();
            assert_eq!(trace.len(), 32, "{told}");
            let logged = server.complaint().await;
            assert!(logged.contains(trace) && logged.contains("no such table"), "{logged}");
            failed = told;
        }
        books.execute_batch("ALTER TABLE lost RENAME TO invoices").unwrap();
        // The call failed after its start, so a retry replays the failure, although it would succeed now.
        let again = client.call("create_invoice", &order("another")).await;
        assert_eq!(mark(&again)["replayed"], true, "{again}");
        assert_eq!(again["result"]["isError"], true, "{again}");
        assert_eq!(again["result"]["content"], failed["result"]["content"]);
        let error = |told: &Value| told["result"]["_meta"]["dev.candor/error"].clone();
        assert_eq!(error(&again), error(&failed));
        assert!(!shop.invoices().contains_key("another"), "it did not run again");
        let found = client.call("get_invoice", &json!({"invoice_id": "inv_1"})).await;
        assert_eq!(code(&found), None, "the server keeps running: {found}");
    }
}
