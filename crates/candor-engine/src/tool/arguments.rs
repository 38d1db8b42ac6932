//! The arguments of a call: decoded once and shared by every stage.

use std::ops::Deref;
use std::sync::Arc;

use candor_protocol::json::{Json, first_inexact_number};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// A call's arguments. Cloning shares them.
///
/// ```
/// use candor_server::hints::Hints;
/// use candor_server::tool::{JsonTool, ToolError};
///
/// let double = JsonTool::open("double", |args, _ctx| async move {
///     let number = args["number"].as_i64().ok_or(ToolError::new("`number` is a whole number"))?;
///     Ok((2 * number).to_string())
/// })
/// .hints(Hints::READS);
/// ```
#[derive(Debug, Clone)]
pub struct Arguments(Arc<Value>);

impl Default for Arguments {
    /// Returns no arguments: the empty object.
    fn default() -> Self {
        Self(Arc::new(Value::Object(Map::new())))
    }
}

impl Arguments {
    /// Decodes arguments. Absent ones become the empty object.
    ///
    /// # Errors
    /// They are no object, or hold a number that cannot be held exactly.
    pub fn decode(sent: Option<Json<'_>>) -> Result<Self, String> {
        let Some(sent) = sent else {
            return Ok(Self::default());
        };
        let text = sent.text();
        if !text.starts_with('{') {
            return Err("arguments must be an object".to_owned());
        }
        if let Some(number) = first_inexact_number(text) {
            let shown: String = number.chars().take(40).collect();
            return Err(format!(
                "the number {shown} cannot be held exactly; send 64 bits or fewer digits, or a string where one is taken"
            ));
        }
        let mut value =
            serde_json::from_str(text).map_err(|e| format!("arguments cannot be read: {e}"))?;
        settle(&mut value);
        Ok(Self(Arc::new(value)))
    }

    /// Returns the arguments without one of them. Copies them only if it is present and they are shared.
    pub(crate) fn without(mut self, name: &str) -> Self {
        self.remove(name);
        self
    }

    pub(crate) fn remove(&mut self, name: &str) {
        if self.get(name).is_some()
            && let Value::Object(members) = Arc::make_mut(&mut self.0)
        {
            members.shift_remove(name);
        }
    }

    pub(crate) fn insert(&mut self, name: &str, value: Value) {
        if let Value::Object(members) = Arc::make_mut(&mut self.0) {
            members.insert(name.to_owned(), value);
        }
    }

    /// Returns the arguments as one JSON value, always an object.
    #[must_use]
    pub fn as_value(&self) -> &Value {
        &self.0
    }

    /// Parses the arguments as your own type.
    pub fn parse<T: DeserializeOwned>(&self) -> serde_json::Result<T> {
        T::deserialize(&*self.0)
    }
}

/// Gives every whole number one form: `1.0` and `1e0` become `1`. So handlers, effect functions and the digest that recognizes a
/// retry see the same value for the same call.
fn settle(value: &mut Value) {
    /// Up to this number, a double represents every whole number exactly.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    match value {
        Value::Number(number) if number.is_f64() => {
            if let Some(float) = number.as_f64().filter(|f| f.fract() == 0.0 && f.abs() <= EXACT) {
                #[expect(clippy::cast_possible_truncation, reason = "whole, and small enough")]
                let whole = float as i64;
                *number = whole.into();
            }
        }
        Value::Array(items) => items.iter_mut().for_each(settle),
        Value::Object(members) => members.values_mut().for_each(settle),
        _ => {}
    }
}

impl From<Value> for Arguments {
    /// Takes arguments that are in memory already. Anything but an object counts as the empty object.
    fn from(mut value: Value) -> Self {
        if !value.is_object() {
            value = Value::Object(Map::new());
        }
        settle(&mut value);
        Self(Arc::new(value))
    }
}

impl Deref for Arguments {
    type Target = Value;

    fn deref(&self) -> &Value {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use candor_protocol::json::raw;

    #[test]
    fn numbers_are_normalized_to_one_spelling() {
        let sent = r#"{"a": 1.0, "b": [-2e1, 0.5, -0.0, 1e300], "c": {"d": 9007199254740992.0}}"#;
        let sent: Box<candor_protocol::json::RawValue> = serde_json::from_str(sent).unwrap();
        let arguments = Arguments::decode(Some((&*sent).into())).unwrap();
        assert_eq!(
            arguments.to_string(),
            r#"{"a":1,"b":[-20,0.5,0,1e+300],"c":{"d":9007199254740992}}"#
        );
        let same = Arguments::decode(Some((&*raw(arguments.as_value())).into())).unwrap();
        assert_eq!(*same, *arguments);
    }
}
