//! What an operator says of a call of which nobody knows, and what the next call gets.

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
fn next_call(ledger: &Ledger) -> Answer {
    let event = Event::Claim { fingerprint: SAME, owner: Owner([9; 16]), by_nature: false };
    wait(ledger.store().apply(&id("order-17"), event, Circumstances::default())).unwrap()
}

/// The result that the next call gets, as the ledger keeps it.
fn replayed(ledger: &Ledger) -> (OutcomeKind, Value) {
    match next_call(ledger) {
        Answer::Replay { outcome, resolved_by, attempt: 1, .. } => {
            assert_eq!(resolved_by.as_deref(), Some("olga"));
            let Body::Kept(bytes) = outcome.body else { panic!("kept") };
            (outcome.kind, serde_json::from_slice(&bytes).unwrap())
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn done_with_a_result() {
    for (at, (words, kind, expected)) in [
        (
            &["--result", r#"{"content":[{"type":"text","text":"4711"}],"structuredContent":{"n":1}}"#][..],
            OutcomeKind::Success,
            json!({"content": [{"type": "text", "text": "4711"}], "structuredContent": {"n": 1}}),
        ),
        (
            &["--result", r#"{"n":1}"#],
            OutcomeKind::Success,
            json!({"content": [{"type": "text", "text": "{\"n\":1}"}], "structuredContent": {"n": 1}}),
        ),
        (
            &["--result", "-5"],
            OutcomeKind::Success,
            json!({"content": [{"type": "text", "text": "-5"}]}),
        ),
        (
            &["--text", "paid"],
            OutcomeKind::Success,
            json!({"content": [{"type": "text", "text": "paid"}]}),
        ),
        (
            &["--text", "declined", "--failed"],
            OutcomeKind::Failure,
            json!({"content": [{"type": "text", "text": "declined"}], "isError": true}),
        ),
        (
            &["--result", r#"{"content":[],"isError":true}"#],
            OutcomeKind::Failure,
            json!({"content": [], "isError": true}),
        ),
    ]
    .into_iter()
    .enumerate()
    {
        let ledger = lost(&format!("done {at}"));
        let told = resolve(&ledger, &[&["--done"], words].concat());
        assert!(told.text().contains("gets this result"), "{}", told.stdout);
        assert_eq!(replayed(&ledger), (kind, expected), "{words:?}");
    }
}

#[test]
fn done_without_a_result_says_so_to_the_next_caller() {
    let ledger = lost("done, no result");
    resolve(&ledger, &["--done"]).text();
    let (kind, result) = replayed(&ledger);
    assert_eq!(kind, OutcomeKind::Success);
    assert!(result["content"][0]["text"].as_str().unwrap().contains("not known"), "{result}");
    let shown = ledger.history(&["show", "order-17"]);
    assert!(shown.text().contains("said by    olga"), "{}", shown.stdout);
    assert!(shown.text().contains("olga said: done"), "{}", shown.stdout);
}

#[test]
fn not_done_starts_once_more_and_abandoned_never() {
    let ledger = lost("not done");
    let told = resolve(&ledger, &["--not-done"]);
    assert!(told.text().contains("starts it once more"), "{}", told.stdout);
    assert_eq!(ledger.history(&["--json"]).json()["by"], "olga");
    assert!(matches!(next_call(&ledger), Answer::Claimed { attempt: 2, .. }));

    let ledger = lost("abandon");
    let told = resolve(&ledger, &["--abandon"]);
    assert!(told.text().contains("refused from now on"), "{}", told.stdout);
    assert!(matches!(next_call(&ledger), Answer::Abandoned { by, .. } if by == "olga"));
}

#[test]
fn what_nobody_was_heard_of_can_be_resolved() {
    let ledger = Ledger::new("resolve lapsed");
    ledger.start(&id("order-17"));
    resolve(&ledger, &["--abandon"]).text();
    let events: Vec<_> = ledger.history(&["export"]).lines();
    let events: Vec<_> = events.iter().map(|row| row["event"].as_str().unwrap()).collect();
    assert_eq!(events, ["claim", "dispatch", "lapse", "resolve"]);
}

#[test]
fn only_what_is_unknown_can_be_resolved() {
    let ledger = Ledger::new("resolve known");
    ledger.done(&id("order-17"));
    for finding in ["--done", "--not-done", "--abandon"] {
        let refused = resolve(&ledger, &[finding]);
        assert!(refused.refused(1).contains("stands at `done`"), "{}", refused.stderr);
    }
    let ledger = lost("resolve twice");
    resolve(&ledger, &["--abandon"]).text();
    let refused = resolve(&ledger, &["--done"]);
    assert!(refused.refused(1).contains("stands at `abandoned`"), "{}", refused.stderr);
}

#[test]
fn without_a_yes_nothing_is_changed() {
    let ledger = lost("no yes");
    let refused = ledger.history(&["resolve", "order-17", "--not-done", "--by", "olga"]);
    assert_eq!((refused.code, refused.stdout.as_str()), (Some(3), ""));
    for part in [
        "create_invoice  outcome UNKNOWN",
        "olga says that it was not done",
        "starts it once more",
        "use --yes",
    ] {
        assert!(refused.stderr.contains(part), "{part} in {}", refused.stderr);
    }
    assert!(matches!(next_call(&ledger), Answer::OutcomeUnknown { .. }));
}

#[cfg(unix)]
#[test]
fn who_says_so_is_the_user_of_the_system_whatever_variables_claim() {
    let user = std::process::Command::new("id").arg("-un").output().unwrap().stdout;
    let user = String::from_utf8(user).unwrap();
    let ledger = lost("by user");
    let mut command = candor();
    command.args(["history", "resolve", "order-17", "--abandon", "--yes", "--json", "--ledger"]);
    let resolved = told(command.arg(ledger.place.named()).env("USER", "mallory")).json();
    assert_eq!((&resolved["by"], &resolved["state"]), (&json!(user.trim()), &json!("abandoned")));
    assert_eq!(resolved["id"], id("order-17").digest().to_string());
}

#[test]
fn a_finding_is_said_once_and_fits() {
    let ledger = lost("usage");
    let short = digits(&id("order-17"), 8);
    for words in [
        &[][..],
        &["--done", "--abandon"],
        &["--not-done", "--text", "x"],
        &["--abandon", "--failed"],
        &["--done", "--text", "x", "--result", "1"],
        &["--done", "--result", "{"],
        &["--done", "--result", r#"{"content":[{"type":"text"}]}"#],
        &["--done", "--by", " "],
    ] {
        let refused = ledger.history(&[&["resolve", &short, "--yes"], words].concat());
        refused.refused(2);
    }
    assert!(matches!(next_call(&ledger), Answer::OutcomeUnknown { .. }));
}
