//! Trace IDs. An error response and the log name the same request by the same ID.

use candor_server::trace_id;
use http::HeaderMap;

/// The header of a W3C trace context.
pub(crate) const TRACEPARENT: &str = "traceparent";

/// Returns the caller's own trace ID if it sent one, or a new one: 32 hexadecimal digits.
pub(crate) fn id(headers: &HeaderMap) -> String {
    let brought = headers.get(TRACEPARENT).and_then(|value| value.to_str().ok());
    brought.and_then(trace_id).unwrap_or_else(new)
}

pub(crate) fn new() -> String {
    let mut bytes = [0_u8; 16];
    getrandom::fill(&mut bytes).expect("the operating system has randomness");
    bytes.map(|byte| format!("{byte:02x}")).concat()
}
