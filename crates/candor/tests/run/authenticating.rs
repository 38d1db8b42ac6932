//! `Server::authenticator` under `run()`: MCP of both eras, REST and the console know the same callers, and handlers their claims.

use std::net::SocketAddr;

use candor::BoxFuture;
use candor::auth::http::HeaderValue;
use candor::auth::http::request::Parts;
use candor::auth::{Authenticator, Identity, Unauthorized};
use candor::prelude::*;
use candor::run::{ServeArgs, Serving};
use serde_json::{Value, json};
use tokio::sync::oneshot;

use crate::http::{ask, post};
use crate::messages::{initialize, modern, request, text};

struct Staff {
    team: String,
}

/// Knows users by a header, as behind a proxy.
struct Proxy;

impl Authenticator for Proxy {
    fn authenticate<'a>(
        &'a self,
        request: &'a Parts,
    ) -> BoxFuture<'a, Result<Identity, Unauthorized>> {
        let user = request.headers.get("x-user").and_then(|user| user.to_str().ok());
        let identity = user.and_then(|user| user.split_once('@')).map(|(name, team)| {
            Identity::new(Principal::new(name)).with_claims(Staff { team: team.to_owned() })
        });
        let challenge = HeaderValue::from_static("Proxy");
        Box::pin(std::future::ready(identity.ok_or(Unauthorized { challenge })))
    }

    fn is_operator(&self, principal: &Principal) -> bool {
        principal.as_str() == "olga"
    }
}

/// Names the caller and its team.
#[tool(reads, closed_world)]
async fn whoami(ctx: Ctx) -> String {
    let team = ctx.claims::<Staff>().map_or("no team", |staff| &staff.team);
    assert!(ctx.claims::<String>().is_none());
    format!("{} of {team}", ctx.principal())
}

fn server() -> Server {
    Server::new("staff", "1.0.0").tools(tools![whoami]).authenticator(Proxy)
}

fn args() -> ServeArgs {
    let mut args = ServeArgs::default();
    args.http = Some(SocketAddr::from(([127, 0, 0, 1], 0)));
    args.ledger = Some("memory:".to_owned());
    args
}

/// Runs the server as its command line would; gives its address.
async fn running() -> String {
    let (tell, told) = oneshot::channel();
    let serving = Serving::default().until(std::future::pending()).telling(move |address| {
        tell.send(address).unwrap();
        Vec::new()
    });
    tokio::spawn(async move { server().serve_with(args(), serving).await });
    told.await.unwrap().to_string()
}

const ADA: (&str, &str) = ("x-user", "ada@billing");

#[tokio::test]
async fn mcp_handlers_see_the_claims_of_their_caller_in_both_eras() {
    let address = running().await;
    let asked = modern(1, "tools/call", &json!({"name": "whoami", "arguments": {}}));
    assert_eq!(post(&address, &asked, &[]).await.status, 401);
    assert_eq!(text(&post(&address, &asked, &[ADA]).await.json()), "ada of billing");

    let post = async |message: &Value, headers: &[(&str, &str)]| {
        ask(&address, "POST", "/mcp", headers, &message.to_string()).await
    };
    let opened = post(&initialize(1), &[ADA]).await;
    let session = opened.header("mcp-session-id").unwrap().to_owned();
    let session = ("Mcp-Session-Id", session.as_str());
    let legacy = request(2, "tools/call", &json!({"name": "whoami", "arguments": {}}));
    assert_eq!(text(&post(&legacy, &[ADA, session]).await.json()), "ada of billing");
    // Every request is authenticated anew.
    let moved = ("x-user", "ada@support");
    assert_eq!(text(&post(&legacy, &[moved, session]).await.json()), "ada of support");
    let other = ("x-user", "bob@billing");
    assert_eq!(post(&legacy, &[other, session]).await.status, 404);
    let listed = request(3, "tools/list", &json!({}));
    assert_eq!(post(&listed, &[session]).await.status, 401);
}

#[tokio::test]
async fn rest_handlers_see_the_claims_of_their_caller() {
    let address = running().await;
    let called = async |headers: &[(&str, &str)]| {
        let mut all = vec![("Content-Type", "application/json")];
        all.extend_from_slice(headers);
        ask(&address, "POST", "/tools/whoami/call", &all, "{}").await
    };
    assert_eq!(called(&[]).await.status, 401);
    let answered = called(&[ADA]).await;
    assert_eq!(answered.status, 200, "{answered:?}");
    assert!(answered.body.contains("ada of billing"), "{answered:?}");
    assert_eq!(ask(&address, "GET", "/history", &[ADA], "").await.status, 403);
    assert_eq!(ask(&address, "GET", "/history", &[("x-user", "olga@ops")], "").await.status, 200);
}

#[tokio::test]
async fn tokens_beside_an_authenticator_are_a_usage_error() {
    let path = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("beside.tokens");
    std::fs::write(&path, candor::auth::BearerTokens::line("ada", "secret")).unwrap();
    let mut args = args();
    args.tokens = Some(path);
    let serving = Serving::default().until(std::future::pending());
    let error = server().serve_with(args, serving).await.unwrap_err();
    assert!(error.is_usage());
    let message = error.to_string();
    assert!(message.starts_with("--tokens ") && message.contains("itself. Remove it"), "{message}");
}
