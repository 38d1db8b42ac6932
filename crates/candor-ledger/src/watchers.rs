//! Callers that wait for a record to change.
//!
//! A change by this process ends the wait at once. For changes by other processes and by time, a thread reads the watched
//! records every [`POLL`]. It sleeps while no caller waits.

use std::collections::HashMap;
use std::future::Future;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::sync::oneshot;

use crate::id::RecordDigest;
use crate::store::{RecordVersion, StoreError};

/// The maximum delay until a change by another process, or by time, is noticed.
pub const POLL: Duration = Duration::from_millis(50);

/// The callers of one store that wait for records to change; see [`Store::watch`](crate::Store::watch).
///
/// A store calls [`Watchers::changed`] for each record of a durable transaction. [`Watchers::until`] is the whole of
/// [`Store::watch`](crate::Store::watch).
pub struct Watchers {
    shared: Arc<WatcherTable>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct WatcherTable {
    waiting: Mutex<WaitingTask>,
    /// Signals that a caller waits, or that the thread must end.
    news: Condvar,
}

#[derive(Default)]
struct WaitingTask {
    records: HashMap<RecordDigest, Vec<Watcher>>,
    over: bool,
}

struct Watcher {
    seen: RecordVersion,
    end: oneshot::Sender<()>,
}

impl WatcherTable {
    fn lock(&self) -> MutexGuard<'_, WaitingTask> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Watchers {
    /// Starts watching. `stands` returns true if a record is still in the version that was seen.
    #[must_use]
    pub fn new(stands: impl Fn(&RecordDigest, RecordVersion) -> bool + Send + 'static) -> Self {
        Self::asking(move |watched| {
            watched.into_iter().filter(|(record, seen)| !stands(record, *seen)).collect()
        })
    }

    /// Starts watching. `changed` returns the watched records that are no longer in the version that was seen.
    #[must_use]
    pub fn asking(
        changed: impl Fn(Vec<(RecordDigest, RecordVersion)>) -> Vec<(RecordDigest, RecordVersion)>
        + Send
        + 'static,
    ) -> Self {
        let shared = Arc::new(WatcherTable::default());
        let theirs = Arc::clone(&shared);
        let thread = std::thread::Builder::new()
            .name("ledger-watch".into())
            .spawn(move || look_around(&theirs, &changed))
            .ok();
        Self { shared, thread }
    }

    /// Registers a wait for changes of the record. The caller must read the record afterwards, or it misses a change in
    /// between. It must also read the record after each signal. The change may be one that it already knows, or one that does
    /// not matter, such as a heartbeat.
    fn wait(&self, record: RecordDigest, seen: RecordVersion) -> oneshot::Receiver<()> {
        let (end, ended) = oneshot::channel();
        self.shared.lock().records.entry(record).or_default().push(Watcher { seen, end });
        self.shared.news.notify_all();
        ended
    }

    /// Waits until the record is no longer in the version that was seen. `stands` reads the record and returns true if it is
    /// still in that version.
    ///
    /// # Errors
    /// Returns the error of `stands`.
    pub async fn until<F>(
        &self,
        record: RecordDigest,
        seen: RecordVersion,
        stands: impl Fn() -> F,
    ) -> Result<(), StoreError>
    where
        F: Future<Output = Result<bool, StoreError>>,
    {
        loop {
            let news = self.wait(record, seen);
            if !stands().await? || news.await.is_err() {
                return Ok(());
            }
        }
    }

    /// Wakes the callers that wait for this record.
    pub fn changed(&self, record: &RecordDigest) {
        let watchers = self.shared.lock().records.remove(record);
        for watcher in watchers.into_iter().flatten() {
            // The waiting caller may be gone.
            let _ = watcher.end.send(());
        }
    }
}

fn look_around(
    shared: &WatcherTable,
    changed: &impl Fn(Vec<(RecordDigest, RecordVersion)>) -> Vec<(RecordDigest, RecordVersion)>,
) {
    loop {
        let mut waiting = shared.lock();
        while waiting.records.is_empty() && !waiting.over {
            waiting = shared.news.wait(waiting).unwrap_or_else(PoisonError::into_inner);
        }
        if waiting.over {
            return;
        }
        let watched: Vec<(RecordDigest, RecordVersion)> = waiting
            .records
            .iter()
            .flat_map(|(record, watchers)| watchers.iter().map(|watcher| (*record, watcher.seen)))
            .collect();
        drop(waiting);

        // Outside the lock, because reading may take time.
        let changed = changed(watched);

        let mut waiting = shared.lock();
        for (record, seen) in changed {
            let Some(watchers) = waiting.records.get_mut(&record) else { continue };
            for watcher in watchers.extract_if(.., |watcher| watcher.seen == seen) {
                let _ = watcher.end.send(());
            }
        }
        waiting.records.retain(|_, watchers| {
            watchers.retain(|watcher| !watcher.end.is_closed());
            !watchers.is_empty()
        });
        // New watchers do not shorten the pause: they have just read the record themselves.
        let mut left = POLL;
        while !waiting.over && !left.is_zero() {
            let begun = std::time::Instant::now();
            waiting =
                shared.news.wait_timeout(waiting, left).unwrap_or_else(PoisonError::into_inner).0;
            left = left.saturating_sub(begun.elapsed());
        }
    }
}

impl Drop for Watchers {
    fn drop(&mut self) {
        self.shared.lock().over = true;
        self.shared.news.notify_all();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
