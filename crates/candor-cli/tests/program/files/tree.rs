//! What is on the disk, to be compared with what was.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// What is beneath a folder: of each path its content, if it is a file, its permissions, and when it was changed.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Tree(BTreeMap<PathBuf, Thing>);

#[derive(Debug, Clone, PartialEq)]
struct Thing {
    content: Option<Vec<u8>>,
    leads_to: Option<PathBuf>,
    mode: u32,
    changed: SystemTime,
}

impl Tree {
    pub(super) fn of(folder: &Path) -> Self {
        let mut things = BTreeMap::new();
        gather(folder, Path::new(""), &mut things);
        Self(things)
    }

    pub(super) fn paths(&self) -> Vec<&str> {
        self.0.keys().map(|path| path.to_str().unwrap()).collect()
    }

    /// The same without times: what somebody sees who comes later.
    pub(super) fn timeless(mut self) -> Self {
        self.0.values_mut().for_each(|thing| thing.changed = SystemTime::UNIX_EPOCH);
        self
    }

    /// Whether everything that was there still is, with its content, or more of it.
    pub(super) fn keeps(&self, before: &Self) -> bool {
        before.0.iter().all(|(path, was)| {
            self.0.get(path).is_some_and(|is| match (&was.content, &is.content) {
                (Some(was), Some(is)) => is.starts_with(was),
                (was, is) => was.is_none() && is.is_none(),
            })
        })
    }
}

fn gather(folder: &Path, beneath: &Path, things: &mut BTreeMap<PathBuf, Thing>) {
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let (path, about) = (entry.path(), entry.path().symlink_metadata().unwrap());
        let here = beneath.join(entry.file_name());
        let thing = Thing {
            content: about.is_file().then(|| fs::read(&path).unwrap()),
            leads_to: fs::read_link(&path).ok(),
            mode: mode(&about),
            changed: about.modified().unwrap(),
        };
        things.insert(here.clone(), thing);
        if about.is_dir() {
            gather(&path, &here, things);
        }
    }
}

#[cfg(unix)]
fn mode(about: &fs::Metadata) -> u32 {
    std::os::unix::fs::PermissionsExt::mode(&about.permissions())
}

#[cfg(not(unix))]
fn mode(about: &fs::Metadata) -> u32 {
    about.permissions().readonly().into()
}
