//! `initialize`, which opens a legacy session.

use std::sync::Arc;

use candor_protocol::rpc::{ErrorObject, Request};
use candor_protocol::types::{InitializeParams, InitializeResult};
use candor_protocol::{Era, Revision};

use super::params;
use crate::answer::{Answer, Encoder, Finality};
use crate::caller::ClientInfo;
use crate::engine::Engine;
use crate::outlet::Outlet;
use crate::session::{Session, SessionPeer};

/// Maximum size of the parameters, in bytes: the session stores what the client reports about itself.
const LONGEST: usize = 64 * 1024;

/// Opens a session and answers the handshake. Messages of the session that belong to no request go to `outlet`.
pub(crate) fn open(
    engine: &Engine,
    request: Request,
    peer: SessionPeer,
    id: String,
    outlet: Outlet,
) -> Result<(Arc<Session>, Answer), ErrorObject> {
    if request.params.arrived_bytes() > LONGEST {
        return Err(ErrorObject::invalid_params(format!(
            "Invalid params: initialize may have {LONGEST} bytes"
        )));
    }
    let asked: InitializeParams = params(request.params)?;
    let revision = negotiate(&asked.protocol_version);
    let client = ClientInfo::new(revision, asked.capabilities, &asked.client_info);
    let session = Session::open(id, peer, client, outlet, engine);
    let parts = engine.parts();
    let capabilities = engine.capabilities(Some(&session.peer.principal));
    let mut result = InitializeResult::new(revision.as_str(), capabilities, parts.info.clone());
    result.instructions = parts.instructions.clone();
    let info = candor_protocol::json::raw(&parts.info);
    let encoder = Encoder { id: &request.id, era: Era::Legacy, server_info: &info, response: None };
    Ok((session, encoder.result(result, Finality::Complete, None)))
}

/// Returns the revision that the client requests if it is a legacy one that this server supports, else the latest legacy one.
fn negotiate(asked: &str) -> Revision {
    Revision::from_date(asked).filter(|r| r.era() == Era::Legacy).unwrap_or(Revision::LATEST_LEGACY)
}
