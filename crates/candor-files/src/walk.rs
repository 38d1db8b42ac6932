//! The way to a place, one name at a time. Links are read and followed here, not by the system. So three things hold, whatever
//! changes in the tree meanwhile. Every step is one name in an open folder, without following links, so the way cannot leave the
//! root. What is hidden cannot be reached by a link either. And a caller that writes knows the folder and the name that a link
//! really leads to.

use std::io;
use std::sync::Arc;

use cap_std::fs::Dir;

use crate::entry::Kind;
use crate::error::{self, FileError};
use crate::place::RootedPath;
use crate::root::Root;
use crate::sys::{self, NameKind, NameStatus};

/// Maximum number of links on one way, the same as on Linux.
const MOST_LINKS: usize = 40;

/// Maximum number of folders to enter on one way. Every `..` of a link is walked from the root again, so a few links can make a way
/// of millions. Ordinary ways have hundreds.
const MOST_STEPS: usize = 20_000;

/// What to do if the last name is a link.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum LastLink {
    /// Follow it.
    Followed,
    /// Take the link itself.
    AsItIs,
}

/// An open folder, and the names that lead to it without any link.
#[derive(Clone)]
pub(crate) struct OpenFolder {
    pub(crate) folder: Arc<Dir>,
    pub(crate) place: RootedPath,
}

/// The end of a way: a name in a folder, whether or not it exists.
pub(crate) struct Spot {
    pub(crate) at: OpenFolder,
    /// `None` for the folder itself.
    pub(crate) name: Option<Vec<u8>>,
    /// Its status, if it exists.
    pub(crate) look: Option<NameStatus>,
    /// True if the last name of the way was a link, and this is where it leads.
    pub(crate) by_link: bool,
}

impl Spot {
    /// Returns the place without any link.
    pub(crate) fn real_place(&self) -> RootedPath {
        self.name.as_ref().map_or_else(|| self.at.place.clone(), |name| self.at.place.child(name))
    }

    pub(crate) fn existing(&self, place: &RootedPath) -> Result<NameStatus, FileError> {
        self.look.ok_or_else(|| {
            let place = place.clone();
            if self.by_link { FileError::LeadsNowhere(place) } else { FileError::NotFound(place) }
        })
    }

    /// Returns the folder and the name. Fails for a folder that has no name here.
    pub(crate) fn named(&self) -> Result<(&Dir, &[u8]), FileError> {
        match &self.name {
            Some(name) => Ok((&self.at.folder, name)),
            None if self.at.place.is_root() => Err(FileError::IsRoot),
            None => Err(FileError::NotAFile(self.at.place.clone(), Kind::Folder)),
        }
    }

    /// Opens the folder at this spot, to read its names.
    pub(crate) fn open_to_list(&self) -> io::Result<Dir> {
        sys::open_to_list(&self.at.folder, self.name.as_deref())
    }
}

impl Root {
    /// Walks to a place. The folder must exist; the last name need not.
    pub(crate) fn walk(&self, place: &RootedPath, last: LastLink) -> Result<Spot, FileError> {
        if !self.shows_hidden() && place.is_hidden() {
            return Err(FileError::NotFound(place.clone()));
        }
        let ahead = place.names().map(<[u8]>::to_vec).rev().collect();
        self.walk_from(self.top(), ahead, last, place)
    }

    /// Follows one name in a folder to its final target.
    pub(crate) fn walk_on(&self, from: &OpenFolder, name: &[u8]) -> Result<Spot, FileError> {
        let place = from.place.child(name);
        self.walk_from(from.clone(), vec![name.to_vec()], LastLink::Followed, &place)
    }

    /// Walks the names of `ahead`, from the last to the first. `place` is for the errors.
    fn walk_from(
        &self,
        mut at: OpenFolder,
        mut ahead: Vec<Vec<u8>>,
        last: LastLink,
        place: &RootedPath,
    ) -> Result<Spot, FileError> {
        let (mut links, mut steps) = (0, 0);
        let mut by_link = false;
        while let Some(name) = ahead.pop() {
            steps += if name == b".." { at.place.names().count() } else { 1 };
            if steps > MOST_STEPS {
                return Err(FileError::LeadsNowhere(place.clone()));
            }
            match &name[..] {
                b"" | b"." => continue,
                b".." => {
                    at = self.above(&at, place)?;
                    continue;
                }
                _ if name[0] == b'.' && !self.shows_hidden() => {
                    return Err(FileError::LeadsNowhere(place.clone()));
                }
                _ => {}
            }
            if ahead.is_empty() {
                let look = match sys::look(&at.folder, &name) {
                    Ok(look) => Some(look),
                    Err(e) if e.kind() == io::ErrorKind::NotFound => None,
                    Err(e) => return Err(FileError::from_io(place, &e)),
                };
                let is_link = look.is_some_and(|l| l.seen == NameKind::Link);
                if last == LastLink::AsItIs || !is_link {
                    return Ok(Spot { at, name: Some(name), look, by_link });
                }
                by_link = true;
            } else if let Some(folder) =
                sys::enter(&at.folder, &name).map_err(missing(place, links))?
            {
                at = OpenFolder { folder: Arc::new(folder), place: at.place.child(&name) };
                continue;
            }
            let Some(target) = sys::read_link(&at.folder, &name).map_err(missing(place, links))?
            else {
                return Err(FileError::NotAFolder(place.clone()));
            };
            links += 1;
            if links > MOST_LINKS {
                return Err(FileError::LeadsNowhere(place.clone()));
            }
            // An absolute link may lead back into the root, but that depends on what is outside. So it is not followed.
            if target.starts_with(b"/") || (cfg!(windows) && target.contains(&b':')) {
                return Err(FileError::LeadsOut(place.clone()));
            }
            ahead.extend(target.split(|b| *b == b'/').rev().map(<[u8]>::to_vec));
        }
        let look = sys::look_at_folder(&at.folder).map_err(error::at(place))?;
        Ok(Spot { at, name: None, look: Some(look), by_link })
    }

    /// Returns the folder above, without asking the system for `..`: the folder may have been moved to where that leads out.
    fn above(&self, at: &OpenFolder, place: &RootedPath) -> Result<OpenFolder, FileError> {
        let parent = at.place.parent().ok_or_else(|| FileError::LeadsOut(place.clone()))?;
        let mut folder = self.top().folder;
        for name in parent.names() {
            let next = sys::enter(&folder, name).map_err(error::at(place))?;
            folder = Arc::new(next.ok_or_else(|| FileError::LeadsNowhere(place.clone()))?);
        }
        Ok(OpenFolder { folder, place: parent })
    }
}

/// Converts the error of a step. If a name is missing behind a link, the link leads nowhere.
fn missing(place: &RootedPath, links: usize) -> impl Fn(io::Error) -> FileError + '_ {
    move |error| match error.kind() {
        io::ErrorKind::NotFound if links > 0 => FileError::LeadsNowhere(place.clone()),
        _ => FileError::from_io(place, &error),
    }
}
