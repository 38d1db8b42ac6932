//! A legacy event stream that a client can leave and resume.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use tokio::sync::Notify;

use candor_engine::Limits;

/// The events of one stream: written by a request, read by the client's current connection.
#[derive(Debug)]
pub(crate) struct StreamLog {
    name: String,
    most_events: usize,
    most_bytes: usize,
    inner: Mutex<StreamLogInner>,
    changed: Notify,
    /// Notified after each event that a reader has got.
    taken: Notify,
}

#[derive(Debug, Default)]
struct StreamLogInner {
    /// The newest events; `first` is the number of the oldest.
    events: VecDeque<Bytes>,
    first: u64,
    bytes: usize,
    closed: bool,
    /// The number of the newest connection. Only that one may read.
    reader: u64,
    /// The number of the last event that any reader has got.
    delivered: u64,
}

/// What a reader gets next.
#[derive(Debug)]
pub(crate) enum Event {
    /// A message and its number.
    Message(u64, Bytes),
    /// The stream has ended.
    End,
    /// The stream continues without this reader: another one took over, or the handler hung up.
    Released,
}

impl StreamLog {
    pub(crate) fn new(name: String, limits: &Limits) -> Self {
        // Event numbers start at 1. 0 means before the first event.
        let inner = StreamLogInner { first: 1, ..StreamLogInner::default() };
        Self {
            name,
            most_events: limits.stream_events,
            most_bytes: limits.stream_bytes,
            inner: Mutex::new(inner),
            changed: Notify::new(),
            taken: Notify::new(),
        }
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn push(&self, message: Bytes) {
        self.add(message, false);
    }

    /// Adds the last event and closes the stream in one step, so that a reader of this event knows that it is the last.
    pub(crate) fn push_last(&self, message: Bytes) {
        self.add(message, true);
    }

    fn add(&self, message: Bytes, last: bool) {
        let mut inner = self.lock();
        inner.closed |= last;
        inner.bytes += message.len();
        inner.events.push_back(message);
        // The newest event stays, whatever its size, because it may be the answer.
        while inner.events.len() > 1
            && (inner.events.len() > self.most_events || inner.bytes > self.most_bytes)
            && let Some(oldest) = inner.events.pop_front()
        {
            inner.bytes -= oldest.len();
            inner.first += 1;
        }
        drop(inner);
        self.changed.notify_waiters();
    }

    /// Waits until another event would push out no unread event.
    pub(crate) async fn has_room(&self) {
        loop {
            let taken = self.taken.notified();
            {
                let inner = self.lock();
                let newest = inner.first + inner.events.len() as u64 - 1;
                let untaken = newest.saturating_sub(inner.delivered);
                if inner.closed || untaken < (self.most_events as u64 / 2).max(1) {
                    return;
                }
            }
            taken.await;
        }
    }

    /// Returns true if the event with this number is the last one of a closed stream.
    pub(crate) fn is_over_after(&self, number: u64) -> bool {
        let inner = self.lock();
        inner.closed && number + 1 == inner.first + inner.events.len() as u64
    }

    /// Returns true if the stream has no events, and no other reader has taken over from this one.
    pub(crate) fn is_untouched_by_all_but(&self, reader: u64) -> bool {
        let inner = self.lock();
        inner.reader == reader && inner.first == 1 && inner.events.is_empty()
    }

    /// Returns the size of the stored events.
    pub(crate) fn bytes(&self) -> usize {
        self.lock().bytes
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.lock().closed
    }

    /// Closes the stream. Readers end after the last event.
    pub(crate) fn close(&self) {
        self.lock().closed = true;
        self.changed.notify_waiters();
    }

    /// Ends the connection that reads now. The stream continues.
    pub(crate) fn hang_up(&self) {
        self.lock().reader += 1;
        self.changed.notify_waiters();
    }

    /// Registers a new reader, which takes the stream over. It begins after the event that it names, or after the last one that any
    /// reader has got.
    pub(crate) fn reader(&self, after: Option<u64>) -> (u64, u64) {
        let mut inner = self.lock();
        inner.reader += 1;
        let taken = (inner.reader, after.unwrap_or(inner.delivered));
        drop(inner);
        self.changed.notify_waiters();
        taken
    }

    /// Waits for the first event after `after`, for this reader.
    pub(crate) async fn next(&self, reader: u64, after: u64) -> Event {
        loop {
            let changed = self.changed.notified();
            {
                let mut inner = self.lock();
                if inner.reader != reader {
                    return Event::Released;
                }
                let wanted = after.saturating_add(1).max(inner.first);
                let at = usize::try_from(wanted - inner.first).unwrap_or(usize::MAX);
                if let Some(message) = inner.events.get(at).cloned() {
                    inner.delivered = inner.delivered.max(wanted);
                    self.taken.notify_waiters();
                    return Event::Message(wanted, message);
                }
                if inner.closed {
                    return Event::End;
                }
            }
            changed.await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, StreamLogInner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log(events: usize, bytes: usize) -> StreamLog {
        let mut limits = Limits::default();
        (limits.stream_events, limits.stream_bytes) = (events, bytes);
        StreamLog::new("1".into(), &limits)
    }

    async fn next(log: &StreamLog, reader: u64, after: u64) -> Option<(u64, Bytes)> {
        match log.next(reader, after).await {
            Event::Message(n, message) => Some((n, message)),
            Event::End | Event::Released => None,
        }
    }

    #[tokio::test]
    async fn resumed_reader_gets_missed_events() {
        let log = log(8, 1000);
        for message in ["a", "b", "c"] {
            log.push(message.into());
        }
        log.close();
        let (reader, after) = log.reader(None);
        assert_eq!(next(&log, reader, after).await.unwrap().0, 1);
        let (again, after) = log.reader(Some(1));
        assert!(next(&log, reader, 1).await.is_none(), "the first reader was replaced");
        assert_eq!(next(&log, again, after).await.unwrap(), (2, "b".into()));
        assert_eq!(next(&log, again, 2).await.unwrap(), (3, "c".into()));
        assert!(next(&log, again, 3).await.is_none());
    }

    #[tokio::test]
    async fn writer_can_wait_until_the_reader_catches_up() {
        let log = log(4, 1000);
        for _ in 0..2 {
            log.has_room().await;
            log.push("a".into());
        }
        let room = log.has_room();
        tokio::pin!(room);
        assert!(futures_util::poll!(room.as_mut()).is_pending());
        let (reader, after) = log.reader(None);
        assert_eq!(next(&log, reader, after).await.unwrap().0, 1);
        room.await;
    }

    #[tokio::test]
    async fn oldest_events_are_evicted_at_the_event_limit() {
        let log = log(2, 1000);
        for message in ["a", "b", "c"] {
            log.push(message.into());
        }
        let (reader, after) = log.reader(None);
        assert_eq!(next(&log, reader, after).await.unwrap(), (2, "b".into()));
    }

    #[tokio::test]
    async fn byte_limit_evicts_all_but_the_newest_event() {
        let log = log(8, 10);
        for message in ["1234567", "1234", "123456789012345"] {
            log.push(message.into());
        }
        let (reader, after) = log.reader(None);
        assert_eq!(next(&log, reader, after).await.unwrap(), (3, "123456789012345".into()));
    }
}
