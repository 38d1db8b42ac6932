//! Searches names and lines inside a place. Links are not followed, so there are no cycles. Every level has an open folder and a
//! window of its names, so the memory is bounded by the depth, not by the number of files.

use std::sync::Arc;
use std::time::Instant;

use crate::entry::{Entry, Kind};
use crate::error::{FileError, at};
use crate::excerpt;
use crate::glob::Glob;
use crate::media::is_text;
use crate::place::RootedPath;
use crate::read::{must_be_file, read_whole};
use crate::root::Root;
use crate::sys;
use crate::walk::{LastLink, OpenFolder};
use crate::window::{Name, Window};

/// Maximum number of names in memory for each level.
const WIDTH: usize = 4096;
/// Maximum depth of a search, whatever its bounds: each level keeps a folder open.
const MOST_DEPTH: usize = 64;

/// What to search for. With a text: files with a line that contains it. Without: entries with a matching name.
#[derive(Clone, Debug, Default)]
pub struct Query {
    /// Only entries that match this pattern.
    pub name: Option<Glob>,
    /// Only lines that contain this.
    pub text: Option<String>,
    /// True if upper and lower case are equal, in names and texts.
    pub ignore_case: bool,
}

/// The limits of a search.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Maximum number of matches.
    pub results: usize,
    /// Maximum number of entries, matching or not.
    pub files: usize,
    /// Maximum number of bytes to read from files.
    pub bytes: u64,
    /// Maximum size of a file in bytes. Larger ones are skipped.
    pub file_bytes: u64,
    /// Maximum number of levels to enter; 1 is what the place itself contains. At most 64.
    pub depth: usize,
    /// When the search must end.
    pub deadline: Option<Instant>,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            results: 200,
            files: 100_000,
            bytes: 256 * 1024 * 1024,
            file_bytes: 4 * 1024 * 1024,
            depth: 32,
            deadline: None,
        }
    }
}

/// One match.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Match {
    /// The entry that matches.
    pub entry: Entry,
    /// The number of the line, from 1 on, if the query has a text.
    pub line: Option<u64>,
    /// That line, or the part of it around the text.
    pub excerpt: Option<String>,
}

/// The result of a search.
#[derive(Clone, Debug)]
pub struct SearchResult {
    /// The matches, folder by folder, in the order of names.
    pub matches: Vec<Match>,
    /// True if the search covered everything that it could read.
    pub complete: bool,
    /// Why it did not.
    pub stopped: Option<Stop>,
    /// Number of skipped files and folders: files that are too large, not text, or not permitted, and folders that are not
    /// permitted.
    pub skipped: u64,
}

/// Why a search did not cover everything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Stop {
    /// It found the maximum number of matches.
    Results,
    /// It saw the maximum number of entries.
    Files,
    /// It read the maximum number of bytes.
    Bytes,
    /// It continued to the end, but skipped folders that were too deep.
    Depth,
    /// It reached its deadline.
    Deadline,
    /// The caller stopped it.
    Asked,
}

impl Root {
    /// Searches inside a place, which may be a folder or one file. Calls `stop` again and again. Once it returns true, the search
    /// returns what it has found so far.
    pub fn search(
        &self,
        place: &RootedPath,
        query: &Query,
        bounds: &Bounds,
        stop: &dyn Fn() -> bool,
    ) -> Result<SearchResult, FileError> {
        let entry = self.entry(place)?;
        let mut search = Search {
            root: self,
            begin: place,
            query,
            needle: query.text.as_ref().map(|text| excerpt::Needle::new(text, query.ignore_case)),
            bounds,
            stop,
            seen: 0,
            read: 0,
            too_deep: false,
            found: SearchResult { matches: Vec::new(), complete: true, stopped: None, skipped: 0 },
        };
        let stopped = if entry.kind == Kind::Folder {
            let folder = self.open_folder(place)?;
            search.walk_down(Level::open(self, place.clone(), folder)?)
        } else {
            // If the place is a link, search its target.
            let spot = self.walk(place, LastLink::Followed)?;
            let name = spot.name.as_deref().unwrap_or_default();
            search.visit(&spot.at, name, &entry)
        };
        let mut found = search.found;
        found.stopped = stopped.err().or(search.too_deep.then_some(Stop::Depth));
        found.complete = found.stopped.is_none();
        Ok(found)
    }
}

/// A folder on the way down, and the names in it that are still to visit.
struct Level {
    place: RootedPath,
    at: OpenFolder,
    names: std::vec::IntoIter<Name>,
    more: bool,
    last: Option<Box<[u8]>>,
}

impl Level {
    fn open(root: &Root, place: RootedPath, at: OpenFolder) -> Result<Self, FileError> {
        let mut level = Self { place, at, names: Vec::new().into_iter(), more: true, last: None };
        level.refill(root)?;
        Ok(level)
    }

    fn refill(&mut self, root: &Root) -> Result<(), FileError> {
        let window =
            Window::read(&self.at.folder, self.last.as_deref(), WIDTH, root.shows_hidden())
                .map_err(at(&self.place))?;
        self.more = window.more;
        self.last = window.names.last().map(|name| name.bytes.clone());
        self.names = window.names.into_iter();
        Ok(())
    }

    fn next(&mut self, root: &Root) -> Result<Option<Name>, FileError> {
        while self.names.len() == 0 && self.more {
            self.refill(root)?;
        }
        Ok(self.names.next())
    }
}

struct Search<'a> {
    root: &'a Root,
    begin: &'a RootedPath,
    query: &'a Query,
    needle: Option<excerpt::Needle>,
    bounds: &'a Bounds,
    stop: &'a dyn Fn() -> bool,
    seen: usize,
    read: u64,
    too_deep: bool,
    found: SearchResult,
}

impl Search<'_> {
    fn walk_down(&mut self, top: Level) -> Result<(), Stop> {
        let mut levels = vec![top];
        while let Some(level) = levels.last_mut() {
            self.must_go_on()?;
            let Ok(Some(name)) = level.next(self.root) else {
                levels.pop();
                continue;
            };
            let Some(entry) = self.root.child(&level.place, &level.at, &name) else { continue };
            self.seen += 1;
            if self.seen > self.bounds.files {
                return Err(Stop::Files);
            }
            self.visit(&level.at, &name.bytes, &entry)?;
            if entry.kind != Kind::Folder || entry.link {
                continue;
            }
            if levels.len() >= self.bounds.depth.min(MOST_DEPTH) {
                self.too_deep = true;
                continue;
            }
            match self.open_below(&levels[levels.len() - 1].at, &name.bytes, entry.place) {
                Ok(level) => levels.push(level),
                Err(_) => self.found.skipped += 1,
            }
        }
        Ok(())
    }

    /// Opens a folder in a folder. A folder that has become a link meanwhile is not followed.
    fn open_below(
        &self,
        above: &OpenFolder,
        name: &[u8],
        place: RootedPath,
    ) -> Result<Level, FileError> {
        let folder = sys::open_to_list(&above.folder, Some(name)).map_err(at(&place))?;
        let at = OpenFolder { folder: Arc::new(folder), place: above.place.child(name) };
        Level::open(self.root, place, at)
    }

    fn must_go_on(&self) -> Result<(), Stop> {
        if (self.stop)() {
            return Err(Stop::Asked);
        }
        match self.bounds.deadline {
            Some(deadline) if Instant::now() >= deadline => Err(Stop::Deadline),
            _ => Ok(()),
        }
    }

    /// Checks one entry, and searches its content if the query has a text.
    fn visit(&mut self, at: &OpenFolder, name: &[u8], entry: &Entry) -> Result<(), Stop> {
        if let Some(glob) = &self.query.name {
            // Match the path from the start of the search. For the start itself, match its name.
            let mut path = Vec::new();
            for name in entry.place.names().skip(self.begin.names().count()) {
                path.extend_from_slice(name);
                path.push(b'/');
            }
            path.pop();
            let path = if path.is_empty() { entry.place.name().unwrap_or_default() } else { &path };
            if !glob.matches(path, self.query.ignore_case) {
                return Ok(());
            }
        }
        if self.needle.is_none() {
            return self.add(Match { entry: entry.clone(), line: None, excerpt: None });
        }
        if entry.kind != Kind::File || (entry.link && entry.place != *self.begin) {
            return Ok(());
        }
        if entry.size > self.bounds.file_bytes {
            self.found.skipped += 1;
            return Ok(());
        }
        if self.read.saturating_add(entry.size) > self.bounds.bytes {
            return Err(Stop::Bytes);
        }
        let Some(text) = self.text_of(at, name, entry) else {
            self.found.skipped += 1;
            return Ok(());
        };
        let needle = self.needle.take().expect("looked at above");
        let added = needle.lines(&text).try_for_each(|(line, excerpt)| {
            self.add(Match { entry: entry.clone(), line: Some(line), excerpt: Some(excerpt) })
        });
        self.needle = Some(needle);
        added
    }

    /// Returns the content of a file, if it is text.
    fn text_of(&mut self, at: &OpenFolder, name: &[u8], entry: &Entry) -> Option<String> {
        let file = sys::open_to_read(&at.folder, name).ok()?;
        let look = sys::look_at_file(&file).ok()?;
        must_be_file(&entry.place, &look).ok()?;
        let bytes = read_whole(&entry.place, &file, &look, self.bounds.file_bytes).ok()?;
        self.read += bytes.len() as u64;
        String::from_utf8(bytes).ok().filter(|text| is_text(text.as_bytes()))
    }

    fn add(&mut self, found: Match) -> Result<(), Stop> {
        if self.found.matches.len() >= self.bounds.results {
            return Err(Stop::Results);
        }
        self.found.matches.push(found);
        Ok(())
    }
}
