//! Error responses. All have one shape: the problem details of RFC 9457, plus the member `error` of the discovery API.

use axum::body::Body;
use axum::response::Response;
use candor_server::Refusal;
use candor_server::protocol::names::failure;
use candor_server::transport::http::{AtCapacity, Rejection};
use http::header::{ALLOW, CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use serde_json::{Map, Value, json};

use crate::trace;

/// An error response.
#[derive(Debug)]
pub(crate) struct Problem(Box<Parts>);

#[derive(Debug)]
struct Parts {
    status: StatusCode,
    code: String,
    detail: String,
    members: Map<String, Value>,
    headers: Vec<(HeaderName, HeaderValue)>,
    bare: bool,
}

impl Problem {
    /// Returns a problem with a stable code for programs and a sentence for users.
    pub(crate) fn new(status: StatusCode, code: &str, detail: impl Into<String>) -> Self {
        Self(Box::new(Parts {
            status,
            code: code.to_owned(),
            detail: detail.into(),
            members: Map::new(),
            headers: Vec::new(),
            bare: false,
        }))
    }

    pub(crate) fn bad_request(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "bad_request", detail)
    }

    /// Returns the problem for an unknown path.
    pub(crate) fn no_such_path() -> Self {
        Self::new(StatusCode::NOT_FOUND, "not_found", "Nothing is served at this path")
    }

    /// Returns the problem for an unknown tool. Its body has no other members, because clients of the API compare the whole body.
    pub(crate) fn no_such_tool(name: &str) -> Self {
        let mut problem =
            Self::new(StatusCode::NOT_FOUND, "not_found", format!("Tool not found: {name}"));
        problem.0.bare = true;
        problem
    }

    pub(crate) fn method_not_allowed(allow: HeaderValue) -> Self {
        let words = format!("This path takes {}", allow.to_str().unwrap_or_default());
        Self::new(StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", words).header(ALLOW, allow)
    }

    pub(crate) fn unauthorized(detail: &str) -> Self {
        Self::new(StatusCode::UNAUTHORIZED, "unauthorized", detail)
            .header(WWW_AUTHENTICATE, HeaderValue::from_static(r#"Bearer realm="candor""#))
    }

    pub(crate) fn forbidden(code: &str, detail: &str) -> Self {
        Self::new(StatusCode::FORBIDDEN, code, detail)
    }

    /// Returns the problem for a response that the server has no capacity to hold until the client has read it.
    pub(crate) fn unheld(full: AtCapacity, bytes: usize) -> Self {
        let trace_id = trace::id();
        tracing::warn!(trace_id, bytes, "there is no capacity for a response");
        let refusal = Refusal::ResponseDropped { bytes, scope: full };
        let status = match full {
            AtCapacity::Everybody => StatusCode::SERVICE_UNAVAILABLE,
            AtCapacity::Caller => StatusCode::TOO_MANY_REQUESTS,
        };
        Self::new(status, failure::RESULT_TOO_LARGE, refusal.words()).member("trace_id", trace_id)
    }

    /// Returns an internal error. The log has `trace_id`.
    pub(crate) fn internal(trace_id: &str) -> Self {
        Self::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "internal",
            "It failed unexpectedly; the server's log says why.",
        )
        .member("trace_id", trace_id)
    }

    /// Adds a member to the body, for programs.
    #[must_use]
    pub(crate) fn member(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.0.members.insert(name.to_owned(), value.into());
        self
    }

    #[must_use]
    pub(crate) fn retry_after_ms(self, millis: u64) -> Self {
        let seconds = HeaderValue::from(millis.div_ceil(1000));
        self.member("is_retriable", true)
            .member("retry_after_ms", millis)
            .header(RETRY_AFTER, seconds)
    }

    #[must_use]
    pub(crate) fn header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.0.headers.push((name, value));
        self
    }

    pub(crate) fn status(&self) -> StatusCode {
        self.0.status
    }

    pub(crate) fn code(&self) -> &str {
        &self.0.code
    }

    /// Returns the sentence for users.
    pub(crate) fn detail(&self) -> &str {
        &self.0.detail
    }

    /// Adds the problem's headers, which are independent of the body.
    pub(crate) fn add_headers(&self, to: &mut HeaderMap) {
        for (name, value) in &self.0.headers {
            to.insert(name, value.clone());
        }
    }

    /// Returns the body for programs.
    pub(crate) fn body(&self) -> Value {
        let Parts { status, code, detail, members, bare, .. } = &*self.0;
        if *bare {
            return json!({"error": detail});
        }
        let mut body = json!({
            "type": "about:blank",
            "title": status.canonical_reason().unwrap_or("Problem"),
            "status": status.as_u16(),
            "code": code,
            "is_retriable": false,
        });
        if let Value::Object(body) = &mut body {
            // Clients compare this word and expect no `detail`, so the sentence becomes a suggestion.
            if *status == StatusCode::UNAUTHORIZED {
                body.insert("error".to_owned(), "Unauthorized".into());
                body.insert("suggestions".to_owned(), json!([detail]));
            } else {
                body.insert("detail".to_owned(), detail.as_str().into());
                body.insert("error".to_owned(), detail.as_str().into());
            }
            body.extend(members.clone());
        }
        body
    }

    pub(crate) fn into_response(self) -> Response {
        let mut response = Response::new(Body::from(self.body().to_string()));
        self.add_headers(response.headers_mut());
        let Parts { status, bare, .. } = *self.0;
        let kind = if bare { "application/json" } else { "application/problem+json" };
        *response.status_mut() = status;
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
        response
    }
}

impl From<Rejection> for Problem {
    fn from(rejection: Rejection) -> Self {
        let (status, code, words) = rejection.describe();
        let (first, rest) = words.split_at(words.chars().next().map_or(0, char::len_utf8));
        let mut problem = Self::new(status, code, first.to_uppercase() + rest);
        let full = match rejection {
            Rejection::AtCapacity(full) | Rejection::BodyAtCapacity(full) => Some(full),
            _ => None,
        };
        if full == Some(AtCapacity::Everybody) {
            let trace_id = trace::id();
            tracing::warn!(trace_id, "there is no capacity for a request");
            problem = problem.member("trace_id", trace_id);
        }
        match (full, rejection.header()) {
            (Some(_), _) => problem.retry_after_ms(1000),
            (None, Some((name, value))) => problem.header(name, value),
            (None, None) => problem,
        }
    }
}
