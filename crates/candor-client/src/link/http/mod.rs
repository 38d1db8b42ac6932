//! Streamable HTTP, both eras: a request is a POST, and its answer is JSON or an event stream.
//!
//! This file has the requests, their session, and their cancellation. `endpoint`: the connections. `answer`: responses. `refused`:
//! error responses. `tokens`: bearer tokens. `unasked`: messages of a legacy server that belong to no request.

mod answer;
mod endpoint;
mod refused;
mod tokens;
mod unasked;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use candor_protocol::json::RawValue;
use candor_protocol::mirror::encoded;
use candor_protocol::names::{header, notification};
use candor_protocol::rpc::{RequestId, write_notification};
use candor_protocol::types::CancelledParams;
use http::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use http::{Method, Request};
use http_body_util::{BodyExt as _, Full, Limited};
use tokio::sync::oneshot;
use tokio::task::AbortHandle;

use super::Outgoing;
use crate::connect::ClientLimits;
use crate::error::Error;
use crate::host::Host;
use crate::members::locked;
use refused::SHOWN;

pub(crate) use endpoint::Endpoint;
pub(crate) use tokens::{Bearer, TokenSource};

/// How long the client drains the body of a response to a notification.
const BODY: Duration = Duration::from_millis(500);

/// The era of a connection, which decides the headers of each request.
#[derive(Debug)]
pub(crate) enum Mode {
    Modern,
    /// A legacy handshake, before there is a session or a revision.
    Opening,
    Legacy {
        session: Option<HeaderValue>,
    },
}

/// The HTTP transport to a server, within one session if the server has sessions.
#[derive(Debug)]
pub(crate) struct Http(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    endpoint: Endpoint,
    mode: Mode,
    /// The value of `MCP-Protocol-Version`.
    version: HeaderValue,
    host: Arc<Host>,
    limits: ClientLimits,
    /// The server no longer knows the session.
    forgotten: AtomicBool,
    /// The client receives messages that belong to no request.
    hears: AtomicBool,
    /// The task that reads those messages.
    stream: Mutex<Option<AbortHandle>>,
}

impl Http {
    pub(crate) fn new(
        endpoint: Endpoint,
        mode: Mode,
        version: &str,
        host: Arc<Host>,
        limits: ClientLimits,
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

    /// Returns a transport to the same server, for a legacy handshake.
    pub(crate) fn opening(&self) -> Self {
        self.in_mode(Mode::Opening, "")
    }

    /// Returns a transport to the same server, with the session and the revision from a legacy handshake.
    pub(crate) fn in_session(&self, session: Option<HeaderValue>, version: &str) -> Self {
        self.in_mode(Mode::Legacy { session }, version)
    }

    fn in_mode(&self, mode: Mode, version: &str) -> Self {
        let Shared { endpoint, host, limits, .. } = &*self.0;
        Self::new(endpoint.clone(), mode, version, host.clone(), limits.clone())
    }

    pub(crate) async fn request(&self, outgoing: Outgoing<'_>) -> Result<Box<RawValue>, Error> {
        self.opened(outgoing).await.map(|(answer, _)| answer)
    }

    /// Sends a request whose answer may open a session, and returns the session's id with the answer.
    pub(crate) async fn opened(
        &self,
        outgoing: Outgoing<'_>,
    ) -> Result<(Box<RawValue>, Option<HeaderValue>), Error> {
        let id = outgoing.id.clone();
        // A modern request is cancelled by closing its connection. A legacy one needs a notification.
        let tells = self.0.is_legacy() && outgoing.can_be_taken_back();
        let request = self.0.post(outgoing)?;
        let mut taken_back =
            HttpCancelGuard { http: &self.0, id: Some(id.clone()).filter(|_| tells) };
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

    /// Returns true if messages that belong to no request arrive. Modern servers send none.
    pub(crate) fn hears(&self) -> bool {
        self.0.hears.load(Ordering::Acquire)
    }

    /// Opens the stream for messages that belong to no request (legacy). A server may have no such stream. The returned receiver
    /// completes after the first attempt, whether or not the stream opened.
    pub(crate) fn listen(&self) -> oneshot::Receiver<()> {
        let (asked, heard) = oneshot::channel();
        let task = tokio::spawn(unasked::listen(Arc::downgrade(&self.0), asked));
        *locked(&self.0.stream) = Some(task.abort_handle());
        heard
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
                    .map_err(|_| Error::protocol(format!("{name:?} is not a header name")))?;
                headers.insert(name, text_header(value)?);
            }
        }
        if let Some(key) = outgoing.key.and_then(|key| HeaderValue::from_str(key).ok()) {
            headers.insert(header::IDEMPOTENCY_KEY, key);
        }
        Ok(request)
    }

    /// Sends a message that has no answer: a notification, or an answer of the client.
    async fn tell(&self, method: &str, body: Vec<u8>) -> Result<(), Error> {
        let after = self.limits.answer;
        let sent = self.endpoint.send(self.message(method, body)?);
        let response =
            tokio::time::timeout(after, sent).await.map_err(|_| Error::TimedOut { after })??;
        match response.status() {
            status if status.is_success() => {
                // Drain the body so that the connection can be reused. Limit the time, because the body should be empty.
                let body = Limited::new(response.into_body(), SHOWN).collect();
                let _ = tokio::time::timeout(BODY, body).await;
                Ok(())
            }
            _ => Err(self.refused(None, response).await),
        }
    }

    fn is_in_session(&self) -> bool {
        !self.forgotten.load(Ordering::Acquire)
    }
}

/// Cancels a legacy request when it is dropped, unless the request was answered.
struct HttpCancelGuard<'a> {
    http: &'a Arc<Shared>,
    id: Option<RequestId>,
}

impl Drop for HttpCancelGuard<'_> {
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

fn text_header(text: &str) -> Result<HeaderValue, Error> {
    HeaderValue::from_str(&encoded(text)).map_err(Error::protocol)
}
