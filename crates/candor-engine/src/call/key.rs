//! Idempotency keys: how the server reads them, and which one a call has.

use candor_ledger::Key;
use serde_json::Value;

use crate::error::Refusal;
use crate::record::recorded::RESERVED;
use crate::tool::{Arguments, KEY_ARGUMENT, RegisteredTool};

/// Parses a caller's key.
///
/// # Errors
/// The text is no key, or it is a name of the server's own.
pub fn caller_key(text: impl Into<String>) -> Result<Key, String> {
    let key = Key::new(text).map_err(|bad| bad.to_string())?;
    if key.as_str().starts_with(RESERVED) {
        return Err(format!("keys that begin with {RESERVED} are the server's own"));
    }
    Ok(key)
}

/// Takes the key from the arguments, if the framework added one to the tool, and checks that it equals a key beside them. It does
/// not check that a required key is present: a request that only explains a call needs none.
pub(super) fn take(
    entry: &RegisteredTool,
    arguments: &mut Arguments,
    beside: Option<Key>,
) -> Result<Option<Key>, Refusal> {
    if !entry.idempotency.has_argument() {
        return Ok(beside);
    }
    let invalid = |problem: String| Refusal::invalid_key(entry.name(), problem);
    let among = match arguments.get(KEY_ARGUMENT) {
        None | Some(Value::Null) => None,
        Some(Value::String(text)) => Some(caller_key(text.as_str()).map_err(invalid)?),
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
pub(super) fn agreed(one: Option<Key>, other: Option<Key>) -> Result<Option<Key>, Refusal> {
    match (one, other) {
        (Some(one), Some(other)) if one != other => Err(Refusal::KeysDiffer),
        (one, other) => Ok(one.or(other)),
    }
}
