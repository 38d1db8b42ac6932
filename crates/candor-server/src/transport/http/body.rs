//! Reads request bodies, within the server's capacity for bodies.
//!
//! A body is read before anything else is known about its request. The request may start a call, answer a question of a running
//! call, or cancel one. So it cannot wait for a slot of a request: with all of these in use, no client could end a call. Instead,
//! bodies have capacity of their own.
//!
//! A small body needs none, so a caller that uses all of the capacity does not block ordinary calls. The limit on connections
//! bounds small bodies. A large body takes capacity for its whole length at once, in order, before the rest is read. It keeps the
//! capacity until the request has ended, because its content is held until then.

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

use super::rejection::Rejection;
use candor_engine::Limits;
use candor_engine::{Capacity, Slot};

/// Up to this size a body is small.
const SMALL: usize = 64 * 1024;

/// Reads bodies within these limits. Large ones wait for capacity.
#[derive(Debug)]
pub(super) struct Bodies {
    most: usize,
    time: Duration,
}

/// A body. A large one holds its slots until it is dropped.
#[derive(Debug, Default)]
pub struct HeldBody {
    /// The whole body.
    pub bytes: Bytes,
    /// The slots. Code that holds the body's content for longer must hold them, too.
    pub slot: Option<Arc<Slot>>,
}

impl Bodies {
    pub(super) fn new(limits: &Limits) -> Self {
        Self { most: limits.message_bytes, time: limits.body_time }
    }

    /// Reads a body. The client has [`Limits::body_time`] for the small part, and again for the rest once there is capacity for it.
    /// `of`: the principal whose share it counts in, if callers are told apart.
    pub(super) async fn read(
        &self,
        body: &mut Body,
        capacity: &Capacity,
        of: Option<&Principal>,
    ) -> Result<HeldBody, Rejection> {
        let (most, time) = (self.most, self.time);
        let length =
            body.size_hint().exact().map(|said| usize::try_from(said).unwrap_or(usize::MAX));
        if length.is_some_and(|length| length > most) {
            return Err(Rejection::TooLarge { most });
        }
        let mut reading = BodyReader::of(body);
        if reading.goes_on(SMALL.min(most), time).await? == ReadEnd::End {
            return Ok(HeldBody { bytes: reading.whole(), slot: None });
        }
        if reading.len > most {
            return Err(Rejection::TooLarge { most });
        }
        // Without a declared length, the body may have the maximum size.
        let slot = capacity.body(of, length.unwrap_or(most), time).await;
        let slot = slot.map_err(Rejection::BodyAtCapacity)?;
        match reading.goes_on(most, time).await? {
            ReadEnd::End => Ok(HeldBody { bytes: reading.whole(), slot: Some(Arc::new(slot)) }),
            ReadEnd::More => Err(Rejection::TooLarge { most }),
        }
    }

    /// Reads a body of a caller that is not known yet, and so gets no capacity. The body must be small.
    pub(super) async fn read_small(&self, body: &mut Body) -> Result<HeldBody, Rejection> {
        let most = SMALL.min(self.most);
        let mut reading = BodyReader::of(body);
        match reading.goes_on(most, self.time).await? {
            ReadEnd::End => Ok(HeldBody { bytes: reading.whole(), slot: None }),
            ReadEnd::More => Err(Rejection::TooLarge { most }),
        }
    }
}

/// A body while it is read.
struct BodyReader<'a> {
    body: &'a mut Body,
    /// Most bodies come in one piece, which is not copied.
    first: Bytes,
    /// The whole body, from the second piece on. Many tiny pieces take no more memory than their bytes.
    whole: BytesMut,
    len: usize,
}

#[derive(PartialEq, Eq)]
enum ReadEnd {
    End,
    /// There is more than the limit.
    More,
}

impl<'a> BodyReader<'a> {
    fn of(body: &'a mut Body) -> Self {
        Self { body, first: Bytes::new(), whole: BytesMut::new(), len: 0 }
    }

    /// Reads until the body ends, or until more than `most` bytes were read.
    async fn goes_on(&mut self, most: usize, patience: Duration) -> Result<ReadEnd, Rejection> {
        let reading = async {
            while self.len <= most {
                match self.body.frame().await {
                    None => return Ok(ReadEnd::End),
                    Some(Err(_)) => return Err(Rejection::BrokenBody),
                    Some(Ok(frame)) => self.push(frame.into_data().unwrap_or_default()),
                }
            }
            Ok(ReadEnd::More)
        };
        let mut reading = pin!(reading);
        // Most bodies have arrived with their headers, so they need no timer.
        match poll_fn(|cx| Poll::Ready(reading.as_mut().poll(cx))).await {
            Poll::Ready(reached) => reached,
            Poll::Pending => {
                tokio::time::timeout(patience, reading).await.unwrap_or(Err(Rejection::TooSlow))
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
