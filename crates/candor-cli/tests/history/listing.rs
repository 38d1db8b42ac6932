//! The list.

use std::time::Duration;

use candor_ledger::*;
use serde_json::{Value, json};

use crate::ledger::{Ledger, digits, id};

/// One operation in every state that time alone does not bring.
fn every_state(name: &str) -> Ledger {
    let ledger = Ledger::new(name);
    // Up to now, so that who holds a claim is believed to live.
    ledger.later(Duration::from_secs(3600));
    ledger.done(&id("done"));
    ledger.end(&id("failed"), OutcomeKind::Failure, r#"{"content":[],"isError":true}"#);
    ledger.end(&id("invalid"), OutcomeKind::Invalid, "{}");
    ledger.claim(&id("starting"));
    ledger.start(&id("running"));
    let holder = ledger.start(&id("waiting"));
    let asked = StoredResult::new(OutcomeKind::Success, *br#"{"question":"which address?"}"#);
    ledger.say(&id("waiting"), Event::Suspend { holder, asked }, AuditContext::default());
    ledger.lose(&id("unknown"));
    let by = || "olga".to_owned();
    ledger.lose(&id("abandoned"));
    let abandon = Event::Resolve { by: by(), resolution: Resolution::Abandon };
    ledger.say(&id("abandoned"), abandon, AuditContext::default());
    ledger.lose(&id("not-done"));
    let not_done = Event::Resolve { by: by(), resolution: Resolution::NotDone };
    ledger.say(&id("not-done"), not_done, AuditContext::default());
    ledger
}

fn keys(lines: &[Value]) -> Vec<&str> {
    lines.iter().map(|line| line["key"].as_str().unwrap()).collect()
}

#[test]
fn operations_are_listed_newest_first_with_their_state() {
    let ledger = every_state("every state");
    let told = ledger.history(&[]);
    let lines: Vec<&str> = told.text().lines().collect();
    assert!(lines[0].starts_with("WHEN "), "{}", lines[0]);
    let expected = [
        ("not-done", "Not run"),
        ("abandoned", "Abandoned"),
        ("unknown", "Outcome unknown"),
        ("waiting", "Needs input"),
        ("running", "Running"),
        ("starting", "Starting"),
        ("invalid", "Invalid result"),
        ("failed", "Failed"),
        ("done", "Succeeded"),
    ];
    for (line, (key, state)) in lines[1..].iter().zip(expected) {
        let columns: Vec<&str> =
            line.split("  ").map(str::trim).filter(|column| !column.is_empty()).collect();
        let (at, rest) = columns.split_first().unwrap();
        assert!(at.ends_with('Z') && at.len() == 24, "{line}");
        let short = digits(&id(key), 8);
        assert_eq!(rest[..6], [&*short, state, "create_invoice", key, "ada", "invoices"], "{line}");
    }
    assert!(lines[9].ends_with("1         12 ms"), "{}", lines[9]);
    assert!(told.stderr.contains("candor history resolve ID --succeeded"), "{}", told.stderr);
    assert!(!told.stdout.contains('\u{1b}'), "no colors in a pipe");
}

#[test]
fn state_filter_accepts_stored_and_former_words_as_aliases() {
    let ledger = every_state("by state");
    for (word, expected) in [
        ("succeeded", &["done"][..]),
        ("done", &["done"]),
        ("failed", &["failed"]),
        ("result_invalid", &["invalid"]),
        ("invalid", &["invalid"]),
        ("completed", &["invalid", "failed", "done"]),
        ("ended", &["invalid", "failed", "done"]),
        ("starting", &["starting"]),
        ("claimed", &["starting"]),
        ("running", &["running"]),
        ("dispatched", &["running"]),
        ("input_required", &["waiting"]),
        ("suspended", &["waiting"]),
        ("asking", &["waiting"]),
        ("outcome_unknown", &["unknown"]),
        ("unknown", &["unknown"]),
        ("indeterminate", &["unknown"]),
        ("abandoned", &["abandoned"]),
        ("not_run", &["not-done"]),
        ("not-done", &["not-done"]),
        ("open", &["not-done"]),
    ] {
        let told = ledger.history(&["--state", word, "--json"]);
        assert_eq!(keys(&told.lines()), expected, "{word}");
    }
    assert_eq!(keys(&ledger.history(&["--unknown", "--json"]).lines()), ["unknown"]);
    ledger.history(&["--unknown", "--state", "succeeded"]).refused(2);
    let refused = ledger.history(&["--state", "succeded"]);
    assert!(refused.refused(2).contains("succeeded"), "{}", refused.stderr);
    assert!(!refused.stderr.contains("indeterminate"), "{}", refused.stderr);
}

#[test]
fn expired_result_is_listed_as_expired() {
    let ledger = Ledger::new("expired");
    ledger.done(&id("old"));
    // As if it were two days later: results are stored for one day, and keys are refused for thirty more.
    ledger.place.change("UPDATE records SET lapses = lapses - 2 * 86400000");
    assert!(ledger.history(&[]).text().contains("  Result expired  "));
    assert_eq!(
        ledger.history(&["--state", "result_expired", "--json"]).json()["state"],
        "result_expired"
    );
    ledger.place.change("UPDATE records SET lapses = lapses - 3456000000");
    let told = ledger.history(&[]);
    assert_eq!(told.text(), "", "the operation is purged");
    let shown = ledger.history(&["show", "old"]);
    assert!(shown.text().contains("Purged"), "{}", shown.stdout);
}

#[test]
fn json_list_has_every_member() {
    let ledger = Ledger::new("json");
    ledger.done(&id("order-17"));
    let mut line = ledger.history(&["--json"]).json();
    let line = line.as_object_mut().unwrap();
    for time in ["created", "changed", "since", "until"] {
        let text = line.insert(time.to_owned(), json!("a time")).unwrap();
        let text = text.as_str().unwrap();
        assert!(text.len() == 24 && text.ends_with('Z'), "{time}: {text}");
    }
    let expected = json!({
        "id": id("order-17").digest().to_string(),
        "principal": "ada",
        "server": "invoices",
        "instance": "sqlite:invoices.db",
        "tool": "create_invoice",
        "key": "order-17",
        "state": "succeeded",
        "outcome": "succeeded",
        "error": null,
        "review": null,
        "unknownReason": null,
        "by": null,
        "attempts": 1,
        "idempotent": false,
        "created": "a time",
        "changed": "a time",
        "since": "a time",
        "until": "a time",
        "durationMs": 12.345,
    });
    assert_eq!(Value::Object(line.clone()), expected);
}

#[test]
fn instances_of_one_server_are_distinguished() {
    let ledger = Ledger::new("instances");
    ledger.done(&id("a"));
    assert!(!ledger.history(&[]).text().contains("sqlite:"), "one instance needs no name");
    let of = |key: &str, server: &str, instance: &str| {
        let mut id = id(key);
        (id.scope.server, id.scope.instance) = (server.into(), instance.into());
        id
    };
    let deep = format!("sqlite:/{}deep.db", "folder/".repeat(20));
    ledger.done(&of("b", "invoices", &deep));
    ledger.done(&of("c", "other", "only"));
    for words in [&[][..], &["--rows"]] {
        let told = ledger.history(words);
        let lines: Vec<&str> = told.text().lines().skip(1).collect();
        let line = |key: &str| {
            let key = format!("  {key}  ");
            *lines.iter().find(|line| line.contains(&key)).unwrap()
        };
        assert!(line("a").contains("  invoices sqlite:invoices.db  "), "{}", line("a"));
        assert!(line("b").contains("/folder/deep.db  "), "{}", line("b"));
        assert!(line("b").contains("  invoices …"), "{}", line("b"));
        assert!(line("c").contains("  other  "), "{}", line("c"));
    }
}

#[test]
fn filters_and_limit_select_the_listed_operations() {
    let ledger = Ledger::new("filters");
    for at in 0..120 {
        let mut id = id(&format!("key-{at}"));
        if at % 2 == 0 {
            id.scope.principal = "bob".into();
        }
        if at % 3 == 0 {
            id.scope.tool = "delete_invoice".into();
        }
        ledger.done(&id);
    }
    let count = |words: &[&str]| ledger.history(&[words, &["--json"]].concat()).lines().len();
    assert_eq!(count(&[]), 50);
    assert_eq!(count(&["--limit", "0"]), 120);
    assert_eq!(count(&["--limit", "7"]), 7);
    assert_eq!(count(&["--caller", "bob", "--limit", "0"]), 60);
    assert_eq!(count(&["--principal", "bob", "--limit", "0"]), 60, "the former name");
    assert_eq!(count(&["--tool", "delete_invoice", "--limit", "0"]), 40);
    assert_eq!(count(&["--tool", "delete_invoice", "--caller", "bob"]), 20);
    assert_eq!(count(&["--key", "key-17"]), 1);
    assert_eq!(count(&["list", "--key", "key-17"]), 1);
    assert_eq!(count(&["--since", "2h", "--limit", "0"]), 120);
    assert_eq!(count(&["--since", "30m"]), 0);
    assert_eq!(count(&["--before", "30m", "--limit", "0"]), 120);
    let lines = ledger.history(&["--json", "--limit", "0"]).lines();
    let half = lines[59]["changed"].as_str().unwrap();
    assert_eq!(count(&["--since", half, "--limit", "0"]), 60);
    assert_eq!(count(&["--before", half, "--limit", "0"]), 60);

    assert!(
        ledger
            .history(&[])
            .stderr
            .contains("Showing 50. Use --limit N for more, --limit 0 for all.")
    );
    let nothing = ledger.history(&["--tool", "no_such"]);
    assert_eq!(nothing.text(), "");
    assert!(nothing.stderr.contains("No operation matches"), "{}", nothing.stderr);
    let refused = ledger.history(&["--since", "yesterday"]);
    assert!(refused.refused(2).contains("2h"), "{}", refused.stderr);
    let refused = ledger.history(&["--limit", "3", "show", "key-1"]);
    assert!(refused.refused(2).contains("list"), "{}", refused.stderr);
}

#[test]
fn empty_ledger_reports_that_nothing_is_recorded() {
    let ledger = Ledger::new("empty");
    for words in [&[][..], &["--rows"], &["--tool", "x"]] {
        let told = ledger.history(words);
        assert_eq!(told.text(), "");
        assert!(told.stderr.contains("Nothing has been recorded yet"), "{}", told.stderr);
        assert!(told.stderr.contains(ledger.place.shown()), "{}", told.stderr);
    }
    assert_eq!(ledger.history(&["--json"]).text(), "");
    ledger.note("greet");
    let told = ledger.history(&[]);
    assert!(told.stderr.contains("candor history --rows"), "{}", told.stderr);
}

#[test]
fn unknown_outcomes_beyond_the_limit_are_reported() {
    let ledger = Ledger::new("old unknown");
    ledger.lose(&id("lost"));
    for at in 0..5 {
        ledger.done(&id(&format!("key-{at}")));
    }
    let told = ledger.history(&["--limit", "3"]);
    assert!(!told.text().contains("unknown"));
    assert!(
        told.stderr.contains("1 with an unknown outcome. See: candor history --unknown"),
        "{}",
        told.stderr
    );
    let told = ledger.history(&["--state", "succeeded"]);
    assert!(!told.stderr.contains("--unknown"), "the filter excludes them: {}", told.stderr);
}

#[test]
fn rows_include_calls_without_a_key() {
    let ledger = Ledger::new("calls");
    ledger.done(&id("order-17"));
    ledger.note("greet");
    ledger.lose(&id("order-18"));
    let told = ledger.history(&["--rows"]);
    let what: Vec<&str> = told.text().lines().skip(1).collect();
    assert_eq!(what.len(), 7);
    assert!(what[0].contains("Outcome unknown: the handler crashed"), "{}", what[0]);
    assert!(what[3].contains("Called: Succeeded") && what[3].contains("  -  "), "{}", what[3]);
    assert!(what[4].contains("Succeeded") && what[4].ends_with("12 ms"), "{}", what[4]);
    let rows = ledger.history(&["--rows", "--json"]).lines();
    assert_eq!(rows[3]["id"], Value::Null);
    assert_eq!(rows[3]["event"], "called");
    // Completed calls, with a record or without.
    assert_eq!(ledger.history(&["--rows", "--state", "succeeded", "--json"]).lines().len(), 2);
    assert_eq!(ledger.history(&["--calls", "--json"]).lines().len(), 7, "the former name");
    assert_eq!(ledger.history(&["--rows", "--unknown", "--json"]).lines().len(), 1);
    assert_eq!(ledger.history(&["--rows", "--limit", "2", "--json"]).lines().len(), 2);
    assert_eq!(ledger.history(&["--rows", "--tool", "greet", "--json"]).lines().len(), 1);
}

#[test]
fn hostile_names_are_escaped() {
    let ledger = Ledger::new("hostile");
    let mut hostile = id(&"k".repeat(255));
    hostile.scope.principal = "ada\u{1b}[2J\r\n\u{202e}evil".into();
    hostile.scope.tool = "to\u{200b}ol\u{7f}\u{9b}31m".into();
    hostile.scope.server = "x\nerror: all is lost".into();
    ledger.end(
        &hostile,
        OutcomeKind::Success,
        "{\"content\":[{\"type\":\"text\",\"text\":\"\\u001b[31m\u{9b}\u{202e}\u{200d}\"}],\"n\":1.50}",
    );
    let plain = |c: char| c == '\n' || !(c.is_control() || "\u{202e}\u{200b}\u{200d}".contains(c));
    let short = digits(&hostile, 8);
    for words in [
        &[][..],
        &["--json"],
        &["--rows"],
        &["show", &short],
        &["show", &short, "--json"],
        &["export"],
    ] {
        let told = ledger.history(words);
        assert!(told.text().chars().all(plain), "{words:?}: {:?}", told.stdout);
    }
    let list = ledger.history(&[]);
    assert_eq!(list.text().lines().count(), 2);
    assert!(list.text().contains('…') && !list.text().contains(&"k".repeat(30)), "{}", list.stdout);
    assert!(list.text().contains(r"ada\u{1b}[2J\r"), "{}", list.stdout);
    // JSON has the exact text, and `show` prints all of it.
    let line = ledger.history(&["--json"]).json();
    assert_eq!(line["principal"], hostile.scope.principal);
    assert_eq!(line["key"], "k".repeat(255));
    let shown = ledger.history(&["show", &short]);
    assert!(shown.text().contains(&"k".repeat(255)));
    assert!(shown.text().contains(r"\u202e\u200d") && shown.text().contains("1.50"));
}
