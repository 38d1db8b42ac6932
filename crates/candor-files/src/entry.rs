//! What is at a place. Never reads content.

use std::time::SystemTime;

use candor_server::protocol::time::rfc3339;

use crate::error::FileError;
use crate::place::RootedPath;
use crate::root::Root;
use crate::sys::{NameKind, NameStatus};
use crate::walk::{LastLink, Spot};

/// The kind of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// A file: bytes.
    File,
    /// A folder: names.
    Folder,
    /// A link that leads nowhere, in circles, out of the root, or to something hidden.
    DanglingLink,
    /// A named pipe: reading it would wait for a writer.
    Pipe,
    /// A socket.
    Socket,
    /// A device that is read as a stream.
    CharDevice,
    /// A block device.
    BlockDevice,
}

impl Kind {
    /// Returns the kind in one word.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::File => "file",
            Self::Folder => "folder",
            Self::DanglingLink => "dangling_link",
            Self::Pipe => "pipe",
            Self::Socket => "socket",
            Self::CharDevice | Self::BlockDevice => "device",
        }
    }

    pub(crate) fn summary(self) -> &'static str {
        match self {
            Self::File => "a file",
            Self::Folder => "a folder",
            Self::DanglingLink => "a link that leads nowhere",
            Self::Pipe => "a pipe",
            Self::Socket => "a socket",
            Self::CharDevice | Self::BlockDevice => "a device",
        }
    }
}

/// An entry in the root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The requested place.
    pub place: RootedPath,
    /// Its kind; for a link, the kind of the target.
    pub kind: Kind,
    /// The size of a file in bytes; 0 for anything else.
    pub size: u64,
    /// When it was last modified, if that is known.
    pub modified: Option<SystemTime>,
    /// True if the last name is a link.
    pub link: bool,
    /// Which file it is, and when it last changed; for a link, those of the target. `None` if the system does not report them.
    pub id: Option<FileId>,
}

/// Tells apart files with the same name, size and modification time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileId {
    /// The file system that contains it.
    pub device: u64,
    /// Its number there. A file that replaces another one has another number.
    pub inode: u64,
    /// When its content, times, name or permissions last changed: seconds since 1970, and nanoseconds. A program that restores a
    /// file's modification time cannot restore this.
    pub changed: (i64, u32),
}

/// The facts about an entry, without its place.
#[derive(Clone, Copy)]
pub(crate) struct Facts {
    pub(crate) kind: Kind,
    pub(crate) size: u64,
    pub(crate) modified: Option<SystemTime>,
    pub(crate) link: bool,
    pub(crate) id: Option<FileId>,
}

impl Facts {
    /// Combines the status of a name with the status of its target, if it is a link with a target.
    pub(crate) fn of(look: &NameStatus, target: Option<&NameStatus>) -> Self {
        let (kind, of, link) = match (look.seen, target) {
            (NameKind::Real(kind), _) => (kind, look, false),
            (NameKind::Link, Some(target @ NameStatus { seen: NameKind::Real(kind), .. })) => {
                (*kind, target, true)
            }
            (NameKind::Link, _) => (Kind::DanglingLink, look, true),
        };
        let size = if kind == Kind::DanglingLink { 0 } else { of.size };
        Self { kind, size, modified: of.modified, link, id: of.id }
    }

    pub(crate) fn at(self, place: RootedPath) -> Entry {
        let Self { kind, size, modified, link, id } = self;
        Entry { place, kind, size, modified, link, id }
    }
}

impl Entry {
    /// Returns the modification time, as `2026-07-28T09:30:00.250Z`.
    #[must_use]
    pub fn modified_text(&self) -> Option<String> {
        self.modified.and_then(rfc3339)
    }

    pub(crate) fn facts(&self) -> Facts {
        let Self { kind, size, modified, link, id, .. } = *self;
        Facts { kind, size, modified, link, id }
    }
}

impl Root {
    /// Returns the entry at a place. Follows links, inside the root only. A link that leads elsewhere is an entry of its own kind.
    pub fn entry(&self, place: &RootedPath) -> Result<Entry, FileError> {
        let spot = self.walk(place, LastLink::AsItIs)?;
        let look = spot.existing(place)?;
        let target = if look.seen == NameKind::Link { self.target(&spot) } else { None };
        Ok(Facts::of(&look, target.as_ref()).at(place.clone()))
    }

    /// Returns the status of the target of the link at this spot.
    fn target(&self, spot: &Spot) -> Option<NameStatus> {
        let name = spot.name.as_deref()?;
        self.walk_on(&spot.at, name).ok()?.look
    }
}
