//! HTTP responses that carry one message, or say why there is none.

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use candor_protocol::rpc::{ErrorObject, RequestId, code, write_error};
use http::header::{ALLOW, CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderValue, StatusCode};

use crate::answer::Answer;
use crate::auth::Unauthorized;

/// One JSON-RPC message.
pub(super) fn json(status: StatusCode, message: Bytes) -> Response {
    let mut response = Response::new(Body::from(message));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// A JSON-RPC error.
pub(super) fn error(status: StatusCode, id: Option<&RequestId>, error: &ErrorObject) -> Response {
    json(status, write_error(id, error).into())
}

/// A request that was refused before anybody looked for a message in it.
pub(super) fn problem(status: StatusCode, problem: &str) -> Response {
    error(status, None, &ErrorObject::invalid_request(format!("Invalid request: {problem}")))
}

/// A request by a method that only sessions have.
pub(super) fn only_post(why: &str) -> Response {
    let mut response = problem(StatusCode::METHOD_NOT_ALLOWED, why);
    response.headers_mut().insert(ALLOW, HeaderValue::from_static("POST"));
    response
}

/// A request whose principal is not known.
pub(super) fn unauthorized(refused: Unauthorized) -> Response {
    let mut response = problem(StatusCode::UNAUTHORIZED, "a credential is required");
    response.headers_mut().insert(WWW_AUTHENTICATE, refused.challenge);
    response
}

/// Too much is running.
pub(super) fn busy(id: Option<&RequestId>) -> Response {
    let mut response = error(StatusCode::SERVICE_UNAVAILABLE, id, &ErrorObject::busy());
    response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"));
    response
}

/// Nothing to say but the status.
pub(super) fn empty(status: StatusCode) -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = status;
    response
}

/// The status that goes with an answer, where the modern revision names one.
pub(super) fn status_of(answer: &Answer) -> StatusCode {
    match answer {
        Answer::Error { code: code::METHOD_NOT_FOUND, .. } => StatusCode::NOT_FOUND,
        Answer::Error {
            code:
                code::HEADER_MISMATCH | code::MISSING_CLIENT_CAPABILITY | code::UNSUPPORTED_VERSION,
            ..
        }
        | Answer::Error { dispatched: false, .. } => StatusCode::BAD_REQUEST,
        _ => StatusCode::OK,
    }
}
