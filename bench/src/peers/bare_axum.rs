//! The least that an HTTP server in Rust can do with a call: parse it, take the arguments, send them back.

use std::io;

use axum::Router;
use axum::body::Bytes;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use serde_json::{Value, json};
use tokio::net::TcpListener;

/// Serves until it is stopped.
pub async fn serve(listener: TcpListener) -> io::Result<()> {
    super::serve(listener, Router::new().route("/mcp", post(echo))).await
}

async fn echo(body: Bytes) -> Response {
    let Ok(mut message) = serde_json::from_slice::<Value>(&body) else {
        return StatusCode::BAD_REQUEST.into_response();
    };
    // The answer that the tool gives too: the arguments as text, in the shape of a tool's result.
    let text = message["params"]["arguments"].to_string();
    let result = json!({"content": [{"type": "text", "text": text}]});
    let answer = json!({"jsonrpc": "2.0", "id": message["id"].take(), "result": result});
    ([(CONTENT_TYPE, "application/json")], answer.to_string()).into_response()
}
