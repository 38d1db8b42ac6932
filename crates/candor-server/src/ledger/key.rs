//! Idempotency keys: where a request can carry one, and how the server reads it.

use candor_ledger::Key;
use candor_protocol::json::{Json, Object};
use candor_protocol::names::{extension, header, meta};
use candor_protocol::rpc::ErrorObject;
use candor_schema::Violation;
use http::HeaderMap;
use serde_json::{Value, json};

use crate::arguments::Arguments;
use crate::exchange::RequestContext;
use crate::tool::{KEY_ARGUMENT, RegisteredTool, ToolError, code};

/// The first character of the names that the server gives to calls without a key. A caller's key cannot begin with it.
pub(crate) const RESERVED: char = '~';

/// Parses a caller's key.
fn of_caller(text: impl Into<String>) -> Result<Key, String> {
    let key = Key::new(text).map_err(|bad| bad.to_string())?;
    if key.as_str().starts_with(RESERVED) {
        return Err(format!("keys that begin with {RESERVED} are the server's own"));
    }
    Ok(key)
}

/// The member of `params` that a proposal for the protocol uses.
const PARAM: &str = "idempotencyKey";

/// Returns the key in a request's headers, or what is wrong with it.
pub fn of_headers(headers: &HeaderMap) -> Result<Option<String>, &'static str> {
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

/// Returns the key that the client sent beside the arguments, if it sent one.
pub(crate) fn beside(
    exchange: &RequestContext,
    params: &Object,
) -> Result<Option<Key>, ErrorObject> {
    let refuse = |place: &str, problem: &dyn std::fmt::Display| {
        refused(format!("Invalid params: {place}: {problem}"))
    };
    let read = |place: &str, json: Option<Json<'_>>| match json {
        None => Ok(None),
        Some(json) => {
            let text = json.as_str().map_err(|e| refuse(place, &e))?;
            of_caller(text).map(Some).map_err(|e| refuse(place, &e))
        }
    };
    let in_meta = read(meta::IDEMPOTENCY_KEY, exchange.meta.get(meta::IDEMPOTENCY_KEY))?;
    let in_params = read(PARAM, params.get(PARAM))?;
    let in_header = match &exchange.key_header {
        None => None,
        Some(text) => Some(of_caller(text.as_str()).map_err(|e| refuse("Idempotency-Key", &e))?),
    };
    let mut all = [in_meta, in_params, in_header].into_iter().flatten();
    let first = all.next();
    match all.find(|other| Some(other) != first.as_ref()) {
        None => Ok(first),
        Some(_) => Err(refused(TWO_KEYS)),
    }
}

fn refused(problem: impl Into<String>) -> ErrorObject {
    let coded = json!({extension::ERROR: {"code": code::KEY_INVALID}});
    ErrorObject::invalid_params(problem).with_data(&coded)
}

const TWO_KEYS: &str = "Invalid params: two different idempotency keys were sent for one call";

/// Takes the key from the arguments, if the framework added one to the tool, and checks that it equals a key beside them. It does
/// not check that a required key is present: a request that only explains a call needs none.
pub(crate) fn take(
    entry: &RegisteredTool,
    arguments: &mut Arguments,
    beside: Option<Key>,
) -> Result<Option<Key>, ToolError> {
    if !entry.idempotency.has_argument() {
        return Ok(beside);
    }
    let invalid = |problem: String| ToolError::invalid(entry.name(), unfit(problem).into());
    let among = match arguments.get(KEY_ARGUMENT) {
        None | Some(Value::Null) => None,
        Some(Value::String(text)) => Some(of_caller(text.as_str()).map_err(invalid)?),
        Some(_) => return Err(invalid("must be a string".to_owned())),
    };
    let key = agreed(among, beside)?;
    match (&key, entry.takes_key) {
        (_, false) => arguments.remove(KEY_ARGUMENT),
        // The author's function gets the key, wherever it came from.
        (Some(key), true) => arguments.insert(KEY_ARGUMENT, key.as_str().into()),
        (None, true) => {}
    }
    Ok(key)
}

/// Returns the key. Fails if two keys differ.
pub(crate) fn agreed(one: Option<Key>, other: Option<Key>) -> Result<Option<Key>, ToolError> {
    match (one, other) {
        (Some(one), Some(other)) if one != other => Err(ToolError::new(
            "The call has two different idempotency keys. Nothing was run. Send one key.",
        )
        .code(code::KEY_INVALID)
        .never_retry()),
        (one, other) => Ok(one.or(other)),
    }
}

/// Returns the error for a call that lacks a required key.
pub(crate) fn required(entry: &RegisteredTool) -> ToolError {
    let what = format!(
        "{} needs an idempotency key. Nothing was run. Send a new unique key (a UUID) in `{KEY_ARGUMENT}`, and the same key \
         on every retry",
        entry.name()
    );
    ToolError::new(what).code(code::KEY_REQUIRED).violation(unfit("is required"))
}

/// Returns the violation for an invalid key argument.
fn unfit(problem: impl Into<String>) -> Violation {
    let expected = "a string of 1 to 255 visible ASCII characters";
    Violation::new(format!("/{KEY_ARGUMENT}"), problem).expecting(expected)
}

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
