//! Modern requests: stateless, with headers that mirror the body.

use std::borrow::Cow;
use std::pin::Pin;
use std::task::{Context, Poll};

use axum::response::Response;
use bytes::Bytes;
use candor_protocol::Principal;
use candor_protocol::json::Object;
use candor_protocol::names::{meta, method};
use candor_protocol::rpc::{ErrorObject, Request, code};
use futures_util::{Stream, StreamExt};
use http::request::Parts;
use http::{HeaderMap, HeaderName, StatusCode};
use tokio::sync::OwnedSemaphorePermit;
use tokio_util::sync::CancellationToken;

use super::{METHOD, NAME, PROTOCOL_VERSION, respond, sse};
use crate::answer::Answer;
use crate::engine::Engine;
use crate::exchange::Arrival;
use crate::ledger::key;
use crate::mirror::{self, MirroredHeaders};
use crate::outlet::Outlet;
use crate::pipe::Pipe;

/// Answers one modern request: with JSON if the answer is all there is to say, else with events.
pub(super) async fn post(
    engine: &Engine,
    principal: Principal,
    parts: &Parts,
    request: Request,
    room: OwnedSemaphorePermit,
) -> Response {
    if let Err(error) = check_headers(&parts.headers, &request) {
        return respond::error(StatusCode::BAD_REQUEST, Some(&request.id), &error);
    }
    let key_header = match key::of_headers(&parts.headers) {
        Ok(key) => key,
        Err(problem) => return respond::problem(StatusCode::BAD_REQUEST, problem),
    };
    let messages = Pipe::new(engine.limits().queue);
    let cancel = CancellationToken::new();
    let arrival = Arrival {
        principal,
        session: None,
        outlet: Outlet::Pipe(messages.clone()),
        cancel: cancel.clone(),
        closing: None,
        mirrored: Some(MirroredHeaders::of(&parts.headers)),
        key_header,
    };
    let owned = engine.clone();
    // Dropped when the client hangs up, which is how a modern client takes a request back.
    let hang_up = cancel.drop_guard();
    let answer: Pin<Box<dyn Future<Output = Answer> + Send>> = Box::pin(async move {
        let answer = owned.handle(request, arrival).await;
        hang_up.disarm();
        drop(room);
        answer
    });
    let mut events = Events { answer: Progress::Running(answer), messages };
    let quiet = engine.limits().keep_alive;
    match std::future::poll_fn(|cx| events.poll(cx)).await {
        Some(Said::Message(message)) => sse::response(events.starting_with(message), quiet),
        Some(Said::Answer(answer)) => {
            let status = respond::status_of(&answer);
            respond::answer(status, answer)
                .unwrap_or_else(|| respond::empty(StatusCode::NO_CONTENT))
        }
        None => respond::empty(StatusCode::NO_CONTENT),
    }
}

/// Something for the client.
enum Said {
    Message(Bytes),
    Answer(Answer),
}

/// A request that runs, and what it says on the way: messages as they come, then the answer.
struct Events {
    answer: Progress,
    messages: Pipe,
}

enum Progress {
    Running(Pin<Box<dyn Future<Output = Answer> + Send>>),
    Done(Answer),
    Told,
}

impl Events {
    /// Lets the handler run; what it says is read before its answer, so that the answer comes last.
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<Said>> {
        if let Progress::Running(answer) = &mut self.answer
            && let Poll::Ready(answer) = answer.as_mut().poll(cx)
        {
            self.answer = Progress::Done(answer);
        }
        match std::mem::replace(&mut self.answer, Progress::Told) {
            // Nobody speaks any more, so what is there is all there is.
            Progress::Done(answer) => Poll::Ready(Some(match self.messages.try_next() {
                Some(message) => {
                    self.answer = Progress::Done(answer);
                    Said::Message(message)
                }
                None => Said::Answer(answer),
            })),
            Progress::Told => Poll::Ready(None),
            running @ Progress::Running(_) => {
                self.answer = running;
                self.messages.poll_next(cx).map(|message| Some(Said::Message(message)))
            }
        }
    }

    fn starting_with(mut self, first: Bytes) -> impl Stream<Item = Bytes> + Send {
        let rest = futures_util::stream::poll_fn(move |cx| {
            self.poll(cx).map(|said| match said? {
                Said::Message(message) => Some(message),
                Said::Answer(answer) => answer.into_message(),
            })
        });
        futures_util::stream::once(std::future::ready(first))
            .chain(rest)
            .map(|message| sse::event(None, &message))
    }
}

/// Headers and body must say the same: whoever stands in between decides by the headers.
fn check_headers(headers: &HeaderMap, request: &Request) -> Result<(), ErrorObject> {
    // A missing version is reported as such later; here it only has nothing to compare.
    if let Ok(Some(version)) = request.meta.read_str(meta::PROTOCOL_VERSION) {
        check(headers, &PROTOCOL_VERSION, &version)?;
    }
    check(headers, &METHOD, &request.method)?;
    let name = match request.method.as_str() {
        method::TOOLS_CALL | method::PROMPTS_GET => text(&request.params, "name"),
        method::RESOURCES_READ => text(&request.params, "uri"),
        // Not required elsewhere; but a mirror that is there must not lie.
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
