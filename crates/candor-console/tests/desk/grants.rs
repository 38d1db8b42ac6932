//! Grants: they cover calls like the approved one, and no others, until they expire or are revoked.

use candor_console::Console;
use candor_server::testing::TestClient;
use candor_server::tool::{JsonTool, ToolError};
use serde_json::{Value, json};

use crate::desk::{Desk, called, note, text};

#[tokio::test]
async fn grant_allows_matching_calls_until_revoked() {
    let desk = Desk::new();
    let rules = || async { desk.site.ask("GET", "/approvals/grants").known().send().await.ok() };
    assert_eq!(rules().await, json!([]));
    let call = desk.call(json!({"path": "notes/a.txt", "why": "old"}));
    let waiting = desk.one().await;
    let permit = json!({"minutes": 15, "any": ["why"], "under": {"path": "notes"}});
    let body = json!({"version": waiting.question, "grant": permit});
    let said = desk.approve(&waiting.id, body).await.ok();
    assert_eq!(text(&call.await.unwrap()), "Deleted notes/a.txt");
    let rule = &said["grant"];
    assert_eq!((&rule["principal"], &rule["tool"]), (&json!("ada"), &json!("delete_note")));
    assert_eq!((&rule["by"], &rule["active"]), (&json!("operator"), &json!(true)));
    assert_eq!(rules().await, json!([rule]));
    let html = desk.page("/ui/approvals").await;
    assert_eq!(html.matches("data-testid=\"grant\"").count(), 1, "{html}");
    assert!(html.contains("path is &quot;notes&quot; or inside it"), "{html}");
    assert!(html.contains("data-testid=\"nothing-waits\""), "{html}");

    // Another path inside the folder, another reason or none: the grant covers the call.
    for arguments in [json!({"path": "notes/deep/b.txt", "why": "older"}), note("notes/c.txt")] {
        let result = desk.call(arguments).await.unwrap();
        assert!(text(&result).starts_with("Deleted notes/"), "{result}");
    }
    assert_eq!(desk.ran(), 3);
    // Other paths and other callers still need approval.
    let outside = [
        desk.call(note("letters/a.txt")),
        desk.call(note("notes/../letters/a.txt")),
        desk.call_as("bob", note("notes/a.txt"), None),
    ];
    desk.waiting(3).await;
    outside.iter().for_each(tokio::task::JoinHandle::abort);
    for item in desk.waiting(3).await {
        let body = json!({"version": item["version"]});
        desk.deny(item["id"].as_str().unwrap(), body).await.ok();
    }
    assert_eq!(desk.ran(), 3);

    let path = format!("/approvals/grants/{}", rule["id"].as_str().unwrap());
    let revoked = desk.site.ask("DELETE", &path).known().send().await.ok();
    assert_eq!((&revoked["revokedBy"], &revoked["active"]), (&json!("operator"), &json!(false)));
    assert_eq!(rules().await, json!([]));
    let call = desk.call(note("notes/d.txt"));
    desk.waiting(1).await;
    assert_eq!(desk.ran(), 3);
    call.abort();
}

#[tokio::test]
async fn revoking_an_unknown_grant_is_not_found() {
    let desk = Desk::new();
    for id in ["0", "ffff", "no-rule", "%25"] {
        let path = format!("/approvals/grants/{id}");
        desk.site.ask("DELETE", &path).known().send().await.problem(404, "not_found");
    }
    let wrong = desk.site.ask("GET", "/approvals/grants/ffff").known().send().await;
    wrong.problem(405, "method_not_allowed");
}

#[tokio::test]
async fn invalid_grant_is_refused() {
    let desk = Desk::new();
    let call = desk.call(json!({"path": "notes/a.txt", "why": "old"}));
    let waiting = desk.one().await;
    for permit in [
        json!(15),
        json!("15m"),
        json!([]),
        json!(true),
        json!({}),
        json!({"any": ["why"]}),
        json!({"minutes": null}),
        json!({"minutes": 0}),
        json!({"minutes": -5}),
        json!({"minutes": 1.5}),
        json!({"minutes": "15"}),
        json!({"minutes": 10_081}),
        json!({"minutes": 1e300}),
        json!({"minutes": 5, "any": "why"}),
        json!({"minutes": 5, "any": {"why": true}}),
        json!({"minutes": 5, "any": [7]}),
        json!({"minutes": 5, "any": ["nothing"]}),
        json!({"minutes": 5, "under": "notes"}),
        json!({"minutes": 5, "under": ["path"]}),
        json!({"minutes": 5, "under": {"path": 7}}),
        json!({"minutes": 5, "under": {"path": null}}),
        json!({"minutes": 5, "under": {"nothing": "notes"}}),
        json!({"minutes": 5, "under": {"path": "letters"}}),
        json!({"minutes": 5, "under": {"path": "notes/.."}}),
        json!({"minutes": 5, "under": {"path": "../notes"}}),
        json!({"minutes": 5, "any": ["path"], "under": {"path": "notes"}}),
        json!({"minutes": 5, "forever": true}),
    ] {
        let body = json!({"version": waiting.question, "grant": permit});
        let reply = desk.approve(&waiting.id, body).await;
        assert_eq!(reply.status, 400, "{permit}: {}", reply.body);
        let said = reply.problem(400, "bad_request");
        assert!(said["detail"].as_str().unwrap().contains("`grant` is"), "{said}");
    }
    assert_eq!(desk.one().await.question, waiting.question);
    assert_eq!(desk.ran(), 0);
    let none: Value = desk.site.ask("GET", "/approvals/grants").known().send().await.ok();
    assert_eq!(none, json!([]));
    // A valid grant.
    let body = json!({"version": waiting.question, "grant": {"minutes": 10_080}});
    desk.approve(&waiting.id, body).await.ok();
    assert_eq!(text(&call.await.unwrap()), "Deleted notes/a.txt");
}

#[tokio::test]
async fn grant_for_a_secret_must_allow_any_value() {
    let schema = json!({"type": "object", "properties": {
        "user": {"type": "string"},
        "password": {"type": "string", "format": "password"},
        "keys": {"type": "array", "items": {"type": "object", "properties": {"pin": {"writeOnly": true}}}},
    }});
    let reset = JsonTool::new("reset", &schema, |_, _| async { Ok::<_, ToolError>("reset") });
    let desk = Desk::with(|server| server.tool(reset), Console::allow_execute);
    let call = |password: &str, pin: u32| {
        let client = TestClient::of(&desk.engine).by("ada");
        let keys = json!([{"id": 1, "pin": pin}]);
        let arguments = json!({"user": "ada", "password": password, "keys": keys});
        tokio::spawn(called(client, "reset", arguments))
    };
    let asking = call("hunter2", 1234);
    let item = desk.waiting(1).await.remove(0);
    let mut secrets: Vec<_> = item["request"]["secrets"].as_array().unwrap().clone();
    secrets.sort_by_key(Value::to_string);
    assert_eq!(secrets, ["keys", "password"], "{item}");
    let waiting = desk.one().await;

    // The page does not offer the exact secret, and preselects nothing.
    let html = desk.page("/ui/approvals").await;
    let offered = |name: &str| {
        let (_, menu) = html.split_once(&format!("data-like=\"{name}\">")).unwrap();
        menu.split_once("</select>").unwrap().0.to_owned()
    };
    assert!(offered("user").contains("value=\"is\">exactly ada</option>"), "{html}");
    for secret in ["password", "keys"] {
        let menu = offered(secret);
        assert!(!menu.contains("value=\"is\"") && !menu.contains("value=\"under\""), "{menu}");
        assert!(menu.contains("<option value=\"\" disabled selected>a secret"), "{menu}");
        assert!(menu.contains("value=\"any\""), "{menu}");
    }

    // A grant with the exact secret is refused, and decides nothing.
    for permit in [
        json!({"minutes": 5}),
        json!({"minutes": 5, "any": ["keys", "user"]}),
        json!({"minutes": 5, "any": ["keys"], "under": {"password": "•••• (7 characters)"}}),
    ] {
        let body = json!({"version": waiting.question, "grant": permit});
        let said = desk.approve(&waiting.id, body).await.problem(400, "bad_request");
        let why = said["detail"].as_str().unwrap();
        assert!(why.contains("contains a secret") && why.contains("Allow `any` value"), "{why}");
    }
    assert_eq!(desk.one().await.question, waiting.question);
    let rules = || async { desk.site.ask("GET", "/approvals/grants").known().send().await.ok() };
    assert_eq!(rules().await, json!([]));

    let permit = json!({"minutes": 5, "any": ["password", "keys"]});
    let body = json!({"version": waiting.question, "grant": permit});
    let said = desk.approve(&waiting.id, body).await.ok();
    assert_eq!(said["grant"]["pattern"]["password"], json!({"any": true}), "{said}");
    assert_eq!(text(&asking.await.unwrap()), "reset");
    assert_eq!(text(&call("another", 99).await.unwrap()), "reset", "no approval is needed");
    let kept = rules().await.to_string();
    assert!(!kept.contains("hunter2") && !kept.contains("1234"), "{kept}");
}
