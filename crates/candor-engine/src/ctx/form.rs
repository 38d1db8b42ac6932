//! Forms from types: derives an elicitation form from a Rust struct.
//!
//! A form is a flat object of strings, numbers, booleans and choices. The client gets the part of the type's schema that the
//! protocol allows. The answer is checked against the whole schema.

use std::any::{TypeId, type_name};
use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use candor_protocol::json::raw;
use candor_schema::{Schema, View};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use super::ask::ElicitAnswer;
use crate::error::AskError;

/// What the user did with a form of [`Ctx::elicit_as`](crate::Ctx::elicit_as).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FormAnswer<T> {
    /// The user filled the form in.
    Accepted(T),
    /// The user said no.
    Declined,
    /// The user left without an answer.
    Cancelled,
}

impl<T> FormAnswer<T> {
    /// Returns the values, if the user filled the form in.
    pub fn accepted(self) -> Option<T> {
        match self {
            Self::Accepted(values) => Some(values),
            Self::Declined | Self::Cancelled => None,
        }
    }
}

/// The schema of a type, and the part of it that a client gets.
pub(crate) struct Form {
    pub(crate) requested: Value,
    schema: Arc<Schema>,
}

/// Cached by type, because deriving a schema takes longer than the rest of a question.
static FORMS: LazyLock<Mutex<HashMap<TypeId, Arc<Form>>>> = LazyLock::new(Mutex::default);

impl Form {
    /// Returns the form of a type.
    pub(crate) fn of_type<T: JsonSchema + 'static>() -> Result<Arc<Self>, AskError> {
        let known = || FORMS.lock().unwrap_or_else(PoisonError::into_inner);
        let id = TypeId::of::<T>();
        if let Some(form) = known().get(&id) {
            return Ok(Arc::clone(form));
        }
        let refuse = |problem: String| {
            let name = type_name::<T>();
            AskError::NotAForm(format!(
                "`{name}` cannot be a form: {problem}. A form is a struct of strings, numbers, booleans, enums without fields, \
                 lists of such enums, and options of these"
            ))
        };
        let schema = candor_schema::derive::<T>(View::Input);
        let requested = requested(&schema).map_err(refuse)?;
        let compiled = Schema::compile(raw(&schema).get());
        let schema = compiled.map_err(|error| refuse(error.to_string()))?;
        let form = Arc::new(Self { requested, schema });
        known().insert(id, Arc::clone(&form));
        Ok(form)
    }

    /// Parses an answer as a value of the form's type.
    pub(crate) fn read<T: DeserializeOwned>(
        &self,
        answer: ElicitAnswer,
    ) -> Result<FormAnswer<T>, AskError> {
        let content = match answer {
            ElicitAnswer::Accepted(content) => content,
            ElicitAnswer::Declined => return Ok(FormAnswer::Declined),
            ElicitAnswer::Cancelled => return Ok(FormAnswer::Cancelled),
        };
        let read = self.schema.check(&content).and_then(|()| candor_schema::read(&content));
        read.map(FormAnswer::Accepted).map_err(|invalid| AskError::Malformed(invalid.to_string()))
    }
}

/// Returns the part of a schema that the protocol allows in a form, or why the schema cannot be a form.
fn requested(schema: &Value) -> Result<Value, String> {
    let schema = candor_schema::plain_optionals(schema);
    for word in ["oneOf", "anyOf", "allOf", "$ref"] {
        if schema.get(word).is_some() {
            return Err("it is not a struct with a fixed set of fields".to_owned());
        }
    }
    if schema["type"] != "object" {
        return Err(format!("it is {}", kind(&schema)));
    }
    let mut properties = Map::new();
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        let question =
            primitive(property).map_err(|found| format!("its field `{name}` is {found}"))?;
        properties.insert(name.clone(), question);
    }
    if properties.is_empty() {
        return Err("it has no fields to fill in".to_owned());
    }
    let mut form = json!({"type": "object", "properties": properties});
    if let Some(required) = schema.get("required") {
        form["required"] = required.clone();
    }
    Ok(form)
}

/// Returns the part of a field's schema that the protocol allows, or a description of a field that it does not allow.
fn primitive(schema: &Value) -> Result<Value, String> {
    let choices = choices(schema);
    let words: &[&str] = match schema["type"].as_str() {
        _ if choices.is_some() => &[],
        Some("string") => &["minLength", "maxLength"],
        Some("number" | "integer") => &["minimum", "maximum"],
        Some("boolean") => &[],
        Some("array") if self::choices(&schema["items"]).is_some() => &["minItems", "maxItems"],
        _ => return Err(kind(schema)),
    };
    let mut question = match &choices {
        Some(choices) => json!({"type": "string", "enum": choices}),
        None => json!({"type": schema["type"]}),
    };
    for word in ["title", "description", "default"].iter().chain(words) {
        // An absent option has the default `null`, which no form allows.
        if let Some(value) = schema.get(*word).filter(|value| !value.is_null()) {
            question[*word] = value.clone();
        }
    }
    match schema["format"].as_str() {
        Some(format @ ("date" | "date-time" | "email" | "uri")) if choices.is_none() => {
            question["format"] = format.into();
        }
        _ => {}
    }
    if let Some(items) = self::choices(&schema["items"]) {
        question["items"] = json!({"type": "string", "enum": items});
    }
    Ok(question)
}

/// Returns the values of an enum without fields.
fn choices(schema: &Value) -> Option<Vec<Value>> {
    let values: Vec<Value> = match (&schema["enum"], &schema["const"], &schema["oneOf"]) {
        (Value::Array(values), ..) => values.clone(),
        (_, value @ Value::String(_), _) => vec![value.clone()],
        (.., Value::Array(variants)) => {
            let nested = variants.iter().map(choices).collect::<Option<Vec<_>>>()?;
            nested.into_iter().flatten().collect()
        }
        _ => return None,
    };
    (!values.is_empty() && values.iter().all(Value::is_string)).then_some(values)
}

/// Describes a schema for an error message.
fn kind(schema: &Value) -> String {
    match schema["type"].as_str() {
        Some("object") => "an object".to_owned(),
        Some("array") => "a list".to_owned(),
        Some(other) => format!("of type {other}"),
        None => "of several shapes".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schema_of_primitives_becomes_a_form() {
        let schema = json!({
            "type": "object",
            "properties": {
                "name": {"type": "string", "description": "Whom", "minLength": 1, "pattern": "^a"},
                "mail": {"type": "string", "format": "email"},
                "id": {"type": "string", "format": "uuid"},
                "age": {"type": "integer", "minimum": 0, "maximum": 150},
                "size": {"oneOf": [{"const": "S", "description": "small"}, {"enum": ["L", "XL"]}]},
                "days": {"type": "array", "items": {"type": "string", "enum": ["mon", "tue"]}, "maxItems": 2},
                "note": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": null},
            },
            "required": ["name"],
            "additionalProperties": false,
        });
        let expected = json!({
            "type": "object",
            "properties": {
                "name": {"type": "string", "description": "Whom", "minLength": 1},
                "mail": {"type": "string", "format": "email"},
                "id": {"type": "string"},
                "age": {"type": "integer", "minimum": 0, "maximum": 150},
                "size": {"type": "string", "enum": ["S", "L", "XL"]},
                "days": {"type": "array", "maxItems": 2, "items": {"type": "string", "enum": ["mon", "tue"]}},
                "note": {"type": "string"},
            },
            "required": ["name"],
        });
        assert_eq!(requested(&schema), Ok(expected));
    }

    #[test]
    fn nested_schema_is_refused_with_the_field_name() {
        let nested = json!({"type": "object", "properties": {"address": {"type": "object"}}});
        assert_eq!(requested(&nested), Err("its field `address` is an object".to_owned()));
        let list = json!({"type": "object", "properties": {"tags": {"type": "array", "items": {"type": "string"}}}});
        assert_eq!(requested(&list), Err("its field `tags` is a list".to_owned()));
        assert!(requested(&json!({"type": "string"})).is_err());
        assert!(requested(&json!({"type": "object", "properties": {}})).is_err());
        assert!(requested(&json!({"type": "object", "oneOf": []})).is_err());
    }
}
