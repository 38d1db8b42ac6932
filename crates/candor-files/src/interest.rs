//! Which watches want news of what. Knows them by their numbers only.
//!
//! What happens in a folder concerns few of those who watch something in it. They are found by its name, so news cost the
//! same however much is watched.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Bound;
use std::path::{Path, PathBuf};

/// What the system is asked to watch.
#[derive(Clone)]
pub(crate) struct WatchTarget {
    pub(crate) folder: PathBuf,
    /// The name in the folder that matters; all of them if it is the folder itself.
    pub(crate) name: Option<Vec<u8>>,
}

/// Who watches in a folder, by the name that matters to them.
type ByName = HashMap<Option<Vec<u8>>, BTreeSet<u64>>;

/// Which watches want news of which folder.
#[derive(Default)]
pub(crate) struct Interest {
    /// In order, so that what is beneath a folder stands together.
    folders: BTreeMap<PathBuf, ByName>,
}

impl Interest {
    /// A watch wants news; true if it is the first for this folder.
    pub(crate) fn join(&mut self, aim: &WatchTarget, number: u64) -> bool {
        let by_name = self.folders.entry(aim.folder.clone()).or_default();
        let is_first = by_name.is_empty();
        by_name.entry(aim.name.clone()).or_default().insert(number);
        is_first
    }

    /// A watch wants no more news; true if nobody wants any of this folder.
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

    /// Whether somebody wants news of this folder.
    pub(crate) fn has(&self, folder: &Path) -> bool {
        self.folders.contains_key(folder)
    }

    /// Whom it concerns that something happened here: who watches this name or all of its folder, and everybody in it, if it
    /// is a folder.
    pub(crate) fn concerned(&self, path: &Path) -> impl Iterator<Item = u64> {
        let name = path.file_name().map(|name| name.as_encoded_bytes().to_vec());
        let above = path.parent().and_then(|folder| self.folders.get(folder));
        let whole = above.and_then(|by_name| by_name.get(&None));
        let named = above.filter(|_| name.is_some()).and_then(|by_name| by_name.get(&name));
        let itself = self.folders.get(path).into_iter().flat_map(HashMap::values);
        whole.into_iter().chain(named).chain(itself).flatten().copied()
    }

    /// Who watches in this folder or in one beneath it.
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
    fn among_many_in_a_folder_only_those_of_the_name_are_asked() {
        let mut interest = Interest::default();
        for number in 0..1000 {
            let is_first = interest.join(&aim("/docs", Some(&format!("{number}"))), number);
            assert_eq!(is_first, number == 0);
        }
        interest.join(&aim("/docs", None), 1000);
        interest.join(&aim("/docs", Some("7")), 1001);
        assert_eq!(interest.concerned(Path::new("/docs/beside")).collect::<Vec<_>>(), [1000]);
        assert_eq!(concerned(&interest, "/docs/7"), BTreeSet::from([7, 1000, 1001]));
        // What happens to the folder happens to all that is in it.
        assert_eq!(concerned(&interest, "/docs").len(), 1002);
        assert_eq!(concerned(&interest, "/docs/7/deeper"), BTreeSet::new());
    }

    #[test]
    fn beneath_a_folder_stands_what_is_in_it_and_not_what_begins_like_it() {
        let mut interest = Interest::default();
        for (number, folder) in ["/a", "/a/b", "/a/b/c", "/a.b", "/ab"].into_iter().enumerate() {
            interest.join(&aim(folder, Some("x")), number as u64);
        }
        let beneath: BTreeSet<u64> = interest.at_or_beneath(Path::new("/a")).collect();
        assert_eq!(beneath, BTreeSet::from([0, 1, 2]));
    }

    #[test]
    fn the_last_who_leaves_a_folder_is_told_so() {
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
