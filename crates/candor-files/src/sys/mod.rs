//! System calls. They take an open folder and one name in it, never a path. Links are not followed, so a call cannot leave the
//! folder. Code that has a path goes through [`crate::walk`].

use std::time::SystemTime;

use crate::entry::{FileId, Kind};

// Tests compile it on Unix too, where nothing else does.
#[cfg(any(not(unix), test))]
#[cfg_attr(unix, allow(dead_code, reason = "only its own tests use it on Unix"))]
mod other;
#[cfg(unix)]
mod unix;

#[cfg(not(unix))]
pub(crate) use other::*;
#[cfg(unix)]
pub(crate) use unix::*;

/// The kind of one name, without following links.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NameKind {
    Link,
    Real(Kind),
}

/// The status of one name.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NameStatus {
    pub(crate) seen: NameKind,
    /// The size of a file. What the size of a folder means, only its file system knows.
    pub(crate) size: u64,
    pub(crate) modified: Option<SystemTime>,
    pub(crate) id: Option<FileId>,
    /// The permissions to read, write and run it.
    pub(crate) mode: u32,
    /// User and group.
    #[cfg_attr(not(unix), allow(dead_code, reason = "other systems have no such owner"))]
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
