//! The audit rows of replays. A replay must not wait for the disk, so its row is written a moment later, together with others.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use candor_ledger::{CallNote, Store, StoreError};
use tokio::sync::Semaphore;
use tokio_util::task::TaskTracker;

use crate::error::log_replaced;

/// Maximum number of rows that wait to be written. Beyond it, a caller waits for space: no row is dropped, and memory is bounded.
const MOST: usize = 4096;

/// How long rows are gathered. A process that is killed loses at most the rows of this time and of one commit.
const GATHER: Duration = Duration::from_millis(50);

/// Rows on their way into the store.
pub(super) struct ReplayRows(Arc<Shared>);

struct Shared {
    space: Semaphore,
    pending: Mutex<Pending>,
}

#[derive(Default)]
struct Pending {
    rows: Vec<CallNote>,
    /// A task is about to write them.
    is_taken: bool,
}

impl Default for ReplayRows {
    fn default() -> Self {
        Self(Arc::new(Shared { space: Semaphore::new(MOST), pending: Mutex::default() }))
    }
}

impl Shared {
    fn pending(&self) -> MutexGuard<'_, Pending> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ReplayRows {
    /// Adds a row, and starts a task that writes it unless one is active. A server that shuts down waits for `tasks`.
    pub(super) async fn push(&self, row: CallNote, store: &Arc<dyn Store>, tasks: &TaskTracker) {
        if let Ok(space) = self.0.space.acquire().await {
            space.forget();
        }
        let is_taken = {
            let mut pending = self.0.pending();
            pending.rows.push(row);
            std::mem::replace(&mut pending.is_taken, true)
        };
        if !is_taken {
            let writer = Writer(Arc::clone(&self.0));
            let store = Arc::clone(store);
            tasks.spawn(async move { writer.run(&*store).await });
        }
    }
}

/// Writes all pending rows. If its runtime ends first, the next row starts another writer.
struct Writer(Arc<Shared>);

impl Writer {
    async fn run(self, store: &dyn Store) {
        loop {
            tokio::time::sleep(GATHER).await;
            let rows = {
                let mut pending = self.0.pending();
                if pending.rows.is_empty() {
                    pending.is_taken = false;
                    return;
                }
                std::mem::take(&mut pending.rows)
            };
            let count = rows.len();
            match store.notes(rows).await {
                Ok(()) => {}
                Err(error @ StoreError::Replaced(_)) => log_replaced(&error),
                Err(error) => {
                    tracing::error!(%error, rows = count, "audit rows of replays could not be written");
                }
            }
            self.0.space.add_permits(count);
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.0.pending().is_taken = false;
    }
}
