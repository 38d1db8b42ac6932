//! When something in a folder changes.
//!
//! The operating system says so at once, and what is watched is looked at besides, every two seconds or, if it is much, in
//! turns (`rounds`): some file systems have no news to give, queues overflow, and a folder on the way may be moved without a
//! word. A place is watched by its name in its folder, so a file that is replaced by another is still the same resource.
//!
//! News wait in a set for a moment before they are told: a thousand writes are one change, and memory is bounded by what is
//! watched. So is time: looks and news have their parts of one core, and what is watched beyond that waits for longer.

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

/// How long news wait for more of the same.
const MOMENT: Duration = Duration::from_millis(50);

/// Watches places of one root.
pub(crate) struct Watcher {
    shared: Arc<WatcherShared>,
    /// The default list, as long as the server lives.
    list: Mutex<Option<Watch>>,
}

struct WatcherShared {
    root: Root,
    state: Mutex<WatcherState>,
    /// Something waits to be told, or what is watched has become more or less.
    wake: Condvar,
    /// Taken before `state`, never while holding it: the system's own thread, which it waits for, needs `state`.
    system: Mutex<System>,
}

#[derive(Default)]
struct WatcherState {
    named: u64,
    /// In order, so that all have their turn.
    watched: BTreeMap<u64, WatchedPath>,
    interest: Interest,
    /// Which watches have news.
    news: HashSet<u64>,
    /// Which watches the system may have lost: another folder may have the name of theirs.
    lost: HashSet<u64>,
    /// Folders that nobody watches any more, which the system has not been told yet.
    over: HashSet<PathBuf>,
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

struct WatchedPath {
    place: RootedPath,
    aim: WatchTarget,
    tell: Notification,
    seen: FileSnapshot,
}

/// Who is told what.
enum Notification {
    Resource(Arc<str>, Changes),
    List(Changes),
}

/// What a look shows: nothing, or something of this kind, size and time.
type FileSnapshot = Option<(Kind, u64, Option<SystemTime>)>;

fn is_folder(seen: FileSnapshot) -> bool {
    matches!(seen, Some((Kind::Folder, ..)))
}

/// A place is watched until this is dropped.
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
        // Whoever watches the list alone does not look around.
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

    /// Ends a watch, without waiting for the system: whoever drops one may be in a hurry.
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

    /// Has the system forget folders that nobody watches any more.
    fn forget_folders(&self) {
        if lock(&self.state).over.is_empty() {
            return;
        }
        let mut system = lock(&self.system);
        let mut state = lock(&self.state);
        let mut over = std::mem::take(&mut state.over);
        // Somebody may have come back meanwhile.
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

    /// Tells the news until nothing is watched any more.
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
                // The list alone is not worth waking for.
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
            // However much there is to tell: who has news keeps nobody else from being looked at.
            if Instant::now() >= rounds.due() {
                self.look_on(&mut rounds);
            }
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
        // A folder is watched in another way than a file, and told once more when it is: it has been there for a while.
        state.lost.extend(&turned);
        state.news.extend(&turned);
    }

    /// Looks at those whose turn it is. What differs was not told by the system: perhaps the folder has become another one, so
    /// it is watched anew, at the end of the round: where two have changed places, both must be known.
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
            // Those found in an earlier stretch were told before the system watched for them again. Files are looked at once
            // more; what happened in a folder meanwhile no look would show.
            let state = lock(&self.state);
            let is_folder = |n: &u64| state.watched.get(n).is_some_and(|w| is_folder(w.seen));
            news.extend(found.into_iter().filter(is_folder));
        }
        self.tell(&news);
        rounds.rest(began, Instant::now());
    }

    /// Has the system watch what these watches mean now, whatever it watched for them before.
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
        // All are forgotten before any is watched: where two have changed places, the system knows each by the other's name.
        over.iter().chain(&wanted).for_each(|folder| system.forget(folder));
        wanted.iter().for_each(|folder| system.watch_again(folder));
    }

    /// A folder is watched itself, anything else in the folder that it stands in. By the name that has no links in it: the
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

    /// Where a place is, for the system. If a folder on the way is swapped for a link at this very moment, the worst that
    /// can be heard is that something changed.
    fn path(&self, place: &RootedPath) -> PathBuf {
        let mut path = self.root.path().to_owned();
        path.extend(place.names().map(os_name));
        path
    }

    /// News from the system; on a thread of its own, so this only takes note.
    fn heard(&self, event: notify::Result<Event>) {
        // Who looks changes nothing; we look ourselves.
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
        // Once, and not while holding what everybody needs: there may be thousands of events in a row.
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
            // A watched folder, or one above it: what has the name now may be another one.
            for number in self.interest.at_or_beneath(path) {
                self.news.insert(number);
                self.lost.insert(number);
            }
        }
    }
}

impl System {
    /// Begins to watch a folder; if the system cannot, looking has to do.
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

#[cfg(test)]
mod tests;
