//! Calls of one group, one after another: in the order in which they came here, within this process.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use tokio::sync::OwnedMutexGuard;

use crate::deadline::Deadline;
use crate::ledger::Call;
use crate::tool::{ToolError, code};

/// Names of groups that are kept before those are forgotten for which nobody waits. Providers may make up new ones.
const ROOM: usize = 64;

/// One queue for each group that somebody waits for or has a turn in.
#[derive(Default)]
pub(crate) struct Queues(Mutex<HashMap<String, Weak<tokio::sync::Mutex<()>>>>);

/// The right to run as the only one of a group, until dropped.
pub(crate) struct Turn {
    _alone: OwnedMutexGuard<()>,
}

impl Queues {
    /// Waits for the calls of its group that came before, if this one may change something. Who stops waiting leaves the
    /// queue.
    pub(crate) async fn turn(
        &self,
        call: &Call<'_>,
        deadline: &Deadline,
    ) -> Result<Option<Turn>, ToolError> {
        let Some(group) = &call.entry.safeguards.serial else { return Ok(None) };
        if call.hints.is_read_only() {
            return Ok(None);
        }
        // Fair: whoever asked first is first.
        let alone = self.queue(group).lock_owned();
        tokio::select! {
            biased;
            alone = alone => Ok(Some(Turn { _alone: alone })),
            () = deadline.passed() => Err(too_late(group)),
        }
    }

    fn queue(&self, group: &str) -> Arc<tokio::sync::Mutex<()>> {
        let mut queues = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(queue) = queues.get(group).and_then(Weak::upgrade) {
            return queue;
        }
        if queues.len() >= ROOM {
            queues.retain(|_, queue| queue.strong_count() > 0);
        }
        let queue = Arc::default();
        queues.insert(group.to_owned(), Arc::downgrade(&queue));
        queue
    }
}

fn too_late(group: &str) -> ToolError {
    ToolError::new(format!(
        "Other calls that change `{group}` came first, and took too long. This attempt was not started."
    ))
    .code(code::BUSY)
    .retry_after(Duration::from_secs(1))
}
