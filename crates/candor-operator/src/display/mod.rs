//! Texts, times and JSON for users: for operators, in logs, and in a caller's client.

pub mod json;
pub mod when;
pub mod words;

pub use candor_protocol::shown;
