//! What waits, for people and for programs.

use std::time::Duration;

use candor_ledger::*;

use crate::ledger::{Ledger, SAME, candor, folder, id, told, wait};
use crate::questions::{DELETE, TOOL_AS_IT_WAS, short, shown};

#[test]
fn requests_are_listed_oldest_first_with_their_effect() {
    let ledger = Ledger::asking("listed");
    ledger.later(Duration::from_secs(1800));
    let reads = shown("{\"n\":1}")
        .replace("Deletes", "Reads")
        .replace("\"destructiveHint\":true", "\"destructiveHint\":false");
    ledger.ask("order-18", &reads, TOOL_AS_IT_WAS);
    ledger.done(&id("order-19"));
    for words in [&[][..], &["list"]] {
        let listed = ledger.approvals(words);
        let lines: Vec<_> = listed.text().lines().collect();
        assert_eq!(lines.len(), 3, "{}", listed.stdout);
        assert!(lines[0].starts_with("ID        AGE "), "{}", listed.stdout);
        let (first, second) = (short("order-17"), short("order-18"));
        for part in [&first[..], "1 h", "ada", "invoices sqlite:invoices.db", "create_invoice"] {
            assert!(lines[1].contains(part), "{part} in {}", lines[1]);
        }
        assert!(lines[1].contains("Deletes · safe to retry · local"), "{}", lines[1]);
        assert!(lines[1].ends_with(DELETE), "{}", lines[1]);
        assert!(lines[2].starts_with(&second) && lines[2].contains("30 min"), "{}", lines[2]);
        assert!(listed.stderr.contains("candor approvals approve ID"), "{}", listed.stderr);
    }
}

/// A suggested command can be pasted as printed.
#[test]
fn suggested_commands_repeat_the_ledger_flag() {
    let ledger = Ledger::asking("named again");
    let id = short("order-17");
    for words in [&[][..], &["show", "order-17"]] {
        let told = ledger.approvals(words);
        let said = format!("{}{}", told.stdout, told.stderr);
        assert!(said.contains(&format!("candor approvals approve {id} --ledger ")), "{said}");
        let mut by_variable = candor();
        by_variable.arg("approvals").args(words).env("CANDOR_LEDGER", ledger.place.named());
        let told = crate::ledger::told(&mut by_variable);
        let said = format!("{}{}", told.stdout, told.stderr);
        assert!(said.contains(&format!("candor approvals approve {id}\n")), "{said}");
    }
    let told = ledger.history(&["show", "order-17"]);
    assert!(
        told.text().contains(&format!("candor approvals deny {id} --ledger ")),
        "{}",
        told.stdout
    );
}

#[test]
fn empty_list_reports_no_approval_requests() {
    let ledger = Ledger::new("approvals, none");
    ledger.done(&id("order-17"));
    let listed = ledger.approvals(&[]);
    assert_eq!(listed.text(), "");
    assert!(listed.stderr.contains("No approval requests"), "{}", listed.stderr);
    assert_eq!(ledger.approvals(&["--json"]).text(), "");
    let mut elsewhere = candor();
    elsewhere.arg("approvals").arg("--ledger").arg(folder("approvals, no ledger").join("x.db"));
    assert!(told(&mut elsewhere).refused(1).contains("no ledger exists here"));
}

#[test]
fn json_output_keeps_every_digit_of_the_arguments() {
    let ledger = Ledger::new("approvals, json");
    let arguments = r#"{"amount":12345678901234567890123.10,"to":"x"}"#;
    ledger.ask("order-17", &shown(arguments), TOOL_AS_IT_WAS);
    for words in [&["--json"][..], &["show", "order-17", "--json"]] {
        let listed = ledger.approvals(words);
        assert!(listed.text().contains(&format!("\"arguments\":{arguments}")), "{}", listed.stdout);
        let line = listed.json();
        assert_eq!(line["id"], id("order-17").digest().to_string());
        assert_eq!(line["principal"], "ada");
        assert_eq!(line["fingerprint"], SAME.to_string());
        assert_eq!(line["binding"], TOOL_AS_IT_WAS.to_string());
        assert_eq!(line["request"]["client"], "claude 9.9");
        assert!(line["requestedAt"].as_str() < line["expiresAt"].as_str(), "{line}");
    }
}

#[test]
fn long_arguments_are_cut_only_in_the_list() {
    let ledger = Ledger::new("approvals, long");
    let long = format!("{{\"text\":\"{}END\"}}", "x".repeat(5000));
    ledger.ask("order-17", &shown(&long), TOOL_AS_IT_WAS);
    assert!(!ledger.approvals(&[]).text().contains("END"));
    assert!(ledger.approvals(&["show", "order-17"]).text().contains("xEND"));
}

#[test]
fn history_shows_each_step_of_an_approval() {
    let ledger = Ledger::asking("in history");
    let state = |words: &str| {
        let listed = ledger.history(&[]);
        assert!(listed.text().contains(words), "{words} in {}", listed.stdout);
    };
    state("Needs approval");
    let told = ledger.history(&["show", "order-17"]);
    assert!(told.text().contains("candor approvals approve"), "{}", told.stdout);
    assert_eq!(
        ledger.history(&["--state", "approval_required", "--json"]).json()["key"],
        "order-17"
    );

    let question = || {
        let entry = wait(ledger.store().find(&id("order-17"))).unwrap().unwrap();
        entry.seen.unwrap().question().unwrap()
    };
    let decide = |via, decision| {
        let event = Event::Decide { question: question(), by: "olga".into(), via, decision };
        assert_eq!(ledger.say(&id("order-17"), event, AuditContext::default()), EventReply::Done);
    };
    // An approval does not last an hour.
    ledger.later(Duration::from_secs(3600));
    decide(ApprovalChannel::Client, Review::Approve);
    state("Approved, not started");
    let start = Event::Start {
        fingerprint: SAME,
        owner: Owner([9; 16]),
        idempotent: false,
        approval: Some(TOOL_AS_IT_WAS),
    };
    ledger.say(&id("order-17"), start, AuditContext::default());
    let told = ledger.history(&["show", "order-17"]);
    for part in ["Approval requested", "Approved by olga via client", "Started, approved by olga"] {
        assert!(told.text().contains(part), "{part} in {}", told.stdout);
    }
}
