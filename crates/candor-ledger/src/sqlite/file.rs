//! The location of the ledger file, and its permissions.

use std::env;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Returns the default path of the ledger, in the state directory of the system: `$XDG_STATE_HOME/candor/ledger.db`, on macOS
/// `~/Library/Application Support/candor/ledger.db`, on Windows `%LOCALAPPDATA%\candor\ledger.db`. Returns `None` if there is
/// no home directory.
#[must_use]
pub fn default_path() -> Option<PathBuf> {
    let folder =
        |name: &str| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let state = if cfg!(target_os = "macos") {
        folder("HOME")?.join("Library/Application Support")
    } else if cfg!(windows) {
        folder("LOCALAPPDATA")?
    } else {
        folder("XDG_STATE_HOME").or_else(|| Some(folder("HOME")?.join(".local/state")))?
    };
    Some(state.join("candor").join("ledger.db"))
}

/// Creates the file and its folder so that only their owner can read them. SQLite gives the files beside it the same mode. An
/// existing file or folder keeps its mode.
pub(super) fn prepare(path: &Path) -> io::Result<()> {
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        let mut make = fs::DirBuilder::new();
        make.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut make, 0o700);
        make.create(folder)?;
    }
    let mut open = fs::OpenOptions::new();
    open.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut open, 0o600);
    open.open(path).map(drop)
}
