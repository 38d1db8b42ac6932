//! Messages as lines, over the pipes of a child process or any other pair of streams.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use candor_protocol::json::{RawValue, in_one_line};
use candor_protocol::names::notification;
use candor_protocol::rpc::{Incoming, RequestId, decode_message, split_batch, write_notification};
use candor_protocol::types::CancelledParams;
use tokio::io::{
    AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, BufReader,
};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

use super::Outgoing;
use super::child::{Child, patience};
use crate::connect::ClientLimits;
use crate::cost::{affordable, cost};
use crate::error::Error;
use crate::host::Host;
use crate::members::{locked, quoted};

/// The maximum number of messages that wait for the pipe.
const QUEUE: usize = 256;

/// The maximum number of lines that are not messages. A banner is fine, a flood means that the program is not a server.
const MAX_NOISE: usize = 1000;

const NOISE: &str = "it prints text where messages should be";

type PipeAnswer = Result<Box<RawValue>, Error>;

/// A pair of pipes with a server at the other end.
#[derive(Debug)]
pub(crate) struct Pipe {
    out: mpsc::Sender<Vec<u8>>,
    waiting: Arc<PendingRequests>,
    reader: JoinHandle<()>,
    writer: Mutex<Option<JoinHandle<()>>>,
    child: Option<Child>,
    patience: Duration,
}

/// Requests that wait for their answers.
#[derive(Debug, Default)]
struct PendingRequests {
    requests: Mutex<HashMap<RequestId, oneshot::Sender<PipeAnswer>>>,
    ended: AtomicBool,
    /// Why the connection ended.
    why: Mutex<String>,
    /// The server sent a message.
    heard: AtomicBool,
    /// The first line that is not a message.
    noise: Mutex<Option<String>>,
    /// The client stopped reading, because too many lines were not messages.
    drowned: AtomicBool,
}

impl PendingRequests {
    fn end(&self, why: &str) {
        self.end_with(why, &Error::Lost { why: why.to_owned(), sent: true });
    }

    /// Ends all pending requests with this error.
    fn end_with(&self, why: &str, error: &Error) {
        why.clone_into(&mut locked(&self.why));
        self.ended.store(true, Ordering::Release);
        for (_, request) in locked(&self.requests).drain() {
            let _ = request.send(Err(error.clone()));
        }
    }
}

impl Pipe {
    pub(crate) fn open(
        input: impl AsyncRead + Send + Unpin + 'static,
        output: impl AsyncWrite + Send + Unpin + 'static,
        child: Option<Child>,
        host: &Arc<Host>,
        limits: &ClientLimits,
    ) -> Self {
        let (out, queue) = mpsc::channel(QUEUE);
        let waiting = Arc::new(PendingRequests::default());
        let writer = tokio::spawn(write(output, queue));
        let reading = Reading {
            waiting: waiting.clone(),
            host: host.clone(),
            out: out.downgrade(),
            limits: limits.clone(),
            last_words: child.as_ref().map(Child::last_words),
        };
        let reader = tokio::spawn(reading.run(input));
        let patience = patience(limits);
        Self { out, waiting, reader, writer: Mutex::new(Some(writer)), child, patience }
    }

    pub(crate) async fn request(&self, outgoing: Outgoing<'_>) -> PipeAnswer {
        let (tell, told) = oneshot::channel();
        let tells = outgoing.can_be_taken_back();
        let id = outgoing.id;
        locked(&self.waiting.requests).insert(id.clone(), tell);
        // From here on, dropping the future cancels the request.
        let mut taken_back = PipeCancelGuard { pipe: self, id: Some(id), tells };
        if self.waiting.ended.load(Ordering::Acquire) || self.out.send(outgoing.body).await.is_err()
        {
            taken_back.unsent();
            let why = locked(&self.waiting.why).clone();
            return Err(Error::Lost { why, sent: false });
        }
        let answer = told.await;
        taken_back.id = None;
        answer.unwrap_or_else(|_| {
            Err(Error::Lost { why: "the program is gone".to_owned(), sent: true })
        })
    }

    /// Returns why there was no answer. If the program prints other text than messages, it is not a server; that explains more than
    /// a missing answer.
    pub(crate) fn explained(&self, error: Error) -> Error {
        let PendingRequests { heard, noise, drowned, .. } = &*self.waiting;
        let is_silent = match error {
            Error::TimedOut { .. } => true,
            Error::Lost { .. } => drowned.load(Ordering::Acquire),
            _ => false,
        };
        match &*locked(noise) {
            Some(line) if is_silent && !heard.load(Ordering::Acquire) => {
                Error::protocol(format!("{NOISE}: {}", quoted(line)))
            }
            _ => error,
        }
    }

    pub(crate) async fn send(&self, body: Vec<u8>) -> Result<(), Error> {
        let lost = |_| Error::Lost { why: locked(&self.waiting.why).clone(), sent: false };
        self.out.send(body).await.map_err(lost)
    }

    pub(crate) fn is_alive(&self) -> bool {
        !self.waiting.ended.load(Ordering::Acquire)
    }

    pub(crate) async fn close(&self) {
        self.waiting.end("the connection was closed");
        // Send what is queued, then close the pipe, which asks a child to exit.
        let writer = locked(&self.writer).take();
        if let Some(mut writer) = writer {
            let ended = async {
                let _ = self.out.send(Vec::new()).await;
                let _ = (&mut writer).await;
            };
            // A server that no longer reads must not delay the close.
            if tokio::time::timeout(self.patience, ended).await.is_err() {
                writer.abort();
            }
        }
        match &self.child {
            Some(child) => child.ended().await,
            None => self.reader.abort(),
        }
    }
}

impl Drop for Pipe {
    fn drop(&mut self) {
        self.reader.abort();
    }
}

/// Cancels a request when it is dropped, unless the request was answered.
struct PipeCancelGuard<'a> {
    pipe: &'a Pipe,
    id: Option<RequestId>,
    /// Send the cancellation to the server.
    tells: bool,
}

impl PipeCancelGuard<'_> {
    fn unsent(&mut self) {
        if let Some(id) = self.id.take() {
            locked(&self.pipe.waiting.requests).remove(&id);
        }
    }
}

impl Drop for PipeCancelGuard<'_> {
    fn drop(&mut self) {
        let Some(id) = self.id.take() else { return };
        if locked(&self.pipe.waiting.requests).remove(&id).is_some() && self.tells {
            let mut params = CancelledParams::new();
            params.request_id = Some(id);
            let _ = self.pipe.out.try_send(write_notification(notification::CANCELLED, &params));
        }
    }
}

/// Writes messages, one per line. An empty message closes the stream.
async fn write(mut output: impl AsyncWrite + Unpin, mut queue: mpsc::Receiver<Vec<u8>>) {
    while let Some(mut message) = queue.recv().await {
        if message.is_empty() {
            break;
        }
        in_one_line(&mut message);
        message.push(b'\n');
        // Send all messages that are queued by now in one write.
        while message.len() < 64 * 1024 {
            match queue.try_recv() {
                Ok(mut next) if !next.is_empty() => {
                    in_one_line(&mut next);
                    message.extend_from_slice(&next);
                    message.push(b'\n');
                }
                Ok(_) => {
                    let _ = output.write_all(&message).await;
                    let _ = output.shutdown().await;
                    return;
                }
                Err(_) => break,
            }
        }
        if output.write_all(&message).await.is_err() || output.flush().await.is_err() {
            break;
        }
    }
    let _ = output.shutdown().await;
}

/// Why reading ended.
enum ReadEnd {
    /// The other side is gone.
    Gone(String),
    /// The client stopped reading.
    Dismissed(String),
    /// The server sent a message larger than this limit, in bytes.
    TooLarge(usize),
}

fn beginning(message: &[u8]) -> String {
    String::from_utf8_lossy(&message[..message.len().min(200)]).into_owned()
}

struct Reading {
    waiting: Arc<PendingRequests>,
    host: Arc<Host>,
    out: mpsc::WeakSender<Vec<u8>>,
    limits: ClientLimits,
    last_words: Option<crate::link::child::LastWords>,
}

impl Reading {
    async fn run(self, input: impl AsyncRead + Unpin) {
        let mut why = match (self.read(input).await, &self.last_words) {
            (ReadEnd::Gone(why), Some(words)) => words.after(&why).await,
            (ReadEnd::Gone(why) | ReadEnd::Dismissed(why), _) => why,
            (ReadEnd::TooLarge(limit), _) => {
                let why = format!("it sent a line of more than {limit} bytes");
                return self.waiting.end_with(&why, &Error::message_too_large(limit));
            }
        };
        // A program that is not a server explains itself best in its own words.
        if let Some(line) = &*locked(&self.waiting.noise) {
            why.push_str(&format!("; it printed a line that is not a message: {line:?}"));
        }
        self.waiting.end(&why);
    }

    /// Reads until the end, and returns why reading ended.
    async fn read(&self, input: impl AsyncRead + Unpin) -> ReadEnd {
        let mut noisy = 0;
        let mut input = BufReader::with_capacity(64 * 1024, input);
        let mut line = Vec::new();
        loop {
            line.clear();
            // Free the memory of an unusually large message.
            line.shrink_to(64 * 1024);
            let limit = self.limits.max_message as u64 + 1;
            match (&mut input).take(limit).read_until(b'\n', &mut line).await {
                Ok(0) => return ReadEnd::Gone("the program ended".to_owned()),
                Ok(_) if line.last() != Some(&b'\n') && line.len() as u64 == limit => {
                    return ReadEnd::TooLarge(self.limits.max_message);
                }
                Ok(_) => {}
                Err(error) => return ReadEnd::Gone(error.to_string()),
            }
            let message = line.trim_ascii();
            if message.is_empty() {
                continue;
            }
            if !matches!(message[0], b'{' | b'[') {
                noisy += 1;
                if noisy > MAX_NOISE {
                    self.waiting.drowned.store(true, Ordering::Release);
                    return ReadEnd::Dismissed(NOISE.to_owned());
                }
                let line = beginning(message);
                tracing::warn!(%line, "the server printed a line that is not a message");
                locked(&self.waiting.noise).get_or_insert(line);
                continue;
            }
            self.take(message);
        }
    }

    fn take(&self, message: &[u8]) {
        match split_batch(message, self.limits.max_depth) {
            Ok(Some(messages)) => messages.into_iter().for_each(|m| self.take_one(m.as_bytes())),
            Ok(None) => self.take_one(message),
            Err(rejected) => self.not_understood(message, &rejected.error.message),
        }
    }

    fn not_understood(&self, message: &[u8], problem: &str) {
        tracing::warn!(%problem, "a message was not understood");
        if !self.waiting.heard.load(Ordering::Acquire) {
            locked(&self.waiting.noise).get_or_insert_with(|| beginning(message));
        }
    }

    fn take_one(&self, message: &[u8]) {
        let decoded = decode_message(message, self.limits.max_depth);
        if decoded.is_ok() {
            self.waiting.heard.store(true, Ordering::Release);
        }
        match decoded {
            Ok(Incoming::Response(response)) => {
                let answer = affordable(response.outcome, self.limits.max_list);
                self.answered(&response.id, answer);
            }
            Ok(Incoming::Notification(news)) => self.host.heard(&news),
            Ok(Incoming::Request(request)) => {
                let out = self.out.clone();
                self.host.serve(request, None, cost(message), async move |answer| {
                    if let Some(out) = out.upgrade() {
                        let _ = out.send(answer).await;
                    }
                });
            }
            // An unreadable answer ends its own request, not the others.
            Err(rejected) => match rejected.id {
                Some(id) => self.answered(&id, Err(Error::Protocol(rejected.error.message))),
                None => self.not_understood(message, &rejected.error.message),
            },
        }
    }

    fn answered(&self, id: &RequestId, answer: PipeAnswer) {
        let request = locked(&self.waiting.requests).remove(id);
        match request {
            Some(request) => {
                let _ = request.send(answer);
            }
            // The request was cancelled, or never sent.
            None => tracing::debug!(%id, "an answer to no pending request"),
        }
    }
}
