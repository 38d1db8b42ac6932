//! `initialize`, which opens a legacy session; `server/discover` of the modern era; `ping` and `logging/setLevel`.

use std::sync::Arc;

use candor_engine::ClientInfo;
use candor_protocol::json::{Object, raw};
use candor_protocol::names::method::SET_LEVEL;
use candor_protocol::rpc::{ErrorObject, Request};
use candor_protocol::types::{DiscoverResult, InitializeParams, InitializeResult, SetLevelParams};
use candor_protocol::{Era, Revision};

use super::{DispatchResult, params};
use crate::capabilities::{announced_lists, capabilities};
use crate::rpc::context::RequestContext;
use crate::rpc::encode::answer::{Answer, Empty, Encoder, Finality};
use crate::rpc::encode::list::{complete, complete_cacheable};
use crate::running_server::RunningServer;
use crate::session::{Session, SessionPeer};
use crate::stream::Outlet;

/// Maximum size of the parameters, in bytes: the session stores what the client reports about itself.
const LONGEST: usize = 64 * 1024;

/// Opens a session and answers the handshake. Messages of the session that belong to no request go to `outlet`.
pub(crate) fn initialize(
    server: &RunningServer,
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
    let capabilities = capabilities(server, Some(&peer.principal));
    let lists = announced_lists(&capabilities);
    let session = Session::open(id, peer, client, outlet, server, lists);
    server.connected().add(&session);
    let mut result = InitializeResult::new(revision.as_str(), capabilities, server.info().clone());
    result.instructions = server.instructions().cloned();
    let info = raw(server.info());
    let encoder = Encoder { id: &request.id, era: Era::Legacy, server_info: &info, response: None };
    Ok((session, encoder.result(result, Finality::Complete, None)))
}

/// Returns the revision that the client requests if it is a legacy one that this server supports, else the latest legacy one.
fn negotiate(asked: &str) -> Revision {
    Revision::from_date(asked).filter(|r| r.era() == Era::Legacy).unwrap_or(Revision::LATEST_LEGACY)
}

pub(crate) fn discover(request: &RequestContext) -> Answer {
    let server = &request.server;
    let versions: Vec<String> = Revision::ALL.iter().map(|r| r.as_str().to_owned()).collect();
    let capabilities = capabilities(server, Some(request.principal()));
    let mut result = DiscoverResult::new(versions, capabilities);
    result.instructions = server.instructions().cloned();
    complete_cacheable(request, result, server.cache_hint())
}

pub(crate) fn ping(request: &RequestContext) -> Answer {
    complete(request, Empty::default())
}

pub(crate) fn set_level(asked: Object, request: &RequestContext) -> DispatchResult {
    let Some(session) = &request.session else {
        return Err(ErrorObject::method_not_found(SET_LEVEL));
    };
    let asked: SetLevelParams = params(asked)?;
    session.set_log_level(asked.level);
    Ok(complete(request, Empty::default()))
}
