//! Streamable HTTP of both eras on one endpoint.
//!
//! The endpoint is an axum route that fits into any app:
//!
//! ```no_run
//! # async fn run(engine: candor_server::Engine) -> std::io::Result<()> {
//! use candor_server::transport::http::{Http, endpoint};
//!
//! let app = axum::Router::new().route("/mcp", endpoint(engine, Http::default()));
//! let listener = tokio::net::TcpListener::bind("127.0.0.1:7332").await?;
//! axum::serve(listener, app).await
//! # }
//! ```
//!
//! The endpoint itself checks `Host` and `Origin`, so the check applies wherever it is mounted.

#![allow(clippy::result_large_err)] // a refusal is a response, and there is at most one per request

mod body;
mod guard;
mod holding;
mod legacy;
mod modern;
mod patience;
mod replica;
mod respond;
mod serve;
mod sse;

use std::sync::Arc;

use axum::body::Body;
use axum::response::Response;
use axum::routing::{MethodRouter, post};
use candor_protocol::names::{header, method};
use candor_protocol::rpc::{self, Incoming, Rejected, RequestId, decode_message, split_batch};
use candor_protocol::{Era, Principal};
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE};
use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, Request, StatusCode};

use crate::admission::serial::SerialPosition;
use crate::answer::Answer;
use crate::auth::Authenticator;
use crate::caller::era_of;
use crate::engine::Engine;
use crate::identity::{Claims, Identity};
use crate::session::Sessions;

#[doc(hidden)] // for the console, which shares the capacity
pub use crate::ledger::key::of_headers as idempotency_key;
#[doc(hidden)]
pub use crate::response_capacity::{ResponseCapacity, SMALL};
#[doc(hidden)]
pub use crate::room::{AtCapacity, Capacity, Slot};
#[doc(hidden)]
pub use body::{Bodies, BodyError, HeldBody};
pub use guard::{AllowedHosts, PublicUrl, PublicUrlError};
#[doc(hidden)]
pub use holding::hold;
pub use replica::Replica;
pub use serve::serve;

/// How an endpoint is reached. By default only this machine reaches it, without authentication. Behind a proxy that publishes it:
///
/// ```
/// use std::sync::Arc;
///
/// use candor_server::auth::BearerTokens;
/// use candor_server::transport::http::{AllowedHosts, Http, PublicUrl};
///
/// # fn example(tokens: BearerTokens) -> Result<Http, Box<dyn std::error::Error>> {
/// let mut http = Http::default();
/// http.hosts = AllowedHosts::Public(PublicUrl::parse("https://tools.example")?);
/// http.authenticator = Some(Arc::new(tokens));
/// # Ok(http) }
/// ```
#[derive(Default)]
#[non_exhaustive]
pub struct Http {
    /// Finds the caller. Without one, the [server's own](crate::Server::authenticator) does. Without either, every caller is
    /// `anonymous`.
    pub authenticator: Option<Arc<dyn Authenticator>>,
    /// The host names that the server accepts.
    pub hosts: AllowedHosts,
    /// The name of this replica, which is the prefix of its legacy session ids. Without one they have no prefix.
    pub replica: Option<Replica>,
}

impl Http {
    /// Returns true if callers are told apart, so that one caller gets at most half of the capacity. Without an authenticator all
    /// callers are one, which may use all of it.
    #[must_use]
    pub fn tells_callers_apart(&self) -> bool {
        self.authenticator.is_some()
    }
}

// Header names of MCP, parsed once.
static PROTOCOL_VERSION: HeaderName = HeaderName::from_static(header::PROTOCOL_VERSION);
static SESSION_ID: HeaderName = HeaderName::from_static(header::SESSION_ID);
static METHOD: HeaderName = HeaderName::from_static(header::METHOD);
static NAME: HeaderName = HeaderName::from_static(header::NAME);

struct Endpoint {
    engine: Engine,
    http: Http,
    sessions: Sessions,
    /// The capacity of the engine, because the engine may have other transports.
    rooms: Arc<Capacity>,
    /// Reads bodies within the same capacity.
    bodies: Bodies,
}

/// What a request holds while it runs, and while its large response is read: its slot, and the slots of its body and its response.
#[derive(Debug, Clone)]
struct Held(Arc<RequestSlots>);

#[derive(Debug)]
struct RequestSlots {
    _request: Slot,
    body: Option<Arc<Slot>>,
    response: ResponseCapacity,
}

impl Held {
    fn new(request: Slot, body: Option<&Arc<Slot>>, response: ResponseCapacity) -> Self {
        Self(Arc::new(RequestSlots { _request: request, body: body.cloned(), response }))
    }

    /// Returns the slots of the body, for tasks that may outlive the request.
    fn body(&self) -> Option<Arc<Slot>> {
        self.0.body.clone()
    }

    /// Returns the capacity for the response.
    fn response(&self) -> ResponseCapacity {
        self.0.response.clone()
    }

    /// Returns the answer if there is capacity to hold it until it is read, otherwise an error.
    fn answered(&self, id: &RequestId, answer: Answer) -> Answer {
        let bytes = answer.own_bytes();
        match self.0.response.hold(bytes) {
            Ok(()) => answer,
            Err(full) => Answer::error(Some(id), &full.unheld(bytes), true),
        }
    }
}

/// Returns the MCP endpoint as an axum route, for your own app.
///
/// ```
/// use candor_server::{Server, transport::http::{Http, endpoint}};
///
/// let engine = Server::new("greeter", "1.0.0").build()?;
/// let app: axum::Router = axum::Router::new().route("/assistant", endpoint(engine, Http::default()));
/// # Ok::<(), candor_server::BuildError>(())
/// ```
pub fn endpoint(engine: Engine, mut http: Http) -> MethodRouter {
    http.authenticator = http.authenticator.or_else(|| engine.authenticator().cloned());
    let limits = engine.limits();
    let endpoint = Arc::new(Endpoint {
        sessions: Sessions::new(limits, http.tells_callers_apart()),
        rooms: Arc::clone(engine.rooms()),
        bodies: Bodies::new(limits, Arc::clone(engine.rooms()), http.tells_callers_apart()),
        http,
        engine,
    });
    let (posts, gets, deletes) = (endpoint.clone(), endpoint.clone(), endpoint);
    post(move |request| posts.post(request))
        .get(move |request| gets.stateful(request, legacy::get))
        .delete(move |request| deletes.stateful(request, legacy::delete))
}

/// A request whose body has been read.
struct Received {
    request: rpc::Request,
    /// Its position in the order of arrival, if it may be a serial call.
    position: Option<SerialPosition>,
    claims: Claims,
}

/// A request that passed the checks of host and caller.
struct AdmittedRequest {
    principal: Principal,
    claims: Claims,
    parts: Parts,
    body: Body,
}

impl Endpoint {
    /// Returns the principal whose share its slots count in, if callers are told apart.
    fn sharer<'a>(&self, principal: &'a Principal) -> Option<&'a Principal> {
        self.http.tells_callers_apart().then_some(principal)
    }

    async fn post(self: Arc<Self>, request: Request<Body>) -> Response {
        // Taken before the first await: serial calls run in the order in which requests arrive.
        let arrived = self.engine.arrive();
        let AdmittedRequest { principal, claims, parts, body } = match self.admit(request).await {
            Ok(admitted) => admitted,
            Err(response) => return response,
        };
        if let Err(response) = check_media_types(&parts.headers) {
            return response;
        }
        let limits = self.engine.limits();
        let HeldBody { bytes: body, room: place } = match self.bodies.read(body, &principal).await {
            Ok(read) => read,
            Err(unread) => return respond::unread(unread),
        };
        let depth = limits.depth;
        let message = match split_batch(&body, depth) {
            Ok(Some(batch)) => {
                // Each message of the batch gets a position of its own.
                drop(arrived);
                let (batch, body) = (&batch[..], place.as_ref());
                return legacy::post_batch(&self, (principal, claims), &parts, batch, body).await;
            }
            Ok(None) => decode_message(&body, depth),
            Err(rejected) => Err(rejected),
        };
        match message {
            Ok(Incoming::Request(request)) => {
                let position = self.engine.keep_position(arrived, &request);
                let received = Received { request, position, claims };
                let request = &received.request;
                let era = era_of(request, version_header(&parts.headers));
                let of = self.sharer(&principal);
                let room = if era == Era::Modern && request.method == method::LISTEN {
                    self.rooms.stream(of)
                } else {
                    self.rooms.request(of)
                };
                let room = match room {
                    Ok(taken) => {
                        let response = ResponseCapacity::new(&self.rooms, of);
                        Held::new(taken, place.as_ref(), response)
                    }
                    Err(full) => return respond::full(full, Some(&request.id)),
                };
                match era {
                    Era::Modern => modern::post(&self, principal, &parts, received, room).await,
                    Era::Legacy => {
                        legacy::post_request(&self, principal, &parts, received, room).await
                    }
                }
            }
            Ok(Incoming::Notification(notice)) => {
                legacy::post_notification(&self, &principal, &parts, notice)
            }
            Ok(Incoming::Response(response)) => {
                legacy::post_response(&self, &principal, &parts, response)
            }
            Err(rejected) => reject(&rejected),
        }
    }

    /// Handles `GET` and `DELETE`, which exist only for sessions, so only in the legacy era.
    async fn stateful(
        self: Arc<Self>,
        request: Request<Body>,
        serve: fn(&Self, &Principal, &Parts) -> Response,
    ) -> Response {
        match self.admit(request).await {
            Ok(AdmittedRequest { principal, parts, .. }) => serve(&self, &principal, &parts),
            Err(response) => response,
        }
    }

    /// Accepts a request if it addresses this server and its principal is known.
    async fn admit(&self, request: Request<Body>) -> Result<AdmittedRequest, Response> {
        let (parts, body) = request.into_parts();
        self.http
            .hosts
            .check(&parts)
            .map_err(|problem| respond::problem(StatusCode::FORBIDDEN, problem))?;
        let Identity { principal, claims } = match &self.http.authenticator {
            None => Identity::new(Principal::anonymous()),
            Some(authenticator) => {
                authenticator.authenticate(&parts).await.map_err(|refused| {
                    // A request without credentials is not a failed attempt.
                    if parts.headers.contains_key(AUTHORIZATION) {
                        self.rooms.log_refusal(&parts);
                    }
                    respond::unauthorized(refused)
                })?
            }
        };
        Ok(AdmittedRequest { principal, claims, parts, body })
    }
}

fn reject(rejected: &Rejected) -> Response {
    respond::error(StatusCode::BAD_REQUEST, rejected.id.as_ref(), &rejected.error)
}

fn version_header(headers: &HeaderMap) -> Option<&str> {
    headers.get(&PROTOCOL_VERSION).and_then(|value| value.to_str().ok())
}

fn check_media_types(headers: &HeaderMap) -> Result<(), Response> {
    let sent = headers.get(CONTENT_TYPE).map_or(&b""[..], HeaderValue::as_bytes);
    let essence = sent.split(|b| *b == b';').next().unwrap_or_default().trim_ascii();
    if !essence.eq_ignore_ascii_case(JSON.0) {
        return Err(respond::problem(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "Content-Type must be application/json",
        ));
    }
    let usual = headers.get(ACCEPT).is_some_and(|accept| accept == USUAL_ACCEPT);
    if usual || accepts(headers, JSON) && accepts(headers, EVENTS) {
        Ok(())
    } else {
        Err(respond::problem(
            StatusCode::NOT_ACCEPTABLE,
            "Accept must list application/json and text/event-stream",
        ))
    }
}

/// A media type: its full name, and its top-level type.
struct MediaType(&'static [u8], &'static [u8]);

const JSON: MediaType = MediaType(b"application/json", b"application");
const EVENTS: MediaType = MediaType(b"text/event-stream", b"text");

/// The exact header of nearly every client.
const USUAL_ACCEPT: &str = "application/json, text/event-stream";

/// Returns true if the client accepts a media type. Without an `Accept` header, it accepts all.
fn accepts(headers: &HeaderMap, MediaType(name, group): MediaType) -> bool {
    let mut lines = headers.get_all(ACCEPT).iter().peekable();
    lines.peek().is_none()
        || lines.flat_map(|line| line.as_bytes().split(|b| *b == b',')).any(|range| {
            let range = range.split(|b| *b == b';').next().unwrap_or_default().trim_ascii();
            range == b"*/*"
                || range.eq_ignore_ascii_case(name)
                || range.strip_suffix(b"/*").is_some_and(|sent| sent.eq_ignore_ascii_case(group))
        })
}
