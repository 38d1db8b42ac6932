//! Serves a request in stages: check the host, parse the path, authenticate the caller, check its access, and only then respond.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::OriginalUri;
use axum::response::Response;
use bytes::Bytes;
use candor_server::Arrived;
use candor_server::transport::http::{BodyError, HeldBody, ResponseCapacity, Slot, hold};
use futures_util::FutureExt as _;
use http::header::{
    ACCEPT, ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS,
    ACCESS_CONTROL_ALLOW_ORIGIN, ACCESS_CONTROL_EXPOSE_HEADERS, ALLOW, CACHE_CONTROL, VARY,
};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Method, Request, StatusCode};

use crate::guard::{self, ConsoleIdentity};
use crate::problem::Problem;
use crate::route::{Page, Resource, Route, Verb};
use crate::{Inner, rest, room, trace, ui};

/// A request that passed all checks.
pub(crate) struct ConsoleRequest {
    pub(crate) parts: Parts,
    pub(crate) body: Bytes,
    pub(crate) visitor: ConsoleIdentity,
    /// The path at which the router is mounted, without a slash at its end.
    pub(crate) base: String,
    /// The slot of a large body.
    pub(crate) room: Option<Arc<Slot>>,
    /// The capacity for the response, if the request holds a slot.
    pub(crate) response: Option<ResponseCapacity>,
    /// When a call arrived, for the order of serial calls.
    pub(crate) arrived: Option<Arrived>,
}

impl ConsoleRequest {
    /// Returns the first value of a query parameter that is not empty.
    pub(crate) fn query(&self, name: &str) -> Option<String> {
        self.queries(name).into_iter().next()
    }

    /// Returns the value of a parameter that the server must not miss. The name matches in any case, and an empty value counts.
    pub(crate) fn given(&self, name: &str) -> Option<String> {
        let pairs = self.parts.uri.query().unwrap_or_default().split('&');
        let mut pairs = pairs.map(|pair| pair.split_once('=').unwrap_or((pair, "")));
        let found = pairs.find(|(key, _)| decoded(key).eq_ignore_ascii_case(name));
        found.map(|(_, value)| decoded(value))
    }

    /// Returns all values of a parameter that may repeat, except empty ones.
    pub(crate) fn queries(&self, name: &str) -> Vec<String> {
        let pairs = self.parts.uri.query().unwrap_or_default().split('&');
        let pairs = pairs.map(|pair| pair.split_once('=').unwrap_or((pair, "")));
        let values = pairs.filter(|(key, _)| decoded(key) == name).map(|(_, value)| decoded(value));
        values.filter(|value| !value.is_empty()).collect()
    }
}

/// Decodes a part of a query or of a form.
pub(crate) fn decoded(text: &str) -> String {
    let spaced = text.replace('+', " ");
    percent_encoding::percent_decode_str(&spaced).decode_utf8_lossy().into_owned()
}

pub(crate) fn accepts(headers: &HeaderMap, kind: &str) -> bool {
    let mut lines = headers.get_all(ACCEPT).iter().filter_map(|line| line.to_str().ok());
    lines.any(|line| line.split(',').any(|one| one.split(';').next().unwrap_or("").trim() == kind))
}

pub(crate) async fn serve(console: &Arc<Inner>, request: Request<Body>) -> Response {
    let (mut parts, body) = request.into_parts();
    let base = base(&parts);
    let is_head = parts.method == Method::HEAD;
    if is_head {
        parts.method = Method::GET;
    }
    let origin = guard::foreign_origin(console, &parts.headers);
    let html = accepts(&parts.headers, "text/html");
    let trace_id = trace::id(&parts.headers);
    let asked = html.then(|| parts.clone());
    let answered = answer(console, parts, body, base.clone());
    // A tool source is foreign code: if it panics, the client still gets a response.
    let answered = AssertUnwindSafe(answered).catch_unwind().await.unwrap_or_else(|_| {
        tracing::error!(trace_id, "a request panicked");
        Err(Problem::internal(&trace_id))
    });
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
        let length = response.headers().get(http::header::CONTENT_LENGTH).cloned().or_else(|| {
            let exact = axum::body::HttpBody::size_hint(response.body()).exact()?;
            Some(HeaderValue::from(exact))
        });
        *response.body_mut() = Body::empty();
        if let Some(length) = length {
            response.headers_mut().insert(http::header::CONTENT_LENGTH, length);
        }
    }
    response
}

/// Returns the caller for an error page, so that users see their identity and can change it. `None` if the request is unauthorized,
/// or if its host is wrong: then the page may not belong to this server.
async fn whom_to_tell(
    console: &Inner,
    asked: &Parts,
    problem: &Problem,
) -> Option<ConsoleIdentity> {
    if problem.status() == StatusCode::UNAUTHORIZED || guard::check_host(console, asked).is_err() {
        return None;
    }
    let visitor = AssertUnwindSafe(guard::visitor(console, asked)).catch_unwind().await;
    visitor.ok().and_then(Result::ok)
}

async fn answer(
    console: &Arc<Inner>,
    parts: Parts,
    body: Body,
    base: String,
) -> Result<Response, Problem> {
    guard::check_host(console, &parts)?;
    let route = match Route::read(parts.uri.path(), !looks(&parts))? {
        // Without a server, there are no tools to show first.
        Route::Home if console.engine.is_none() => Route::Page(Page::Approvals),
        route => route,
    };
    let allow = allowed(&route);
    if parts.method == Method::OPTIONS {
        return Ok(options(allow));
    }
    if !allow.split(", ").any(|method| method == parts.method.as_str()) {
        return Err(Problem::method_not_allowed(allow));
    }
    // Before the first await: serial calls run in the order in which their requests arrive.
    let arrived = match (&route, &console.engine) {
        (Route::Verb(_, Verb::Call), Some(engine)) => Some(engine.arrived()),
        _ => None,
    };
    let visitor = guard::visitor(console, &parts).await?;
    guard::admit(console, &visitor, &route)?;
    guard::check_proof(&visitor, &route, &parts.method, &parts.headers)?;
    let HeldBody { bytes: body, room } = read(console, (&visitor, &route), body).await?;
    if let Some(arrived) = &arrived {
        arrived.has_body();
    }
    // Only now: a client that sends its body slowly must not hold a slot.
    let place = room::take(console, &visitor, &route)?;
    // A request without a slot is never refused, and its response has its own limits.
    let of = console.shares.then_some(&visitor.principal);
    let capacity = place.as_ref().map(|_| ResponseCapacity::rewritten(&console.rooms, of));
    let asked = ConsoleRequest { parts, body, visitor, base, room, response: capacity, arrived };
    let response = act(console, &asked, route).await?;
    if let Some(capacity) = &asked.response {
        room::of_answer(capacity, &response)?;
    }
    Ok(hold(response, (place, asked.room, asked.response)))
}

/// Runs the handler of a route.
async fn act(
    console: &Arc<Inner>,
    asked: &ConsoleRequest,
    route: Route,
) -> Result<Response, Problem> {
    match route {
        Route::Home => ui::tools::page(console, asked).await,
        Route::Page(page) => match page {
            Page::Tool(name) => ui::tool::page(console, asked, &name).await,
            Page::Approvals => ui::approvals::page(console, asked).await,
            Page::Approval(id) => ui::approvals::one(console, asked, &id).await,
            Page::History => ui::history::page(console, asked).await,
            Page::Operation(id) => ui::operation::page(console, asked, &id).await,
            Page::Resources => ui::resources::page(console, asked),
            Page::Server => ui::server::page(console, asked).await,
        },
        Route::Session => ui::session::answer(console, asked).await,
        Route::Asset(name) => ui::assets::answer(asked, &name),
        Route::Tools => rest::tools::list(console, asked).await,
        Route::Tool(name) => rest::tools::one(console, asked, &name).await,
        Route::Verb(name, verb) => rest::tools::act(console, asked, &name, verb).await,
        Route::Resources(Resource::List) => rest::resources::list(console, asked).await,
        Route::Resources(Resource::Metadata) => rest::resources::metadata(console, asked).await,
        Route::Resources(Resource::Content) => rest::resources::content(console, asked).await,
        Route::Resources(Resource::Events) => rest::watching::events(console, asked),
        Route::Approvals => rest::approvals::list(console, asked).await,
        Route::ApprovalEvents => rest::approvals::events(console, asked),
        Route::Approval(id) => rest::approvals::one(console, asked, &id).await,
        Route::Decision(id, decided) => rest::approvals::decide(console, asked, &id, decided).await,
        Route::Grants => rest::approvals::grants(console, asked).await,
        Route::Grant(id) => rest::approvals::revoke(console, asked, &id).await,
        Route::History => rest::history::list(console, asked).await,
        Route::Export => rest::history::export(console, asked),
        Route::Operation(id) => rest::history::one(console, asked, &id).await,
        Route::Resolve(id) => rest::history::resolve(console, asked, &id).await,
        Route::OpenApi => rest::openapi::answer(console, asked).await,
    }
}

/// Returns the methods of a path.
pub(crate) fn allowed(route: &Route) -> &'static str {
    match route {
        Route::Verb(..) | Route::Decision(..) | Route::Resolve(_) => "POST, OPTIONS",
        Route::Session => "POST, DELETE, OPTIONS",
        Route::Grant(_) => "DELETE, OPTIONS",
        _ => "GET, HEAD, OPTIONS",
    }
}

/// Returns true if the request only reads, or asks whether it may.
fn looks(parts: &Parts) -> bool {
    let wanted = parts.headers.get("access-control-request-method");
    match parts.method {
        Method::OPTIONS => wanted.is_some_and(|method| method == "GET" || method == "HEAD"),
        _ => parts.method == Method::GET,
    }
}

fn options(allow: &'static str) -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NO_CONTENT;
    let headers = response.headers_mut();
    headers.insert(ALLOW, HeaderValue::from_static(allow));
    // Browsers ignore these unless there is an allowed origin beside them.
    headers.insert(ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static(allow));
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

/// Reads the body. A login must be small: its sender is not authenticated, and must not use capacity of authenticated callers.
async fn read(
    console: &Inner,
    asked: (&ConsoleIdentity, &Route),
    body: Body,
) -> Result<HeldBody, Problem> {
    let read = match asked {
        (_, Route::Session) => console.bodies.read_small(body).await,
        (visitor, _) => console.bodies.read(body, &visitor.principal).await,
    };
    read.map_err(|unread| match unread {
        BodyError::TooLarge { most } => Problem::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            "too_large",
            format!("A body may have {most} bytes"),
        ),
        BodyError::TookTooLong => Problem::new(
            StatusCode::REQUEST_TIMEOUT,
            "too_slow",
            "The body did not come in time",
        ),
        BodyError::NoRoom => Problem::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "busy",
            "The server has no capacity for large bodies now. Nothing was run. Send it again later.",
        )
        .retry_after_ms(1000),
        BodyError::NoShare => Problem::new(
            StatusCode::TOO_MANY_REQUESTS,
            "busy",
            "You have reached your limit of concurrent large bodies. Nothing was run. Send it again when others end.",
        )
        .retry_after_ms(1000),
        _ => Problem::bad_request("The body broke off"),
    })
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
        let tagged = headers.contains_key(http::header::ETAG);
        let value = if tagged { "private, no-cache" } else { "no-store" };
        headers.insert(CACHE_CONTROL, HeaderValue::from_static(value));
    }
}
