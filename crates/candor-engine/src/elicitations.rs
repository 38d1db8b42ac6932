//! The questions that clients show to their users now, so that a repeated call does not ask twice.
//!
//! They are known in this process only: replicas do not know what each other's clients show.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use candor_ledger::{Fence, RecordDigest};

/// A question: its record, and the number of the request in that record.
pub(crate) type ElicitationId = (RecordDigest, Fence);

/// The questions that clients have received, and those that were decided a moment ago.
#[derive(Debug, Default)]
pub(crate) struct PendingElicitations(Mutex<HashMap<ElicitationId, ElicitationState>>);

#[derive(Debug, Clone, Copy)]
enum ElicitationState {
    /// A call waits for the client's answer.
    Open,
    /// It went out with a response, which may be lost. The server sends it again later.
    Sent(Instant),
    /// A reviewer decided. A call that read the record just before must not ask again.
    Decided(Instant),
}

/// How long a decided question is stored: longer than a call takes from one read of the record to the next.
const REMEMBERED: Duration = Duration::from_secs(60);

impl PendingElicitations {
    /// Returns true if a question may go out with a response now, and marks it as sent. It may if it is not out, or was sent longer
    /// than `again_after` ago.
    pub(crate) fn send(&self, question: ElicitationId, again_after: Duration) -> bool {
        let mut out = self.lock();
        out.retain(|_, put| match put {
            ElicitationState::Open => true,
            ElicitationState::Sent(when) => when.elapsed() < again_after,
            ElicitationState::Decided(when) => when.elapsed() < REMEMBERED,
        });
        if out.contains_key(&question) {
            return false;
        }
        out.insert(question, ElicitationState::Sent(Instant::now()));
        true
    }

    /// Opens a question for a call that waits for its answer, if it may go out now. It is out until it is decided, or until the
    /// guard is dropped.
    pub(crate) fn open(&self, question: ElicitationId, again_after: Duration) -> Option<Open<'_>> {
        if !self.send(question, again_after) {
            return None;
        }
        self.lock().insert(question, ElicitationState::Open);
        Some(Open { prompts: self, question })
    }

    /// Removes a question that came back without a decision.
    pub(crate) fn left(&self, question: ElicitationId) {
        self.lock().remove(&question);
    }

    /// Marks a question as decided, on any channel.
    pub(crate) fn decided(&self, question: ElicitationId) {
        self.lock().insert(question, ElicitationState::Decided(Instant::now()));
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<ElicitationId, ElicitationState>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A question that a call waits for.
pub(crate) struct Open<'a> {
    prompts: &'a PendingElicitations,
    question: ElicitationId,
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        let mut out = self.prompts.lock();
        if let Some(ElicitationState::Open) = out.get(&self.question) {
            out.remove(&self.question);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(3600);

    #[test]
    fn open_elicitation_is_not_sent_again() {
        let (prompts, one) = (PendingElicitations::default(), (RecordDigest([1; 32]), Fence(1)));
        let next = (RecordDigest([1; 32]), Fence(2));
        assert!(prompts.send(one, LONG));
        assert!(!prompts.send(one, LONG) && prompts.open(one, LONG).is_none());
        assert!(prompts.send(next, LONG), "another request of the same call");
        assert!(prompts.send(one, Duration::ZERO), "its answer may be lost");
        prompts.left(one);
        let open = prompts.open(one, LONG).expect("it came back");
        assert!(!prompts.send(one, Duration::ZERO), "a caller waits for its answer");
        drop(open);
        assert!(prompts.send(one, LONG));
        prompts.left(one);
        let open = prompts.open(one, LONG);
        prompts.decided(one);
        drop(open);
        assert!(!prompts.send(one, Duration::ZERO), "it was decided");
    }
}
