//! Requests that are running, by id, so that a client can take one back.

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

/// A running request; forgotten when dropped.
pub(crate) struct Tracked {
    tracker: CallTracker,
    id: RequestId,
    /// Tells it from a later request with the same id.
    number: u64,
    pub(crate) cancel: CancellationToken,
}

impl CallTracker {
    /// Notes that a request runs; none if one with this id already does.
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

    /// Takes a request back; its id is free at once. One that is unknown or done is no error: the two may have
    /// crossed.
    pub(crate) fn cancel(&self, id: &RequestId) {
        let taken_back = self.lock().by_id.remove(id);
        if let Some((_, cancel)) = taken_back {
            cancel.cancel();
        }
    }

    /// Takes everything back.
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
