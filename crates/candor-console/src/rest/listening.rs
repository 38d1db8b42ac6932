//! Operators who listen to what waits for them: a place is theirs until they hang up, and there are not more of them than a process
//! can look after. It is a room of their own: callers who listen cannot fill it.

use std::sync::atomic::{AtomicUsize, Ordering};

use http::StatusCode;

use crate::problem::Problem;
use crate::trace;

/// More browsers than look at the servers of one process.
const MOST: usize = 64;

/// How many listen, to all consoles of the process.
static LISTENERS: AtomicUsize = AtomicUsize::new(0);

/// The place of somebody who listens.
pub(super) struct ListenerSlot(());

impl ListenerSlot {
    pub(super) fn begin() -> Result<Self, Problem> {
        let place = Self(());
        // The place is given back when it is dropped, also by who finds that there is none.
        if LISTENERS.fetch_add(1, Ordering::Relaxed) >= MOST {
            let trace_id = trace::new();
            tracing::warn!(trace_id, "too many listen");
            let words = "Too many listen already; try again later";
            return Err(Problem::new(StatusCode::SERVICE_UNAVAILABLE, "busy", words)
                .member("trace_id", trace_id)
                .retry_after_ms(5000));
        }
        Ok(place)
    }
}

impl Drop for ListenerSlot {
    fn drop(&mut self) {
        LISTENERS.fetch_sub(1, Ordering::Relaxed);
    }
}
