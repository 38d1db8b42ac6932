//! What an operation would find, by the checks that it makes itself; and nothing is done. So a person can be shown what a call would
//! change before it does.

use crate::entry::{Entry, Facts, Kind};
use crate::error::{FileError, at};
use crate::place::RootedPath;
use crate::root::Root;
use crate::walk::LastLink;
use crate::write::Overwrite;

impl Root {
    /// What [`delete`](Root::delete) would delete: of a link, the link.
    pub fn would_delete(&self, place: &RootedPath) -> Result<Entry, FileError> {
        if place.is_root() {
            return Err(FileError::IsRoot);
        }
        let spot = self.walk(place, LastLink::AsItIs)?;
        if spot.existing(place)?.is(Kind::Folder) {
            // Also what is hidden: the folder cannot be deleted because of it.
            let mut names = spot.open_to_list().and_then(|dir| dir.entries()).map_err(at(place))?;
            if names.next().is_some() {
                return Err(FileError::NotEmpty(place.clone()));
            }
        }
        self.entry(place)
    }

    /// The file that [`replace`](Root::replace) would replace and [`append`](Root::append) add to; `None` if it would be new.
    pub fn would_write(&self, place: &RootedPath) -> Result<Option<Entry>, FileError> {
        let spot = self.spot_to_write(place, LastLink::Followed)?;
        spot.named()?;
        spot.must_be_replaceable(place)?;
        Ok(spot.look.map(|look| {
            let facts = Facts { link: spot.by_link, ..Facts::of(&look, None) };
            facts.at(place.clone())
        }))
    }

    /// What [`rename`](Root::rename) would move, and what would be lost by it.
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

    /// What [`copy`](Root::copy) would copy, and what would be lost by it.
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
