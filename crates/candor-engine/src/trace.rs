//! Trace ids, which connect the error of a request to its lines in the log.
//!
//! The id is that of the caller's own trace, if there is one. Otherwise the server generates one on first use, which a successful
//! call rarely needs.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use crate::seal::{hex, random_bytes};
use candor_protocol::json::{Decode, Json, Malformed, Object};

tokio::task_local! {
    static CURRENT: Arc<Trace>;
    static COLLECTOR: Reasons;
}

#[derive(Default)]
struct Trace {
    meta: Arc<Object>,
    id: OnceLock<String>,
    reasons: Option<Reasons>,
}

/// Internal reasons of failures, which go to the log and not to the caller. A test client collects them.
#[derive(Debug, Clone, Default)]
pub struct Reasons(Arc<Mutex<Vec<String>>>);

impl Reasons {
    /// Runs requests and collects their internal reasons, also those of the tasks that carry their trace.
    pub fn collect<F: Future>(&self, requests: F) -> impl Future<Output = F::Output> {
        COLLECTOR.scope(self.clone(), requests)
    }

    pub fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Notes why the current request fails, if its caller does not get the reason. The log has it in any case.
pub fn note(reason: impl std::fmt::Display) {
    let _ = CURRENT.try_with(|trace| {
        if let Some(Reasons(reasons)) = &trace.reasons {
            reasons.lock().unwrap_or_else(PoisonError::into_inner).push(reason.to_string());
        }
    });
}

/// Returns the message of a panic.
pub fn panic_reason(panic: &(dyn std::any::Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or_default()
}

/// Runs a request under the trace id that it carries, or under a new one.
pub fn of<F: Future>(meta: &Arc<Object>, request: F) -> impl Future<Output = F::Output> {
    let reasons = COLLECTOR.try_with(Clone::clone).ok();
    CURRENT.scope(Arc::new(Trace { meta: meta.clone(), id: OnceLock::new(), reasons }), request)
}

/// Carries the current trace over to a task. Not an async fn: its body would run in the new task, where there is no current
/// request.
pub fn carried<F: Future>(task: F) -> impl Future<Output = F::Output> {
    CURRENT.scope(CURRENT.try_with(Arc::clone).unwrap_or_default(), task)
}

/// Returns the trace id of the current request: 32 hexadecimal digits. Outside of requests, returns a new one.
pub fn id() -> String {
    CURRENT
        .try_with(|trace| trace.id.get_or_init(|| given(&trace.meta)).clone())
        .unwrap_or_else(|_| new())
}

fn given(meta: &Object) -> String {
    TraceParent::of(meta).map_or_else(new, |parent| parent.trace_id)
}

fn new() -> String {
    hex(&random_bytes::<16>())
}

/// Returns the trace id of a W3C `traceparent`, or `None` if it is invalid. For code that passes the header on: it must accept the
/// same values as the server.
pub fn trace_id(traceparent: &str) -> Option<String> {
    TraceParent::read(traceparent).map(|parent| parent.trace_id)
}

/// A W3C trace context: `00-<32 hex>-<16 hex>-<2 hex>`.
pub struct TraceParent {
    pub trace_id: String,
    pub parent_id: String,
}

impl TraceParent {
    pub fn of(meta: &Object) -> Option<Self> {
        meta.read("traceparent").ok().flatten()
    }

    fn read(text: &str) -> Option<Self> {
        let parts: Vec<&str> = text.split('-').collect();
        let digits = |part: &str, len: usize| {
            part.len() == len
                && part.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
                && (len == 2 || part.bytes().any(|b| b != b'0'))
        };
        match parts[..] {
            [version, trace_id, parent_id, flags, ..]
                if digits(version, 2)
                    && version != "ff"
                    && (version != "00" || parts.len() == 4)
                    && digits(trace_id, 32)
                    && digits(parent_id, 16)
                    && digits(flags, 2) =>
            {
                Some(Self { trace_id: trace_id.to_owned(), parent_id: parent_id.to_owned() })
            }
            _ => None,
        }
    }
}

impl Decode for TraceParent {
    fn decode(json: Json<'_>) -> Result<Self, Malformed> {
        Self::read(&json.as_str()?).ok_or_else(|| Malformed::here("is not a W3C traceparent"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use candor_protocol::json::raw;

    #[test]
    fn traceparent_follows_the_w3c_format() {
        let read = |text: &str| TraceParent::decode((&*raw(text)).into()).ok();
        let parent = read("00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01").unwrap();
        assert_eq!(parent.trace_id, "0af7651916cd43dd8448eb211c80319c");
        assert_eq!(parent.parent_id, "00f067aa0ba902b7");
        for bad in [
            "",
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
            "00-0AF7651916CD43DD8448EB211C80319C-00f067aa0ba902b7-01",
            "ff-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01",
            "00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01-x",
            "00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7",
        ] {
            assert!(read(bad).is_none(), "{bad}");
        }
    }
}
