//! How much may be under way at a time: in all, and of one principal.
//!
//! Where callers are known by name, one of them gets at most half: whoever takes as much as they can leaves the other half to
//! everybody else. Where nobody is known there is nothing to divide by, and the counting is left out.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use candor_protocol::Principal;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Room for so many of something.
pub(super) struct Room {
    free: Arc<Semaphore>,
    all: usize,
    shares: Option<Arc<Shares>>,
}

/// A place that is taken, until it is dropped.
#[derive(Debug)]
pub(super) struct Taken {
    _permit: OwnedSemaphorePermit,
    _share: Option<Share>,
}

/// Why there is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Full {
    /// For anybody.
    Everybody,
    /// For this caller, who has their share.
    Caller,
}

impl Room {
    /// Shared between principals, or not.
    pub(super) fn new(all: usize, shared: bool) -> Self {
        let all = all.min(Semaphore::MAX_PERMITS);
        let shares = shared
            .then(|| Arc::new(Shares { most: all.div_ceil(2), taken: Mutex::new(HashMap::new()) }));
        Self { free: Arc::new(Semaphore::new(all)), all, shares }
    }

    /// One place, now or not at all.
    pub(super) fn try_take(&self, principal: &Principal) -> Result<Taken, Full> {
        let share = self.share(principal, 1)?;
        let permit = self.free.clone().try_acquire_owned().map_err(|_| Full::Everybody)?;
        Ok(Taken { _permit: permit, _share: share })
    }

    /// Several at once, in turn; whoever waits has their share already, so nobody fills the queue. What can never be had is cut
    /// to what can.
    pub(super) async fn take(
        &self,
        principal: &Principal,
        wanted: usize,
        patience: Duration,
    ) -> Result<Taken, Full> {
        let most = self.shares.as_ref().map_or(self.all, |shares| shares.most);
        let wanted = wanted.min(most);
        let share = self.share(principal, wanted)?;
        let permits = self.free.clone().acquire_many_owned(wanted.try_into().unwrap_or(u32::MAX));
        match tokio::time::timeout(patience, permits).await {
            Ok(Ok(permit)) => Ok(Taken { _permit: permit, _share: share }),
            _ => Err(Full::Everybody),
        }
    }

    fn share(&self, principal: &Principal, wanted: usize) -> Result<Option<Share>, Full> {
        let Some(shares) = &self.shares else { return Ok(None) };
        shares.take(principal, wanted).map(Some).ok_or(Full::Caller)
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

impl Drop for Share {
    fn drop(&mut self) {
        let mut taken = self.of.lock();
        match taken.get_mut(&self.principal) {
            Some(has) if *has > self.number => *has -= self.number,
            _ => drop(taken.remove(&self.principal)),
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
        let room = Room::new(5, true);
        let mut held: Vec<Taken> = (0..3).map(|_| room.try_take(&alice).unwrap()).collect();
        assert_eq!(room.try_take(&alice).unwrap_err(), Full::Caller);
        assert_eq!(room.take(&alice, 2, NOW).await.unwrap_err(), Full::Caller);
        let bobs = room.take(&bob, 2, NOW).await.unwrap();
        assert_eq!(room.try_take(&bob).unwrap_err(), Full::Everybody, "five are five");
        held.pop();
        let again = room.try_take(&alice).unwrap();
        drop((held, again, bobs));
        assert!(room.shares.unwrap().lock().is_empty(), "who has nothing is not remembered");
        assert_eq!(room.free.available_permits(), 5);
    }

    #[tokio::test]
    async fn where_nobody_is_known_anybody_may_have_all() {
        let (nobody, room) = (Principal::anonymous(), Room::new(2, false));
        let held = [room.try_take(&nobody).unwrap(), room.try_take(&nobody).unwrap()];
        assert_eq!(room.try_take(&nobody).unwrap_err(), Full::Everybody);
        drop(held);
        // More than there is means all.
        let all = room.take(&nobody, 100, NOW).await.unwrap();
        assert_eq!(room.try_take(&nobody).unwrap_err(), Full::Everybody);
        drop(all);
    }

    /// Who is refused has nothing, though the share was counted first.
    #[tokio::test]
    async fn whoever_waits_in_vain_keeps_nothing() {
        let (alice, bob) = (Principal::new("alice"), Principal::new("bob"));
        let room = Room::new(4, true);
        let held = room.take(&alice, 2, NOW).await.unwrap();
        let other = room.try_take(&bob).unwrap();
        let carol = Principal::new("carol");
        assert_eq!(room.take(&carol, 2, NOW).await.unwrap_err(), Full::Everybody);
        drop((held, other));
        room.take(&carol, 2, NOW).await.unwrap();
    }
}
