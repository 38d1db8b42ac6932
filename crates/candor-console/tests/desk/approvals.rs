//! A call that waits is listed, and decided by who names exactly what they saw.

use std::sync::atomic::Ordering;

use candor_console::Console;
use candor_server::Server;
use candor_server::hints::Hints;
use candor_server::store::{AuditContext, Binding, Event, Fingerprint, Key, RecordId, Scope};
use candor_server::testing::TestClient;
use candor_server::tool::{JsonTool, ToolError};
use serde_json::{Value, json};

use crate::desk::{Desk, Waiting, called, code, note, page, text};

#[tokio::test]
async fn pending_request_is_listed_with_its_version_and_arguments() {
    let desk = Desk::new();
    assert_eq!(desk.waiting(0).await, [Value::Null; 0]);
    let call = desk.call(note("notes/a.txt"));
    let item = desk.waiting(1).await.remove(0);
    assert_eq!((&item["tool"], &item["principal"]), (&json!("delete_note"), &json!("ada")));
    assert_eq!(item["server"], "test");
    assert_eq!(item["request"]["arguments"], note("notes/a.txt"));
    assert_eq!(item["request"]["preview"], "Delete notes/a.txt as of day 0.");
    assert_eq!(item["id"].as_str().unwrap().len(), 64);
    let question = format!(
        "{}.{}.{}",
        item["fence"],
        item["fingerprint"].as_str().unwrap(),
        item["binding"].as_str().unwrap()
    );
    assert_eq!(item["version"], question);
    for digits in [64, 12, 4] {
        let path = format!("/approvals/{}", &item["id"].as_str().unwrap()[..digits]);
        assert_eq!(desk.site.ask("GET", &path).known().send().await.ok(), item);
    }
    assert_eq!(desk.ran(), 0, "a read decides nothing");
    assert!(!call.is_finished());
    desk.call(note("notes/b.txt"));
    let both = desk.waiting(2).await;
    assert_eq!(both[0], item, "the oldest first");
    assert_eq!(both[1]["request"]["arguments"], note("notes/b.txt"));
    call.abort();
}

/// Large requests of one caller must not make the page too large for an operator.
#[tokio::test]
async fn oversized_request_is_shown_on_its_own_page() {
    let desk = Desk::new();
    let long = "&".repeat(700_000);
    let calls: Vec<_> =
        ["a", "b"].iter().map(|name| desk.call(note(&format!("{name}{long}")))).collect();
    desk.waiting(2).await;
    let small = desk.call(note("notes/a.txt"));
    let items = desk.waiting(3).await;
    let html = page(&desk.site, "/ui/approvals").await;
    assert_eq!(html.matches("data-testid=\"question\"").count(), 3);
    assert_eq!(html.matches("Look at all of it").count(), 1, "one of the large requests fits");
    assert!(html.contains("Delete notes/a.txt as of day 0."), "and all small ones");
    let large = items[1]["id"].as_str().unwrap();
    let html = page(&desk.site, &format!("/ui/approvals/{large}")).await;
    assert!(html.contains(&"&amp;".repeat(700_000)) && html.contains("Approve once"));
    calls.into_iter().chain([small]).for_each(|call| call.abort());
}

/// Small requests fit on the page, whatever comes before them: no caller can push the requests of others off it.
#[tokio::test]
async fn large_requests_of_one_caller_do_not_hide_small_ones_of_others() {
    let desk = Desk::impatient();
    for name in ["a", "b"] {
        desk.call(note(&format!("{name}{}", "&".repeat(700_000)))).await.unwrap();
    }
    // Together more than fits on a page besides the first.
    for n in 0..90 {
        let path = format!("{n}-{}", "x".repeat(2300));
        desk.call_as("bob", note(&path), None).await.unwrap();
    }
    let items = desk.waiting(92).await;
    let small = items.iter().filter(|item| item["principal"] == "bob");
    let asked: usize = small.map(|item| item["request"].to_string().len()).sum();
    assert!(asked > (1 << 20) - 700_000, "{asked}");
    let html = page(&desk.site, "/ui/approvals").await;
    assert_eq!(html.matches(" data-large").count(), 1, "the second of the large");
    assert_eq!(html.matches("Look at all of it").count(), 1);
    assert_eq!(html.matches("Approve once").count(), 91);
}

/// Two callers fill the list with requests, and a third one asks later.
#[tokio::test]
async fn request_list_takes_turns_between_callers() {
    let desk = Desk::impatient();
    for n in 0..100 {
        for who in ["ada", "bob"] {
            desk.call_as(who, note(&format!("{who}-{n}.txt")), None).await.unwrap();
        }
    }
    desk.call_as("eve", note("eve.txt"), None).await.unwrap();
    let reply = desk.site.ask("GET", "/approvals").known().send().await;
    let list = reply.ok();
    let items = list.as_array().unwrap();
    let paths: Vec<_> =
        items.iter().map(|item| item["request"]["arguments"]["path"].clone()).collect();
    assert_eq!(
        (paths.len(), &paths[0], &paths[1]),
        (200, &json!("ada-0.txt"), &json!("bob-0.txt"))
    );
    assert_eq!((&paths[198], &paths[199]), (&json!("ada-99.txt"), &json!("eve.txt")));
    assert_eq!(reply.header("x-total-count"), "201");
    let html = desk.page("/ui/approvals").await;
    assert_eq!(html.matches("data-testid=\"question\"").count(), 200);
    assert!(
        html.contains("Delete eve.txt as of day 0.") && !html.contains("bob-99.txt"),
        "callers take turns"
    );
    assert!(html.contains("These are 200 of 201 calls that wait"), "{html}");
    // A denied request makes space for the next one.
    let denied = Waiting::of(&items[199]);
    desk.deny(&denied.id, denied.named()).await.ok();
    let html = desk.page("/ui/approvals").await;
    assert!(html.contains("bob-99.txt") && !html.contains("data-testid=\"more\""), "{html}");
}

#[tokio::test]
async fn approved_call_runs_once() {
    let desk = Desk::new();
    let call = desk.call(note("notes/a.txt"));
    let waiting = desk.one().await;
    let said = desk.approve(&waiting.id[..8], waiting.named()).await.ok();
    assert_eq!(
        said,
        json!({"id": waiting.id, "decision": "approved", "by": "operator", "grant": null})
    );
    assert_eq!(text(&call.await.unwrap()), "Deleted notes/a.txt");
    assert_eq!(desk.ran(), 1);
    let again = desk.approve(&waiting.id, waiting.named()).await.problem(409, "conflict");
    assert!(again["detail"].as_str().unwrap().contains("State: Succeeded"), "{again}");
    let again = desk.deny(&waiting.id, waiting.named()).await;
    again.problem(409, "conflict");
    assert_eq!(desk.ran(), 1);
    // Another call with the same arguments is a new request.
    let call = desk.call(note("notes/a.txt"));
    let anew = desk.one().await;
    assert_ne!(anew.question, waiting.question);
    desk.approve(&waiting.id, waiting.named()).await.problem(409, "request_changed");
    desk.waiting(1).await;
    call.abort();
}

#[tokio::test]
async fn review_with_an_invalid_body_or_version_is_refused() {
    let desk = Desk::new();
    let call = desk.call(note("notes/a.txt"));
    let waiting = desk.one().await;
    let wrong = format!("{}0", waiting.question);
    for verb in ["approve", "deny"] {
        let path = format!("/approvals/{}/{verb}", waiting.id);
        for (body, status, word) in [
            (json!({}), 400, "bad_request"),
            (json!({"version": null}), 400, "bad_request"),
            (json!({"version": 7}), 400, "bad_request"),
            (json!([waiting.question]), 400, "bad_request"),
            (json!({"version": waiting.question, "yes": true}), 400, "bad_request"),
            (json!({"version": ""}), 409, "request_changed"),
            (json!({"version": wrong}), 409, "request_changed"),
        ] {
            desk.site.post(&path, body).await.problem(status, word);
        }
        let text = desk.site.ask("POST", &path).known();
        let text = text.text("text/plain", waiting.named().to_string()).send().await;
        text.problem(415, "unsupported_media_type");
        desk.site.ask("GET", &path).known().send().await.problem(405, "method_not_allowed");
    }
    // A field of the other decision is an error.
    let reason = json!({"version": waiting.question, "reason": "no"});
    desk.approve(&waiting.id, reason).await.problem(400, "bad_request");
    let rule = json!({"version": waiting.question, "grant": {"minutes": 5}});
    desk.deny(&waiting.id, rule).await.problem(400, "bad_request");
    let number = json!({"version": waiting.question, "reason": 7});
    desk.deny(&waiting.id, number).await.problem(400, "bad_request");
    assert_eq!(desk.one().await.question, waiting.question, "the request is still pending");
    assert_eq!(desk.ran(), 0);
    assert!(!call.is_finished());
    call.abort();
}

#[tokio::test]
async fn review_of_an_outdated_request_is_refused() {
    let desk = Desk::impatient();
    assert_eq!(code(&desk.call(note("a")).await.unwrap()), "approval_required");
    let shown = desk.one().await;
    // The state has changed, so the same call makes a new request.
    desk.world.store(1, Ordering::SeqCst);
    assert_eq!(code(&desk.call(note("a")).await.unwrap()), "approval_required");
    let anew = desk.one().await;
    assert_eq!(anew.id, shown.id);
    assert_ne!(anew.question, shown.question);
    desk.approve(&shown.id, shown.named()).await.problem(409, "request_changed");
    desk.deny(&shown.id, shown.named()).await.problem(409, "request_changed");
    assert_eq!(code(&desk.call(note("a")).await.unwrap()), "approval_required");
    assert_eq!(desk.ran(), 0);
    desk.approve(&anew.id, anew.named()).await.ok();
    assert_eq!(text(&desk.call(note("a")).await.unwrap()), "Deleted a");
    assert_eq!(desk.ran(), 1);
}

/// An approval covers only the state that the reviewer saw.
#[tokio::test]
async fn approval_is_void_after_the_state_changes() {
    let desk = Desk::impatient();
    desk.call(note("a")).await.unwrap();
    let waiting = desk.one().await;
    desk.approve(&waiting.id, waiting.named()).await.ok();
    desk.world.store(1, Ordering::SeqCst);
    assert_eq!(code(&desk.call(note("a")).await.unwrap()), "approval_required");
    assert_eq!(desk.ran(), 0);
    assert_ne!(desk.one().await.question, waiting.question);
}

#[tokio::test]
async fn denial_reaches_the_caller_with_its_reason() {
    let desk = Desk::new();
    for (path, reason, told) in [
        ("a", json!("it is <b>needed</b>"), "denied this call: it is <b>needed</b>."),
        ("b", Value::Null, "(operator) denied this call."),
        // The page sends the field as it is.
        ("c", json!("  "), "(operator) denied this call."),
    ] {
        let call = desk.call(note(path));
        let waiting = desk.one().await;
        let body = json!({"version": waiting.question, "reason": reason});
        let said = desk.deny(&waiting.id, body).await.ok();
        assert_eq!(said["decision"], "denied");
        let result = call.await.unwrap();
        assert_eq!((&result["isError"], code(&result)), (&json!(true), "denied"), "{result}");
        assert!(text(&result).contains(told), "{result}");
        desk.waiting(0).await;
        // The denial holds until it expires, without a new request.
        desk.deny(&waiting.id, waiting.named()).await.problem(409, "conflict");
        assert_eq!(code(&desk.call(note(path)).await.unwrap()), "denied");
    }
    assert_eq!(desk.ran(), 0);
}

#[tokio::test]
async fn unknown_approval_request_is_not_found() {
    let desk = Desk::new();
    for id in ["0123456789ab", "ff", "no-such-key", "%20", "..", "é"] {
        let path = format!("/approvals/{}", id.replace('é', "%C3%A9"));
        desk.site.ask("GET", &path).known().send().await.problem(404, "not_found");
        for verb in ["approve", "deny"] {
            let reply = desk.site.post(&format!("{path}/{verb}"), json!({"version": "x"})).await;
            reply.problem(404, "not_found");
        }
    }
}

#[tokio::test]
async fn key_shared_by_two_requests_is_refused_as_ambiguous() {
    let desk = Desk::new();
    let calls = ["ada", "bob"].map(|who| desk.call_as(who, note("a"), Some("order-17")));
    let both = desk.waiting(2).await;
    for verb in ["approve", "deny"] {
        let path = format!("/approvals/order-17/{verb}");
        let said = desk.site.post(&path, json!({"version": both[0]["version"]})).await;
        let said = said.problem(409, "conflict");
        for item in &both {
            let digits = &item["id"].as_str().unwrap()[..8];
            assert!(said["detail"].as_str().unwrap().contains(digits), "{said}");
        }
    }
    desk.site.ask("GET", "/approvals/order-17").known().send().await.problem(409, "conflict");
    desk.waiting(2).await;
    assert_eq!(desk.ran(), 0);
    // An id names one request.
    for item in &both {
        let body = json!({"version": item["version"]});
        desk.approve(item["id"].as_str().unwrap(), body).await.ok();
    }
    for call in calls {
        assert_eq!(text(&call.await.unwrap()), "Deleted a");
    }
    assert_eq!(desk.ran(), 2);
}

#[tokio::test]
async fn unreadable_request_can_only_be_denied() {
    let desk = Desk::new();
    let scope = Scope {
        principal: "ada".into(),
        server: "other".into(),
        instance: String::new(),
        tool: "delete_note".into(),
    };
    let id = RecordId { scope, key: Key::new("order-17").unwrap() };
    let event = Event::Ask {
        fingerprint: Fingerprint([7; 32]),
        binding: Binding([1; 32]),
        asked: b"no <b>JSON</b> \x1b"[..].into(),
        idempotent: false,
        keyless: false,
    };
    desk.store.apply(&id, event, AuditContext::default()).await.unwrap();
    let item = desk.waiting(1).await.remove(0);
    assert_eq!(item["request"], "no <b>JSON</b> \u{1b}");
    let waiting = desk.one().await;
    let refused = desk.approve(&waiting.id, waiting.named()).await;
    refused.problem(409, "request_unreadable");
    let html = desk.page("/ui/approvals").await;
    assert!(html.contains("cannot read") && html.contains("&lt;b&gt;JSON"), "{html}");
    assert!(html.contains(">U+001B</span>") && !html.contains("data-testid=\"permit\""), "{html}");
    assert!(html.contains("data-decide=\"deny\"") && !html.contains("data-decide=\"approve\""));
    desk.waiting(1).await;
    desk.deny("order-17", waiting.named()).await.ok();
    desk.waiting(0).await;
}

#[tokio::test]
async fn approval_request_states_whether_undo_is_possible() {
    let tool = |name: &str| JsonTool::open(name, |_, _| async { Ok::<_, ToolError>("done") });
    let both = |server: Server| server.tool(tool("trash").undo("restore")).tool(tool("restore"));
    let desk = Desk::with(both, Console::allow_execute);
    let client = TestClient::of(&desk.engine).by("ada");
    let call = tokio::spawn(called(client, "trash", json!({})));
    let item = desk.waiting(1).await.remove(0);
    assert_eq!(item["request"]["undo"], json!({"possible": true, "tool": "restore"}));
    let link = "<dd data-testid=\"undo\">The server says that <span class=\"name\"><a href=\"/ui/tools/restore\">restore</a></span> \
         can undo the call.</dd>";
    assert!(desk.page("/ui/approvals").await.contains(link));
    call.abort();
    // Without an undo tool, a call that deletes is final. For an unclassified tool, nothing is known.
    let burn = |server: Server| server.tool(tool("burn").hints(Hints::DELETES));
    let desk = Desk::with(burn, Console::allow_execute);
    for (name, arguments, undo, said) in [
        (
            "burn",
            json!({}),
            json!({"possible": false}),
            "The server says that the call cannot be undone.",
        ),
        (
            "delete_note",
            note("a"),
            json!(null),
            "This tool declares nothing about undo; see its description.",
        ),
    ] {
        let call = tokio::spawn(called(TestClient::of(&desk.engine).by("ada"), name, arguments));
        assert_eq!(desk.waiting(1).await[0]["request"]["undo"], undo);
        let page = desk.page("/ui/approvals").await;
        assert!(page.contains(&format!("<dd data-testid=\"undo\">{said}</dd>")), "{page}");
        assert_eq!(page.contains("data-testid=\"author\""), name == "delete_note", "{page}");
        let one = desk.one().await;
        desk.deny(&one.id, one.named()).await.ok();
        call.abort();
    }
}

#[tokio::test]
async fn preview_block_is_shown_only_if_the_headline_is_not_enough() {
    let long = "x".repeat(200);
    for (preview, block) in [
        ("Deletes <b>one</b> note.", false),
        ("Deletes <b>one</b> note. \n\n", false),
        ("Deletes <b>one</b> note.\nIt is old.", true),
        // Too long for a headline, or no first line for it: the block has all of it.
        (long.as_str(), true),
        ("\nDeletes <b>one</b> note.", true),
    ] {
        let said = preview.to_owned();
        let tool = JsonTool::open("trash", |_, _| async { Ok::<_, ToolError>("done") })
            .preview(move |_, _| std::future::ready(Ok::<_, ToolError>(said.clone())));
        let desk = Desk::with(|server| server.tool(tool), Console::allow_execute);
        let client = TestClient::of(&desk.engine).by("ada");
        let call = tokio::spawn(called(client, "trash", json!({})));
        desk.waiting(1).await;
        let html = desk.page("/ui/approvals").await;
        assert_eq!(html.contains("data-testid=\"preview\""), block, "{preview:?}: {html}");
        let words = preview.trim().lines().next().unwrap();
        let words = words.replace('<', "&lt;").replace('>', "&gt;");
        let in_headline = words.len() < 160 && !preview.starts_with('\n');
        let times = usize::from(in_headline) + usize::from(block);
        assert_eq!(html.matches(&words).count(), times, "{preview:?}: {html}");
        call.abort();
    }
}

/// The caller has disconnected, or must retry: the approval is not lost.
#[tokio::test]
async fn approved_call_that_has_not_started_is_in_the_history() {
    let desk = Desk::impatient();
    desk.call(note("a.txt")).await.unwrap();
    let waiting = desk.one().await;
    desk.approve(&waiting.id, waiting.named()).await.ok();
    let list = desk.page("/ui/history").await;
    assert!(list.contains("<tr data-state=\"waiting\""), "{list}");
    assert!(list.contains("Approved, not started"), "{list}");
    let one = desk.page(&format!("/ui/history/{}", waiting.id)).await;
    assert!(
        one.contains("Approved by operator. The call runs if its caller repeats it by "),
        "{one}"
    );
    assert_eq!(text(&desk.call(note("a.txt")).await.unwrap()), "Deleted a.txt");
    let list = desk.page("/ui/history").await;
    assert!(!list.contains("<td class=\"state\">Approved, not started"), "{list}");
}
