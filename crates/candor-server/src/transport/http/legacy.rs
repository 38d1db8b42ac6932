//! Legacy requests: sessions, event streams that can be resumed, answers to our questions.

use std::sync::Arc;
use std::time::Duration;

use axum::response::Response;
use bytes::Bytes;
use candor_protocol::names::{header, method};
use candor_protocol::rpc::{
    ErrorObject, Incoming, Notification, Rejected, Request, Response as RpcResponse, decode_message,
};
use candor_protocol::{Principal, Revision};
use futures_util::Stream;
use http::request::Parts;
use http::{HeaderMap, HeaderValue, StatusCode};

use super::{Endpoint, accepts, respond, sse, version_header};
use crate::answer::Answer;
use crate::caller::unsupported_version;
use crate::exchange::Arrival;
use crate::methods::initialize;
use crate::outlet::Outlet;
use crate::seal::random_bytes;
use crate::session::{Event, Session, StreamLog};

/// The stream for messages that belong to no request.
const STANDALONE: &str = "session";

/// When a client whose stream has ended should come back.
const RETRY: Duration = Duration::from_millis(500);

/// A request: `initialize`, or one within a session.
pub(super) async fn post_request(
    endpoint: &Endpoint,
    principal: Principal,
    parts: &Parts,
    request: Request,
) -> Response {
    if request.method == method::INITIALIZE && !parts.headers.contains_key(header::SESSION_ID) {
        return initialize(endpoint, principal, request);
    }
    let session = match session(endpoint, &principal, &parts.headers) {
        Ok(session) => session,
        Err(refused) => return refused.with_id(&request),
    };
    let log = session.new_stream(endpoint.engine.limits());
    // Before the request runs: it may hang up at once.
    let (reader, _) = log.reader(Some(0));
    start(endpoint, &session, &log, request);
    match log.next(reader, 0).await {
        // The stream is over with its first message, so that message is the answer.
        Event::Message(number, message) if log.is_over_after(number) => {
            session.drop_stream(&log);
            respond::json(StatusCode::OK, message)
        }
        // Taken back before it said anything.
        Event::End => sse::response(futures_util::stream::empty(), RETRY),
        // The handler hung up: the client gets an id to come back with.
        Event::Released => {
            let priming = sse::priming(&event_id(&log, 0), RETRY);
            sse::response(
                futures_util::stream::once(std::future::ready(priming)),
                RETRY,
            )
        }
        Event::Message(..) => resume(endpoint, session, log, 0, true),
    }
}

/// Runs a request in a task of its own: a client that hangs up has not taken it back, and may come for the answer.
fn start(endpoint: &Endpoint, session: &Arc<Session>, log: &Arc<StreamLog>, request: Request) {
    let Some(tracked) = session.calls.begin(&request.id) else {
        let error = ErrorObject::invalid_request(
            "Invalid request: another request with this id is running",
        );
        if let Some(message) = Answer::error(Some(&request.id), &error, false).into_message() {
            log.push_last(message);
        }
        return session.finish_stream(log);
    };
    let arrival = Arrival {
        principal: session.principal.clone(),
        session: Some(session.clone()),
        outlet: Outlet::Log(log.clone()),
        cancel: tracked.cancel.clone(),
        closing: endpoint.engine.closing().clone(),
        mirrored: None,
    };
    let (engine, session, log) = (endpoint.engine.clone(), session.clone(), log.clone());
    tokio::spawn(async move {
        let answer = engine.handle(request, arrival).await;
        drop(tracked);
        if let Some(message) = answer.into_message() {
            log.push_last(message);
        }
        session.finish_stream(&log);
    });
}

fn initialize(endpoint: &Endpoint, principal: Principal, request: Request) -> Response {
    let id = request.id.clone();
    let session_id: String = random_bytes::<16>()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    let log = Arc::new(StreamLog::new(
        STANDALONE.to_owned(),
        endpoint.engine.limits().stream_events,
    ));
    match initialize::open(
        &endpoint.engine,
        request,
        principal,
        session_id.clone(),
        Outlet::Log(log),
    ) {
        Err(error) => respond::error(StatusCode::BAD_REQUEST, Some(&id), &error),
        Ok((session, _)) if !endpoint.sessions.add(session.clone()) => respond::error(
            StatusCode::SERVICE_UNAVAILABLE,
            Some(&id),
            &ErrorObject::internal("Too many sessions are open"),
        ),
        Ok((_, answer)) => {
            let message = answer.into_message().unwrap_or_default();
            let mut response = respond::json(StatusCode::OK, message);
            if let Ok(value) = HeaderValue::from_str(&session_id) {
                response.headers_mut().insert(header::SESSION_ID, value);
            }
            response
        }
    }
}

/// A notification. Modern clients have none to send over HTTP; theirs are accepted and mean nothing.
pub(super) fn post_notification(
    endpoint: &Endpoint,
    principal: &Principal,
    parts: &Parts,
    notice: Notification,
) -> Response {
    if !parts.headers.contains_key(header::SESSION_ID) {
        return respond::empty(StatusCode::ACCEPTED);
    }
    match session(endpoint, principal, &parts.headers) {
        Ok(session) => {
            endpoint.engine.notice(notice, &session.calls);
            respond::empty(StatusCode::ACCEPTED)
        }
        Err(refused) => refused.response(),
    }
}

/// The client's answer to a question of ours.
pub(super) fn post_response(
    endpoint: &Endpoint,
    principal: &Principal,
    parts: &Parts,
    response: RpcResponse,
) -> Response {
    match session(endpoint, principal, &parts.headers) {
        Ok(session) => {
            session.answered(response);
            respond::empty(StatusCode::ACCEPTED)
        }
        Err(refused) => refused.response(),
    }
}

/// Several messages at once, in the one revision that has batches. The answers come as one array.
pub(super) async fn post_batch(
    endpoint: &Endpoint,
    principal: Principal,
    parts: &Parts,
    messages: &[&str],
) -> Response {
    let session = match session(endpoint, &principal, &parts.headers) {
        Ok(session) => session,
        Err(refused) => return refused.response(),
    };
    if session.client.revision != Revision::V2025_03_26 {
        return respond::problem(
            StatusCode::BAD_REQUEST,
            "batches are not part of this protocol revision",
        );
    }
    let mut logs = Vec::new();
    let mut answers: Vec<Bytes> = Vec::new();
    for message in messages {
        match decode_message(message.as_bytes(), endpoint.engine.limits().depth) {
            Ok(Incoming::Request(request)) => {
                let log = session.new_stream(endpoint.engine.limits());
                start(endpoint, &session, &log, request);
                logs.push(log);
            }
            Ok(Incoming::Notification(notice)) => endpoint.engine.notice(notice, &session.calls),
            Ok(Incoming::Response(response)) => session.answered(response),
            Err(Rejected { id, error }) => {
                answers.extend(Answer::error(id.as_ref(), &error, false).into_message());
            }
        }
    }
    for log in logs {
        let (reader, mut after) = log.reader(Some(0));
        // A batch has no stream: of each request, only the answer is sent.
        let mut last = None;
        while let Event::Message(number, message) = log.next(reader, after).await {
            (after, last) = (number, Some(message));
        }
        answers.extend(last);
        session.drop_stream(&log);
    }
    if answers.is_empty() {
        return respond::empty(StatusCode::ACCEPTED);
    }
    let joined = [b"[".as_slice(), &answers.join(b",".as_slice()), b"]"].concat();
    respond::json(StatusCode::OK, joined.into())
}

/// Opens the session's own stream, or resumes any of its streams.
pub(super) fn get(endpoint: &Endpoint, principal: &Principal, parts: &Parts) -> Response {
    if !parts.headers.contains_key(header::SESSION_ID) {
        return respond::problem(
            StatusCode::METHOD_NOT_ALLOWED,
            "GET opens a stream of a session; this request names none",
        );
    }
    if !accepts(&parts.headers, "text/event-stream") {
        return respond::problem(
            StatusCode::NOT_ACCEPTABLE,
            "Accept must list text/event-stream",
        );
    }
    let session = match session(endpoint, principal, &parts.headers) {
        Ok(session) => session,
        Err(refused) => return refused.response(),
    };
    let (name, after) = match parts.headers.get(header::LAST_EVENT_ID) {
        None => (STANDALONE, None),
        Some(id) => match id
            .to_str()
            .ok()
            .and_then(|id| id.rsplit_once('.'))
            .and_then(|(s, n)| Some((s, n.parse().ok()?)))
        {
            Some((stream, number)) => (stream, Some(number)),
            None => {
                return respond::problem(StatusCode::BAD_REQUEST, "Last-Event-ID is none of ours");
            }
        },
    };
    match session.stream(name) {
        None => respond::problem(StatusCode::NOT_FOUND, "this stream is not kept any more"),
        Some(log) => match after {
            Some(after) => resume(endpoint, session, log, after, false),
            None => {
                let (reader, after) = log.reader(None);
                let prime = primes(&session).then_some(after);
                events(endpoint, session, log, reader, after, prime)
            }
        },
    }
}

/// Ends a session.
pub(super) fn delete(endpoint: &Endpoint, principal: &Principal, parts: &Parts) -> Response {
    if !parts.headers.contains_key(header::SESSION_ID) {
        return respond::problem(
            StatusCode::METHOD_NOT_ALLOWED,
            "DELETE ends a session; this request names none",
        );
    }
    match session(endpoint, principal, &parts.headers) {
        Ok(session) => {
            endpoint.sessions.remove(&session);
            respond::empty(StatusCode::NO_CONTENT)
        }
        Err(refused) => refused.response(),
    }
}

fn resume(
    endpoint: &Endpoint,
    session: Arc<Session>,
    log: Arc<StreamLog>,
    after: u64,
    fresh: bool,
) -> Response {
    let (reader, after) = log.reader(Some(after));
    let prime = (fresh && primes(&session)).then_some(after);
    events(endpoint, session, log, reader, after, prime)
}

/// From 2025-11-25 on, a stream begins with an event that only carries an id.
fn primes(session: &Session) -> bool {
    session.client.revision >= Revision::V2025_11_25
}

fn events(
    endpoint: &Endpoint,
    session: Arc<Session>,
    log: Arc<StreamLog>,
    reader: u64,
    after: u64,
    prime: Option<u64>,
) -> Response {
    struct Reading {
        /// Keeps the session alive while somebody listens.
        session: Arc<Session>,
        log: Arc<StreamLog>,
        reader: u64,
        after: u64,
        prime: Option<u64>,
    }
    let reading = Reading {
        session,
        log,
        reader,
        after,
        prime,
    };
    let events = futures_util::stream::unfold(reading, |mut reading| async move {
        if let Some(number) = reading.prime.take() {
            return Some((
                sse::priming(&event_id(&reading.log, number), RETRY),
                reading,
            ));
        }
        match reading.log.next(reading.reader, reading.after).await {
            Event::End | Event::Released => None,
            Event::Message(number, message) => {
                reading.session.touch();
                reading.after = number;
                Some((
                    sse::event(Some(&event_id(&reading.log, number)), &message),
                    reading,
                ))
            }
        }
    });
    respond_with(endpoint, events)
}

fn respond_with(
    endpoint: &Endpoint,
    events: impl Stream<Item = Bytes> + Send + 'static,
) -> Response {
    sse::response(events, endpoint.engine.limits().keep_alive)
}

fn event_id(log: &StreamLog, number: u64) -> String {
    format!("{}.{number}", log.name())
}

/// Why a request has no session.
struct Refused {
    status: StatusCode,
    error: ErrorObject,
}

impl Refused {
    fn response(&self) -> Response {
        respond::error(self.status, None, &self.error)
    }

    fn with_id(&self, request: &Request) -> Response {
        respond::error(self.status, Some(&request.id), &self.error)
    }
}

/// The session that a request belongs to.
fn session(
    endpoint: &Endpoint,
    principal: &Principal,
    headers: &HeaderMap,
) -> Result<Arc<Session>, Refused> {
    if let Some(version) = version_header(headers)
        && Revision::from_date(version).is_none()
    {
        return Err(Refused {
            status: StatusCode::BAD_REQUEST,
            error: unsupported_version(version),
        });
    }
    let Some(id) = headers
        .get(header::SESSION_ID)
        .and_then(|id| id.to_str().ok())
    else {
        let error = ErrorObject::invalid_request(
            "Invalid request: open a session with initialize, or send the _meta of revision 2026-07-28 with every request",
        );
        return Err(Refused {
            status: StatusCode::BAD_REQUEST,
            error,
        });
    };
    endpoint.sessions.get(id, principal).ok_or_else(|| Refused {
        status: StatusCode::NOT_FOUND,
        error: ErrorObject::invalid_request(
            "Invalid request: no such session; open a new one with initialize",
        ),
    })
}
