//! One request on its way through the server: who asks, how to reach them, when to stop.

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

/// What a transport knows of a request before its body says anything.
#[derive(Debug)]
pub(crate) struct TransportContext {
    /// From an authenticator or the operating system.
    pub(crate) principal: Principal,
    /// What else the authenticator knows of the caller.
    pub(crate) claims: Claims,
    /// Whether callers who come this way are told apart: then one of them has a share of what there is room for, else all of it.
    pub(crate) shares: bool,
    /// The legacy session, if the request belongs to one.
    pub(crate) session: Option<Arc<Session>>,
    /// The way back, ahead of the answer.
    pub(crate) outlet: Outlet,
    /// Ends the request early, without an answer.
    pub(crate) cancel: CancellationToken,
    /// Ends a long-lived stream in good order, with an answer, before the server does.
    pub(crate) closing: Option<CancellationToken>,
    /// Argument mirrors among the HTTP headers; none on transports without headers.
    pub(crate) mirrored: Option<MirroredHeaders>,
    /// The name that the client's HTTP header gives to the operation.
    pub(crate) key_header: Option<String>,
    /// When it arrived, if it may be a serial call.
    pub(crate) position: Option<SerialPosition>,
    /// The room that its body takes, if that is large: for as long as anybody holds what was in it.
    pub(crate) body: Option<Arc<Slot>>,
    /// The capacity for its response; none on a transport with a single caller.
    pub(crate) response: Option<ResponseCapacity>,
}

/// The same, once the body has been read: everything a method needs besides its own parameters.
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
    /// Finds out whose request this is and what their client can do.
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

    /// In whose share a place for it counts; in nobody's where callers are not told apart.
    pub(crate) fn sharer(&self) -> Option<&Principal> {
        self.shares.then_some(&self.principal)
    }

    /// Lets later serial calls pass: this request is none, or waits for a person or another attempt.
    pub(crate) fn release_position(&self) {
        if let Some(position) = &self.position {
            position.release();
        }
    }

    pub(crate) fn era(&self) -> Era {
        self.client.revision.era()
    }
}
