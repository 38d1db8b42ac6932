//! Transports: they decode and encode messages, and decide nothing about methods.

pub mod http;
pub mod stdio;
