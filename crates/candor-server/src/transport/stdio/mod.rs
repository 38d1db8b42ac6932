//! Serves one client over a pair of byte streams, with one message per line.
//!
//! Lines are read in order, and requests run concurrently, up to a limit. Beyond it, the server answers `busy`. So the reader never
//! stops, and always gets a client's answers and cancellations. One writer owns the output: the messages of a request precede its
//! answer.

mod lines;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use candor_protocol::json::in_one_line;
use candor_protocol::rpc::{ErrorObject, Incoming, Rejected, Request, decode_message, split_batch};
use candor_protocol::{Era, Principal, Revision, names::method};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::sync::{Semaphore, mpsc, oneshot};
use tokio::task::AbortHandle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::rpc;
use crate::rpc::client::era_of;
use crate::rpc::context::TransportContext;
use crate::rpc::encode::answer::{Answer, join_batch};
use crate::rpc::method::lifecycle::initialize as open_session;
use crate::running_server::RunningServer;
use crate::session::CallTracker;
use crate::session::{Session, SessionPeer};
use crate::stream::Outlet;
use candor_engine::Claims;
use futures_util::future::BoxFuture;
use lines::{InputLine, Lines};

/// Messages that wait for a client that reads more slowly than the server writes.
const WRITE_QUEUE: usize = 256;

/// How long a cancelled request may take to end.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// Serves one client until its input ends or the engine is stopped, then waits up to [`Limits::drain`](crate::Limits::drain) for
/// running requests to finish.
///
/// Works with any pair of streams:
///
/// ```no_run
/// # async fn run(engine: candor_server::RunningServer) -> std::io::Result<()> {
/// use candor_server::{protocol::Principal, transport::stdio};
///
/// let (input, output) = tokio::net::UnixStream::connect("/run/assistant.sock").await?.into_split();
/// stdio::serve(&engine, Principal::new("assistant"), input, output).await
/// # }
/// ```
pub async fn serve(
    engine: &RunningServer,
    principal: Principal,
    input: impl AsyncRead + Unpin,
    output: impl AsyncWrite + Send + Unpin + 'static,
) -> std::io::Result<()> {
    let (queue, messages) = mpsc::channel(WRITE_QUEUE);
    let last = CancellationToken::new();
    let mut writer = tokio::spawn(write_messages(output, messages, last.clone()));
    let limits = engine.limits();
    let mut connection = StdioConnection {
        engine: engine.clone(),
        principal,
        outlet: Outlet::Queue(queue.clone()),
        queue,
        calls: CallTracker::default(),
        session: None,
        room: Arc::new(Semaphore::new(limits.stdio_requests)),
        running: TaskTracker::new(),
        last_in_order: None,
        closing: engine.closing().child_token(),
    };
    let mut lines = Lines::new(input, limits.message_bytes);
    let closing = connection.closing.clone();
    let ended = loop {
        let line = tokio::select! {
            line = lines.next() => line,
            () = closing.cancelled() => break Ok(()),
        };
        match line {
            Ok(Some(InputLine::Complete(line))) => connection.receive(line).await,
            Ok(Some(InputLine::TooLong)) => {
                let problem = format!(
                    "the message is too long: at most {} bytes are allowed",
                    limits.message_bytes
                );
                connection
                    .refuse(&Rejected { id: None, error: ErrorObject::invalid_request(problem) })
                    .await;
            }
            Ok(None) => break Ok(()),
            Err(error) => break Err(error),
        }
        if writer.is_finished() {
            break Ok(());
        }
    };
    let drain = limits.drain;
    connection.finish(&writer.abort_handle()).await;
    last.cancel();
    match tokio::time::timeout(drain, &mut writer).await {
        Ok(Ok(Err(error))) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(error),
        Ok(_) => ended,
        // The client does not read, so no error can reach it.
        Err(_) => {
            writer.abort();
            ended
        }
    }
}

struct StdioConnection {
    engine: RunningServer,
    principal: Principal,
    outlet: Outlet,
    queue: mpsc::Sender<Bytes>,
    calls: CallTracker,
    /// The legacy session, once `initialize` has opened it. Modern requests do not use it.
    session: Option<Arc<Session>>,
    room: Arc<Semaphore>,
    running: TaskTracker,
    /// Ends with the last of the requests that run in order.
    last_in_order: Option<oneshot::Receiver<()>>,
    /// Ends this connection's streams when its input ends.
    closing: CancellationToken,
}

impl StdioConnection {
    /// Handles one line.
    ///
    /// Boxed, so that everything behind it is compiled once in this crate, and not in each crate that calls [`serve`].
    fn receive<'a>(&'a mut self, line: &'a [u8]) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            let depth = self.engine.limits().depth;
            match split_batch(line, depth) {
                Ok(None) => self.take(decode_message(line, depth), &self.queue.clone()).await,
                Ok(Some(messages)) => self.take_batch(&messages).await,
                Err(rejected) => self.refuse(&rejected).await,
            }
        })
    }

    /// Handles a batch. Batches exist in one revision only. Their answers are sent together.
    async fn take_batch(&mut self, messages: &[&str]) {
        let allowed =
            self.session.as_ref().is_some_and(|s| s.client.revision == Revision::V2025_03_26);
        if !allowed {
            let problem = "Invalid request: batches are not part of this protocol revision";
            let error = ErrorObject::invalid_request(problem);
            return self.refuse(&Rejected { id: None, error }).await;
        }
        let (answers, mut collected) = mpsc::channel(messages.len());
        for message in messages {
            let message = decode_message(message.as_bytes(), self.engine.limits().depth);
            self.take(message, &answers).await;
        }
        drop(answers);
        let queue = self.queue.clone();
        self.running.spawn(async move {
            let mut answers = Vec::new();
            while let Some(answer) = collected.recv().await {
                answers.push(answer);
            }
            if !answers.is_empty() {
                let _ = queue.send(join_batch(&answers)).await;
            }
        });
    }

    /// Handles one message. If it is a request, its answer goes to `answers`.
    async fn take(&mut self, message: Result<Incoming, Rejected>, answers: &mpsc::Sender<Bytes>) {
        match message {
            Ok(Incoming::Response(response)) => {
                if let Some(session) = &self.session {
                    session.answered(response);
                }
            }
            Ok(Incoming::Notification(notice)) => rpc::notice(notice, &self.calls),
            Ok(Incoming::Request(request)) => self.request(request, answers).await,
            Err(Rejected { id, error }) => {
                send(answers, Answer::error(id.as_ref(), &error, false)).await;
            }
        }
    }

    async fn request(&mut self, request: Request, answers: &mpsc::Sender<Bytes>) {
        let session = match era_of(&request, None) {
            Era::Modern => None,
            Era::Legacy if request.method == method::INITIALIZE => {
                let answer = self.initialize(request);
                return send(answers, answer).await;
            }
            // Without a session, this must be a modern client that forgot its `_meta`. The engine reports what is missing.
            Era::Legacy => self.session.clone(),
        };
        let Some(tracked) = self.calls.begin(&request.id) else {
            let problem = "Invalid request: another request with this id is running";
            let error = ErrorObject::invalid_request(problem);
            return send(answers, Answer::error(Some(&request.id), &error, false)).await;
        };
        let arrival = TransportContext {
            principal: self.principal.clone(),
            claims: Claims::default(),
            // The client is the only caller.
            shares: false,
            session,
            outlet: self.outlet.clone(),
            cancel: tracked.cancel.clone(),
            closing: Some(self.closing.clone()),
            mirrored: None,
            key_header: None,
            position: rpc::position(&self.engine, &request),
            body: None,
            response: None,
        };
        if changes_session(&request.method) {
            // In order, so that later requests see the change. Boxed, because it is rare and large.
            let answer = Box::pin(rpc::handle(&self.engine, request, arrival)).await;
            drop(tracked);
            return send(answers, answer).await;
        }
        let Ok(room) = self.room.clone().try_acquire_owned() else {
            let busy = Answer::error(Some(&request.id), &ErrorObject::busy(), false);
            return send(answers, busy).await;
        };
        let (engine, answers) = (self.engine.clone(), answers.clone());
        let turn = keeps_order(&request.method).then(|| {
            let (done, next) = oneshot::channel::<()>();
            (self.last_in_order.replace(next), done)
        });
        self.running.spawn(async move {
            if let Some((Some(before), _)) = turn {
                // The channel closes when that request has ended, with any outcome.
                let _ = before.await;
            }
            let answer = rpc::handle(&engine, request, arrival).await;
            // Freed before the answer is sent, so that the client can use the id again at once.
            drop(tracked);
            send(&answers, answer).await;
            drop(room);
        });
    }

    fn initialize(&mut self, request: Request) -> Answer {
        let id = request.id.clone();
        if self.session.is_some() {
            let problem = "Invalid request: this connection is initialized already";
            return Answer::error(Some(&id), &ErrorObject::invalid_request(problem), false);
        }
        let peer = SessionPeer { principal: self.principal.clone(), address: None, shares: false };
        let outlet = self.outlet.clone();
        match open_session(&self.engine, request, peer, "stdio".to_owned(), outlet) {
            Ok((session, answer)) => {
                self.session = Some(session);
                answer
            }
            Err(error) => Answer::error(Some(&id), &error, false),
        }
    }

    async fn refuse(&self, rejected: &Rejected) {
        send(&self.queue, Answer::error(rejected.id.as_ref(), &rejected.error, false)).await;
    }

    /// Handles the end of the input: ends streams, lets requests finish until the drain time is over, and then cancels them.
    async fn finish(self, writer: &AbortHandle) {
        self.closing.cancel();
        self.running.close();
        if tokio::time::timeout(self.engine.limits().drain, self.running.wait()).await.is_err() {
            self.calls.cancel_all();
            // The remaining requests wait for a client that does not read.
            if tokio::time::timeout(LAST_WORDS, self.running.wait()).await.is_err() {
                writer.abort();
                self.running.wait().await;
            }
        }
    }
}

/// Returns true for a method whose effect later messages of the client rely on.
fn changes_session(name: &str) -> bool {
    name == method::SET_LEVEL
}

/// Returns true for methods that take effect in the order of their arrival. They may be slow, so other requests do not wait for
/// them.
fn keeps_order(name: &str) -> bool {
    matches!(name, method::RESOURCES_SUBSCRIBE | method::RESOURCES_UNSUBSCRIBE)
}

async fn send(answers: &mpsc::Sender<Bytes>, answer: Answer) {
    if let Some(message) = answer.into_message() {
        let _ = answers.send(message).await;
    }
}

async fn write_messages(
    mut output: impl AsyncWrite + Unpin,
    mut messages: mpsc::Receiver<Bytes>,
    last: CancellationToken,
) -> std::io::Result<()> {
    let mut waiting = Vec::new();
    let mut bytes = Vec::new();
    loop {
        tokio::select! {
            biased;
            received = messages.recv_many(&mut waiting, WRITE_QUEUE) => if received == 0 {
                return Ok(());
            },
            // Contexts that outlive their requests hold the queue. They must not keep the connection open.
            () = last.cancelled(), if !messages.is_closed() => messages.close(),
        }
        // All pending messages go out in one write.
        bytes.clear();
        for message in waiting.drain(..) {
            let begun = bytes.len();
            bytes.extend_from_slice(&message);
            in_one_line(&mut bytes[begun..]);
            bytes.push(b'\n');
        }
        output.write_all(&bytes).await?;
        output.flush().await?;
        bytes.shrink_to(64 * 1024);
    }
}
