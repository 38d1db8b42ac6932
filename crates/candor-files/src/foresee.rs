//! What an operation would find, by the checks that the operation itself makes, without a change. So a reviewer can see what a call
//! would change.

use crate::entry::{Entry, Facts, Kind};
use crate::error::{FileError, at};
use crate::place::RootedPath;
use crate::root::Root;
use crate::walk::LastLink;
use crate::write::Overwrite;

impl Root {
    /// Returns what [`delete`](Root::delete) would delete: for a link, the link.
    pub fn would_delete(&self, place: &RootedPath) -> Result<Entry, FileError> {
        if place.is_root() {
            return Err(FileError::IsRoot);
        }
        let spot = self.walk(place, LastLink::AsItIs)?;
        if spot.existing(place)?.is(Kind::Folder) {
            // Hidden names count too: because of them the folder cannot be deleted.
            let mut names = spot.open_to_list().and_then(|dir| dir.entries()).map_err(at(place))?;
            if names.next().is_some() {
                return Err(FileError::NotEmpty(place.clone()));
            }
        }
        self.entry(place)
    }

    /// Returns the file that [`replace`](Root::replace) would replace or [`append`](Root::append) would extend; `None` if it would
    /// be new.
    pub fn would_write(&self, place: &RootedPath) -> Result<Option<Entry>, FileError> {
        let spot = self.spot_to_write(place, LastLink::Followed)?;
        spot.named()?;
        spot.must_be_replaceable(place)?;
        Ok(spot.look.map(|look| {
            let facts = Facts { link: spot.by_link, ..Facts::of(&look, None) };
            facts.at(place.clone())
        }))
    }

    /// Returns what [`rename`](Root::rename) would move, and what it would replace.
    pub fn would_rename(
        &self,
        from: &RootedPath,
        to: &RootedPath,
        overwrite: Overwrite,
    ) -> Result<(Entry, Option<Entry>), FileError> {
        let there = self.renaming(from, to, overwrite)?.target.look.is_some();
        let lost = if there { Some(self.entry(to)?) } else { None };
        Ok((self.entry(from)?, lost))
    }

    /// Returns what [`copy`](Root::copy) would copy, and what it would replace.
    pub fn would_copy(
        &self,
        from: &RootedPath,
        to: &RootedPath,
        overwrite: Overwrite,
        limit: u64,
    ) -> Result<(Entry, Option<Entry>), FileError> {
        self.open_to_copy(from, limit)?;
        let lost = match overwrite {
            Overwrite::No => self.new_spot(to).map(|_| None)?,
            Overwrite::Yes => self.would_write(to)?,
        };
        Ok((self.entry(from)?, lost))
    }
}
