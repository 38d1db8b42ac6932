//! Where a request carries an idempotency key.

use candor_engine::caller_key;
use candor_ledger::Key;
use candor_protocol::json::{Json, Object};
use candor_protocol::names::{extension, failure, header, meta};
use candor_protocol::rpc::ErrorObject;
use http::HeaderMap;
use serde_json::json;

use super::context::RequestContext;

/// The member of `params` that a proposal for the protocol uses.
const PARAM: &str = "idempotencyKey";

/// Returns the key in a request's headers, or what is wrong with it.
pub(crate) fn of_headers(headers: &HeaderMap) -> Result<Option<String>, &'static str> {
    let mut sent = headers.get_all(header::IDEMPOTENCY_KEY).iter();
    match (sent.next(), sent.next()) {
        (None, _) => Ok(None),
        (Some(_), Some(_)) => Err("Idempotency-Key was sent twice"),
        (Some(value), None) => {
            let text = value.to_str().map_err(|_| "Idempotency-Key is not visible ASCII")?.trim();
            // The HTTP draft requires quotes, but most clients omit them.
            let quoted = text.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
            Ok(Some(quoted.unwrap_or(text).to_owned()))
        }
    }
}

/// Returns the key that the client sent beside the arguments, if it sent one. A server without a ledger ignores keys.
pub(crate) fn beside(
    request: &RequestContext,
    params: &Object,
) -> Result<Option<Key>, ErrorObject> {
    if request.server.store().is_none() {
        return Ok(None);
    }
    let refuse = |place: &str, problem: &dyn std::fmt::Display| {
        refused(format!("Invalid params: {place}: {problem}"))
    };
    let read = |place: &str, json: Option<Json<'_>>| match json {
        None => Ok(None),
        Some(json) => {
            let text = json.as_str().map_err(|e| refuse(place, &e))?;
            caller_key(text).map(Some).map_err(|e| refuse(place, &e))
        }
    };
    let in_meta = read(meta::IDEMPOTENCY_KEY, request.meta().get(meta::IDEMPOTENCY_KEY))?;
    let in_params = read(PARAM, params.get(PARAM))?;
    let in_header = match &request.key_header {
        None => None,
        Some(text) => Some(caller_key(text.as_str()).map_err(|e| refuse("Idempotency-Key", &e))?),
    };
    let mut all = [in_meta, in_params, in_header].into_iter().flatten();
    let first = all.next();
    match all.find(|other| Some(other) != first.as_ref()) {
        None => Ok(first),
        Some(_) => Err(refused(TWO_KEYS)),
    }
}

fn refused(problem: impl Into<String>) -> ErrorObject {
    let coded = json!({extension::ERROR: {"code": failure::KEY_INVALID}});
    ErrorObject::invalid_params(problem).with_data(&coded)
}

const TWO_KEYS: &str = "Invalid params: two different idempotency keys were sent for one call";

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;

    #[test]
    fn key_header_may_be_quoted_and_must_be_unique() {
        let of = |values: &[&str]| {
            let mut headers = HeaderMap::new();
            for value in values {
                headers.append(header::IDEMPOTENCY_KEY, HeaderValue::from_str(value).unwrap());
            }
            of_headers(&headers)
        };
        assert_eq!(of(&[]), Ok(None));
        assert_eq!(of(&["k-1"]), Ok(Some("k-1".to_owned())));
        assert_eq!(of(&["\"k-1\""]), Ok(Some("k-1".to_owned())));
        assert_eq!(of(&["\""]), Ok(Some("\"".to_owned())));
        assert!(of(&["a", "a"]).is_err());
    }
}
