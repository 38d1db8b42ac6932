//! Reading a request's body, without holding more of all bodies than there is room for.
//!
//! Bodies are read before anything else is known of a request: whether it begins something, or answers a question that a running
//! one waits for, or takes one back. So the room for requests that run cannot be taken first: with all of it taken, nobody could
//! end anything. Instead a body has room of its own. What is small needs none, so that nobody who takes all of it keeps
//! ordinary calls out; the number of connections bounds it. What is large takes its length at once, in turn, before the
//! rest is read, and keeps it until the request has ended: what was read is held for as long as that.

use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use candor_protocol::Principal;
use http_body_util::BodyExt as _;
use hyper::body::Body as _;

use super::room::{Full, Room, Taken};
use crate::limits::Limits;

/// Up to here a body is small.
pub(super) const SMALL: usize = 64 * 1024;

/// What room is counted in.
const UNIT: usize = 16 * 1024;

/// Room for large bodies.
pub(super) fn room(limits: &Limits, shared: bool) -> Room {
    Room::new(limits.body_bytes.div_ceil(UNIT).max(1), shared)
}

/// A body, and the room that it takes if it is large.
pub(super) struct Read {
    pub(super) bytes: Bytes,
    pub(super) place: Option<Taken>,
}

/// Why there is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unread {
    TooLarge,
    BrokeOff,
    TookTooLong,
    NoRoom(Full),
}

/// Reads a body. The sender has [`Limits::body_time`] up to where it is large, and again for the rest, once there is room for it.
pub(super) async fn read(
    body: Body,
    room: &Room,
    limits: &Limits,
    principal: &Principal,
) -> Result<Read, Unread> {
    let most = limits.message_bytes;
    let length = body.size_hint().exact().map(|said| usize::try_from(said).unwrap_or(usize::MAX));
    if length.is_some_and(|length| length > most) {
        return Err(Unread::TooLarge);
    }
    let mut reading = Reading { body, pieces: Vec::new(), len: 0 };
    if reading.goes_on(SMALL.min(most), limits.body_time).await? == Reached::End {
        return Ok(Read { bytes: reading.whole(), place: None });
    }
    if reading.len > most {
        return Err(Unread::TooLarge);
    }
    // Whoever does not say how much will come may send as much as anybody.
    let wanted = length.unwrap_or(most).div_ceil(UNIT);
    let place = room.take(principal, wanted, limits.body_time).await.map_err(Unread::NoRoom)?;
    match reading.goes_on(most, limits.body_time).await? {
        Reached::End => Ok(Read { bytes: reading.whole(), place: Some(place) }),
        Reached::More => Err(Unread::TooLarge),
    }
}

/// A body that is being read.
struct Reading {
    body: Body,
    pieces: Vec<Bytes>,
    len: usize,
}

#[derive(PartialEq, Eq)]
enum Reached {
    End,
    /// There is more than was wanted.
    More,
}

impl Reading {
    /// Reads until the body ends, or more than `most` of it was read.
    async fn goes_on(&mut self, most: usize, patience: Duration) -> Result<Reached, Unread> {
        let reading = async {
            while self.len <= most {
                match self.body.frame().await {
                    None => return Ok(Reached::End),
                    Some(Err(_)) => return Err(Unread::BrokeOff),
                    Some(Ok(frame)) => {
                        let data = frame.into_data().unwrap_or_default();
                        self.len += data.len();
                        self.pieces.push(data);
                    }
                }
            }
            Ok(Reached::More)
        };
        tokio::time::timeout(patience, reading).await.unwrap_or(Err(Unread::TookTooLong))
    }

    /// Most bodies come in one piece, which is not copied.
    fn whole(mut self) -> Bytes {
        match self.pieces.len() {
            0 | 1 => self.pieces.pop().unwrap_or_default(),
            _ => self.pieces.concat().into(),
        }
    }
}
