//! A folder that nothing leads out of: not `..`, not an absolute path, not a symbolic link.

use std::io::Read;
use std::path::{Path, PathBuf};

use candor::Error;
use cap_std::ambient_authority;
use cap_std::fs::Dir;

/// The largest file that is sent in one piece.
const MOST_BYTES: u64 = 2 * 1024 * 1024;

/// How many files are listed in all, and how deep.
const MOST_LISTED: usize = 1000;
const MOST_DEPTH: usize = 8;

pub(super) struct Folder {
    root: PathBuf,
    dir: Dir,
}

/// What something in a folder is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    File,
    Folder,
    /// A link, a pipe, a device: named, but neither read nor entered without being asked to.
    Other,
}

impl Kind {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::File => "file",
            Self::Folder => "folder",
            Self::Other => "other",
        }
    }
}

/// Something in a folder.
pub(super) struct Listed {
    /// Relative to the root, with `/` between the parts.
    pub(super) path: String,
    pub(super) kind: Kind,
    pub(super) size: u64,
}

impl Folder {
    pub(super) fn open(path: &Path) -> candor::Result<Self> {
        let in_words = |e: std::io::Error| Error::new(format!("{}: {e}", path.display()));
        let root = path.canonicalize().map_err(in_words)?;
        let dir = Dir::open_ambient_dir(&root, ambient_authority()).map_err(in_words)?;
        Ok(Self { root, dir })
    }

    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    pub(super) fn name(&self) -> String {
        self.root
            .file_name()
            .map_or_else(|| "files".to_owned(), |n| n.to_string_lossy().into_owned())
    }

    /// What a file holds.
    pub(super) fn read(&self, path: &str) -> std::io::Result<Vec<u8>> {
        // Looked at before it is opened: opening a named pipe waits for somebody to write to it.
        if !self.dir.metadata(path)?.is_file() {
            return Err(std::io::Error::other("not a file"));
        }
        let file = self.dir.open(path)?;
        let metadata = file.metadata()?;
        if !metadata.is_file() {
            return Err(std::io::Error::other("not a file"));
        }
        let mut bytes = Vec::new();
        file.take(MOST_BYTES + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > MOST_BYTES {
            return Err(std::io::Error::other(format!("larger than {MOST_BYTES} bytes")));
        }
        Ok(bytes)
    }

    /// What a folder holds, in order of names. What cannot be looked at is left out.
    pub(super) fn list(&self, path: &str) -> std::io::Result<Vec<Listed>> {
        let path = if path.is_empty() { "." } else { path };
        let prefix =
            if path == "." { String::new() } else { format!("{}/", path.trim_end_matches('/')) };
        let mut listed = Vec::new();
        for entry in self.dir.read_dir(path)? {
            let entry = entry?;
            let (Ok(name), Ok(metadata)) = (entry.file_name().into_string(), entry.metadata())
            else {
                continue;
            };
            let kind = match metadata.file_type() {
                t if t.is_dir() => Kind::Folder,
                t if t.is_file() => Kind::File,
                _ => Kind::Other,
            };
            listed.push(Listed { path: format!("{prefix}{name}"), kind, size: metadata.len() });
        }
        listed.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(listed)
    }

    /// Files beneath the root, hidden ones left out, the nearest first.
    pub(super) fn files(&self) -> Vec<Listed> {
        let mut files = Vec::new();
        let mut folders = vec![String::new()];
        for _ in 0..MOST_DEPTH {
            let mut deeper = Vec::new();
            for folder in &folders {
                // A folder that cannot be looked into does not hide the others.
                for listed in self.list(folder).unwrap_or_default() {
                    let name = listed.path.rsplit('/').next().unwrap_or_default();
                    match listed.kind {
                        _ if name.starts_with('.') => {}
                        Kind::Folder => deeper.push(listed.path),
                        Kind::File => files.push(listed),
                        Kind::Other => {}
                    }
                    if files.len() == MOST_LISTED {
                        return files;
                    }
                }
            }
            folders = deeper;
        }
        files
    }
}
