//! Candor as its users run it: default limits, header checks, deadline, both eras on one endpoint. But one caller may ask about
//! calls as fast as it can: here it is the speed that is measured.

use std::io;
use std::sync::Arc;

use ::candor::auth::BearerTokens;
use ::candor::hints::{Condition, EffectRow, EffectTable, Hints};
use ::candor::prelude::*;
use ::candor::protocol::Principal;
use ::candor::protocol::types::ToolAnnotations;
use ::candor::run::ServeArgs;
use ::candor::tool::Tool;
use ::candor::transport::http::{Http, endpoint};
use ::candor::{AskLevel, BuildError, Limits, store};
use axum::Router;
use candor_console::Console;
use tokio::net::TcpListener;

use crate::message::{ECHO, ECHO_BY_UNITS, ECHO_READ, ECHO_WITH_PROGRESS, TOKEN, input_schema};

/// Serves HTTP with so many tools until it is stopped.
pub async fn serve(listener: TcpListener, tools: usize) -> io::Result<()> {
    let app = app(tools).map_err(io::Error::other)?;
    let never = std::future::pending();
    ::candor::transport::http::serve(listener, app, &Limits::default(), never).await
}

/// The endpoint and the console with one accepted token, because the REST API makes no call without one.
pub async fn serve_with_token(listener: TcpListener, tools: usize) -> io::Result<()> {
    let tokens = BearerTokens::default().token(TOKEN, Principal::new("bench"));
    let server = server(tools).authenticator(tokens);
    let engine = server.build().map_err(io::Error::other)?;
    let console = Console::of(engine.clone()).reached(&Http::default()).allow_execute();
    let app = Router::new().route("/mcp", endpoint(engine, Http::default()));
    let never = std::future::pending();
    let app = app.merge(console.router());
    ::candor::transport::http::serve(listener, app, &Limits::default(), never).await
}

/// The endpoint with a ledger in a file. Calls that `ask` covers need approval.
pub async fn serve_with_ledger(
    listener: TcpListener,
    tools: usize,
    ask: AskLevel,
) -> io::Result<()> {
    let file = std::env::temp_dir().join(format!("candor-bench-{}.db", std::process::id()));
    let url = format!("sqlite:{}", file.display());
    let store = store::open(&url, store::Options::default()).map_err(io::Error::other)?;
    let engine = server(tools).ask(ask).ledger(store).build().map_err(io::Error::other)?;
    let app = Router::new().route("/mcp", endpoint(engine, Http::default()));
    let never = std::future::pending();
    ::candor::transport::http::serve(listener, app, &Limits::default(), never).await
}

/// Serves stdio until input ends, through the same function as every program.
pub async fn serve_stdio(tools: usize) -> ::candor::Result<()> {
    let mut args = ServeArgs::default();
    args.stdio = true;
    args.ledger = Some("none".to_owned());
    server(tools).serve(args, &[]).await
}

/// The endpoint, and the console beside it.
pub(super) fn app(tools: usize) -> Result<Router, BuildError> {
    let engine = server(tools).build()?;
    let console = Console::of(engine.clone());
    Ok(Router::new().route("/mcp", endpoint(engine, Http::default())).merge(console.router()))
}

fn server(tools: usize) -> Server {
    let mut reads = ToolAnnotations::new();
    reads.read_only_hint = Some(true);
    let called: [Arc<dyn Tool>; 4] = [
        Arc::new(echo(ECHO_READ).annotations(reads)),
        Arc::new(echo(ECHO)),
        Arc::new(echo_with_progress()),
        Arc::new(echo(ECHO_BY_UNITS).effects(by_units())),
    ];
    // The rest is there to be searched, listed and kept; no two have the same schema to share.
    let others = (called.len()..tools).map(|n| Arc::new(echo(&format!("echo_{n}"))) as _);
    Server::new("bench", "1.0.0")
        .tools(called.into_iter().chain(others))
        .limits(|limits| limits.foresights = None)
}

fn echo(name: &str) -> JsonTool {
    let schema = input_schema(&format!("Where, for {name}"));
    JsonTool::new(name, &schema, |arguments, _| async move { Ok(arguments.to_string()) })
        .description("Answers with its arguments")
        .unclassified()
}

/// Effects that depend on an argument, in the usual size.
pub(crate) fn by_units() -> EffectTable {
    let row = |units: &str, hints| EffectRow::when("units", Condition::equals(units)).then(hints);
    EffectTable::new()
        .row(row("imperial", Hints::ADDS))
        .row(EffectRow::when("days", Condition::Range(Some(10.0), None)).then(Hints::DELETES))
        .row(row("metric", Hints::READS))
}

fn echo_with_progress() -> JsonTool {
    let schema = input_schema("Where");
    JsonTool::new(ECHO_WITH_PROGRESS, &schema, |arguments, ctx| async move {
        ctx.progress(1, 2, None).await;
        Ok(arguments.to_string())
    })
    .description("Answers with its arguments, and says on the way that it is half done")
    .unclassified()
}
