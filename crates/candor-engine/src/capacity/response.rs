//! Capacity for one response: reserved before its parts are built, held until the client has read it.
//!
//! While a response is built, its parts are in memory several times: as the handler returned them, as JSON, as a message. If only
//! finished responses counted, one caller could make the server build any number of large ones at once.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use candor_protocol::Principal;

use super::slots::{AtCapacity, Capacity, Slot};

/// Up to this size a response is small and needs no capacity.
pub const SMALL: usize = 64 * 1024;

/// How long a response waits for capacity before it is built. Callers that read their responses free capacity sooner.
const PATIENCE: Duration = Duration::from_secs(5);

/// How often a caller that has used up its share tries again.
const LOOK_AGAIN: Duration = Duration::from_millis(25);

/// The memory that one byte of a tool's text may take. The text is in memory as the handler returns it, as structured content, and
/// as the JSON of that. The message has both again, where a quote takes two bytes. The rest is what the allocator wastes between
/// them.
const PER_BYTE_OF_TOOL: usize = 10;

/// The memory that one byte of a resource may take. A message has it once.
const PER_BYTE_OF_RESOURCE: usize = 4;

/// The capacity that one request has reserved for its response. Cloning shares it.
#[derive(Debug, Clone)]
pub struct ResponseCapacity(Arc<Reserved>);

#[derive(Debug)]
struct Reserved {
    rooms: Arc<Capacity>,
    of: Option<Principal>,
    rewritten: bool,
    taken: Mutex<Option<Slot>>,
}

impl ResponseCapacity {
    /// Creates a reservation without capacity yet. `of`: the principal whose share it counts in, if callers are told apart.
    #[must_use]
    pub fn new(rooms: &Arc<Capacity>, of: Option<&Principal>) -> Self {
        Self::of(rooms, of, false)
    }

    /// Creates a reservation for a response that is decoded and encoded again on its way, as in the REST API. It is in memory twice
    /// as often.
    #[must_use]
    pub fn rewritten(rooms: &Arc<Capacity>, of: Option<&Principal>) -> Self {
        Self::of(rooms, of, true)
    }

    fn of(rooms: &Arc<Capacity>, of: Option<&Principal>, rewritten: bool) -> Self {
        let (rooms, of) = (Arc::clone(rooms), of.cloned());
        Self(Arc::new(Reserved { rooms, of, rewritten, taken: Mutex::default() }))
    }

    /// Waits for capacity for the result that a tool is about to return.
    pub(crate) async fn wait_for_tool(&self, bytes: u64) -> Result<(), AtCapacity> {
        self.wait(bytes, PER_BYTE_OF_TOOL).await
    }

    /// Waits for capacity for a resource of this size.
    pub(crate) async fn wait_for_resource(&self, bytes: u64) -> Result<(), AtCapacity> {
        self.wait(bytes, PER_BYTE_OF_RESOURCE).await
    }

    async fn wait(&self, bytes: u64, times: usize) -> Result<(), AtCapacity> {
        let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
        if bytes <= SMALL {
            return Ok(());
        }
        let times = if self.0.rewritten { 2 * times } else { times };
        let until = Instant::now() + PATIENCE;
        loop {
            let Reserved { rooms, of, .. } = &*self.0;
            let more = bytes.saturating_mul(times).saturating_sub(self.bytes());
            let left = until.saturating_duration_since(Instant::now());
            match rooms.wait_for_response(of.as_ref(), more, left).await {
                Ok(taken) => {
                    self.add(taken);
                    return Ok(());
                }
                // The pool does not queue a caller beyond its share, so this retries.
                Err(AtCapacity::Caller) if !left.is_zero() => tokio::time::sleep(LOOK_AGAIN).await,
                Err(full) => return Err(full),
            }
        }
    }

    /// Reserves this number of bytes in total, or fails at once. Cuts the number to the most that one response can ever have.
    ///
    /// # Errors
    /// Whose capacity is used up: the server's or the caller's.
    pub fn reserve(&self, bytes: usize) -> Result<(), AtCapacity> {
        let Reserved { rooms, of, .. } = &*self.0;
        let bytes = bytes.min(rooms.most_of_response(of.as_ref()));
        let more = bytes.saturating_sub(self.bytes());
        if bytes > SMALL && more > 0 {
            self.add(rooms.answer(of.as_ref(), more)?);
        }
        Ok(())
    }

    /// Reserves capacity for a message of this size, and frees the surplus: the parts of the response are dropped by now.
    ///
    /// # Errors
    /// Whose capacity is used up: the server's or the caller's.
    pub fn hold(&self, bytes: usize) -> Result<(), AtCapacity> {
        let Reserved { rooms, of, .. } = &*self.0;
        let bytes = if bytes <= SMALL { 0 } else { bytes };
        let more = bytes.saturating_sub(self.bytes());
        if more > 0 {
            self.add(rooms.answer(of.as_ref(), more)?);
        }
        let mut taken = self.lock();
        match &mut *taken {
            Some(_) if bytes == 0 => *taken = None,
            Some(taken) => rooms.shrink_response(taken, bytes),
            None => {}
        }
        Ok(())
    }

    fn add(&self, more: Slot) {
        let mut taken = self.lock();
        match &mut *taken {
            Some(taken) => taken.merge(more),
            None => *taken = Some(more),
        }
    }

    /// Returns the number of bytes that it has reserved.
    fn bytes(&self) -> usize {
        self.lock().as_ref().map_or(0, |taken| self.0.rooms.bytes_of_response(taken))
    }

    fn lock(&self) -> MutexGuard<'_, Option<Slot>> {
        self.0.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::super::limits::Limits;
    use super::*;

    const MIB: usize = 1024 * 1024;

    fn rooms() -> Arc<Capacity> {
        let limits = Limits { answer_bytes: 64 * MIB, ..Limits::default() };
        Arc::new(Capacity::new(&limits))
    }

    #[test]
    fn capacity_is_resized_within_the_share_and_released() {
        let (rooms, alice) = (rooms(), Principal::new("alice"));
        let free = || rooms.answer(None, 64 * MIB).is_ok();
        let one = ResponseCapacity::new(&rooms, Some(&alice));
        one.reserve(SMALL).unwrap();
        assert!(free(), "small responses need nothing");
        one.reserve(8 * MIB).unwrap();
        one.reserve(32 * MIB).unwrap();
        let other = ResponseCapacity::new(&rooms, Some(&alice));
        assert_eq!(other.reserve(MIB), Err(AtCapacity::Caller), "half is the share of one caller");
        one.hold(16 * MIB).unwrap();
        other.reserve(16 * MIB).unwrap();
        assert_eq!(other.hold(17 * MIB), Err(AtCapacity::Caller));
        drop(other);
        one.hold(SMALL).unwrap();
        assert!(free());
        one.reserve(usize::MAX).unwrap();
        assert_eq!(one.hold(33 * MIB), Err(AtCapacity::Caller), "no message has more than a share");
        drop(one);
        assert!(free());
    }

    #[tokio::test(start_paused = true)]
    async fn wait_ends_with_capacity_or_an_error() {
        for of in [None, Some(Principal::new("alice"))] {
            let rooms = rooms();
            let held = ResponseCapacity::new(&rooms, of.as_ref());
            held.reserve(usize::MAX).unwrap();
            let next = ResponseCapacity::new(&rooms, of.as_ref());
            assert!(next.wait_for_resource(MIB as u64).await.is_err());
            let waits = next.wait_for_resource(MIB as u64);
            let (waited, ()) = tokio::join!(waits, async { drop(held) });
            waited.unwrap();
            assert_eq!(next.bytes(), 4 * MIB);
        }
    }
}
