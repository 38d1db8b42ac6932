//! Finds programs, and the name of this one for a command line that the user may paste.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::{env, fs};

use crate::shell::quoted;

/// Returns how a shell starts this program: by its name if PATH leads here, otherwise by its absolute path.
pub(crate) fn ourselves() -> String {
    let name = "candor";
    let Ok(here) = env::current_exe() else { return name.to_owned() };
    let found = on_path(name, env::var_os("PATH").as_deref());
    let same = |found: PathBuf| fs::canonicalize(found).ok() == fs::canonicalize(&here).ok();
    match here.to_str() {
        Some(path) if !found.is_some_and(same) => quoted(path),
        _ => name.to_owned(),
    }
}

/// Returns the program that a shell would start. Links are not followed: some programs are one file under many names.
pub(crate) fn on_path(command: &str, search: Option<&OsStr>) -> Option<PathBuf> {
    let folders = search.map(env::split_paths).into_iter().flatten().filter(|at| at.is_absolute());
    folders.into_iter().find_map(|at| runnable(&at.join(command)))
}

#[cfg(unix)]
pub(crate) fn runnable(path: &Path) -> Option<PathBuf> {
    use std::os::unix::fs::PermissionsExt as _;
    let found = path.metadata().ok()?;
    (found.is_file() && found.permissions().mode() & 0o111 != 0).then(|| path.to_owned())
}

#[cfg(not(unix))]
pub(crate) fn runnable(path: &Path) -> Option<PathBuf> {
    let named = ["", "exe", "cmd", "bat"]
        .map(|end| if end.is_empty() { path.to_owned() } else { path.with_extension(end) });
    named.into_iter().find(|path| path.is_file())
}
