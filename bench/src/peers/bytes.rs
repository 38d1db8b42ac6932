//! A server that sends what it has in memory: the floor for long lists.

use std::io;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::http::Request;
use axum::http::header::{CONTENT_TYPE, HOST};
use axum::routing::{get, post};
use tokio::net::TcpListener;
use tower_service::Service as _;

use super::candor;
use crate::message::{self, MODERN};

/// More than any list that is compared.
const MOST_BYTES: usize = 64 * 1024 * 1024;

/// Serves candor's list of so many tools, byte for byte, until it is stopped.
pub async fn serve(listener: TcpListener, tools: usize) -> io::Result<()> {
    let list = list_of(tools).await.map_err(io::Error::other)?;
    let summary = summary_of(tools).await.map_err(io::Error::other)?;
    let sent = |bytes: Bytes| std::future::ready(([(CONTENT_TYPE, "application/json")], bytes));
    let app = Router::new()
        .route("/mcp", post(move || sent(list.clone())))
        .route("/tools", get(move || sent(summary.clone())));
    super::serve(listener, app).await
}

/// Asks a candor endpoint, without a socket, for what it would send.
async fn list_of(tools: usize) -> Result<Bytes, axum::Error> {
    let request = Request::post("/mcp")
        .header(HOST, "127.0.0.1")
        .header(CONTENT_TYPE, "application/json")
        .header("mcp-protocol-version", MODERN)
        .header("mcp-method", "tools/list")
        .body(Body::from(message::modern_list(1).to_string()))
        .map_err(axum::Error::new)?;
    asked(tools, request).await
}

/// The same of the REST API.
async fn summary_of(tools: usize) -> Result<Bytes, axum::Error> {
    let request = Request::get("/tools").header(HOST, "127.0.0.1").body(Body::empty());
    asked(tools, request.map_err(axum::Error::new)?).await
}

async fn asked(tools: usize, request: Request<Body>) -> Result<Bytes, axum::Error> {
    let response = match candor::app(tools).map_err(axum::Error::new)?.call(request).await {
        Ok(response) => response,
        Err(never) => match never {},
    };
    axum::body::to_bytes(response.into_body(), MOST_BYTES).await
}
