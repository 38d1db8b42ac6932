//! Hearing of changes, in both eras: a modern stream of news, or legacy subscriptions.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use candor_protocol::Era;
use candor_protocol::json::Object;
use candor_protocol::names::{meta, method, notification};
use candor_protocol::rpc::{Notification, RequestId};
use candor_protocol::types::{AcknowledgedParams, ListenParams, SubscriptionFilter};
use tokio::sync::{Notify, oneshot};
use tokio::task::JoinHandle;

use crate::client::{Client, written};
use crate::error::Error;
use crate::members::{DecodeObject as _, locked};
use crate::resources::about;
use crate::session::Wish;

/// Something is not as it was.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Change {
    /// The list of tools.
    Tools,
    /// The list of prompts.
    Prompts,
    /// The list of resources.
    Resources,
    /// The resource with this URI.
    Resource(String),
    /// The connection was lost and is there again: whatever happened in between was missed.
    Resumed,
}

/// What to hear of.
#[derive(Debug, Clone, Default)]
pub struct Interest {
    lists: bool,
    uris: Vec<String>,
}

impl Interest {
    /// Nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The lists of tools, prompts and resources.
    #[must_use]
    pub fn lists(mut self) -> Self {
        self.lists = true;
        self
    }

    /// A resource.
    #[must_use]
    pub fn resource(mut self, uri: impl Into<String>) -> Self {
        self.uris.push(uri.into());
        self
    }
}

/// Whoever waits for changes. What was not yet looked at is kept once, however often it changed.
#[derive(Debug)]
pub(crate) struct Listener {
    interest: Interest,
    news: Mutex<VecDeque<Change>>,
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
                // A server may tell of what stands beneath.
                let wanted = |uri: &String| self.interest.uris.iter().any(|at| is_beneath(uri, at));
                match uri.filter(wanted) {
                    Some(uri) => Change::Resource(uri),
                    None => return,
                }
            }
            _ => return,
        };
        self.push(change);
    }

    fn push(&self, change: Change) {
        let mut news = locked(&self.news);
        if !news.contains(&change) && news.len() < 10_000 {
            news.push_back(change);
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

/// Whether a URI is this one, or stands beneath it.
fn is_beneath(uri: &str, at: &str) -> bool {
    let rest = uri.strip_prefix(at);
    rest.is_some_and(|rest| rest.is_empty() || at.ends_with('/') || rest.starts_with('/'))
}

/// Changes as they come, until it is dropped.
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
pub struct Listening {
    listener: Arc<Listener>,
    /// Holds the stream open.
    task: Option<JoinHandle<()>>,
    /// Legacy subscriptions, to be ended.
    subscribed: Option<(Client, Vec<String>)>,
}

impl Listening {
    /// The next change.
    pub async fn next(&mut self) -> Change {
        loop {
            let more = self.listener.more.notified();
            if let Some(change) = locked(&self.listener.news).pop_front() {
                return change;
            }
            more.await;
        }
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        if let Some(task) = &self.task {
            task.abort();
        }
        if let (Some((client, uris)), Ok(runtime)) =
            (self.subscribed.take(), tokio::runtime::Handle::try_current())
        {
            runtime.spawn(async move {
                for uri in uris {
                    let _ = client.ask(Wish::new(method::RESOURCES_UNSUBSCRIBE, about(&uri))).await;
                }
            });
        }
    }
}

impl Client {
    /// Hears of changes. Fails if the server does not tell of any of the resources.
    pub async fn listen(&self, interest: Interest) -> Result<Listening, Error> {
        let session = self.session().await?;
        let listener = Arc::new(Listener {
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

    async fn subscribe(&self, listener: Arc<Listener>) -> Result<Listening, Error> {
        let uris = listener.interest.uris.clone();
        if !uris.is_empty() && self.capabilities().resources.and_then(|r| r.subscribe) != Some(true)
        {
            return Err(Error::Unsupported("news of resources".to_owned()));
        }
        let mut listening =
            Listening { listener, task: None, subscribed: Some((self.clone(), Vec::new())) };
        for uri in uris {
            self.ask(Wish::new(method::RESOURCES_SUBSCRIBE, about(&uri))).await?;
            if let Some((_, subscribed)) = &mut listening.subscribed {
                subscribed.push(uri);
            }
        }
        // A session that ends takes its subscriptions along.
        let (client, listener) = (self.clone(), listening.listener.clone());
        listening.task = Some(tokio::spawn(async move { client.keep_subscribed(&listener).await }));
        Ok(listening)
    }

    async fn keep_subscribed(&self, listener: &Listener) {
        let mut session = self.session().await.ok();
        loop {
            tokio::time::sleep(Duration::from_secs(2)).await;
            if session.as_ref().is_some_and(|session| session.is_alive()) {
                continue;
            }
            session = self.session().await.ok();
            if session.is_some() {
                for uri in &listener.interest.uris {
                    let _ = self.ask(Wish::new(method::RESOURCES_SUBSCRIBE, about(uri))).await;
                }
                listener.push(Change::Resumed);
            }
        }
    }

    async fn stream(&self, listener: Arc<Listener>) -> Result<Listening, Error> {
        let (tell, told) = oneshot::channel();
        let client = self.clone();
        let heard = listener.clone();
        let task = tokio::spawn(async move { client.hold_open(&heard, tell).await });
        let listening =
            Listening { listener: listener.clone(), task: Some(task), subscribed: None };
        let wait = self.limits().answer;
        let told = tokio::time::timeout(wait, told).await;
        let honoured = match told {
            Ok(Ok(honoured)) => honoured?,
            Ok(Err(_)) => {
                return Err(Error::Lost { why: "the stream ended at once".to_owned(), sent: true });
            }
            Err(_) => return Err(Error::TimedOut { after: wait }),
        };
        let uris = honoured.resource_subscriptions.unwrap_or_default();
        match listener.interest.uris.iter().find(|uri| !uris.contains(uri)) {
            Some(uri) => Err(Error::Unsupported(format!("news of {uri}"))),
            None => Ok(listening),
        }
    }

    /// Asks for the stream again whenever it ends.
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
            let (tell, told) = oneshot::channel();
            let tell = Mutex::new(Some(tell));
            let named = |id: &RequestId| {
                if let Some(tell) = locked(&tell).take() {
                    locked(&listener.acknowledged).insert(id.clone(), tell);
                }
            };
            let Ok(params) = written(&params) else { return };
            let mut wish = Wish::new(method::LISTEN, params);
            wish.endless = true;
            wish.named = Some(&named);
            let request = self.ask(wish);
            tokio::pin!(request);
            let ended = tokio::select! {
                ended = &mut request => ended,
                Ok(honoured) = told => {
                    failed = 0;
                    match first.take() {
                        Some(first) => {
                            let _ = first.send(Ok(honoured));
                        }
                        None => listener.push(Change::Resumed),
                    }
                    request.await
                }
            };
            if let (Some(tell), Err(error)) = (first.take(), ended) {
                let _ = tell.send(Err(error));
                return;
            }
            failed += 1;
            let wait = self.retry().base.saturating_mul(2_u32.saturating_pow(failed.min(8)));
            tokio::time::sleep(wait.min(self.retry().cap)).await;
        }
    }
}
