//! Changes the content of files. New content replaces a file as a whole: its readers see the old one or the new one. Only an append
//! writes to the file itself.

use std::fs::File;
use std::io::{self, Read, Write};

use crate::draft::Draft;
use crate::entry::Kind;
use crate::error::{FileError, at};
use crate::place::RootedPath;
use crate::read::{must_be_file, open_spot};
use crate::root::Root;
use crate::sys::{self, NameStatus};
use crate::walk::{LastLink, Spot};

/// What existed before a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteResult {
    /// Nothing: the entry is new.
    Created,
    /// An entry with this name.
    Existed,
}

/// Whether an operation may replace the entry that has the new name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overwrite {
    /// It may not. The step that takes the name also checks that the name is free.
    No,
    /// It may, except for a folder.
    Yes,
}

impl Root {
    /// Gives a file new content, or creates it. Follows a link, inside the root only, and replaces its target. The new file has the
    /// permissions of the old one. Other names of the old file (hard links) keep the old content.
    pub fn replace(&self, place: &RootedPath, bytes: &[u8]) -> Result<WriteResult, FileError> {
        let spot = self.spot_to_write(place, LastLink::Followed)?;
        self.publish(&spot, place, |draft| draft.write(bytes).map_err(at(place)))
    }

    /// Creates a file. Fails if the name exists.
    pub fn create(&self, place: &RootedPath, bytes: &[u8]) -> Result<(), FileError> {
        let spot = self.new_spot(place)?;
        let (folder, name) = spot.named()?;
        let mut draft = Draft::begin(folder, false).map_err(at(place))?;
        draft.write(bytes).and_then(|()| draft.publish_new(name)).map_err(at(place))
    }

    /// Writes at the end of a file, in one piece, or creates the file. Follows a link, inside the root only.
    pub fn append(&self, place: &RootedPath, bytes: &[u8]) -> Result<WriteResult, FileError> {
        let spot = self.spot_to_write(place, LastLink::Followed)?;
        let (folder, name) = spot.named()?;
        if spot.look.is_none() {
            match sys::create(folder, name, false) {
                Ok(mut file) => {
                    file.write_all(bytes).map_err(at(place))?;
                    return Ok(WriteResult::Created);
                }
                // Another process was faster, so append to its file.
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
                Err(e) => return Err(FileError::from_io(place, &e)),
            }
        }
        if let Some(look) = &spot.look {
            must_be_file(place, look)?;
            if look.is_write_protected() {
                return Err(FileError::ReadOnly(place.clone()));
            }
        }
        let mut file = sys::open_to_append(folder, name).map_err(at(place))?;
        must_be_file(place, &sys::look_at_file(&file).map_err(at(place))?)?;
        file.write_all(bytes).map_err(at(place))?;
        Ok(WriteResult::Existed)
    }

    /// Copies a file of at most `limit` bytes, with its permissions. Follows links on both sides, inside the root only. With
    /// [`Overwrite::No`], a link at the new name counts as existing.
    pub fn copy(
        &self,
        from: &RootedPath,
        to: &RootedPath,
        overwrite: Overwrite,
        limit: u64,
    ) -> Result<WriteResult, FileError> {
        let (file, look) = self.open_to_copy(from, limit)?;
        let too_large = |size| FileError::TooLarge { place: from.clone(), size, limit };
        let fill = |draft: &mut Draft<'_>| {
            let mut bounded = file.take(limit.saturating_add(1));
            match io::copy(&mut bounded, draft.file()) {
                Ok(size) if size > limit => Err(too_large(size)),
                Ok(_) => draft.set_permissions(&look).map_err(at(to)),
                Err(e) => Err(FileError::from_io(to, &e)),
            }
        };
        if overwrite == Overwrite::Yes {
            let spot = self.spot_to_write(to, LastLink::Followed)?;
            return self.publish(&spot, to, fill);
        }
        let spot = self.new_spot(to)?;
        let (folder, name) = spot.named()?;
        let mut draft = Draft::begin(folder, true).map_err(at(to))?;
        fill(&mut draft)?;
        draft.publish_new(name).map_err(at(to))?;
        Ok(WriteResult::Created)
    }

    /// Opens the source of a copy, if it is a file of at most `limit` bytes.
    pub(crate) fn open_to_copy(
        &self,
        from: &RootedPath,
        limit: u64,
    ) -> Result<(File, NameStatus), FileError> {
        let (file, look) = match open_spot(&self.walk(from, LastLink::Followed)?, from) {
            // The root, or another folder without a name here.
            Err(FileError::IsRoot) => Err(FileError::NotAFile(from.clone(), Kind::Folder)),
            opened => opened,
        }?;
        if look.size > limit {
            return Err(FileError::TooLarge { place: from.clone(), size: look.size, limit });
        }
        Ok((file, look))
    }

    /// Returns the spot of a name that no entry has, not even a link.
    pub(crate) fn new_spot(&self, place: &RootedPath) -> Result<Spot, FileError> {
        let spot = self.spot_to_write(place, LastLink::AsItIs)?;
        if spot.look.is_some() {
            return Err(FileError::Exists(place.clone()));
        }
        Ok(spot)
    }

    /// Writes a draft and puts it in the place of the existing file, if there is one.
    fn publish(
        &self,
        spot: &Spot,
        place: &RootedPath,
        fill: impl FnOnce(&mut Draft<'_>) -> Result<(), FileError>,
    ) -> Result<WriteResult, FileError> {
        let (folder, name) = spot.named()?;
        spot.must_be_replaceable(place)?;
        let mut draft = Draft::begin(folder, spot.look.is_some()).map_err(at(place))?;
        if let Some(old) = &spot.look {
            draft.succeed(old).map_err(at(place))?;
        }
        fill(&mut draft)?;
        draft.publish_over(name).map_err(at(place))?;
        Ok(if spot.look.is_some() { WriteResult::Existed } else { WriteResult::Created })
    }

    /// Returns the spot of an entry that will be written. If a name is missing, it is a folder on the way.
    pub(crate) fn spot_to_write(
        &self,
        place: &RootedPath,
        last: LastLink,
    ) -> Result<Spot, FileError> {
        if place.is_root() {
            return Err(FileError::IsRoot);
        }
        self.walk(place, last).map_err(|error| match error {
            FileError::NotFound(place) if self.shows_hidden() || !place.is_hidden() => {
                FileError::NoFolder(place)
            }
            other => other,
        })
    }
}

impl Spot {
    /// Checks that the entry may be replaced. A rename over a file needs no permission to write to it. But a write-protected file
    /// must keep its content.
    pub(crate) fn must_be_replaceable(&self, place: &RootedPath) -> Result<(), FileError> {
        let Some(old) = &self.look else { return Ok(()) };
        must_be_file(place, old)?;
        if old.is_write_protected() {
            return Err(FileError::ReadOnly(place.clone()));
        }
        let (folder, name) = self.named()?;
        sys::may_write(folder, name).map_err(at(place))
    }
}
