//! Which operation is meant.

use candor_ledger::*;

use crate::ledger::{Ledger, digits, id};

#[test]
fn operation_is_found_by_a_prefix_of_its_id() {
    let ledger = Ledger::new("digits");
    let order = id("order-17");
    ledger.done(&order);
    for many in [4, 5, 8, 63, 64] {
        let told = ledger.history(&["show", &digits(&order, many)]);
        assert!(told.text().contains("order-17"), "{many}");
    }
    let upper = digits(&order, 12).to_uppercase();
    assert!(ledger.history(&["show", &upper]).text().contains("order-17"));
    let refused = ledger.history(&["show", &digits(&order, 3)]);
    assert!(refused.refused(1).contains("at least 4 digits"), "{}", refused.stderr);
    let refused = ledger.history(&["show", "no\u{1b}body"]);
    assert!(refused.refused(1).contains(r"`no\u{1b}body`"), "{}", refused.stderr);
    ledger.history(&["show"]).refused(2);
}

/// Two keys whose operations have the same first four digits.
fn twins() -> (RecordId, RecordId) {
    let mut seen = std::collections::HashMap::new();
    (0..)
        .find_map(|at| {
            let this = id(&format!("key-{at}"));
            seen.insert(digits(&this, 4), this.clone()).map(|other| (other, this))
        })
        .unwrap()
}

#[test]
fn ambiguous_prefix_lists_the_matches() {
    let ledger = Ledger::new("ambiguous");
    let (one, other) = twins();
    ledger.done(&one);
    ledger.lose(&other);
    for command in [&["show"][..], &["resolve", "--abandoned", "--yes"]] {
        let shared = digits(&one, 4);
        let refused = ledger.history(&[command, &[&*shared]].concat());
        let text = refused.refused(1);
        assert!(text.contains("one of 2 operations"), "{text}");
        for id in [&one, &other] {
            assert!(text.contains(&digits(id, 8)) && text.contains(id.key.as_str()), "{text}");
        }
        assert!(text.contains("Outcome unknown"), "{text}");
    }
    let enough = (4..64).find(|many| digits(&one, *many) != digits(&other, *many)).unwrap();
    assert!(ledger.history(&["show", &digits(&one, enough)]).text().contains(one.key.as_str()));
}

#[test]
fn key_of_two_callers_is_ambiguous() {
    let ledger = Ledger::new("same key");
    let mut theirs = id("order-17");
    theirs.scope.principal = "bob".into();
    ledger.done(&theirs);
    assert!(ledger.history(&["show", "order-17"]).text().contains("bob"));
    ledger.done(&id("order-17"));
    let refused = ledger.history(&["show", "order-17"]);
    assert!(refused.refused(1).contains("ada") && refused.stderr.contains("bob"));
}

#[test]
fn key_that_resembles_an_id_is_found() {
    let ledger = Ledger::new("hex key");
    ledger.done(&id("12345678"));
    assert!(ledger.history(&["show", "12345678"]).text().contains("key          12345678"));
    // Short ones, too: only an id needs four.
    ledger.done(&id("17"));
    assert!(ledger.history(&["show", "17"]).text().contains("key          17"));
}

#[test]
fn purged_operation_still_has_its_timeline() {
    let ledger = Ledger::new("forgotten");
    let order = id("order-17");
    ledger.done(&order);
    ledger.place.change("DELETE FROM records");
    for name in ["order-17", &digits(&order, 8)] {
        let told = ledger.history(&["show", name]);
        assert!(told.text().contains("create_invoice  Purged"), "{}", told.stdout);
        assert!(told.text().contains("Succeeded after 12 ms"), "{}", told.stdout);
    }
    assert_eq!(ledger.history(&["show", "order-17", "--json"]).json()["state"], "purged");
    let refused = ledger.history(&["resolve", "order-17", "--abandoned", "--yes"]);
    assert!(refused.refused(1).contains(": Purged"), "{}", refused.stderr);
}
