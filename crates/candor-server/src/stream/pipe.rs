//! A bounded queue from one running request to its event stream.
//!
//! Most requests send nothing before their answer, and then this allocates nothing. A channel of tokio would allocate space for
//! messages that never come.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use futures_util::task::AtomicWaker;
use std::task::{Context, Poll};
use tokio::sync::Notify;

/// A queue of messages. Cloning gives another handle to the same queue.
#[derive(Debug, Clone)]
pub(crate) struct Pipe(Arc<PipeInner>);

#[derive(Debug)]
struct PipeInner {
    messages: Mutex<VecDeque<Bytes>>,
    capacity: usize,
    reader: AtomicWaker,
    /// Notified after each message that the reader takes.
    taken: Notify,
}

impl Pipe {
    pub(crate) fn new(capacity: usize) -> Self {
        Self(Arc::new(PipeInner {
            messages: Mutex::default(),
            capacity,
            reader: AtomicWaker::new(),
            taken: Notify::new(),
        }))
    }

    /// Adds a message, and waits while the queue is full. If no reader is left, the sender is dropped together with its request.
    pub(crate) async fn send(&self, message: Bytes) {
        loop {
            let taken = self.0.taken.notified();
            {
                let mut messages = self.lock();
                if messages.len() < self.0.capacity {
                    messages.push_back(message);
                    break;
                }
            }
            taken.await;
        }
        self.0.reader.wake();
    }

    /// Polls for the next message.
    pub(crate) fn poll_next(&self, cx: &mut Context<'_>) -> Poll<Bytes> {
        self.0.reader.register(cx.waker());
        self.try_next().map_or(Poll::Pending, Poll::Ready)
    }

    /// Returns the next message, if there is one.
    pub(crate) fn try_next(&self) -> Option<Bytes> {
        let message = self.lock().pop_front();
        if message.is_some() {
            self.0.taken.notify_waiters();
        }
        message
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Bytes>> {
        self.0.messages.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn full_pipe_blocks_the_sender_and_loses_nothing() {
        let pipe = Pipe::new(2);
        let sender = pipe.clone();
        let sending = tokio::spawn(async move {
            for n in 0..100_u8 {
                sender.send(vec![n].into()).await;
            }
        });
        for n in 0..100_u8 {
            let next = std::future::poll_fn(|cx| pipe.poll_next(cx)).await;
            assert_eq!(next, vec![n]);
            assert!(pipe.lock().len() <= 2);
        }
        sending.await.unwrap();
        assert_eq!(pipe.try_next(), None);
    }
}
