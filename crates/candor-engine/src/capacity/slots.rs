//! Capacity: how much runs at once, in total and per principal.
//!
//! If callers are told apart, one caller gets at most half: a caller that takes all it can leaves the other half to the others.
//! Otherwise the server does not count per caller: a stdio server has one caller, and an endpoint without an authenticator cannot
//! know its callers. The transport knows which applies, so every slot is requested for a principal or for `None`.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use candor_protocol::Principal;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::limits::Limits;

/// The capacity of a server for HTTP. The MCP endpoint and everything beside it take their slots from the same pools.
///
/// ```
/// use candor_engine::{AtCapacity, Capacity};
/// use candor_engine::Limits;
/// use candor_protocol::Principal;
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
    /// For events of finished streams, in units of [`KEPT_UNIT`].
    kept: SlotPool,
    /// For resources that are watched.
    watched: SlotPool,
    /// For large bodies, in units of [`BODY_UNIT`].
    bodies: SlotPool,
    /// The capacity for large responses that are being built or are still unread.
    answers: SlotPool,
}

/// The unit of capacity for finished streams, in bytes.
const KEPT_UNIT: usize = 1024;

/// The unit of capacity for bodies and responses, in bytes.
const BODY_UNIT: usize = 16 * 1024;

impl Capacity {
    /// Creates the capacity that the limits allow. A running server has [its own](crate::Engine::capacity).
    #[must_use]
    pub fn new(limits: &Limits) -> Self {
        Self {
            requests: SlotPool::new(limits.http_requests),
            streams: SlotPool::new(limits.streams),
            kept: SlotPool::new(limits.finished_bytes / KEPT_UNIT),
            watched: SlotPool::new(limits.watched),
            bodies: SlotPool::new(limits.body_bytes.div_ceil(BODY_UNIT).max(1)),
            answers: SlotPool::new(limits.answer_bytes.div_ceil(BODY_UNIT)),
        }
    }

    /// Takes a slot for a request that runs. `of` is the principal if callers are told apart, otherwise `None`.
    ///
    /// # Errors
    /// Whose capacity is used up: the server's or the caller's.
    pub fn request(&self, of: Option<&Principal>) -> Result<Slot, AtCapacity> {
        self.requests.try_take(of)
    }

    /// Takes a slot for an event stream that waits for changes.
    ///
    /// # Errors
    /// Whose capacity is used up: the server's or the caller's.
    pub fn stream(&self, of: Option<&Principal>) -> Result<Slot, AtCapacity> {
        self.streams.try_take(of)
    }

    /// Takes a slot for a resource that is watched.
    ///
    /// # Errors
    /// Whose capacity is used up: the server's or the caller's.
    pub fn watched(&self, of: Option<&Principal>) -> Result<Slot, AtCapacity> {
        self.watched.try_take(of)
    }

    /// Takes capacity for this number of bytes of a finished stream that a client may resume.
    ///
    /// # Errors
    /// Whose capacity is used up: the server's or the caller's.
    pub fn kept(&self, of: Option<&Principal>, bytes: usize) -> Result<Slot, AtCapacity> {
        self.kept.try_take_many(of, bytes.div_ceil(KEPT_UNIT).max(1))
    }

    /// Takes capacity for this number of bytes of a response, until it is read.
    ///
    /// # Errors
    /// Whose capacity is used up: the server's or the caller's.
    pub fn answer(&self, of: Option<&Principal>, bytes: usize) -> Result<Slot, AtCapacity> {
        self.answers.try_take_many(of, bytes.div_ceil(BODY_UNIT))
    }

    /// Waits for capacity for a response, in order. Cuts the number of bytes to the most that the caller can ever have.
    pub(crate) async fn wait_for_response(
        &self,
        of: Option<&Principal>,
        bytes: usize,
        patience: Duration,
    ) -> Result<Slot, AtCapacity> {
        self.answers.take(of, bytes.div_ceil(BODY_UNIT), patience).await
    }

    /// Returns the most bytes that one response can have.
    pub(crate) fn most_of_response(&self, of: Option<&Principal>) -> usize {
        self.answers.most(of).saturating_mul(BODY_UNIT)
    }

    /// Returns the size of a response's slots, in bytes.
    #[allow(clippy::unused_self)] // only the pool of responses has this unit
    pub(crate) fn bytes_of_response(&self, taken: &Slot) -> usize {
        taken.number() * BODY_UNIT
    }

    /// Frees the capacity that a response of this size does not need.
    #[allow(clippy::unused_self)] // as above
    pub(crate) fn shrink_response(&self, taken: &mut Slot, bytes: usize) {
        taken.shrink(bytes.div_ceil(BODY_UNIT));
    }

    /// Waits for capacity for this number of bytes of a body, in order.
    ///
    /// # Errors
    /// Whose capacity is used up: the server's or the caller's.
    pub async fn body(
        &self,
        of: Option<&Principal>,
        bytes: usize,
        patience: Duration,
    ) -> Result<Slot, AtCapacity> {
        self.bodies.take(of, bytes.div_ceil(BODY_UNIT), patience).await
    }
}

/// A number of slots of one kind, in total and per principal.
#[derive(Debug)]
pub(crate) struct SlotPool {
    free: Arc<Semaphore>,
    all: usize,
    shares: Arc<Shares>,
}

/// A slot, or several of one pool. Dropping it frees them.
#[derive(Debug)]
#[must_use]
pub struct Slot {
    permit: OwnedSemaphorePermit,
    share: Option<Share>,
}

impl Slot {
    /// Returns the number of slots.
    fn number(&self) -> usize {
        self.permit.num_permits()
    }

    /// Adds slots of the same pool that the same principal took.
    pub(crate) fn merge(&mut self, other: Self) {
        let Self { permit, share } = other;
        self.permit.merge(permit);
        if let (Some(ours), Some(mut theirs)) = (&mut self.share, share) {
            ours.number += std::mem::take(&mut theirs.number);
        }
    }

    /// Frees all slots but this number.
    fn shrink(&mut self, number: usize) {
        let surplus = self.number().saturating_sub(number);
        drop(self.permit.split(surplus));
        if let Some(share) = &mut self.share {
            share.give_back(surplus);
        }
    }
}

/// Why there is no slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AtCapacity {
    /// The server's capacity is used up.
    Everybody,
    /// The caller has used up its share.
    Caller,
}

impl SlotPool {
    pub(crate) fn new(all: usize) -> Self {
        let all = all.min(Semaphore::MAX_PERMITS);
        let shares = Shares { most: all.div_ceil(2), taken: Mutex::new(HashMap::new()) };
        Self { free: Arc::new(Semaphore::new(all)), all, shares: Arc::new(shares) }
    }

    /// Takes one slot, or fails at once.
    pub(crate) fn try_take(&self, of: Option<&Principal>) -> Result<Slot, AtCapacity> {
        self.try_take_many(of, 1)
    }

    /// Takes several slots, or fails at once.
    fn try_take_many(&self, of: Option<&Principal>, wanted: usize) -> Result<Slot, AtCapacity> {
        let share = self.share(of, wanted)?;
        let wanted = wanted.try_into().unwrap_or(u32::MAX);
        let permit = self.free.clone().try_acquire_many_owned(wanted);
        Ok(Slot { permit: permit.map_err(|_| AtCapacity::Everybody)?, share })
    }

    /// Waits for several slots, in order. A caller counts its slots in its share before it waits, so one caller cannot fill the
    /// queue. Cuts the number to the most that the caller can ever have.
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

    /// Returns the most slots that one caller can have.
    fn most(&self, of: Option<&Principal>) -> usize {
        if of.is_some() { self.shares.most } else { self.all }
    }

    fn share(&self, of: Option<&Principal>, wanted: usize) -> Result<Option<Share>, AtCapacity> {
        let Some(principal) = of else { return Ok(None) };
        self.shares.take(principal, wanted).map(Some).ok_or(AtCapacity::Caller)
    }
}

/// The slots of each principal. The lock is held for one lookup: an exact count matters more here than a lock-free one.
#[derive(Debug)]
struct Shares {
    most: usize,
    /// Holds only principals that have slots, so that names do not accumulate.
    taken: Mutex<HashMap<Principal, usize>>,
}

/// The slots that one principal has taken.
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
    async fn principal_gets_at_most_half_of_the_slots_rounded_up() {
        let (alice, bob) = (Principal::new("alice"), Principal::new("bob"));
        let room = SlotPool::new(5);
        let mut held: Vec<Slot> = (0..3).map(|_| room.try_take(Some(&alice)).unwrap()).collect();
        assert_eq!(room.try_take(Some(&alice)).unwrap_err(), AtCapacity::Caller);
        assert_eq!(room.take(Some(&alice), 2, NOW).await.unwrap_err(), AtCapacity::Caller);
        let bobs = room.take(Some(&bob), 2, NOW).await.unwrap();
        assert_eq!(
            room.try_take(Some(&bob)).unwrap_err(),
            AtCapacity::Everybody,
            "all five slots are in use"
        );
        held.pop();
        let again = room.try_take(Some(&alice)).unwrap();
        drop((held, again, bobs));
        // More than a share means all of it: a request that is too large for half can be sent when nothing else runs.
        drop(room.take(Some(&alice), 100, NOW).await.unwrap());
        assert!(room.shares.lock().is_empty(), "a principal without slots has no entry");
        assert_eq!(room.free.available_permits(), 5);
    }

    #[tokio::test]
    async fn anonymous_caller_may_take_all_slots() {
        let (nobody, room) = (None, SlotPool::new(2));
        let held = [room.try_take(nobody).unwrap(), room.try_take(nobody).unwrap()];
        assert_eq!(room.try_take(nobody).unwrap_err(), AtCapacity::Everybody);
        drop(held);
        // More than the capacity means all of it.
        let all = room.take(nobody, 100, NOW).await.unwrap();
        assert_eq!(room.try_take(nobody).unwrap_err(), AtCapacity::Everybody);
        drop(all);
    }

    /// A caller that waited in vain has no slots, although its share was counted first.
    #[tokio::test]
    async fn failed_wait_holds_no_slots() {
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
