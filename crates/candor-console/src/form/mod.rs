//! Turns a schema into a form. These are pure functions, so that tests can run them on any schema.
//!
//! `read` turns a schema into [`Field`]s, `words` names their types, `render` writes a form, and `outline` a table. Nothing here
//! knows about tools or requests. A schema may come from anywhere. A part that is too deep, too large or too unusual for a form
//! becomes a field for JSON.

mod outline;
mod read;
mod render;
mod words;

pub(crate) use outline::outline;
pub(crate) use read::{prefill, read};
pub(crate) use render::form;
pub(crate) use words::{signature, type_of};

use serde_json::Value;

/// An input at one place of the arguments.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Field {
    /// The name of the member or of the shape. Empty for the root and for list items.
    pub(crate) name: String,
    /// The description by the schema's author.
    pub(crate) text: String,
    pub(crate) required: bool,
    /// True if `null` is also valid.
    pub(crate) nullable: bool,
    pub(crate) default: Option<Value>,
    /// The constraints on a value, in words.
    pub(crate) limits: Vec<String>,
    pub(crate) kind: Kind,
}

/// The kind of value that a place takes.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Kind {
    Text(Text),
    Number {
        whole: bool,
    },
    Truth,
    /// One of these values.
    Choice(Vec<Pick>),
    /// Always this value.
    Fixed(Value),
    Group {
        fields: Vec<Field>,
        /// The field for members with other names, if the schema describes them.
        rest: Option<Box<Field>>,
    },
    List(Box<Field>),
    /// A list with its own field for each position.
    Tuple(Vec<Field>),
    /// One of several named shapes.
    Shapes(Vec<Field>),
    /// A value that a form cannot offer.
    Json,
}

/// One of the values that a place takes.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Pick {
    pub(crate) value: Value,
    /// The description by the schema's author.
    pub(crate) text: String,
}

/// The kind of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Text {
    /// Any number of lines.
    Free,
    Line,
    Date,
    DateTime,
    Email,
    Uri,
    Uuid,
    Secret,
    /// An idempotency key. The caller makes it up, and sends it again on a retry.
    Key,
}

#[cfg(test)]
mod tests;
