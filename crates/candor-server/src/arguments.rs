//! The arguments of a call: decoded once, shared by everything that looks at them.

use std::ops::Deref;
use std::sync::Arc;

use candor_protocol::json::{RawValue, first_inexact_number};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// A call's arguments. Cloning shares them.
#[derive(Debug, Clone, Default)]
pub struct Arguments(Arc<Value>);

impl Arguments {
    /// Decodes arguments; absent ones are the empty object.
    pub(crate) fn decode(raw: Option<&RawValue>) -> Result<Self, String> {
        let Some(raw) = raw else {
            return Ok(Self(Arc::new(Value::Object(Map::new()))));
        };
        let text = raw.get();
        if !text.starts_with('{') {
            return Err("arguments must be an object".to_owned());
        }
        if let Some(number) = first_inexact_number(text) {
            let shown: String = number.chars().take(40).collect();
            return Err(format!(
                "the number {shown} cannot be held exactly; send 64 bits or fewer digits, or a string where one is taken"
            ));
        }
        let value =
            serde_json::from_str(text).map_err(|e| format!("arguments cannot be read: {e}"))?;
        Ok(Self(Arc::new(value)))
    }

    pub(crate) fn from_value(value: Value) -> Self {
        Self(Arc::new(value))
    }

    /// The arguments as one JSON value, always an object.
    #[must_use]
    pub fn as_value(&self) -> &Value {
        &self.0
    }

    /// The arguments as a type of yours.
    pub fn parse<T: DeserializeOwned>(&self) -> serde_json::Result<T> {
        T::deserialize(&*self.0)
    }
}

impl Deref for Arguments {
    type Target = Value;

    fn deref(&self) -> &Value {
        &self.0
    }
}
