//! When something in a folder changes.
//!
//! The operating system says so at once, and every two seconds what is watched is looked at besides: some file systems have no
//! news to give, queues overflow, and a folder on the way may be moved without a word. A place is watched by its name in
//! its folder, so a file that is replaced by another is still the same resource.
//!
//! News wait in a set for a moment before they are told: a thousand writes are one change, and memory is bounded by what is
//! watched.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use candor_server::Changes;
use notify::event::{AccessKind, AccessMode, ModifyKind};
use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode};

use crate::entry::Kind;
use crate::place::Place;
use crate::root::Root;

/// How long news wait for more of the same.
const MOMENT: Duration = Duration::from_millis(50);

/// How often what is watched is looked at without being told.
const ROUND: Duration = Duration::from_secs(2);

/// Watches places of one root.
pub(crate) struct Watcher {
    shared: Arc<Shared>,
    /// The default list, as long as the server lives.
    list: Mutex<Option<Watch>>,
}

struct Shared {
    root: Root,
    state: Mutex<State>,
    /// Something waits to be told, or nothing is watched any more.
    wake: Condvar,
    /// Taken before `state`, never while holding it: the system's own thread, which it waits for, needs `state`.
    system: Mutex<System>,
}

#[derive(Default)]
struct State {
    named: u64,
    watched: HashMap<u64, Watched>,
    /// Which watches want news of a folder.
    folders: HashMap<PathBuf, Vec<u64>>,
    /// Which watches have news.
    news: HashSet<u64>,
    /// Whether there is a thread that tells them.
    told: bool,
}

/// The system's source of news.
#[derive(Default)]
enum System {
    #[default]
    NotYet,
    Watching(RecommendedWatcher),
    /// There is none; looking has to do.
    Without,
}

struct Watched {
    place: Place,
    folder: PathBuf,
    /// The name in the folder that matters; all of them if it is the folder itself.
    name: Option<Vec<u8>>,
    tell: Tell,
    seen: Seen,
}

/// Who is told what.
enum Tell {
    Resource(Arc<str>, Changes),
    List(Changes),
}

/// What a look shows: nothing, or something of this kind, size and time.
type Seen = Option<(Kind, u64, Option<SystemTime>)>;

/// A place is watched until this is dropped.
pub(crate) struct Watch {
    shared: Arc<Shared>,
    number: u64,
}

impl Watcher {
    pub(crate) fn new(root: Root) -> Self {
        let shared = Shared {
            root,
            state: Mutex::default(),
            wake: Condvar::new(),
            system: Mutex::default(),
        };
        Self { shared: Arc::new(shared), list: Mutex::default() }
    }

    /// Watches a place for a resource.
    pub(crate) fn watch(&self, place: Place, uri: String, changes: Changes) -> Watch {
        self.shared.begin(place, Tell::Resource(uri.into(), changes))
    }

    /// Watches the root for the list of resources.
    pub(crate) fn watch_list(&self, changes: &Changes) {
        let watch = self.shared.begin(Place::root(), Tell::List(changes.clone()));
        *lock(&self.list) = Some(watch);
    }
}

impl fmt::Debug for Watcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let watched = lock(&self.shared.state).watched.len();
        f.debug_struct("Watcher").field("watched", &watched).finish_non_exhaustive()
    }
}

impl Shared {
    fn begin(self: &Arc<Self>, place: Place, tell: Tell) -> Watch {
        let seen = self.look(&place);
        // A folder is watched itself, anything else in the folder that it stands in.
        let (folder, name) = match (place.parent(), place.name()) {
            (Some(parent), Some(name)) if !matches!(seen, Some((Kind::Folder, ..))) => {
                (self.path(&parent), Some(name.to_vec()))
            }
            _ => (self.path(&place), None),
        };
        let mut system = lock(&self.system);
        let mut state = lock(&self.state);
        state.named += 1;
        let number = state.named;
        let watching = state.folders.entry(folder.clone()).or_default();
        watching.push(number);
        let is_first = watching.len() == 1;
        state.watched.insert(number, Watched { place, folder: folder.clone(), name, tell, seen });
        let needs_thread = !std::mem::replace(&mut state.told, true);
        drop(state);
        if is_first {
            system.watch(self, &folder);
        }
        drop(system);
        if needs_thread {
            self.clone().start();
        }
        Watch { shared: self.clone(), number }
    }

    fn end(&self, number: u64) {
        let mut system = lock(&self.system);
        let mut state = lock(&self.state);
        let Some(watched) = state.watched.remove(&number) else {
            return;
        };
        state.news.remove(&number);
        if let Some(watching) = state.folders.get_mut(&watched.folder) {
            watching.retain(|other| *other != number);
            if watching.is_empty() {
                state.folders.remove(&watched.folder);
                drop(state);
                system.forget(&watched.folder);
            }
        }
        self.wake.notify_one();
    }

    fn start(self: Arc<Self>) {
        let shared = self.clone();
        let started = std::thread::Builder::new()
            .name("candor-watch".to_owned())
            .spawn(move || shared.tell_news());
        if let Err(error) = started {
            tracing::error!(%error, "no thread to watch files with; changes will not be told");
            lock(&self.state).told = false;
        }
    }

    /// Tells the news until nothing is watched any more.
    fn tell_news(&self) {
        loop {
            let mut state = lock(&self.state);
            if state.watched.is_empty() {
                state.told = false;
                return;
            }
            let looks = state.watched.values().any(|w| matches!(w.tell, Tell::Resource(..)));
            if state.news.is_empty() {
                // The list alone is not worth waking for.
                let time = if looks { ROUND } else { Duration::from_secs(3600) };
                let waited = self.wake.wait_timeout(state, time);
                let (state, timed_out) = waited.unwrap_or_else(PoisonError::into_inner);
                let has_news = !state.news.is_empty();
                drop(state);
                if !has_news {
                    if timed_out.timed_out() {
                        self.look_around();
                    }
                    continue;
                }
            } else {
                drop(state);
            }
            std::thread::sleep(MOMENT);
            let news = std::mem::take(&mut lock(&self.state).news);
            self.tell(&news);
        }
    }

    /// Tells each resource once, however many watch it.
    fn tell(&self, news: &HashSet<u64>) {
        let places: Vec<_> = {
            let state = lock(&self.state);
            news.iter().filter_map(|n| Some((*n, state.watched.get(n)?.place.clone()))).collect()
        };
        // Looked at before it is told: what happens after the look is news again.
        let seen: Vec<_> = places.into_iter().map(|(n, place)| (n, self.look(&place))).collect();
        let mut told: HashSet<Arc<str>> = HashSet::new();
        let mut state = lock(&self.state);
        for (number, seen) in seen {
            let Some(watched) = state.watched.get_mut(&number) else {
                continue;
            };
            watched.seen = seen;
            match &watched.tell {
                Tell::List(changes) => changes.resources(),
                Tell::Resource(uri, changes) => {
                    if told.insert(uri.clone()) {
                        changes.resource(uri);
                    }
                }
            }
        }
    }

    /// Looks at all that is watched. What differs was not told by the system: perhaps the folder has become another one, so it
    /// is watched anew.
    fn look_around(&self) {
        let watched: Vec<_> = {
            let state = lock(&self.state);
            let watched = state.watched.iter();
            watched.map(|(n, w)| (*n, w.place.clone(), w.folder.clone(), w.seen)).collect()
        };
        let mut news = HashSet::new();
        let mut folders = HashSet::new();
        for (number, place, folder, seen) in watched {
            if self.look(&place) != seen {
                news.insert(number);
                folders.insert(folder);
            }
        }
        if news.is_empty() {
            return;
        }
        let mut system = lock(&self.system);
        for folder in folders {
            system.forget(&folder);
            system.watch_again(&folder);
        }
        drop(system);
        self.tell(&news);
    }

    fn look(&self, place: &Place) -> Seen {
        self.root.entry(place).ok().map(|entry| (entry.kind, entry.size, entry.modified))
    }

    /// Where a place is, for the system. If a folder on the way is swapped for a link at this very moment, the worst that
    /// can be heard is that something changed.
    fn path(&self, place: &Place) -> PathBuf {
        let mut path = self.root.path().to_owned();
        path.extend(place.names().map(os_name));
        path
    }

    /// News from the system; on a thread of its own, so this only takes note.
    fn heard(&self, event: notify::Result<Event>) {
        let mut state = lock(&self.state);
        let state = &mut *state;
        match event {
            Ok(event) if event.need_rescan() => state.news.extend(state.watched.keys()),
            Ok(event) => {
                for path in &event.paths {
                    state.note(path, &event.kind);
                }
            }
            Err(error) => {
                tracing::debug!(%error, "watching files");
                state.news.extend(state.watched.keys());
            }
        }
        if !state.news.is_empty() {
            self.wake.notify_one();
        }
    }
}

impl State {
    fn note(&mut self, path: &Path, kind: &EventKind) {
        // Who looks changes nothing; we look ourselves.
        let looks = matches!(kind, EventKind::Access(access) if *access != AccessKind::Close(AccessMode::Write));
        if looks {
            return;
        }
        let arranges = matches!(
            kind,
            EventKind::Create(_) | EventKind::Remove(_) | EventKind::Modify(ModifyKind::Name(_))
        );
        let name = path.file_name().map(std::ffi::OsStr::as_encoded_bytes);
        let above = path.parent().and_then(|folder| self.folders.get(folder));
        let itself = self.folders.get(path);
        for number in above.into_iter().chain(itself).flatten() {
            let Some(watched) = self.watched.get(number) else {
                continue;
            };
            let concerned = match (&watched.name, &watched.tell) {
                (_, Tell::List(_)) => arranges,
                (None, _) => true,
                (Some(wanted), _) => name == Some(wanted) || watched.folder == path,
            };
            if concerned {
                self.news.insert(*number);
            }
        }
    }
}

impl System {
    /// Begins to watch a folder; if the system cannot, looking has to do.
    fn watch(&mut self, shared: &Arc<Shared>, folder: &Path) {
        if matches!(self, Self::NotYet) {
            let listener = Arc::downgrade(shared);
            let watcher = notify::recommended_watcher(move |event| {
                if let Some(shared) = listener.upgrade() {
                    shared.heard(event);
                }
            });
            *self = match watcher {
                Ok(watcher) => Self::Watching(watcher),
                Err(error) => {
                    tracing::warn!(%error, "the system has no news of files to give; they are looked at every two seconds");
                    Self::Without
                }
            };
        }
        self.watch_again(folder);
    }

    fn watch_again(&mut self, folder: &Path) {
        use notify::Watcher as _;
        if let Self::Watching(watcher) = self
            && let Err(error) = watcher.watch(folder, RecursiveMode::NonRecursive)
        {
            tracing::debug!(%error, "a folder is looked at, because the system does not watch it");
        }
    }

    fn forget(&mut self, folder: &Path) {
        use notify::Watcher as _;
        if let Self::Watching(watcher) = self {
            // It may be gone already, and its watch with it.
            let _ = watcher.unwatch(folder);
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.shared.end(self.number);
    }
}

#[cfg(unix)]
fn os_name(name: &[u8]) -> &std::ffi::OsStr {
    std::os::unix::ffi::OsStrExt::from_bytes(name)
}

#[cfg(not(unix))]
fn os_name(name: &[u8]) -> std::ffi::OsString {
    String::from_utf8_lossy(name).into_owned().into()
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
