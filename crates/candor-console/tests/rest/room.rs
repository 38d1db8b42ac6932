//! What may be under way at a time, through the API and the MCP endpoint together; and who is never kept out by it.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use candor_console::Console;
use candor_server::auth::BearerTokens;
use candor_server::protocol::Principal;
use candor_server::protocol::types::{Resource, ResourceContents};
use candor_server::resource::ResourceSet;
use candor_server::tool::{JsonTool, Tool, ToolError};
use candor_server::transport::http::{Http, endpoint};
use candor_server::{AskLevel as Policy, Ctx, Limits, Server};
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use crate::site::{Ask, Events, Reply, Site, server};

/// What a tool does that waits to be let go.
#[derive(Clone)]
struct Work {
    began: Arc<Semaphore>,
    go: Arc<Semaphore>,
}

impl Work {
    fn new() -> Self {
        Self { began: Arc::new(Semaphore::new(0)), go: Arc::new(Semaphore::new(0)) }
    }

    fn tool(&self) -> JsonTool {
        let work = self.clone();
        JsonTool::open("wait", move |_, _: Ctx| {
            let work = work.clone();
            async move {
                work.began.add_permits(1);
                work.go.acquire().await.unwrap().forget();
                Ok::<_, ToolError>("done")
            }
        })
        .preview(|_, _| async { Ok::<_, ToolError>("") })
    }

    /// Waits until a call that is under way has begun once more.
    async fn begun_by<T>(&self, call: &mut (impl Future<Output = T> + Unpin)) {
        tokio::select! {
            _ = call => panic!("it has ended"),
            begun = soon(self.began.acquire()) => begun.unwrap().forget(),
        }
    }
}

/// Waits for what must come: what does not, hangs, and fails the test.
async fn soon<T>(awaited: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(20), awaited).await.expect("it comes")
}

fn memos() -> ResourceSet {
    ResourceSet::new()
        .resource(Resource::new("memo:///today", "today"), |uri, _| async move {
            Ok(vec![ResourceContents::of_text(uri, "text/plain", "Buy milk")])
        })
        .watched("memo:///today")
}

/// The endpoint and the console of a server, side by side.
pub(crate) fn site(server: Server, http: Http) -> Site {
    let engine = server.build().unwrap();
    let console = Console::of(engine.clone()).allow_execute().reached(&http);
    let token = console.launch_token().to_owned();
    let router = Router::new().route("/mcp", endpoint(engine, http)).merge(console.router());
    Site::serving(router, token)
}

/// Open to `alice` and `bob`, and to `olga` who is an operator.
pub(crate) fn known() -> Http {
    let mut tokens = BearerTokens::default().operator(Principal::new("olga"));
    for name in ["alice", "bob", "olga"] {
        tokens = tokens.token(&format!("{name}-token"), Principal::new(name));
    }
    let mut http = Http::default();
    http.authenticator = Some(Arc::new(tokens));
    http
}

/// A site for those.
fn guarded(work: &Work, limits: impl FnOnce(&mut Limits)) -> Site {
    site(server().tool(work.tool()).resources(memos()).limits(limits), known())
}

pub(crate) fn ask<'a>(site: &'a Site, who: &str, method: &str, path: &str) -> Ask<'a> {
    site.ask(method, path).header("authorization", &format!("Bearer {who}-token"))
}

fn call<'a>(site: &'a Site, who: &str) -> Ask<'a> {
    ask(site, who, "POST", "/tools/wait/call").json(&json!({}))
}

/// A request to the MCP endpoint.
pub(crate) fn mcp<'a>(site: &'a Site, who: &str, method: &str, mut params: Value) -> Ask<'a> {
    const VERSION: &str = "2026-07-28";
    params["_meta"]["io.modelcontextprotocol/protocolVersion"] = VERSION.into();
    params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json!({});
    let mut asked = ask(site, who, "POST", "/mcp")
        .header("accept", "application/json, text/event-stream")
        .header("mcp-protocol-version", VERSION)
        .header("mcp-method", method);
    if let Some(name) = params["name"].as_str() {
        asked = asked.header("mcp-name", name);
    }
    asked.json(&json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}))
}

/// The same refusal as the MCP endpoint's, in the words of the API.
#[track_caller]
fn must_be_busy(reply: &Reply, status: u16) {
    let said = reply.problem(status, "busy");
    assert_eq!((&said["is_retriable"], &said["retry_after_ms"]), (&json!(true), &json!(1000)));
    assert_eq!(reply.header("retry-after"), "1");
    assert_eq!(
        said["detail"].as_str().unwrap().contains("your limit of concurrent"),
        status == 429,
        "{said}"
    );
}

#[track_caller]
fn must_be_busy_at_mcp(reply: &Reply, status: u16) {
    assert_eq!((reply.status.as_u16(), reply.header("retry-after")), (status, "1"));
    assert_eq!(reply.json()["error"]["code"], 4290, "{}", reply.body);
}

/// What must be answered at once, for it is refused.
async fn sent(asked: Ask<'_>) -> Reply {
    soon(asked.send()).await
}

/// Everything that asks the server something, or may take long.
async fn everything(site: &Site, who: &str) -> Vec<Reply> {
    let mut replies = Vec::new();
    for verb in ["call", "preview", "annotations", "validate"] {
        let asked = ask(site, who, "POST", &format!("/tools/wait/{verb}"));
        replies.push(sent(asked.json(&json!({}))).await);
    }
    let memo = "uri=memo:///today";
    for path in [
        "/tools",
        "/tools/wait",
        "/openapi.json",
        "/resources",
        &format!("/resources/metadata?{memo}"),
        &format!("/resources/content?{memo}"),
    ] {
        replies.push(sent(ask(site, who, "GET", path)).await);
    }
    replies
}

#[tokio::test]
async fn caller_gets_at_most_half_of_the_capacity_of_mcp_and_rest() {
    let work = Work::new();
    let site = guarded(&work, |limits| limits.http_requests = 3);
    // Two of three slots: one through MCP, one through REST.
    let params = json!({"name": "wait", "arguments": {}});
    let mut there = Box::pin(mcp(&site, "alice", "tools/call", params).send());
    work.begun_by(&mut there).await;
    let streamed = call(&site, "alice").header("accept", "text/event-stream").open().await;
    let mut here = Events::of(streamed);
    work.begun_by(&mut Box::pin(here.next())).await;
    for reply in everything(&site, "alice").await {
        must_be_busy(&reply, 429);
    }
    must_be_busy_at_mcp(&sent(mcp(&site, "alice", "tools/list", json!({}))).await, 429);
    // All other callers share the third slot.
    ask(&site, "bob", "GET", "/tools").send().await.ok();
    let mut bobs = Box::pin(call(&site, "bob").send());
    work.begun_by(&mut bobs).await;
    for who in ["bob", "olga"] {
        for reply in everything(&site, who).await {
            must_be_busy(&reply, 503);
        }
        must_be_busy_at_mcp(&sent(mcp(&site, who, "tools/list", json!({}))).await, 503);
    }
    must_be_busy(&sent(ask(&site, "olga", "GET", "/history/export")).await, 503);
    assert_eq!(work.began.available_permits(), 0, "no refused call has started");

    // A disconnect frees a slot, and so does the end of a call.
    drop(here);
    soon(async {
        while ask(&site, "alice", "GET", "/tools").send().await.status != 200 {
            tokio::task::yield_now().await;
        }
    })
    .await;
    work.go.add_permits(2);
    assert_eq!(soon(there).await.status, 200);
    soon(bobs).await.ok();
    for who in ["alice", "bob"] {
        ask(&site, who, "GET", "/tools").send().await.ok();
    }
}

#[tokio::test]
async fn operator_pages_stay_available_at_full_capacity() {
    let work = Work::new();
    let site = guarded(&work, |limits| {
        limits.http_requests = 1;
        limits.streams = 1;
    });
    let mut calls = Box::pin(call(&site, "alice").send());
    work.begun_by(&mut calls).await;
    let watch = "/resources/events?uri=memo:///today";
    let _watching = Events::of(ask(&site, "alice", "GET", watch).open().await);
    for path in ["/tools", watch] {
        must_be_busy(&sent(ask(&site, "olga", "GET", path)).await, 503);
    }
    for path in [
        "/",
        "/ui/tools/wait",
        "/ui/resources",
        "/ui/server",
        "/ui/approvals",
        "/ui/history",
        "/ui/assets/console.css",
        "/approvals",
        "/approvals/grants",
        "/history",
    ] {
        let page = ask(&site, "olga", "GET", path).header("accept", "text/html").send().await;
        assert_eq!(page.status, 200, "{path}: {}", page.body);
    }
    let events = ask(&site, "olga", "GET", "/approvals/events").open().await;
    assert!(Events::of(events).next().await.unwrap().starts_with("event: waiting\n"));
    let login =
        site.ask("POST", "/ui/session").text("application/json", r#"{"token":"olga-token"}"#);
    let login = login.send().await;
    assert!(login.status.is_success() || login.status.is_redirection(), "{}", login.body);
}

/// Pages are large: a caller at its limit gets none, and an operator gets all.
#[tokio::test]
async fn pages_use_capacity_for_callers_but_not_for_operators() {
    const PAGES: [&str; 4] = ["/", "/ui/tools/wait", "/ui/resources", "/ui/server"];
    let work = Work::new();
    let guarded = guarded(&work, |limits| limits.http_requests = 2);
    let look =
        |who: &str, path: &str| ask(&guarded, who, "GET", path).header("accept", "text/html");
    let mut calls = Box::pin(call(&guarded, "alice").send());
    work.begun_by(&mut calls).await;
    for path in PAGES {
        let full = sent(look("alice", path)).await;
        assert_eq!((full.status.as_u16(), full.header("retry-after")), (429, "1"), "{path}");
        assert!(
            full.body.contains("your limit of concurrent") && full.body.len() < 5000,
            "{}",
            full.body
        );
        assert_eq!(sent(look("bob", path)).await.status, 200, "{path}");
    }
    let mut bobs = Box::pin(call(&guarded, "bob").send());
    work.begun_by(&mut bobs).await;
    for path in PAGES {
        assert_eq!(sent(look("bob", path)).await.status, 429, "{path}");
        assert_eq!(sent(look("olga", path)).await.status, 200, "{path}");
    }

    // Without tokens, an anonymous user gets no page at full capacity, but can still log in.
    let open =
        site(server().tool(work.tool()).limits(|limits| limits.http_requests = 1), Http::default());
    let mut calls = Box::pin(open.post("/tools/wait/call", json!({})));
    work.begun_by(&mut calls).await;
    let stranger = sent(open.ask("GET", "/").header("accept", "text/html")).await;
    assert_eq!(stranger.status, 503);
    for part in ["data-testid=\"login\"", "/ui/assets/console.js"] {
        assert!(stranger.body.contains(part), "{part} in {}", stranger.body);
    }
    sent(open.ask("POST", "/ui/session").json(&json!({"token": open.token}))).await.ok();
    let operator = sent(open.ask("GET", "/").known().header("accept", "text/html")).await;
    assert_eq!(operator.status, 200);
}

/// A call that waits for approval keeps its slot. Without access for the operator, the slot would never be free.
#[tokio::test]
async fn call_waiting_for_approval_can_be_reviewed_at_full_capacity() {
    let tool = JsonTool::open("delete", |_, _| async { Ok::<_, ToolError>("deleted") });
    let asking = server().tool(tool).ask(Policy::Destructive).hold(Duration::from_secs(600));
    let site = Site::of(asking.limits(|limits| limits.http_requests = 1));
    let decide = async {
        let waiting = soon(async {
            loop {
                match site.ask("GET", "/approvals").known().send().await.ok() {
                    Value::Array(items) if !items.is_empty() => break items[0].clone(),
                    _ => tokio::task::yield_now().await,
                }
            }
        })
        .await;
        must_be_busy(&site.get("/tools").await, 503);
        let path = format!("/approvals/{}/approve", waiting["id"].as_str().unwrap());
        site.post(&path, json!({"version": waiting["version"]})).await.ok();
    };
    let (called, ()) =
        soon(async { tokio::join!(site.post("/tools/delete/call", json!({})), decide) }).await;
    assert_eq!(called.ok()["content"][0]["text"], "deleted");
    assert_eq!(site.get("/tools").await.status, 200);
}

#[tokio::test]
async fn resource_event_stream_uses_a_stream_slot_of_the_endpoint() {
    let site = guarded(&Work::new(), |limits| limits.streams = 2);
    let watch = |who: &str| ask(&site, who, "GET", "/resources/events?uri=memo:///today");
    let mut alices = Events::of(watch("alice").open().await);
    assert!(alices.next().await.unwrap().starts_with("event: watching\n"));
    must_be_busy(&sent(watch("alice")).await, 429);
    let wanted = json!({"notifications": {"resourceSubscriptions": ["memo:///today"]}});
    let listen = |who: &str| mcp(&site, who, "subscriptions/listen", wanted.clone());
    must_be_busy_at_mcp(&sent(listen("alice")).await, 429);
    let bobs = listen("bob").open().await;
    assert_eq!(bobs.status(), 200);
    must_be_busy(&sent(watch("olga")).await, 503);
    // Streams use no request slots.
    ask(&site, "alice", "GET", "/tools").send().await.ok();
    drop(alices);
    soon(async {
        while watch("olga").open().await.status() != 200 {
            tokio::task::yield_now().await;
        }
    })
    .await;
    drop(bobs);
}

/// The server holds a large body while the call runs, also after the answer has started.
#[tokio::test]
async fn streamed_call_holds_the_capacity_of_its_body() {
    let work = Work::new();
    // Half of the capacity is a little more than one of these bodies needs.
    let site = guarded(&work, |limits| limits.body_bytes = 16 * 16 * 1024);
    let large = || {
        let body = json!({"text": "x".repeat(100_000)});
        ask(&site, "alice", "POST", "/tools/wait/call").json(&body)
    };
    let streamed = large().header("accept", "text/event-stream").open().await;
    let mut held = Events::of(streamed);
    work.begun_by(&mut Box::pin(held.next())).await;
    let refused = sent(large()).await.problem(429, "busy");
    assert!(refused["detail"].as_str().unwrap().contains("large bodies"), "{refused}");
    work.go.add_permits(2);
    assert!(held.next().await.unwrap().starts_with("event: result\n"));
    soon(async {
        while large().send().await.status == 429 {
            tokio::task::yield_now().await;
        }
    })
    .await;
}

#[tokio::test]
async fn large_bodies_share_capacity_between_mcp_and_rest() {
    let work = Work::new();
    let site = guarded(&work, |limits| {
        // Half of the capacity is the limit of one caller.
        limits.body_bytes = 2 * 256 * 1024;
        limits.body_time = Duration::from_millis(200);
    });
    let large = json!({"name": "wait", "arguments": {"text": "a".repeat(200 * 1024)}});
    let mut there = Box::pin(mcp(&site, "alice", "tools/call", large.clone()).send());
    work.begun_by(&mut there).await;
    let here = ask(&site, "alice", "POST", "/tools/wait/validate").json(&large["arguments"]);
    assert_eq!(sent(here).await.status, 429);
    let others = ask(&site, "bob", "POST", "/tools/wait/validate").json(&large["arguments"]);
    assert_eq!(sent(others).await.status, 200);
    work.go.add_permits(1);
    assert_eq!(soon(there).await.status, 200);
}

/// Without tokens, all callers are one, and the operator too.
#[tokio::test]
async fn anonymous_caller_may_use_the_full_capacity() {
    let work = Work::new();
    let server = server().tool(work.tool()).limits(|limits| limits.http_requests = 2);
    let site = site(server, Http::default());
    let wait = || Box::pin(site.post("/tools/wait/call", json!({})));
    let (mut one, mut other) = (wait(), wait());
    work.begun_by(&mut one).await;
    work.begun_by(&mut other).await;
    must_be_busy(&site.get("/tools").await, 503);
    must_be_busy(&soon(wait()).await, 503);
    work.go.add_permits(2);
    soon(one).await.ok();
    soon(other).await.ok();
}

#[tokio::test]
async fn caller_gets_at_most_half_of_the_keyed_calls_through_rest() {
    let work = Work::new();
    let site = guarded(&work, |limits| limits.keyed_calls = 2);
    let keyed = |who: &str, key: &str| call(&site, who).header("idempotency-key", key);
    // The caller disconnects, and the call keeps running.
    let mut first = Box::pin(keyed("alice", "a").send());
    work.begun_by(&mut first).await;
    drop(first);
    let refused = sent(keyed("alice", "b")).await;
    must_be_busy(&refused, 429);
    assert!(refused.json()["detail"].as_str().unwrap().contains("Nothing was run."));
    let meta = json!({"dev.candor/idempotencyKey": "b"});
    let params = json!({"name": "wait", "arguments": {}, "_meta": meta});
    let there = sent(mcp(&site, "alice", "tools/call", params)).await.json();
    let details = &there["result"]["_meta"]["dev.candor/error"];
    assert_eq!((&details["code"], &details["scope"]), (&json!("busy"), &json!("caller")));
    let mut bobs = Box::pin(keyed("bob", "a").send());
    work.begun_by(&mut bobs).await;
    must_be_busy(&sent(keyed("olga", "a")).await, 503);
    work.go.add_permits(3);
    soon(bobs).await.ok();
    let again = soon(keyed("alice", "a").send()).await;
    assert_eq!(again.ok()["content"][0]["text"], "done");
    assert_eq!(again.header("idempotent-replayed"), "true");
    // The refused call runs under the same key, after the first one has freed its slot.
    soon(async {
        loop {
            let reply = keyed("alice", "b").send().await;
            match reply.status.as_u16() {
                429 => tokio::task::yield_now().await,
                _ => break drop(reply.ok()),
            }
        }
    })
    .await;
}

/// A tool and a resource with large descriptions, and capacity for at most seven of these for each caller.
fn wordy(tools: impl FnOnce(Server, JsonTool) -> Server) -> Site {
    let words = "x".repeat(100 * 1024);
    let schema = json!({"type": "object", "description": words});
    let tool = JsonTool::new("wordy", &schema, |_, _| async { Ok::<_, ToolError>("") });
    let resource = Resource::new("memo:///wordy", "wordy").described(&words);
    let resources = ResourceSet::new().resource(resource, |uri, _| async move {
        Ok(vec![ResourceContents::of_text(uri, "text/plain", "")])
    });
    let server = tools(server(), tool.description(words)).resources(resources);
    site(server.limits(|limits| limits.answer_bytes = 2 * 750 * 1024), known())
}

/// How many responses the server builds for a caller that reads none of them, of twelve.
async fn built_without_reading(site: &Site, path: &str) -> usize {
    let mut unread = Vec::new();
    for _ in 0..12 {
        let response = ask(site, "alice", "GET", path).unread().await;
        if response.status() != 200 {
            assert_eq!(response.status(), 429, "{path}");
            break;
        }
        unread.push(response);
    }
    unread.len()
}

#[tokio::test]
async fn unread_response_counts_unless_its_bytes_are_shared() {
    let site = wordy(Server::tool);
    for path in [
        "/tools/wordy",
        "/tools?limit=1",
        "/openapi.json",
        "/resources",
        "/resources/metadata?uri=memo:///wordy",
    ] {
        let built = built_without_reading(&site, path).await;
        assert!((1..=7).contains(&built), "{path}: {built}");
        let again = ask(&site, "alice", "GET", path).send().await;
        assert_eq!(again.status, 200, "{path}: what is dropped frees its capacity");
    }
    assert_eq!(built_without_reading(&site, "/tools").await, 12, "the list is cached");
}

#[tokio::test]
async fn unread_list_of_tools_that_are_made_per_request_counts() {
    let site = wordy(|server, tool| {
        let tool: Arc<dyn Tool> = Arc::new(tool);
        server.tools_from(move || vec![tool.clone()])
    });
    let built = built_without_reading(&site, "/tools").await;
    assert!((1..=7).contains(&built), "{built}");
}
