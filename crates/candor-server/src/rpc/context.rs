//! The context of one request: its view of the engine, the way back to its client, and what its transport knows.

use std::sync::Arc;

use candor_engine::{
    Caller, Claims, ClientInfo, Identity, RequestSlots, ResponseCapacity, SerialPosition, Slot,
    View,
};
use candor_protocol::json::Object;
use candor_protocol::rpc::{ErrorObject, RequestId};
use candor_protocol::{Era, Principal};
use tokio_util::sync::CancellationToken;

use super::client;
use super::mirror::MirroredHeaders;
use super::peer::ClientPeer;
use crate::running_server::RunningServer;
use crate::session::Session;
use crate::stream::Outlet;

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
pub(crate) struct RequestContext {
    pub(crate) server: RunningServer,
    pub(crate) id: RequestId,
    /// What the caller sees and can do.
    pub(crate) view: View,
    /// The way back to the client.
    pub(crate) peer: Arc<ClientPeer>,
    pub(crate) session: Option<Arc<Session>>,
    pub(crate) closing: Option<CancellationToken>,
    pub(crate) mirrored: Option<MirroredHeaders>,
    pub(crate) key_header: Option<String>,
    pub(crate) response: Option<ResponseCapacity>,
}

impl RequestContext {
    /// Determines the request's client: from its session, or in the modern era from its `_meta`.
    pub(crate) fn receive(
        server: &RunningServer,
        id: RequestId,
        meta: Object,
        transport: TransportContext,
    ) -> Result<Self, ErrorObject> {
        let meta = Arc::new(meta);
        let TransportContext { principal, claims, shares, session, outlet, cancel, .. } = transport;
        let (client, log_level) = match &session {
            Some(session) => (session.client.clone(), None),
            None => (Arc::new(client::from_meta(&meta)?), client::log_level(&meta)?),
        };
        let peer = ClientPeer::new(&client, &meta, session.clone(), outlet, cancel, log_level);
        let caller = Caller::new(Identity { principal, claims })
            .with_client(client)
            .with_meta(meta)
            .with_shares(shares);
        let slots = RequestSlots {
            body: transport.body,
            response: transport.response.clone(),
            position: transport.position.map(Arc::new),
        };
        Ok(Self {
            server: server.clone(),
            id,
            view: server.open_with(caller, slots),
            peer: Arc::new(peer),
            session,
            closing: transport.closing,
            mirrored: transport.mirrored,
            key_header: transport.key_header,
            response: transport.response,
        })
    }

    pub(crate) fn principal(&self) -> &Principal {
        &self.view.caller().principal
    }

    pub(crate) fn client(&self) -> &ClientInfo {
        &self.view.caller().client
    }

    pub(crate) fn meta(&self) -> &Object {
        &self.view.caller().meta
    }

    /// Returns a token that is cancelled once the client no longer wants an answer.
    pub(crate) fn cancel(&self) -> &CancellationToken {
        self.peer.cancel()
    }

    pub(crate) fn era(&self) -> Era {
        self.client().revision.era()
    }
}
