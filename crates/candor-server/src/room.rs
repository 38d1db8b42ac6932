//! How much may be under way at a time: in all, and of one principal.
//!
//! Where callers are told apart, one of them gets at most half: whoever takes as much as they can leaves the other half to
//! everybody else. Where they are not (a server on stdio has one caller, an endpoint without an authenticator cannot know who is
//! who) there is nothing to divide by, and the counting is left out. The transport knows which of the two it is, so every place is
//! asked for in somebody's name or in nobody's.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use candor_protocol::Principal;
use candor_protocol::json::Object;
use candor_protocol::names::failure;
use candor_protocol::rpc::{ErrorObject, code};
use http::request::Parts;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::limits::Limits;
use crate::refusal_log::RefusalLog;

/// Room for what comes to a server over HTTP, whichever way: its MCP endpoint and what is served beside it take their places
/// from the same.
///
/// ```
/// use candor_server::transport::http::{AtCapacity, Capacity};
/// use candor_server::{Limits, protocol::Principal};
///
/// let mut limits = Limits::default();
/// limits.http_requests = 2;
/// let (rooms, alice) = (Capacity::new(&limits), Principal::new("alice"));
/// let hers = rooms.request(Some(&alice))?;
/// assert_eq!(rooms.request(Some(&alice)).unwrap_err(), AtCapacity::Caller);
/// let others = rooms.request(None)?;
/// assert_eq!(rooms.request(None).unwrap_err(), AtCapacity::Everybody);
/// # Ok::<(), AtCapacity>(())
/// ```
#[derive(Debug)]
pub struct Capacity {
    requests: SlotPool,
    streams: SlotPool,
    /// For what finished streams say, in units of [`KEPT_UNIT`].
    kept: SlotPool,
    /// For resources that are watched.
    watched: SlotPool,
    /// For large bodies, in units of [`BODY_UNIT`].
    bodies: SlotPool,
    /// The capacity for large responses that are being built or are still unread.
    answers: SlotPool,
    /// Callers that were refused take no place, only lines of the log.
    refusals: RefusalLog,
}

/// What room for finished streams is counted in.
const KEPT_UNIT: usize = 1024;

/// What room for bodies, and for answers, is counted in.
const BODY_UNIT: usize = 16 * 1024;

impl Capacity {
    /// As large as the limits say. A server that runs has [its own](crate::Engine::rooms).
    #[must_use]
    pub fn new(limits: &Limits) -> Self {
        Self {
            requests: SlotPool::new(limits.http_requests),
            streams: SlotPool::new(limits.streams),
            kept: SlotPool::new(limits.finished_bytes / KEPT_UNIT),
            watched: SlotPool::new(limits.watched),
            bodies: SlotPool::new(limits.body_bytes.div_ceil(BODY_UNIT).max(1)),
            answers: SlotPool::new(limits.answer_bytes.div_ceil(BODY_UNIT)),
            refusals: RefusalLog::default(),
        }
    }

    /// A place for a request that runs, in the name of whom callers are told apart by; of nobody where they are not.
    ///
    /// # Errors
    /// Says for whom there is none.
    pub fn request(&self, of: Option<&Principal>) -> Result<Slot, AtCapacity> {
        self.requests.try_take(of)
    }

    /// The same for an event stream that waits for changes.
    ///
    /// # Errors
    /// Says for whom there is none.
    pub fn stream(&self, of: Option<&Principal>) -> Result<Slot, AtCapacity> {
        self.streams.try_take(of)
    }

    /// Logs that a request brought a token that is not known. Many of them become few lines.
    pub fn log_refusal(&self, request: &Parts) {
        self.refusals.refuse(request);
    }

    /// A place for a resource that is watched.
    pub(crate) fn watched(&self, of: Option<&Principal>) -> Result<Slot, AtCapacity> {
        self.watched.try_take(of)
    }

    /// Room for so many bytes of a stream that is over and may be asked for again.
    pub(crate) fn kept(&self, of: Option<&Principal>, bytes: usize) -> Result<Slot, AtCapacity> {
        self.kept.try_take_many(of, bytes.div_ceil(KEPT_UNIT).max(1))
    }

    /// Room for so many bytes of an answer, until it is read.
    ///
    /// # Errors
    /// Says for whom there is none.
    pub fn answer(&self, of: Option<&Principal>, bytes: usize) -> Result<Slot, AtCapacity> {
        self.answers.try_take_many(of, bytes.div_ceil(BODY_UNIT))
    }

    /// The same, in turn. What is more than a caller can ever have is cut to that.
    pub(crate) async fn wait_for_response(
        &self,
        of: Option<&Principal>,
        bytes: usize,
        patience: Duration,
    ) -> Result<Slot, AtCapacity> {
        self.answers.take(of, bytes.div_ceil(BODY_UNIT), patience).await
    }

    /// The most that one response can have.
    pub(crate) fn most_of_response(&self, of: Option<&Principal>) -> usize {
        self.answers.most(of).saturating_mul(BODY_UNIT)
    }

    /// How many bytes of a response this is.
    #[allow(clippy::unused_self)] // only a response's room has this unit
    pub(crate) fn bytes_of_response(&self, taken: &Slot) -> usize {
        taken.number() * BODY_UNIT
    }

    /// Gives back what is more than so many bytes of a response need.
    #[allow(clippy::unused_self)] // as above
    pub(crate) fn shrink_response(&self, taken: &mut Slot, bytes: usize) {
        taken.shrink(bytes.div_ceil(BODY_UNIT));
    }

    /// Room for so many bytes of a body, in turn.
    pub(crate) async fn body(
        &self,
        of: Option<&Principal>,
        bytes: usize,
        patience: Duration,
    ) -> Result<Slot, AtCapacity> {
        self.bodies.take(of, bytes.div_ceil(BODY_UNIT), patience).await
    }
}

/// Room for so many of something.
#[derive(Debug)]
pub(crate) struct SlotPool {
    free: Arc<Semaphore>,
    all: usize,
    shares: Arc<Shares>,
}

/// A place that is taken, until it is dropped.
#[derive(Debug)]
#[must_use]
pub struct Slot {
    permit: OwnedSemaphorePermit,
    share: Option<Share>,
}

impl Slot {
    /// How many places it is.
    fn number(&self) -> usize {
        self.permit.num_permits()
    }

    /// Adds places of the same room, taken in the same name.
    pub(crate) fn merge(&mut self, other: Self) {
        let Self { permit, share } = other;
        self.permit.merge(permit);
        if let (Some(ours), Some(mut theirs)) = (&mut self.share, share) {
            ours.number += std::mem::take(&mut theirs.number);
        }
    }

    /// Gives back all but so many.
    fn shrink(&mut self, number: usize) {
        let surplus = self.number().saturating_sub(number);
        drop(self.permit.split(surplus));
        if let Some(share) = &mut self.share {
            share.give_back(surplus);
        }
    }
}

/// Why there is no place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AtCapacity {
    /// For anybody.
    Everybody,
    /// For this caller, who has their share.
    Caller,
}

impl AtCapacity {
    /// The error instead of a response for which there is no capacity. Its handler has ended by then.
    #[must_use]
    pub fn unheld(self, bytes: usize) -> ErrorObject {
        let whose = match self {
            Self::Everybody => "the server holds too many responses that were not read",
            Self::Caller => "you have too many responses that you did not read",
        };
        let words = format!("The response of {bytes} bytes was dropped: {whose}. The call ran.");
        let data = Object::new().with("code", failure::RESULT_TOO_LARGE);
        ErrorObject::internal(words).with_data(&data)
    }

    /// What the caller is told, in the words of the protocol. Nothing was begun, so it is safe to send it again.
    #[must_use]
    pub fn why(self) -> ErrorObject {
        match self {
            Self::Everybody => ErrorObject::busy(),
            Self::Caller => {
                let words = "You have reached your limit of concurrent requests. Nothing was run. Send the request again when others end.";
                let data = Object::new().with("code", "busy").with("scope", "caller");
                ErrorObject::new(code::BUSY, words).with_data(&data)
            }
        }
    }
}

impl SlotPool {
    pub(crate) fn new(all: usize) -> Self {
        let all = all.min(Semaphore::MAX_PERMITS);
        let shares = Shares { most: all.div_ceil(2), taken: Mutex::new(HashMap::new()) };
        Self { free: Arc::new(Semaphore::new(all)), all, shares: Arc::new(shares) }
    }

    /// One place, now or not at all.
    pub(crate) fn try_take(&self, of: Option<&Principal>) -> Result<Slot, AtCapacity> {
        self.try_take_many(of, 1)
    }

    /// Several at once, now or not at all.
    fn try_take_many(&self, of: Option<&Principal>, wanted: usize) -> Result<Slot, AtCapacity> {
        let share = self.share(of, wanted)?;
        let wanted = wanted.try_into().unwrap_or(u32::MAX);
        let permit = self.free.clone().try_acquire_many_owned(wanted);
        Ok(Slot { permit: permit.map_err(|_| AtCapacity::Everybody)?, share })
    }

    /// Several at once, in turn; whoever waits has their share already, so nobody fills the queue. What can never be had is cut
    /// to what can.
    pub(crate) async fn take(
        &self,
        of: Option<&Principal>,
        wanted: usize,
        patience: Duration,
    ) -> Result<Slot, AtCapacity> {
        let wanted = wanted.min(self.most(of));
        let share = self.share(of, wanted)?;
        let permits = self.free.clone().acquire_many_owned(wanted.try_into().unwrap_or(u32::MAX));
        match tokio::time::timeout(patience, permits).await {
            Ok(Ok(permit)) => Ok(Slot { permit, share }),
            _ => Err(AtCapacity::Everybody),
        }
    }

    /// As much as one can have.
    fn most(&self, of: Option<&Principal>) -> usize {
        if of.is_some() { self.shares.most } else { self.all }
    }

    fn share(&self, of: Option<&Principal>, wanted: usize) -> Result<Option<Share>, AtCapacity> {
        let Some(principal) = of else { return Ok(None) };
        self.shares.take(principal, wanted).map(Some).ok_or(AtCapacity::Caller)
    }
}

/// What each principal has. A lock that is held for one look-up: counting exactly is worth more here than counting without one.
#[derive(Debug)]
struct Shares {
    most: usize,
    /// Only of those who have something, so that names do not pile up.
    taken: Mutex<HashMap<Principal, usize>>,
}

/// What one principal has taken.
#[derive(Debug)]
struct Share {
    of: Arc<Shares>,
    principal: Principal,
    number: usize,
}

impl Shares {
    fn take(self: &Arc<Self>, principal: &Principal, number: usize) -> Option<Share> {
        let mut taken = self.lock();
        match taken.get_mut(principal) {
            Some(has) if *has + number > self.most => return None,
            Some(has) => *has += number,
            None if number > self.most => return None,
            None => drop(taken.insert(principal.clone(), number)),
        }
        drop(taken);
        Some(Share { of: self.clone(), principal: principal.clone(), number })
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Principal, usize>> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Share {
    fn give_back(&mut self, number: usize) {
        self.number -= number;
        let mut taken = self.of.lock();
        match taken.get_mut(&self.principal) {
            Some(has) if *has > number => *has -= number,
            _ => drop(taken.remove(&self.principal)),
        }
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        if self.number > 0 {
            self.give_back(self.number);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Duration = Duration::ZERO;

    #[tokio::test]
    async fn one_principal_gets_half_rounded_up_and_gives_it_back() {
        let (alice, bob) = (Principal::new("alice"), Principal::new("bob"));
        let room = SlotPool::new(5);
        let mut held: Vec<Slot> = (0..3).map(|_| room.try_take(Some(&alice)).unwrap()).collect();
        assert_eq!(room.try_take(Some(&alice)).unwrap_err(), AtCapacity::Caller);
        assert_eq!(room.take(Some(&alice), 2, NOW).await.unwrap_err(), AtCapacity::Caller);
        let bobs = room.take(Some(&bob), 2, NOW).await.unwrap();
        assert_eq!(room.try_take(Some(&bob)).unwrap_err(), AtCapacity::Everybody, "five are five");
        held.pop();
        let again = room.try_take(Some(&alice)).unwrap();
        drop((held, again, bobs));
        // More than a share means all of it: what is too large for half can be sent, when nothing else is under way.
        drop(room.take(Some(&alice), 100, NOW).await.unwrap());
        assert!(room.shares.lock().is_empty(), "who has nothing is not remembered");
        assert_eq!(room.free.available_permits(), 5);
    }

    #[tokio::test]
    async fn where_nobody_is_known_anybody_may_have_all() {
        let (nobody, room) = (None, SlotPool::new(2));
        let held = [room.try_take(nobody).unwrap(), room.try_take(nobody).unwrap()];
        assert_eq!(room.try_take(nobody).unwrap_err(), AtCapacity::Everybody);
        drop(held);
        // More than there is means all.
        let all = room.take(nobody, 100, NOW).await.unwrap();
        assert_eq!(room.try_take(nobody).unwrap_err(), AtCapacity::Everybody);
        drop(all);
    }

    /// Who is refused has nothing, though the share was counted first.
    #[tokio::test]
    async fn whoever_waits_in_vain_keeps_nothing() {
        let (alice, bob) = (Principal::new("alice"), Principal::new("bob"));
        let room = SlotPool::new(4);
        let held = room.take(Some(&alice), 2, NOW).await.unwrap();
        let other = room.try_take(Some(&bob)).unwrap();
        let carol = Principal::new("carol");
        assert_eq!(room.take(Some(&carol), 2, NOW).await.unwrap_err(), AtCapacity::Everybody);
        drop((held, other));
        drop(room.take(Some(&carol), 2, NOW).await.unwrap());
    }
}
