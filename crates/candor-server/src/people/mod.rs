//! Texts, times and JSON for users: for operators, in logs, and in a caller's client.

pub mod json;
pub use candor_protocol::shown;
pub mod when;
