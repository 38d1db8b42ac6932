//! JSON for programs: a file for each subject.

pub(crate) mod approvals;
pub(crate) mod history;
pub(crate) mod openapi;
pub(crate) mod resources;
pub(crate) mod tools;

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use candor_server::Engine;
use candor_server::protocol::rpc::{ErrorObject, code};
use http::header::{CONTENT_TYPE, ETAG, IF_NONE_MATCH};
use http::{HeaderMap, HeaderValue, StatusCode};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::Inner;
use crate::problem::Problem;

/// A JSON answer.
pub(crate) fn json(body: impl Into<Body>) -> Response {
    let mut response = Response::new(body.into());
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// The tag of some bytes.
pub(crate) fn tag(bytes: &[u8]) -> HeaderValue {
    let digest = Sha256::digest(bytes);
    let hex: String = digest[..12].iter().map(|byte| format!("{byte:02x}")).collect();
    HeaderValue::from_str(&format!("\"{hex}\"")).unwrap_or(HeaderValue::from_static("\"0\""))
}

/// The same, or only that nothing has changed, for who has it already.
pub(crate) fn tagged(asked: &HeaderMap, tag: &HeaderValue, body: Bytes) -> Response {
    let known = asked.get_all(IF_NONE_MATCH).iter().any(|sent| is_among(sent, tag));
    let mut response = if known { Response::new(Body::empty()) } else { json(body) };
    if known {
        *response.status_mut() = StatusCode::NOT_MODIFIED;
    }
    response.headers_mut().insert(ETAG, tag.clone());
    response
}

/// A proxy may have made a tag weak; that changes nothing for whoever reads.
fn is_among(sent: &HeaderValue, tag: &HeaderValue) -> bool {
    let Ok(sent) = sent.to_str() else { return false };
    sent.split(',')
        .map(str::trim)
        .any(|one| one == "*" || one.strip_prefix("W/").unwrap_or(one).as_bytes() == tag.as_bytes())
}

/// The server, if there is one.
pub(crate) fn engine(console: &Inner) -> Result<&Engine, Problem> {
    console.engine.as_ref().ok_or_else(Problem::no_such_path)
}

/// An error of the protocol as one of HTTP.
pub(crate) fn failed(error: &ErrorObject) -> Problem {
    let data: Option<Value> =
        error.data.as_deref().and_then(|data| serde_json::from_str(data.get()).ok());
    let ours = data.as_ref().map(|data| &data["dev.candor/error"]);
    let trace = ours.and_then(|ours| ours["traceId"].as_str()).unwrap_or_default();
    match error.code() {
        code::INVALID_PARAMS => Problem::bad_request(error.message.clone()),
        code::METHOD_NOT_FOUND => Problem::no_such_path(),
        code::BUSY => Problem::new(StatusCode::SERVICE_UNAVAILABLE, "busy", error.message.clone())
            .retry_after_ms(1000),
        code::INTERNAL_ERROR => Problem::internal(trace),
        _ => Problem::bad_request(error.message.clone()),
    }
}
