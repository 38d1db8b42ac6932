//! The context of one request: its caller, the way back to its client, and its cancellation.

use std::sync::Arc;

use candor_protocol::json::Object;
use candor_protocol::rpc::{ErrorObject, RequestId};
use candor_protocol::types::LogLevel;
use candor_protocol::{Era, Principal};
use tokio_util::sync::CancellationToken;

use crate::admission::serial::SerialPosition;
use crate::caller::{self, ClientInfo};
use crate::identity::Claims;
use crate::mirror::MirroredHeaders;
use crate::outlet::Outlet;
use crate::response_capacity::ResponseCapacity;
use crate::room::Slot;
use crate::session::Session;

/// What a transport knows about a request before it reads the body.
#[derive(Debug)]
pub(crate) struct TransportContext {
    /// From an authenticator or the operating system.
    pub(crate) principal: Principal,
    /// What else the authenticator knows about the caller.
    pub(crate) claims: Claims,
    /// Whether this transport tells callers apart. If so, one caller gets its share of the capacity at most, otherwise all of it.
    pub(crate) shares: bool,
    /// The legacy session, if the request belongs to one.
    pub(crate) session: Option<Arc<Session>>,
    /// Takes messages for the client ahead of the answer.
    pub(crate) outlet: Outlet,
    /// Ends the request early, without an answer.
    pub(crate) cancel: CancellationToken,
    /// Ends a long-lived stream with an answer, before the server stops.
    pub(crate) closing: Option<CancellationToken>,
    /// Argument mirrors in the HTTP headers. `None` on transports without headers.
    pub(crate) mirrored: Option<MirroredHeaders>,
    /// The idempotency key from the client's HTTP header.
    pub(crate) key_header: Option<String>,
    /// Its position in the order of arrival, if it may be a serial call.
    pub(crate) position: Option<SerialPosition>,
    /// The slots of its body, if that is large. Held for as long as any task holds the body's content.
    pub(crate) body: Option<Arc<Slot>>,
    /// The capacity for its response. `None` on a transport with a single caller.
    pub(crate) response: Option<ResponseCapacity>,
}

/// The context once the body has been read: everything that a method needs besides its own parameters.
#[derive(Debug)]
pub(crate) struct RequestContext {
    pub(crate) id: RequestId,
    pub(crate) principal: Principal,
    pub(crate) claims: Claims,
    pub(crate) shares: bool,
    pub(crate) client: Arc<ClientInfo>,
    pub(crate) session: Option<Arc<Session>>,
    pub(crate) outlet: Outlet,
    pub(crate) cancel: CancellationToken,
    pub(crate) closing: Option<CancellationToken>,
    pub(crate) mirrored: Option<MirroredHeaders>,
    pub(crate) key_header: Option<String>,
    pub(crate) position: Option<SerialPosition>,
    pub(crate) body: Option<Arc<Slot>>,
    pub(crate) response: Option<ResponseCapacity>,
    pub(crate) meta: Arc<Object>,
    /// The least severe log message that the client wants for this request.
    pub(crate) log_level: Option<LogLevel>,
}

impl RequestContext {
    /// Determines the request's client: from its session, or in the modern era from its `_meta`.
    pub(crate) fn receive(
        id: RequestId,
        meta: Object,
        arrival: TransportContext,
    ) -> Result<Self, ErrorObject> {
        let meta = Arc::new(meta);
        let (client, session, log_level) = match arrival.session {
            Some(session) => (session.client.clone(), Some(session), None),
            None => {
                (Arc::new(ClientInfo::from_meta(meta.clone())?), None, caller::log_level(&meta)?)
            }
        };
        Ok(Self {
            id,
            principal: arrival.principal,
            claims: arrival.claims,
            shares: arrival.shares,
            client,
            session,
            outlet: arrival.outlet,
            cancel: arrival.cancel,
            closing: arrival.closing,
            mirrored: arrival.mirrored,
            key_header: arrival.key_header,
            position: arrival.position,
            body: arrival.body,
            response: arrival.response,
            meta,
            log_level,
        })
    }

    /// Returns the principal whose share its slots count in. Returns `None` if the transport does not tell callers apart.
    pub(crate) fn sharer(&self) -> Option<&Principal> {
        self.shares.then_some(&self.principal)
    }

    /// Releases later serial calls: this request is not one, or it waits for an approval or another attempt.
    pub(crate) fn release_position(&self) {
        if let Some(position) = &self.position {
            position.release();
        }
    }

    pub(crate) fn era(&self) -> Era {
        self.client.revision.era()
    }
}
