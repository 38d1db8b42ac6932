//! A request, stage by stage: is it meant for us, what does it mean, who asks, may they, and only then the answer.

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

/// A request that was let in.
pub(crate) struct ConsoleRequest {
    pub(crate) parts: Parts,
    pub(crate) body: Bytes,
    pub(crate) visitor: ConsoleIdentity,
    /// The path at which the router is mounted, without a slash at its end.
    pub(crate) base: String,
    /// The room that the body takes, if it is large.
    pub(crate) room: Option<Arc<Slot>>,
    /// The capacity that the response is built in, if the request takes a place.
    pub(crate) response: Option<ResponseCapacity>,
    /// When a call arrived.
    pub(crate) arrived: Option<Arrived>,
}

impl ConsoleRequest {
    /// The value of a parameter in the query.
    pub(crate) fn query(&self, name: &str) -> Option<String> {
        self.queries(name).into_iter().next()
    }

    /// The value of a parameter that must not be missed: in any spelling of its name, and if it is empty, too.
    pub(crate) fn given(&self, name: &str) -> Option<String> {
        let pairs = self.parts.uri.query().unwrap_or_default().split('&');
        let mut pairs = pairs.map(|pair| pair.split_once('=').unwrap_or((pair, "")));
        let found = pairs.find(|(key, _)| decoded(key).eq_ignore_ascii_case(name));
        found.map(|(_, value)| decoded(value))
    }

    /// All values of a parameter that may be given more than once.
    pub(crate) fn queries(&self, name: &str) -> Vec<String> {
        let pairs = self.parts.uri.query().unwrap_or_default().split('&');
        let pairs = pairs.map(|pair| pair.split_once('=').unwrap_or((pair, "")));
        let values = pairs.filter(|(key, _)| decoded(key) == name).map(|(_, value)| decoded(value));
        values.filter(|value| !value.is_empty()).collect()
    }
}

/// A part of a query or of a form.
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
    // A provider is somebody else's code: if it panics, the answer is still one.
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
        // The length stays: it is that of what GET would send.
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

/// Who is told in a page that there is none: so that they see who they are, and can be somebody else. Nobody where it is not even
/// known whether the page is ours, and where nobody is known.
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
        // Without a server there are no tools to begin with.
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
    // Before anything is waited for: the order of serial calls is that in which requests arrive.
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
    // Only now: who sends slowly has not begun anything yet.
    let place = room::take(console, &visitor, &route)?;
    // Who needs no place is never kept out, and what they are shown has bounds of its own.
    let of = console.shares.then_some(&visitor.principal);
    let capacity = place.as_ref().map(|_| ResponseCapacity::rewritten(&console.rooms, of));
    let asked = ConsoleRequest { parts, body, visitor, base, room, response: capacity, arrived };
    let response = act(console, &asked, route).await?;
    if let Some(capacity) = &asked.response {
        room::of_answer(capacity, &response)?;
    }
    Ok(hold(response, (place, asked.room, asked.response)))
}

/// Does what the path means.
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

/// The methods of a path.
pub(crate) fn allowed(route: &Route) -> &'static str {
    match route {
        Route::Verb(..) | Route::Decision(..) | Route::Resolve(_) => "POST, OPTIONS",
        Route::Session => "POST, DELETE, OPTIONS",
        Route::Grant(_) => "DELETE, OPTIONS",
        _ => "GET, HEAD, OPTIONS",
    }
}

/// Whether it wants to see something, or to know whether it may.
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
    // Without an allowed origin beside them, these say nothing.
    headers.insert(ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static(allow));
    let sent = "Authorization, Content-Type, Idempotency-Key, If-None-Match, traceparent";
    headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, HeaderValue::from_static(sent));
    response
}

/// Where we are mounted: what the path that was asked for has before ours.
fn base(parts: &Parts) -> String {
    let ours = parts.uri.path();
    let whole = parts.extensions.get::<OriginalUri>().map_or(ours, |uri| uri.0.path());
    let base = whole.strip_suffix(ours).unwrap_or(whole).trim_end_matches('/');
    // Browsers read two slashes as the name of another host. A prefix with captures can match them.
    if base.starts_with("//") { String::new() } else { base.to_owned() }
}

/// Whoever may ask for this before they are known, to log in, sends little; nobody can take the room of those who are.
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

/// What every answer says to browsers.
fn secure(headers: &mut HeaderMap) {
    for (name, value) in [
        ("content-security-policy", CONTENT_SECURITY_POLICY),
        ("x-content-type-options", "nosniff"),
        // Not `no-referrer`: with that, browsers send the login form with `Origin: null`, which nobody may come from.
        ("referrer-policy", "same-origin"),
        ("cross-origin-opener-policy", "same-origin"),
        ("cross-origin-resource-policy", "same-origin"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    // What depends on who asks is kept by nobody; what has a tag may be kept, and is asked for again each time.
    if !headers.contains_key(CACHE_CONTROL) {
        let tagged = headers.contains_key(http::header::ETAG);
        let value = if tagged { "private, no-cache" } else { "no-store" };
        headers.insert(CACHE_CONTROL, HeaderValue::from_static(value));
    }
}
