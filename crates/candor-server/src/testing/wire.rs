//! One request from bytes to bytes: the work of a transport, without one.

use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use bytes::Bytes;
use candor_protocol::json::{Object, RawValue};
use candor_protocol::names::{method, notification};
use candor_protocol::rpc::{
    ErrorObject, Incoming, Rejected, Request, RequestId, decode_message, write_notification,
    write_request, write_result,
};
use candor_protocol::types::{ClientCapabilities, Implementation, InitializeParams};
use candor_protocol::{Principal, Revision};
use tokio_util::sync::CancellationToken;

use super::answers::Answers;
use super::called::Notice;
use crate::rpc;
use crate::rpc::context::TransportContext;
use crate::rpc::encode::answer::Answer;
use crate::rpc::method::lifecycle::initialize as open_session;
use crate::running_server::RunningServer;
use crate::session::{Session, SessionPeer};
use crate::stream::Outlet;
use crate::stream::Pipe;
use candor_engine::Claims;

/// Messages of a session that a test has not read yet. Further ones wait.
const MOST_UNREAD: usize = 1024;

/// The server's result, or its protocol error.
pub(super) type WireResult = Result<Box<RawValue>, ErrorObject>;

/// Decodes bytes as the transports do.
fn receive(engine: &RunningServer, message: &[u8]) -> Result<Incoming, Rejected> {
    let limits = engine.limits();
    if message.len() > limits.message_bytes {
        let problem =
            format!("the message is too long: at most {} bytes are allowed", limits.message_bytes);
        return Err(Rejected { id: None, error: ErrorObject::invalid_request(problem) });
    }
    decode_message(message, limits.depth)
}

/// Decodes bytes of the server, without a limit on nesting.
fn understand(message: &[u8]) -> Result<Incoming, String> {
    decode_message(message, usize::MAX).map_err(|rejected| {
        let text = String::from_utf8_lossy(message);
        format!("the server sends what is no message: {}: {text}", rejected.error.message)
    })
}

/// Returns the client's name and version.
pub(super) fn info() -> Implementation {
    Implementation::new("candor-testing", env!("CARGO_PKG_VERSION"))
}

/// A legacy session, and the messages of the server outside of any request.
pub(super) struct TestSession {
    session: Arc<Session>,
    unread: Pipe,
}

impl TestSession {
    /// Opens a session: `initialize`, its answer, `notifications/initialized`.
    pub(super) fn open(
        engine: &RunningServer,
        principal: Principal,
        revision: Revision,
        capabilities: &ClientCapabilities,
    ) -> Result<Self, ErrorObject> {
        let params = InitializeParams::new(revision.as_str(), capabilities.clone(), info());
        let hello = write_request(&"initialize".into(), method::INITIALIZE, &params);
        let request = match receive(engine, &hello) {
            Ok(Incoming::Request(request)) => request,
            Ok(_) => return Err(ErrorObject::invalid_request("not a request")),
            Err(rejected) => return Err(rejected.error),
        };
        let unread = Pipe::new(MOST_UNREAD);
        let peer = SessionPeer { principal, address: None, shares: false };
        let outlet = Outlet::Pipe(unread.clone());
        let (session, _) = open_session(engine, request, peer, "testing".to_owned(), outlet)?;
        let ready = write_notification(notification::INITIALIZED, &Object::new());
        if let Ok(Incoming::Notification(ready)) = receive(engine, &ready) {
            rpc::notice(ready, &session.calls);
        }
        Ok(Self { session, unread })
    }

    /// Returns the server's notifications outside of any request, since the last call of this function.
    pub(super) fn unread(&self) -> Vec<Notice> {
        let messages = std::iter::from_fn(|| self.unread.try_next());
        let notices = messages.filter_map(|message| match understand(&message) {
            Ok(Incoming::Notification(notice)) => Some(notice.into()),
            _ => None,
        });
        notices.collect()
    }
}

/// What a request of the client needs besides its message.
pub(super) struct Asking<'a> {
    pub(super) engine: &'a RunningServer,
    pub(super) principal: &'a Principal,
    pub(super) claims: &'a Claims,
    /// `None` in the modern era.
    pub(super) connection: Option<&'a TestSession>,
    pub(super) answers: &'a Answers,
}

enum WireStep {
    Said(Bytes),
    Answered(Answer),
}

impl Asking<'_> {
    /// Sends a message and returns its answer. Adds earlier notifications to `notices`, and answers the server's questions. Fails
    /// with a reason if there is no valid answer.
    pub(super) async fn send(
        &self,
        message: &[u8],
        notices: &mut Vec<Notice>,
    ) -> Result<WireResult, String> {
        let request = match receive(self.engine, message) {
            Ok(Incoming::Request(request)) => request,
            Ok(_) => return Err("the test client has written no request".to_owned()),
            Err(rejected) => return Ok(Err(rejected.error)),
        };
        let said = Pipe::new(self.engine.limits().queue);
        let cancel = CancellationToken::new();
        // A test that stops waiting cancels its request.
        let hang_up = cancel.clone().drop_guard();
        let arrival = TransportContext {
            principal: self.principal.clone(),
            claims: self.claims.clone(),
            shares: false,
            session: self.connection.map(|connection| connection.session.clone()),
            outlet: Outlet::Pipe(said.clone()),
            cancel,
            closing: None,
            mirrored: None,
            key_header: None,
            position: rpc::position(self.engine, &request),
            body: None,
            response: None,
        };
        let mut running = pin!(rpc::handle(self.engine, request, arrival));
        let answer = loop {
            let step = std::future::poll_fn(|cx| match said.poll_next(cx) {
                Poll::Ready(message) => Poll::Ready(WireStep::Said(message)),
                Poll::Pending => running.as_mut().poll(cx).map(WireStep::Answered),
            });
            match step.await {
                WireStep::Said(message) => self.hear(&message, notices)?,
                WireStep::Answered(answer) => break answer,
            }
        };
        hang_up.disarm();
        while let Some(message) = said.try_next() {
            self.hear(&message, notices)?;
        }
        let Some(answer) = answer.into_message() else {
            return Err("the server took the request as cancelled and does not answer".to_owned());
        };
        match understand(&answer)? {
            Incoming::Response(response) => Ok(response.outcome),
            _ => Err(format!("not an answer: {}", String::from_utf8_lossy(&answer))),
        }
    }

    /// Handles a message that came ahead of the answer: a notification, or a question to a legacy client.
    fn hear(&self, message: &[u8], notices: &mut Vec<Notice>) -> Result<(), String> {
        match understand(message)? {
            Incoming::Notification(notice) => notices.push(notice.into()),
            Incoming::Request(Request { id, method, params, .. }) => {
                let answer = self.answers.to(&method, params)?;
                self.reply(&id, &answer)?;
            }
            Incoming::Response(_) => return Err("the server answers twice".to_owned()),
        }
        Ok(())
    }

    /// Sends an answer to a question of the session.
    fn reply(&self, id: &RequestId, answer: &RawValue) -> Result<(), String> {
        match (receive(self.engine, &write_result(id, &answer)), self.connection) {
            (Ok(Incoming::Response(response)), Some(connection)) => {
                connection.session.answered(response);
                Ok(())
            }
            (Err(rejected), _) => {
                Err(format!("the server does not take the answer: {}", rejected.error.message))
            }
            _ => Err("the server asks a client that has no session".to_owned()),
        }
    }
}
