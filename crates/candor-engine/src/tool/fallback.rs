//! Schemas of a tool's Rust types that cannot be used: the derivation panicked, or no validator accepts the result.
//!
//! Such a schema does not make the tool unusable. The input schema is replaced by one that accepts any object, because the types
//! check the arguments when they are read. The output schema is omitted. A schema that an author wrote by hand is not replaced:
//! without a type behind it, nothing would check the arguments.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

use candor_protocol::json::{RawValue, raw};
use candor_protocol::names::extension;
use candor_protocol::types::Tool as Definition;
use serde::de::{DeserializeOwned, Deserializer, Error as _, Visitor, value};
use serde_json::json;

use super::warning;
use crate::trace::panic_reason;

/// Which schemas of a definition are derived from types.
#[derive(Debug, Clone, Copy, Default)]
pub struct Derived {
    pub(super) input: bool,
    pub(super) output: bool,
}

/// The role of a schema in a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SchemaRole {
    /// The schema of its arguments.
    Input,
    /// The schema of its structured content.
    Output,
}

impl SchemaRole {
    /// Returns `input` or `output`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Input => "input",
            Self::Output => "output",
        }
    }
}

/// A schema of a tool's types that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SchemaProblem {
    /// The schema's role.
    pub role: SchemaRole,
    /// Why it cannot be used. For operators: it may quote a panic.
    pub problem: String,
}

impl SchemaProblem {
    pub(super) fn of(role: SchemaRole, problem: String) -> Self {
        Self { role, problem }
    }

    /// Logs the problem.
    pub(super) fn warn(&self, tool: &str) {
        let what = match self.role {
            SchemaRole::Input => "the server publishes one that takes any object",
            SchemaRole::Output => "the server publishes none",
        };
        warning::once(tool, &format!("{self}; {what}"));
    }
}

impl fmt::Display for SchemaProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "its type's {} schema cannot be used: {}", self.role.as_str(), self.problem)
    }
}

/// Tells clients which schemas are missing, but not why.
pub(super) fn mark(definition: &mut Definition, problems: &[SchemaProblem]) {
    if problems.is_empty() {
        return;
    }
    let roles: Vec<_> = problems.iter().map(|problem| problem.role.as_str()).collect();
    let meta = definition.meta.take().unwrap_or_default();
    definition.meta = Some(meta.with(extension::SCHEMA, &json!({"unavailable": roles})));
}

/// Returns true if a type deserializes from the named members of an object, as a struct does. For a type that has no schema.
pub(super) fn reads_struct<T: DeserializeOwned>() -> bool {
    let mut is_struct = false;
    let _ = T::deserialize(SchemaProbe(&mut is_struct));
    is_struct
}

/// Records what a type asks for, and provides no value.
struct SchemaProbe<'p>(&'p mut bool);

impl<'de> Deserializer<'de> for SchemaProbe<'_> {
    type Error = value::Error;

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Self::Error> {
        Err(value::Error::custom("there is no value"))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Self::Error> {
        *self.0 = true;
        self.deserialize_any(visitor)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Self::Error> {
        visitor.visit_newtype_struct(self)
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct seq tuple
        tuple_struct map enum identifier ignored_any
    }
}

/// Derives a schema, or returns the message of a panic.
pub(super) fn derive<S>(derivation: impl FnOnce() -> S) -> Result<S, Box<RawValue>> {
    catch_unwind(AssertUnwindSafe(derivation)).map_err(|panic| {
        // No schema is a string, so a string is an error message.
        raw(&format!("the derivation panicked: {}", panic_reason(&*panic)))
    })
}
