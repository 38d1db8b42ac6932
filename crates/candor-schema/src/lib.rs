//! JSON Schema for Candor.
//!
//! - [`derive()`]: the schema of a Rust type; [`input`] that of a tool's arguments, [`output`] that of its
//!   result.
//! - [`Schema`]: a compiled schema, which reports exactly what is wrong with a value.
//! - [`References`]: the targets of a schema's references.
//! - [`read`]: from a checked value to a Rust value; [`write()`]: from a Rust value to JSON.
//! - [`canonical`]: one text for all spellings of a value.
//! - [`nearest`](nearest()): the name that a caller probably meant.
//!
//! This crate handles values and schemas. It knows nothing of tools, transports or the protocol.

mod base64;
mod canonical;
mod constraints;
mod derive;
mod explain;
mod inline;
mod input;
mod keys;
mod merge;
mod nearest;
mod output;
mod read;
mod schema;
mod tidy;
mod unions;
mod validate;
mod violation;
mod walk;
mod widths;
mod words;
mod write;

pub use base64::Base64;
pub use canonical::canonical;
pub use derive::{View, derivations, derive};
pub use input::{InputSchema, input, input_schema, is_struct, permissive, plain_optionals};
pub use keys::KeyedMap;
pub use nearest::nearest;
pub use output::{BOX_FIELD, BOX_KEYWORD, OutputSchema, output};
pub use read::{MapKey, Natural, ReadAs, WideInteger, read, read_as};
pub use schema::{Schema, SchemaError};
pub use validate::References;
pub use violation::{Invalid, Violation};
pub use write::write;

/// The `schemars` crate, re-exported so that every crate derives the same `JsonSchema`.
pub use schemars;
