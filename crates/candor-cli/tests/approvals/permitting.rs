//! Grants: given with an approval, listed and revoked.

use candor_ledger::*;
use serde_json::json;

use crate::ledger::{Ledger, id, wait};
use crate::questions::TOOL_AS_IT_WAS;
use crate::terminal::Terminal;

fn approve(ledger: &Ledger, words: &[&str]) -> Terminal {
    Terminal::of(
        ledger.command(&[&["approve", "order-17", "--by", "olga", "--for", "3h"], words].concat()),
    )
}

fn kept(ledger: &Ledger) -> Vec<Grant> {
    wait(ledger.store().grants(Filter::default(), Page::default())).unwrap().items
}

#[test]
fn grant_is_described_before_it_is_confirmed() {
    let ledger = Ledger::asking("grant");
    let mut terminal = approve(&ledger, &["--under", "path=notes"]);
    terminal.says("start, and those like it? [y/N]");
    for part in [
        "(3 h from now), ada may call create_invoice of invoices (sqlite:invoices.db) without approval when:",
        "\n  action is \"delete\"\n  path is \"notes\" or inside it\n  and no other argument is present",
    ] {
        assert!(terminal.text().contains(part), "{part} in {}", terminal.text());
    }
    assert_eq!(kept(&ledger), [], "not before the answer");
    terminal.types("y");
    let (code, text) = terminal.ended();
    assert_eq!(code, Some(0), "{text}");
    assert_eq!(ledger.state("order-17").kind(), StateKind::Approved);
    let [grant] = &kept(&ledger)[..] else { panic!("one grant") };
    assert_eq!((&grant.scope, &grant.by[..]), (&id("order-17").scope, "olga"));
    let pattern: serde_json::Value = serde_json::from_str(&grant.pattern).unwrap();
    assert_eq!(pattern, json!({"action": {"is": "delete"}, "path": {"under": "notes"}}));
    let digits = grant.id.to_string();
    assert!(text.contains(&format!("candor approvals revoke {}", &digits[..8])), "{text}");

    let listed = ledger.approvals(&["grants"]);
    assert!(listed.text().contains(&digits[..8]), "{}", listed.stdout);
    assert!(listed.text().contains("is \"notes\" or inside it"), "{}", listed.stdout);
    let line = ledger.approvals(&["grants", "--json"]).json();
    assert_eq!((&line["active"], &line["pattern"]), (&json!(true), &pattern));
    assert_eq!(line["binding"], TOOL_AS_IT_WAS.to_string(), "the binding of the reviewed request");

    let revoked = ledger.approvals(&["revoke", &digits[..8], "--by", "petra"]);
    assert!(revoked.text().contains("revoked by petra"), "{}", revoked.stdout);
    let none = ledger.approvals(&["grants"]);
    assert_eq!(none.text(), "");
    assert!(none.stderr.contains("--all"), "{}", none.stderr);
    let line = ledger.approvals(&["grants", "--all", "--json"]).json();
    assert_eq!((&line["active"], &line["revokedBy"]), (&json!(false), &json!("petra")));
    ledger.approvals(&["revoke", &digits[..3]]).refused(1);
    ledger.approvals(&["revoke", "ffffffff"]).refused(1);
    let calls = ledger.history(&["--rows"]);
    for part in ["Granted by olga", "Grant revoked by petra"] {
        assert!(calls.text().contains(part), "{part} in {}", calls.stdout);
    }
}

#[test]
fn grant_without_a_binding_is_listed_as_inactive() {
    let ledger = Ledger::asking("grant void");
    let mut terminal = approve(&ledger, &[]);
    terminal.says("[y/N]");
    terminal.types("y");
    assert_eq!(terminal.ended().0, Some(0));
    ledger.place.change("UPDATE grants SET binding = NULL");
    let listed = ledger.approvals(&["grants"]);
    let text = listed.text();
    assert!(text.contains("not valid") && text.contains("may call create_invoice"), "{text}");
    let line = ledger.approvals(&["grants", "--json"]).json();
    assert_eq!((&line["active"], &line["binding"]), (&json!(false), &json!(null)));
}

#[test]
fn grant_covers_exactly_the_arguments_by_default() {
    let ledger = Ledger::asking("grant exactly");
    let mut terminal = approve(&ledger, &[]);
    terminal.says("path is \"notes/a.txt\"");
    terminal.says("[y/N]");
    terminal.types("y");
    assert_eq!(terminal.ended().0, Some(0));
    let ledger = Ledger::asking("grant any");
    let mut terminal = approve(&ledger, &["--any", "path"]);
    terminal.says("path is anything, or is omitted");
    terminal.says("[y/N]");
    terminal.types("n");
    assert_eq!(terminal.ended().0, Some(3));
    assert_eq!(kept(&ledger), []);
    assert_eq!(ledger.state("order-17").kind(), StateKind::Waiting);
}

#[test]
fn failed_approval_stores_no_grant() {
    let ledger = Ledger::asking("grant stale");
    let mut terminal = approve(&ledger, &[]);
    terminal.says("[y/N]");
    let changed = crate::questions::shown("{}");
    ledger.ask("order-17", &changed, crate::questions::TOOL_CHANGED);
    terminal.types("y");
    let (code, text) = terminal.ended();
    assert_eq!(code, Some(1), "{text}");
    assert_eq!(kept(&ledger), [], "{text}");
}

#[test]
fn grant_pattern_that_does_not_match_the_call_is_a_usage_error() {
    let ledger = Ledger::asking("grant mistakes");
    for words in [
        &["--any", "nobody"][..],
        &["--under", "path=letters"],
        &["--under", "path=.."],
        &["--under", "path"],
        &["--any", "path", "--under", "path=notes"],
        &["--under", "path=notes", "--under", "path=notes"],
    ] {
        let (code, text) = approve(&ledger, words).ended();
        assert_eq!(code, Some(2), "{words:?}: {text}");
        assert!(!text.contains("[y/N]"), "{text}");
    }
    for words in [&["--for", "0s"][..], &["--for", "ever"], &["--any", "path"]] {
        ledger.approvals(&[&["approve", "order-17"], words].concat()).refused(2);
    }
    assert_eq!(ledger.state("order-17").kind(), StateKind::Waiting);
}

#[test]
fn grant_for_a_secret_must_allow_any_value() {
    let ledger = Ledger::new("approvals, grant of a secret");
    let arguments = r#"{"user":"ada","password":"•••• (7 characters)"}"#;
    let asked = crate::questions::shown(&format!(r#"{arguments},"secrets":["password"]"#));
    ledger.ask("order-17", &asked, TOOL_AS_IT_WAS);
    for words in [&[][..], &["--any", "user"], &["--under", "password=•••• (7 characters)"]]
    {
        let (code, text) = approve(&ledger, words).ended();
        assert_eq!(code, Some(2), "{words:?}: {text}");
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        for part in ["Not recorded", "`password` is or contains a secret", "Allow `any` value"] {
            assert!(text.contains(part), "{part} in {text}");
        }
        assert!(!text.contains("[y/N]"), "{text}");
    }
    assert_eq!(ledger.state("order-17").kind(), StateKind::Waiting);
    assert_eq!(kept(&ledger), []);
    let mut terminal = approve(&ledger, &["--any", "password"]);
    terminal.says("password is anything, or is omitted");
    terminal.says("[y/N]");
    terminal.types("y");
    assert_eq!(terminal.ended().0, Some(0));
    assert_eq!(kept(&ledger).len(), 1);
}
