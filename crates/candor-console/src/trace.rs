//! Trace IDs. An error response and the log name the same request by the same ID.

/// The header of a W3C trace context.
pub(crate) const TRACEPARENT: &str = "traceparent";

/// Returns the trace ID of the current request: the caller's own if it sent one, or a new one.
pub(crate) fn id() -> String {
    candor_server::engine::trace::id()
}
