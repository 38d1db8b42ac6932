//! A way in for whoever is in the same process: a REST API, a console.
//!
//! A visit is a request as any transport brings it, from a modern client that can answer no questions. So nothing that calls a
//! tool goes another way than MCP does.

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

/// Somebody in the same process who wants to ask something.
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

/// When a request arrived, compared to all others: serial calls run in this order. A transport takes it before it waits for anything.
/// The first call that is sent with it has the position.
#[derive(Debug, Clone)]
pub struct Arrived(Arc<Mutex<Option<SerialPosition>>>);

impl Arrived {
    /// Keeps the order while the request is prepared: its body is here.
    pub fn has_body(&self) {
        if let Some(position) = &*self.position() {
            position.hold_while_preparing();
        }
    }

    fn position(&self) -> MutexGuard<'_, Option<SerialPosition>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a visitor is told.
#[derive(Debug)]
pub enum CallEvent {
    /// Something on the way: progress, a log message.
    Notice {
        /// The notification's method.
        method: String,
        /// What it says.
        params: Object,
    },
    /// The last that is said.
    Answer(Result<Box<RawValue>, ErrorObject>),
}

impl Engine {
    /// A way in for whoever is in the same process, and whose name is known.
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
    /// What an authenticator knows of the caller besides the principal.
    #[must_use]
    pub fn claims(mut self, claims: Claims) -> Self {
        self.claims = claims;
        self
    }

    /// What the visitor calls itself, instead of `candor`.
    #[must_use]
    pub fn client(mut self, name: &str, version: &str) -> Self {
        self.client = Implementation::new(name, version);
        self
    }

    /// Whether visitors are told apart, so that one of them gets at most half of what may be under way, as it is with an MCP
    /// endpoint that has an authenticator. Without this a visitor may have all.
    #[must_use]
    pub fn shares(mut self, shares: bool) -> Self {
        self.shares = shares;
        self
    }

    /// The name of the operation, as `Idempotency-Key` gives it.
    #[must_use]
    pub fn key(mut self, key: Option<String>) -> Self {
        self.key = key;
        self
    }

    /// The room that the body takes of which the visit was made, for as long as anybody holds what stands in it.
    #[must_use]
    pub fn holding(mut self, body: Option<Arc<Slot>>) -> Self {
        self.body = body;
        self
    }

    /// The capacity that the response is built in.
    #[must_use]
    pub fn response(mut self, capacity: Option<ResponseCapacity>) -> Self {
        self.response = capacity;
        self
    }

    /// When the request arrived. Without this it arrives when it is sent.
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

    /// As a method would get it, for what no method does.
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

    /// Asks, and waits for the answer.
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

    /// Asks; what is said on the way can be heard. Dropped before the answer, the request is taken back.
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
                // Nothing that we write; and nobody is asked who cannot answer.
                Ok(Incoming::Request(_)) | Err(_) => {}
            }
        }
    }
}
