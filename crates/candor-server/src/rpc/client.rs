//! What the server knows about the client of a request.

use std::sync::Arc;

use candor_engine::ClientInfo;
use candor_protocol::json::{Decode, Json, Malformed, Object};
use candor_protocol::names::meta;
use candor_protocol::rpc::{ErrorObject, Request, code};
use candor_protocol::types::{ClientCapabilities, LogLevel};
use candor_protocol::{Era, Revision};
use serde_json::json;

/// Reads the client's description from the `_meta` of a modern request.
pub(crate) fn from_meta(meta: &Arc<Object>) -> Result<ClientInfo, ErrorObject> {
    let version = required(meta, meta::PROTOCOL_VERSION, Json::as_str)?;
    let revision = Revision::from_date(&version)
        .filter(|r| r.era() == Era::Modern)
        .ok_or_else(|| unsupported_version(&version))?;
    let capabilities = required(meta, meta::CLIENT_CAPABILITIES, ClientCapabilities::decode)?;
    Ok(ClientInfo::in_meta(revision, capabilities, meta.clone()))
}

fn required<'a, T>(
    meta: &'a Object,
    key: &'static str,
    read: impl FnOnce(Json<'a>) -> Result<T, Malformed>,
) -> Result<T, ErrorObject> {
    let value = meta.get(key).ok_or_else(|| {
        ErrorObject::invalid_params(format!(
            "Invalid params: every request carries {key:?} in params._meta"
        ))
    })?;
    read(value).map_err(|e| in_meta(e.within(key)))
}

fn in_meta(e: Malformed) -> ErrorObject {
    ErrorObject::invalid_params(format!("Invalid params: {}", e.within("_meta").within("params")))
}

/// Returns the error for a revision that the server does not support.
pub(crate) fn unsupported_version(requested: &str) -> ErrorObject {
    let supported: Vec<_> = Revision::ALL.iter().map(|r| r.as_str()).collect();
    ErrorObject::new(code::UNSUPPORTED_VERSION, "Unsupported protocol version")
        .with_data(&json!({"supported": supported, "requested": requested}))
}

/// Returns the era of a request.
///
/// A request is modern if its `_meta` names any revision. If its `_meta` is missing, the revision header decides.
pub(crate) fn era_of(request: &Request, version_header: Option<&str>) -> Era {
    let header_is_modern =
        || version_header.and_then(Revision::from_date).is_some_and(|r| r.era() == Era::Modern);
    if request.meta.get(meta::PROTOCOL_VERSION).is_some() || header_is_modern() {
        Era::Modern
    } else {
        Era::Legacy
    }
}

/// Returns the least severe log level that a modern request asks for. Returns `None` if it asks for no log.
pub(crate) fn log_level(meta: &Object) -> Result<Option<LogLevel>, ErrorObject> {
    meta.read(meta::LOG_LEVEL).map_err(in_meta)
}
