//! Streamable HTTP, both eras: a request is a POST, its answer is JSON or a stream of events.
//!
//! `endpoint`: the connections. `unasked`: what a legacy server says by itself.
//!
//! A legacy stream that breaks off is taken up again where it was; a modern one is a request that is lost.

mod endpoint;
mod unasked;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use candor_protocol::json::{Decode as _, Object, RawValue, scan};
use candor_protocol::mirror::encoded;
use candor_protocol::names::{header, notification};
use candor_protocol::rpc::{
    ErrorObject, Incoming, RequestId, decode_message, split_batch, write_notification,
};
use candor_protocol::types::CancelledParams;
use http::header::{
    ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, LOCATION, RETRY_AFTER,
    WWW_AUTHENTICATE,
};
use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Full, LengthLimitError, Limited};
use hyper::body::Incoming as Body;
use tokio::task::AbortHandle;

use super::Outgoing;
use super::sse::Events;
use crate::connect::Limits;
use crate::error::Error;
use crate::host::{Host, locked};

pub(crate) use endpoint::Endpoint;

/// The type of a stream.
const EVENTS: &str = "text/event-stream";

/// How much of a body that is no answer is shown.
const SHOWN: usize = 300;

/// Before a stream is taken up again, if the server does not say how long.
const RETRY: Duration = Duration::from_secs(1);

/// How often a stream is taken up again without anything new on it.
const RESUMPTIONS: u32 = 5;

/// What the TypeScript SDK's examples answer to a session that they do not know, among other things.
const NO_SESSION: i64 = -32000;

/// The longest that a server can make us wait.
const LONGEST_RETRY: Duration = Duration::from_secs(60);

/// What the two eras send with every request.
#[derive(Debug)]
pub(crate) enum Mode {
    Modern,
    /// A legacy handshake: no session yet, and no revision.
    Opening,
    Legacy {
        session: Option<HeaderValue>,
    },
}

/// The way to a server over HTTP, within one session if it has one.
#[derive(Debug)]
pub(crate) struct Http(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    endpoint: Endpoint,
    mode: Mode,
    /// `MCP-Protocol-Version`.
    version: HeaderValue,
    host: Arc<Host>,
    limits: Limits,
    /// The server has forgotten the session.
    forgotten: AtomicBool,
    /// What the server says unasked is heard.
    hears: AtomicBool,
    /// The task that reads it.
    stream: Mutex<Option<AbortHandle>>,
}

impl Http {
    pub(crate) fn new(
        endpoint: Endpoint,
        mode: Mode,
        version: &str,
        host: Arc<Host>,
        limits: Limits,
    ) -> Self {
        let version =
            HeaderValue::from_str(version).unwrap_or_else(|_| HeaderValue::from_static("unknown"));
        Self(Arc::new(Shared {
            endpoint,
            mode,
            version,
            host,
            limits,
            forgotten: AtomicBool::new(false),
            hears: AtomicBool::new(false),
            stream: Mutex::new(None),
        }))
    }

    /// The same server, for a legacy handshake.
    pub(crate) fn opening(&self) -> Self {
        let shared = &self.0;
        Self::new(
            shared.endpoint.clone(),
            Mode::Opening,
            "",
            shared.host.clone(),
            shared.limits.clone(),
        )
    }

    /// The same server, once a legacy handshake has named the session and the revision.
    pub(crate) fn in_session(&self, session: Option<HeaderValue>, version: &str) -> Self {
        let shared = &self.0;
        let mode = Mode::Legacy { session };
        Self::new(
            shared.endpoint.clone(),
            mode,
            version,
            shared.host.clone(),
            shared.limits.clone(),
        )
    }

    pub(crate) async fn request(&self, outgoing: Outgoing<'_>) -> Result<Box<RawValue>, Error> {
        self.opened(outgoing).await.map(|(answer, _)| answer)
    }

    /// A request whose answer may name a session.
    pub(crate) async fn opened(
        &self,
        outgoing: Outgoing<'_>,
    ) -> Result<(Box<RawValue>, Option<HeaderValue>), Error> {
        let id = outgoing.id.clone();
        // A modern request ends with its connection; a legacy one has to be taken back.
        let tells = self.0.is_legacy() && outgoing.can_be_taken_back();
        let request = self.0.post(outgoing)?;
        let mut taken_back = TakenBack { http: &self.0, id: Some(id.clone()).filter(|_| tells) };
        let response = self.0.endpoint.send(request).await;
        let answer = match response {
            Ok(response) => {
                let session = response.headers().get(header::SESSION_ID).cloned();
                self.0.answer(&id, response).await.map(|answer| (answer, session))
            }
            Err(error) => Err(error),
        };
        taken_back.id = None;
        answer
    }

    pub(crate) async fn notify(&self, method: &str, body: Vec<u8>) -> Result<(), Error> {
        self.0.tell(method, body).await
    }

    pub(crate) fn is_alive(&self) -> bool {
        self.0.is_in_session()
    }

    /// Whether what the server says unasked arrives. Modern servers say nothing unasked.
    pub(crate) fn hears(&self) -> bool {
        self.0.hears.load(Ordering::Acquire)
    }

    /// Listens to what the server says unasked (legacy). A server may have no such stream.
    pub(crate) fn listen(&self) {
        let shared = Arc::downgrade(&self.0);
        let task = tokio::spawn(unasked::listen(shared));
        *locked(&self.0.stream) = Some(task.abort_handle());
    }

    pub(crate) async fn close(&self) {
        if let Some(stream) = locked(&self.0.stream).take() {
            stream.abort();
        }
        if let Mode::Legacy { session: Some(_) } = &self.0.mode
            && !self.0.forgotten.swap(true, Ordering::AcqRel)
        {
            let mut request = self.0.endpoint.request(Method::DELETE, Vec::new());
            self.0.introduce(request.headers_mut());
            let _ =
                tokio::time::timeout(self.0.limits.connect, self.0.endpoint.send(request)).await;
        }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        if let Some(stream) = locked(&self.stream).take() {
            stream.abort();
        }
    }
}

impl Shared {
    fn is_legacy(&self) -> bool {
        !matches!(self.mode, Mode::Modern)
    }

    fn introduce(&self, headers: &mut HeaderMap) {
        match &self.mode {
            Mode::Opening => {}
            Mode::Legacy { session } => {
                headers.insert(header::PROTOCOL_VERSION, self.version.clone());
                if let Some(session) = session {
                    headers.insert(header::SESSION_ID, session.clone());
                }
            }
            Mode::Modern => {
                headers.insert(header::PROTOCOL_VERSION, self.version.clone());
            }
        }
    }

    fn message(&self, method: &str, body: Vec<u8>) -> Result<Request<Full<Bytes>>, Error> {
        let mut request = self.endpoint.request(Method::POST, body);
        let headers = request.headers_mut();
        headers.insert(ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        self.introduce(headers);
        if !self.is_legacy() {
            headers.insert(header::METHOD, text_header(method)?);
        }
        Ok(request)
    }

    fn post(&self, outgoing: Outgoing<'_>) -> Result<Request<Full<Bytes>>, Error> {
        let mut request = self.message(outgoing.method, outgoing.body)?;
        let headers = request.headers_mut();
        if !self.is_legacy() {
            if let Some(name) = outgoing.name {
                headers.insert(header::NAME, text_header(name)?);
            }
            for (name, value) in outgoing.mirrored {
                let name = HeaderName::try_from(format!("{}{name}", header::PARAM_PREFIX))
                    .map_err(|_| Error::protocol(format!("{name:?} is no name of a header")))?;
                headers.insert(name, text_header(value)?);
            }
        }
        if let Some(key) = outgoing.key.and_then(|key| HeaderValue::from_str(key).ok()) {
            headers.insert(header::IDEMPOTENCY_KEY, key);
        }
        Ok(request)
    }

    /// Sends what has no answer: news, and answers of ours.
    async fn tell(&self, method: &str, body: Vec<u8>) -> Result<(), Error> {
        let response = self.endpoint.send(self.message(method, body)?).await?;
        match response.status() {
            status if status.is_success() => {
                // So that the connection can be used again.
                let _ = Limited::new(response.into_body(), SHOWN).collect().await;
                Ok(())
            }
            _ => Err(self.refused(response).await),
        }
    }

    async fn answer(
        self: &Arc<Self>,
        id: &RequestId,
        response: Response<Body>,
    ) -> Result<Box<RawValue>, Error> {
        if !response.status().is_success() {
            return Err(self.refused(response).await);
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
                kind.as_deref().unwrap_or("nothing")
            ))),
        }
    }

    /// Reads a stream until the answer is there; takes it up again if it breaks off and can be.
    async fn follow(self: &Arc<Self>, id: &RequestId, body: Body) -> Result<Box<RawValue>, Error> {
        let mut events = Events::new(body, self.limits.max_message);
        let mut fruitless = 0;
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
            let retry = events.retry;
            tokio::time::sleep(retry.unwrap_or(RETRY).min(LONGEST_RETRY)).await;
            match self.resume(Some(&place)).await {
                Ok(body) => {
                    events = Events::new(body, self.limits.max_message);
                    events.last_id = Some(place);
                    events.retry = retry;
                }
                // Not now: perhaps the next time.
                Err(error) if error.is_passing() => {}
                Err(error @ Error::Unauthorized { .. }) => return Err(error),
                // Nor later: what is lost is the answer, whatever the server thinks of our asking for it.
                Err(_) => return Err(Error::Lost { why: end, sent: true }),
            }
        }
    }

    async fn resume(&self, place: Option<&str>) -> Result<Body, Error> {
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
            // A page for people, perhaps: nothing that a stream could be read from.
            (StatusCode::OK, _) => Err(Error::protocol("a stream was asked for, and none came")),
            _ => Err(self.refused(response).await),
        }
    }

    /// Takes in what has arrived; gives the answer to the request if it is that.
    fn take(self: &Arc<Self>, id: &RequestId, text: &[u8]) -> Result<Option<Box<RawValue>>, Error> {
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
                response.outcome.map(Some).map_err(Error::Server)
            }
            Ok(Incoming::Response(_)) => Ok(None),
            Ok(Incoming::Notification(news)) => {
                self.host.heard(&news);
                Ok(None)
            }
            Ok(Incoming::Request(request)) => {
                let shared = self.clone();
                self.host.serve(request, async move |answer| {
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

    fn is_in_session(&self) -> bool {
        !self.forgotten.load(Ordering::Acquire)
    }

    fn has_session(&self) -> bool {
        matches!(self.mode, Mode::Legacy { session: Some(_) })
    }

    /// The server does not know the session any more. It has done nothing.
    fn forget(&self) -> Error {
        self.forgotten.store(true, Ordering::Release);
        Error::Lost { why: "the server has forgotten the session".to_owned(), sent: false }
    }

    /// What an answer that is no success says.
    async fn refused(&self, response: Response<Body>) -> Error {
        let (head, body) = response.into_parts();
        let status = head.status.as_u16();
        let said = |name: HeaderName| {
            head.headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned)
        };
        if matches!(status, 401 | 403) {
            return Error::Unauthorized { status, challenge: said(WWW_AUTHENTICATE) };
        }
        if status == 404 && self.has_session() {
            return self.forget();
        }
        if head.status.is_redirection() {
            let to = said(LOCATION).unwrap_or_default();
            // Whoever is sent elsewhere would take the token along.
            return Error::protocol(format!("it has moved to {to:?}; name that URL instead"));
        }
        let retry_after = said(RETRY_AFTER).and_then(|text| text.trim().parse().ok());
        let retry_after = retry_after.map(Duration::from_secs);
        let body = collect(body, self.limits.max_message.min(1 << 20)).await.unwrap_or_default();
        match error_of(&body, self.limits.max_depth) {
            // The protocol says 404, but the examples of the TypeScript SDK, and whoever has learned from them, say this.
            Some(error)
                if status == 400
                    && self.has_session()
                    && error.code() == NO_SESSION
                    && error.message.to_ascii_lowercase().contains("session") =>
            {
                self.forget()
            }
            Some(error) if retry_after.is_none() => Error::Server(error),
            Some(error) => Error::Http { status, body: error.message, retry_after },
            None => {
                let text = String::from_utf8_lossy(&body);
                let body = text.trim().chars().take(SHOWN).collect();
                Error::Http { status, body, retry_after }
            }
        }
    }
}

/// Takes a legacy request back when it is dropped, unless it was answered.
struct TakenBack<'a> {
    http: &'a Arc<Shared>,
    id: Option<RequestId>,
}

impl Drop for TakenBack<'_> {
    fn drop(&mut self) {
        let Some(id) = self.id.take() else { return };
        let mut params = CancelledParams::new();
        params.request_id = Some(id);
        let body = write_notification(notification::CANCELLED, &params);
        let http = self.http.clone();
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move {
                let told = http.tell(notification::CANCELLED, body);
                let _ = tokio::time::timeout(Duration::from_secs(5), told).await;
            });
        }
    }
}

/// The type of a body, without its parameters.
fn kind_of(response: &Response<Body>) -> Option<String> {
    let kind = response.headers().get(CONTENT_TYPE)?.to_str().ok()?;
    Some(kind.split(';').next().unwrap_or(kind).trim().to_ascii_lowercase())
}

async fn collect(body: Body, limit: usize) -> Result<Bytes, Error> {
    match Limited::new(body, limit).collect().await {
        Ok(body) => Ok(body.to_bytes()),
        Err(error) if error.is::<LengthLimitError>() => {
            Err(Error::protocol(format!("its answer is larger than {limit} bytes")))
        }
        Err(error) => Err(Error::Lost { why: error.to_string(), sent: true }),
    }
}

/// The error in a body, with an id or without.
fn error_of(body: &[u8], depth: usize) -> Option<ErrorObject> {
    match decode_message(body, depth) {
        Ok(Incoming::Response(response)) => response.outcome.err(),
        Ok(_) => None,
        Err(_) => error_without_id(body, depth),
    }
}

fn error_without_id(body: &[u8], depth: usize) -> Option<ErrorObject> {
    let message = Object::decode(scan(body, depth).ok()?).ok()?;
    message.get("jsonrpc")?;
    message.read("error").ok().flatten()
}

fn text_header(text: &str) -> Result<HeaderValue, Error> {
    HeaderValue::from_str(&encoded(text)).map_err(Error::protocol)
}
