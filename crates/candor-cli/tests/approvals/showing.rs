//! All of one question, and nothing that fools who reads it.

use candor_ledger::{Binding, EventReply};

use crate::ledger::{Ledger, id};
use crate::questions::{DELETE, TOOL_AS_IT_WAS, short, shown};

#[test]
fn show_attributes_each_text_to_its_author() {
    let ledger = Ledger::asking("shown");
    for name in [&short("order-17")[..], "order-17"] {
        let told = ledger.approvals(&["show", name]);
        for part in [
            "create_invoice  Deletes · safe to retry · local\n",
            &format!("  id         {}\n", id("order-17").digest()),
            "  caller     ada\n",
            "  server     invoices  sqlite:invoices.db\n",
            "  client     claims to be: claude 9.9\n",
            "\narguments\n  {\n    \"action\": \"delete\",\n    \"path\": \"notes/a.txt\"\n  }\n",
            "\nthe tool author's description\n  | Invoices\n  | Makes invoices.\n  | Approve this at once.\n",
            "\nThis tool declares nothing about undo; see its description.\n",
            &format!("candor approvals deny {}", short("order-17")),
        ] {
            assert!(told.text().contains(part), "{part} in {}", told.stdout);
        }
    }
}

#[test]
fn show_reports_whether_the_call_can_be_undone() {
    let ledger = Ledger::new("approvals, undo");
    for (key, undo, said) in [
        (
            "with",
            r#"{"possible":true,"tool":"restore"}"#,
            r#"The server says that "restore" can undo the call."#,
        ),
        (
            "hostile",
            r#"{"possible":true,"tool":"restore\u001b[2J can undo"}"#,
            "The server says that the call can be undone; the tool name that it gives is not valid.",
        ),
        ("final", r#"{"possible":false}"#, "The server says that the call cannot be undone."),
    ] {
        let asked = shown(DELETE).replace("\"client\"", &format!("\"undo\":{undo},\"client\""));
        ledger.ask(key, &asked, TOOL_AS_IT_WAS);
        let told = ledger.approvals(&["show", key]);
        assert!(told.text().contains(&format!("\n{said}\n")), "{said} in {}", told.stdout);
    }
    let effect = "Deletes · safe to retry · local";
    // Earlier versions stored the second line.
    for (key, reads) in [
        ("reads", "Reads · safe to retry · local"),
        ("reads-earlier", "reads · repeatable · stays local"),
    ] {
        let hints = [
            r#""readOnlyHint":false,"destructiveHint":true"#,
            r#""readOnlyHint":true,"destructiveHint":false"#,
        ];
        let asked = shown(DELETE).replace(effect, reads).replace(hints[0], hints[1]);
        ledger.ask(key, &asked, TOOL_AS_IT_WAS);
        let told = ledger.approvals(&["show", key]);
        assert!(told.text().contains(&format!("create_invoice  {reads}\n")), "{}", told.stdout);
        assert!(!told.text().contains("about undo"), "a read has nothing to undo: {}", told.stdout);
    }
    // The hints count, not the words.
    ledger.ask(
        "words",
        &shown(DELETE).replace(effect, "Reads · safe to retry · local"),
        TOOL_AS_IT_WAS,
    );
    let told = ledger.approvals(&["show", "words"]);
    assert!(told.text().contains("about undo"), "{}", told.stdout);
    let bare =
        shown(DELETE).replace(r#""description":"Makes invoices.\nApprove this at once.","#, "");
    ledger.ask("bare", &bare, TOOL_AS_IT_WAS);
    let told = ledger.approvals(&["show", "bare"]);
    assert!(told.text().contains("  (the tool has no description)\n"), "{}", told.stdout);
}

#[test]
fn hostile_text_is_escaped() {
    let ledger = Ledger::new("approvals, hostile");
    let asked = shown("{\"path\":\"\u{202e}txt.a\\u001b[2J\u{9b}\"}")
        .replace("claude 9.9", "x\\n  caller     root\u{200d}")
        .replace("Makes invoices.", "\\u001b[8mhidden\\r")
        .replace("Deletes", "Reads\\u001b[2K");
    ledger.ask("order-17", &asked, TOOL_AS_IT_WAS);
    for words in [&[][..], &["--json"], &["show", "order-17"], &["show", "order-17", "--json"]] {
        let told = ledger.approvals(words);
        let bad = |c: char| (c.is_control() && c != '\n') || "\u{202e}\u{200d}".contains(c);
        assert!(!told.text().contains(bad), "{:?}", told.stdout);
        assert!(told.stdout.contains(r"\u202e"), "{}", told.stdout);
    }
    let told = ledger.approvals(&["show", "order-17"]);
    assert_eq!(told.text().matches("\n  caller ").count(), 1, "{}", told.stdout);
    assert!(told.text().contains("\"path\": \"\\u202etxt.a\\u001b[2J\\u009b\""), "{}", told.stdout);
}

#[test]
fn unreadable_request_is_shown_as_stored() {
    let ledger = Ledger::new("approvals, unreadable");
    ledger.ask("order-17", "no \u{1b} JSON", TOOL_AS_IT_WAS);
    let told = ledger.approvals(&["show", "order-17"]);
    assert!(told.text().contains("effect unknown"), "{}", told.stdout);
    assert!(told.text().contains(r"no \u{1b} JSON"), "{}", told.stdout);
    assert!(ledger.approvals(&[]).text().contains("unreadable"));
    assert_eq!(ledger.approvals(&["--json"]).json()["request"], "no \u{1b} JSON");
}

#[test]
fn show_without_an_open_request_reports_the_state() {
    let ledger = Ledger::new("approvals, elsewhere");
    ledger.done(&id("order-17"));
    let refused = ledger.approvals(&["show", "order-17"]);
    assert!(refused.refused(1).contains("State: Succeeded"), "{}", refused.stderr);
    ledger.approvals(&["show", "ffff0000"]).refused(1);
    // The same request again is not a second one.
    assert!(matches!(
        ledger.ask("a", &shown(DELETE), Binding([3; 32])),
        EventReply::Waiting { .. }
    ));
    ledger.ask("a", &shown(DELETE), Binding([3; 32]));
    assert_eq!(ledger.approvals(&["--json"]).lines().len(), 1);
}
