//! Somebody who stays and decides what comes.

use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

use candor_ledger::*;

use crate::ledger::{Ledger, id};
use crate::questions::{DELETE, TOOL_AS_IT_WAS, TOOL_CHANGED, short, shown};
use crate::terminal::Terminal;

#[test]
fn watch_decides_requests_as_they_arrive() {
    let ledger = Ledger::asking("watch");
    let mut terminal = Terminal::of(ledger.command(&["watch", "--by", "olga"]));
    terminal.says("[a]pprove, [d]eny, [s]kip:");
    terminal.types("what?");
    terminal.says_times("[s]kip:", 2);
    terminal.types("Y");
    terminal.says("Approved by olga");
    assert_eq!(ledger.state("order-17").kind(), StateKind::Approved);

    ledger.ask("order-18", &shown("{\"n\":18}"), TOOL_AS_IT_WAS);
    terminal.says("\"n\": 18");
    terminal.says_times("[s]kip:", 3);
    terminal.types("no");
    terminal.says("Reason for the caller?");
    terminal.types("too late");
    terminal.says("Denied by olga");
    match ledger.state("order-18") {
        RecordState::Denied { reason, .. } => assert_eq!(reason.as_deref(), Some("too late")),
        other => panic!("{other:?}"),
    }

    ledger.ask("order-19", &shown("{\"n\":19}"), TOOL_AS_IT_WAS);
    terminal.says_times("[s]kip:", 4);
    terminal.types("s");
    terminal.says(&format!("{}  skipped", short("order-19")));
    assert_eq!(ledger.state("order-19").kind(), StateKind::Waiting);
    // A skipped request does not appear again until it changes.
    ledger.ask("order-19", &shown("{\"n\":19.5}"), TOOL_CHANGED);
    terminal.says("\"n\": 19.5");
    terminal.says_times("[s]kip:", 5);
    terminal.interrupt();
    assert_eq!(ledger.state("order-19").kind(), StateKind::Waiting);
}

#[test]
fn watch_drops_a_request_that_is_decided_elsewhere() {
    let ledger = Ledger::asking("watch elsewhere");
    let mut terminal = Terminal::of(ledger.command(&["watch"]));
    terminal.says("[s]kip:");
    let mut other = Terminal::of(ledger.command(&["deny", "order-17"]));
    other.says("[y/N]");
    other.types("y");
    assert_eq!(other.ended().0, Some(0));
    terminal.says("no longer needs approval");
    // A late answer, and then another request.
    terminal.types("a");
    ledger.ask("order-18", &shown(DELETE), TOOL_AS_IT_WAS);
    terminal.says_times("[s]kip:", 2);
    terminal.types("s");
    terminal.says("skipped");
    assert_eq!(ledger.state("order-18").kind(), StateKind::Waiting);
    terminal.interrupt();
}

/// Shells start background programs this way.
#[test]
fn ctrl_c_ends_watch_even_if_sigint_was_ignored() {
    let ledger = Ledger::asking("watch ignored");
    let mut command = std::process::Command::new("sh");
    command.args(["-c", "trap '' INT; exec \"$0\" approvals watch --ledger \"$1\""]);
    command.arg(env!("CARGO_BIN_EXE_candor")).arg(ledger.place.named());
    let terminal = Terminal::of(command);
    terminal.says("[s]kip:");
    assert_eq!(terminal.interrupted().0, Some(0));
    assert_eq!(ledger.state("order-17").kind(), StateKind::Waiting);
}

#[test]
fn watch_without_a_terminal_only_prints() {
    let ledger = Ledger::asking("watch pipe");
    let mut child = ledger
        .command(&["watch", "--json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut next =
        || -> serde_json::Value { serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap() };
    assert_eq!(next()["key"], "order-17");
    ledger.ask("order-18", &shown("{}"), TOOL_AS_IT_WAS);
    assert_eq!(next()["id"], id("order-18").digest().to_string());
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(ledger.state("order-17").kind(), StateKind::Waiting);
}
