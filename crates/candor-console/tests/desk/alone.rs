//! A console of a ledger alone, and one of a server that has none.

use std::sync::Arc;

use candor_console::Console;
use candor_server::testing::TestClient;
use candor_server::tool::{JsonTool, ToolError};
use candor_server::{AskLevel, Server};
use serde_json::json;

use crate::desk::{called, memory, page, text, waiting};
use crate::site::{Site, weather};

#[tokio::test]
async fn ledger_console_lists_pending_requests_of_every_server() {
    let store = memory();
    let server = |name: &str| {
        let done = format!("Deleted by {name}");
        let tool = JsonTool::open("delete", move |_, _| {
            let done = done.clone();
            async move { Ok::<_, ToolError>(done) }
        });
        Server::new(name, "1")
            .ledger(Arc::clone(&store))
            .ask(AskLevel::Destructive)
            .tool(tool)
            .build()
    };
    let (first, second) = (server("first").unwrap(), server("second").unwrap());
    let site = Site::around(Console::of_ledger(Arc::clone(&store)));
    let empty = page(&site, "/").await;
    assert!(empty.contains("data-testid=\"nothing-waits\""), "{empty}");
    assert!(!empty.contains("--ask destructive"), "other servers may ask");
    let call = |engine: &candor_server::RunningServer| {
        tokio::spawn(called(TestClient::of(engine).by("ada"), "delete", json!({})))
    };
    let calls = [call(&first), call(&second)];
    let both = waiting(&site, 2).await;
    let mut servers: Vec<_> = both.iter().map(|item| item["server"].as_str().unwrap()).collect();
    servers.sort_unstable();
    assert_eq!(servers, ["first", "second"]);

    let home = page(&site, "/").await;
    assert_eq!(home.matches("data-testid=\"question\"").count(), 2, "{home}");
    assert!(home.contains("aria-current=\"page\">Approvals"), "{home}");
    for absent in [">Tools<", "/ui/resources", "/ui/server", "/ui/tools/", "Try a tool"] {
        assert!(!home.contains(absent), "{absent} in {home}");
    }
    for item in &both {
        let path = format!("/approvals/{}/approve", item["id"].as_str().unwrap());
        site.post(&path, json!({"version": item["version"]})).await.ok();
    }
    for (call, name) in calls.into_iter().zip(["first", "second"]) {
        assert_eq!(text(&call.await.unwrap()), format!("Deleted by {name}"));
    }
    let listed = site.ask("GET", "/history").known().send().await.ok();
    assert_eq!(listed["items"].as_array().unwrap().len(), 2);
    let html = page(&site, "/ui/history").await;
    assert!(html.contains("first") && html.contains("second"), "{html}");
    let one = page(&site, &format!("/ui/history/{}", both[0]["id"].as_str().unwrap())).await;
    assert!(!one.contains("Open the tool"), "no tool can be called from here: {one}");
}

#[tokio::test]
async fn ledger_console_has_no_tools() {
    let site = Site::around(Console::of_ledger(memory()));
    for path in ["/tools", "/tools/x", "/resources", "/resources/content?uri=a:b"] {
        site.ask("GET", path).known().send().await.problem(404, "not_found");
    }
    for verb in ["call", "preview", "validate", "annotations"] {
        let reply = site.post(&format!("/tools/x/{verb}"), json!({})).await;
        assert!([403, 404].contains(&reply.status.as_u16()), "{verb}: {}", reply.body);
    }
    for path in ["/ui/tools/x", "/ui/resources", "/ui/server"] {
        let html = site.ask("GET", path).header("accept", "text/html").known().send().await;
        assert_eq!(html.status, 404, "{path}");
    }
    let history = page(&site, "/ui/history").await;
    assert!(history.contains("Nothing has happened yet"), "{history}");
    assert!(!history.contains("Try a tool"), "a ledger has no tools: {history}");
    // The home page asks anonymous users for the token.
    let stranger = site.ask("GET", "/").header("accept", "text/html").send().await;
    assert_eq!(stranger.status, 401);
    assert!(stranger.body.contains("data-testid=\"login\""), "{}", stranger.body);
}

/// Two servers share a ledger, and one of them has a console. It links only to its own tools.
#[tokio::test]
async fn request_of_another_server_has_no_link_to_our_tool() {
    let store = memory();
    let asking = |name: &str| {
        let tool = JsonTool::open("delete", |_, _| async { Ok::<_, ToolError>("") });
        let server = Server::new(name, "1").ledger(Arc::clone(&store)).ask(AskLevel::Destructive);
        server.tool(tool).build().unwrap()
    };
    let (ours, other) = (asking("ours"), asking("other"));
    let site = Site::around(Console::of(ours.clone()));
    let calls = [&ours, &other]
        .map(|engine| tokio::spawn(called(TestClient::of(engine).by("ada"), "delete", json!({}))));
    waiting(&site, 2).await;
    let html = page(&site, "/ui/approvals").await;
    assert_eq!(html.matches("data-testid=\"question\"").count(), 2);
    assert_eq!(html.matches("href=\"/ui/tools/delete\"").count(), 1, "{html}");
    calls.iter().for_each(tokio::task::JoinHandle::abort);
}

#[tokio::test]
async fn approvals_and_history_are_disabled_without_a_ledger() {
    let site = Site::of(Server::new("test", "1").tool(weather()));
    for path in [
        "/approvals",
        "/approvals/events",
        "/approvals/grants",
        "/approvals/0123456789ab",
        "/history",
        "/history/export",
        "/history/0123456789ab",
    ] {
        let said = site.ask("GET", path).known().send().await.problem(404, "ledger_disabled");
        assert!(said["detail"].as_str().unwrap().contains("--ledger"), "{said}");
    }
    for path in ["/approvals/0123456789ab/approve", "/approvals/x/deny", "/history/x/resolve"] {
        let body = json!({"version": "x", "state": "succeeded"});
        site.post(path, body).await.problem(404, "ledger_disabled");
    }
    let grant = site.ask("DELETE", "/approvals/grants/x").known().send().await;
    grant.problem(404, "ledger_disabled");
    for path in ["/ui/approvals", "/ui/history", "/ui/approvals/abcd", "/ui/history/abcd"] {
        let html = site.ask("GET", path).header("accept", "text/html").known().send().await;
        assert_eq!(html.status, 404, "{path}");
        assert!(html.body.contains("has no ledger"), "{}", html.body);
    }
    let home = page(&site, "/").await;
    assert!(home.contains(">Tools<"), "{home}");
    for absent in [">Approvals<", ">History<", "/ui/approvals", "/ui/history"] {
        assert!(!home.contains(absent), "{absent} in {home}");
    }
}
