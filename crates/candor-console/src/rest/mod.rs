//! JSON for programs: a file for each subject.

pub(crate) mod approvals;
pub(crate) mod body;
mod call;
mod foreseen;
pub(crate) mod history;
mod listening;
pub(crate) mod openapi;
pub(crate) mod refused;
pub(crate) mod resources;
mod sse;
pub(crate) mod tools;
pub(crate) mod watching;

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use candor_operator::OperatorError;
use candor_server::RunningServer;
use candor_server::protocol::json::Object;
use candor_server::store::{Store, StoreError};
use http::header::{CONTENT_TYPE, ETAG, IF_NONE_MATCH};
use http::{HeaderMap, HeaderValue, StatusCode};
use sha2::{Digest as _, Sha256};

use crate::problem::Problem;
use crate::{Inner, trace};

pub(crate) use body::RequestBody;

/// Marks a response whose body is in memory once for all clients.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SharedBody;

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
pub(crate) fn engine(console: &Inner) -> Result<&RunningServer, Problem> {
    console.engine.as_ref().ok_or_else(Problem::no_such_path)
}

/// Returns a message as text.
pub(crate) fn write(members: &Object) -> String {
    serde_json::to_string(members).expect("members are JSON already")
}

/// Returns the ledger, if there is one.
pub(crate) fn store(console: &Inner) -> Result<&dyn Store, Problem> {
    console.store.as_deref().ok_or_else(|| {
        let words = "This server has no ledger, so it has no approvals and no history. Start it with --ledger";
        Problem::new(StatusCode::NOT_FOUND, "ledger_disabled", words)
    })
}

/// Converts an operator's error into an HTTP error.
pub(crate) fn operator_refused(error: OperatorError) -> Problem {
    match error {
        OperatorError::Store(error) => unavailable(&error),
        other => Problem::new(status(&other), other.code(), other.to_string()),
    }
}

fn status(error: &OperatorError) -> StatusCode {
    match error {
        OperatorError::Store(_) => StatusCode::SERVICE_UNAVAILABLE,
        OperatorError::UnknownOperation { .. } => StatusCode::NOT_FOUND,
        OperatorError::Ambiguous { .. }
        | OperatorError::NotPending { .. }
        | OperatorError::RequestChanged { .. }
        | OperatorError::RequestUnreadable
        | OperatorError::AlreadyDecided { .. }
        | OperatorError::RequestEnded { .. }
        | OperatorError::AlreadyResolved { .. }
        | OperatorError::OperationChanged { .. }
        | OperatorError::GrantNotRecorded { .. }
        | OperatorError::UnexpectedReply(_) => StatusCode::CONFLICT,
    }
}

/// Returns the problem for a ledger that failed. Its own words may name files and hosts, so only the log has them.
fn unavailable(error: &StoreError) -> Problem {
    let trace_id = trace::id();
    tracing::error!(%error, trace_id, "the ledger could not be used");
    let words = "The ledger is unavailable; the server's log has the reason";
    Problem::new(StatusCode::SERVICE_UNAVAILABLE, "ledger_unavailable", words)
        .member("trace_id", trace_id)
        .retry_after_ms(1000)
}
