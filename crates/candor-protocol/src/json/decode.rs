//! Decodes raw text into typed values. An error points at the offending value.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use serde_json::value::RawValue;

use super::{Json, Number, Object};

/// The error for JSON that is not the expected message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Malformed {
    /// JSON Pointer to the offending value, from where decoding began.
    pub pointer: String,
    /// What is wrong with it.
    pub problem: String,
}

impl Malformed {
    /// Creates an error about the value itself.
    pub fn here(problem: impl Into<String>) -> Self {
        Self { pointer: String::new(), problem: problem.into() }
    }

    /// Creates the error for a missing required member.
    #[must_use]
    pub fn missing(key: &str) -> Self {
        Self::here(format!("is missing {key:?}"))
    }

    /// Returns the error as seen from one level further out.
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
    fn decode(json: Json<'_>) -> Result<Self, Malformed>;
}

impl Decode for String {
    fn decode(json: Json<'_>) -> Result<Self, Malformed> {
        json.as_str().map(Cow::into_owned)
    }
}

impl Decode for bool {
    fn decode(json: Json<'_>) -> Result<Self, Malformed> {
        match json.text() {
            "true" => Ok(true),
            "false" => Ok(false),
            _ => Err(Malformed::here("is not true or false")),
        }
    }
}

impl Decode for Number {
    fn decode(json: Json<'_>) -> Result<Self, Malformed> {
        Self::from_text(json.text()).ok_or_else(|| Malformed::here("is not a number"))
    }
}

impl Decode for Box<RawValue> {
    fn decode(json: Json<'_>) -> Result<Self, Malformed> {
        Ok(json.to_raw())
    }
}

impl<T: Decode> Decode for Vec<T> {
    fn decode(json: Json<'_>) -> Result<Self, Malformed> {
        json.items()?
            .into_iter()
            .enumerate()
            .map(|(i, item)| T::decode(item).map_err(|e| e.within(i)))
            .collect()
    }
}

impl<T: Decode> Decode for BTreeMap<String, T> {
    fn decode(json: Json<'_>) -> Result<Self, Malformed> {
        Object::decode(json)?
            .iter()
            .map(|(key, value)| match T::decode(value) {
                Ok(value) => Ok((key.to_owned(), value)),
                Err(e) => Err(e.within(key)),
            })
            .collect()
    }
}
