//! Why a request is refused before its handler runs: one table of status, code and words for the MCP endpoint and the console.

use std::borrow::Cow;

use http::header::{RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderName, HeaderValue, StatusCode};

use crate::auth::Unauthorized;
use crate::rpc::encode::error::at_capacity;
use candor_engine::AtCapacity;

/// Why a request was refused. Nothing was run.
#[derive(Debug, Clone)]
pub enum Rejection {
    /// The request addresses another server, or comes from a page of another origin.
    Address(&'static str),
    /// The request has no known principal.
    Credential(Unauthorized),
    /// The body has another media type than JSON.
    ContentType,
    /// The client does not accept the media types of the response.
    Accept,
    /// The body exceeds the size limit.
    TooLarge {
        /// The limit, in bytes.
        most: usize,
    },
    /// The body did not come in time.
    TooSlow,
    /// The client disconnected, or sent an invalid body.
    BrokenBody,
    /// The idempotency key in the header is invalid.
    Key(&'static str),
    /// There is no slot for the request.
    AtCapacity(AtCapacity),
    /// There was no capacity for a large body in time.
    BodyAtCapacity(AtCapacity),
}

impl Rejection {
    /// Returns the HTTP status, the stable code for programs, and the reason in words.
    #[must_use]
    pub fn describe(&self) -> (StatusCode, &'static str, Cow<'static, str>) {
        use StatusCode as S;
        let (status, code, words) = match self {
            Self::Address(why) => (S::FORBIDDEN, "forbidden_origin", *why),
            Self::Credential(_) => (S::UNAUTHORIZED, "unauthorized", "a credential is required"),
            Self::ContentType => (
                S::UNSUPPORTED_MEDIA_TYPE,
                "unsupported_media_type",
                "Content-Type must be application/json",
            ),
            Self::Accept => (
                S::NOT_ACCEPTABLE,
                "not_acceptable",
                "Accept must list application/json and text/event-stream",
            ),
            Self::TooLarge { most } => {
                let words = format!("the message is too long: at most {most} bytes are allowed");
                return (S::PAYLOAD_TOO_LARGE, "too_large", words.into());
            }
            Self::TooSlow => (S::REQUEST_TIMEOUT, "too_slow", "the body did not come in time"),
            Self::BrokenBody => (S::BAD_REQUEST, "bad_request", "the body broke off"),
            Self::Key(why) => (S::BAD_REQUEST, "idempotency_key_invalid", *why),
            Self::AtCapacity(full) => {
                return (status(*full), "busy", at_capacity(*full).message.into());
            }
            Self::BodyAtCapacity(full @ AtCapacity::Everybody) => (
                status(*full),
                "busy",
                "The server has no capacity for large bodies now. Nothing was run. Send it again later.",
            ),
            Self::BodyAtCapacity(full @ AtCapacity::Caller) => (
                status(*full),
                "busy",
                "You have reached your limit of concurrent large bodies. Nothing was run. Send it again when others end.",
            ),
        };
        (status, code, words.into())
    }

    /// Returns the header that goes with the reason.
    #[must_use]
    pub fn header(&self) -> Option<(HeaderName, HeaderValue)> {
        match self {
            Self::Credential(refused) => Some((WWW_AUTHENTICATE, refused.challenge.clone())),
            Self::AtCapacity(_) | Self::BodyAtCapacity(_) => {
                Some((RETRY_AFTER, HeaderValue::from_static("1")))
            }
            _ => None,
        }
    }
}

fn status(full: AtCapacity) -> StatusCode {
    match full {
        AtCapacity::Everybody => StatusCode::SERVICE_UNAVAILABLE,
        AtCapacity::Caller => StatusCode::TOO_MANY_REQUESTS,
    }
}
