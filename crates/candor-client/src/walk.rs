//! Walks a resource tree within limits.

use std::collections::{HashMap, HashSet, VecDeque};
use std::fmt;
use std::time::{Duration, Instant};

use candor_protocol::json::Object;
use candor_protocol::names::method;
use candor_protocol::types::Resource;
use futures_util::Stream;

use crate::client::Client;
use crate::error::Error;
use crate::lists::Pages;
use crate::metadata::described;
use crate::resources::{about, is_missing_method, ways_to_list};

/// The media type of a folder, for servers that declare nothing else.
const FOLDER: &str = "inode/directory";

/// A walk over a resource tree. Each resource comes before the resources inside it.
///
/// A server may send an endless tree, so there are limits on depth, number, time and memory, and no URI is visited twice. The walk
/// lists only resources that say that they can be listed. It reports a list that fails, and continues.
///
/// ```no_run
/// # async fn example(client: &candor_client::Client) {
/// let mut walk = client.walk("file:///").depth(4);
/// while let Some(step) = walk.next().await {
///     match step {
///         Ok(step) => println!("{}{}", "  ".repeat(step.depth), step.resource.name),
///         Err(failed) => eprintln!("{failed}"),
///     }
/// }
/// if let Some(stopped) = walk.stopped() {
///     eprintln!("not all of it: {stopped:?}");
/// }
/// # }
/// ```
#[derive(Debug)]
pub struct Walk {
    client: Client,
    depth: usize,
    count: usize,
    time: Duration,
    known: Option<Snapshot>,
    /// Where the walk begins. `None` after it has begun.
    start: Option<Start>,
    /// The open folders, the innermost last.
    open: Vec<Folder>,
    visited: HashSet<String>,
    /// The bytes of all URIs in `visited`.
    visited_bytes: usize,
    given: usize,
    until: Option<Instant>,
    stopped: Option<WalkStop>,
    /// Only a read shows the children of the resource where the walk begins.
    opens_by_read: bool,
    /// The error of `resources/metadata` about the resource where the walk begins, if another method described it.
    refused_metadata: Option<Error>,
    /// The list methods that the server supports, as far as known.
    ways: Option<Vec<&'static str>>,
}

#[derive(Debug)]
enum Start {
    /// The server's own list.
    Roots,
    At(String),
}

/// A folder whose children are being listed.
#[derive(Debug)]
struct Folder {
    uri: Option<String>,
    depth: usize,
    found: VecDeque<Resource>,
    /// The remaining pages.
    pages: Option<Pages>,
    /// The approximate memory of `found`, in bytes.
    cost: usize,
}

/// A resource that the walk found.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Step {
    /// The resource.
    pub resource: Resource,
    /// The depth below the start. The start has depth 0.
    pub depth: usize,
}

/// The limit that cut a walk short.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum WalkStop {
    /// The tree is deeper than the limit.
    Depth,
    /// The tree has more resources than the limit.
    Count,
    /// The time is up.
    Time,
}

/// A resource or list that failed.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct WalkError {
    /// The resource that failed, or whose children could not be listed. `None`: the server's own list.
    pub uri: Option<String>,
    /// Why it failed.
    pub error: Error,
}

impl fmt::Display for WalkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.uri {
            Some(uri) => write!(f, "{uri}: {}", self.error),
            None => self.error.fmt(f),
        }
    }
}

impl std::error::Error for WalkError {}

/// The versions of resources, to detect changes later.
#[derive(Debug, Clone, Default)]
pub struct Snapshot(HashMap<String, (Option<String>, Option<u64>)>);

impl Snapshot {
    /// Creates an empty snapshot.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Stores the current version of a resource.
    pub fn note(&mut self, resource: &Resource) {
        self.0.insert(resource.uri.clone(), version(resource));
    }

    /// Returns true if the resource is unchanged. A resource without a modification time counts as changed.
    #[must_use]
    pub fn is_unchanged(&self, resource: &Resource) -> bool {
        let now = version(resource);
        now.0.is_some() && self.0.get(&resource.uri) == Some(&now)
    }
}

fn version(resource: &Resource) -> (Option<String>, Option<u64>) {
    let modified = resource.annotations.as_ref().and_then(|a| a.last_modified.clone());
    (modified, resource.size.as_ref().and_then(candor_protocol::json::Number::as_u64))
}

impl Client {
    /// Walks a resource and everything inside it.
    pub fn walk(&self, uri: impl Into<String>) -> Walk {
        Walk::new(self, Start::At(uri.into()))
    }

    /// Walks all resources that the server lists, and everything inside them.
    pub fn walk_all(&self) -> Walk {
        Walk::new(self, Start::Roots)
    }
}

impl Walk {
    fn new(client: &Client, start: Start) -> Self {
        Self {
            client: client.clone(),
            depth: 16,
            count: 10_000,
            time: Duration::from_secs(60),
            known: None,
            start: Some(start),
            open: Vec::new(),
            visited: HashSet::new(),
            visited_bytes: 0,
            given: 0,
            until: None,
            stopped: None,
            opens_by_read: false,
            refused_metadata: None,
            ways: None,
        }
    }

    /// Sets the maximum depth.
    #[must_use]
    pub fn depth(mut self, depth: usize) -> Self {
        self.depth = depth;
        self
    }

    /// Sets the maximum number of resources.
    #[must_use]
    pub fn count(mut self, count: usize) -> Self {
        self.count = count;
        self
    }

    /// Sets the maximum time of the whole walk.
    #[must_use]
    pub fn time(mut self, time: Duration) -> Self {
        self.time = time;
        self
    }

    /// Leaves out unchanged resources. A resource that can be listed is never left out, because its children may have changed.
    #[must_use]
    pub fn changed_since(mut self, known: Snapshot) -> Self {
        self.known = Some(known);
        self
    }

    /// Returns the limit that cut the walk short: depth, number or time. `None` if none did. The memory limit is an error of
    /// [`next`](Self::next) instead.
    #[must_use]
    pub fn stopped(&self) -> Option<WalkStop> {
        self.stopped
    }

    /// Returns the error of `resources/metadata` about the resource where the walk began, if another method described it; see
    /// [`Client::describe`].
    #[must_use]
    pub fn refused_metadata(&self) -> Option<&Error> {
        self.refused_metadata.as_ref()
    }

    /// Returns the next resource, or an error for a list that failed. Returns `None` at the end.
    pub async fn next(&mut self) -> Option<Result<Step, WalkError>> {
        let until = *self.until.get_or_insert_with(|| Instant::now() + self.time);
        match tokio::time::timeout_at(until.into(), self.step()).await {
            Ok(step) => step,
            Err(_) => {
                self.stopped = Some(WalkStop::Time);
                self.open.clear();
                self.start = None;
                None
            }
        }
    }

    /// Converts the walk to a stream.
    pub fn into_stream(self) -> impl Stream<Item = Result<Step, WalkError>> {
        futures_util::stream::unfold(self, |mut walk| async move {
            walk.next().await.map(|step| (step, walk))
        })
    }

    async fn step(&mut self) -> Option<Result<Step, WalkError>> {
        if let Some(start) = self.start.take()
            && let Err(failed) = self.begin(start).await
        {
            return Some(Err(failed));
        }
        loop {
            let folder = self.open.last_mut()?;
            let Some(resource) = folder.found.pop_front() else {
                match self.more().await {
                    Ok(true) => continue,
                    Ok(false) => {
                        self.open.pop();
                        continue;
                    }
                    Err(failed) => {
                        self.open.pop();
                        return Some(Err(failed));
                    }
                }
            };
            let depth = folder.depth;
            if !self.visited.insert(resource.uri.clone()) {
                continue;
            }
            self.visited_bytes += resource.uri.len();
            if self.given >= self.count {
                self.stopped = Some(WalkStop::Count);
                self.open.clear();
                return None;
            }
            let listable = self.can_list(&resource) || (depth == 0 && self.opens_by_read);
            if listable && depth < self.depth {
                let pages = self.pages(&resource);
                let uri = Some(resource.uri.clone());
                let found = VecDeque::new();
                self.open.push(Folder { uri, depth: depth + 1, found, pages, cost: 0 });
            } else if listable {
                self.stopped.get_or_insert(WalkStop::Depth);
            }
            let unchanged = self.known.as_ref().is_some_and(|known| known.is_unchanged(&resource));
            if unchanged && !listable {
                continue;
            }
            self.given += 1;
            return Some(Ok(Step { resource, depth }));
        }
    }

    async fn begin(&mut self, start: Start) -> Result<(), WalkError> {
        let failed = |uri: Option<&str>| {
            let uri = uri.map(str::to_owned);
            move |error| WalkError { uri, error }
        };
        let session = self.client.need_resources().await.map_err(failed(None))?;
        let mut first =
            Folder { uri: None, depth: 0, found: VecDeque::new(), pages: None, cost: 0 };
        match start {
            Start::Roots => {
                first.pages = Some(Pages::new(method::RESOURCES_LIST, "resources", Object::new()));
            }
            Start::At(uri) => {
                let found = self.client.describe(&uri).await.map_err(failed(Some(&uri)))?;
                self.opens_by_read = found.opens_by_read;
                self.refused_metadata = found.refused;
                first.found.push_back(found.resource);
            }
        }
        // Describing a resource may have shown that the server ignores `uri`.
        self.ways = Some(ways_to_list(&session));
        self.open.push(first);
        Ok(())
    }

    /// Returns true if the resource says that it can be listed. A folder's media type counts only if the server has a method for
    /// folders.
    fn can_list(&self, resource: &Resource) -> bool {
        let said = resource.capabilities.as_ref().and_then(|can| can.list);
        said.unwrap_or_else(|| {
            resource.mime_type.as_deref() == Some(FOLDER)
                && self.ways.as_ref().is_some_and(|ways| ways.contains(&method::DIRECTORY_READ))
        })
    }

    /// Begins the list of a resource's children. `resources/list` accepts only a resource that says that it can be listed.
    fn pages(&self, resource: &Resource) -> Option<Pages> {
        let says_so = resource.is_listable();
        let mut ways = self.ways.iter().flatten();
        let way = ways.find(|way| says_so || **way == method::DIRECTORY_READ)?;
        Some(Pages::new(way, "resources", about(&resource.uri)))
    }

    /// Drops a list method that the server does not support, and begins this folder's list with another one.
    fn next_way(&mut self, given_up: &str, uri: &str) -> Option<Pages> {
        let ways = self.ways.get_or_insert_default();
        ways.retain(|way| *way != given_up);
        ways.first().map(|way| Pages::new(way, "resources", about(uri)))
    }

    /// Fetches more entries of the innermost folder. Returns false if there are no more.
    async fn more(&mut self) -> Result<bool, WalkError> {
        let limit = self.client.limits().max_list;
        let Some(folder) = self.open.last_mut() else { return Ok(false) };
        let uri = folder.uri.clone();
        let failed = |error| WalkError { uri: folder.uri.clone(), error };
        let Some(pages) = &mut folder.pages else {
            // The server cannot list the children: use the other contents that a read returns.
            let Some(uri) = folder.uri.clone() else { return Ok(false) };
            let contents = self.client.read(&uri).await.map_err(failed)?;
            folder.found.extend(contents.others().into_iter().cloned().map(described));
            // A read has no further pages.
            folder.uri = None;
            return Ok(!folder.found.is_empty());
        };
        let method = pages.method();
        match self.client.next_page(pages).await {
            Ok(Some(page)) => {
                folder.cost = page.cost;
                let held = self.open.iter().map(|folder| folder.cost).sum::<usize>();
                if held + self.visited_bytes > limit {
                    self.open.clear();
                    let error = Error::list_too_large("resources", limit);
                    return Err(WalkError { uri, error });
                }
                let found = page.read::<Resource>("resources");
                let found = found.map_err(|error| WalkError { uri: uri.clone(), error })?;
                if let Some(uri) = uri.filter(|_| method == method::RESOURCES_LIST) {
                    let scoped = self.client.is_scoped(&found).await;
                    if !scoped.map_err(|error| WalkError { uri: Some(uri.clone()), error })? {
                        let pages = self.next_way(method, &uri);
                        if let Some(folder) = self.open.last_mut() {
                            (folder.pages, folder.cost) = (pages, 0);
                        }
                        return Ok(true);
                    }
                }
                if let Some(folder) = self.open.last_mut() {
                    folder.found.extend(found);
                }
                Ok(true)
            }
            Ok(None) => Ok(false),
            // The server does not have the method after all: use the next one from here on.
            Err(error) if is_missing_method(&error) && folder.uri.is_some() => {
                let pages = self.next_way(method, &uri.unwrap_or_default());
                if let Some(folder) = self.open.last_mut() {
                    folder.pages = pages;
                }
                Ok(true)
            }
            Err(error) => Err(failed(error)),
        }
    }
}
