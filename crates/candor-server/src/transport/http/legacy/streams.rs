//! Event streams of sessions: opening, leaving and resuming them.

use std::sync::Arc;
use std::time::Duration;

use axum::response::Response;
use bytes::Bytes;
use candor_protocol::names::header;
use candor_protocol::{Principal, Revision};
use futures_util::stream;
use http::request::Parts;
use http::{HeaderMap, StatusCode};
use tokio_util::sync::CancellationToken;

use super::super::front::{EVENTS, SlotKind, accepts};
use super::super::{Endpoint, Rejection, SESSION_ID, Slot, respond, sse};
use crate::session::{Listening, Session};
use crate::stream::{Event, StreamLog};

/// The stream for messages that belong to no request.
pub(super) const STANDALONE: &str = "session";

/// When a client should reconnect after its stream has ended.
const RETRY: Duration = Duration::from_millis(500);

/// Opens the session's own stream, or resumes any of its streams.
pub(in super::super) fn get(endpoint: &Endpoint, principal: &Principal, parts: &Parts) -> Response {
    if !parts.headers.contains_key(&SESSION_ID) {
        return respond::only_post("GET opens a stream of a session; this request names none");
    }
    if !accepts(&parts.headers, EVENTS) {
        return respond::problem(StatusCode::NOT_ACCEPTABLE, "Accept must list text/event-stream");
    }
    let session = match super::session(endpoint, principal, &parts.headers) {
        Ok(session) => session,
        Err(refused) => return refused.response(),
    };
    let Ok((name, after)) = place(&parts.headers) else {
        return respond::problem(StatusCode::BAD_REQUEST, "Last-Event-ID is none of ours");
    };
    let Some(log) = session.stream(name) else {
        return respond::problem(StatusCode::NOT_FOUND, "this stream is not kept any more");
    };
    match endpoint.front.slot(SlotKind::Stream, principal) {
        Err(full) => respond::rejected(&Rejection::AtCapacity(full), None),
        Ok(slot) => {
            let (reader, start) = log.reader(after);
            let primed = after.is_some() || !primes(&session);
            respond_with(endpoint, session, log, Place { reader, after: start, primed }, Some(slot))
        }
    }
}

/// Returns where a client wants to continue: a stream's name, and the number of the last event that it has.
fn place(headers: &HeaderMap) -> Result<(&str, Option<u64>), ()> {
    let Some(id) = headers.get(header::LAST_EVENT_ID) else { return Ok((STANDALONE, None)) };
    let (name, number) = id.to_str().map_err(drop)?.rsplit_once('.').ok_or(())?;
    Ok((name, Some(number.parse().map_err(drop)?)))
}

/// Streams the messages of a request from its beginning.
pub(super) fn follow(endpoint: &Endpoint, session: Arc<Session>, log: Arc<StreamLog>) -> Response {
    let _ = session.keep_stream(&log);
    let (reader, after) = log.reader(Some(0));
    let primed = !primes(&session);
    respond_with(endpoint, session, log, Place { reader, after, primed }, None)
}

/// Returns a stream that ends at once and gives the client an id to resume from. If the stream cannot be stored, follows it
/// instead.
pub(super) fn only_priming(
    endpoint: &Endpoint,
    session: Arc<Session>,
    log: Arc<StreamLog>,
) -> Response {
    if !session.keep_stream(&log) {
        return follow(endpoint, session, log);
    }
    let event = sse::priming(&event_id(&log, 0), RETRY);
    sse::response(stream::once(std::future::ready(event)), RETRY)
}

/// Returns an empty stream.
pub(super) fn nothing() -> Response {
    sse::response(stream::empty(), RETRY)
}

/// Returns true if streams begin with an event that only carries an id: from 2025-11-25 on.
fn primes(session: &Session) -> bool {
    session.client.revision >= Revision::V2025_11_25
}

/// The position of a reader.
struct Place {
    reader: u64,
    after: u64,
    primed: bool,
}

struct StreamReader {
    /// Keeps the session from counting as unused.
    _listening: Listening,
    _room: Option<Slot>,
    log: Arc<StreamLog>,
    place: Place,
    closing: CancellationToken,
}

fn respond_with(
    endpoint: &Endpoint,
    session: Arc<Session>,
    log: Arc<StreamLog>,
    place: Place,
    room: Option<Slot>,
) -> Response {
    // A call's stream ends with its answer. The session's own ends only with the server.
    let closing = match log.name() {
        STANDALONE => endpoint.engine.closing().clone(),
        _ => CancellationToken::new(),
    };
    let reading = StreamReader { _listening: session.listen(), _room: room, log, place, closing };
    let events =
        stream::unfold(
            reading,
            |mut reading| async move { Some((reading.next().await?, reading)) },
        );
    sse::response(events, endpoint.engine.limits().keep_alive)
}

impl StreamReader {
    async fn next(&mut self) -> Option<Bytes> {
        if !self.place.primed {
            self.place.primed = true;
            return Some(sse::priming(&event_id(&self.log, self.place.after), RETRY));
        }
        let event = tokio::select! {
            biased;
            event = self.log.next(self.place.reader, self.place.after) => event,
            () = self.closing.cancelled() => return None,
        };
        match event {
            Event::End | Event::Released => None,
            Event::Message(number, message) => {
                self.place.after = number;
                Some(sse::event(Some(&event_id(&self.log, number)), &message))
            }
        }
    }
}

fn event_id(log: &StreamLog, number: u64) -> String {
    format!("{}.{number}", log.name())
}
