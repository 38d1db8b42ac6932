//! Running requests by id, so that a client can cancel one.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use candor_protocol::rpc::RequestId;
use tokio_util::sync::CancellationToken;

/// The running requests of one connection or session.
#[derive(Debug, Clone, Default)]
pub(crate) struct CallTracker(Arc<Mutex<RunningTools>>);

#[derive(Debug, Default)]
struct RunningTools {
    by_id: HashMap<RequestId, (u64, CancellationToken)>,
    begun: u64,
}

/// A running request. Dropping it removes it from the tracker.
pub(crate) struct Tracked {
    tracker: CallTracker,
    id: RequestId,
    /// Distinguishes it from a later request with the same id.
    number: u64,
    pub(crate) cancel: CancellationToken,
}

impl CallTracker {
    /// Records that a request runs. Returns `None` if a request with this id runs already.
    pub(crate) fn begin(&self, id: &RequestId) -> Option<Tracked> {
        let mut running = self.lock();
        if running.by_id.contains_key(id) {
            return None;
        }
        running.begun += 1;
        let (number, cancel) = (running.begun, CancellationToken::new());
        running.by_id.insert(id.clone(), (number, cancel.clone()));
        Some(Tracked { tracker: self.clone(), id: id.clone(), number, cancel })
    }

    /// Cancels a request and frees its id at once. An unknown or finished request is not an error: its answer and the cancellation
    /// may have crossed.
    pub(crate) fn cancel(&self, id: &RequestId) {
        let taken_back = self.lock().by_id.remove(id);
        if let Some((_, cancel)) = taken_back {
            cancel.cancel();
        }
    }

    /// Cancels all requests.
    pub(crate) fn cancel_all(&self) {
        self.lock().by_id.values().for_each(|(_, cancel)| cancel.cancel());
    }

    fn lock(&self) -> MutexGuard<'_, RunningTools> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Tracked {
    fn drop(&mut self) {
        let mut running = self.tracker.lock();
        if running.by_id.get(&self.id).is_some_and(|(number, _)| *number == self.number) {
            running.by_id.remove(&self.id);
        }
    }
}
