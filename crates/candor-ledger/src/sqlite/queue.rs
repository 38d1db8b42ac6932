//! The commands that wait for the writer.
//!
//! A channel wakes its receiver for every message. Here the writer says how many commands are worth waking up for. So a whole
//! batch costs one thread switch instead of one for each command.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::writer::SqliteCommand;

#[derive(Default)]
pub(super) struct Queue {
    waiting: Mutex<QueuedCommands>,
    /// Signals that there are enough commands, or that no more will come.
    news: Condvar,
}

#[derive(Default)]
struct QueuedCommands {
    commands: Vec<SqliteCommand>,
    /// The number of commands at which the sleeping writer is to be woken.
    enough: Option<usize>,
    /// No more commands will come.
    closed: bool,
    /// The writer takes no more commands.
    ended: bool,
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, QueuedCommands> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a command, or drops it if the writer has ended.
    pub(super) fn push(&self, command: SqliteCommand) {
        let mut waiting = self.lock();
        if waiting.ended {
            return;
        }
        waiting.commands.push(command);
        let there = waiting.commands.len();
        let wake = waiting.enough.take_if(|enough| there >= *enough).is_some();
        drop(waiting);
        if wake {
            self.news.notify_one();
        }
    }

    /// Returns the number of waiting commands.
    pub(super) fn len(&self) -> usize {
        self.lock().commands.len()
    }

    /// Waits for one command, then up to `patience` for `expected` commands. Takes at most `most` of them. Returns `None` if
    /// no more commands will come.
    pub(super) fn take(
        &self,
        expected: usize,
        patience: Duration,
        most: usize,
    ) -> Option<Vec<SqliteCommand>> {
        let mut waiting = self.lock();
        while waiting.commands.is_empty() {
            if waiting.closed {
                return None;
            }
            waiting.enough = Some(1);
            waiting = self.news.wait(waiting).unwrap_or_else(PoisonError::into_inner);
        }
        let until = Instant::now() + patience;
        while waiting.commands.len() < expected && !waiting.closed {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            waiting.enough = Some(expected);
            waiting =
                self.news.wait_timeout(waiting, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        waiting.enough = None;
        let rest = waiting.commands.len().min(most);
        let rest = waiting.commands.split_off(rest);
        Some(std::mem::replace(&mut waiting.commands, rest))
    }

    /// Tells the writer that no more commands will come. It still takes those that are waiting.
    pub(super) fn close(&self) {
        self.lock().closed = true;
        self.news.notify_one();
    }

    /// Drops all commands, now and from now on. Their callers notice it because the replies are dropped, too.
    pub(super) fn end(&self) {
        let mut waiting = self.lock();
        waiting.ended = true;
        let lost = std::mem::take(&mut waiting.commands);
        drop(waiting);
        drop(lost);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tokio::sync::oneshot;

    use super::super::writer::{SqliteReport, SqliteWork};
    use super::*;
    use crate::store::StoreError;

    type Answered = oneshot::Receiver<Result<SqliteReport, StoreError>>;

    fn push(queue: &Queue) -> Answered {
        let (reply, answered) = oneshot::channel();
        queue.push(SqliteCommand { work: SqliteWork::Sweep { most: 0 }, reply });
        answered
    }

    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn writer_wakes_when_the_expected_number_is_queued() {
        let queue: Arc<Queue> = Arc::default();
        let theirs = Arc::clone(&queue);
        let taken = std::thread::spawn(move || theirs.take(3, LONG, 64).unwrap().len());
        let _first = push(&queue);
        std::thread::sleep(Duration::from_millis(20));
        assert!(!taken.is_finished(), "one is not enough");
        let _others = [push(&queue), push(&queue)];
        assert_eq!(taken.join().unwrap(), 3);
    }

    #[test]
    fn writer_takes_at_most_its_batch_after_the_wait() {
        let queue = Queue::default();
        let _answers: Vec<_> = (0..5).map(|_| push(&queue)).collect();
        assert_eq!(queue.take(9, Duration::from_millis(1), 3).unwrap().len(), 3);
        assert_eq!(queue.len(), 2);
    }

    #[test]
    fn closed_queue_still_yields_its_items() {
        let queue = Queue::default();
        let _answer = push(&queue);
        queue.close();
        assert_eq!(queue.take(9, LONG, 64).unwrap().len(), 1);
        assert!(queue.take(9, LONG, 64).is_none());
    }

    #[test]
    fn ended_queue_fails_earlier_and_later_requests() {
        let queue = Queue::default();
        let before = push(&queue);
        queue.end();
        let after = push(&queue);
        assert!(before.blocking_recv().is_err() && after.blocking_recv().is_err());
    }
}
