//! Error responses: refused credentials, a lost session, the server's own error, or another body such as an HTML page.

use std::sync::atomic::Ordering;
use std::time::Duration;

use bytes::Bytes;
use candor_protocol::json::{Decode as _, Object, scan};
use candor_protocol::rpc::{ErrorObject, Incoming, RequestId, code, decode_message};
use http::Response;
use http::header::{HeaderName, LOCATION, RETRY_AFTER, WWW_AUTHENTICATE};
use hyper::body::Incoming as Body;

use super::answer::collect;
use super::{Mode, Shared};
use crate::error::Error;

/// The maximum characters of an unknown body in an error.
pub(super) const SHOWN: usize = 300;

/// The error code of the TypeScript SDK's examples for an unknown session. They use it for other errors, too.
const NO_SESSION: i64 = -32000;

impl Shared {
    fn has_session(&self) -> bool {
        matches!(self.mode, Mode::Legacy { session: Some(_) })
    }

    /// Notes that the server no longer knows the session.
    fn forget(&self) -> Error {
        self.forgotten.store(true, Ordering::Release);
        Error::SessionExpired
    }

    /// Returns the error of an unsuccessful response. `id`: the id of the request, if it was one.
    pub(super) async fn refused(&self, id: Option<&RequestId>, response: Response<Body>) -> Error {
        let (head, body) = response.into_parts();
        let status = head.status.as_u16();
        let said = |name: HeaderName| {
            head.headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned)
        };
        if matches!(status, 401 | 403) {
            return Error::Unauthorized { status, challenge: said(WWW_AUTHENTICATE) };
        }
        if status == 404 && self.has_session() {
            return match id {
                Some(id) => self.lost_session_or_method(id, body).await,
                None => self.forget(),
            };
        }
        if head.status.is_redirection() {
            let to = said(LOCATION).unwrap_or_default();
            // Do not follow the redirect: it would send the token elsewhere.
            return Error::protocol(format!("it has moved to {to:?}; name that URL instead"));
        }
        let retry_after = said(RETRY_AFTER).and_then(|text| text.trim().parse().ok());
        let retry_after = retry_after.map(Duration::from_secs);
        let body = self.body_of_error(body).await;
        match error_of(&body, self.limits.max_depth) {
            // The protocol requires 404, but the examples of the TypeScript SDK, and servers modeled on them, send this.
            Some(error)
                if status == 400
                    && self.has_session()
                    && error.code() == NO_SESSION
                    && error.message.to_ascii_lowercase().contains("session") =>
            {
                self.forget()
            }
            Some(error) if retry_after.is_none() => Error::Server(error),
            Some(error) => Error::Http { status, body: error.message, retry_after },
            None => {
                let text = String::from_utf8_lossy(&body);
                let body = text.trim().chars().take(SHOWN).collect();
                Error::Http { status, body, retry_after }
            }
        }
    }

    async fn body_of_error(&self, body: Body) -> Bytes {
        collect(body, self.limits.max_message.min(1 << 20)).await.unwrap_or_default()
    }

    /// Returns what a 404 within a session means. Usually, the session is lost. Some servers send it for a method that they do not
    /// have, as the modern protocol requires. A lost session may come with a JSON-RPC error, too, but with another code.
    async fn lost_session_or_method(&self, id: &RequestId, body: Body) -> Error {
        let body = self.body_of_error(body).await;
        match decode_message(&body, self.limits.max_depth) {
            Ok(Incoming::Response(response)) if response.id == *id => match response.outcome {
                Err(error) if error.code() == code::METHOD_NOT_FOUND => Error::Server(error),
                _ => self.forget(),
            },
            _ => self.forget(),
        }
    }
}

/// Returns the error in a body, with or without an id.
fn error_of(body: &[u8], depth: usize) -> Option<ErrorObject> {
    match decode_message(body, depth) {
        Ok(Incoming::Response(response)) => response.outcome.err(),
        Ok(_) => None,
        Err(_) => error_without_id(body, depth),
    }
}

pub(super) fn error_without_id(body: &[u8], depth: usize) -> Option<ErrorObject> {
    let message = Object::decode(scan(body, depth).ok()?).ok()?;
    message.get("jsonrpc")?;
    message.read("error").ok().flatten()
}
