//! What an operator records for an unknown outcome, and what the next call gets.

use candor_ledger::*;
use serde_json::{Value, json};

use crate::ledger::{Ledger, SAME, Told, candor, digits, id, told, wait};

fn lost(name: &str) -> Ledger {
    let ledger = Ledger::new(name);
    ledger.lose(&id("order-17"));
    ledger
}

fn resolve(ledger: &Ledger, words: &[&str]) -> Told {
    ledger.history(&[&["resolve", "order-17", "--yes", "--by", "olga"], words].concat())
}

/// What the next call with the key is answered.
fn next_call(ledger: &Ledger) -> EventReply {
    let event = Event::Claim { fingerprint: SAME, owner: Owner([9; 16]), idempotent: false };
    wait(ledger.store().apply(&id("order-17"), event, AuditContext::default())).unwrap()
}

/// The result that the next call gets, as the ledger keeps it.
fn replayed(ledger: &Ledger) -> (OutcomeKind, Value) {
    match next_call(ledger) {
        EventReply::Replay { outcome, resolved_by, attempt: 1, .. } => {
            assert_eq!(resolved_by.as_deref(), Some("olga"));
            let Body::Kept(bytes) = outcome.body else { panic!("kept") };
            (outcome.kind, serde_json::from_slice(&bytes).unwrap())
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn success_and_failure_are_recorded_with_a_result() {
    for (at, (words, kind, expected)) in [
        (
            &["--succeeded", "--result", r#"{"content":[{"type":"text","text":"4711"}],"structuredContent":{"n":1}}"#][..],
            OutcomeKind::Success,
            json!({"content": [{"type": "text", "text": "4711"}], "structuredContent": {"n": 1}}),
        ),
        (
            &["--succeeded", "--result", r#"{"n":1}"#],
            OutcomeKind::Success,
            json!({"content": [{"type": "text", "text": "{\"n\":1}"}], "structuredContent": {"n": 1}}),
        ),
        (
            &["--succeeded", "--result", "-5"],
            OutcomeKind::Success,
            json!({"content": [{"type": "text", "text": "-5"}]}),
        ),
        (
            &["--succeeded", "--text", "paid"],
            OutcomeKind::Success,
            json!({"content": [{"type": "text", "text": "paid"}]}),
        ),
        (
            &["--failed", "--text", "declined"],
            OutcomeKind::Failure,
            json!({"content": [{"type": "text", "text": "declined"}], "isError": true}),
        ),
        (
            &["--done", "--failed", "--text", "the former flags"],
            OutcomeKind::Failure,
            json!({"content": [{"type": "text", "text": "the former flags"}], "isError": true}),
        ),
        (
            &["--done", "--result", r#"{"content":[],"isError":true}"#],
            OutcomeKind::Failure,
            json!({"content": [], "isError": true}),
        ),
    ]
    .into_iter()
    .enumerate()
    {
        let ledger = lost(&format!("done {at}"));
        let told = resolve(&ledger, words);
        assert!(told.text().contains("returns this result"), "{}", told.stdout);
        assert_eq!(replayed(&ledger), (kind, expected), "{words:?}");
    }
}

#[test]
fn success_without_a_result_replays_a_notice() {
    let ledger = lost("done, no result");
    resolve(&ledger, &["--succeeded"]).text();
    let (kind, result) = replayed(&ledger);
    assert_eq!(kind, OutcomeKind::Success);
    assert!(result["content"][0]["text"].as_str().unwrap().contains("not known"), "{result}");
    let shown = ledger.history(&["show", "order-17"]);
    assert!(shown.text().contains("resolved by  olga"), "{}", shown.stdout);
    assert!(shown.text().contains("Resolved by olga: Succeeded"), "{}", shown.stdout);
}

#[test]
fn not_run_allows_a_new_attempt_and_abandoned_does_not() {
    let ledger = lost("not done");
    let told = resolve(&ledger, &["--not-run"]);
    assert!(told.text().contains("starts again"), "{}", told.stdout);
    assert_eq!(ledger.history(&["--json"]).json()["by"], "olga");
    assert!(matches!(next_call(&ledger), EventReply::Claimed { attempt: 2, .. }));

    let ledger = lost("abandon");
    let told = resolve(&ledger, &["--abandoned"]);
    assert!(told.text().contains("refused from now on"), "{}", told.stdout);
    assert!(matches!(next_call(&ledger), EventReply::Abandoned { by, .. } if by == "olga"));
}

#[test]
fn operation_of_a_silent_server_can_be_resolved() {
    let ledger = Ledger::new("resolve lapsed");
    ledger.start(&id("order-17"));
    resolve(&ledger, &["--abandoned"]).text();
    let events: Vec<_> = ledger.history(&["export"]).lines();
    let events: Vec<_> = events.iter().map(|row| row["event"].as_str().unwrap()).collect();
    assert_eq!(events, ["claim", "dispatch", "lapse", "resolve"]);
}

#[test]
fn only_an_unknown_outcome_can_be_resolved() {
    let ledger = Ledger::new("resolve known");
    ledger.done(&id("order-17"));
    for finding in ["--succeeded", "--not-run", "--abandoned", "--done", "--not-done", "--abandon"]
    {
        let refused = resolve(&ledger, &[finding]);
        assert!(refused.refused(1).contains(": Succeeded"), "{}", refused.stderr);
    }
    let ledger = lost("resolve twice");
    resolve(&ledger, &["--abandoned"]).text();
    let refused = resolve(&ledger, &["--succeeded"]);
    assert!(refused.refused(1).contains(": Abandoned"), "{}", refused.stderr);
}

#[test]
fn resolve_without_confirmation_changes_nothing() {
    let ledger = lost("no yes");
    let refused = ledger.history(&["resolve", "order-17", "--not-run", "--by", "olga"]);
    assert_eq!((refused.code, refused.stdout.as_str()), (Some(3), ""));
    for part in
        ["create_invoice  Outcome unknown", "olga records: Not run", "starts again", "Use --yes"]
    {
        assert!(refused.stderr.contains(part), "{part} in {}", refused.stderr);
    }
    assert!(matches!(next_call(&ledger), EventReply::OutcomeUnknown { .. }));
}

#[cfg(unix)]
#[test]
fn resolve_records_the_system_user_not_the_user_variable() {
    let user = std::process::Command::new("id").arg("-un").output().unwrap().stdout;
    let user = String::from_utf8(user).unwrap();
    let ledger = lost("by user");
    let mut command = candor();
    command.args(["history", "resolve", "order-17", "--abandoned", "--yes", "--json", "--ledger"]);
    let resolved = told(command.arg(ledger.place.named()).env("USER", "mallory")).json();
    assert_eq!((&resolved["by"], &resolved["state"]), (&json!(user.trim()), &json!("abandoned")));
    assert_eq!(resolved["id"], id("order-17").digest().to_string());
}

#[test]
fn outcome_flags_exclude_each_other() {
    let ledger = lost("usage");
    let short = digits(&id("order-17"), 8);
    for words in [
        &[][..],
        &["--succeeded", "--abandoned"],
        &["--succeeded", "--failed"],
        &["--done", "--abandoned"],
        &["--done", "--succeeded"],
        &["--not-run", "--text", "x"],
        &["--abandoned", "--failed"],
        &["--succeeded", "--text", "x", "--result", "1"],
        &["--succeeded", "--result", "{"],
        &["--succeeded", "--result", r#"{"content":[{"type":"text"}]}"#],
        &["--succeeded", "--by", " "],
    ] {
        let refused = ledger.history(&[&["resolve", &short, "--yes"], words].concat());
        refused.refused(2);
    }
    assert!(matches!(next_call(&ledger), EventReply::OutcomeUnknown { .. }));
}
