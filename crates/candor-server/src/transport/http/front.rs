//! The way in. Every HTTP request to the MCP endpoint and to a console passes the same checks, in this order:
//!
//! 1. [`Front::receive`]: host and origin. No other property of a request counts before they are valid.
//! 2. [`Front::identify`]: the credential. A console also accepts its own token and cookies.
//! 3. [`Front::admit`]: media types, body and capacity, as the route needs them.
//!
//! A request that fails a check gets a [`Rejection`]. The endpoint encodes it as a JSON-RPC error, the console as a problem.

use std::fmt;
use std::sync::Arc;

use axum::body::Body;
use candor_protocol::Principal;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, ORIGIN};
use http::request::Parts;
use http::{HeaderMap, HeaderValue};

use super::body::{Bodies, HeldBody};
use super::rejection::Rejection;
use super::{AllowedHosts, Http};
use crate::auth::Authenticator;
use crate::refusal_log::RefusalLog;
use crate::rpc::key;
use crate::running_server::RunningServer;
use candor_engine::Identity;
use candor_engine::Limits;
use candor_engine::ResponseCapacity;
use candor_engine::{AtCapacity, Capacity, Slot};

/// Decides which requests a server accepts.
pub struct Front {
    hosts: AllowedHosts,
    /// Origins besides the server's own whose pages may use it.
    origins: Vec<String>,
    authenticator: Option<Arc<dyn Authenticator>>,
    /// The capacity of the engine, because the engine may have other transports.
    capacity: Arc<Capacity>,
    bodies: Bodies,
    refusals: RefusalLog,
    /// True if responses are decoded and encoded again on their way.
    rewrites: bool,
}

/// A request that addresses this server. Its caller is not known yet.
#[derive(Debug)]
pub struct Arrival {
    /// The head of the request.
    pub head: Parts,
    body: Body,
}

/// The body that a route reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BodyNeed {
    /// None: what the client sends stays unread.
    Nothing,
    /// A small body. Its sender is not authenticated, and must not use the capacity of authenticated callers.
    Small,
    /// A body of any type, up to the size limit.
    Any,
    /// A JSON-RPC message, from a client that accepts JSON and events.
    Message,
}

/// The kind of slot that a request takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SlotKind {
    /// A slot among the running requests.
    Request,
    /// A slot among the streams that wait for changes.
    Stream,
}

/// A request that passed all checks of its route. Its head stays in its [`Arrival`], because moving it through each stage would
/// make every stage larger.
#[derive(Debug)]
pub struct AdmittedRequest {
    /// The caller.
    pub identity: Identity,
    /// The whole body, with its slots.
    pub body: HeldBody,
    /// `None` if the route needs no slot, or takes it once it knows the message.
    pub slots: Option<Reservation>,
}

/// What a request holds while it runs, and while its large response is read: its slot, and the slots of its body and its response.
#[derive(Debug, Clone)]
pub struct Reservation(Arc<HeldSlots>);

#[derive(Debug)]
struct HeldSlots {
    _request: Slot,
    body: Option<Arc<Slot>>,
    response: ResponseCapacity,
}

impl Reservation {
    /// Returns the slots of the body, for tasks that may outlive the request.
    #[must_use]
    pub fn body(&self) -> Option<Arc<Slot>> {
        self.0.body.clone()
    }

    /// Returns the capacity for the response.
    #[must_use]
    pub fn response(&self) -> &ResponseCapacity {
        &self.0.response
    }
}

impl Front {
    /// Creates a front. If `http` has no authenticator, that of the server applies, if there is one.
    #[must_use]
    pub fn new(
        http: &Http,
        of_server: Option<&Arc<dyn Authenticator>>,
        limits: &Limits,
        capacity: Arc<Capacity>,
    ) -> Self {
        Self {
            hosts: http.hosts.clone(),
            origins: Vec::new(),
            authenticator: http.authenticator.as_ref().or(of_server).cloned(),
            capacity,
            bodies: Bodies::new(limits),
            refusals: RefusalLog::default(),
            rewrites: false,
        }
    }

    /// Sets that responses are decoded and encoded again on their way, as in REST, and allows pages of other origins.
    #[must_use]
    pub fn for_console(mut self, origins: Vec<String>) -> Self {
        (self.rewrites, self.origins) = (true, origins);
        self
    }

    /// Sets the log of refused tokens, which the endpoint and the console of a server share.
    #[must_use]
    pub(crate) fn log_refusals_to(mut self, refusals: RefusalLog) -> Self {
        self.refusals = refusals;
        self
    }

    /// Sets that this front belongs to a server, whose endpoint has the same log of refused tokens.
    #[must_use]
    pub fn of(self, server: &RunningServer) -> Self {
        self.log_refusals_to(server.refusals().clone())
    }

    /// Returns the host names that the server accepts.
    #[must_use]
    pub fn hosts(&self) -> &AllowedHosts {
        &self.hosts
    }

    /// Returns the authenticator, if there is one.
    #[must_use]
    pub fn authenticator(&self) -> Option<&dyn Authenticator> {
        self.authenticator.as_deref()
    }

    /// Returns true if callers are told apart, so that one caller gets at most half of the capacity. Without an authenticator all
    /// callers are one, which may use all of it.
    #[must_use]
    pub fn tells_callers_apart(&self) -> bool {
        self.authenticator.is_some()
    }

    /// Returns the origin of a request if it is another origin whose pages may use the server.
    #[must_use]
    pub fn allowed_origin(&self, headers: &HeaderMap) -> Option<HeaderValue> {
        let origin = headers.get(ORIGIN)?;
        let known = self.origins.iter().any(|allowed| allowed.as_bytes() == origin.as_bytes());
        known.then(|| origin.clone())
    }

    /// Checks that a request addresses this server.
    ///
    /// # Errors
    /// [`Rejection::Address`].
    pub fn receive(&self, head: Parts, body: Body) -> Result<Arrival, Rejection> {
        self.hosts.check(&head, &self.origins).map_err(Rejection::Address)?;
        Ok(Arrival { head, body })
    }

    /// Finds the caller of a request. Without an authenticator, every caller is `anonymous`.
    ///
    /// # Errors
    /// [`Rejection::Credential`].
    pub async fn identify(&self, head: &Parts) -> Result<Identity, Rejection> {
        let Some(authenticator) = &self.authenticator else {
            return Ok(Identity::new(Principal::anonymous()));
        };
        authenticator.authenticate(head).await.map_err(|refused| {
            // A request without credentials is not a failed attempt.
            if head.headers.contains_key(AUTHORIZATION) {
                self.log_refusal(head);
            }
            Rejection::Credential(refused)
        })
    }

    /// Logs a request with an unknown token. Many such requests make few lines.
    pub fn log_refusal(&self, head: &Parts) {
        self.refusals.refuse(head);
    }

    /// Reads the body of a request, and takes the slot that its route needs.
    ///
    /// # Errors
    /// Why the request is refused.
    pub async fn admit(
        &self,
        arrival: &mut Arrival,
        identity: Identity,
        body: BodyNeed,
        slot: Option<SlotKind>,
    ) -> Result<AdmittedRequest, Rejection> {
        let (mut stream, principal) = (std::mem::take(&mut arrival.body), &identity.principal);
        if body == BodyNeed::Message {
            check_media_types(&arrival.head.headers)?;
        }
        let body = match body {
            BodyNeed::Nothing => HeldBody::default(),
            BodyNeed::Small => self.bodies.read_small(&mut stream).await?,
            BodyNeed::Any | BodyNeed::Message => {
                self.bodies.read(&mut stream, &self.capacity, self.sharer(principal)).await?
            }
        };
        // Only now: a client that sends its body slowly must not hold a slot.
        let slots = slot.map(|kind| self.slots(kind, principal, body.slot.as_ref())).transpose();
        let slots = slots.map_err(Rejection::AtCapacity)?;
        Ok(AdmittedRequest { identity, body, slots })
    }

    /// Takes the slots of a request whose body has been read.
    pub(super) fn slots(
        &self,
        kind: SlotKind,
        principal: &Principal,
        body: Option<&Arc<Slot>>,
    ) -> Result<Reservation, AtCapacity> {
        let (request, of) = (self.slot(kind, principal)?, self.sharer(principal));
        let response = match self.rewrites {
            true => ResponseCapacity::rewritten(&self.capacity, of),
            false => ResponseCapacity::new(&self.capacity, of),
        };
        Ok(Reservation(Arc::new(HeldSlots { _request: request, body: body.cloned(), response })))
    }

    /// Takes one slot.
    pub(super) fn slot(&self, kind: SlotKind, principal: &Principal) -> Result<Slot, AtCapacity> {
        let of = self.sharer(principal);
        match kind {
            SlotKind::Request => self.capacity.request(of),
            SlotKind::Stream => self.capacity.stream(of),
        }
    }

    /// Returns the principal whose share its slots count in, if callers are told apart.
    fn sharer<'a>(&self, principal: &'a Principal) -> Option<&'a Principal> {
        self.tells_callers_apart().then_some(principal)
    }
}

impl fmt::Debug for Front {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Front").field("hosts", &self.hosts).finish_non_exhaustive()
    }
}

/// Returns the idempotency key in a request's headers.
///
/// # Errors
/// [`Rejection::Key`].
pub fn idempotency_key(headers: &HeaderMap) -> Result<Option<String>, Rejection> {
    key::of_headers(headers).map_err(Rejection::Key)
}

fn check_media_types(headers: &HeaderMap) -> Result<(), Rejection> {
    let sent = headers.get(CONTENT_TYPE).map_or(&b""[..], HeaderValue::as_bytes);
    let essence = sent.split(|b| *b == b';').next().unwrap_or_default().trim_ascii();
    if !essence.eq_ignore_ascii_case(JSON.0) {
        return Err(Rejection::ContentType);
    }
    let usual = headers.get(ACCEPT).is_some_and(|accept| accept == USUAL_ACCEPT);
    match usual || accepts(headers, JSON) && accepts(headers, EVENTS) {
        true => Ok(()),
        false => Err(Rejection::Accept),
    }
}

/// A media type: its full name, and its top-level type.
pub(super) struct MediaType(&'static [u8], &'static [u8]);

const JSON: MediaType = MediaType(b"application/json", b"application");
pub(super) const EVENTS: MediaType = MediaType(b"text/event-stream", b"text");

/// The exact header of nearly every client.
const USUAL_ACCEPT: &str = "application/json, text/event-stream";

/// Returns true if the client accepts a media type. Without an `Accept` header, it accepts all.
pub(super) fn accepts(headers: &HeaderMap, MediaType(name, group): MediaType) -> bool {
    let mut lines = headers.get_all(ACCEPT).iter().peekable();
    lines.peek().is_none()
        || lines.flat_map(|line| line.as_bytes().split(|b| *b == b',')).any(|range| {
            let range = range.split(|b| *b == b';').next().unwrap_or_default().trim_ascii();
            range == b"*/*"
                || range.eq_ignore_ascii_case(name)
                || range.strip_suffix(b"/*").is_some_and(|sent| sent.eq_ignore_ascii_case(group))
        })
}
