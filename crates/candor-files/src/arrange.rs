//! Deletes and renames entries, and makes folders. The content of files stays as it is.

use std::io;
use std::sync::Arc;

use crate::entry::Kind;
use crate::error::{FileError, at};
use crate::place::RootedPath;
use crate::root::Root;
use crate::sys::{self, NameKind};
use crate::walk::{LastLink, OpenFolder, Spot};
use crate::write::{Overwrite, WriteResult};

impl Root {
    /// Deletes a file, a link (not its target), or an empty folder.
    pub fn delete(&self, place: &RootedPath) -> Result<(), FileError> {
        if place.is_root() {
            return Err(FileError::IsRoot);
        }
        let spot = self.walk(place, LastLink::AsItIs)?;
        let look = spot.existing(place)?;
        let (folder, name) = spot.named()?;
        let removed = if look.is(Kind::Folder) {
            sys::remove_folder(folder, name)
        } else {
            sys::remove_file(folder, name)
        };
        removed.map_err(|error| match error.kind() {
            // Some systems report this for a folder that is not empty.
            io::ErrorKind::AlreadyExists => FileError::NotEmpty(place.clone()),
            _ => FileError::from_io(place, &error),
        })
    }

    /// Makes a folder, and the missing folders above it. It is no error if the folder exists.
    pub fn make_folder(&self, place: &RootedPath) -> Result<WriteResult, FileError> {
        if place.is_hidden() && !self.shows_hidden() {
            return Err(FileError::NotFound(place.clone()));
        }
        let mut here = RootedPath::root();
        let mut at_folder = self.walk_into(&here)?;
        let mut outcome = WriteResult::Existed;
        for name in place.names() {
            here = here.child(name);
            outcome = match sys::make_folder(&at_folder.folder, name) {
                Ok(()) => WriteResult::Created,
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists => WriteResult::Existed,
                // The system may refuse to make a folder here, although this one exists. Then continue with it.
                Err(e) => match sys::look(&at_folder.folder, name) {
                    Ok(_) => WriteResult::Existed,
                    Err(_) => return Err(FileError::from_io(&here, &e)),
                },
            };
            at_folder = match sys::enter(&at_folder.folder, name).map_err(at(&here))? {
                Some(folder) => {
                    OpenFolder { folder: Arc::new(folder), place: at_folder.place.child(name) }
                }
                // A link to a folder counts as a folder.
                None => self.walk_into(&here)?,
            };
        }
        Ok(outcome)
    }

    fn walk_into(&self, place: &RootedPath) -> Result<OpenFolder, FileError> {
        let spot = self.walk(place, LastLink::Followed)?;
        let Some(name) = &spot.name else { return Ok(spot.at) };
        let not_a_folder = || FileError::NotAFolder(place.clone());
        if !spot.existing(place)?.is(Kind::Folder) {
            return Err(not_a_folder());
        }
        let folder = sys::enter(&spot.at.folder, name).map_err(at(place))?;
        let folder = Arc::new(folder.ok_or_else(not_a_folder)?);
        Ok(OpenFolder { folder, place: spot.real_place() })
    }

    /// Moves an entry of any kind. A link is moved itself. A folder is never replaced.
    pub fn rename(
        &self,
        from: &RootedPath,
        to: &RootedPath,
        overwrite: Overwrite,
    ) -> Result<WriteResult, FileError> {
        let RenamePlan { source, target, is_folder } = self.renaming(from, to, overwrite)?;
        let error = |error: io::Error| match error.kind() {
            io::ErrorKind::InvalidInput if is_folder => FileError::IntoItself(from.clone()),
            io::ErrorKind::NotFound => FileError::NotFound(from.clone()),
            _ => FileError::from_io(to, &error),
        };
        let (old, new) = (source.named()?, target.named()?);
        if target.look.is_some() {
            sys::rename(old, new).map_err(error)?;
            return Ok(WriteResult::Existed);
        }
        // Also if the caller allows to overwrite: an entry that appeared meanwhile was not checked.
        sys::rename_to_nothing(old, new, is_folder).map_err(error)?;
        Ok(WriteResult::Created)
    }

    /// Checks everything that can be known before a move.
    pub(crate) fn renaming(
        &self,
        from: &RootedPath,
        to: &RootedPath,
        overwrite: Overwrite,
    ) -> Result<RenamePlan, FileError> {
        if from.is_root() || to.is_root() {
            return Err(FileError::IsRoot);
        }
        let source = self.walk(from, LastLink::AsItIs)?;
        let is_folder = source.existing(from)?.is(Kind::Folder);
        let target = self.spot_to_write(to, LastLink::AsItIs)?;
        if is_folder && target.at.place.is_within(&source.real_place()) {
            return Err(FileError::IntoItself(from.clone()));
        }
        if let Some(there) = target.look {
            if overwrite == Overwrite::No || there.is(Kind::Folder) {
                return Err(FileError::Exists(to.clone()));
            }
            if is_folder {
                return Err(FileError::NotAFolder(to.clone()));
            }
            // A link has no content of its own to protect.
            if there.seen != NameKind::Link {
                target.must_be_replaceable(to)?;
            }
        }
        Ok(RenamePlan { source, target, is_folder })
    }
}

/// An entry that can be moved, and its new name.
pub(crate) struct RenamePlan {
    source: Spot,
    pub(crate) target: Spot,
    is_folder: bool,
}
