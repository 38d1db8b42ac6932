//! Which questions stand before a person in their own client just now, so that a call that is repeated puts none twice.
//!
//! In this process only: two servers that share a ledger do not know what the other's clients show.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use candor_ledger::{Fence, RecordDigest};

/// A question: of which record, the how manieth.
pub(crate) type ElicitationId = (RecordDigest, Fence);

/// The questions that were put through clients and have not come back.
#[derive(Debug, Default)]
pub(crate) struct PendingElicitations(Mutex<HashMap<ElicitationId, ElicitationState>>);

#[derive(Debug, Clone, Copy)]
enum ElicitationState {
    /// The client's answer is waited for.
    Open,
    /// It went out with an answer to a request. Whether it has arrived nobody knows, so it is put again after a while.
    Sent(Instant),
    /// It was decided. Who has looked at the record just before must not put it again.
    Decided(Instant),
}

/// How long a question that was decided is remembered: longer than anybody takes from one look at the record to the next.
const REMEMBERED: Duration = Duration::from_secs(60);

impl PendingElicitations {
    /// Whether a question may go out with an answer now: it is not out, or has been for longer than anybody would wait.
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

    /// The same for one whose answer is waited for; it is out until it is decided, or this is dropped.
    pub(crate) fn open(&self, question: ElicitationId, again_after: Duration) -> Option<Open<'_>> {
        if !self.send(question, again_after) {
            return None;
        }
        self.lock().insert(question, ElicitationState::Open);
        Some(Open { prompts: self, question })
    }

    /// It came back without a decision.
    pub(crate) fn left(&self, question: ElicitationId) {
        self.lock().remove(&question);
    }

    /// It is decided, here or elsewhere.
    pub(crate) fn decided(&self, question: ElicitationId) {
        self.lock().insert(question, ElicitationState::Decided(Instant::now()));
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<ElicitationId, ElicitationState>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A question whose answer is waited for.
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
    fn a_question_is_out_until_it_comes_back_or_is_given_up() {
        let (prompts, one) = (PendingElicitations::default(), (RecordDigest([1; 32]), Fence(1)));
        let next = (RecordDigest([1; 32]), Fence(2));
        assert!(prompts.send(one, LONG));
        assert!(!prompts.send(one, LONG) && prompts.open(one, LONG).is_none());
        assert!(prompts.send(next, LONG), "another question of the same call");
        assert!(prompts.send(one, Duration::ZERO), "its answer may be lost");
        prompts.left(one);
        let open = prompts.open(one, LONG).expect("it came back");
        assert!(!prompts.send(one, Duration::ZERO), "somebody waits for its answer");
        drop(open);
        assert!(prompts.send(one, LONG));
        prompts.left(one);
        let open = prompts.open(one, LONG);
        prompts.decided(one);
        drop(open);
        assert!(!prompts.send(one, Duration::ZERO), "there is nothing to ask any more");
    }
}
