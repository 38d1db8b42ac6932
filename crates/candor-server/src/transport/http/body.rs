//! Reading a request's body, without holding more of all bodies than there is room for.
//!
//! Bodies are read before anything else is known of a request: whether it begins something, or answers a question that a running
//! one waits for, or takes one back. So the room for requests that run cannot be taken first: with all of it taken, nobody could
//! end anything. Instead a body has room of its own. What is small needs none, so that nobody who takes all of it keeps
//! ordinary calls out; the number of connections bounds it. What is large takes its length at once, in turn, before the
//! rest is read, and keeps it until the request has ended: what was read is held for as long as that.

use std::fmt;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use axum::body::Body;
use bytes::{Bytes, BytesMut};
use candor_protocol::Principal;
use http_body_util::BodyExt as _;
use hyper::body::Body as _;

use crate::limits::Limits;
use crate::room::{AtCapacity, Capacity, Slot};

/// Up to here a body is small.
const SMALL: usize = 64 * 1024;

/// Reads bodies, the large ones when there is room for them.
pub struct Bodies {
    rooms: Arc<Capacity>,
    shared: bool,
    most: usize,
    time: Duration,
}

/// A body, and the room that it takes if it is large: until this is dropped.
#[derive(Debug)]
pub struct HeldBody {
    /// All of it.
    pub bytes: Bytes,
    /// Whoever holds what stands in the body for longer holds this, too.
    pub room: Option<Arc<Slot>>,
}

/// Why a body was not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum BodyError {
    /// It has more bytes than it may.
    TooLarge {
        /// So many.
        most: usize,
    },
    /// Its sender has hung up, or sent nonsense.
    BrokeOff,
    /// It did not come in time.
    TookTooLong,
    /// There was no room for it in time.
    NoRoom,
    /// This caller has their share of the room.
    NoShare,
}

impl Bodies {
    /// As the limits say, and these rooms have room. `shared`: between principals, of whom one gets at most half.
    #[must_use]
    pub fn new(limits: &Limits, rooms: Arc<Capacity>, shared: bool) -> Self {
        let (most, time) = (limits.message_bytes, limits.body_time);
        Self { rooms, shared, most, time }
    }

    /// Reads a body. The sender has [`Limits::body_time`] up to where it is large, and again for the rest, once there is room
    /// for it.
    ///
    /// # Errors
    /// Says why it was not read.
    pub async fn read(&self, body: Body, principal: &Principal) -> Result<HeldBody, BodyError> {
        let (most, time) = (self.most, self.time);
        let length =
            body.size_hint().exact().map(|said| usize::try_from(said).unwrap_or(usize::MAX));
        if length.is_some_and(|length| length > most) {
            return Err(BodyError::TooLarge { most });
        }
        let mut reading = BodyReader::of(body);
        if reading.goes_on(SMALL.min(most), time).await? == ReadEnd::End {
            return Ok(HeldBody { bytes: reading.whole(), room: None });
        }
        if reading.len > most {
            return Err(BodyError::TooLarge { most });
        }
        // Whoever does not say how much will come may send as much as anybody.
        let (wanted, of) = (length.unwrap_or(most), self.shared.then_some(principal));
        let room = match self.rooms.body(of, wanted, time).await {
            Ok(taken) => Some(taken),
            Err(AtCapacity::Everybody) => return Err(BodyError::NoRoom),
            Err(AtCapacity::Caller) => return Err(BodyError::NoShare),
        };
        match reading.goes_on(most, time).await? {
            ReadEnd::End => Ok(HeldBody { bytes: reading.whole(), room: room.map(Arc::new) }),
            ReadEnd::More => Err(BodyError::TooLarge { most }),
        }
    }

    /// The same for who is not known yet, and so gets no room.
    ///
    /// # Errors
    /// Says why it was not read.
    pub async fn read_small(&self, body: Body) -> Result<HeldBody, BodyError> {
        let most = SMALL.min(self.most);
        let mut reading = BodyReader::of(body);
        match reading.goes_on(most, self.time).await? {
            ReadEnd::End => Ok(HeldBody { bytes: reading.whole(), room: None }),
            ReadEnd::More => Err(BodyError::TooLarge { most }),
        }
    }
}

impl fmt::Debug for Bodies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bodies").field("most", &self.most).finish_non_exhaustive()
    }
}

/// A body that is being read.
struct BodyReader {
    body: Body,
    /// Most bodies come in one piece, which is not copied.
    first: Bytes,
    /// All of it, from the second piece on: whoever sends byte by byte makes us hold no more than the bytes.
    whole: BytesMut,
    len: usize,
}

#[derive(PartialEq, Eq)]
enum ReadEnd {
    End,
    /// There is more than was wanted.
    More,
}

impl BodyReader {
    fn of(body: Body) -> Self {
        Self { body, first: Bytes::new(), whole: BytesMut::new(), len: 0 }
    }

    /// Reads until the body ends, or more than `most` of it was read.
    async fn goes_on(&mut self, most: usize, patience: Duration) -> Result<ReadEnd, BodyError> {
        let reading = async {
            while self.len <= most {
                match self.body.frame().await {
                    None => return Ok(ReadEnd::End),
                    Some(Err(_)) => return Err(BodyError::BrokeOff),
                    Some(Ok(frame)) => self.push(frame.into_data().unwrap_or_default()),
                }
            }
            Ok(ReadEnd::More)
        };
        let mut reading = pin!(reading);
        // Most bodies have come with their headers, and nobody waits for them.
        match poll_fn(|cx| Poll::Ready(reading.as_mut().poll(cx))).await {
            Poll::Ready(reached) => reached,
            Poll::Pending => {
                tokio::time::timeout(patience, reading).await.unwrap_or(Err(BodyError::TookTooLong))
            }
        }
    }

    fn push(&mut self, piece: Bytes) {
        if self.len == 0 {
            self.first = piece;
            self.len = self.first.len();
            return;
        }
        if self.whole.is_empty() {
            self.whole.extend_from_slice(&std::mem::take(&mut self.first));
        }
        self.whole.extend_from_slice(&piece);
        self.len = self.whole.len();
    }

    fn whole(self) -> Bytes {
        if self.whole.is_empty() { self.first } else { self.whole.freeze() }
    }
}
