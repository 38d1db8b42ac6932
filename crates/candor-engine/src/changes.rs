//! What changed, reported to listeners.
//!
//! Each listener has a set of what changed since it last read, never a queue. A thousand changes of one resource are one entry, so
//! subscriptions bound the memory. The last change of each thing is always reported.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

/// One thing that changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// The list of tools.
    Tools,
    /// The list of prompts.
    Prompts,
    /// The list of resources.
    Resources,
    /// One resource: its content, or its direct children.
    Resource(Arc<str>),
}

/// The lists that a listener wants changes of. Resources are added one by one.
#[derive(Debug, Clone, Copy, Default)]
pub struct Lists {
    /// The list of tools.
    pub tools: bool,
    /// The list of prompts.
    pub prompts: bool,
    /// The list of resources.
    pub resources: bool,
}

impl Lists {
    /// Returns true if it wants changes of any list.
    #[must_use]
    pub fn any(self) -> bool {
        self.tools || self.prompts || self.resources
    }

    fn include(self, change: &Change) -> bool {
        match change {
            Change::Tools => self.tools,
            Change::Prompts => self.prompts,
            Change::Resources => self.resources,
            Change::Resource(_) => true,
        }
    }
}

/// Reports changes to listening clients. Cloning gives another handle to the same server.
///
/// ```
/// use candor_server::Server;
///
/// let engine = Server::new("notes", "1.0.0").build()?;
/// let changes = engine.changes().clone();    // for the code that notices: a thread that watches, a handler (`ctx.changes()`)
/// changes.resource("note:///today");         // reported to clients that subscribed to it
/// changes.tools();                           // reported to clients that listen for lists
/// # Ok::<(), candor_server::BuildError>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct Changes(Arc<Mutex<Listeners>>);

/// All listeners.
#[derive(Debug, Default)]
struct Listeners {
    named: u64,
    all: HashMap<u64, Arc<Ear>>,
    /// The listeners of each resource, so that a change costs nothing for the others.
    by_uri: HashMap<Arc<str>, Vec<u64>>,
}

#[derive(Debug)]
struct Ear {
    lists: Lists,
    news: Mutex<PendingChanges>,
    heard: Notify,
}

/// What changed since the listener last read, ordered by first occurrence.
#[derive(Debug, Default)]
struct PendingChanges {
    changes: Vec<Change>,
    uris: HashSet<Arc<str>>,
}

impl Ear {
    fn tell(&self, change: Change) {
        let mut news = lock(&self.news);
        let is_new = match &change {
            Change::Resource(uri) => news.uris.insert(uri.clone()),
            list => !news.changes.contains(list),
        };
        if is_new {
            news.changes.push(change);
            drop(news);
            self.heard.notify_one();
        }
    }
}

impl Changes {
    /// Reports that the list of tools changed.
    pub fn tools(&self) {
        self.tell_all(&Change::Tools);
    }

    /// Reports that the list of prompts changed.
    pub fn prompts(&self) {
        self.tell_all(&Change::Prompts);
    }

    /// Reports that the list of resources changed.
    pub fn resources(&self) {
        self.tell_all(&Change::Resources);
    }

    /// Reports that one resource changed: its content, or its direct children.
    pub fn resource(&self, uri: &str) {
        let ears = lock(&self.0);
        if let Some((uri, listening)) = ears.by_uri.get_key_value(uri) {
            for ear in listening.iter().filter_map(|number| ears.all.get(number)) {
                ear.tell(Change::Resource(uri.clone()));
            }
        }
    }

    fn tell_all(&self, change: &Change) {
        let ears = lock(&self.0);
        ears.all.values().filter(|ear| ear.lists.include(change)).for_each(|ear| {
            ear.tell(change.clone());
        });
    }

    /// Adds a listener for lists. Resources are added one by one.
    #[must_use]
    pub fn listen(&self, lists: Lists) -> ChangeListener {
        let ear = Arc::new(Ear { lists, news: Mutex::default(), heard: Notify::new() });
        let mut ears = lock(&self.0);
        ears.named += 1;
        let number = ears.named;
        ears.all.insert(number, ear.clone());
        ChangeListener { changes: self.clone(), number, ear, uris: Mutex::default() }
    }
}

/// A listener, until it is dropped.
#[derive(Debug)]
pub struct ChangeListener {
    changes: Changes,
    number: u64,
    ear: Arc<Ear>,
    uris: Mutex<HashSet<Arc<str>>>,
}

impl ChangeListener {
    /// Adds a resource to what it listens to.
    pub fn add(&self, uri: &str) {
        let uri: Arc<str> = uri.into();
        if lock(&self.uris).insert(uri.clone()) {
            lock(&self.changes.0).by_uri.entry(uri).or_default().push(self.number);
        }
    }

    /// Stops listening to a resource, and drops a change that was not reported yet.
    pub fn remove(&self, uri: &str) {
        if lock(&self.uris).remove(uri) {
            lock(&self.changes.0).forget(uri, self.number);
            let mut news = lock(&self.ear.news);
            news.uris.remove(uri);
            news.changes.retain(|change| !matches!(change, Change::Resource(u) if **u == *uri));
        }
    }

    /// Waits for changes and returns those since the last call. Cancel-safe.
    pub async fn next(&self) -> Vec<Change> {
        loop {
            let news = std::mem::take(&mut *lock(&self.ear.news));
            if !news.changes.is_empty() {
                return news.changes;
            }
            self.ear.heard.notified().await;
        }
    }
}

impl Drop for ChangeListener {
    fn drop(&mut self) {
        let mut ears = lock(&self.changes.0);
        ears.all.remove(&self.number);
        for uri in lock(&self.uris).iter() {
            ears.forget(uri, self.number);
        }
    }
}

impl Listeners {
    fn forget(&mut self, uri: &str, number: u64) {
        if let Some(listening) = self.by_uri.get_mut(uri) {
            listening.retain(|other| *other != number);
            if listening.is_empty() {
                self.by_uri.remove(uri);
            }
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A panic under the lock leaves the value consistent.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt;

    fn heard(listener: &ChangeListener) -> Vec<Change> {
        listener.next().now_or_never().unwrap_or_default()
    }

    #[test]
    fn pending_changes_of_a_resource_are_merged() {
        let changes = Changes::default();
        let listener = changes.listen(Lists::default());
        listener.add("x:a");
        listener.add("x:b");
        for _ in 0..1000 {
            changes.resource("x:a");
            changes.resource("x:b");
            changes.resource("x:c");
            changes.tools();
        }
        let news = [Change::Resource("x:a".into()), Change::Resource("x:b".into())];
        assert_eq!(heard(&listener), news);
        assert!(heard(&listener).is_empty());
        changes.resource("x:b");
        assert_eq!(heard(&listener), news[1..]);
    }

    #[test]
    fn dropped_listener_is_removed_from_all_indexes() {
        let changes = Changes::default();
        let lists = Lists { tools: true, ..Lists::default() };
        let listener = changes.listen(lists);
        listener.add("x:a");
        changes.resource("x:a");
        changes.tools();
        listener.remove("x:a");
        changes.resource("x:a");
        assert_eq!(heard(&listener), [Change::Tools]);
        listener.add("x:a");
        drop(listener);
        let ears = lock(&changes.0);
        assert!(ears.all.is_empty() && ears.by_uri.is_empty(), "{ears:?}");
    }

    #[tokio::test]
    async fn listener_wakes_on_the_first_change() {
        let changes = Changes::default();
        let listener = changes.listen(Lists { prompts: true, ..Lists::default() });
        let waiting = listener.next();
        tokio::pin!(waiting);
        assert!(waiting.as_mut().now_or_never().is_none());
        changes.prompts();
        assert_eq!(waiting.await, [Change::Prompts]);
    }
}
