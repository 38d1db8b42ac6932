//! What the user has accepted, for later runs: a file of lines in the state folder. It counts only if no other user can have
//! written it.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::path::PathBuf;

use candor::operator::shown::shown;

use crate::targets::CliEnvironment;

/// The maximum size that is read, in bytes. No user accepts that much.
const LARGEST: u64 = 4 * 1024 * 1024;

pub(crate) struct AcceptedStore {
    /// `None`: no state folder was found.
    folder: Option<PathBuf>,
    name: &'static str,
}

impl AcceptedStore {
    pub(crate) fn of(here: &CliEnvironment, name: &'static str) -> Self {
        Self { folder: here.state.clone(), name }
    }

    /// Returns the text of the file; empty if other users may have written it.
    pub(crate) fn text(&self) -> String {
        self.read().unwrap_or_default()
    }

    fn read(&self) -> io::Result<String> {
        let folder = self.folder.as_ref().ok_or(io::ErrorKind::NotFound)?;
        let file = File::open(folder.join(self.name))?;
        #[cfg(unix)]
        {
            use std::os::unix::fs::MetadataExt as _;
            let found = file.metadata()?;
            if found.uid() != rustix::process::getuid().as_raw() || found.mode() & 0o022 != 0 {
                return Err(io::ErrorKind::PermissionDenied.into());
            }
        }
        let mut text = String::new();
        file.take(LARGEST).read_to_string(&mut text)?;
        Ok(text)
    }

    /// Adds a line. Errors are safe to show.
    pub(crate) fn add(&self, line: &str) -> Result<(), String> {
        let folder = self.folder.as_ref().ok_or("no state folder was found")?;
        let path = folder.join(self.name);
        let mut make = fs::DirBuilder::new();
        make.recursive(true);
        let mut open = OpenOptions::new();
        open.append(true).create(true);
        #[cfg(unix)]
        {
            std::os::unix::fs::DirBuilderExt::mode(&mut make, 0o700);
            std::os::unix::fs::OpenOptionsExt::mode(&mut open, 0o600);
        }
        // Write in one piece: another process may append at the same time.
        let add = || {
            make.create(folder)?;
            open.open(&path)?.write_all(format!("{line}\n").as_bytes())
        };
        add().map_err(|error: io::Error| {
            format!("{}: {}", shown(&path.to_string_lossy()), shown(&error.to_string()))
        })
    }
}
