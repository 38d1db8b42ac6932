//! Legacy sessions: what `initialize` agreed on, and the open questions.

mod calls;
mod table;

use std::collections::{HashMap, VecDeque};
use std::net::IpAddr;
use std::sync::atomic::{AtomicU8, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use candor_engine::resource::WatchGuard;
use candor_engine::{
    AskError, Capacity, Change, ChangeListener, ClientInfo, Engine, Limits, Lists, Slot,
};
use candor_protocol::Principal;
use candor_protocol::json::{Object, RawValue};
use candor_protocol::names::notification;
use candor_protocol::rpc::{ErrorObject, RequestId, Response, write_notification, write_request};
use candor_protocol::types::{CancelledParams, InputRequest, LogLevel};
use tokio::sync::oneshot;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::stream::{Outlet, StreamLog};

pub(crate) use calls::CallTracker;
pub(crate) use table::Sessions;

/// The peer of a session. Limits per peer count by it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SessionPeer {
    pub(crate) principal: Principal,
    /// Unknown over stdio, and if the endpoint is mounted in another server.
    pub(crate) address: Option<IpAddr>,
    /// Whether the transport tells callers apart.
    pub(crate) shares: bool,
}

impl SessionPeer {
    /// Returns the principal whose share its slots count in. Returns `None` if the transport does not tell callers apart.
    pub(crate) fn sharer(&self) -> Option<&Principal> {
        self.shares.then_some(&self.principal)
    }
}

type ClientReply = Result<Box<RawValue>, ErrorObject>;

/// A legacy client's session. Over HTTP it lasts from `initialize` to `DELETE`, over stdio as long as the connection.
#[derive(Debug)]
pub(crate) struct Session {
    /// Random. A request must also have the same principal.
    pub(crate) id: String,
    pub(crate) peer: SessionPeer,
    pub(crate) client: Arc<ClientInfo>,
    /// Takes messages that belong to no request.
    pub(crate) outlet: Outlet,
    pub(crate) calls: CallTracker,
    question_time: Duration,
    log_level: AtomicU8,
    changes: Arc<ChangeListener>,
    /// The resources that it watches.
    subscriptions: Mutex<HashMap<String, (WatchGuard, Arc<Slot>)>>,
    open: Mutex<HashMap<RequestId, oneshot::Sender<ClientReply>>>,
    next_question: AtomicU64,
    streams: Mutex<Streams>,
    rooms: Arc<Capacity>,
    last_used: Mutex<Instant>,
    listeners: AtomicUsize,
    /// Ends the task that forwards changes, together with the session.
    _alive: DropGuard,
}

/// Event streams that a client can resume.
#[derive(Debug)]
struct Streams {
    by_name: HashMap<String, Arc<StreamLog>>,
    /// Finished streams, oldest first.
    finished: VecDeque<Finished>,
    keep_finished: usize,
    named: u64,
}

/// A finished stream, and its slots.
#[derive(Debug)]
struct Finished {
    name: String,
    bytes: usize,
    _room: Slot,
}

impl Streams {
    /// Stores a finished stream. Purges the oldest ones if there are too many, or if that frees enough capacity for this one. A
    /// stream without capacity is not stored: only a client that reads it now gets the rest.
    fn finish(&mut self, log: &StreamLog, rooms: &Capacity, of: Option<&Principal>) {
        let name = log.name();
        if !self.by_name.contains_key(name) || self.finished.iter().any(|over| over.name == name) {
            return;
        }
        let bytes = log.bytes();
        let mut room = rooms.kept(of, bytes);
        // Purge streams only if that can free enough: this session cannot purge those of others.
        if self.finished.iter().map(|over| over.bytes).sum::<usize>() >= bytes {
            while room.is_err() && self.forget_oldest() {
                room = rooms.kept(of, bytes);
            }
        }
        match room {
            Err(_) => drop(self.by_name.remove(name)),
            Ok(room) => {
                self.finished.push_back(Finished { name: name.to_owned(), bytes, _room: room });
                while self.finished.len() > self.keep_finished && self.forget_oldest() {}
            }
        }
    }

    /// Returns false if there is no finished stream.
    fn forget_oldest(&mut self) -> bool {
        let oldest = self.finished.pop_front();
        oldest.inspect(|oldest| drop(self.by_name.remove(&oldest.name))).is_some()
    }
}

impl Session {
    /// Opens a session and begins to forward changes to it. Requires a tokio runtime.
    pub(crate) fn open(
        id: String,
        peer: SessionPeer,
        client: ClientInfo,
        outlet: Outlet,
        engine: &Engine,
        lists: Lists,
    ) -> Arc<Self> {
        let limits = engine.limits();
        let alive = CancellationToken::new();
        let changes = Arc::new(engine.changes().listen(lists));
        let session = Arc::new(Self {
            id,
            peer,
            client: Arc::new(client),
            outlet,
            calls: CallTracker::default(),
            question_time: limits.question,
            log_level: AtomicU8::new(LogLevel::Debug as u8),
            changes: changes.clone(),
            subscriptions: Mutex::default(),
            open: Mutex::default(),
            next_question: AtomicU64::new(1),
            streams: Mutex::new(Streams {
                by_name: HashMap::new(),
                finished: VecDeque::new(),
                keep_finished: limits.finished_streams,
                named: 0,
            }),
            rooms: Arc::clone(engine.capacity()),
            last_used: Mutex::new(Instant::now()),
            listeners: AtomicUsize::new(0),
            _alive: alive.clone().drop_guard(),
        });
        tokio::spawn(forward_changes(session.outlet.clone(), changes, alive));
        session
    }

    pub(crate) fn log_level(&self) -> LogLevel {
        LogLevel::ALL[usize::from(self.log_level.load(Ordering::Relaxed))]
    }

    pub(crate) fn set_log_level(&self, level: LogLevel) {
        self.log_level.store(level as u8, Ordering::Relaxed);
    }

    /// Reports this resource's changes to the client from now on.
    pub(crate) fn subscribe(&self, uri: String, watching: (WatchGuard, Arc<Slot>)) {
        self.changes.add(&uri);
        let before = lock(&self.subscriptions).insert(uri, watching);
        // Dropped outside the lock, because the end of a watch runs the provider's code.
        drop(before);
    }

    pub(crate) fn unsubscribe(&self, uri: &str) {
        self.changes.remove(uri);
        let watching = lock(&self.subscriptions).remove(uri);
        drop(watching);
    }

    /// Returns the slot of a resource that the session watches already.
    pub(crate) fn place_of(&self, uri: &str) -> Option<Arc<Slot>> {
        lock(&self.subscriptions).get(uri).map(|(_, place)| Arc::clone(place))
    }

    /// Returns the number of resources that it watches.
    pub(crate) fn watched(&self) -> usize {
        lock(&self.subscriptions).len()
    }

    /// Sends a question on a request's stream and waits for the client's answer.
    pub(crate) async fn ask(
        &self,
        outlet: &Outlet,
        question: &InputRequest,
        cancel: &CancellationToken,
    ) -> Result<Box<RawValue>, AskError> {
        let id = RequestId::from(self.next_question.fetch_add(1, Ordering::Relaxed));
        let (answer, answered) = oneshot::channel();
        lock(&self.open).insert(id.clone(), answer);
        let closing = Closing { session: self, id: &id };
        outlet.send(write_request(&id, &question.method, &question.params)).await;
        let outcome = tokio::select! {
            answer = answered => match answer {
                Ok(Ok(answer)) => return Ok(answer),
                Ok(Err(error)) => return Err(AskError::Refused { code: error.code(), message: error.message }),
                Err(_) => AskError::Gone,
            },
            () = tokio::time::sleep(self.question_time) => AskError::TimedOut,
            () = cancel.cancelled() => AskError::Gone,
        };
        drop(closing);
        let mut params = CancelledParams::new();
        params.request_id = Some(id);
        outlet.send(write_notification(notification::CANCELLED, &params)).await;
        Err(outcome)
    }

    /// Handles the client's answer to a question. Ignores one that no request waits for.
    pub(crate) fn answered(&self, response: Response) {
        if let Some(waiting) = lock(&self.open).remove(&response.id) {
            let _ = waiting.send(response.outcome);
        }
    }

    /// Creates a stream for one request. A client can resume it only after [`keep_stream`](Self::keep_stream).
    pub(crate) fn new_stream(&self, limits: &Limits) -> Arc<StreamLog> {
        let mut streams = lock(&self.streams);
        streams.named += 1;
        Arc::new(StreamLog::new(streams.named.to_string(), limits))
    }

    /// Stores a stream whose events the client is about to get, so that the client can resume it. Returns false if the stream is
    /// over and there is no capacity to store it.
    pub(crate) fn keep_stream(&self, log: &Arc<StreamLog>) -> bool {
        let mut streams = lock(&self.streams);
        streams.by_name.insert(log.name().to_owned(), log.clone());
        if log.is_closed() {
            streams.finish(log, &self.rooms, self.peer.sharer());
        }
        streams.by_name.contains_key(log.name())
    }

    /// Ends the stream of an answered request. The stream stays stored, in case the answer got lost.
    pub(crate) fn finish_stream(&self, log: &StreamLog) {
        log.close();
        lock(&self.streams).finish(log, &self.rooms, self.peer.sharer());
    }

    pub(crate) fn stream(&self, name: &str) -> Option<Arc<StreamLog>> {
        match &self.outlet {
            Outlet::Log(log) if log.name() == name => Some(log.clone()),
            _ => lock(&self.streams).by_name.get(name).cloned(),
        }
    }

    pub(crate) fn touch(&self) {
        *lock(&self.last_used) = Instant::now();
    }

    /// Records a use. Returns false if the session has expired because it was idle for this long.
    pub(crate) fn used_within(&self, idle: Duration) -> bool {
        let listened = self.listeners.load(Ordering::Relaxed) > 0;
        let (now, mut last_used) = (Instant::now(), lock(&self.last_used));
        let lives = listened || now.saturating_duration_since(*last_used) < idle;
        if lives {
            *last_used = now;
        }
        lives
    }

    /// Returns how long the session was unused. It is in use while one of its streams is open.
    pub(crate) fn idle(&self) -> Duration {
        match self.listeners.load(Ordering::Relaxed) {
            0 => lock(&self.last_used).elapsed(),
            _ => Duration::ZERO,
        }
    }

    /// Records that a stream is open, until the guard is dropped.
    pub(crate) fn listen(self: Arc<Self>) -> Listening {
        self.listeners.fetch_add(1, Ordering::Relaxed);
        Listening(self)
    }

    /// Ends the session: cancels running requests and ends streams.
    pub(crate) fn end(&self) {
        self.calls.cancel_all();
        lock(&self.open).clear();
        if let Outlet::Log(log) = &self.outlet {
            log.close();
        }
    }
}

/// Guard of an open stream of a session.
pub(crate) struct Listening(Arc<Session>);

impl Drop for Listening {
    fn drop(&mut self) {
        self.0.touch();
        self.0.listeners.fetch_sub(1, Ordering::Relaxed);
    }
}

/// An open question. Dropping it removes the question from the session.
struct Closing<'a> {
    session: &'a Session,
    id: &'a RequestId,
}

impl Drop for Closing<'_> {
    fn drop(&mut self) {
        lock(&self.session.open).remove(self.id);
    }
}

/// Reports changes to the client until its session ends. Holds the outlet instead of the session, which it would otherwise keep
/// alive.
async fn forward_changes(outlet: Outlet, changes: Arc<ChangeListener>, alive: CancellationToken) {
    let forward = async {
        loop {
            for change in changes.next().await {
                let params = match &change {
                    Change::Resource(uri) => Object::new().with("uri", &**uri),
                    _ => Object::new(),
                };
                // The client may connect its stream later. Until then, changes of the same thing merge.
                if let Outlet::Log(log) = &outlet {
                    log.has_room().await;
                }
                outlet.send(write_notification(changed(&change), &params)).await;
            }
        }
    };
    tokio::select! {
        () = forward => {}
        () = alive.cancelled() => {}
    }
}

/// Returns the method of the notification that reports a change.
pub(crate) fn changed(change: &Change) -> &'static str {
    match change {
        Change::Tools => notification::TOOLS_CHANGED,
        Change::Prompts => notification::PROMPTS_CHANGED,
        Change::Resources => notification::RESOURCES_CHANGED,
        Change::Resource(_) => notification::RESOURCE_UPDATED,
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
