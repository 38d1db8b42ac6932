//! JSON Schema for Candor.
//!
//! - [`Schema`]: a schema compiled once, that says exactly what is wrong with a value.
//! - [`canonical`]: one text for all spellings of a value.
//!
//! Knows values and schemas; knows nothing of tools, transports or the protocol.

mod canonical;
mod schema;

pub use canonical::canonical;
pub use schema::{Invalid, Schema, SchemaError, Violation};
