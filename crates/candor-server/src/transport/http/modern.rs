//! Modern requests: stateless, with headers that mirror the body.

use std::borrow::Cow;

use axum::response::Response;
use bytes::Bytes;
use candor_protocol::Principal;
use candor_protocol::json::Object;
use candor_protocol::names::{meta, method};
use candor_protocol::rpc::{ErrorObject, Request, RequestId, code};
use futures_util::{Stream, StreamExt};
use http::request::Parts;
use http::{HeaderMap, HeaderName, StatusCode};
use tokio_util::sync::CancellationToken;

use super::{
    Endpoint, METHOD, NAME, PROTOCOL_VERSION, Received, Reservation, hold, idempotency_key,
    respond, sse,
};
use crate::rpc::context::TransportContext;
use crate::rpc::mirror::{self, MirroredHeaders};
use crate::rpc::running::{OutgoingMessage, RunningRequest};
use crate::stream::Outlet;

/// Answers one modern request: with JSON if the answer is the only message, otherwise with events.
pub(super) async fn post(
    endpoint: &Endpoint,
    principal: Principal,
    parts: &Parts,
    received: Received,
    slots: Reservation,
) -> Response {
    let Received { request, position, claims } = received;
    if let Err(error) = check_headers(&parts.headers, &request) {
        return respond::error(StatusCode::BAD_REQUEST, Some(&request.id), &error);
    }
    let key_header = match idempotency_key(&parts.headers) {
        Ok(key) => key,
        Err(rejection) => return respond::rejected(&rejection, None),
    };
    let engine = &endpoint.engine;
    let arrival = TransportContext {
        principal,
        claims,
        shares: endpoint.front.tells_callers_apart(),
        session: None,
        outlet: Outlet::None,
        cancel: CancellationToken::new(),
        closing: None,
        mirrored: Some(MirroredHeaders::of(&parts.headers)),
        key_header,
        position,
        body: slots.body(),
        response: Some(slots.response().clone()),
    };
    let id = request.id.clone();
    let mut running = RunningRequest::start(engine, request, arrival, slots.clone());
    let quiet = engine.limits().keep_alive;
    match std::future::poll_fn(|cx| running.poll(cx)).await {
        Some(OutgoingMessage::Message(message)) => {
            let asked = StreamContext { id, slots: slots.clone() };
            hold(sse::response(events(running, asked, message), quiet), slots)
        }
        Some(OutgoingMessage::Answer(answer)) => {
            let answer = slots.answered(&id, answer);
            let status = respond::status_of(&answer);
            respond::answer(status, answer).map_or_else(
                || respond::empty(StatusCode::NO_CONTENT),
                |response| hold(response, slots),
            )
        }
        None => respond::empty(StatusCode::NO_CONTENT),
    }
}

/// What is known about a request whose answer is sent as an event.
struct StreamContext {
    id: RequestId,
    slots: Reservation,
}

fn events(
    mut running: RunningRequest,
    asked: StreamContext,
    first: Bytes,
) -> impl Stream<Item = Bytes> + Send {
    let rest = futures_util::stream::poll_fn(move |cx| {
        running.poll(cx).map(|said| match said? {
            OutgoingMessage::Message(message) => Some(message),
            OutgoingMessage::Answer(answer) => {
                asked.slots.answered(&asked.id, answer).into_message()
            }
        })
    });
    futures_util::stream::once(std::future::ready(first))
        .chain(rest)
        .map(|message| sse::event(None, &message))
}

/// Checks that headers and body agree, because proxies decide by the headers.
fn check_headers(headers: &HeaderMap, request: &Request) -> Result<(), ErrorObject> {
    // A missing version is reported later. Here there is nothing to compare.
    if let Ok(Some(version)) = request.meta.read_str(meta::PROTOCOL_VERSION) {
        check(headers, &PROTOCOL_VERSION, &version)?;
    }
    check(headers, &METHOD, &request.method)?;
    let name = match request.method.as_str() {
        method::TOOLS_CALL | method::PROMPTS_GET => text(&request.params, "name"),
        method::RESOURCES_READ => text(&request.params, "uri"),
        // Optional for other methods, but if it is present it must match.
        _ if headers.contains_key(&NAME) => {
            text(&request.params, "name").or_else(|| text(&request.params, "uri"))
        }
        _ => None,
    };
    name.map_or(Ok(()), |name| check(headers, &NAME, &name))
}

fn text<'a>(params: &'a Object, key: &str) -> Option<Cow<'a, str>> {
    params.read_str(key).ok().flatten()
}

fn check(headers: &HeaderMap, name: &HeaderName, body: &str) -> Result<(), ErrorObject> {
    let mut values = headers.get_all(name).iter();
    let problem = match (values.next(), values.next()) {
        (None, _) => "is missing".to_owned(),
        (Some(_), Some(_)) => "was sent twice".to_owned(),
        (Some(value), None) => match mirror::decode(value) {
            Some(sent) if sent == body => return Ok(()),
            Some(sent) => format!("value {sent:?} does not match body value {body:?}"),
            None => "has invalid characters or invalid Base64".to_owned(),
        },
    };
    Err(ErrorObject::new(code::HEADER_MISMATCH, format!("Header mismatch: {name} {problem}")))
}
