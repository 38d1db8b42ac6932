//! The export.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Command, Stdio};

use candor::store::open;
use candor_ledger::*;
use serde_json::{Value, json};

use crate::ledger::{Ledger, candor, id, wait};

#[test]
fn export_lists_every_row_oldest_first() {
    let ledger = Ledger::new("export");
    ledger.done(&id("order-17"));
    ledger.note("greet");
    let rows = ledger.history(&["export"]).lines();
    let events: Vec<_> = rows.iter().map(|row| row["event"].as_str().unwrap()).collect();
    assert_eq!(events, ["claim", "dispatch", "complete", "called"]);
    let names: Vec<_> = rows[0].as_object().unwrap().keys().map(String::as_str).collect();
    for row in &rows {
        assert_eq!(row.as_object().unwrap().keys().collect::<Vec<_>>(), names);
        assert_eq!(row["at"].as_str().unwrap().len(), 24);
    }
    let seqs: Vec<_> = rows.iter().map(|row| row["seq"].as_u64().unwrap()).collect();
    assert!(seqs.is_sorted_by(|one, next| one < next), "{seqs:?}");
    let mut last = rows[2].clone();
    last["at"] = json!("a time");
    last["seq"] = json!("a number");
    let expected = json!({
        "seq": "a number",
        "at": "a time",
        "id": id("order-17").digest().to_string(),
        "principal": "ada",
        "server": "invoices",
        "instance": "sqlite:invoices.db",
        "tool": "create_invoice",
        "key": "order-17",
        "event": "complete",
        "from": "running",
        "to": "succeeded",
        "fence": 1,
        "attempt": 1,
        "outcome": "succeeded",
        "unknownReason": null,
        "by": null,
        "via": null,
        "denialReason": null,
        "argumentTypes": null,
        "digest": null,
        "hints": null,
        "durationMs": 12.345,
        "note": null,
        "error": null,
    });
    assert_eq!(last, expected);
    assert_eq!(rows[0]["digest"], "ab".repeat(32));
    assert_eq!((&rows[3]["id"], &rows[3]["to"]), (&Value::Null, &Value::Null));
}

#[test]
fn export_accepts_the_filters_of_the_list() {
    let ledger = Ledger::new("export filters");
    ledger.done(&id("order-17"));
    ledger.lose(&id("order-18"));
    let count = |words: &[&str]| ledger.history(&[&["export"], words].concat()).lines().len();
    assert_eq!(count(&["--key", "order-17"]), 3);
    assert_eq!(count(&["--unknown"]), 1);
    assert_eq!(count(&["--state", "succeeded"]), 1);
    assert_eq!(count(&["--state", "running"]), 2);
    assert_eq!(count(&["--tool", "other"]), 0);
    assert_eq!(count(&["--since", "30m"]), 0);
    assert_eq!(count(&["--since", "2h", "--before", "0s"]), 6);
}

const PLACE: &str = "CANDOR_HISTORY_TEST_PLACE";
const PARTS: usize = 100;
const AT_ONCE: usize = 64;

/// Not a test, but what the next one starts: another process, which writes a part for each byte that it reads.
#[test]
fn writer() {
    let Ok(place) = std::env::var(PLACE) else { return };
    let store = open(&place, Options::default()).unwrap();
    for (at, _) in std::io::stdin().lock().bytes().enumerate() {
        let note = CallNote {
            scope: id("any").scope,
            key: None,
            event: format!("called-{at}"),
            outcome: None,
            circumstances: AuditContext::default(),
        };
        let written: Vec<_> = (0..AT_ONCE).map(|_| store.note(note.clone())).collect();
        wait(async {
            for one in written {
                one.await.unwrap();
            }
        });
    }
}

#[test]
fn export_stays_in_order_while_another_process_writes() {
    let ledger = Ledger::new("export beside a writer");
    let mut writer = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "exporting::writer", "--quiet"])
        .env(PLACE, ledger.place.named())
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let mut seen: Vec<u64> = Vec::new();
    let mut read_on = || {
        let rows = ledger.history(&["export"]).lines();
        let seqs: Vec<u64> = rows.iter().map(|row| row["seq"].as_u64().unwrap()).collect();
        assert!(seqs.is_sorted_by(|one, next| one < next), "each once, in order");
        assert!(seqs.starts_with(&seen), "no row is lost, and no row appears late");
        seen = seqs;
        rows
    };
    let mut stdin = writer.stdin.take().unwrap();
    for _ in 0..PARTS / 20 {
        // It writes these while we read.
        stdin.write_all(&[0; 20]).unwrap();
        read_on();
    }
    drop(stdin);
    assert!(writer.wait().unwrap().success());
    let rows = read_on();
    assert_eq!(rows.len(), PARTS * AT_ONCE);
    for (at, row) in rows.iter().enumerate() {
        assert_eq!(row["event"], format!("called-{}", at / AT_ONCE));
    }
}

#[test]
fn closed_stdout_ends_history_without_an_error() {
    let ledger = Ledger::new("broken pipe");
    let store = ledger.store();
    let note = CallNote {
        scope: id("any").scope,
        key: None,
        event: "x".repeat(1000),
        outcome: None,
        circumstances: AuditContext::default(),
    };
    let written: Vec<_> = (0..2_000).map(|_| store.note(note.clone())).collect();
    wait(async {
        for one in written {
            one.await.unwrap();
        }
    });
    for words in
        [&["export"][..], &["--rows", "--limit", "0"], &["--rows", "--json", "--limit", "0"]]
    {
        let mut child = candor()
            .arg("history")
            .args(words)
            .arg("--ledger")
            .arg(ledger.place.named())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut first = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut first).unwrap();
        let mut complaint = String::new();
        child.stderr.take().unwrap().read_to_string(&mut complaint).unwrap();
        assert_eq!((child.wait().unwrap().code(), complaint.as_str()), (Some(0), ""), "{words:?}");
    }
}
