//! The content of files. Nothing here waits for another process: a pipe or a device is refused before it is opened. It is checked
//! again afterwards, because it may have appeared in between.

use std::fs::File;
use std::io::Read;

use crate::entry::Kind;
use crate::error::{FileError, at};
use crate::media::is_text;
use crate::place::RootedPath;
use crate::root::Root;
use crate::sys::{self, NameKind, NameStatus};
use crate::walk::{LastLink, Spot};

impl Root {
    /// Returns the whole content of a file, if it has at most `limit` bytes.
    pub fn read(&self, place: &RootedPath, limit: u64) -> Result<Vec<u8>, FileError> {
        let (file, look) = self.open_file(place)?;
        read_whole(place, &file, &look, limit)
    }

    /// Returns the whole content of a text file: UTF-8 without NUL.
    pub fn read_text(&self, place: &RootedPath, limit: u64) -> Result<String, FileError> {
        let bytes = self.read(place, limit)?;
        if !is_text(&bytes) {
            return Err(FileError::NotText(place.clone()));
        }
        String::from_utf8(bytes).map_err(|_| FileError::NotText(place.clone()))
    }

    /// Returns the first `n` bytes of a file, or all of them if it has fewer.
    pub fn head(&self, place: &RootedPath, n: usize) -> Result<Vec<u8>, FileError> {
        let (file, look) = self.open_file(place)?;
        let n = n as u64;
        let mut bytes = Vec::with_capacity(capacity(look.size.min(n)));
        file.take(n).read_to_end(&mut bytes).map_err(at(place))?;
        Ok(bytes)
    }

    /// Opens a file, and nothing but a file.
    pub(crate) fn open_file(&self, place: &RootedPath) -> Result<(File, NameStatus), FileError> {
        open_spot(&self.walk(place, LastLink::Followed)?, place)
    }
}

pub(crate) fn open_spot(spot: &Spot, place: &RootedPath) -> Result<(File, NameStatus), FileError> {
    must_be_file(place, &spot.existing(place)?)?;
    let (folder, name) = spot.named()?;
    let file = sys::open_to_read(folder, name).map_err(at(place))?;
    let look = sys::look_at_file(&file).map_err(at(place))?;
    must_be_file(place, &look)?;
    Ok((file, look))
}

pub(crate) fn must_be_file(place: &RootedPath, look: &NameStatus) -> Result<(), FileError> {
    match look.seen {
        NameKind::Real(Kind::File) => Ok(()),
        NameKind::Real(kind) => Err(FileError::NotAFile(place.clone(), kind)),
        NameKind::Link => Err(FileError::NotAFile(place.clone(), Kind::DanglingLink)),
    }
}

/// Reads an open file to its end. It may grow meanwhile, and some files with content report the size 0.
pub(crate) fn read_whole(
    place: &RootedPath,
    file: &File,
    look: &NameStatus,
    limit: u64,
) -> Result<Vec<u8>, FileError> {
    let too_large = |size| FileError::TooLarge { place: place.clone(), size, limit };
    if look.size > limit {
        return Err(too_large(look.size));
    }
    let mut bytes = Vec::with_capacity(capacity(look.size));
    file.take(limit.saturating_add(1)).read_to_end(&mut bytes).map_err(at(place))?;
    let size = bytes.len() as u64;
    if size > limit { Err(too_large(size)) } else { Ok(bytes) }
}

/// Returns the initial capacity for a file of this size. A sparse file can report any size, so there is a maximum. One byte more
/// shows the end without growing.
fn capacity(size: u64) -> usize {
    usize::try_from(size.min(16 * 1024 * 1024)).map_or(0, |n| n + 1)
}
