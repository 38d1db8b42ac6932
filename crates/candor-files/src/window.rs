//! A range of a folder's names, in order, and a small cache of such ranges. A file system returns names in any order, so one page
//! costs a read of the whole folder. A window makes one read serve many pages. It has no more names than its width, however large
//! the folder is.

use std::collections::BinaryHeap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use cap_std::fs::Dir;

use crate::place::RootedPath;
use crate::sys::{self, NameKind};

/// Number of names that one read of a folder keeps.
pub const WINDOW: usize = 16_384;
/// Maximum number of cached windows, and their maximum age.
const MOST_WINDOWS: usize = 8;
const MOST_AGE: Duration = Duration::from_secs(30);

/// A name, and its kind as the folder has it. The names alone give the order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Name {
    pub(crate) bytes: Box<[u8]>,
    pub(crate) seen: NameKind,
}

impl Ord for Name {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.bytes.cmp(&other.bytes)
    }
}

impl PartialOrd for Name {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

/// The smallest names after `after`, in order.
#[derive(Debug)]
pub(crate) struct Window {
    after: Option<Box<[u8]>>,
    pub(crate) names: Vec<Name>,
    /// True if the folder contains names after these.
    pub(crate) more: bool,
}

impl Window {
    /// Reads a folder once and keeps the `width` smallest names after `after`.
    pub(crate) fn read(
        folder: &Dir,
        after: Option<&[u8]>,
        width: usize,
        hidden: bool,
    ) -> io::Result<Self> {
        let mut names = Vec::new();
        // Created only if the folder is wider than the window. Its top is the next name to drop.
        let mut heap: Option<BinaryHeap<Name>> = None;
        sys::read_names(folder, |bytes, seen| {
            if (bytes[0] == b'.' && !hidden) || after.is_some_and(|after| bytes <= after) {
                return;
            }
            let name = || Name { bytes: bytes.into(), seen };
            if names.len() < width && heap.is_none() {
                names.push(name());
                return;
            }
            let heap = heap.get_or_insert_with(|| std::mem::take(&mut names).into());
            if let Some(mut last) = heap.peek_mut()
                && bytes < &*last.bytes
            {
                *last = name();
            }
        })?;
        let more = heap.is_some();
        let mut names = heap.map_or(names, BinaryHeap::into_vec);
        names.sort_unstable();
        Ok(Self { after: after.map(Into::into), names, more })
    }

    /// Returns the position of the first name after this one, if the window covers it.
    fn position(&self, after: &[u8]) -> Option<usize> {
        let begins = self.after.as_deref().is_none_or(|first| first <= after);
        let position = self.names.partition_point(|name| &*name.bytes <= after);
        (begins && (position < self.names.len() || !self.more)).then_some(position)
    }
}

/// The cached windows.
///
/// A listing must contain what exists during the whole listing, so it may not use a window that is older than its start. Cursors
/// are plain names, without that time. So the start of a listing drops the windows of its folder, and a window whose read began
/// before is not cached.
#[derive(Default)]
pub(crate) struct Windows {
    kept: Mutex<CachedWindow>,
}

struct CachedWindow {
    windows: Vec<WindowCache>,
    /// How many listings have started, for places with the same hash. A shared count costs another read, and the memory stays the
    /// same.
    begun: [u64; 64],
}

impl Default for CachedWindow {
    fn default() -> Self {
        Self { windows: Vec::new(), begun: [0; 64] }
    }
}

struct WindowCache {
    place: RootedPath,
    window: Arc<Window>,
    read: Instant,
}

/// When a read began: the number of listings that had started by then.
#[derive(Clone, Copy)]
pub(crate) struct Ticket(u64);

impl Windows {
    /// Starts a listing. It cannot use earlier windows.
    pub(crate) fn begin(&self, place: &RootedPath) -> Ticket {
        let mut kept = self.kept();
        kept.windows.retain(|r| r.place != *place);
        kept.begun[bucket(place)] += 1;
        Ticket(kept.begun[bucket(place)])
    }

    /// Continues a listing with another read.
    pub(crate) fn go_on(&self, place: &RootedPath) -> Ticket {
        Ticket(self.kept().begun[bucket(place)])
    }

    /// Returns a window that covers the names after this one, and their position in it.
    pub(crate) fn find(&self, place: &RootedPath, after: &[u8]) -> Option<(Arc<Window>, usize)> {
        let mut kept = self.kept();
        kept.windows.retain(|r| r.read.elapsed() < MOST_AGE);
        kept.windows
            .iter()
            .rev()
            .filter(|r| r.place == *place)
            .find_map(|r| r.window.position(after).map(|position| (r.window.clone(), position)))
    }

    /// Caches a window whose read began with this ticket.
    pub(crate) fn keep(&self, place: &RootedPath, window: &Arc<Window>, ticket: Ticket) {
        let mut kept = self.kept();
        if kept.begun[bucket(place)] != ticket.0 {
            return;
        }
        // A listing that continues is past the windows that begin before this one.
        kept.windows.retain(|r| r.place != *place || r.window.after > window.after);
        if kept.windows.len() == MOST_WINDOWS {
            kept.windows.remove(0);
        }
        kept.windows.push(WindowCache {
            place: place.clone(),
            window: window.clone(),
            read: Instant::now(),
        });
    }

    fn kept(&self) -> std::sync::MutexGuard<'_, CachedWindow> {
        // After a panic, this is still a valid set of windows.
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the number of names, and of windows.
    #[doc(hidden)]
    pub(crate) fn held(&self) -> (usize, usize) {
        let kept = self.kept();
        (kept.windows.iter().map(|r| r.window.names.len()).sum(), kept.windows.len())
    }
}

fn bucket(place: &RootedPath) -> usize {
    let mut hasher = DefaultHasher::new();
    place.hash(&mut hasher);
    usize::try_from(hasher.finish() % 64).expect("less than 64")
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn window_holds_the_smallest_names_up_to_its_width() {
        let path = std::env::temp_dir().join(format!("candor-files-window-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        for i in 0..100 {
            std::fs::write(path.join(format!("{:02}", i * 37 % 100)), "").unwrap();
        }
        std::fs::write(path.join(".hidden"), "").unwrap();
        let folder = Dir::open_ambient_dir(&path, cap_std::ambient_authority()).unwrap();
        let folder = sys::open_to_list(&folder, None).unwrap();
        let read =
            |after: Option<&[u8]>, width| Window::read(&folder, after, width, false).unwrap();
        let names = |w: &Window| w.names.iter().map(|n| n.bytes.to_vec()).collect::<Vec<_>>();
        let expected = |range: std::ops::Range<u32>| {
            range.map(|i| format!("{i:02}").into_bytes()).collect::<Vec<_>>()
        };

        let first = read(None, 10);
        assert_eq!((names(&first), first.more), (expected(0..10), true));
        let second = read(Some(b"09"), 10);
        assert_eq!((names(&second), second.more), (expected(10..20), true));
        let last = read(Some(b"89"), 10);
        assert_eq!((names(&last), last.more), (expected(90..100), false));
        assert_eq!(names(&read(None, 1000)).len(), 100, "what is hidden is not in it");

        assert_eq!(second.position(b"09"), Some(0));
        assert_eq!(second.position(b"14"), Some(5));
        assert_eq!(second.position(b"08"), None, "before it");
        assert_eq!(second.position(b"19"), None, "past it");
        assert_eq!(last.position(b"99"), Some(10), "past the end there is nothing");
        std::fs::remove_dir_all(path).unwrap();
    }

    #[test]
    fn listing_ignores_a_window_older_than_itself() {
        let windows = Windows::default();
        let place = RootedPath::parse("folder").unwrap();
        let window = Arc::new(Window { after: None, names: Vec::new(), more: false });
        let slow = windows.begin(&place);
        // Another listing starts while the folder is being read.
        let quick = windows.begin(&place);
        windows.keep(&place, &window, slow);
        assert!(windows.find(&place, b"a").is_none());
        windows.keep(&place, &window, quick);
        assert!(windows.find(&place, b"a").is_some());
        windows.begin(&place);
        assert!(windows.find(&place, b"a").is_none());
    }
}
