//! `candor call` without a person: what runs, what is refused, and the number that it ends with.

use std::fs;

use serde_json::json;

use crate::World;
use crate::process::Program;

#[tokio::test]
async fn call_prints_its_result_to_stdout() {
    let world = World::new("calling");
    let read = ["manage_files", "path=a.txt", "action=read"];
    let told = world.over_stdio(&[&["call"], &read[..]].concat()).await.ended(0);
    assert_eq!((told.stdout.as_str(), told.stderr.as_str()), ("first\n", ""));
    let (_server, target) = world.serve(&[]).await;
    let told = world.run(&[&["call", &target], &read[..]].concat()).await.ended(0);
    assert_eq!(told.stdout, "first\n");
    let told = world.run(&[&["call", &target, "--json"], &read[..]].concat()).await.ended(0);
    assert_eq!(told.result()["content"][0]["text"], "first");
    assert_eq!(told.stderr, "");
    let whole = r#"{"path": "a.txt", "action": "read"}"#;
    let words = ["call", &target, "manage_files", "--arguments", whole];
    assert_eq!(world.run(&words).await.ended(0).stdout, "first\n");
}

/// The server leaves out text that repeats structured content, because the command declares that it reads that.
#[tokio::test]
async fn large_text_is_shown_although_the_server_leaves_it_out() {
    let world = World::new("calling large");
    let large = "\"line\" ü\n".repeat(10_000);
    world.write("large.txt", &large);
    let read = ["manage_files", "path=large.txt", "action=read"];
    let told = world.over_stdio(&[&["call"], &read[..]].concat()).await.ended(0);
    assert!(told.stdout == large, "{} bytes", told.stdout.len());
    let told = world.over_stdio(&[&["call", "--json"], &read[..]].concat()).await.ended(0);
    assert!(told.result()["content"][0]["text"] == large, "as without the extension");
    assert_eq!(told.result()["_meta"]["dev.candor/structured-content"]["textOmitted"], true);
}

#[tokio::test]
async fn deletion_without_a_terminal_needs_the_yes_flag() {
    let world = World::new("calling refused");
    let delete = ["call", "manage_files", "path=a.txt", "action=delete"];
    let told = world.over_stdio(&delete).await.ended(3);
    told.complains("no terminal is available. Nothing was run.");
    told.complains("--yes");
    assert!(world.has("a.txt"));
    let told = world.over_stdio(&[&delete[..], &["--json"]].concat()).await.ended(3);
    assert_eq!(told.error()["code"], "refused");
    assert_eq!(told.stderr.lines().count(), 1, "{told:?}");
    world.over_stdio(&[&delete[..], &["--yes"]].concat()).await.ended(0).says("Deleted a.txt");
    assert!(!world.has("a.txt"));
}

#[tokio::test]
async fn preview_flag_calls_the_preview_instead() {
    let world = World::new("calling preview");
    let delete = ["call", "manage_files", "path=a.txt", "action=delete", "--preview"];
    world.over_stdio(&delete).await.ended(0).says("Delete a.txt (5 bytes, text).");
    assert!(world.has("a.txt"));
    let told = world.over_stdio(&["call", "list_files", "--preview"]).await.ended(2);
    told.complains("list_files has no preview");
}

#[tokio::test]
async fn retry_with_the_same_key_runs_once() {
    let world = World::new("calling keys");
    fn append<'a>(more: &[&'a str]) -> Vec<&'a str> {
        let call = ["call", "manage_files", "path=log.txt", "action=append", "content=x"];
        [&call[..], more].concat()
    }
    let told = world.over_stdio(&append(&[])).await.ended(0);
    let key = told.stderr.strip_prefix("key ").and_then(|rest| rest.split(':').next());
    let key = key.unwrap_or_else(|| panic!("no key: {told:?}")).to_owned();
    let again = world.over_stdio(&append(&["--key", &key])).await.ended(0);
    assert_eq!(again.stdout, told.stdout);
    again.complains("the stored result of this key. Nothing was run.");
    assert_eq!(world.read("log.txt"), "x");
    let again = world.over_stdio(&append(&["--key", &key, "--json"])).await.ended(0);
    let whole: serde_json::Value = serde_json::from_str(&again.stdout).unwrap();
    assert_eq!((&whole["replayed"], &whole["key"]), (&json!(true), &json!(key)));
    world.over_stdio(&append(&["--key", "another"])).await.ended(0);
    assert_eq!(world.read("log.txt"), "xx");
    world.over_stdio(&append(&["--key", " "])).await.ended(2);
}

/// A server without keys runs the call again, whatever the key: it is refused, or sent with a warning.
#[tokio::test]
async fn key_for_a_server_without_keys_is_refused_before_the_call() {
    let world = World::new("calling without keys");
    let adds = json!({"readOnlyHint": false, "destructiveHint": false});
    let own = json!({"type": "object", "properties": {"idempotency_key": {"type": "string"}}, "required": ["idempotency_key"]});
    let canned = json!({
        "tools": [
            {"name": "insert", "inputSchema": {"type": "object"}, "annotations": adds},
            {"name": "own", "inputSchema": own, "annotations": adds},
        ],
        "calls": {"insert": {"error": {"code": -32603, "message": "disk full"}}},
    });
    let told = world.canned(&canned, &["call", "insert", "--key", "k1"]).await.ended(3);
    told.complains("This server has no idempotency keys");
    told.complains("Nothing was run.");
    assert_eq!(world.asked("tools/call"), 0);
    let told = world.canned(&canned, &["call", "insert", "--key", "k1", "--json"]).await.ended(3);
    assert_eq!(told.error()["code"], "keys_unsupported");
    let told = world.canned(&canned, &["call", "insert", "--key", "k1", "--unsafe-key"]).await;
    let told = told.ended(1);
    told.complains("a repeat may run the call twice");
    told.complains("The call may have run. Check before you repeat it.");
    assert!(!told.stderr.contains("k1"), "nothing invites a repeat with the key: {told:?}");
    assert_eq!(world.asked("tools/call"), 1);
    let told = world.canned(&canned, &["call", "insert"]).await.ended(1);
    assert!(!told.stderr.contains("key"), "{told:?}");
    // An argument of that name is the tool's own: it is neither filled in nor left out.
    let told = world.canned(&canned, &["call", "own"]).await.ended(6);
    told.complains("idempotency_key: required, but missing");
    world.canned(&canned, &["call", "own", "idempotency_key=mine"]).await.ended(0);
    world.run(&["call", ":1", "t", "--unsafe-key"]).await.ended(2);
}

#[tokio::test]
async fn failed_read_does_not_warn_that_it_may_have_run() {
    let world = World::new("calling failed reads");
    let canned = json!({
        "tools": [{"name": "look", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": true}}],
        "calls": {"look": {"error": {"code": -32603, "message": "disk full"}}},
    });
    let told = world.canned(&canned, &["call", "look"]).await.ended(1);
    assert_eq!(told.stderr, "error: the server reports error -32603:\n  | disk full\n");
}

/// A command with an id from an untrusted server could approve another call.
#[tokio::test]
async fn suggested_command_omits_an_untrusted_operation_id() {
    let world = World::new("calling ids");
    let fails = ["call", "fails", "code=approval_required"];
    let told = world.scripted(&[&fails[..], &["--trust", "none", "--yes"]].concat()).await;
    let told = told.ended(3);
    told.complains("an operator decides, with candor approvals");
    assert!(!told.stderr.contains("0123456789ab"), "{told:?}");
    let mut command = world.candor(&[&fails[..], &["--", "python3", crate::SCRIPTED]].concat());
    command.env("OPERATION", "$(reboot)");
    let told = world.finish(command).await.ended(3);
    told.complains("an operator decides, with candor approvals");
    assert!(!told.stderr.contains("reboot"), "{told:?}");
}

#[tokio::test]
async fn mistyped_name_is_refused_with_a_suggestion() {
    let world = World::new("calling typos");
    let told = world.over_stdio(&["call", "mange_files", "path=a.txt"]).await.ended(2);
    told.complains("Unknown tool: mange_files. Did you mean manage_files?");
    let told = world.over_stdio(&["call", "mange_files", "--json"]).await.ended(2);
    assert_eq!(told.error()["like"], json!(["manage_files"]));
    let told = world.over_stdio(&["call", "manage_files", "pth=a.txt", "action=read"]).await;
    told.ended(6).complains("did you mean path?");
    world.over_stdio(&["call"]).await.ended(2).complains("which tool?");
    let told = world.over_stdio(&["call", "paint_the_fence"]).await.ended(2);
    told.complains("list its tools with `candor tools` and the same server");
}

#[tokio::test]
async fn tool_failure_sets_the_exit_code() {
    let world = World::new("calling failures");
    let told = world.over_stdio(&["call", "manage_files", "path=no", "action=read"]).await.ended(5);
    assert_eq!(told.stdout, "");
    told.complains("error: the tool reports a failure:\n  | `no` does not exist");
    world.scripted(&["call", "fails"]).await.ended(5).complains("it failed\\u{1b}[2J");
    for (code, number) in [
        ("approval_required", 3),
        ("denied", 3),
        ("approval_unavailable", 3),
        ("invalid_arguments", 6),
        ("outcome_unknown", 7),
        ("anything_else", 5),
    ] {
        let told = world.scripted(&["call", "fails", &format!("code={code}"), "--json"]).await;
        let error = told.ended(number).error();
        assert_eq!(error["code"], code);
        assert_eq!(error["result"]["isError"], true);
    }
    let told = world.scripted(&["call", "fails", "code=approval_required"]).await.ended(3);
    told.complains("an operator decides, with candor approvals");
    assert!(!told.stderr.contains("approve 0123456789ab"), "an id from the server: {told:?}");
    fs::write(world.around.join("keyed"), "").unwrap();
    let told = world.scripted(&["call", "fails", "code=outcome_unknown", "--key", "k 1"]).await;
    told.ended(7).complains("candor history resolve 'k 1' --succeeded");
    let told = world.scripted(&["call", "wrong"]).await.ended(5);
    told.complains("The call ran. Its result does not match the tool's output schema");
}

#[tokio::test]
async fn lost_and_unreachable_servers_are_distinguished() {
    let world = World::new("calling lost");
    let told = world.scripted(&["call", "dies"]).await.ended(4);
    told.complains("exit status: 3");
    told.complains("the last word\\u{1b}[2J");
    assert!(!told.stderr.contains("may have"), "it only reads: {told:?}");
    let told = world.scripted(&["call", "dies", "--trust", "none", "--yes"]).await.ended(4);
    told.complains("The call may have run. Check before you repeat it.");
    let told = world.run(&["call", "x", "--json", "--", "no-such-program"]).await.ended(4);
    assert_eq!(told.error()["code"], "unreachable");
    let told = world.run(&["call", "http://127.0.0.1:1/mcp", "x"]).await.ended(4);
    told.complains("cannot reach http://127.0.0.1:1/mcp");
    told.complains("`candor doctor` with the same server");
    let told = world.run(&["call", "x", "--", "echo", "hello there"]).await.ended(4);
    told.complains(r#"it printed a line that is not a message: "hello there""#);
    let (_server, target) = world.serve(&[]).await;
    let told = world.run(&["tools", &format!("https://127.0.0.1{target}")]).await.ended(4);
    told.complains("the server answers without TLS");
}

#[tokio::test]
async fn invalid_words_are_refused_before_a_connection() {
    let world = World::new("calling words");
    let nobody = "http://127.0.0.1:1/mcp";
    for (words, problem) in [
        (&["call", nobody][..], "which tool?"),
        (&["explain", nobody], "which tool?"),
        (&["read", nobody], "which resource?"),
        (&["tools", nobody, "x"], "x is one word too many"),
        (&["resources", nobody, "a", "b"], "b is one word too many"),
        (&["doctor", nobody, "x"], "x is one word too many"),
        (
            &["call", "manage_files", ":1", "path=a"],
            "the server comes first: :1 before manage_files",
        ),
        (&["read", "doc://a", ":1"], "the server comes first: :1 before doc://a"),
        (&["resources", "doc://a"], "doc://a is a resource; which server?"),
    ] {
        world.run(words).await.ended(2).complains(problem);
    }
}

#[tokio::test]
async fn missing_token_error_names_the_bearer_flag() {
    let world = World::new("calling tokens");
    let told = world.run(&["token", "ann"]).await.ended(0);
    let token = told.stderr.lines().nth(1).unwrap().trim().to_owned();
    fs::write(world.around.join("tokens"), &told.stdout).unwrap();
    fs::write(world.around.join("mine"), &token).unwrap();
    let (_server, target) = world.serve(&["--tokens", "tokens"]).await;
    let told = world.run(&["tools", &target, "--json"]).await.ended(4);
    assert_eq!(told.error()["code"], "unauthorized");
    world.run(&["tools", &target]).await.ended(4).complains("--bearer-file FILE");
    world.run(&["tools", &target, "--bearer-file", "mine"]).await.ended(0);
    fs::write(world.around.join("mine"), "an0ther").unwrap();
    let told = world.run(&["tools", &target, "--bearer-file", "mine"]).await.ended(4);
    told.complains("the server does not accept the token that was sent");
}

/// Without a terminal the request waits in the ledger, and the confirmation is left out.
#[tokio::test]
async fn approval_of_a_trusted_server_replaces_the_confirmation() {
    let world = World::new("calling approval");
    let (_server, target) = world.serve(&["--hold", "100ms"]).await;
    let delete = ["call", &target, "manage_files", "path=a.txt", "action=delete", "--key", "d1"];
    let told = world.run(&delete).await.ended(3);
    told.complains("needs an operator's approval");
    told.complains("Approval required");
    told.complains("an operator decides, with candor approvals");
    told.complains("--key d1");
    assert!(world.has("a.txt"));
    let waiting = world.run(&["approvals", "--json"]).await.ended(0);
    assert_eq!(waiting.stdout.lines().count(), 1, "{waiting:?}");
    // `--yes` does not answer the server's approval request.
    world.run(&[&delete[..], &["--yes"]].concat()).await.ended(3);
    // An untrusted server's promise to ask does not count.
    let told = world.run(&[&delete[..], &["--trust", "none"]].concat()).await.ended(3);
    told.complains("this server is untrusted");
}

/// A reader of a log file needs to know why nothing happens, too. A program gets it as JSON.
#[tokio::test]
async fn waiting_call_is_reported_without_a_terminal() {
    let world = World::new("calling waits");
    let (_server, target) = world.serve(&["--hold", "10m"]).await;
    let delete = ["call", &target, "manage_files", "path=a.txt", "action=delete", "--key", "d1"];
    let mut call = Program::start(&mut world.candor(&delete).into());
    let said = call.complaint().await;
    assert!(said.contains("This call needs an operator's approval"), "{said}");
    let said = call.complaint().await;
    assert!(said.contains("or with: candor approvals (--ledger"), "{said}");
    drop(call);

    let (_server, target) = world.serve(&["--hold", "100ms"]).await;
    let delete = ["call", &target, "manage_files", "path=a.txt", "action=delete", "--json"];
    let told = world.run(&delete).await.ended(3);
    let [notice, error] = told.stderr.lines().collect::<Vec<_>>()[..] else { panic!("{told:?}") };
    let [notice, error]: [serde_json::Value; 2] =
        [notice, error].map(|line| serde_json::from_str(line).unwrap());
    assert_eq!(notice["notice"]["waitsFor"], "approval");
    assert_eq!(error["error"]["code"], "approval_required");
}

/// However the wait ends, in text and in JSON: a call that was held for approval has not run.
#[tokio::test]
async fn call_that_ends_while_held_reports_that_nothing_was_run() {
    let world = World::new("calling held");
    let (_server, target) = world.serve(&["--hold", "10m"]).await;
    let delete = ["call", &target, "manage_files", "path=a.txt", "action=delete"];
    for more in [&[][..], &["--json"], &["--json", "--key", "h1"]] {
        let timed = world.run(&[&delete[..], &["--timeout", "1s"], more].concat()).await.ended(4);
        timed.complains("Nothing was run, unless an operator has approved it by now");
        let mut call = Program::start(&mut world.candor(&[&delete[..], more].concat()).into());
        let said = call.complaint().await;
        assert!(said.contains("needs an operator's approval"), "{said}");
        let sent =
            std::process::Command::new("kill").args(["-INT", &call.id().to_string()]).status();
        assert!(sent.unwrap().success());
        let mut rest = String::new();
        while !rest.contains("Nothing was run, unless an operator has approved it by now") {
            rest += &call.complaint().await;
        }
    }
    assert!(world.has("a.txt"));
}

#[tokio::test]
async fn key_and_plan_token_are_filled_in() {
    let world = World::new("calling planned");
    fs::write(world.around.join("keyed"), "").unwrap();
    let told = world.scripted(&["call", "planned", "what=it"]).await.ended(0);
    assert_eq!(told.stdout, "[\"it\", true, \"t1\"]\n");
    told.complains("key ");
    let told = world.scripted(&["explain", "planned", "what=it", "--preview"]).await.ended(0);
    told.says("  | would do it\n");
    assert!(!told.stdout.contains("t1"), "the token is not printed: {told:?}");
    let told = world.scripted(&["call", "planned", "what=it", "--preview"]).await.ended(0);
    told.says("would do it\ngo on with plan_token=t1\n");
    world.scripted(&["call", "planned"]).await.ended(6).complains("what: required, but missing");
}

/// A complete call contains a token and a key. Its preview needs neither.
#[tokio::test]
async fn preview_ignores_the_key_and_plan_token_of_the_call() {
    let world = World::new("calling planned again");
    let whole = ["planned", "what=it", "idempotency_key=k1", "plan_token=t0", "--preview"];
    let told = world.scripted(&[&["explain"], &whole[..]].concat()).await.ended(0);
    told.says("preview\n  | would do it\n");
    let told = world.scripted(&[&["call"], &whole[..]].concat()).await.ended(0);
    told.says("would do it\n");
}

#[tokio::test]
async fn failed_required_preview_stops_the_call() {
    let world = World::new("calling unplanned");
    fs::write(world.around.join("keyed"), "").unwrap();
    let told = world.scripted(&["call", "planned", "what=nothing"]).await.ended(5);
    told.complains("error: the preview failed:\n  | there is nothing to show of");
    assert!(!told.stderr.contains("may have"), "{told:?}");
    let told = world.scripted(&["call", "planned", "what=nothing", "--json"]).await.ended(5);
    assert_eq!(told.error()["code"], "preview_failed");
    assert_eq!(told.error()["result"]["isError"], true);
}

/// The started program ends before the command does.
#[cfg(unix)]
#[tokio::test]
async fn timed_out_call_ends_its_program() {
    let world = World::new("calling ends");
    let told = world.scripted(&["call", "hangs", "--timeout", "1s"]).await.ended(4);
    told.complains("no answer within");
    assert!(!runs(&world.hanging().await));
}

#[cfg(unix)]
#[tokio::test]
async fn interrupted_call_ends_its_program() {
    let world = World::new("calling interrupted");
    let words = ["call", "hangs", "--", "python3", crate::SCRIPTED];
    let program = Program::start(&mut world.candor(&words).into());
    let pid = world.hanging().await;
    assert!(runs(&pid));
    crate::interrupt(program.id());
    assert_eq!(program.ended().await.status.code(), Some(130));
    assert!(!runs(&pid));
}

#[cfg(unix)]
fn runs(pid: &str) -> bool {
    let asked = std::process::Command::new("kill").args(["-0", pid]).output().unwrap();
    asked.status.success()
}

#[tokio::test]
async fn two_different_keys_are_refused_before_the_call_is_sent() {
    let world = World::new("calling two keys");
    let schema = json!({"type": "object", "properties": {"idempotency_key": {"type": "string"}}});
    let keys = json!({"extensions": {"dev.candor/idempotency": {}}});
    let canned = json!({"capabilities": keys, "tools": [
        {"name": "charge", "inputSchema": schema, "annotations": {"readOnlyHint": true}},
    ]});
    let call = ["call", "charge", "--key", "b"];
    let told = world.canned(&canned, &[&call[..], &["idempotency_key=a"]].concat()).await.ended(2);
    told.complains("two different idempotency keys");
    assert!(!world.has("../asked.jsonl"), "the server was not even started");
    let whole = ["--arguments", r#"{"idempotency_key": "a"}"#];
    let told = world.canned(&canned, &[&call[..], &whole].concat()).await.ended(2);
    told.complains("two different idempotency keys");
    let asked = fs::read_to_string(world.around.join("asked.jsonl")).unwrap();
    assert!(!asked.contains("tools/call"), "{asked}");
    world.canned(&canned, &[&call[..], &["idempotency_key=b"]].concat()).await.ended(0);
}
