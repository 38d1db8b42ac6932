//! Checks that the files of a ledger are still the ones that were opened.
//!
//! A process that has a file open continues to write to it after another program has deleted or replaced it. What it writes
//! then is lost when it ends, and the next process starts the same keys again.

use std::path::{Path, PathBuf};

use crate::store::StoreError;

pub(super) struct OpenedFiles {
    path: PathBuf,
    files: Vec<(PathBuf, InodeId)>,
}

/// Device and inode.
type InodeId = (u64, u64);

impl OpenedFiles {
    /// Returns the files of a ledger that a connection has open: the file itself, and what SQLite stores beside it. Without
    /// its write-ahead log, a ledger loses its last commits. Without the index of that log, two processes overwrite each
    /// other.
    pub(super) fn of(path: &Path) -> Self {
        // SQLite puts the other files beside the real file.
        let real = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let beside = |suffix| {
            let mut name = real.clone().into_os_string();
            name.push(suffix);
            PathBuf::from(name)
        };
        let files = [path.to_owned(), beside("-wal"), beside("-shm")];
        let files = files.into_iter().filter_map(|file| id(&file).map(|id| (file, id))).collect();
        Self { path: path.to_owned(), files }
    }

    /// Fails if a name no longer leads to the file that was opened under it. It looks names up and never opens them: to close
    /// a file would release the locks that this process has on it.
    pub(super) fn check(&self) -> Result<(), StoreError> {
        match self.files.iter().all(|(file, opened)| id(file) == Some(*opened)) {
            true => Ok(()),
            false => Err(StoreError::Replaced(self.path.display().to_string())),
        }
    }
}

#[cfg(unix)]
fn id(path: &Path) -> Option<InodeId> {
    use std::os::unix::fs::MetadataExt as _;
    path.metadata().ok().map(|found| (found.dev(), found.ino()))
}

/// The system does not let a program delete a file that is open.
#[cfg(not(unix))]
fn id(_path: &Path) -> Option<InodeId> {
    None
}
