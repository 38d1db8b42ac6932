//! Legacy requests: sessions, event streams that can be resumed, and answers to the server's questions.

mod streams;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::Poll;

use axum::response::Response;
use bytes::Bytes;
use candor_protocol::names::{header, method};
use candor_protocol::rpc::{
    ErrorObject, Incoming, Notification, Rejected, Request, Response as RpcResponse, decode_message,
};
use candor_protocol::{Principal, Revision};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, StatusCode};

use super::{
    Endpoint, Received, Reservation, SESSION_ID, SMALL, Slot, SlotKind, hold, idempotency_key,
    respond, serve, version_header,
};
use crate::rpc;
use crate::rpc::client::unsupported_version;
use crate::rpc::context::TransportContext;
use crate::rpc::encode::answer::{Answer, join_batch};
use crate::rpc::encode::error::at_capacity;
use crate::rpc::method::lifecycle::initialize as open_session;
use crate::session::{Session, SessionPeer};
use crate::stream::Outlet;
use crate::stream::{Event, StreamLog};
use candor_engine::Claims;

pub(super) use streams::get;

/// Answers a request: `initialize`, or one in a session.
pub(super) async fn post_request(
    endpoint: &Endpoint,
    principal: Principal,
    parts: &Parts,
    received: Received,
    slots: Reservation,
) -> Response {
    let request = &received.request;
    if request.method == method::INITIALIZE && !parts.headers.contains_key(&SESSION_ID) {
        return initialize(endpoint, principal, parts, received.request);
    }
    let session = match session(endpoint, &principal, &parts.headers) {
        Ok(session) => session,
        Err(refused) => return refused.with_id(request),
    };
    let key = match idempotency_key(&parts.headers) {
        Ok(key) => key,
        Err(rejection) => return respond::rejected(&rejection, None),
    };
    let log = session.new_stream(endpoint.engine.limits());
    // Before the request runs, because its handler may hang up at once.
    let (reader, _) = log.reader(Some(0));
    let outlet = Outlet::Log(log.clone());
    let replayed = Arc::new(AtomicBool::new(false));
    let mut running = Box::pin(start(endpoint, &session, received, outlet, slots.clone(), key));
    match std::future::poll_fn(|cx| Poll::Ready(running.as_mut().poll(cx))).await {
        // The answer is ready and no message precedes it: neither a stream nor a task is needed.
        Poll::Ready(answer) if log.is_untouched_by_all_but(reader) => {
            return respond::answer(StatusCode::OK, answer)
                .map_or_else(streams::nothing, |response| hold(response, slots));
        }
        Poll::Ready(answer) => finish(&session, &log, answer, &replayed),
        // In a task, because a client that disconnects has not cancelled the request, and may come back for the answer.
        Poll::Pending => {
            let (finishing, finished, replayed) = (session.clone(), log.clone(), replayed.clone());
            tokio::spawn(async move { finish(&finishing, &finished, running.await, &replayed) });
        }
    }
    match log.next(reader, 0).await {
        // The stream has only one message, so that message is the answer.
        Event::Message(number, message) if log.is_over_after(number) => {
            let response = respond::json(StatusCode::OK, message);
            hold(respond::marked(response, replayed.load(Ordering::Acquire)), slots)
        }
        // The request was cancelled before its first message.
        Event::End => streams::nothing(),
        // The handler hung up: the client gets an id to resume from.
        Event::Released => hold(streams::only_priming(endpoint, session, log), slots),
        Event::Message(..) => hold(streams::follow(endpoint, session, log), slots),
    }
}

/// Starts a request. From here on the client can cancel it.
fn start(
    endpoint: &Endpoint,
    session: &Arc<Session>,
    received: Received,
    outlet: Outlet,
    slots: Reservation,
    key_header: Option<String>,
) -> impl Future<Output = Answer> + Send + use<> {
    let Received { request, position, claims } = received;
    let (engine, session) = (endpoint.engine.clone(), session.clone());
    let tracked = session.calls.begin(&request.id);
    let id = request.id.clone();
    async move {
        let Some(tracked) = tracked else {
            let problem = "Invalid request: another request with this id is running";
            let error = ErrorObject::invalid_request(problem);
            return Answer::error(Some(&request.id), &error, false);
        };
        let arrival = TransportContext {
            principal: session.peer.principal.clone(),
            claims,
            shares: session.peer.shares,
            session: Some(Arc::clone(&session)),
            outlet,
            cancel: tracked.cancel.clone(),
            closing: None,
            mirrored: None,
            key_header,
            position,
            body: slots.body(),
            response: Some(slots.response().clone()),
        };
        let answer = rpc::handle(&engine, request, arrival).await;
        drop(tracked);
        slots.answered(&id, answer)
    }
}

/// Ends a request's stream with its answer. Sets `replayed` first, for the response header.
fn finish(session: &Session, log: &StreamLog, answer: Answer, replayed: &AtomicBool) {
    replayed.store(answer.is_replayed(), Ordering::Release);
    if let Some(message) = answer.into_message() {
        log.push_last(message);
    }
    session.finish_stream(log);
}

fn initialize(
    endpoint: &Endpoint,
    principal: Principal,
    parts: &Parts,
    request: Request,
) -> Response {
    let id = request.id.clone();
    let random = candor_engine::random_id();
    let session_id = match &endpoint.replica {
        Some(replica) => replica.session_id(&random),
        None => random,
    };
    let address = parts.extensions.get::<serve::TcpPeer>().map(|peer| peer.0.ip());
    let log = Arc::new(StreamLog::new(streams::STANDALONE.to_owned(), endpoint.engine.limits()));
    let shares = endpoint.front.tells_callers_apart();
    let (peer, outlet) = (SessionPeer { principal, address, shares }, Outlet::Log(log));
    match open_session(&endpoint.engine, request, peer, session_id.clone(), outlet) {
        Err(error) => respond::error(StatusCode::BAD_REQUEST, Some(&id), &error),
        Ok((session, _)) if !endpoint.sessions.add(session.clone()) => respond::error(
            StatusCode::SERVICE_UNAVAILABLE,
            Some(&id),
            &ErrorObject::internal("Too many sessions are open"),
        ),
        Ok((_, answer)) => {
            let message = answer.into_written().unwrap_or_default();
            let mut response = respond::json(StatusCode::OK, message);
            if let Ok(value) = HeaderValue::from_str(&session_id) {
                response.headers_mut().insert(SESSION_ID.clone(), value);
            }
            response
        }
    }
}

/// Handles a notification. Modern clients send none over HTTP, so without a session it is accepted and ignored.
pub(super) fn post_notification(
    endpoint: &Endpoint,
    principal: &Principal,
    parts: &Parts,
    notice: Notification,
) -> Response {
    if !parts.headers.contains_key(&SESSION_ID) {
        return respond::empty(StatusCode::ACCEPTED);
    }
    match session(endpoint, principal, &parts.headers) {
        Ok(session) => {
            rpc::notice(notice, &session.calls);
            respond::empty(StatusCode::ACCEPTED)
        }
        Err(refused) => refused.response(),
    }
}

/// Handles the client's answer to a question.
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

/// Answers a batch of messages, in the one revision that has batches. The answers form one array.
pub(super) async fn post_batch(
    endpoint: &Endpoint,
    (principal, claims): (Principal, Claims),
    parts: &Parts,
    messages: &[&str],
    body: Option<&Arc<Slot>>,
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
    if parts.headers.contains_key(header::IDEMPOTENCY_KEY) {
        let problem =
            "Idempotency-Key names one operation, and a batch has several: send the request alone";
        return respond::problem(StatusCode::BAD_REQUEST, problem);
    }
    let (kind, mut running) = (SlotKind::Request, Vec::new());
    let said = Arc::new(AtomicUsize::new(0));
    let mut answers: Vec<Bytes> = Vec::new();
    for message in messages {
        match decode_message(message.as_bytes(), endpoint.engine.limits().depth) {
            Ok(Incoming::Request(request)) => match endpoint.front.slots(kind, &principal, body) {
                Ok(slots) => {
                    let said = Arc::clone(&said);
                    let position = rpc::position(&endpoint.engine, &request);
                    let received = Received { request, position, claims: claims.clone() };
                    let (outlet, holds) = (Outlet::None, slots.clone());
                    let answer = start(endpoint, &session, received, outlet, holds, None);
                    running.push(tokio::spawn(async move {
                        let answer = answer.await.into_message();
                        // All answers wait for the slowest one. One slot is kept for each `SMALL` bytes, and the others are freed.
                        let bytes = answer.as_ref().map_or(0, Bytes::len);
                        let before = said.fetch_add(bytes, Ordering::Relaxed);
                        let keeps = before / SMALL != (before + bytes) / SMALL;
                        (answer, keeps.then_some(slots))
                    }));
                }
                Err(full) => answers.extend(
                    Answer::error(Some(&request.id), &at_capacity(full), false).into_message(),
                ),
            },
            Ok(Incoming::Notification(notice)) => rpc::notice(notice, &session.calls),
            Ok(Incoming::Response(response)) => session.answered(response),
            Err(Rejected { id, error }) => {
                answers.extend(Answer::error(id.as_ref(), &error, false).into_message());
            }
        }
    }
    let mut held = Vec::new();
    for task in running {
        // A task fails only if the runtime is shutting down.
        let Ok((answer, slots)) = task.await else { continue };
        answers.extend(answer);
        held.extend(slots);
    }
    if answers.is_empty() {
        return respond::empty(StatusCode::ACCEPTED);
    }
    hold(respond::json(StatusCode::OK, join_batch(&answers)), held)
}

/// Ends a session.
pub(super) fn delete(endpoint: &Endpoint, principal: &Principal, parts: &Parts) -> Response {
    if !parts.headers.contains_key(&SESSION_ID) {
        return respond::only_post("DELETE ends a session; this request names none");
    }
    match session(endpoint, principal, &parts.headers) {
        Ok(session) => {
            endpoint.sessions.remove(&session);
            respond::empty(StatusCode::NO_CONTENT)
        }
        Err(refused) => refused.response(),
    }
}

/// Why a request has no session.
struct SessionError {
    status: StatusCode,
    error: ErrorObject,
}

impl SessionError {
    fn response(&self) -> Response {
        respond::error(self.status, None, &self.error)
    }

    fn with_id(&self, request: &Request) -> Response {
        respond::error(self.status, Some(&request.id), &self.error)
    }
}

/// Returns the session of a request.
fn session(
    endpoint: &Endpoint,
    principal: &Principal,
    headers: &HeaderMap,
) -> Result<Arc<Session>, SessionError> {
    if let Some(version) = version_header(headers)
        && Revision::from_date(version).is_none()
    {
        return Err(SessionError {
            status: StatusCode::BAD_REQUEST,
            error: unsupported_version(version),
        });
    }
    let Some(id) = headers.get(&SESSION_ID).and_then(|id| id.to_str().ok()) else {
        let error = ErrorObject::invalid_request(
            "Invalid request: open a session with initialize, or send the _meta of revision 2026-07-28 with every request",
        );
        return Err(SessionError { status: StatusCode::BAD_REQUEST, error });
    };
    endpoint.sessions.get(id, principal).ok_or_else(|| SessionError {
        status: StatusCode::NOT_FOUND,
        error: ErrorObject::invalid_request(
            "Invalid request: no such session; open a new one with initialize",
        ),
    })
}
