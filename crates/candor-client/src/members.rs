//! The members of messages, and what is behind a lock: what more than one room reads.

use std::sync::{Mutex, MutexGuard, PoisonError};

use candor_protocol::Message;
use candor_protocol::json::{Decode as _, Json, Malformed, Object, RawValue, raw};
use serde_json::{Map, Value};

/// What is behind a lock, also after somebody has panicked with it in hand.
pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Letters of a server's text that an error repeats.
const QUOTED: usize = 100;

/// Returns a text of the server for a message: in quotes, on one line, and cut.
pub(crate) fn quoted(text: &str) -> String {
    match text.char_indices().nth(QUOTED) {
        Some((end, _)) => format!("{:?}…", &text[..end]),
        None => format!("{text:?}"),
    }
}

/// The members of a value that should be an object.
pub(crate) fn members_of(json: &RawValue) -> Result<Object, Malformed> {
    Object::decode(Json::from(json))
}

/// The same of one that is.
pub(crate) fn object_of(members: &Map<String, Value>) -> Object {
    members.iter().map(|(name, value)| (name.clone(), raw(value))).collect()
}

/// Reading a message out of members that are somebody else's.
pub(crate) trait DecodeObject: Sized {
    fn decode_object(object: &Object) -> Result<Self, Malformed>;
}

impl<T: Message> DecodeObject for T {
    fn decode_object(object: &Object) -> Result<Self, Malformed> {
        T::from_object(object.clone())
    }
}
