//! Requests from the same process, such as a REST API or a console.
//!
//! A visit is a request like that of any transport, from a modern client that answers no questions. So every tool call takes the
//! same path as over MCP.

use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use candor_protocol::json::{Object, RawValue};
use candor_protocol::names::meta;
use candor_protocol::rpc::{ErrorObject, Incoming, Request, RequestId, decode_message};
use candor_protocol::types::{ClientCapabilities, Implementation};
use candor_protocol::{Principal, Revision};
use futures_util::Stream;
use tokio_util::sync::CancellationToken;

use crate::admission::serial::SerialPosition;
use crate::engine::Engine;
use crate::exchange::{RequestContext, TransportContext};
use crate::identity::Claims;
use crate::outlet::Outlet;
use crate::response_capacity::ResponseCapacity;
use crate::room::Slot;
use crate::running::{self, RunningRequest};

/// A request from the same process, such as the console.
///
/// ```
/// # use candor_server::{Server, protocol::{Principal, json::Object}};
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// # let engine = Server::new("s", "1").build().unwrap();
/// let found = engine.visit(Principal::new("alice")).ask("server/discover", Object::new()).await;
/// assert!(found.unwrap().get().contains("capabilities"));
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Visit {
    engine: Engine,
    principal: Principal,
    claims: Claims,
    shares: bool,
    client: Implementation,
    key: Option<String>,
    body: Option<Arc<Slot>>,
    response: Option<ResponseCapacity>,
    arrived: Option<Arrived>,
    meta: Object,
}

/// When a request arrived, relative to all others: serial calls run in this order. A transport takes it before it waits for
/// anything. The first call that is sent with it gets the position.
#[derive(Debug, Clone)]
pub struct Arrived(Arc<Mutex<Option<SerialPosition>>>);

impl Arrived {
    /// Keeps the position while the request is prepared. Call it once the body has been read.
    pub fn has_body(&self) {
        if let Some(position) = &*self.position() {
            position.hold_while_preparing();
        }
    }

    fn position(&self) -> MutexGuard<'_, Option<SerialPosition>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An event of a running request.
#[derive(Debug)]
pub enum CallEvent {
    /// A message before the answer: progress, or a log message.
    Notice {
        /// The notification's method.
        method: String,
        /// The notification's parameters.
        params: Object,
    },
    /// The answer, as the last event.
    Answer(Result<Box<RawValue>, ErrorObject>),
}

impl Engine {
    /// Creates a request from the same process, for a known principal.
    #[must_use]
    pub fn visit(&self, principal: Principal) -> Visit {
        let client = Implementation::new("candor", env!("CARGO_PKG_VERSION"));
        let (engine, meta) = (self.clone(), Object::new());
        let (shares, key, body, response, arrived) = (false, None, None, None, None);
        let claims = Claims::default();
        Visit { engine, principal, claims, shares, client, key, body, response, arrived, meta }
    }

    /// Records that a request arrives now.
    #[must_use]
    pub fn arrived(&self) -> Arrived {
        Arrived(Arc::new(Mutex::new(self.arrive())))
    }
}

impl Visit {
    /// Sets what an authenticator knows about the caller besides the principal.
    #[must_use]
    pub fn claims(mut self, claims: Claims) -> Self {
        self.claims = claims;
        self
    }

    /// Sets the client's name and version, instead of `candor`.
    #[must_use]
    pub fn client(mut self, name: &str, version: &str) -> Self {
        self.client = Implementation::new(name, version);
        self
    }

    /// Sets whether callers are told apart, so that one caller gets at most half of the capacity, as at an MCP endpoint with an
    /// authenticator. Without this, a caller may use all of it.
    #[must_use]
    pub fn shares(mut self, shares: bool) -> Self {
        self.shares = shares;
        self
    }

    /// Sets the idempotency key, as in the `Idempotency-Key` header.
    #[must_use]
    pub fn key(mut self, key: Option<String>) -> Self {
        self.key = key;
        self
    }

    /// Sets the slots of the body that the request came in. They are held for as long as any task holds the body's content.
    #[must_use]
    pub fn holding(mut self, body: Option<Arc<Slot>>) -> Self {
        self.body = body;
        self
    }

    /// Sets the capacity that the response is built in.
    #[must_use]
    pub fn response(mut self, capacity: Option<ResponseCapacity>) -> Self {
        self.response = capacity;
        self
    }

    /// Sets when the request arrived. Without this, it arrives when it is sent.
    #[must_use]
    pub fn arrived(mut self, arrived: Option<Arrived>) -> Self {
        self.arrived = arrived;
        self
    }

    /// Adds a member to the request's `_meta`: `traceparent`, `progressToken`.
    #[must_use]
    pub fn meta(mut self, name: &str, value: &(impl serde::Serialize + ?Sized)) -> Self {
        self.meta = self.meta.with(name, value);
        self
    }

    pub(crate) fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Returns the context that a method would get, for functions that are not methods.
    pub(crate) fn exchange(&self) -> Result<RequestContext, ErrorObject> {
        let (meta, arrival) = (self.meta_of_request(), self.arrival(None));
        RequestContext::receive(RequestId::from("visit"), meta, arrival)
    }

    fn meta_of_request(&self) -> Object {
        self.meta
            .clone()
            .with(meta::PROTOCOL_VERSION, Revision::V2026_07_28.as_str())
            .with(meta::CLIENT_INFO, &self.client)
            .with(meta::CLIENT_CAPABILITIES, &ClientCapabilities::new())
    }

    fn arrival(&self, position: Option<SerialPosition>) -> TransportContext {
        TransportContext {
            principal: self.principal.clone(),
            claims: self.claims.clone(),
            shares: self.shares,
            session: None,
            outlet: Outlet::None,
            cancel: CancellationToken::new(),
            closing: None,
            mirrored: None,
            key_header: self.key.clone(),
            position,
            body: self.body.clone(),
            response: self.response.clone(),
        }
    }

    /// Sends the request and waits for the answer.
    pub async fn ask(self, method: &str, params: Object) -> Result<Box<RawValue>, ErrorObject> {
        let mut heard = self.send(method, params);
        loop {
            match std::future::poll_fn(|cx| Pin::new(&mut heard).poll_next(cx)).await {
                Some(CallEvent::Notice { .. }) => {}
                Some(CallEvent::Answer(answer)) => return answer,
                None => return Err(ErrorObject::internal("The request was cancelled")),
            }
        }
    }

    /// Sends the request and returns its events. Dropping the stream before the answer cancels the request.
    pub fn send(
        self,
        method: &str,
        params: Object,
    ) -> impl Stream<Item = CallEvent> + Send + Unpin + use<> {
        let request = Request {
            id: RequestId::from("visit"),
            method: method.to_owned(),
            params,
            meta: self.meta_of_request(),
        };
        let arrived = match &self.arrived {
            Some(arrived) => arrived.position().take(),
            None => self.engine.arrive(),
        };
        let arrival = self.arrival(self.engine.keep_position(arrived, &request));
        Heard(RunningRequest::start(&self.engine, request, arrival, ()))
    }
}

struct Heard(RunningRequest);

impl Stream for Heard {
    type Item = CallEvent;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<CallEvent>> {
        loop {
            let said = match std::task::ready!(self.0.poll(cx)) {
                None => return Poll::Ready(None),
                Some(running::OutgoingMessage::Message(message)) => {
                    decode_message(&message, usize::MAX)
                }
                Some(running::OutgoingMessage::Answer(answer)) => match answer.into_message() {
                    Some(message) => decode_message(&message, usize::MAX),
                    None => return Poll::Ready(None),
                },
            };
            match said {
                Ok(Incoming::Notification(notice)) => {
                    let (method, params) = (notice.method, notice.params);
                    return Poll::Ready(Some(CallEvent::Notice { method, params }));
                }
                Ok(Incoming::Response(response)) => {
                    return Poll::Ready(Some(CallEvent::Answer(response.outcome)));
                }
                // The server sends neither: it asks no questions of a client that declares no capabilities.
                Ok(Incoming::Request(_)) | Err(_) => {}
            }
        }
    }
}
