//! Who is asking decides what there is, in both eras.

use std::sync::Arc;

use candor_server::Server;
use candor_server::protocol::Principal;
use candor_server::tool::{ProviderError, Tool, ToolSet, provider_fn};
use http::Method;
use http::header::{ACCEPT, AUTHORIZATION};
use serde_json::{Value, json};

use crate::common::{
    Call, Session, Site, call, greet, initialize, memos, modern, server, text, tool,
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
async fn without_a_token_nobody_comes_in() {
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
async fn a_provider_that_fails_keeps_its_reason_to_itself() {
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
async fn a_provider_that_panics_fails_alone() {
    let site = panicking();
    let error = site.send(modern("tools/list", &json!({}))).await.error(200, -32603).await;
    assert!(!error.to_string().contains("secrets"), "{error}");
    site.send(modern("resources/list", &json!({}))).await.result().await;
}

#[tokio::test]
async fn a_provider_that_panics_fails_alone_in_a_session_too() {
    let site = panicking();
    let session = Session::open(&site, "2025-11-25").await;
    let error = session.request("tools/list", &json!({})).await.error(200, -32603).await;
    assert!(!error.to_string().contains("secrets"), "{error}");
    session.request("resources/list", &json!({})).await.result().await;
}
