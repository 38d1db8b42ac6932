//! Serves a request in stages: check host and origin, find the route, find the caller, check what the route needs, and only then
//! respond.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use axum::body::{Body, HttpBody as _};
use axum::extract::OriginalUri;
use axum::response::Response;
use candor_server::engine::trace as request_trace;
use candor_server::protocol::json::Object;
use candor_server::transport::http::{AdmittedRequest, Reservation, ResponseCapacity, hold};
use futures_util::FutureExt as _;
use http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ALLOW, CACHE_CONTROL, CONTENT_LENGTH, ETAG, VARY,
};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Method, Request, StatusCode};

use crate::access::{self, ConsoleIdentity};
use crate::problem::Problem;
use crate::request::{ConsoleRequest, accepts};
use crate::rest::{SharedBody, store};
use crate::route::{Backend, MatchedPath};
use crate::routes::ROUTES;
use crate::{Inner, trace, ui};

pub(crate) async fn serve(console: &Arc<Inner>, request: Request<Body>) -> Response {
    let (mut parts, body) = request.into_parts();
    let base = base(&parts);
    let is_head = parts.method == Method::HEAD;
    if is_head {
        parts.method = Method::GET;
    }
    let origin = console.front.allowed_origin(&parts.headers);
    let html = accepts(&parts.headers, "text/html");
    let meta = Arc::new(trace_meta(&parts.headers));
    let asked = html.then(|| parts.clone());
    let answered = answer(console, parts, body, base.clone());
    // A tool source is foreign code: if it panics, the client still gets a response.
    let answered = request_trace::of(&meta, async {
        AssertUnwindSafe(answered).catch_unwind().await.unwrap_or_else(|_| {
            let trace_id = request_trace::id();
            tracing::error!(trace_id, "a request panicked");
            Err(Problem::internal(&trace_id))
        })
    })
    .await;
    let mut response = match (answered, asked) {
        (Ok(response), _) => response,
        (Err(problem), None) => problem.into_response(),
        (Err(problem), Some(asked)) => {
            let visitor = whom_to_tell(console, &asked, &problem).await;
            ui::problem(console, &base, visitor.as_ref(), &problem)
        }
    };
    secure(response.headers_mut());
    if let Some(origin) = origin {
        let headers = response.headers_mut();
        headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        headers.insert(
            ACCESS_CONTROL_EXPOSE_HEADERS,
            HeaderValue::from_static("ETag, Idempotent-Replayed, Link, Retry-After"),
        );
        headers.append(VARY, HeaderValue::from_static("Origin"));
    }
    if is_head {
        // Keep the length: it is that of the response to GET.
        let length = response.headers().get(CONTENT_LENGTH).cloned().or_else(|| {
            let exact = response.body().size_hint().exact()?;
            Some(HeaderValue::from(exact))
        });
        *response.body_mut() = Body::empty();
        if let Some(length) = length {
            response.headers_mut().insert(CONTENT_LENGTH, length);
        }
    }
    response
}

/// Returns the metadata of a request that has the caller's trace, if it brought one.
fn trace_meta(headers: &HeaderMap) -> Object {
    let parent = headers.get(trace::TRACEPARENT).and_then(|value| value.to_str().ok());
    parent.map_or_else(Object::new, |parent| Object::new().with(trace::TRACEPARENT, parent))
}

/// Returns the caller for an error page, so that users see their identity and can change it. `None` if the request is unauthorized,
/// or if its host is wrong: then the page may not belong to this server.
async fn whom_to_tell(
    console: &Inner,
    asked: &Parts,
    problem: &Problem,
) -> Option<ConsoleIdentity> {
    if problem.status() == StatusCode::UNAUTHORIZED || problem.code() == "forbidden_origin" {
        return None;
    }
    let visitor = AssertUnwindSafe(access::identify(console, asked)).catch_unwind().await;
    visitor.ok().and_then(Result::ok)
}

async fn answer(
    console: &Arc<Inner>,
    parts: Parts,
    body: Body,
    base: String,
) -> Result<Response, Problem> {
    let mut arrival = console.front.receive(parts, body)?;
    let head = &arrival.head;
    let found = MatchedPath::find(ROUTES, head.uri.path(), reads(head), console.engine.is_some())?;
    if head.method == Method::OPTIONS {
        return Ok(options(found.allowed()));
    }
    let route = found
        .route(head.method.as_str())
        .ok_or_else(|| Problem::method_not_allowed(found.allowed()))?;
    // Before the first await: serial calls run in the order in which their requests arrive.
    let arrived =
        console.engine.as_ref().filter(|_| route.ordered).and_then(|engine| engine.arrive());
    let visitor = access::identify(console, head).await?;
    access::check(console, &visitor, route.access)?;
    if route.proof {
        access::check_proof(&visitor, &head.headers)?;
    }
    if route.runs && !console.allow_execute {
        return Err(Problem::forbidden("execution_disabled", "Tool execution is disabled."));
    }
    if route.backend == Backend::Ledger {
        store(console)?;
    }
    let slot = route.slot_for(visitor.operator);
    let identity = visitor.identity();
    let admitted = console.front.admit(&mut arrival, identity, route.body, slot).await?;
    let arrived = arrived.map(Arc::new);
    if let Some(arrived) = &arrived {
        arrived.hold_while_preparing();
    }
    let (parts, AdmittedRequest { body, slots, .. }) = (arrival.head, admitted);
    // A request without a slot is never refused, and its response has its own limits.
    let response = slots.as_ref().map(Reservation::response).cloned();
    let (room, body, param) = (body.slot, body.bytes, found.value);
    let asked = ConsoleRequest { parts, body, visitor, base, param, room, response, arrived };
    let response = (route.handler)(console, &asked).await?;
    if let Some(capacity) = &asked.response {
        keep_capacity(capacity, &response)?;
    }
    Ok(hold(response, (slots, asked.room)))
}

/// Holds capacity for a large response until the client has read it. A shared body needs none: another client that reads it slowly
/// takes no more memory. A stream of events keeps what it has: its last event is still to come.
fn keep_capacity(capacity: &ResponseCapacity, response: &Response) -> Result<(), Problem> {
    let Some(bytes) = response.body().size_hint().exact() else { return Ok(()) };
    let shared = response.extensions().get::<SharedBody>().is_some();
    let bytes = if shared { 0 } else { usize::try_from(bytes).unwrap_or(usize::MAX) };
    capacity.hold(bytes).map_err(|full| Problem::unheld(full, bytes))
}

/// Returns true if the request only reads, or asks whether it may.
fn reads(parts: &Parts) -> bool {
    let wanted = parts.headers.get("access-control-request-method");
    match parts.method {
        Method::OPTIONS => wanted.is_some_and(|method| method == "GET" || method == "HEAD"),
        _ => parts.method == Method::GET,
    }
}

fn options(allow: HeaderValue) -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NO_CONTENT;
    let headers = response.headers_mut();
    headers.insert(ALLOW, allow.clone());
    // Browsers ignore these unless there is an allowed origin beside them.
    headers.insert(ACCESS_CONTROL_ALLOW_METHODS, allow);
    let sent = "Authorization, Content-Type, Idempotency-Key, If-None-Match, traceparent";
    headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, HeaderValue::from_static(sent));
    response
}

/// Returns the path where the router is mounted: the original path without the router's own.
fn base(parts: &Parts) -> String {
    let ours = parts.uri.path();
    let whole = parts.extensions.get::<OriginalUri>().map_or(ours, |uri| uri.0.path());
    let base = whole.strip_suffix(ours).unwrap_or(whole).trim_end_matches('/');
    // Browsers read two slashes as the name of another host. A prefix with captures can match them.
    if base.starts_with("//") { String::new() } else { base.to_owned() }
}

const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
     media-src data:; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; \
     require-trusted-types-for 'script'; trusted-types 'none'";

/// Adds the security headers of every response.
fn secure(headers: &mut HeaderMap) {
    for (name, value) in [
        ("content-security-policy", CONTENT_SECURITY_POLICY),
        ("x-content-type-options", "nosniff"),
        // Not `no-referrer`: with that, browsers send the login form with `Origin: null`, which the server refuses.
        ("referrer-policy", "same-origin"),
        ("cross-origin-opener-policy", "same-origin"),
        ("cross-origin-resource-policy", "same-origin"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    // Responses depend on the caller, so they must not be stored. A response with a tag may be stored and is revalidated each time.
    if !headers.contains_key(CACHE_CONTROL) {
        let tagged = headers.contains_key(ETAG);
        let value = if tagged { "private, no-cache" } else { "no-store" };
        headers.insert(CACHE_CONTROL, HeaderValue::from_static(value));
    }
}
