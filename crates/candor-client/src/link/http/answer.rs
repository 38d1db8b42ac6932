//! Responses: an answer, or an event stream that contains it and other messages of the server.
//!
//! A broken legacy stream is resumed where it ended. A broken modern stream means that the request is lost.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use candor_protocol::json::RawValue;
use candor_protocol::names::header;
use candor_protocol::rpc::{Incoming, RequestId, decode_message, split_batch};
use http::header::{ACCEPT, CONTENT_TYPE, HeaderValue};
use http::{Method, Response, StatusCode};
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use hyper::body::Incoming as Body;

use super::Shared;
use super::refused::error_without_id;
use crate::cost::{affordable, cost};
use crate::error::Error;
use crate::link::sse::Events;
use crate::members::quoted;

/// The media type of an event stream.
const EVENTS: &str = "text/event-stream";

/// The shortest wait before the client resumes a stream, whatever the server says. It doubles while streams are cut at once.
const SHORTEST_RETRY: Duration = Duration::from_millis(100);

/// The wait before the client resumes a stream, if the server does not set one.
pub(super) const RETRY: Duration = Duration::from_secs(1);

/// How often the client resumes a stream that brings no new event.
const RESUMPTIONS: u32 = 5;

/// The longest wait that a server can set.
pub(super) const LONGEST_RETRY: Duration = Duration::from_secs(60);

impl Shared {
    pub(super) async fn answer(
        self: &Arc<Self>,
        id: &RequestId,
        response: Response<Body>,
    ) -> Result<Box<RawValue>, Error> {
        if !response.status().is_success() {
            return Err(self.refused(Some(id), response).await);
        }
        match kind_of(&response) {
            Some(kind) if kind == "application/json" => {
                let body = collect(response.into_body(), self.limits.max_message).await?;
                self.take(id, &body)?
                    .ok_or_else(|| Error::protocol("its answer is to another request"))
            }
            Some(kind) if kind == EVENTS => self.follow(id, response.into_body()).await,
            kind => Err(Error::protocol(format!(
                "it answered with {} of type {}",
                response.status(),
                kind.as_deref().map_or_else(|| "nothing".to_owned(), quoted)
            ))),
        }
    }

    /// Reads a stream until the answer arrives. Resumes the stream if it breaks off and can be resumed.
    async fn follow(self: &Arc<Self>, id: &RequestId, body: Body) -> Result<Box<RawValue>, Error> {
        let mut events = Events::new(body, self.limits.max_message);
        let mut fruitless = 0;
        let (mut begun, mut backoff) = (Instant::now(), SHORTEST_RETRY);
        loop {
            let end = match events.next().await {
                Ok(Some(event)) => {
                    fruitless = 0;
                    match self.take(id, &event)? {
                        Some(answer) => {
                            events.finish();
                            return Ok(answer);
                        }
                        None => continue,
                    }
                }
                Ok(None) => "the stream ended without an answer".to_owned(),
                Err(Error::Lost { why, .. }) => why,
                Err(other) => return Err(other),
            };
            let (Some(place), true) = (events.last_id.clone(), self.is_legacy()) else {
                return Err(Error::Lost { why: end, sent: true });
            };
            fruitless += 1;
            if fruitless > RESUMPTIONS {
                return Err(Error::Lost { why: end, sent: true });
            }
            // The server can lengthen the wait, but not shorten it below the backoff.
            let retry = events.retry;
            backoff = if begun.elapsed() < RETRY { backoff * 2 } else { SHORTEST_RETRY };
            backoff = backoff.min(LONGEST_RETRY);
            tokio::time::sleep(retry.unwrap_or(RETRY).max(backoff).min(LONGEST_RETRY)).await;
            begun = Instant::now();
            match self.resume(Some(&place)).await {
                Ok(body) => {
                    events = Events::new(body, self.limits.max_message);
                    events.last_id = Some(place);
                    events.retry = retry;
                }
                // It failed now, but may work the next time.
                Err(error) if error.is_passing() => {}
                Err(error @ Error::Unauthorized { .. }) => return Err(error),
                // It cannot work later either. The caller lost the answer, whatever the reason of this refusal.
                Err(_) => return Err(Error::Lost { why: end, sent: true }),
            }
        }
    }

    pub(super) async fn resume(&self, place: Option<&str>) -> Result<Body, Error> {
        let mut request = self.endpoint.request(Method::GET, Vec::new());
        let headers = request.headers_mut();
        headers.insert(ACCEPT, HeaderValue::from_static(EVENTS));
        self.introduce(headers);
        if let Some(place) = place {
            let place = HeaderValue::from_str(place)
                .map_err(|_| Error::protocol("the id of an event cannot be sent back"))?;
            headers.insert(header::LAST_EVENT_ID, place);
        }
        let response = self.endpoint.send(request).await?;
        match (response.status(), kind_of(&response)) {
            (StatusCode::OK, Some(kind)) if kind == EVENTS => Ok(response.into_body()),
            // The body is not an event stream, but perhaps an HTML page.
            (StatusCode::OK, _) => Err(Error::protocol("a stream was asked for, and none came")),
            _ => Err(self.refused(None, response).await),
        }
    }

    /// Processes what has arrived. Returns the answer to the request, if it is included.
    pub(super) fn take(
        self: &Arc<Self>,
        id: &RequestId,
        text: &[u8],
    ) -> Result<Option<Box<RawValue>>, Error> {
        let depth = self.limits.max_depth;
        let batch = split_batch(text, depth).map_err(|r| Error::Protocol(r.error.message))?;
        let Some(batch) = batch else { return self.take_one(id, text) };
        let mut answer = None;
        for message in batch {
            answer = self.take_one(id, message.as_bytes())?.or(answer);
        }
        Ok(answer)
    }

    fn take_one(
        self: &Arc<Self>,
        id: &RequestId,
        message: &[u8],
    ) -> Result<Option<Box<RawValue>>, Error> {
        match decode_message(message, self.limits.max_depth) {
            Ok(Incoming::Response(response)) if response.id == *id => {
                affordable(response.outcome, self.limits.max_list).map(Some)
            }
            Ok(Incoming::Response(_)) => Ok(None),
            Ok(Incoming::Notification(news)) => {
                self.host.heard(&news);
                Ok(None)
            }
            Ok(Incoming::Request(request)) => {
                let shared = self.clone();
                self.host.serve(request, Some(id), cost(message), async move |answer| {
                    if let Err(error) = shared.tell("", answer).await {
                        tracing::warn!(%error, "an answer could not be sent");
                    }
                });
                Ok(None)
            }
            Err(rejected) => match error_without_id(message, self.limits.max_depth) {
                Some(error) => Err(Error::Server(error)),
                None => Err(Error::Protocol(rejected.error.message)),
            },
        }
    }
}

/// Returns the media type of a body, without its parameters.
fn kind_of(response: &Response<Body>) -> Option<String> {
    let kind = response.headers().get(CONTENT_TYPE)?.to_str().ok()?;
    Some(kind.split(';').next().unwrap_or(kind).trim().to_ascii_lowercase())
}

pub(super) async fn collect(body: Body, limit: usize) -> Result<Bytes, Error> {
    match Limited::new(body, limit).collect().await {
        Ok(body) => Ok(body.to_bytes()),
        Err(error) if error.is::<LengthLimitError>() => Err(Error::message_too_large(limit)),
        Err(error) => Err(Error::Lost { why: error.to_string(), sent: true }),
    }
}
