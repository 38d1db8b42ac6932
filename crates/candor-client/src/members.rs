//! Helpers for the members of messages, for quoted text and for locks.

use std::sync::{Mutex, MutexGuard, PoisonError};

use candor_protocol::Message;
use candor_protocol::json::{Decode as _, Json, Malformed, Object, RawValue, raw};
use serde_json::{Map, Value};

/// Locks a mutex, even if another holder panicked.
pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The maximum number of characters of a server's text in an error.
const QUOTED: usize = 100;

/// Returns a server's text for a message: quoted, on one line, and shortened.
pub(crate) fn quoted(text: &str) -> String {
    match text.char_indices().nth(QUOTED) {
        Some((end, _)) => format!("{:?}…", &text[..end]),
        None => format!("{text:?}"),
    }
}

/// Returns the members of a JSON value, which must be an object.
pub(crate) fn members_of(json: &RawValue) -> Result<Object, Malformed> {
    Object::decode(Json::from(json))
}

/// Converts a JSON map to an object.
pub(crate) fn object_of(members: &Map<String, Value>) -> Object {
    members.iter().map(|(name, value)| (name.clone(), raw(value))).collect()
}

/// Decodes a message from members that it does not own.
pub(crate) trait DecodeObject: Sized {
    fn decode_object(object: &Object) -> Result<Self, Malformed>;
}

impl<T: Message> DecodeObject for T {
    fn decode_object(object: &Object) -> Result<Self, Malformed> {
        T::from_object(object.clone())
    }
}
