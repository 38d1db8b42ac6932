//! An answer that its reader takes slowly, or not at all, is held in memory. So a large one keeps the place of its request: otherwise
//! whoever asks and does not read would make us hold as many answers as there are connections.

use std::pin::Pin;
use std::task::{Context, Poll};

use axum::Error;
use axum::body::{Body, HttpBody};
use axum::response::Response;
use bytes::Bytes;
use hyper::body::{Frame, SizeHint};

use crate::response_capacity::SMALL;

/// Keeps something until an answer has been read, or its reader is gone. What is small and all there keeps nothing.
///
/// ```
/// use candor_server::transport::http::hold;
/// use std::sync::Arc;
///
/// let place = Arc::new(());
/// let small = hold(axum::response::Response::new("small".into()), place.clone());
/// assert_eq!(Arc::strong_count(&place), 1);
/// let large = hold(axum::response::Response::new("large".repeat(100_000).into()), place.clone());
/// assert_eq!(Arc::strong_count(&place), 2);
/// # drop((small, large));
/// ```
pub fn hold<T: Send + Unpin + 'static>(response: Response, held: T) -> Response {
    if response.body().size_hint().exact().is_some_and(|bytes| bytes <= SMALL as u64) {
        return response;
    }
    response.map(|body| Body::new(Holding { body, _held: held }))
}

/// Says that it has ended only when it is asked for more than there is: who writes it asks that when what it had is written, and lets
/// go of it then.
struct Holding<T> {
    body: Body,
    _held: T,
}

impl<T: Unpin> HttpBody for Holding<T> {
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
