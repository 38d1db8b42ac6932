//! Legacy sessions: what `initialize` agreed on, and the questions that are open.

mod stream_log;
mod table;

use std::collections::{HashMap, VecDeque};
use std::net::IpAddr;
use std::sync::atomic::{AtomicU8, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use candor_protocol::Principal;
use candor_protocol::json::{Object, RawValue};
use candor_protocol::names::notification;
use candor_protocol::rpc::{ErrorObject, RequestId, Response, write_notification, write_request};
use candor_protocol::types::{CancelledParams, InputRequest, LogLevel};
use tokio::sync::oneshot;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::ask::AskError;
use crate::call_tracker::CallTracker;
use crate::caller::ClientInfo;
use crate::changes::{Change, ChangeListener, Lists};
use crate::engine::Engine;
use crate::limits::Limits;
use crate::outlet::Outlet;
use crate::resource::WatchGuard;
use crate::room::{Capacity, Slot};

pub(crate) use stream_log::{Event, StreamLog};
pub(crate) use table::Sessions;

/// Whose session it is: for what one peer may have in all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SessionPeer {
    pub(crate) principal: Principal,
    /// Unknown over stdio, and where our endpoint is mounted in somebody else's server.
    pub(crate) address: Option<IpAddr>,
    /// Whether callers who come this way are told apart.
    pub(crate) shares: bool,
}

impl SessionPeer {
    /// In whose share a place for it counts; in nobody's where callers are not told apart.
    pub(crate) fn sharer(&self) -> Option<&Principal> {
        self.shares.then_some(&self.principal)
    }
}

type ClientReply = Result<Box<RawValue>, ErrorObject>;

/// A legacy client's session: over HTTP between `initialize` and `DELETE`, over stdio for the connection.
#[derive(Debug)]
pub(crate) struct Session {
    /// Random; knowing it is not enough, the principal must be the same too.
    pub(crate) id: String,
    pub(crate) peer: SessionPeer,
    pub(crate) client: Arc<ClientInfo>,
    /// Where messages go that belong to no request.
    pub(crate) outlet: Outlet,
    pub(crate) calls: CallTracker,
    question_time: Duration,
    log_level: AtomicU8,
    changes: Arc<ChangeListener>,
    /// What it watches.
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

/// Event streams that a client can come back to.
#[derive(Debug)]
struct Streams {
    by_name: HashMap<String, Arc<StreamLog>>,
    /// Those that are over, the oldest first.
    finished: VecDeque<Finished>,
    keep_finished: usize,
    named: u64,
}

/// A stream that is over, and the room that it takes.
#[derive(Debug)]
struct Finished {
    name: String,
    bytes: usize,
    _room: Slot,
}

impl Streams {
    /// Notes that a stream is over. Of too many such the oldest are forgotten, and also where that makes room for it. For which there is
    /// none is not kept: whoever reads it now reads it to its end.
    fn finish(&mut self, log: &StreamLog, rooms: &Capacity, of: Option<&Principal>) {
        let name = log.name();
        if !self.by_name.contains_key(name) || self.finished.iter().any(|over| over.name == name) {
            return;
        }
        let bytes = log.bytes();
        let mut room = rooms.kept(of, bytes);
        // What others keep is not ours to forget: then nothing is gained by forgetting what is.
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

    /// False if there is none.
    fn forget_oldest(&mut self) -> bool {
        let oldest = self.finished.pop_front();
        oldest.inspect(|oldest| drop(self.by_name.remove(&oldest.name))).is_some()
    }
}

impl Session {
    /// Opens a session and begins to forward changes to it. Needs a tokio runtime.
    pub(crate) fn open(
        id: String,
        peer: SessionPeer,
        client: ClientInfo,
        outlet: Outlet,
        engine: &Engine,
    ) -> Arc<Self> {
        let limits = engine.limits();
        let alive = CancellationToken::new();
        let lists = Lists::in_capabilities(&engine.capabilities(Some(&peer.principal)));
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
            rooms: Arc::clone(engine.rooms()),
            last_used: Mutex::new(Instant::now()),
            listeners: AtomicUsize::new(0),
            _alive: alive.clone().drop_guard(),
        });
        tokio::spawn(forward_changes(session.outlet.clone(), changes, alive));
        engine.connected().add(&session);
        session
    }

    pub(crate) fn log_level(&self) -> LogLevel {
        LogLevel::ALL[usize::from(self.log_level.load(Ordering::Relaxed))]
    }

    pub(crate) fn set_log_level(&self, level: LogLevel) {
        self.log_level.store(level as u8, Ordering::Relaxed);
    }

    /// Tells the client of this resource's changes from now on.
    pub(crate) fn subscribe(&self, uri: String, watching: (WatchGuard, Arc<Slot>)) {
        self.changes.add(&uri);
        let before = lock(&self.subscriptions).insert(uri, watching);
        // Not under the lock: ending a watch is the provider's code.
        drop(before);
    }

    pub(crate) fn unsubscribe(&self, uri: &str) {
        self.changes.remove(uri);
        let watching = lock(&self.subscriptions).remove(uri);
        drop(watching);
    }

    /// The place of a resource that it watches already.
    pub(crate) fn place_of(&self, uri: &str) -> Option<Arc<Slot>> {
        lock(&self.subscriptions).get(uri).map(|(_, place)| Arc::clone(place))
    }

    /// How many resources it watches.
    pub(crate) fn watched(&self) -> usize {
        lock(&self.subscriptions).len()
    }

    /// Puts a question on a request's stream and waits for the client's answer.
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
                Ok(Err(error)) => return Err(AskError::Refused(error)),
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

    /// Takes the client's answer to a question; one that nobody waits for is ignored.
    pub(crate) fn answered(&self, response: Response) {
        if let Some(waiting) = lock(&self.open).remove(&response.id) {
            let _ = waiting.send(response.outcome);
        }
    }

    /// A new stream for one request. Nobody can come back to it until it is kept.
    pub(crate) fn new_stream(&self, limits: &Limits) -> Arc<StreamLog> {
        let mut streams = lock(&self.streams);
        streams.named += 1;
        Arc::new(StreamLog::new(streams.named.to_string(), limits))
    }

    /// The client is about to get events of this stream, so it may come back to it; false if it may not, because the stream is over and
    /// there is no room for it.
    pub(crate) fn keep_stream(&self, log: &Arc<StreamLog>) -> bool {
        let mut streams = lock(&self.streams);
        streams.by_name.insert(log.name().to_owned(), log.clone());
        if log.is_closed() {
            streams.finish(log, &self.rooms, self.peer.sharer());
        }
        streams.by_name.contains_key(log.name())
    }

    /// The request has been answered: its stream is kept for a while, in case the answer got lost.
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

    /// Notes that somebody uses it; false if nobody had for so long that it has ended.
    pub(crate) fn used_within(&self, idle: Duration) -> bool {
        let listened = self.listeners.load(Ordering::Relaxed) > 0;
        let (now, mut last_used) = (Instant::now(), lock(&self.last_used));
        let lives = listened || now.saturating_duration_since(*last_used) < idle;
        if lives {
            *last_used = now;
        }
        lives
    }

    /// How long nobody has used it. While a stream of it is open, somebody does.
    pub(crate) fn idle(&self) -> Duration {
        match self.listeners.load(Ordering::Relaxed) {
            0 => lock(&self.last_used).elapsed(),
            _ => Duration::ZERO,
        }
    }

    /// Notes that a stream is open, until the guard is dropped.
    pub(crate) fn listen(self: Arc<Self>) -> Listening {
        self.listeners.fetch_add(1, Ordering::Relaxed);
        Listening(self)
    }

    /// Ends the session: running requests are taken back, streams end.
    pub(crate) fn end(&self) {
        self.calls.cancel_all();
        lock(&self.open).clear();
        if let Outlet::Log(log) = &self.outlet {
            log.close();
        }
    }
}

/// An open stream of a session.
pub(crate) struct Listening(Arc<Session>);

impl Drop for Listening {
    fn drop(&mut self) {
        self.0.touch();
        self.0.listeners.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A question that is being waited for; forgotten when dropped.
struct Closing<'a> {
    session: &'a Session,
    id: &'a RequestId,
}

impl Drop for Closing<'_> {
    fn drop(&mut self) {
        lock(&self.session.open).remove(self.id);
    }
}

/// Tells the client of changes until its session ends. Knows the way to it and not the session, which it would keep alive.
async fn forward_changes(outlet: Outlet, changes: Arc<ChangeListener>, alive: CancellationToken) {
    let forward = async {
        loop {
            for change in changes.next().await {
                let params = match &change {
                    Change::Resource(uri) => Object::new().with("uri", &**uri),
                    _ => Object::new(),
                };
                // Who does not listen now will: what changes until then is one piece of news.
                if let Outlet::Log(log) = &outlet {
                    log.has_room().await;
                }
                outlet.send(write_notification(change.method(), &params)).await;
            }
        }
    };
    tokio::select! {
        () = forward => {}
        () = alive.cancelled() => {}
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
