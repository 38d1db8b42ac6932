//! Who is asking decides what there is, in both eras.

use std::sync::Arc;

use candor_server::Server;
use candor_server::auth::BearerTokens;
use candor_server::protocol::Principal;
use candor_server::tool::{ProviderError, Tool, ToolSet, provider_fn};
use http::Method;
use http::header::{ACCEPT, AUTHORIZATION};
use serde_json::{Value, json};

use crate::common::{
    Call, Reply, Session, Site, call, endless, greet, initialize, memos, modern, server, soon,
    text, tool, two,
};

/// Everybody can be greeted; only alice can open the safe.
fn two_sets() -> Server {
    let safe: Arc<dyn Tool> = Arc::new(tool("open_safe", |_, ctx| async move {
        Ok(format!("opened for {}", ctx.principal()))
    }));
    let everyone = Arc::new(ToolSet::new([Arc::new(greet()) as Arc<dyn Tool>]).unwrap());
    let alice = Arc::new(ToolSet::new([Arc::new(greet()) as Arc<dyn Tool>, safe]).unwrap());
    server().tools_from(provider_fn(move |principal| {
        Ok(match principal.as_str() {
            "alice" => alice.clone(),
            _ => everyone.clone(),
        })
    }))
}

#[tokio::test]
async fn request_without_a_valid_token_is_refused() {
    let site = Site::guarded(two_sets());
    for call in [
        modern("tools/list", &json!({})),
        initialize("2025-11-25", &json!({})),
        Call::bare(Method::GET)
            .header(ACCEPT, "text/event-stream")
            .header("mcp-session-id", "guessed"),
        Call::bare(Method::DELETE).header("mcp-session-id", "guessed"),
    ] {
        let reply = site.send(call.clone()).await;
        assert_eq!(reply.header("www-authenticate"), Some(r#"Bearer realm="candor""#));
        reply.refusal(401, -32600).await;
        for wrong in ["Bearer mallory-token", "Basic alice-token", "alice-token"] {
            let reply = site.send(call.clone().header(AUTHORIZATION, wrong)).await;
            assert_eq!(
                reply.header("www-authenticate"),
                Some(r#"Bearer realm="candor", error="invalid_token""#)
            );
            reply.refusal(401, -32600).await;
        }
        let both = call.by("alice").also(AUTHORIZATION, "Bearer bob-token");
        site.send(both).await.refusal(401, -32600).await;
    }
}

fn names(list: &Value) -> Vec<&str> {
    let tools = list["tools"].as_array().unwrap().iter();
    tools.map(|tool| tool["name"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn each_principal_sees_and_uses_its_own_tools() {
    let site = Site::guarded(two_sets());
    let list = || modern("tools/list", &json!({}));
    let of_alice = site.send(list().by("alice")).await.result().await;
    assert_eq!(names(&of_alice), ["greet", "open_safe"]);
    let of_bob = site.send(list().by("bob")).await.result().await;
    assert_eq!(names(&of_bob), ["greet"]);

    let open = || call("open_safe", &json!({}));
    let opened = site.send(open().by("alice")).await.result().await;
    assert_eq!(text(&opened), "opened for alice");
    let error = site.send(open().by("bob")).await.error(200, -32602).await;
    assert_eq!(error["message"], "Unknown tool: open_safe");
}

#[tokio::test]
async fn each_principals_session_has_its_own_tools() {
    let site = Site::guarded(two_sets());
    let alice = Session::by(&site, "alice").await;
    let bob = Session::by(&site, "bob").await;
    let of_alice = alice.request("tools/list", &json!({})).await.result().await;
    assert_eq!(names(&of_alice), ["greet", "open_safe"]);
    let of_bob = bob.request("tools/list", &json!({})).await.result().await;
    assert_eq!(names(&of_bob), ["greet"]);
    assert_eq!(text(&alice.call("open_safe").await.result().await), "opened for alice");
    bob.call("open_safe").await.error(200, -32602).await;
}

#[tokio::test]
async fn failing_tool_source_hides_its_reason() {
    let failing = provider_fn::<ToolSet, _>(|_| {
        Err(ProviderError::new("password of db.internal was refused"))
    });
    let site = Site::of(server().tools_from(failing));
    let session = Session::open(&site, "2025-11-25").await;
    for reply in [
        site.send(modern("tools/list", &json!({}))).await,
        site.send(call("greet", &json!({"name": "Ada"}))).await,
        session.request("tools/list", &json!({})).await,
        session.call("greet").await,
    ] {
        let error = reply.error(200, -32603).await;
        assert_eq!(error["message"], "The server could not get its tools");
        assert!(!error.to_string().contains("password"), "{error}");
        assert!(error["data"]["dev.candor/error"]["traceId"].is_string(), "{error}");
    }
}

fn panicking() -> Site {
    let fail = |principal: &Principal| -> Result<Arc<ToolSet>, ProviderError> {
        panic!("the secrets of {principal}")
    };
    Site::of(server().tools_from(provider_fn(fail)).resources(memos()))
}

#[tokio::test]
async fn panic_of_a_tool_source_fails_only_tool_methods() {
    let site = panicking();
    let error = site.send(modern("tools/list", &json!({}))).await.error(200, -32603).await;
    assert!(!error.to_string().contains("secrets"), "{error}");
    site.send(modern("resources/list", &json!({}))).await.result().await;
}

#[tokio::test]
async fn panic_of_a_tool_source_fails_only_tool_methods_in_a_session() {
    let site = panicking();
    let session = Session::open(&site, "2025-11-25").await;
    let error = session.request("tools/list", &json!({})).await.error(200, -32603).await;
    assert!(!error.to_string().contains("secrets"), "{error}");
    session.request("resources/list", &json!({})).await.result().await;
}

/// What one caller has is no more than its share, and says so; the others have the rest.
async fn must_be_share(reply: Reply, id: bool) {
    assert_eq!(reply.header("retry-after"), Some("1"));
    let error = if id { reply.error(429, BUSY).await } else { reply.refusal(429, BUSY).await };
    assert!(error["message"].as_str().unwrap().contains("your limit of concurrent"), "{error}");
    assert_eq!(error["data"]["code"], "busy");
}

const BUSY: i64 = 4290;

#[tokio::test]
async fn caller_gets_at_most_half_of_the_request_slots() {
    let (tool, mut told) = endless("wait");
    let server = server().tool(tool).tool(greet()).limits(|limits| limits.http_requests = 3);
    let site = Site::guarded(server);
    let wait = |who: &str| {
        let params = json!({"name": "wait", "arguments": {}, "_meta": {"progressToken": "t"}});
        modern("tools/call", &params).by(who)
    };
    let greeting = |who: &str| call("greet", &json!({"name": "Ada"})).by(who);
    // Two of three slots, in either era.
    let first = site.send(wait("alice")).await;
    let session = Session::by(&site, "alice").await;
    let second = session.call("wait").await;
    for _ in 0..2 {
        assert_eq!(soon(told.recv()).await, Some("started"));
    }
    must_be_share(site.send(greeting("alice")).await, true).await;
    must_be_share(session.request("tools/list", &json!({})).await, true).await;
    assert_eq!(text(&site.send(greeting("bob")).await.result().await), "Hello, Ada!");
    let third = site.send(wait("bob")).await;
    assert_eq!(soon(told.recv()).await, Some("started"));
    site.send(greeting("bob")).await.error(503, BUSY).await;
    // The end of a request frees its slot.
    drop(first);
    two(&mut told).await;
    assert_eq!(text(&site.send(greeting("alice")).await.result().await), "Hello, Ada!");
    drop((second, third));
}

#[tokio::test]
async fn caller_gets_at_most_half_of_the_stream_slots() {
    let server = server().resources(memos()).limits(|limits| limits.streams = 2);
    // Over a connection, a dropped stream would take a moment to release its slot.
    let site = Site::guarded(server).in_process();
    let wanted = json!({"notifications": {"resourceSubscriptions": ["memo:///today"]}});
    let listen = |who: &str| modern("subscriptions/listen", &wanted).by(who);
    let held = site.send(listen("alice")).await.events();
    must_be_share(site.send(listen("alice")).await, true).await;
    let session = Session::by(&site, "alice").await;
    must_be_share(session.get(None).await, false).await;
    let bobs = site.send(listen("bob")).await.events();
    let session = Session::by(&site, "bob").await;
    must_be_share(session.get(None).await, false).await;
    drop((held, bobs));
    session.get(None).await.events();
}

/// Anonymous callers cannot be distinguished, so they have no shares.
#[tokio::test]
async fn anonymous_caller_may_take_all_request_slots() {
    let (tool, mut told) = endless("wait");
    let site = Site::of(server().tool(tool).limits(|limits| limits.http_requests = 2));
    let params = json!({"name": "wait", "arguments": {}, "_meta": {"progressToken": "t"}});
    let wait = || modern("tools/call", &params);
    let held = [site.send(wait()).await, site.send(wait()).await];
    for _ in 0..2 {
        assert_eq!(soon(told.recv()).await, Some("started"));
    }
    site.send(wait()).await.error(503, BUSY).await;
    drop(held);
}

#[tokio::test]
async fn endpoint_without_an_authenticator_uses_that_of_its_server() {
    let tokens = BearerTokens::default().token("alice-token", Principal::new("alice"));
    let whoami = tool("whoami", |_, ctx| async move { Ok(ctx.principal().to_string()) });
    let site = Site::of(server().tool(whoami).authenticator(tokens));
    assert_eq!(site.send(call("whoami", &json!({}))).await.status, 401);
    let result = site.send(call("whoami", &json!({})).by("alice")).await.result().await;
    assert_eq!(text(&result), "alice");
}
