//! From a schema to a form: pure functions, so that they can be tried out on any schema.
//!
//! `read` makes [`Field`]s of a schema, `words` says their types, `render` makes a form of them, `outline` a table. Nothing here
//! knows of tools or of requests. A schema may be anybody's: what is too deep, too large or too strange for a form becomes a field
//! that takes JSON.

mod outline;
mod read;
mod render;
mod words;

pub(crate) use outline::outline;
pub(crate) use read::{prefill, read};
pub(crate) use render::form;
pub(crate) use words::{signature, type_of};

use serde_json::Value;

/// What can be filled in at one place of the arguments.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Field {
    /// The member's name; what a choice between shapes is called; empty for what has only a place in a list.
    pub(crate) name: String,
    /// What the schema's author says of it.
    pub(crate) text: String,
    pub(crate) required: bool,
    /// Whether `null` is a value too.
    pub(crate) nullable: bool,
    pub(crate) default: Option<Value>,
    /// What a value must keep to, in words.
    pub(crate) limits: Vec<String>,
    pub(crate) kind: Kind,
}

/// What a place takes.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Kind {
    Text(Text),
    Number {
        whole: bool,
    },
    Truth,
    /// One of these.
    Choice(Vec<Pick>),
    /// Always this.
    Fixed(Value),
    Group {
        fields: Vec<Field>,
        /// What members of other names take, where the schema says so.
        rest: Option<Box<Field>>,
    },
    List(Box<Field>),
    /// A list whose places differ.
    Tuple(Vec<Field>),
    /// One of several shapes, each under its name.
    Shapes(Vec<Field>),
    /// Whatever a form cannot ask for.
    Json,
}

/// One of the values that a place takes.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Pick {
    pub(crate) value: Value,
    /// What the schema's author says of it.
    pub(crate) text: String,
}

/// What kind of text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Text {
    /// Of any number of lines.
    Free,
    Line,
    Date,
    DateTime,
    Email,
    Uri,
    Uuid,
    Secret,
    /// Made up by whoever calls, and used again on a retry.
    Key,
}

#[cfg(test)]
mod tests;
