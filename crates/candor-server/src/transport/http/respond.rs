//! HTTP responses with one message, or with the reason for a refusal.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::{Body, HttpBody};
use axum::response::Response;
use bytes::Bytes;
use candor_protocol::names::header;
use candor_protocol::rpc::{ErrorObject, RequestId, code, write_error};
use http::header::{ALLOW, CONTENT_TYPE};
use http::{HeaderValue, StatusCode};
use hyper::body::{Frame, SizeHint};

use super::rejection::Rejection;
use crate::rpc::encode::answer::Answer;
use crate::rpc::encode::error::at_capacity;
use crate::rpc::written::Written;

/// Returns a response with one JSON-RPC message.
pub(super) fn json(status: StatusCode, message: impl Into<Written>) -> Response {
    let [head, shared, tail] = message.into().into_pieces();
    let body = match shared.is_empty() {
        true => Body::from(head),
        false => Body::new(Pieces([head, shared, tail].into())),
    };
    let mut response = Response::new(body);
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// Returns the response for an answer, if there is one.
pub(super) fn answer(status: StatusCode, answer: Answer) -> Option<Response> {
    let replayed = answer.is_replayed();
    Some(marked(json(status, answer.into_written()?), replayed))
}

/// Adds the header that marks a replayed result, if it is one.
pub(super) fn marked(mut response: Response, replayed: bool) -> Response {
    if replayed {
        response.headers_mut().insert(header::REPLAYED, HeaderValue::from_static("true"));
    }
    response
}

/// A body in pieces, with a known length.
struct Pieces(VecDeque<Bytes>);

impl HttpBody for Pieces {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(self.0.pop_front().map(|piece| Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.0.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.0.iter().map(|piece| piece.len() as u64).sum())
    }
}

/// Returns a response with a JSON-RPC error.
pub(super) fn error(status: StatusCode, id: Option<&RequestId>, error: &ErrorObject) -> Response {
    json(status, write_error(id, error))
}

/// Returns a response to a request that was refused before its message was decoded.
pub(super) fn problem(status: StatusCode, problem: &str) -> Response {
    error(status, None, &ErrorObject::invalid_request(format!("Invalid request: {problem}")))
}

/// Returns a response to a method that exists only for sessions.
pub(super) fn only_post(why: &str) -> Response {
    let mut response = problem(StatusCode::METHOD_NOT_ALLOWED, why);
    response.headers_mut().insert(ALLOW, HeaderValue::from_static("POST"));
    response
}

/// Returns a response to a request that the front refused.
pub(super) fn rejected(rejection: &Rejection, id: Option<&RequestId>) -> Response {
    let (status, _, words) = rejection.describe();
    let mut response = match rejection {
        Rejection::AtCapacity(full) | Rejection::BodyAtCapacity(full) => {
            let mut busy = at_capacity(*full);
            busy.message = words.into_owned();
            error(status, id, &busy)
        }
        _ => problem(status, &words),
    };
    if let Some((name, value)) = rejection.header() {
        response.headers_mut().insert(name, value);
    }
    response
}

/// Returns a response without a body.
pub(super) fn empty(status: StatusCode) -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = status;
    response
}

/// Returns the status for an answer, where the modern revision defines one.
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
