//! One operation, and the ways to name it.

use std::time::Duration;

use candor_ledger::*;
use serde_json::{Value, json};

use crate::ledger::{Ledger, digits, id, wait};

#[test]
fn show_prints_every_fact_of_an_operation() {
    let ledger = Ledger::new("show");
    let order = id("order-17");
    ledger.done(&order);
    let told = ledger.history(&["show", &digits(&order, 8)]);
    let text = told.text();
    for part in [
        "create_invoice  Succeeded\n",
        &format!("id           {}", order.digest()),
        "key          order-17",
        "caller       ada",
        "server       invoices  sqlite:invoices.db",
        "duration     12 ms",
        "attempts     1",
        "arguments    {amount: integer, to: string}",
        "effect       Adds · external",
        "Z  Starting",
        "Z  Started",
        "Z  Succeeded after 12 ms",
        "\nresult\n  {\n    \"content\": [\n",
        "\"text\": \"invoice 4711\"",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
    assert!(!text.contains("resolve"), "{text}");
}

#[test]
fn show_json_has_every_fact_of_an_operation() {
    let ledger = Ledger::new("show json");
    let order = id("order-17");
    ledger.end(
        &order,
        OutcomeKind::Failure,
        "{ \"content\": [],\n \"isError\": true, \"n\": 1.10 }",
    );
    let told = ledger.history(&["show", "order-17", "--json"]);
    assert!(told.text().ends_with("\"result\":{\"content\":[],\"isError\":true,\"n\":1.10}}\n"));
    let shown = told.json();
    assert_eq!(shown["outcome"], "failed");
    assert_eq!(shown["fingerprint"], "07".repeat(32));
    assert_eq!(shown["argumentTypes"], "{amount: integer, to: string}");
    assert_eq!(shown["resultBytes"], 46);
    assert_eq!(shown["omittedDigest"], Value::Null);
    let timeline: Vec<_> =
        shown["timeline"].as_array().unwrap().iter().map(|row| &row["event"]).collect();
    assert_eq!(timeline, ["claim", "dispatch", "complete"]);
}

#[test]
fn replays_are_part_of_the_timeline() {
    let ledger = Ledger::new("show replays");
    let (order, other) = (id("order-17"), id("order-18"));
    ledger.done(&order);
    ledger.done(&other);
    for of in [&order, &order, &other] {
        let note = CallNote {
            scope: of.scope.clone(),
            key: Some(of.key.clone()),
            event: "replayed".to_owned(),
            outcome: None,
            circumstances: AuditContext::default(),
        };
        wait(ledger.store().note(note)).unwrap();
    }
    let told = ledger.history(&["show", "order-17"]);
    assert_eq!(told.text().matches("Z  Replayed\n").count(), 2, "{}", told.stdout);
    let shown = ledger.history(&["show", "order-17", "--json"]).json();
    let timeline: Vec<_> =
        shown["timeline"].as_array().unwrap().iter().map(|row| &row["event"]).collect();
    assert_eq!(timeline, ["claim", "dispatch", "complete", "replayed", "replayed"]);
}

#[test]
fn unknown_outcome_shows_its_reason_and_the_resolve_command() {
    let ledger = Ledger::new("show unknown");
    let order = id("order-17");
    ledger.lose(&order);
    let told = ledger.history(&["show", "order-17"]);
    assert!(told.text().contains("create_invoice  Outcome unknown"), "{}", told.stdout);
    assert!(told.text().contains("reason       the handler crashed"), "{}", told.stdout);
    let advice = format!("candor history resolve {} --not-run", digits(&order, 8));
    assert!(told.text().contains(&advice), "{}", told.stdout);
}

#[test]
fn ended_lease_shows_as_outcome_unknown() {
    let ledger = Ledger::new("show lapsed");
    // Started an hour ago with a lease of seconds that no server renewed.
    ledger.start(&id("order-17"));
    let told = ledger.history(&["show", "order-17"]);
    assert!(told.text().contains("the server stopped responding"), "{}", told.stdout);
    assert_eq!(ledger.history(&["--unknown", "--json"]).json()["unknownReason"], "lease_ended");
}

#[test]
fn result_that_is_not_json_or_too_large_is_described() {
    let ledger = Ledger::new("show odd");
    ledger.end(&id("odd"), OutcomeKind::Success, "no \u{1b} JSON");
    let told = ledger.history(&["show", "odd"]);
    assert!(
        told.text().contains("9 bytes that are not JSON:\n  no \\u{1b} JSON"),
        "{}",
        told.stdout
    );
    assert_eq!(ledger.history(&["show", "odd", "--json"]).json()["result"], "no \u{1b} JSON");

    ledger.end(&id("large"), OutcomeKind::Success, &format!("\"{}\"", "x".repeat(2 << 20)));
    let told = ledger.history(&["show", "large"]);
    assert!(told.text().contains("too large to store: 2097154 bytes, SHA-256 "), "{}", told.stdout);
    let shown = ledger.history(&["show", "large", "--json"]).json();
    assert_eq!(shown["result"], Value::Null);
    assert_eq!(shown["resultBytes"], 2_097_154);
    assert_eq!(shown["omittedDigest"].as_str().unwrap().len(), 64);
}

#[test]
fn input_request_is_shown() {
    let ledger = Ledger::new("show asked");
    ledger.later(Duration::from_secs(3600));
    let holder = ledger.start(&id("order-17"));
    let asked = StoredResult::new(OutcomeKind::Success, *br#"{"message":"which address?"}"#);
    ledger.say(&id("order-17"), Event::Suspend { holder, asked }, AuditContext::default());
    let told = ledger.history(&["show", "order-17"]);
    assert!(told.text().contains("Needs input"), "{}", told.stdout);
    assert!(told.text().contains("input requested\n"), "{}", told.stdout);
    let shown = ledger.history(&["show", "order-17", "--json"]).json();
    assert_eq!(shown["result"], json!({"message": "which address?"}));
    assert_eq!(shown["outcome"], Value::Null);
}
