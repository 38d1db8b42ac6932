//! Texts, times and JSON as people may see them: at the desk, in a log, in somebody's client.

pub mod json;
pub use candor_protocol::shown;
pub mod when;
