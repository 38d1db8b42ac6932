//! A response stays in memory until its client has read it. So a large one keeps the slot of its request. Otherwise a client that
//! does not read could make the server hold as many responses as there are connections.

use std::pin::Pin;
use std::task::{Context, Poll};

use axum::Error;
use axum::body::{Body, HttpBody};
use axum::response::Response;
use bytes::Bytes;
use hyper::body::{Frame, SizeHint};

use candor_engine::SMALL;

/// Holds a value until a response has been read, or its client is gone. A small, complete response holds nothing.
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

/// A body that holds a value. It never reports its end in advance (`is_end_stream`). The connection asks for another frame only
/// after it has written the last one, and then drops the body.
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
