//! One request, as every stage sees it: its caller, the way back, and what it holds.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;

use super::state::States;
use crate::caller::Caller;
use crate::capacity::{ResponseCapacity, SerialPosition, Slot};
use crate::changes::Changes;
use crate::peer::Peer;

/// What a request holds while it runs.
#[derive(Debug, Clone, Default)]
pub struct RequestSlots {
    /// The slots of its body, if that is large. Held for as long as any task holds the body's content.
    pub body: Option<Arc<Slot>>,
    /// The capacity for its response. `None` on a transport with a single caller.
    pub response: Option<ResponseCapacity>,
    /// Its position in the order of arrival, if it may be a serial call.
    pub position: Option<Arc<SerialPosition>>,
}

/// One request.
#[derive(Clone)]
pub(crate) struct RequestScope {
    pub(crate) caller: Arc<Caller>,
    pub(crate) peer: Arc<dyn Peer>,
    pub(crate) slots: RequestSlots,
    pub(crate) shared: Arc<SharedContext>,
}

/// What the contexts of all requests of a server share.
pub(crate) struct SharedContext {
    pub(crate) changes: Changes,
    pub(crate) states: Arc<States>,
    /// How long a handler may run.
    pub(crate) deadline: Duration,
    /// How many handlers may be parked at a time.
    pub(crate) parking: Arc<Semaphore>,
}

impl RequestScope {
    /// Releases later serial calls: this request is not one, or it waits for an approval or another attempt.
    pub(crate) fn release_position(&self) {
        if let Some(position) = &self.slots.position {
            position.release();
        }
    }
}
