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

/// Something in a folder.
pub(super) struct Listed {
    /// Relative to the root, with `/` between the parts.
    pub(super) path: String,
    pub(super) is_dir: bool,
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
            listed.push(Listed {
                path: format!("{prefix}{name}"),
                is_dir: metadata.is_dir(),
                size: metadata.len(),
            });
        }
        listed.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(listed)
    }

    /// Files beneath the root, hidden ones left out, the nearest first.
    pub(super) fn files(&self) -> std::io::Result<Vec<Listed>> {
        let mut files = Vec::new();
        let mut folders = vec![String::new()];
        for _ in 0..MOST_DEPTH {
            let mut deeper = Vec::new();
            for folder in &folders {
                for listed in self.list(folder)? {
                    let hidden =
                        listed.path.rsplit('/').next().is_some_and(|name| name.starts_with('.'));
                    match (hidden, listed.is_dir) {
                        (true, _) => {}
                        (false, true) => deeper.push(listed.path),
                        (false, false) => files.push(listed),
                    }
                    if files.len() == MOST_LISTED {
                        return Ok(files);
                    }
                }
            }
            folders = deeper;
        }
        Ok(files)
    }
}
