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

/// Formats one event. JSON that the console writes has no line breaks. Text that a tool wrote may have some.
pub(super) fn event(name: &str, data: &str) -> Bytes {
    let data = data.replace("\r\n", "\n").replace('\r', "\n").replace('\n', "\ndata: ");
    format!("event: {name}\ndata: {data}\n\n").into()
}

/// Responds with a stream of events. Sends an empty comment whenever the stream was quiet for this time, so that a proxy does not
/// take silence for the end.
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
    // Proxies must not buffer events.
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}
