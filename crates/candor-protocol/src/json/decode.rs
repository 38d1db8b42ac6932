//! From raw text to typed values, with an error that points at the spot.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::value::RawValue;

use super::{Number, Object};

/// A message that is JSON but not the message it should be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Malformed {
    /// JSON Pointer to the offending value, from where decoding began.
    pub pointer: String,
    /// What is wrong with it.
    pub problem: String,
}

impl Malformed {
    /// A complaint about the value itself.
    pub fn here(problem: impl Into<String>) -> Self {
        Self { pointer: String::new(), problem: problem.into() }
    }

    /// A required member is not there.
    #[must_use]
    pub fn missing(key: &str) -> Self {
        Self::here(format!("is missing {key:?}"))
    }

    /// The same complaint seen from one level further out.
    #[must_use]
    pub fn within(mut self, step: impl fmt::Display) -> Self {
        let step = step.to_string().replace('~', "~0").replace('/', "~1");
        self.pointer = format!("/{step}{}", self.pointer);
        self
    }
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pointer = if self.pointer.is_empty() { "the value" } else { &self.pointer };
        write!(f, "{pointer} {}", self.problem)
    }
}

impl std::error::Error for Malformed {}

/// A value that can be read from raw JSON text.
///
/// Unlike `serde::Deserialize` it keeps raw members raw, and its errors carry a JSON Pointer.
pub trait Decode: Sized {
    /// Reads the value.
    fn decode(raw: &RawValue) -> Result<Self, Malformed>;
}

fn typed<'a, T: serde::Deserialize<'a>>(raw: &'a RawValue, expected: &str) -> Result<T, Malformed> {
    serde_json::from_str(raw.get()).map_err(|_| Malformed::here(format!("is not {expected}")))
}

impl Decode for String {
    fn decode(raw: &RawValue) -> Result<Self, Malformed> {
        typed(raw, "a string")
    }
}

impl Decode for bool {
    fn decode(raw: &RawValue) -> Result<Self, Malformed> {
        typed(raw, "true or false")
    }
}

impl Decode for Number {
    fn decode(raw: &RawValue) -> Result<Self, Malformed> {
        Self::from_text(raw.get()).ok_or_else(|| Malformed::here("is not a number"))
    }
}

impl Decode for Object {
    fn decode(raw: &RawValue) -> Result<Self, Malformed> {
        typed(raw, "an object")
    }
}

impl Decode for Box<RawValue> {
    fn decode(raw: &RawValue) -> Result<Self, Malformed> {
        Ok(raw.to_owned())
    }
}

impl<T: Decode> Decode for Vec<T> {
    fn decode(raw: &RawValue) -> Result<Self, Malformed> {
        let items: Vec<&RawValue> = typed(raw, "an array")?;
        items
            .into_iter()
            .enumerate()
            .map(|(i, item)| T::decode(item).map_err(|e| e.within(i)))
            .collect()
    }
}

impl<T: Decode> Decode for BTreeMap<String, T> {
    fn decode(raw: &RawValue) -> Result<Self, Malformed> {
        let members = Object::decode(raw)?;
        members
            .into_iter()
            .map(|(key, raw)| match T::decode(&raw) {
                Ok(value) => Ok((key, value)),
                Err(e) => Err(e.within(key)),
            })
            .collect()
    }
}
