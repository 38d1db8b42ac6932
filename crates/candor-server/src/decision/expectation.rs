//! The precondition of a call: the caller states the decision that it expects, and the call runs only if that still holds.

use candor_protocol::json::Object;
use candor_protocol::names::extension;
use candor_protocol::rpc::ErrorObject;

use super::id::DecisionId;

/// What a caller expects of the server's decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Expectation {
    /// The server asks for approval.
    Approval,
    /// The decision is the one with this id.
    Decision(DecisionId),
}

/// Reads what the caller expects: `_meta["dev.candor/approval"] = {"expect": "ask"}`, or the id of a decision instead of `"ask"`.
///
/// An expectation that the server does not know is an error. To ignore it would run the call under an unchecked condition.
pub(crate) fn read(meta: &Object) -> Result<Option<Expectation>, ErrorObject> {
    let invalid = |problem: &str| {
        let place = format!("_meta[\"{}\"]", extension::APPROVAL);
        ErrorObject::invalid_params(format!("Invalid params: {place}{problem}"))
    };
    let Some(settings) =
        meta.read::<Object>(extension::APPROVAL).map_err(|_| invalid(" must be an object"))?
    else {
        return Ok(None);
    };
    let Some(expected) = settings.get("expect") else { return Ok(None) };
    let text = expected.as_str().ok();
    match (text.as_deref(), text.as_deref().and_then(DecisionId::parse)) {
        (Some("ask"), _) => Ok(Some(Expectation::Approval)),
        (_, Some(id)) => Ok(Some(Expectation::Decision(id))),
        _ => Err(invalid(".expect must be \"ask\" or the id of a decision")),
    }
}
