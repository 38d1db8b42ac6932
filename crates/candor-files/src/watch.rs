//! Detects changes in a folder.
//!
//! The operating system reports changes at once. Watched places are also checked every two seconds, or in turns if there are many
//! (`rounds`): some file systems report nothing, queues overflow, and a folder on the way may be moved without an event. A place is
//! watched by its name in its folder, so a file that replaces another one is still the same resource.
//!
//! Events wait in a set for a moment before clients are notified. So a thousand writes are one change, and the memory is bounded by
//! the number of watches. The time is bounded too: checks and notifications each have a share of one core, and watches beyond that
//! wait longer.

use std::collections::{BTreeMap, HashSet};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use candor_server::Changes;
use notify::event::{AccessKind, AccessMode, ModifyKind};
use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode};

use crate::entry::Kind;
use crate::interest::{Interest, WatchTarget};
use crate::place::RootedPath;
use crate::root::Root;
use crate::rounds::{Rounds, STRETCH, STRETCH_TIME, tell_again};
use crate::walk::LastLink;

/// How long events wait for more of the same.
const MOMENT: Duration = Duration::from_millis(50);

/// Watches places of one root.
pub(crate) struct Watcher {
    shared: Arc<WatcherShared>,
    /// The watch of the default list, as long as the server lives.
    list: Mutex<Option<Watch>>,
}

struct WatcherShared {
    root: Root,
    state: Mutex<WatcherState>,
    /// Wakes the thread: a watch has news, or watches were added or removed.
    wake: Condvar,
    /// Lock it before `state`, never while holding `state`. It waits for the system's own thread, which needs `state`.
    system: Mutex<System>,
}

#[derive(Default)]
struct WatcherState {
    named: u64,
    /// In order, so that all have their turn.
    watched: BTreeMap<u64, WatchedPath>,
    interest: Interest,
    /// The watches with news.
    news: HashSet<u64>,
    /// The watches that the system may have lost: another folder may have the name of theirs.
    lost: HashSet<u64>,
    /// Folders without a watch, which the system still watches.
    over: HashSet<PathBuf>,
    /// True if the thread for notifications runs.
    told: bool,
}

/// The system's source of events.
#[derive(Default)]
enum System {
    #[default]
    NotYet,
    Watching(RecommendedWatcher),
    /// There is none, so only checks find changes.
    Without,
}

struct WatchedPath {
    place: RootedPath,
    aim: WatchTarget,
    tell: Notification,
    seen: FileSnapshot,
}

/// What a watch reports, and to which clients.
enum Notification {
    Resource(Arc<str>, Changes),
    List(Changes),
}

/// The result of a check: nothing, or an entry of this kind, size and time.
type FileSnapshot = Option<(Kind, u64, Option<SystemTime>)>;

fn is_folder(seen: FileSnapshot) -> bool {
    matches!(seen, Some((Kind::Folder, ..)))
}

/// The watch of a place. It ends when this is dropped.
pub(crate) struct Watch {
    shared: Arc<WatcherShared>,
    number: u64,
}

impl Watcher {
    pub(crate) fn new(root: Root) -> Self {
        let shared = WatcherShared {
            root,
            state: Mutex::default(),
            wake: Condvar::new(),
            system: Mutex::default(),
        };
        Self { shared: Arc::new(shared), list: Mutex::default() }
    }

    /// Watches a place for a resource.
    pub(crate) fn watch(&self, place: RootedPath, uri: String, changes: Changes) -> Watch {
        self.shared.begin(place, Notification::Resource(uri.into(), changes))
    }

    /// Watches the root for the list of resources.
    pub(crate) fn watch_list(&self, changes: &Changes) {
        let watch = self.shared.begin(RootedPath::root(), Notification::List(changes.clone()));
        *lock(&self.list) = Some(watch);
    }
}

impl fmt::Debug for Watcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let watched = lock(&self.shared.state).watched.len();
        f.debug_struct("Watcher").field("watched", &watched).finish_non_exhaustive()
    }
}

impl WatcherShared {
    fn begin(self: &Arc<Self>, place: RootedPath, tell: Notification) -> Watch {
        let seen = self.look(&place);
        let aim = self.aim(&place, seen);
        let folder = aim.folder.clone();
        let mut system = lock(&self.system);
        let mut state = lock(&self.state);
        state.named += 1;
        let number = state.named;
        let is_first = state.interest.join(&aim, number);
        state.watched.insert(number, WatchedPath { place, aim, tell, seen });
        let needs_thread = !std::mem::replace(&mut state.told, true);
        drop(state);
        // A thread with only the list to watch makes no checks, so wake it.
        self.wake.notify_one();
        if is_first {
            system.watch(self, &folder);
        }
        drop(system);
        if needs_thread {
            self.clone().start();
        }
        Watch { shared: self.clone(), number }
    }

    /// Ends a watch, without waiting for the system: the caller that drops one may be in a hurry.
    fn end(&self, number: u64) {
        let mut state = lock(&self.state);
        let Some(watched) = state.watched.remove(&number) else {
            return;
        };
        state.news.remove(&number);
        state.lost.remove(&number);
        if state.interest.leave(&watched.aim, number) {
            state.over.insert(watched.aim.folder);
        }
        drop(state);
        self.wake.notify_one();
    }

    /// Makes the system stop watching folders that have no watch any more.
    fn forget_folders(&self) {
        if lock(&self.state).over.is_empty() {
            return;
        }
        let mut system = lock(&self.system);
        let mut state = lock(&self.state);
        let mut over = std::mem::take(&mut state.over);
        // A new watch may have begun meanwhile.
        over.retain(|folder| !state.interest.has(folder));
        drop(state);
        over.iter().for_each(|folder| system.forget(folder));
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

    /// Sends notifications until there is nothing to watch.
    fn tell_news(&self) {
        let mut rounds = Rounds::new(Instant::now());
        let mut tells_again = Instant::now();
        loop {
            self.forget_folders();
            let mut state = lock(&self.state);
            if state.watched.is_empty() && state.over.is_empty() {
                state.told = false;
                return;
            }
            if state.news.is_empty() && state.over.is_empty() {
                let looks =
                    state.watched.values().any(|w| matches!(w.tell, Notification::Resource(..)));
                // The list alone needs no checks.
                let time = if looks {
                    rounds.due().saturating_duration_since(Instant::now())
                } else {
                    Duration::from_secs(3600)
                };
                let waited = self.wake.wait_timeout(state, time);
                state = waited.unwrap_or_else(PoisonError::into_inner).0;
            }
            let has_news = !state.news.is_empty();
            drop(state);
            if has_news {
                let rest = tells_again.saturating_duration_since(Instant::now());
                std::thread::sleep(MOMENT.max(rest));
                let began = Instant::now();
                let (news, lost) = {
                    let mut state = lock(&self.state);
                    (std::mem::take(&mut state.news), std::mem::take(&mut state.lost))
                };
                self.aim_again(&lost);
                self.tell(&news);
                tells_again = tell_again(began, Instant::now());
            }
            // Checks run even if there is much to report: watches with news must not keep others from being checked.
            if Instant::now() >= rounds.due() {
                self.look_on(&mut rounds);
            }
        }
    }

    /// Notifies the clients of each resource once, however many watches it has.
    fn tell(&self, news: &HashSet<u64>) {
        let places: Vec<_> = {
            let state = lock(&self.state);
            news.iter().filter_map(|n| Some((*n, state.watched.get(n)?.place.clone()))).collect()
        };
        // Check before notifying: what happens after the check is news again.
        let seen: Vec<_> = places.into_iter().map(|(n, place)| (n, self.look(&place))).collect();
        let mut told: HashSet<Arc<str>> = HashSet::new();
        let mut turned = Vec::new();
        let mut state = lock(&self.state);
        for (number, seen) in seen {
            let Some(watched) = state.watched.get_mut(&number) else {
                continue;
            };
            let before = std::mem::replace(&mut watched.seen, seen);
            if is_folder(before) != is_folder(seen) {
                turned.push(number);
            }
            match &watched.tell {
                Notification::List(changes) => changes.resources(),
                Notification::Resource(uri, changes) => {
                    if told.insert(uri.clone()) {
                        changes.resource(uri);
                    }
                }
            }
        }
        // A folder is watched in another way than a file. It is reported again once that watch exists: it may have changed before.
        state.lost.extend(&turned);
        state.news.extend(&turned);
    }

    /// Checks the watches whose turn it is. The system did not report a difference that is found here. Perhaps another folder has
    /// the name now, so the watch is set again at the end of the round: if two folders have swapped places, both must be known.
    fn look_on(&self, rounds: &mut Rounds) {
        let began = Instant::now();
        let next: Vec<_> = {
            let state = lock(&self.state);
            let newest = state.watched.last_key_value().map_or(0, |(number, _)| *number);
            let turn = state.watched.range(rounds.turn(newest, began)).take(STRETCH);
            turn.map(|(n, w)| (*n, w.place.clone(), w.seen)).collect()
        };
        let mut news = HashSet::new();
        let mut reached = None;
        for (number, place, seen) in next {
            if self.look(&place) != seen {
                news.insert(number);
            }
            reached = Some(number);
            if began.elapsed() >= STRETCH_TIME {
                break;
            }
        }
        if let Some(found) = rounds.looked(reached, &news) {
            self.aim_again(&found);
            // Changes of an earlier stretch were reported before the system watched their places again. Files are checked again
            // anyway, but no check shows what happened in a folder meanwhile.
            let state = lock(&self.state);
            let is_folder = |n: &u64| state.watched.get(n).is_some_and(|w| is_folder(w.seen));
            news.extend(found.into_iter().filter(is_folder));
        }
        self.tell(&news);
        rounds.rest(began, Instant::now());
    }

    /// Makes the system watch what these watches mean now, instead of what it watched for them before.
    fn aim_again(&self, numbers: &HashSet<u64>) {
        if numbers.is_empty() {
            return;
        }
        let places: Vec<_> = {
            let state = lock(&self.state);
            numbers.iter().filter_map(|n| Some((*n, state.watched.get(n)?.place.clone()))).collect()
        };
        let aim = |place: &RootedPath| self.aim(place, self.look(place));
        let aims: Vec<_> = places.into_iter().map(|(n, place)| (n, aim(&place))).collect();
        let mut folders = HashSet::new();
        let mut system = lock(&self.system);
        let mut state = lock(&self.state);
        for (number, aim) in aims {
            let Some(watched) = state.watched.get_mut(&number) else {
                continue;
            };
            let before = std::mem::replace(&mut watched.aim, aim.clone());
            state.interest.leave(&before, number);
            state.interest.join(&aim, number);
            folders.extend([before.folder, aim.folder]);
        }
        let (wanted, over): (Vec<_>, Vec<_>) =
            folders.into_iter().partition(|folder| state.interest.has(folder));
        drop(state);
        // Stop watching all of them before watching any: if two have swapped places, the system knows each by the other's name.
        over.iter().chain(&wanted).for_each(|folder| system.forget(folder));
        wanted.iter().for_each(|folder| system.watch_again(folder));
    }

    /// Returns what the system must watch: a folder itself, or, for anything else, its folder. The path has no links in it: the
    /// system knows a folder by one name only.
    fn aim(&self, place: &RootedPath, seen: FileSnapshot) -> WatchTarget {
        let (folder, name) = match (place.parent(), place.name()) {
            (Some(parent), Some(name)) if !is_folder(seen) => (parent, Some(name.to_vec())),
            _ => (place.clone(), None),
        };
        let real = self.root.walk(&folder, LastLink::Followed).map(|spot| spot.real_place());
        WatchTarget { folder: self.path(&real.unwrap_or(folder)), name }
    }

    fn look(&self, place: &RootedPath) -> FileSnapshot {
        self.root.entry(place).ok().map(|entry| (entry.kind, entry.size, entry.modified))
    }

    /// Returns the path of a place, for the system. If a folder on the way is replaced by a link at this moment, the worst result
    /// is an event without a change.
    fn path(&self, place: &RootedPath) -> PathBuf {
        let mut path = self.root.path().to_owned();
        path.extend(place.names().map(os_name));
        path
    }

    /// Receives an event of the system. It runs on the system's own thread, so it only takes note.
    fn heard(&self, event: notify::Result<Event>) {
        // Reading changes nothing, and the checks read, too.
        if matches!(&event, Ok(Event { kind: EventKind::Access(access), .. }) if *access != AccessKind::Close(AccessMode::Write))
        {
            return;
        }
        let mut guard = lock(&self.state);
        let state = &mut *guard;
        let is_first = state.news.is_empty();
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
        let wakes = is_first && !state.news.is_empty();
        // Once, and without holding the lock that all need: there may be thousands of events in a row.
        drop(guard);
        if wakes {
            self.wake.notify_one();
        }
    }
}

impl WatcherState {
    fn note(&mut self, path: &Path, kind: &EventKind) {
        let arranges = matches!(
            kind,
            EventKind::Create(_) | EventKind::Remove(_) | EventKind::Modify(ModifyKind::Name(_))
        );
        let hears = |number: &u64| match self.watched.get(number) {
            Some(WatchedPath { tell: Notification::List(_), .. }) => arranges,
            watched => watched.is_some(),
        };
        self.news.extend(self.interest.concerned(path).filter(hears));
        if arranges {
            // A watched folder, or one above it: another one may have its name now.
            for number in self.interest.at_or_beneath(path) {
                self.news.insert(number);
                self.lost.insert(number);
            }
        }
    }
}

impl System {
    /// Starts to watch a folder. If the system cannot do that, only checks find changes.
    fn watch(&mut self, shared: &Arc<WatcherShared>, folder: &Path) {
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
                    tracing::warn!(%error, "the system has no news of files to give; they are looked at, every two seconds unless they are many");
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
            // The folder may be gone already, and its watch with it.
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

#[cfg(test)]
mod tests;
