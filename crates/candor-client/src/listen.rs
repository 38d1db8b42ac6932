//! Listens for changes: through a stream in the modern era, through subscriptions in the legacy era.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use candor_protocol::Era;
use candor_protocol::json::Object;
use candor_protocol::names::{meta, method, notification};
use candor_protocol::rpc::{Notification, RequestId, code};
use candor_protocol::types::{AcknowledgedParams, ListenParams, SubscriptionFilter};
use tokio::sync::{Notify, oneshot};
use tokio::task::JoinHandle;

use crate::breaker::Work;
use crate::client::{Client, written};
use crate::error::Error;
use crate::members::{DecodeObject as _, locked};
use crate::resources::about;
use crate::session::OutgoingRequest;
use crate::uri::{is_same_uri, normal};

/// What has changed.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Change {
    /// The list of tools.
    Tools,
    /// The list of prompts.
    Prompts,
    /// The list of resources.
    Resources,
    /// The resource with this URI. If it is a resource of the [`Interest`], the URI is spelled as there.
    Resource(String),
    /// The client lost the connection and is connected again. It missed any changes in between.
    Resumed,
    /// The server sent more changes than the client stores until the listener reads them. Those changes are lost.
    Missed,
}

impl Change {
    /// Returns its approximate memory, in bytes.
    fn size(&self) -> usize {
        match self {
            Self::Resource(uri) => size_of::<Self>() + uri.len(),
            _ => size_of::<Self>(),
        }
    }
}

/// How often a legacy listener checks that its session still exists.
const LOOKS: Duration = Duration::from_secs(2);

/// A stream that lives this long counts as a success.
const LASTING: Duration = Duration::from_secs(5);

/// The maximum number of stored changes until the listener reads them. `MOST_BYTES` limits their memory.
const MOST_CHANGES: usize = 10_000;
const MOST_BYTES: usize = 4 * 1024 * 1024;

/// Changes in order, each stored once.
#[derive(Debug, Default)]
struct ChangeQueue {
    queue: VecDeque<Change>,
    bytes: usize,
}

impl ChangeQueue {
    /// Adds a change. Returns false if it is already queued.
    fn push(&mut self, change: Change) -> bool {
        if self.queue.contains(&change) {
            return false;
        }
        let full = self.queue.len() >= MOST_CHANGES || self.bytes + change.size() > MOST_BYTES;
        // Drop all changes and report the loss: a gap in the middle would go unnoticed.
        let change = if full {
            *self = Self::default();
            Change::Missed
        } else {
            change
        };
        self.bytes += change.size();
        self.queue.push_back(change);
        true
    }

    fn pop(&mut self) -> Option<Change> {
        let change = self.queue.pop_front()?;
        self.bytes -= change.size();
        Some(change)
    }
}

/// The changes to listen for.
#[derive(Debug, Clone, Default)]
pub struct Interest {
    lists: bool,
    uris: Vec<String>,
}

impl Interest {
    /// Creates an empty interest.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the lists of tools, prompts and resources.
    #[must_use]
    pub fn lists(mut self) -> Self {
        self.lists = true;
        self
    }

    /// Adds a resource.
    #[must_use]
    pub fn resource(mut self, uri: impl Into<String>) -> Self {
        self.uris.push(uri.into());
        self
    }
}

/// The receiver of changes. A change that is not yet read is stored once, however often it happened.
#[derive(Debug)]
pub(crate) struct Listener {
    interest: Interest,
    /// The URIs of the interest, normalized and in the same order: the server may spell them in another way.
    normal_uris: Vec<String>,
    news: Mutex<ChangeQueue>,
    more: Notify,
    acknowledged: Mutex<HashMap<RequestId, oneshot::Sender<SubscriptionFilter>>>,
}

impl Listener {
    pub(crate) fn heard(&self, news: &Notification) {
        let change = match news.method.as_str() {
            notification::ACKNOWLEDGED => return self.acknowledged(&news.params),
            notification::TOOLS_CHANGED if self.interest.lists => Change::Tools,
            notification::PROMPTS_CHANGED if self.interest.lists => Change::Prompts,
            notification::RESOURCES_CHANGED if self.interest.lists => Change::Resources,
            notification::RESOURCE_UPDATED => {
                let uri = news.params.read::<String>("uri").ok().flatten();
                match uri.and_then(|uri| self.wanted(uri)) {
                    Some(uri) => Change::Resource(uri),
                    None => return,
                }
            }
            _ => return,
        };
        self.push(change);
    }

    /// Returns the URI of a change, as the interest spells it, if the listener wants it.
    fn wanted(&self, uri: String) -> Option<String> {
        let normal_uri = normal(&uri);
        if let Some(at) = self.normal_uris.iter().position(|at| *at == normal_uri) {
            return Some(self.interest.uris[at].clone());
        }
        // A server may also report changes of resources inside one of these.
        self.normal_uris.iter().any(|at| is_inside(&normal_uri, at)).then_some(uri)
    }

    fn push(&self, change: Change) {
        if locked(&self.news).push(change) {
            self.more.notify_one();
        }
    }

    fn acknowledged(&self, params: &Object) {
        let Ok(told) = AcknowledgedParams::decode_object(params) else { return };
        let id = told.meta.as_ref().and_then(|m| m.read(meta::SUBSCRIPTION_ID).ok().flatten());
        if let Some(tell) = id.and_then(|id: RequestId| locked(&self.acknowledged).remove(&id)) {
            let _ = tell.send(told.notifications);
        }
    }
}

fn no_subscriptions() -> Error {
    let missing = "the capability resources.subscribe, so it reports no changes of resources";
    Error::Unsupported(missing.to_owned())
}

fn no_list_changes() -> Error {
    let missing = "any of the capabilities tools.listChanged, prompts.listChanged and \
                   resources.listChanged, so it reports no changes of its lists";
    Error::Unsupported(missing.to_owned())
}

fn no_method() -> Error {
    Error::Unsupported(format!("the method {}, so it reports no changes", method::LISTEN))
}

/// Returns true if a URI is inside `at`. Both are normalized.
fn is_inside(uri: &str, at: &str) -> bool {
    let rest = uri.strip_prefix(at);
    rest.is_some_and(|rest| at.ends_with('/') || rest.starts_with('/'))
}

/// A stream of changes. Drop it to unsubscribe.
///
/// ```no_run
/// use candor_client::{Change, Client, Interest};
///
/// # async fn example(client: &Client) -> Result<(), candor_client::Error> {
/// let mut listening = client.listen(Interest::new().lists().resource("file:///notes/today.md")).await?;
/// loop {
///     match listening.next().await {
///         Change::Resource(uri) => println!("{uri} has changed"),
///         Change::Resumed => println!("whatever happened in between was missed: look at everything"),
///         other => println!("{other:?}"),
///     }
/// }
/// # }
/// ```
#[derive(Debug)]
pub struct ChangeStream {
    listener: Arc<Listener>,
    /// The task that keeps the stream open.
    task: Option<JoinHandle<()>>,
    /// The legacy subscriptions to end on drop.
    subscribed: Option<(Client, Vec<String>)>,
}

impl ChangeStream {
    /// Waits for the next change, and returns it.
    pub async fn next(&mut self) -> Change {
        loop {
            let more = self.listener.more.notified();
            if let Some(change) = locked(&self.listener.news).pop() {
                return change;
            }
            more.await;
        }
    }
}

impl Drop for ChangeStream {
    fn drop(&mut self) {
        if let Some(task) = &self.task {
            task.abort();
        }
        if let (Some((client, uris)), Ok(runtime)) =
            (self.subscribed.take(), tokio::runtime::Handle::try_current())
        {
            // A session that has ended took its subscriptions with it. Do not start a server to end them.
            let Some(session) = client.open_session() else { return };
            runtime.spawn(async move {
                for uri in uris {
                    let wish = OutgoingRequest::new(method::RESOURCES_UNSUBSCRIBE, about(&uri));
                    if session.request(&wish).await.is_err() {
                        return;
                    }
                }
            });
        }
    }
}

impl Client {
    /// Subscribes to changes. Fails if the server does not report changes of every requested resource.
    pub async fn listen(&self, interest: Interest) -> Result<ChangeStream, Error> {
        let session = self.session().await?;
        let listener = Arc::new(Listener {
            normal_uris: interest.uris.iter().map(|uri| normal(uri)).collect(),
            interest,
            news: Mutex::default(),
            more: Notify::new(),
            acknowledged: Mutex::default(),
        });
        self.host().add(&listener);
        match session.era() {
            Era::Legacy => self.subscribe(listener).await,
            Era::Modern => self.stream(listener).await,
        }
    }

    /// Returns an error that names the capability for these changes, if the server does not have it.
    fn lacks(&self, interest: &Interest) -> Option<Error> {
        let can = self.capabilities();
        let lists = [
            can.tools.as_ref().and_then(|tools| tools.list_changed),
            can.prompts.as_ref().and_then(|prompts| prompts.list_changed),
            can.resources.as_ref().and_then(|resources| resources.list_changed),
        ];
        if !interest.uris.is_empty() {
            let subscribes = can.resources.and_then(|resources| resources.subscribe);
            return (subscribes != Some(true)).then(no_subscriptions);
        }
        (interest.lists && !lists.contains(&Some(true))).then(no_list_changes)
    }

    /// Returns true if the metadata of each resource says that it can be subscribed to, whatever the server's capabilities say.
    async fn are_subscribable(&self, uris: &[String]) -> bool {
        for uri in uris {
            let metadata = self.metadata(uri).await.ok();
            let watchable = metadata.is_some_and(|resource| resource.is_watchable());
            if !watchable {
                return false;
            }
        }
        !uris.is_empty()
    }

    async fn subscribe(&self, listener: Arc<Listener>) -> Result<ChangeStream, Error> {
        let uris = listener.interest.uris.clone();
        if let Some(error) = self.lacks(&listener.interest)
            && !self.are_subscribable(&uris).await
        {
            return Err(error);
        }
        let mut listening =
            ChangeStream { listener, task: None, subscribed: Some((self.clone(), Vec::new())) };
        for uri in uris {
            self.ask(OutgoingRequest::new(method::RESOURCES_SUBSCRIBE, about(&uri))).await?;
            if let Some((_, subscribed)) = &mut listening.subscribed {
                subscribed.push(uri);
            }
        }
        // A session that ends takes its subscriptions with it, so this task subscribes again.
        let (client, listener) = (self.clone(), listening.listener.clone());
        listening.task = Some(tokio::spawn(async move { client.keep_subscribed(&listener).await }));
        Ok(listening)
    }

    async fn keep_subscribed(&self, listener: &Listener) {
        let mut session = self.open_session();
        let mut failed = 0;
        loop {
            tokio::time::sleep(self.pause(failed).max(LOOKS)).await;
            if session.as_ref().is_some_and(|session| session.is_alive()) {
                failed = 0;
                continue;
            }
            failed += 1;
            session = self.session_for(Work::Listening).await.ok();
            if session.is_some() {
                for uri in &listener.interest.uris {
                    let mut wish = OutgoingRequest::new(method::RESOURCES_SUBSCRIBE, about(uri));
                    wish.listens = true;
                    let _ = self.ask(wish).await;
                }
                listener.push(Change::Resumed);
            }
        }
    }

    /// Returns how long a listener waits before it reconnects, after this number of failures.
    fn pause(&self, failed: u32) -> Duration {
        let wait = self.retry().base.saturating_mul(2_u32.saturating_pow(failed.min(8)));
        wait.min(self.retry().cap)
    }

    async fn stream(&self, listener: Arc<Listener>) -> Result<ChangeStream, Error> {
        let (tell, told) = oneshot::channel();
        let client = self.clone();
        let heard = listener.clone();
        let task = tokio::spawn(async move { client.hold_open(&heard, tell).await });
        let listening =
            ChangeStream { listener: listener.clone(), task: Some(task), subscribed: None };
        let wait = self.limits().answer;
        let told = tokio::time::timeout(wait, told).await;
        let honoured = match told {
            Ok(Ok(Ok(honoured))) => honoured,
            // A server without the capability may lack the method, too.
            Ok(Ok(Err(error @ (Error::Server(_) | Error::Unsupported(_))))) => {
                return Err(self.lacks(&listener.interest).unwrap_or(error));
            }
            Ok(Ok(Err(error))) => return Err(error),
            Ok(Err(_)) => {
                return Err(Error::Lost { why: "the stream ended at once".to_owned(), sent: true });
            }
            Err(_) => {
                let silent = Error::TimedOut { after: wait };
                return Err(self.lacks(&listener.interest).unwrap_or(silent));
            }
        };
        let lists = [
            honoured.tools_list_changed,
            honoured.prompts_list_changed,
            honoured.resources_list_changed,
        ];
        let uris = honoured.resource_subscriptions.unwrap_or_default();
        let Interest { lists: wants_lists, uris: wanted } = &listener.interest;
        if *wants_lists && wanted.is_empty() && !lists.contains(&Some(true)) {
            return Err(no_list_changes());
        }
        let is_honoured = |uri: &&String| uris.iter().any(|honoured| is_same_uri(honoured, uri));
        match wanted.iter().find(|uri| !is_honoured(uri)) {
            Some(_) if uris.is_empty() => Err(no_subscriptions()),
            Some(uri) => Err(Error::Unsupported(format!("changes of {uri}"))),
            None => Ok(listening),
        }
    }

    /// Opens the stream, and opens it again whenever it ends.
    async fn hold_open(
        &self,
        listener: &Arc<Listener>,
        first: oneshot::Sender<Result<SubscriptionFilter, Error>>,
    ) {
        let mut filter = SubscriptionFilter::new();
        if listener.interest.lists {
            filter.tools_list_changed = Some(true);
            filter.prompts_list_changed = Some(true);
            filter.resources_list_changed = Some(true);
        }
        if !listener.interest.uris.is_empty() {
            filter.resource_subscriptions = Some(listener.interest.uris.clone());
        }
        let params = ListenParams::new(filter);
        let mut first = Some(first);
        let mut failed = 0;
        loop {
            let mut since = None;
            let (tell, mut told) = oneshot::channel();
            let tell = Mutex::new(Some(tell));
            let named = |id: &RequestId| {
                if let Some(tell) = locked(&tell).take() {
                    locked(&listener.acknowledged).insert(id.clone(), tell);
                }
            };
            let Ok(params) = written(&params) else { return };
            let mut wish = OutgoingRequest::new(method::LISTEN, params);
            (wish.endless, wish.listens) = (true, true);
            wish.named = Some(&named);
            let request = self.ask(wish);
            tokio::pin!(request);
            let mut acknowledged = |honoured| {
                since = Some(Instant::now());
                match first.take() {
                    Some(first) => {
                        let _ = first.send(Ok(honoured));
                    }
                    None => listener.push(Change::Resumed),
                }
            };
            let ended = tokio::select! {
                ended = &mut request => {
                    // The acknowledgment may have come together with the end.
                    if let Ok(honoured) = told.try_recv() {
                        acknowledged(honoured);
                    }
                    ended
                }
                Ok(honoured) = &mut told => {
                    acknowledged(honoured);
                    request.await
                }
            };
            locked(&listener.acknowledged).clear();
            if let (Some(tell), Err(error)) = (first.take(), ended) {
                let unknown =
                    matches!(&error, Error::Server(e) if e.code() == code::METHOD_NOT_FOUND);
                let _ = tell.send(Err(if unknown { no_method() } else { error }));
                return;
            }
            // A stream that is cut at once is not a success, however often the server opens one.
            failed = if since.is_some_and(|at| at.elapsed() >= LASTING) { 1 } else { failed + 1 };
            tokio::time::sleep(self.pause(failed)).await;
        }
    }
}
