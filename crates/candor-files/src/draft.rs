//! A file that is invisible until it is complete. It is written under a temporary name in its own folder, and then renamed in one
//! step. If anything fails before that, the draft is removed.

use std::fs::File;
use std::io::{self, Write};

use cap_std::fs::Dir;

use crate::sys::{self, NameStatus};

pub(crate) struct Draft<'a> {
    folder: &'a Dir,
    name: Vec<u8>,
    file: File,
}

impl<'a> Draft<'a> {
    /// Begins a draft in a folder. It is `private` if permissions are set before it is published.
    pub(crate) fn begin(folder: &'a Dir, private: bool) -> io::Result<Self> {
        let mut random = [0; 16];
        getrandom::fill(&mut random).map_err(|_| io::ErrorKind::Other)?;
        let name = format!(".candor-{:032x}", u128::from_ne_bytes(random)).into_bytes();
        let file = sys::create(folder, &name, private)?;
        Ok(Self { folder, name, file })
    }

    pub(crate) fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all(bytes)
    }

    pub(crate) fn file(&mut self) -> &mut File {
        &mut self.file
    }

    /// Gives it the owner and the permissions of the file that it replaces.
    pub(crate) fn succeed(&self, old: &NameStatus) -> io::Result<()> {
        sys::set_owner(&self.file, old);
        self.set_permissions(old)
    }

    pub(crate) fn set_permissions(&self, like: &NameStatus) -> io::Result<()> {
        sys::set_permissions(&self.file, like)
    }

    /// Takes the name, and replaces the entry that has it.
    pub(crate) fn publish_over(self, name: &[u8]) -> io::Result<()> {
        self.published(|draft| sys::rename((draft.folder, &draft.name), (draft.folder, name)))
    }

    /// Takes the name, unless an entry has it.
    pub(crate) fn publish_new(self, name: &[u8]) -> io::Result<()> {
        self.published(|draft| {
            sys::rename_to_nothing((draft.folder, &draft.name), (draft.folder, name), false)
        })
    }

    fn published(mut self, take_name: impl FnOnce(&Self) -> io::Result<()>) -> io::Result<()> {
        // On the disk before it has the name: a crash leaves the old file or the new one, never an empty one.
        self.file.sync_all()?;
        take_name(&self)?;
        self.name.clear();
        Ok(())
    }
}

impl Drop for Draft<'_> {
    fn drop(&mut self) {
        if !self.name.is_empty() {
            let _ = sys::remove_file(self.folder, &self.name);
        }
    }
}
