//! Which watches need which events. Knows the watches only by their numbers.
//!
//! An event in a folder concerns few of the watches in it. They are found by name, so an event costs the same however many watches
//! there are.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Bound;
use std::path::{Path, PathBuf};

/// What the system must watch.
#[derive(Clone)]
pub(crate) struct WatchTarget {
    pub(crate) folder: PathBuf,
    /// The name in the folder that matters. `None` for the folder itself: all its names matter.
    pub(crate) name: Option<Vec<u8>>,
}

/// The watches in a folder, by the name that matters to them.
type ByName = HashMap<Option<Vec<u8>>, BTreeSet<u64>>;

/// Which watches need the events of which folder.
#[derive(Default)]
pub(crate) struct Interest {
    /// In order, so that a folder and the folders inside it are adjacent.
    folders: BTreeMap<PathBuf, ByName>,
}

impl Interest {
    /// Adds a watch. Returns true if it is the first of this folder.
    pub(crate) fn join(&mut self, aim: &WatchTarget, number: u64) -> bool {
        let by_name = self.folders.entry(aim.folder.clone()).or_default();
        let is_first = by_name.is_empty();
        by_name.entry(aim.name.clone()).or_default().insert(number);
        is_first
    }

    /// Removes a watch. Returns true if it was the last of this folder.
    pub(crate) fn leave(&mut self, aim: &WatchTarget, number: u64) -> bool {
        let Some(by_name) = self.folders.get_mut(&aim.folder) else {
            return false;
        };
        if let Some(numbers) = by_name.get_mut(&aim.name) {
            numbers.remove(&number);
            if numbers.is_empty() {
                by_name.remove(&aim.name);
            }
        }
        let is_last = by_name.is_empty();
        if is_last {
            self.folders.remove(&aim.folder);
        }
        is_last
    }

    /// Returns true if a watch needs the events of this folder.
    pub(crate) fn has(&self, folder: &Path) -> bool {
        self.folders.contains_key(folder)
    }

    /// Returns the watches that an event at this path concerns: those of this name or of its whole folder, and, if it is a folder,
    /// all in it.
    pub(crate) fn concerned(&self, path: &Path) -> impl Iterator<Item = u64> {
        let name = path.file_name().map(|name| name.as_encoded_bytes().to_vec());
        let above = path.parent().and_then(|folder| self.folders.get(folder));
        let whole = above.and_then(|by_name| by_name.get(&None));
        let named = above.filter(|_| name.is_some()).and_then(|by_name| by_name.get(&name));
        let itself = self.folders.get(path).into_iter().flat_map(HashMap::values);
        whole.into_iter().chain(named).chain(itself).flatten().copied()
    }

    /// Returns the watches in this folder or in one inside it.
    pub(crate) fn at_or_beneath(&self, path: &Path) -> impl Iterator<Item = u64> {
        let folders = self.folders.range::<Path, _>((Bound::Included(path), Bound::Unbounded));
        let folders = folders.take_while(move |(folder, _)| folder.starts_with(path));
        folders.flat_map(|(_, by_name)| by_name.values().flatten().copied())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn aim(folder: &str, name: Option<&str>) -> WatchTarget {
        WatchTarget { folder: folder.into(), name: name.map(|name| name.as_bytes().to_vec()) }
    }

    fn concerned(interest: &Interest, path: &str) -> BTreeSet<u64> {
        interest.concerned(Path::new(path)).collect()
    }

    #[test]
    fn event_concerns_only_watches_of_its_name() {
        let mut interest = Interest::default();
        for number in 0..1000 {
            let is_first = interest.join(&aim("/docs", Some(&format!("{number}"))), number);
            assert_eq!(is_first, number == 0);
        }
        interest.join(&aim("/docs", None), 1000);
        interest.join(&aim("/docs", Some("7")), 1001);
        assert_eq!(interest.concerned(Path::new("/docs/beside")).collect::<Vec<_>>(), [1000]);
        assert_eq!(concerned(&interest, "/docs/7"), BTreeSet::from([7, 1000, 1001]));
        // What happens to the folder concerns everything in it.
        assert_eq!(concerned(&interest, "/docs").len(), 1002);
        assert_eq!(concerned(&interest, "/docs/7/deeper"), BTreeSet::new());
    }

    #[test]
    fn watches_inside_a_folder_exclude_names_with_the_same_prefix() {
        let mut interest = Interest::default();
        for (number, folder) in ["/a", "/a/b", "/a/b/c", "/a.b", "/ab"].into_iter().enumerate() {
            interest.join(&aim(folder, Some("x")), number as u64);
        }
        let beneath: BTreeSet<u64> = interest.at_or_beneath(Path::new("/a")).collect();
        assert_eq!(beneath, BTreeSet::from([0, 1, 2]));
    }

    #[test]
    fn last_watch_that_leaves_a_folder_is_reported() {
        let mut interest = Interest::default();
        let [all, one] = [aim("/docs", None), aim("/docs", Some("one"))];
        interest.join(&one, 1);
        interest.join(&one, 2);
        interest.join(&all, 3);
        assert!(!interest.leave(&one, 1));
        assert!(!interest.leave(&all, 3));
        assert!(interest.has(Path::new("/docs")));
        assert!(interest.leave(&one, 2));
        assert!(!interest.has(Path::new("/docs")));
        assert!(!interest.leave(&one, 2), "nobody leaves twice");
    }
}
