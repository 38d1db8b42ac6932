//! Who makes a request: a principal, and the client that it uses.

use std::sync::Arc;

use candor_protocol::Principal;
use candor_protocol::Revision;
use candor_protocol::json::{Json, Object};
use candor_protocol::names::meta;
use candor_protocol::types::{ClientCapabilities, Implementation};

use crate::identity::{Claims, Identity};

/// Who makes a request.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Caller {
    /// The name that keys, approvals and history are bound to.
    pub principal: Principal,
    /// What else an authenticator knows about the caller.
    pub claims: Claims,
    /// Whether callers are told apart. If so, one caller gets its share of the capacity at most, otherwise all of it.
    pub shares: bool,
    /// The client that the caller uses.
    pub client: Arc<ClientInfo>,
    /// The request's `_meta`.
    pub meta: Arc<Object>,
}

impl Caller {
    /// Creates a caller with a client that supports nothing optional.
    #[must_use]
    pub fn new(identity: impl Into<Identity>) -> Self {
        let Identity { principal, claims } = identity.into();
        let client = Arc::new(ClientInfo::silent("candor", env!("CARGO_PKG_VERSION")));
        Self { principal, claims, shares: false, client, meta: Arc::default() }
    }

    /// Sets the client.
    #[must_use]
    pub fn with_client(mut self, client: Arc<ClientInfo>) -> Self {
        self.client = client;
        self
    }

    /// Sets the request's `_meta`.
    #[must_use]
    pub fn with_meta(mut self, meta: Arc<Object>) -> Self {
        self.meta = meta;
        self
    }

    /// Sets whether callers are told apart, so that one caller gets at most half of the capacity.
    #[must_use]
    pub fn with_shares(mut self, shares: bool) -> Self {
        self.shares = shares;
        self
    }

    /// Returns the principal whose share its slots count in. Returns `None` if callers are not told apart.
    #[must_use]
    pub fn sharer(&self) -> Option<&Principal> {
        self.shares.then_some(&self.principal)
    }
}

/// A client as it describes itself, for [`Ctx::client`](crate::Ctx::client): per session in the legacy era, per request in the
/// modern one. To call servers, see the crate `candor-client`.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ClientInfo {
    /// The revision that it speaks.
    pub revision: Revision,
    /// What it supports. The server may ask it for nothing else.
    pub capabilities: ClientCapabilities,
    /// Holds its name and version. Decoded on demand, because most requests never need them.
    meta: Arc<Object>,
}

impl ClientInfo {
    /// Creates the description of a client.
    #[must_use]
    pub fn new(
        revision: Revision,
        capabilities: ClientCapabilities,
        info: &Implementation,
    ) -> Self {
        let meta = Object::new().with(meta::CLIENT_INFO, info);
        Self { revision, capabilities, meta: Arc::new(meta) }
    }

    /// Creates the description of a client whose name and version are in a request's `_meta`.
    #[must_use]
    pub fn in_meta(
        revision: Revision,
        capabilities: ClientCapabilities,
        meta: Arc<Object>,
    ) -> Self {
        Self { revision, capabilities, meta }
    }

    /// Creates the description of a client that supports nothing optional.
    #[must_use]
    pub fn silent(name: &str, version: &str) -> Self {
        let info = Implementation::new(name, version);
        Self::new(Revision::V2026_07_28, ClientCapabilities::new(), &info)
    }

    /// Returns the name and version that the client reports. For display and logs only: no decision depends on them.
    #[must_use]
    pub fn info(&self) -> Option<Implementation> {
        self.meta.read(meta::CLIENT_INFO).ok().flatten()
    }

    /// Returns the name and version as the client sent them, in JSON.
    pub(crate) fn info_json(&self) -> Option<&str> {
        self.meta.get(meta::CLIENT_INFO).map(Json::text)
    }

    /// Returns true if the client can show its user a form.
    #[must_use]
    pub fn can_elicit(&self) -> bool {
        self.capabilities.elicits_forms()
    }

    /// Returns true if the client can ask its model.
    #[must_use]
    pub fn can_sample(&self) -> bool {
        self.capabilities.sampling.is_some()
    }
}
