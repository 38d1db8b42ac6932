//! JSON for programs: a file for each subject.

pub(crate) mod approvals;
mod body;
mod call;
mod foreseen;
pub(crate) mod history;
mod listening;
pub(crate) mod openapi;
mod refused;
pub(crate) mod resources;
mod sse;
pub(crate) mod tools;
pub(crate) mod watching;

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use candor_server::protocol::json::{Object, raw};
use candor_server::protocol::names::{extension, meta};
use candor_server::protocol::rpc::{ErrorObject, code};
use candor_server::store::Store;
use candor_server::{Engine, desk};
use http::header::{CONTENT_TYPE, ETAG, IF_NONE_MATCH};
use http::{HeaderMap, HeaderValue, StatusCode};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::problem::Problem;
use crate::{Inner, trace};

pub(crate) use body::RequestBody;

/// Returns a JSON response.
pub(crate) fn json(body: impl Into<Body>) -> Response {
    let mut response = Response::new(body.into());
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// Returns the entity tag of some bytes.
pub(crate) fn tag(bytes: &[u8]) -> HeaderValue {
    let digest = Sha256::digest(bytes);
    let hex: String = digest[..12].iter().map(|byte| format!("{byte:02x}")).collect();
    HeaderValue::from_str(&format!("\"{hex}\"")).unwrap_or(HeaderValue::from_static("\"0\""))
}

/// Returns the body with its tag, or 304 if the client already has it.
pub(crate) fn tagged(asked: &HeaderMap, tag: &HeaderValue, body: Bytes) -> Response {
    let known = asked.get_all(IF_NONE_MATCH).iter().any(|sent| is_among(sent, tag));
    let mut response = if known { Response::new(Body::empty()) } else { json(body) };
    if known {
        *response.status_mut() = StatusCode::NOT_MODIFIED;
    }
    response.headers_mut().insert(ETAG, tag.clone());
    response
}

/// Returns true if a tag is in the header. A proxy may have made it weak, which does not matter for reads.
fn is_among(sent: &HeaderValue, tag: &HeaderValue) -> bool {
    let Ok(sent) = sent.to_str() else { return false };
    sent.split(',')
        .map(str::trim)
        .any(|one| one == "*" || one.strip_prefix("W/").unwrap_or(one).as_bytes() == tag.as_bytes())
}

/// Returns the server, if there is one.
pub(crate) fn engine(console: &Inner) -> Result<&Engine, Problem> {
    console.engine.as_ref().ok_or_else(Problem::no_such_path)
}

/// Returns a message as text.
pub(crate) fn write(members: &Object) -> String {
    serde_json::to_string(members).expect("members are JSON already")
}

/// Removes what a result has only for MCP clients: its type and the server's info.
pub(crate) fn plain(result: &mut Object) {
    // The members are valid JSON, so this cannot fail.
    result.retain(|name, _| Ok(name != "resultType")).ok();
    let Ok(Some(mut meta)) = result.read::<Object>("_meta") else { return };
    meta.retain(|name, _| Ok(name != meta::SERVER_INFO)).ok();
    if meta.is_empty() {
        result.retain(|name, _| Ok(name != "_meta")).ok();
    } else {
        result.set("_meta", raw(&meta));
    }
}

/// Converts a protocol error into an HTTP error.
pub(crate) fn failed(error: &ErrorObject) -> Problem {
    let data: Value = error
        .data
        .as_deref()
        .and_then(|data| serde_json::from_str(data.get()).ok())
        .unwrap_or_default();
    let ours = &data[extension::ERROR];
    let said = ours["code"].as_str();
    let detail = error.message.strip_prefix("Invalid params: ").unwrap_or(&error.message);
    // The log has every failure under the ID in the response.
    let trace_id = || match ours["traceId"].as_str() {
        Some(known) => known.to_owned(),
        None => {
            let trace_id = trace::new();
            tracing::error!(error = %error.message, trace_id, "a request failed");
            trace_id
        }
    };
    match error.code() {
        code::INVALID_PARAMS if said.is_none() && data["uri"].is_string() => {
            Problem::new(StatusCode::NOT_FOUND, "resource_not_found", detail)
                .member("uri", data["uri"].clone())
        }
        code::METHOD_NOT_FOUND => Problem::no_such_path(),
        // Only this caller has to wait. The server still serves others.
        code::BUSY if data["scope"] == "caller" => {
            Problem::new(StatusCode::TOO_MANY_REQUESTS, "busy", detail)
                .retry_after_ms(data["retryAfterMs"].as_u64().unwrap_or(1000))
        }
        code::BUSY => Problem::new(StatusCode::SERVICE_UNAVAILABLE, "busy", detail)
            .member("trace_id", trace_id())
            .retry_after_ms(1000),
        // The handler meant its own error for the caller.
        code::INTERNAL_ERROR if said.is_some_and(|said| said != "internal") => {
            Problem::new(StatusCode::UNPROCESSABLE_ENTITY, said.unwrap_or_default(), detail)
                .member("trace_id", trace_id())
        }
        code::INTERNAL_ERROR => Problem::internal(&trace_id()),
        code::MISSING_CLIENT_CAPABILITY => Problem::new(
            StatusCode::UNPROCESSABLE_ENTITY,
            "elicitation_unsupported",
            "The handler asks for input, and REST cannot answer. Use an MCP client that supports elicitation",
        ),
        _ => Problem::new(StatusCode::BAD_REQUEST, said.unwrap_or("bad_request"), detail),
    }
}

/// Returns the ledger, if there is one.
pub(crate) fn store(console: &Inner) -> Result<&dyn Store, Problem> {
    console.store.as_deref().ok_or_else(|| {
        let words = "This server has no ledger, so it has no approvals and no history. Start it with --ledger";
        Problem::new(StatusCode::NOT_FOUND, "ledger_disabled", words)
    })
}

/// Converts an operator's error into an HTTP error.
pub(crate) fn refused(problem: desk::OperatorError) -> Problem {
    match problem {
        desk::OperatorError::Store(error) => {
            let trace_id = trace::new();
            tracing::error!(%error, trace_id, "the ledger could not be used");
            let words = "The ledger is unavailable; the server's log has the reason";
            Problem::new(StatusCode::SERVICE_UNAVAILABLE, "ledger_unavailable", words)
                .member("trace_id", trace_id)
                .retry_after_ms(1000)
        }
        desk::OperatorError::Unknown(words) => {
            Problem::new(StatusCode::NOT_FOUND, "not_found", words)
        }
        other => Problem::new(StatusCode::CONFLICT, "conflict", other.to_string()),
    }
}
