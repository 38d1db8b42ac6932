//! Streamable HTTP of both eras on one endpoint.
//!
//! The endpoint is an axum route that fits into any app:
//!
//! ```no_run
//! # async fn run(engine: candor_server::RunningServer) -> std::io::Result<()> {
//! use candor_server::transport::http::{Http, endpoint};
//!
//! let app = axum::Router::new().route("/mcp", endpoint(engine, Http::default()));
//! let listener = tokio::net::TcpListener::bind("127.0.0.1:7332").await?;
//! axum::serve(listener, app).await
//! # }
//! ```
//!
//! The endpoint itself checks `Host` and `Origin`, so the check applies wherever it is mounted.

mod body;
mod front;
mod holding;
mod hosts;
mod legacy;
mod modern;
mod patience;
mod rejection;
mod replica;
mod respond;
mod serve;
mod sse;

use std::sync::Arc;

use axum::body::Body;
use axum::response::Response;
use axum::routing::{MethodRouter, post};
use candor_protocol::names::{header, method};
use candor_protocol::rpc::{
    Incoming, Rejected, Request as RpcRequest, RequestId, decode_message, split_batch,
};
use candor_protocol::{Era, Principal};
use http::request::Parts;
use http::{HeaderMap, HeaderName, Request, StatusCode};

use crate::auth::Authenticator;
use crate::rpc;
use crate::rpc::client::era_of;
use crate::rpc::encode::answer::Answer;
use crate::rpc::encode::error::unheld;
use crate::running_server::RunningServer;
use crate::session::Sessions;
use candor_engine::SerialPosition;
use candor_engine::{Claims, Identity};

#[doc(hidden)]
pub use body::HeldBody;
#[doc(hidden)]
pub use candor_engine::{AtCapacity, Capacity, Slot};
#[doc(hidden)] // for the console, which shares the front and the capacity
pub use candor_engine::{ResponseCapacity, SMALL};
#[doc(hidden)]
pub use front::{
    AdmittedRequest, Arrival, BodyNeed, Front, Reservation, SlotKind, idempotency_key,
};
#[doc(hidden)]
pub use holding::hold;
pub use hosts::{AllowedHosts, PublicUrl, PublicUrlError};
#[doc(hidden)]
pub use rejection::Rejection;
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

// Header names of MCP, parsed once.
static PROTOCOL_VERSION: HeaderName = HeaderName::from_static(header::PROTOCOL_VERSION);
static SESSION_ID: HeaderName = HeaderName::from_static(header::SESSION_ID);
static METHOD: HeaderName = HeaderName::from_static(header::METHOD);
static NAME: HeaderName = HeaderName::from_static(header::NAME);

struct Endpoint {
    engine: RunningServer,
    front: Front,
    replica: Option<Replica>,
    sessions: Sessions,
}

impl Reservation {
    /// Returns the answer if there is capacity to hold it until it is read, otherwise an error.
    fn answered(&self, id: &RequestId, answer: Answer) -> Answer {
        let bytes = answer.own_bytes();
        match self.response().hold(bytes) {
            Ok(()) => answer,
            Err(full) => Answer::error(Some(id), &unheld(full, bytes), true),
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
pub fn endpoint(engine: RunningServer, http: Http) -> MethodRouter {
    let capacity = Arc::clone(engine.capacity());
    let front = Front::new(&http, engine.authenticator(), engine.limits(), capacity)
        .log_refusals_to(engine.refusals().clone());
    let sessions = Sessions::new(engine.limits(), front.tells_callers_apart());
    let endpoint = Arc::new(Endpoint { engine, front, replica: http.replica, sessions });
    let (posts, gets, deletes) = (endpoint.clone(), endpoint.clone(), endpoint);
    post(move |request| posts.post(request))
        .get(move |request| gets.stateful(request, legacy::get))
        .delete(move |request| deletes.stateful(request, legacy::delete))
}

/// A request whose body has been read.
struct Received {
    request: RpcRequest,
    /// Its position in the order of arrival, if it may be a serial call.
    position: Option<SerialPosition>,
    claims: Claims,
}

impl Endpoint {
    async fn post(self: Arc<Self>, request: Request<Body>) -> Response {
        // Taken before the first await: serial calls run in the order in which requests arrive.
        let arrived = self.engine.arrive();
        let (head, body) = request.into_parts();
        let mut arrival = match self.front.receive(head, body) {
            Ok(arrival) => arrival,
            Err(rejection) => return respond::rejected(&rejection, None),
        };
        let AdmittedRequest { identity, body, .. } =
            match self.admit(&mut arrival, BodyNeed::Message).await {
                Ok(admitted) => admitted,
                Err(rejection) => return respond::rejected(&rejection, None),
            };
        let (Identity { principal, claims }, head) = (identity, &arrival.head);
        let depth = self.engine.limits().depth;
        let message = match split_batch(&body.bytes, depth) {
            Ok(Some(batch)) => {
                // Each message of the batch gets a position of its own.
                drop(arrived);
                let (batch, slot) = (&batch[..], body.slot.as_ref());
                return legacy::post_batch(&self, (principal, claims), head, batch, slot).await;
            }
            Ok(None) => decode_message(&body.bytes, depth),
            Err(rejected) => Err(rejected),
        };
        match message {
            Ok(Incoming::Request(request)) => {
                let position = rpc::keep_position(&self.engine, arrived, &request);
                let received = Received { request, position, claims };
                let request = &received.request;
                let era = era_of(request, version_header(&head.headers));
                let kind = match era == Era::Modern && request.method == method::LISTEN {
                    true => SlotKind::Stream,
                    false => SlotKind::Request,
                };
                let slots = match self.front.slots(kind, &principal, body.slot.as_ref()) {
                    Ok(slots) => slots,
                    Err(full) => {
                        return respond::rejected(&Rejection::AtCapacity(full), Some(&request.id));
                    }
                };
                match era {
                    Era::Modern => modern::post(&self, principal, head, received, slots).await,
                    Era::Legacy => {
                        legacy::post_request(&self, principal, head, received, slots).await
                    }
                }
            }
            Ok(Incoming::Notification(notice)) => {
                legacy::post_notification(&self, &principal, head, notice)
            }
            Ok(Incoming::Response(response)) => {
                legacy::post_response(&self, &principal, head, response)
            }
            Err(Rejected { id, error }) => {
                respond::error(StatusCode::BAD_REQUEST, id.as_ref(), &error)
            }
        }
    }

    /// Handles `GET` and `DELETE`, which exist only for sessions, so only in the legacy era.
    async fn stateful(
        self: Arc<Self>,
        request: Request<Body>,
        serve: fn(&Self, &Principal, &Parts) -> Response,
    ) -> Response {
        let (head, body) = request.into_parts();
        let answered = match self.front.receive(head, body) {
            Ok(mut arrival) => {
                let admitted = self.admit(&mut arrival, BodyNeed::Nothing).await;
                admitted.map(|request| serve(&self, &request.identity.principal, &arrival.head))
            }
            Err(rejection) => Err(rejection),
        };
        answered.unwrap_or_else(|rejection| respond::rejected(&rejection, None))
    }

    /// Admits a request without a slot, because only its message tells which one it needs.
    async fn admit(
        &self,
        arrival: &mut Arrival,
        body: BodyNeed,
    ) -> Result<AdmittedRequest, Rejection> {
        let identity = self.front.identify(&arrival.head).await?;
        self.front.admit(arrival, identity, body, None).await
    }
}

fn version_header(headers: &HeaderMap) -> Option<&str> {
    headers.get(&PROTOCOL_VERSION).and_then(|value| value.to_str().ok())
}
