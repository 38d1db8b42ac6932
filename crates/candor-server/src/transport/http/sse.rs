//! Event streams.

use std::convert::Infallible;
use std::time::Duration;

use axum::body::Body;
use axum::response::Response;
use bytes::{BufMut, Bytes, BytesMut};
use candor_protocol::json::in_one_line;
use futures_util::{Stream, StreamExt};
use http::HeaderValue;
use http::header::{CACHE_CONTROL, CONTENT_TYPE};

/// Encodes a message as an event, with an id if the stream can be resumed.
pub(super) fn event(id: Option<&str>, message: &[u8]) -> Bytes {
    let mut event = BytesMut::with_capacity(message.len() + 64);
    if let Some(id) = id {
        event.put_slice(b"id: ");
        event.put_slice(id.as_bytes());
        event.put_u8(b'\n');
    }
    event.put_slice(b"data: ");
    let begun = event.len();
    event.put_slice(message);
    in_one_line(&mut event[begun..]);
    event.put_slice(b"\n\n");
    event.freeze()
}

/// Encodes an event without a message. It gives the client an id to resume from, and the time to wait before it reconnects.
pub(super) fn priming(id: &str, retry: Duration) -> Bytes {
    format!("id: {id}\nretry: {}\ndata: \n\n", retry.as_millis()).into()
}

/// Returns a response that streams events, with a comment after each quiet time.
pub(super) fn response(
    events: impl Stream<Item = Bytes> + Send + 'static,
    quiet: Duration,
) -> Response {
    let events = Box::pin(events);
    let kept_alive = futures_util::stream::unfold(events, move |mut events| async move {
        match tokio::time::timeout(quiet, events.next()).await {
            Ok(Some(event)) => Some((event, events)),
            Ok(None) => None,
            Err(_) => Some((Bytes::from_static(b": keep-alive\n\n"), events)),
        }
    });
    let mut response = Response::new(Body::from_stream(kept_alive.map(Ok::<_, Infallible>)));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache, no-transform"));
    // Proxies must not buffer events.
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}
