//! Event streams.

use std::convert::Infallible;
use std::time::Duration;

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use futures_util::{Stream, StreamExt as _, stream};
use http::HeaderValue;
use http::header::{CACHE_CONTROL, CONTENT_TYPE};

pub(super) const EVENTS: &str = "text/event-stream";

/// One event. JSON has no line breaks outside of strings once it is written here, and inside they are escaped; what a tool has
/// written may have.
pub(super) fn event(name: &str, data: &str) -> Bytes {
    let data = data.replace("\r\n", "\n").replace('\r', "\n").replace('\n', "\ndata: ");
    format!("event: {name}\ndata: {data}\n\n").into()
}

/// Events as they come, with an empty comment whenever it has been quiet for a while: nobody in between should take silence for
/// the end.
pub(super) fn respond(
    events: impl Stream<Item = Bytes> + Send + 'static,
    quiet: Duration,
) -> Response {
    let kept_alive = stream::unfold(Box::pin(events), move |mut events| async move {
        let text = match tokio::time::timeout(quiet, events.next()).await {
            Ok(event) => event?,
            Err(_) => Bytes::from_static(b":\n\n"),
        };
        Some((Ok::<_, Infallible>(text), events))
    });
    let mut response = Response::new(Body::from_stream(kept_alive));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(EVENTS));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    // Proxies must not collect events before they pass them on.
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}
