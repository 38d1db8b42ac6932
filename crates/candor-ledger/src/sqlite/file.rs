//! Where the file is, and who may read it.

use std::env;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The ledger's place in the state directory of the system: `$XDG_STATE_HOME/candor/ledger.db`, on macOS
/// `~/Library/Application Support/candor/ledger.db`, on Windows `%LOCALAPPDATA%\candor\ledger.db`. `None`: there is no home.
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

/// Makes the file, and its folder, for nobody but its owner. SQLite gives the files beside it the same mode. What is there
/// already keeps the mode that somebody gave it.
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
