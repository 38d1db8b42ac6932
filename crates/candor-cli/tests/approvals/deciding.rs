//! A person's word: said at a terminal, of exactly what they have seen.

use candor_ledger::*;

use crate::ledger::{Ledger, SAME, id, told};
use crate::questions::{DELETE, TOOL_AS_IT_WAS, TOOL_CHANGED, short, shown};
use crate::terminal::Terminal;

fn at_terminal(ledger: &Ledger, words: &[&str]) -> Terminal {
    Terminal::of(ledger.command(&[words, &["--by", "olga"]].concat()))
}

#[test]
fn approve_without_a_terminal_decides_nothing() {
    let ledger = Ledger::asking("no terminal");
    let refused = ledger.approvals(&["approve", "order-17"]);
    assert!(refused.refused(3).contains("needs a terminal"), "{}", refused.stderr);
    for flag in ["--yes", "-y", "--force"] {
        ledger.approvals(&["approve", "order-17", flag]).refused(2);
    }
    // A pipe that answers yes is not a user.
    let mut piped = std::process::Command::new("sh");
    piped.args(["-c", "yes | \"$0\" approvals approve order-17 --ledger \"$1\""]);
    piped.arg(env!("CARGO_BIN_EXE_candor")).arg(ledger.place.named());
    told(&mut piped).refused(3);
    let told = ledger.approvals(&["approve", "order-17", "--json"]);
    let error: serde_json::Value = serde_json::from_str(&told.stderr).unwrap();
    assert_eq!((told.code, &error["error"]["code"]), (Some(3), &"refused".into()), "{error}");
    assert_eq!(ledger.state("order-17").kind(), StateKind::Waiting);
}

#[test]
fn approval_lets_the_call_start_once() {
    let ledger = Ledger::asking("approve");
    let mut terminal = at_terminal(&ledger, &["approve", &short("order-17")]);
    terminal.says(
        "May this call of create_invoice (Deletes · safe to retry · local) start, once? [y/N]",
    );
    assert!(terminal.text().contains("\"path\": \"notes/a.txt\""), "{}", terminal.text());
    assert!(terminal.text().contains("claims to be: claude 9.9"), "{}", terminal.text());
    assert_eq!(ledger.state("order-17").kind(), StateKind::Waiting, "not before the answer");
    terminal.types("y");
    let (code, text) = terminal.ended();
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("Approved by olga: the call may start once"), "{text}");
    match ledger.state("order-17") {
        RecordState::Approved { by, via, binding, .. } => {
            assert_eq!(
                (&by[..], via, binding),
                ("olga", ApprovalChannel::Operator, TOOL_AS_IT_WAS)
            );
        }
        other => panic!("{other:?}"),
    }
    let start = || Event::Start {
        fingerprint: SAME,
        owner: Owner([9; 16]),
        idempotent: false,
        approval: Some(TOOL_AS_IT_WAS),
    };
    let started = ledger.say(&id("order-17"), start(), AuditContext::default());
    assert!(matches!(started, EventReply::Started { attempt: 1, .. }), "{started:?}");
    let again = ledger.say(&id("order-17"), start(), AuditContext::default());
    assert!(!matches!(again, EventReply::Started { .. }), "{again:?}");
}

#[test]
fn empty_answer_or_no_leaves_the_request_open() {
    let ledger = Ledger::asking("no yes");
    for said in ["", "n", " NO "] {
        let mut terminal = at_terminal(&ledger, &["approve", "order-17"]);
        terminal.says("[y/N]");
        terminal.types(said);
        let (code, text) = terminal.ended();
        assert_eq!(code, Some(3), "{text}");
        assert!(text.contains("Not recorded; the request is still open"), "{text}");
    }
    assert_eq!(ledger.state("order-17").kind(), StateKind::Waiting);
}

#[test]
fn prompt_asks_again_until_it_understands_the_answer() {
    for (command, said, kind) in [
        ("approve", "Approve", StateKind::Approved),
        ("approve", " YES ", StateKind::Approved),
        ("approve", " Deny", StateKind::Denied),
        ("deny", "deny", StateKind::Denied),
        ("deny", "y", StateKind::Denied),
        ("deny", "approve", StateKind::Waiting),
        ("deny", "no", StateKind::Waiting),
    ] {
        let ledger = Ledger::asking(&format!("words {command} {said}"));
        let mut terminal = at_terminal(&ledger, &[command, "order-17"]);
        for (times, other) in ["approve it", "yy"].iter().enumerate() {
            terminal.says_times("[y/N]", times + 1);
            terminal.types(other);
        }
        terminal.says_times("[y/N]", 3);
        terminal.types(said);
        let (_, text) = terminal.ended();
        assert_eq!(ledger.state("order-17").kind(), kind, "{command} {said}: {text}");
    }
}

#[test]
fn approve_prompt_accepts_deny_but_not_the_reverse() {
    let ledger = Ledger::asking("other word");
    let id = short("order-17");
    let mut terminal = at_terminal(&ledger, &["deny", "order-17"]);
    terminal.says("[y/N]");
    terminal.types("approve");
    let (code, text) = terminal.ended();
    assert_eq!(code, Some(3), "{text}");
    let told = format!("still open. To approve it: candor approvals approve {id}");
    assert!(text.contains(&told), "{text}");
    assert_eq!(ledger.state("order-17").kind(), StateKind::Waiting);
    // With `--for`, too: a denial creates no grant.
    let mut terminal = at_terminal(&ledger, &["approve", "order-17", "--for", "15m"]);
    terminal.says("[y/N]");
    terminal.types("deny");
    let (code, text) = terminal.ended();
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("Denied by olga") && !text.contains("Granted"), "{text}");
    assert_eq!(ledger.state("order-17").kind(), StateKind::Denied);
}

#[test]
fn deny_without_a_terminal_denies() {
    let ledger = Ledger::asking("deny, no terminal");
    let denied = ledger.approvals(&["deny", "order-17", "--reason", "not today", "--by", "olga"]);
    assert!(denied.text().contains("Denied by olga"), "{}", denied.stdout);
    assert!(denied.stderr.contains("notes/a.txt"), "shows what it denies: {}", denied.stderr);
    match ledger.state("order-17") {
        RecordState::Denied { by, reason, .. } => {
            assert_eq!((&by[..], reason.as_deref()), ("olga", Some("not today")));
        }
        other => panic!("{other:?}"),
    }
    // A decision is final.
    ledger.approvals(&["deny", "order-17", "--by", "petra"]).refused(1);
}

#[test]
fn input_typed_before_the_prompt_is_discarded() {
    let ledger = Ledger::asking("typed ahead");
    let mut terminal = at_terminal(&ledger, &["approve", "order-17"]);
    terminal.types("y");
    terminal.types("y");
    terminal.says("[y/N]");
    terminal.types("n");
    let (code, text) = terminal.ended();
    assert_eq!(code, Some(3), "{text}");
    assert_eq!(ledger.state("order-17").kind(), StateKind::Waiting);
}

#[test]
fn denial_gives_the_caller_its_reason() {
    let ledger = Ledger::asking("deny");
    let mut terminal =
        at_terminal(&ledger, &["deny", "order-17", "--reason", "not on a Friday", "--json"]);
    terminal.says("Deny this call of create_invoice");
    assert!(
        terminal.text().contains("The caller sees the reason: not on a Friday"),
        "{}",
        terminal.text()
    );
    terminal.types("yes");
    let (code, text) = terminal.ended();
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains(r#""by":"olga""#) && text.contains(r#""state":"denied""#), "{text}");
    let again = ledger.ask("order-17", &shown(DELETE), TOOL_AS_IT_WAS);
    let EventReply::Denied { by, via: ApprovalChannel::Operator, reason, .. } = again else {
        panic!("{again:?}")
    };
    assert_eq!((&by[..], reason.as_deref()), ("olga", Some("not on a Friday")));
    let told = ledger.history(&["show", "order-17"]);
    assert!(told.text().contains("Denied by olga: not on a Friday"), "{}", told.stdout);
}

#[test]
fn changed_request_is_not_decided() {
    let ledger = Ledger::asking("stale");
    let mut terminal = at_terminal(&ledger, &["approve", "order-17"]);
    terminal.says("[y/N]");
    let other = shown(DELETE).replace("Makes invoices.", "Makes other things.");
    ledger.ask("order-17", &other, TOOL_CHANGED);
    terminal.types("y");
    let (code, text) = terminal.ended();
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("Not recorded: request "), "{text}");
    assert_eq!(ledger.state("order-17").kind(), StateKind::Waiting);
}

#[test]
fn second_decision_names_the_first_reviewer() {
    let ledger = Ledger::asking("quicker");
    let mut slow = at_terminal(&ledger, &["deny", "order-17"]);
    slow.says("[y/N]");
    let mut quick = Terminal::of(ledger.command(&["approve", "order-17", "--by", "petra"]));
    quick.says("[y/N]");
    quick.types("y");
    assert_eq!(quick.ended().0, Some(0));
    slow.types("y");
    let (code, text) = slow.ended();
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("Not recorded: petra already approved "), "{text}");
    assert_eq!(ledger.state("order-17").kind(), StateKind::Approved);
}

#[test]
fn unreadable_request_can_only_be_denied() {
    let ledger = Ledger::new("approvals, unreadable at a terminal");
    ledger.ask("order-17", "no JSON", TOOL_AS_IT_WAS);
    let (code, text) = at_terminal(&ledger, &["approve", "order-17"]).ended();
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("so it can only be denied"), "{text}");
    let mut terminal = at_terminal(&ledger, &["deny", "order-17"]);
    terminal.says("[y/N]");
    terminal.types("y");
    assert_eq!(terminal.ended().0, Some(0));
    assert_eq!(ledger.state("order-17").kind(), StateKind::Denied);
}

#[test]
fn terminal_highlights_calls_that_delete() {
    let ledger = Ledger::asking("colour");
    let mut command = ledger.command(&["show", "order-17"]);
    command.env_remove("NO_COLOR").env("TERM", "xterm");
    let (_, text) = Terminal::of(command).ended();
    assert!(text.contains("\u{1b}[1;31mDeletes"), "{text:?}");
}
