//! The precondition of a call: the caller states the decision that it expects, and the call runs only if that still holds.

use candor_protocol::json::{Json, Object};
use candor_protocol::names::extension;
use candor_protocol::rpc::ErrorObject;

/// Returns true if the caller expects the server to ask for approval of this call:
/// `_meta["dev.candor/approval"] = {"expect": "ask"}`.
///
/// An expectation that the server does not know is an error. To ignore it would run the call under an unchecked condition.
pub(crate) fn read(meta: &Object) -> Result<bool, ErrorObject> {
    let invalid = |problem: &str| {
        let place = format!("_meta[\"{}\"]", extension::APPROVAL);
        ErrorObject::invalid_params(format!("Invalid params: {place}{problem}"))
    };
    let Some(settings) =
        meta.read::<Object>(extension::APPROVAL).map_err(|_| invalid(" must be an object"))?
    else {
        return Ok(false);
    };
    match settings.get("expect").map(Json::text) {
        None => Ok(false),
        Some("\"ask\"") => Ok(true),
        Some(_) => Err(invalid(".expect must be \"ask\"")),
    }
}
