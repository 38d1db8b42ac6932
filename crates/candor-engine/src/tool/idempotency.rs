//! How the server recognizes a repeated call.
//!
//! *Idempotent by nature* is an effect (`#[tool(changes, idempotent)]`): a repeated call does no harm. *Idempotent by key* is
//! declared here: a repeated call would do harm, and the ledger prevents it. Only the first allows a second start.

pub use candor_protocol::names::argument::IDEMPOTENCY_KEY as KEY_ARGUMENT;
use serde_json::{Value, json};

/// The argument's description for models. Without the last sentence, they make a new key for each attempt.
const WHAT_IT_IS: &str =
    "Unique key (e.g., UUID) for this operation. Prevents it from being done twice if retried.";
const REUSE: &str = "Reuse the same key when you retry; take a new one only for a new operation.";

/// How the server recognizes a repeated call.
///
/// A client can send a key beside the arguments of *any* tool, if it knows how. The other variants are for callers that can only
/// write arguments, such as models.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Idempotency {
    /// By a key beside the arguments, if the client sends one.
    #[default]
    Beside,
    /// By an optional argument `idempotency_key`.
    Argument,
    /// By a required key: as that argument, or beside it.
    Required,
    /// By a key that is derived from the arguments: [`Prepared::key`](super::Prepared::key).
    Derived,
}

impl Idempotency {
    /// Returns true if every call has a key.
    #[must_use]
    pub const fn is_certain(self) -> bool {
        matches!(self, Self::Required | Self::Derived)
    }

    /// Returns true if a key may be among the arguments.
    #[must_use]
    pub const fn has_argument(self) -> bool {
        matches!(self, Self::Argument | Self::Required)
    }

    /// Returns the word for clients.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Beside => "beside",
            Self::Argument => "optional",
            Self::Required => "required",
            Self::Derived => "derived",
        }
    }
}

/// An input schema with the argument for the key.
pub(super) struct WithKey {
    pub(super) schema: Value,
    /// Whether the author's function takes the argument itself.
    pub(super) authors: bool,
}

/// Adds the argument for the key, or extends the author's description of it.
pub(super) fn with_key(schema: &Value, declared: Idempotency) -> Result<WithKey, String> {
    let mut schema = schema.clone();
    let Some(keywords) = schema.as_object_mut() else {
        return Err("the input schema is no object".to_owned());
    };
    let properties = keywords.entry("properties").or_insert_with(|| json!({}));
    let Some(properties) = properties.as_object_mut() else {
        return Err("`properties` of the input schema is no object".to_owned());
    };
    let authors = properties.contains_key(KEY_ARGUMENT);
    if authors {
        let own = &mut properties[KEY_ARGUMENT];
        if !takes_text(own) {
            return Err(format!("its argument `{KEY_ARGUMENT}` must be a string"));
        }
        let said = own["description"].as_str().unwrap_or(WHAT_IT_IS).trim_end();
        own["description"] = format!("{said} {REUSE}").into();
    } else {
        let property = json!({
            "type": "string",
            "minLength": 1,
            "maxLength": 255,
            "description": format!("{WHAT_IT_IS} {REUSE}"),
        });
        properties.insert(KEY_ARGUMENT.to_owned(), property);
        if declared == Idempotency::Required {
            let required = keywords.entry("required").or_insert_with(|| json!([]));
            if let Some(names) = required.as_array_mut() {
                names.push(KEY_ARGUMENT.into());
            }
        }
    }
    Ok(WithKey { schema, authors })
}

/// Returns true if a property may be a string, perhaps among other types.
fn takes_text(property: &Value) -> bool {
    let named = |value: &Value| match value {
        Value::String(name) => name == "string",
        Value::Array(names) => names.iter().any(|name| name == "string"),
        _ => false,
    };
    named(&property["type"])
        || property["anyOf"].as_array().is_some_and(|any| any.iter().any(|one| named(&one["type"])))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn published(schema: &Value, declared: Idempotency) -> (Value, bool) {
        let WithKey { schema, authors } = with_key(schema, declared).unwrap();
        (schema, authors)
    }

    #[test]
    fn key_argument_is_added_with_advice_on_reuse() {
        let plain =
            json!({"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]});
        let (optional, authors) = published(&plain, Idempotency::Argument);
        assert!(!authors);
        assert_eq!(optional["required"], json!(["a"]));
        let (required, _) = published(&plain, Idempotency::Required);
        assert_eq!(required["required"], json!(["a", "idempotency_key"]));
        let said = required["properties"][KEY_ARGUMENT]["description"].as_str().unwrap();
        assert!(said.starts_with("Unique key (e.g., UUID)") && said.ends_with(REUSE), "{said}");
    }

    #[test]
    fn key_argument_of_the_author_keeps_its_text() {
        let own = json!({"type": "object", "properties": {
            "idempotency_key": {"type": "string", "description": "Prevents duplicate invoices."},
        }});
        let (schema, authors) = published(&own, Idempotency::Required);
        assert!(authors);
        let said = schema["properties"][KEY_ARGUMENT]["description"].as_str().unwrap();
        assert_eq!(said, format!("Prevents duplicate invoices. {REUSE}"));
        assert_eq!(schema.get("required"), None, "the author decides what is required");
        let number = json!({"properties": {"idempotency_key": {"type": "integer"}}});
        assert!(with_key(&number, Idempotency::Required).is_err());
    }
}
