//! The contents of a folder, page by page, in the byte order of the names.

use std::io;
use std::sync::Arc;

use crate::entry::{Entry, Facts, Kind};
use crate::error::{FileError, at};
use crate::place::RootedPath;
use crate::root::Root;
use crate::sys::{self, NameKind, NameStatus};
use crate::walk::{LastLink, OpenFolder};
use crate::window::{Name, WINDOW, Window};

/// A page of a folder's contents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// The entries, in the byte order of their names.
    pub entries: Vec<Entry>,
    /// The next page begins after this name. `None` if this is the last page.
    pub next: Option<Vec<u8>>,
}

impl Root {
    /// Returns the direct children of a folder whose names come after `after`, at most `limit` of them (or one, if `limit` is 0).
    /// What exists during a whole listing is in it exactly once. What vanishes meanwhile is omitted.
    pub fn page(
        &self,
        place: &RootedPath,
        after: Option<&[u8]>,
        limit: usize,
    ) -> Result<Page, FileError> {
        let mut entries = Vec::with_capacity(limit.min(WINDOW));
        let next = self.each_child(place, after, limit, |name, facts| {
            entries.push(facts.at(place.child(name)));
        })?;
        Ok(Page { entries, next })
    }

    /// Calls `show` with each child, without creating entries. Returns where the next page begins.
    pub(crate) fn each_child(
        &self,
        place: &RootedPath,
        after: Option<&[u8]>,
        limit: usize,
        mut show: impl FnMut(&[u8], Facts),
    ) -> Result<Option<Vec<u8>>, FileError> {
        let limit = limit.max(1);
        let folder = self.open_folder(place)?;
        let mut shown = 0;
        let mut window = self.window(place, &folder, after, limit)?;
        let mut last: Option<Box<[u8]>> = None;
        loop {
            let (names, begin) = (&window.0.names, window.1);
            for (i, name) in names.iter().enumerate().skip(begin) {
                if let Some(facts) = self.facts(&folder, name) {
                    show(&name.bytes, facts);
                    shown += 1;
                }
                if shown == limit {
                    let more = i + 1 < names.len() || window.0.more;
                    return Ok(more.then(|| name.bytes.to_vec()));
                }
            }
            if !window.0.more {
                return Ok(None);
            }
            last = names.last().map(|n| n.bytes.clone()).or(last);
            window = self.window(place, &folder, last.as_deref().or(after), limit)?;
        }
    }

    /// Opens a folder to read its names. Also returns its place without links, for the links in it.
    pub(crate) fn open_folder(&self, place: &RootedPath) -> Result<OpenFolder, FileError> {
        let spot = self.walk(place, LastLink::Followed)?;
        if !spot.existing(place)?.is(Kind::Folder) {
            return Err(FileError::NotAFolder(place.clone()));
        }
        let folder = Arc::new(spot.open_to_list().map_err(at(place))?);
        Ok(OpenFolder { folder, place: spot.real_place() })
    }

    /// Returns a window with the names after `after`, from the cache or the disk, and where in it they begin.
    fn window(
        &self,
        place: &RootedPath,
        folder: &OpenFolder,
        after: Option<&[u8]>,
        limit: usize,
    ) -> Result<(Arc<Window>, usize), FileError> {
        let windows = self.windows();
        let ticket = match after {
            None => windows.begin(place),
            Some(after) => {
                if let Some(found) = windows.find(place, after) {
                    return Ok(found);
                }
                windows.go_on(place)
            }
        };
        let window = Window::read(&folder.folder, after, WINDOW, self.shows_hidden());
        let window = Arc::new(window.map_err(at(place))?);
        // If one page has the whole window, it is not worth caching.
        if window.more || window.names.len() > limit {
            windows.keep(place, &window, ticket);
        }
        Ok((window, 0))
    }

    /// Returns the entry of one name in an open folder; `None` if it has vanished.
    pub(crate) fn child(
        &self,
        place: &RootedPath,
        folder: &OpenFolder,
        name: &Name,
    ) -> Option<Entry> {
        self.facts(folder, name).map(|facts| facts.at(place.child(&name.bytes)))
    }

    fn facts(&self, folder: &OpenFolder, name: &Name) -> Option<Facts> {
        let look = match sys::look(&folder.folder, &name.bytes) {
            Ok(look) => look,
            Err(e) if e.kind() == io::ErrorKind::NotFound => return None,
            // The folder may be readable but not enterable. Then this is all that is known.
            Err(_) => NameStatus {
                seen: name.seen,
                size: 0,
                modified: None,
                id: None,
                mode: 0,
                owner: (0, 0),
            },
        };
        let target = match look.seen {
            NameKind::Real(_) => None,
            NameKind::Link => self.walk_on(folder, &name.bytes).ok().and_then(|spot| spot.look),
        };
        Some(Facts::of(&look, target.as_ref()))
    }

    /// Returns the number of cached names, and of the windows that contain them.
    #[doc(hidden)]
    #[must_use]
    pub fn names_held(&self) -> (usize, usize) {
        self.windows().held()
    }
}
