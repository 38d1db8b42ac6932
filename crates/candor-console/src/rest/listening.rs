//! Slots for operators that listen for approval requests. An operator keeps a slot until it disconnects. The limit covers the whole
//! process, and it is separate from that of the callers, so callers cannot use it up.

use std::sync::atomic::{AtomicUsize, Ordering};

use http::StatusCode;

use crate::problem::Problem;
use crate::trace;

/// Maximum number of listeners: more than the browsers that watch one process.
const MOST: usize = 64;

/// The number of listeners, of all consoles in the process.
static LISTENERS: AtomicUsize = AtomicUsize::new(0);

/// The slot of a listener.
pub(super) struct ListenerSlot(());

impl ListenerSlot {
    pub(super) fn begin() -> Result<Self, Problem> {
        let place = Self(());
        // Dropping it gives the slot back, also if the limit is reached below.
        if LISTENERS.fetch_add(1, Ordering::Relaxed) >= MOST {
            let trace_id = trace::id();
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
