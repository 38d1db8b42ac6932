//! Requests that are running, by id, so that a client can take one back.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use candor_protocol::rpc::RequestId;
use tokio_util::sync::CancellationToken;

/// The running requests of one connection or session.
#[derive(Debug, Clone, Default)]
pub(crate) struct CallTracker(Arc<Mutex<HashMap<RequestId, CancellationToken>>>);

/// A running request; forgotten when dropped.
pub(crate) struct Tracked {
    tracker: CallTracker,
    id: RequestId,
    pub(crate) cancel: CancellationToken,
}

impl CallTracker {
    /// Notes that a request runs; none if one with this id already does.
    pub(crate) fn begin(&self, id: &RequestId) -> Option<Tracked> {
        let mut running = self.lock();
        if running.contains_key(id) {
            return None;
        }
        let cancel = CancellationToken::new();
        running.insert(id.clone(), cancel.clone());
        Some(Tracked { tracker: self.clone(), id: id.clone(), cancel })
    }

    /// Takes a request back. One that is unknown or done is no error: the two may have crossed.
    pub(crate) fn cancel(&self, id: &RequestId) {
        if let Some(cancel) = self.lock().get(id) {
            cancel.cancel();
        }
    }

    /// Takes everything back.
    pub(crate) fn cancel_all(&self) {
        self.lock().values().for_each(CancellationToken::cancel);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<RequestId, CancellationToken>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Tracked {
    fn drop(&mut self) {
        self.tracker.lock().remove(&self.id);
    }
}
