//! JSON for programs: a file for each subject.

pub(crate) mod approvals;
pub(crate) mod history;
pub(crate) mod openapi;
pub(crate) mod resources;
pub(crate) mod tools;

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use candor_server::protocol::rpc::{ErrorObject, code};
use candor_server::store::Store;
use candor_server::{Engine, desk};
use http::header::{CONTENT_TYPE, ETAG, IF_NONE_MATCH};
use http::{HeaderMap, HeaderValue, StatusCode};
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

use crate::Inner;
use crate::problem::Problem;
use crate::serve::Asked;

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

/// The ledger, if there is one.
pub(crate) fn store(console: &Inner) -> Result<&dyn Store, Problem> {
    console.store.as_deref().ok_or_else(|| {
        let words = "This server keeps no ledger, so there are no approvals and no history: start it with --ledger";
        Problem::new(StatusCode::NOT_FOUND, "no_ledger", words)
    })
}

/// Why an operator's wish was not done.
pub(crate) fn refused(problem: desk::Problem) -> Problem {
    match problem {
        desk::Problem::Store(error) => {
            tracing::error!(%error, "the ledger could not be used");
            let words = "The ledger cannot be used just now; the server's log says why";
            Problem::new(StatusCode::SERVICE_UNAVAILABLE, "ledger_unavailable", words)
                .retry_after_ms(1000)
        }
        desk::Problem::Unknown(words) => Problem::new(StatusCode::NOT_FOUND, "not_found", words),
        other => Problem::new(StatusCode::CONFLICT, "refused", other.to_string()),
    }
}

/// A body that is a JSON object.
pub(crate) struct Sent(Map<String, Value>);

impl Sent {
    /// Reads it; no body at all is an empty one.
    pub(crate) fn read(asked: &Asked) -> Result<Self, Problem> {
        if asked.body.is_empty() {
            return Ok(Self(Map::new()));
        }
        let kind = asked.parts.headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
        if !kind.is_some_and(|kind| {
            kind.split(';').next().unwrap_or("").trim().eq_ignore_ascii_case("application/json")
        }) {
            let words = "Content-Type must be application/json";
            return Err(Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "not_json", words));
        }
        match serde_json::from_slice(&asked.body) {
            Ok(Value::Object(members)) => Ok(Self(members)),
            Ok(_) => Err(Problem::bad_request("The body must be a JSON object")),
            Err(error) => Err(Problem::bad_request(format!("The body is not JSON: {error}"))),
        }
    }

    /// Refuses members that nobody would look at: they may be meant.
    pub(crate) fn only(&self, known: &[&str]) -> Result<(), Problem> {
        match self.0.keys().find(|name| !known.contains(&name.as_str())) {
            None => Ok(()),
            Some(other) => Err(Problem::bad_request(format!(
                "`{other}` means nothing here; there are {}",
                known.join(", ")
            ))),
        }
    }

    pub(crate) fn member(&self, name: &str) -> Option<&Value> {
        self.0.get(name).filter(|value| !value.is_null())
    }

    pub(crate) fn text(&self, name: &str) -> Result<Option<&str>, Problem> {
        match self.member(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(Problem::bad_request(format!("`{name}` is a string"))),
        }
    }
}
