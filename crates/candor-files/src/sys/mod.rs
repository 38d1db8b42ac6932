//! What is asked of the operating system: always an open folder and one name in it, never a path. With links not
//! followed there is nothing to walk, so nothing to leave the folder by. Whoever needs a path goes through
//! [`crate::walk`].

use std::time::SystemTime;

use crate::entry::{FileId, Kind};

#[cfg(not(unix))]
mod other;
#[cfg(unix)]
mod unix;

#[cfg(not(unix))]
pub(crate) use other::*;
#[cfg(unix)]
pub(crate) use unix::*;

/// What one name is, links not followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NameKind {
    Link,
    Real(Kind),
}

/// One look at one name.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NameStatus {
    pub(crate) seen: NameKind,
    /// Of a file; what a folder's size means is known to its file system alone.
    pub(crate) size: u64,
    pub(crate) modified: Option<SystemTime>,
    pub(crate) id: Option<FileId>,
    /// Who may read, write and run it.
    pub(crate) mode: u32,
    /// User and group.
    pub(crate) owner: (u32, u32),
}

impl NameStatus {
    pub(crate) fn is(&self, kind: Kind) -> bool {
        self.seen == NameKind::Real(kind)
    }

    pub(crate) fn is_write_protected(&self) -> bool {
        self.mode & 0o222 == 0
    }
}
