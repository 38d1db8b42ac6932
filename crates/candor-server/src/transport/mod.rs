//! How messages come in and go out. Transports decode and encode; they decide nothing about methods.

pub mod http;
pub mod stdio;
