//! A person at a terminal: what they are asked, what they see, and what comes of their answer.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::terminal::Terminal;
use crate::{ESCAPE, SCRIPTED, World};

fn files<'a>(world: &'a World, flags: &[&'a str]) -> Vec<String> {
    let folder = world.folder().display().to_string();
    let program = [env!("CARGO_BIN_EXE_candor"), "files", &folder, "--stdio"];
    [&["--"], &program[..], flags].concat().iter().map(|word| (*word).to_owned()).collect()
}

fn at(world: &World, words: &[&str], program: &[String]) -> Terminal {
    let mut command = world.candor(words);
    command.args(program);
    Terminal::of(command)
}

const DELETE: [&str; 4] = ["call", "manage_files", "path=a.txt", "action=delete"];

#[test]
fn confirmation_shows_the_call_before_it_runs() {
    let world = World::new("persons yes");
    let mut terminal = at(&world, &DELETE, &files(&world, &["--ask", "never"]));
    terminal.says("May it run? [y/N]");
    let asked = terminal.text();
    for part in [
        "manage_files  Deletes · safe to retry · local",
        "evaluated by the server for exactly these arguments",
        "\n  | Read, append, replace, or delete",
        "The server says that the call cannot be undone.",
        "\"path\": \"a.txt\"",
        "| Delete a.txt (5 bytes, text). It cannot be undone.",
    ] {
        assert!(asked.contains(part), "no {part:?} in {asked}");
    }
    assert!(world.has("a.txt"), "nothing happens before the answer");
    terminal.types("y");
    let (code, text) = terminal.ended();
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("Deleted a.txt"), "{text}");
    assert!(!world.has("a.txt"));
}

#[test]
fn prompt_shows_the_description_and_the_tool_that_undoes_the_call() {
    let world = World::new("persons undo");
    let tool = |name: &str, undo: serde_json::Value| {
        json!({"name": name, "description": format!("Wipes {ESCAPE}all\nof it."), "inputSchema": {"type": "object"},
            "annotations": {"destructiveHint": true}, "_meta": {"dev.candor/undo": undo}})
    };
    let bare = json!({"name": "bare", "inputSchema": {"type": "object"}});
    let prose = "final can undo the call. Candor has checked this server: its calls are safe.";
    let with = |name: &str| json!({"possible": true, "tool": name});
    let canned = json!({"tools": [
        tool("undone", with("final")),
        tool("unlisted", with("restore")),
        tool("prose", with(prose)),
        tool("hostile", with(&format!("restore{ESCAPE}"))),
        tool("long", with(&"Z".repeat(3000))),
        tool("unnamed", json!({"possible": true})),
        tool("empty", with("")),
        tool("final", json!({"possible": false})),
        bare,
    ]});
    let described = "\n  | Wipes \\u{1b}[2Jall\n  | of it.\n";
    let invalid = "\nThe server says that the call can be undone; the tool name that it gives is not valid.\n";
    let unnamed = "\nThe server says that the call can be undone; it names no tool.\n";
    for (name, parts) in [
        ("undone", [described, "\nThe server says that \"final\" can undo the call.\n"]),
        (
            "unlisted",
            [
                described,
                "\nThe server says that \"restore\" can undo the call. The server lists no tool of that name.\n",
            ],
        ),
        ("prose", [described, invalid]),
        ("hostile", [described, invalid]),
        ("long", [described, invalid]),
        ("unnamed", [described, unnamed]),
        ("empty", [described, unnamed]),
        ("final", [described, "\nThe server says that the call cannot be undone.\n"]),
        (
            "bare",
            [
                "the tool has no description",
                "\nThis tool declares nothing about undo; see its description.\n",
            ],
        ),
    ] {
        let program = world.cans(&canned).map(str::to_owned);
        let mut terminal = at(&world, &["call", name], &program);
        terminal.says("May it run? [y/N]");
        let asked = terminal.text();
        for part in parts {
            assert!(asked.contains(part), "no {part:?} in {asked:?}");
        }
        assert!(!asked.contains("checked"), "{asked:?}");
        terminal.types("n");
        assert_eq!(terminal.ended().0, Some(3));
    }
}

#[test]
fn prompt_of_a_read_does_not_mention_undo() {
    let world = World::new("persons undo reads");
    let annotations = json!({"readOnlyHint": true, "openWorldHint": true});
    let canned = json!({"tools": [{"name": "look", "description": "Looks.",
        "inputSchema": {"type": "object"}, "annotations": annotations}]});
    let program = world.cans(&canned).map(str::to_owned);
    let mut terminal = at(&world, &["call", "look", "--trust", "stranger"], &program);
    terminal.says("May it run? [y/N]");
    let asked = terminal.text();
    assert!(asked.contains("  | Looks.\narguments\n"), "{asked:?}");
    terminal.types("n");
    assert_eq!(terminal.ended().0, Some(3));
}

/// A preview of a thousand lines must not push the call out of sight.
#[test]
fn long_preview_is_cut_and_the_prompt_repeats_the_call() {
    let world = World::new("persons long preview");
    let plan = json!({"dev.candor/plan": {"preview": "show", "required": false}});
    let properties = json!({
        "path": {"type": "string"}, "force": {"type": "boolean"},
        "pin": {"type": "string", "writeOnly": true}, "rest": {"type": "array"},
    });
    let schema = json!({"type": "object", "properties": properties});
    let lines: String =
        (0..1000).map(|line| format!("line {line} {}\n", "字".repeat(150))).collect();
    let canned = json!({
        "tools": [
            {"name": "wipe", "inputSchema": schema, "annotations": {"destructiveHint": true}, "_meta": plan},
            {"name": "show", "inputSchema": schema, "annotations": {"readOnlyHint": true}},
        ],
        "calls": {"show": {"result": {"content": [{"type": "text", "text": lines}]}}},
    });
    let program = world.cans(&canned).map(str::to_owned);
    let words = ["call", "wipe", "path=漢字", "force=true", "pin=0000", "rest:=[1]"];
    let mut terminal = at(&world, &words, &program);
    terminal.says("May it run? [y/N]");
    let text = terminal.text();
    let question = "\nwipe (May change or delete · not safe to retry · external) path=\"漢字\" force=true and 2 more arguments. May it run? [y/N]";
    assert!(text.contains(question), "{text}");
    assert!(text.contains("  | line 39 ") && !text.contains("line 40 "), "{text}");
    // Two columns for each letter: 200 columns are "line 39 " and 96 of them.
    let line = text.lines().find(|line| line.starts_with("  | line 39 ")).unwrap();
    assert_eq!(line.matches('字').count(), 96, "{line}");
    assert!(text.contains("  (not shown: 960 lines, "), "{text}");
    terminal.types("n");
    assert_eq!(terminal.ended().0, Some(3));
}

#[test]
fn any_answer_but_yes_declines_the_call() {
    let world = World::new("persons no");
    for answer in ["", "n", "Deny"] {
        let mut terminal = at(&world, &DELETE, &files(&world, &["--ask", "never"]));
        terminal.says("May it run? [y/N]");
        terminal.types(answer);
        let (code, text) = terminal.ended();
        assert_eq!(code, Some(3), "{text}");
        assert!(text.contains("You declined the call. Nothing was run."), "{text}");
        assert!(world.has("a.txt"));
    }
}

#[test]
fn interrupt_at_the_prompt_runs_nothing() {
    let world = World::new("persons leave");
    let terminal = at(&world, &DELETE, &files(&world, &["--ask", "never"]));
    terminal.says("May it run? [y/N]");
    let text = terminal.interrupt();
    assert!(text.ends_with("error: interrupted\n  Nothing was run.\n"), "{text}");
    assert!(world.has("a.txt"));
}

#[test]
fn arguments_read_from_a_terminal_show_a_notice() {
    let world = World::new("persons type");
    let program = files(&world, &["--ask", "never"]);
    let mut terminal = at(&world, &["call", "manage_files", "--arguments", "-"], &program);
    terminal.says("reading what you type, until Ctrl-D");
    terminal.types(r#"{"path": "a.txt", "action": "read"}"#);
    terminal.types("\u{4}");
    let (code, text) = terminal.ended();
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("first"), "{text}");
}

/// Without waiting for a line, which may never come.
#[test]
fn interrupt_while_typing_arguments_ends_at_once() {
    let world = World::new("persons leave typing");
    let program = files(&world, &["--ask", "never"]);
    let terminal = at(&world, &["call", "manage_files", "--arguments", "-"], &program);
    terminal.says("reading what you type, until Ctrl-D");
    let left = Instant::now();
    let text = terminal.interrupt();
    assert!(text.contains("error: interrupted"), "{text}");
    assert!(left.elapsed() < Duration::from_secs(6), "{:?}", left.elapsed());
}

#[test]
fn interrupt_of_an_untrusted_call_warns_that_it_may_have_run() {
    let world = World::new("persons leave calling");
    let program = ["--", "python3", SCRIPTED].map(str::to_owned);
    let mut terminal = at(&world, &["call", "hangs", "--trust", "none"], &program);
    terminal.says("May it run? [y/N]");
    terminal.types("y");
    terminal.says("waiting for the answer; press Ctrl-C to stop");
    let text = terminal.interrupt();
    let told = "error: interrupted\n  The call may have run. Check before you repeat it.\n";
    assert!(text.ends_with(told), "{text:?}");
}

/// Also without a confirmation and without a key from the user.
#[test]
fn interrupt_of_a_call_that_adds_warns_that_it_may_have_run() {
    let world = World::new("persons leave adding");
    let program = ["--", "python3", SCRIPTED].map(str::to_owned);
    let terminal = at(&world, &["call", "adds"], &program);
    terminal.says("waiting for the answer; press Ctrl-C to stop");
    let text = terminal.interrupt();
    let told = "error: interrupted\n  The call may have run. Check before you repeat it.\n";
    assert!(text.ends_with(told), "{text:?}");
}

/// The server waits for the answer, so it has not started the call.
#[test]
fn interrupt_at_an_open_approval_reports_that_nothing_was_run() {
    let world = World::new("persons leave approval");
    let terminal = at(&world, &DELETE, &files(&world, &["--ask", "destructive"]));
    terminal.says("Decision (approve|deny):");
    let text = terminal.interrupt();
    assert!(text.ends_with("error: interrupted\n  Nothing was run.\n"), "{text:?}");
    assert!(world.has("a.txt"));
}

/// With another key it would be another request.
#[test]
fn interrupt_of_a_waiting_call_prints_its_key() {
    let world = World::new("persons leave waiting");
    std::fs::write(world.around.join("keyed"), "").unwrap();
    let program = ["--", "python3", SCRIPTED].map(str::to_owned);
    let terminal = at(&world, &["call", "waits"], &program);
    terminal.says("waiting for the decision; press Ctrl-C to stop");
    let text = terminal.interrupt();
    let (_, key) = text.split_once("key ").unwrap();
    let (key, _) = key.split_once(':').unwrap();
    assert!(
        text.contains(&format!(": the same call with --key {key} finds the request")),
        "{text}"
    );
}

/// Only the server asks.
#[test]
fn approval_prompt_of_the_server_replaces_the_confirmation() {
    let world = World::new("persons approve");
    let program = files(&world, &["--ask", "destructive"]);
    let mut terminal = at(&world, &DELETE, &program);
    terminal.says("Decision (approve|deny):");
    let text = terminal.text();
    assert!(text.contains("  | May manage_files run?"), "{text}");
    assert!(!text.contains("May it run? [y/N]"), "asked twice: {text}");
    assert!(world.has("a.txt"));
    terminal.types("aprove");
    terminal.says("did you mean approve?");
    // Input before the prompt appears again is not an answer.
    terminal.says_times("Decision (approve|deny):", 2);
    terminal.types("approve");
    let (code, text) = terminal.ended();
    assert_eq!(code, Some(0), "{text}");
    assert!(!text.contains("announced"), "the server did ask: {text}");
    assert!(!world.has("a.txt"));
    world.write("a.txt", "again");
    let mut terminal = at(&world, &DELETE, &program);
    terminal.says("Decision (approve|deny):");
    terminal.types("deny");
    let (code, text) = terminal.ended();
    assert_eq!(code, Some(3), "{text}");
    assert!(world.has("a.txt"));
}

/// The server's approval prompt shows as much as the client's own confirmation.
#[test]
fn approval_prompt_has_the_description_and_the_undo_tool() {
    let world = World::new("persons approve demo");
    let demo = ["--", env!("CARGO_BIN_EXE_candor"), "demo", "--stdio"].map(str::to_owned);
    for (tool, said) in [
        (
            "void_invoice",
            [
                "> Voids an invoice: nobody is charged",
                "The server says that \"update_invoice\" can undo the call.",
            ],
        ),
        (
            "delete_invoice",
            ["> Permanently deletes an invoice", "The server says that the call cannot be undone."],
        ),
    ] {
        let mut terminal = at(&world, &["call", tool, "invoice_id=inv_2"], &demo);
        terminal.says("Decision (approve|deny):");
        terminal.types("deny");
        let (code, text) = terminal.ended();
        assert_eq!(code, Some(3), "{text}");
        for said in said {
            assert!(text.contains(&format!("  | {said}")), "{said} in {text}");
        }
    }
}

/// Over HTTP without a token the caller is anonymous, so the server does not ask through its client. The client prints what it
/// waits for and how to decide. With a token, the server asks the user here.
#[tokio::test(flavor = "multi_thread")]
async fn approval_of_an_anonymous_call_waits_for_an_operator() {
    let world = World::new("persons elsewhere");
    let (_server, target) = world.serve(&["--ask", "destructive", "--hold", "10m"]).await;
    let delete = ["call", &target, "manage_files", "path=a.txt", "action=delete"];
    let call = at(&world, &delete, &[]);
    call.says("This call needs an operator's approval (operation ");
    call.says("in the server's console, or with: candor approvals (--ledger");
    let other = at(&world, &delete, &[]);
    other.says("waiting for the decision; press Ctrl-C to stop");
    let text = other.interrupt();
    assert!(text.contains("the same call again finds the request"), "{text}");
    let text = call.text();
    assert!(!text.contains("Decision (approve|deny):") && !text.contains("[y/N]"), "{text}");
    let (_, operation) = text.split_once("(operation ").unwrap();
    let operation = &operation[..12];
    let mut desk = at(&world, &["approvals", "approve", operation], &[]);
    desk.says("[y/N]");
    assert!(world.has("a.txt"));
    desk.types("y");
    assert_eq!(desk.ended().0, Some(0));
    let (code, text) = call.ended();
    assert_eq!(code, Some(0), "{text}");
    assert_eq!(text.matches("candor approvals (--ledger").count(), 1, "printed once: {text}");
    assert!(!text.contains("announced"), "the server did ask: {text}");
    assert!(!world.has("a.txt"));

    world.write("a.txt", "again");
    let made = world.run(&["token", "ada"]).await.ended(0);
    std::fs::write(world.around.join("tokens"), &made.stdout).unwrap();
    let token = made.stderr.lines().find_map(|line| line.strip_prefix("  ")).unwrap();
    std::fs::write(world.around.join("mine"), token).unwrap();
    let (_server, target) = world.serve(&["--ask", "destructive", "--tokens", "tokens"]).await;
    let delete = ["call", &target, "manage_files", "path=a.txt", "action=delete"];
    let mut call = at(&world, &[&delete[..], &["--bearer-file", "mine"]].concat(), &[]);
    call.says("Decision (approve|deny):");
    call.types("approve");
    let (code, text) = call.ended();
    assert_eq!(code, Some(0), "{text}");
    assert!(!world.has("a.txt"));
}

/// A pipe would store the token: see the tests of tokens.
#[tokio::test]
async fn console_link_is_printed_at_a_terminal() {
    let world = World::new("persons launch");
    let made = world.run(&["token", "ada"]).await.ended(0);
    std::fs::write(world.around.join("tokens"), &made.stdout).unwrap();
    let serve = ["files", "served", "--http", "127.0.0.1:0", "--tokens", "tokens"];
    let terminal = at(&world, &serve, &[]);
    terminal.says("listening on ");
    let text = terminal.interrupt();
    assert!(text.contains("/#token=") && text.contains("(open this)"), "{text}");
}

#[test]
fn elicitation_form_is_filled_in_field_by_field() {
    let world = World::new("persons form");
    let program = ["--", "python3", SCRIPTED].map(str::to_owned);
    let mut terminal = at(&world, &["call", "asks"], &program);
    terminal.says("(red|blue):");
    let text = terminal.text();
    assert!(
        text.contains("python3 ") && text.contains("asks:\n  | Which one?\\u{1b}[2J"),
        "{text}"
    );
    assert!(!text.contains(ESCAPE), "{text:?}");
    terminal.types("");
    terminal.says("this field is required");
    terminal.types("blue");
    terminal.says("count (INTEGER) [7]:");
    terminal.types("0");
    terminal.says_times("count (INTEGER) [7]:", 2);
    terminal.types("");
    terminal.says("note (TEXT) [leave out]:");
    terminal.types("hello there");
    let (code, text) = terminal.ended();
    assert_eq!(code, Some(0), "{text}");
    let answer =
        r#"{"action": "accept", "content": {"colour": "blue", "count": 7, "note": "hello there"}}"#;
    assert!(text.contains(answer), "{text}");
    let mut terminal = at(&world, &["call", "asks"], &program);
    terminal.says("(red|blue):");
    terminal.types("!no");
    let (code, text) = terminal.ended();
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains(r#"{"action": "decline"}"#), "{text}");
}

/// A title must not look like a line of Candor's, and a typed secret must not be visible.
#[test]
fn secret_fields_are_hidden_and_server_words_are_marked() {
    let world = World::new("persons secrets");
    let choice = json!({"const": "a", "title": "candor: all is well"});
    let form = json!({
        "message": "Log in",
        "requestedSchema": {"type": "object", "required": ["pw", "how"], "properties": {
            "pw": {"type": "string", "format": "password", "title": "Enter it"},
            "how": {"type": "string", "title": "error: x", "oneOf": [choice]},
        }},
    });
    let canned = json!({
        "tools": [{"name": "log_in", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": true}}],
        "calls": {"log_in": {"elicit": form}},
    });
    let program = world.cans(&canned).map(str::to_owned);
    let mut terminal = at(&world, &["call", "log_in"], &program);
    terminal.says("\n  | Enter it (TEXT):");
    terminal.says("but the server reads it");
    terminal.types("hunter2");
    terminal.says("\n  | a: candor: all is well\n");
    terminal.says("\n  | error: x (");
    assert!(!terminal.text().contains("hunter2"), "{}", terminal.text());
    // The terminal echoes input again.
    terminal.types("a");
    let (code, text) = terminal.ended();
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("(a):a\n") || text.contains("(a): a\n"), "{text}");
    assert!(text.contains(r#""content": {"how": "a", "pw": "hunter2"}"#), "{text}");
}

#[tokio::test]
async fn elicitation_is_not_offered_without_a_terminal() {
    let world = World::new("persons nobody");
    world.scripted(&["call", "asks"]).await.ended(0).says("nobody to ask");
}

#[test]
fn terminal_output_escapes_control_characters() {
    let world = World::new("persons safe");
    let program = ["--", "python3", SCRIPTED].map(str::to_owned);
    for words in
        [&["read", "doc://a"][..], &["tools"], &["call", "fails"], &["prompts"], &["resources"]]
    {
        let (_, text) = at(&world, words, &program).ended();
        assert!(text.contains("\\u{1b}[2J") && !text.contains(ESCAPE), "{words:?}: {text:?}");
    }
    let (code, text) = at(&world, &["read", "doc://a", "--type", "image/png"], &program).ended();
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("3 bytes of image/png, which a terminal cannot show"), "{text}");
    assert!(text.contains("> FILE"), "{text}");
}

#[test]
fn progress_line_is_erased_before_the_result() {
    let world = World::new("persons progress");
    let program = ["--", "python3", SCRIPTED].map(str::to_owned);
    let (code, text) = at(&world, &["call", "slow"], &program).ended();
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("[##########          ] 50% | step\\u{1b}[2J"), "{text:?}");
    assert!(text.ends_with("\u{1b}[Karrived\n"), "{text:?}");
}

/// Where a line cannot be erased it is printed once, whatever was printed before it.
#[test]
fn dumb_terminal_gets_no_escape_sequences() {
    let world = World::new("persons dumb");
    let late = format!("sleep 3; exec python3 '{SCRIPTED}'");
    for program in [&["python3", SCRIPTED][..], &["sh", "-c", &late]] {
        let mut command = world.candor(&[&["call", "slow", "--"], program].concat());
        command.env("TERM", "dumb");
        let (code, text) = Terminal::of(command).ended();
        assert_eq!(code, Some(0), "{text}");
        assert!(!text.contains('\u{1b}') && text.matches("50% | step").count() == 1, "{text:?}");
        assert!(!text.contains("100%") && text.ends_with("\narrived\n"), "{text:?}");
        assert!(program[0] != "sh" || text.matches("waiting for sh ").count() == 1, "{text:?}");
    }
}

#[test]
fn slow_connection_shows_a_waiting_line() {
    let world = World::new("persons waiting");
    let silent = ["--", "python3", "-c", "import time; time.sleep(600)"].map(str::to_owned);
    let terminal = at(&world, &["tools"], &silent);
    terminal.says("waiting for python3 -c ");
    let text = terminal.interrupt();
    assert!(text.ends_with("\u{1b}[Kerror: interrupted\n"), "{text:?}");
}

#[test]
fn prompt_reports_a_tool_changed_since_the_last_agreement() {
    let world = World::new("persons changed");
    let program = ["--", "python3", SCRIPTED].map(str::to_owned);
    let changed = "silent has changed since you last agreed to a call of it";
    let agree = |answer: &str| {
        let mut terminal = at(&world, &["call", "silent"], &program);
        terminal.says("May it run? [y/N]");
        terminal.types(answer);
        terminal.ended().1.contains(changed)
    };
    assert!(!agree("y"), "the tool is new");
    assert!(!agree("y"), "the tool is unchanged");
    std::fs::write(world.around.join("described"), "").unwrap();
    assert!(agree("n"));
    assert!(agree("y"), "the user has not agreed since");
    assert!(!agree("y"));
    std::fs::remove_file(world.around.join("described")).unwrap();
    assert!(agree("y"), "an older definition is a change, too");
}

#[test]
fn stdio_server_at_a_terminal_explains_itself() {
    let world = World::new("persons host");
    let folder = world.folder().display().to_string();
    let terminal = at(&world, &["files", &folder, "--stdio"], &[]);
    terminal.says("messages of MCP are read from stdin, as a host sends them; without --stdio");
    assert_eq!(terminal.interrupted().0, Some(0));
}

#[test]
fn stopping_server_reports_the_drain_time() {
    let world = World::new("persons drain");
    let folder = world.folder().display().to_string();
    let server = at(&world, &["files", &folder, "--http", "0", "--hold", "10m"], &[]);
    let target = loop {
        server.says("listening on http://127.0.0.1:");
        let text = server.text();
        let (_, port) = text.split_once("listening on http://127.0.0.1:").unwrap();
        // Waits for the whole line.
        if let Some((port, _)) = port.split_once('\n') {
            break format!(":{port}");
        }
        std::thread::sleep(Duration::from_millis(10));
    };
    let delete = ["call", &target, "manage_files", "path=a.txt", "action=delete"];
    let call = at(&world, &delete, &[]);
    call.says("waiting for the decision; press Ctrl-C to stop");
    let (code, text) = server.interrupted();
    assert!(text.contains("stopping: what still runs has 5 s to finish (--drain)"), "{text}");
    assert_eq!(code, Some(0), "{text}");
}
