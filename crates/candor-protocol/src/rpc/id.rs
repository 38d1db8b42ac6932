//! Request ids and progress tokens: a string or an integer, kept as JSON text.

use std::fmt;
use std::sync::Arc;

use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

use crate::json::{Decode, Json, Malformed};

/// Maximum length of an id as JSON text, in bytes. Every message about its request repeats it, and messages for a slow reader
/// are buffered.
const LONGEST: usize = 1024;

/// An id as its canonical JSON text, so that `1` and `"1"` differ and no digit is lost.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct RequestId(Arc<str>);

impl RequestId {
    /// Returns the id as JSON text, with strings in quotes.
    #[must_use]
    pub fn as_json(&self) -> &str {
        &self.0
    }
}

impl From<u64> for RequestId {
    fn from(id: u64) -> Self {
        Self(id.to_string().into())
    }
}

impl From<&str> for RequestId {
    fn from(id: &str) -> Self {
        Self(serde_json::Value::from(id).to_string().into())
    }
}

impl Decode for RequestId {
    fn decode(json: Json<'_>) -> Result<Self, Malformed> {
        let text = json.text();
        if text.len() > LONGEST {
            return Err(Malformed::here(format!("is longer than {LONGEST} bytes")));
        }
        let digits = text.strip_prefix('-').unwrap_or(text);
        if !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()) {
            Ok(Self(text.into()))
        } else if text.starts_with('"') {
            // Two spellings of one string are one id.
            Ok(Self::from(&*json.as_str()?))
        } else {
            Err(Malformed::here("is not a string or an integer"))
        }
    }
}

impl Serialize for RequestId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let raw: &RawValue = serde_json::from_str(&self.0).map_err(serde::ser::Error::custom)?;
        raw.serialize(serializer)
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
