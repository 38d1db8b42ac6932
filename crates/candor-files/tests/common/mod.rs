//! A folder to work in, with something beside it that nobody may touch.
#![allow(dead_code, reason = "each test file uses a part of this")]

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use candor_files::{Entry, Root, RootedPath};

/// `inside/` is for the root, `outside/` holds a secret. Both are gone when this is.
pub(crate) struct Scratch {
    base: PathBuf,
}

pub(crate) const SECRET: &str = "the secret outside";

impl Scratch {
    pub(crate) fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let base =
            std::env::temp_dir().join(format!("candor-files-{}-{count}", std::process::id()));
        fs::create_dir_all(base.join("inside")).unwrap();
        fs::create_dir_all(base.join("outside/folder")).unwrap();
        fs::write(base.join("outside/secret"), SECRET).unwrap();
        fs::write(base.join("outside/folder/secret"), SECRET).unwrap();
        Self { base: base.canonicalize().unwrap() }
    }

    pub(crate) fn base(&self) -> &Path {
        &self.base
    }

    pub(crate) fn inside(&self, path: impl AsRef<Path>) -> PathBuf {
        self.base.join("inside").join(path)
    }

    pub(crate) fn outside(&self, path: impl AsRef<Path>) -> PathBuf {
        self.base.join("outside").join(path)
    }

    pub(crate) fn root(&self) -> Root {
        Root::open(self.inside("")).unwrap()
    }

    pub(crate) fn file(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.inside(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    pub(crate) fn folder(&self, path: &str) {
        fs::create_dir_all(self.inside(path)).unwrap();
    }

    pub(crate) fn link(&self, path: &str, target: impl AsRef<Path>) {
        std::os::unix::fs::symlink(target, self.inside(path)).unwrap();
    }

    pub(crate) fn pipe(&self, path: impl AsRef<Path>) {
        use rustix::fs::{CWD, Mode};
        rustix::fs::mkfifoat(CWD, self.inside(path), Mode::from_raw_mode(0o644)).unwrap();
    }

    pub(crate) fn text(&self, path: &str) -> String {
        fs::read_to_string(self.inside(path)).unwrap()
    }

    pub(crate) fn names(&self, path: &str) -> Vec<String> {
        let entries = fs::read_dir(self.inside(path)).unwrap();
        let mut names: Vec<String> =
            entries.map(|e| e.unwrap().file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    /// Everything outside, with its content and its time of change.
    pub(crate) fn outside_now(&self) -> BTreeMap<PathBuf, (Vec<u8>, std::time::SystemTime)> {
        let mut all = BTreeMap::new();
        let mut folders = vec![self.outside("")];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                let metadata = fs::symlink_metadata(&path).unwrap();
                let content =
                    if metadata.is_file() { fs::read(&path).unwrap() } else { Vec::new() };
                if metadata.is_dir() {
                    folders.push(path.clone());
                }
                all.insert(path, (content, metadata.modified().unwrap()));
            }
        }
        all
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        open_up(&self.base);
        let _ = fs::remove_dir_all(&self.base);
    }
}

/// Folders that nobody may enter cannot be emptied either.
fn open_up(folder: &Path) {
    let _ = fs::set_permissions(folder, fs::Permissions::from_mode(0o700));
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|t| t.is_dir()) {
            open_up(&entry.path());
        }
    }
}

pub(crate) fn place(text: &str) -> RootedPath {
    RootedPath::parse(text).unwrap()
}

pub(crate) fn path_of(place: &RootedPath) -> PathBuf {
    place.names().map(OsStr::from_bytes).collect()
}

pub(crate) fn is_superuser() -> bool {
    rustix::process::geteuid().is_root()
}

/// A folder, page by page.
pub(crate) fn list(root: &Root, place: &RootedPath, limit: usize) -> Vec<Entry> {
    let mut entries = Vec::new();
    let mut after: Option<Vec<u8>> = None;
    loop {
        let page = root.page(place, after.as_deref(), limit).unwrap();
        assert!(page.entries.len() <= limit);
        entries.extend(page.entries);
        after = page.next;
        if after.is_none() {
            return entries;
        }
    }
}

/// Names that a disk can hold, and that somebody may stumble over.
pub(crate) fn odd_names() -> Vec<Vec<u8>> {
    let mut names: Vec<Vec<u8>> = [
        "a",
        "b",
        "A",
        "a b",
        " ",
        "-rf",
        "--help",
        "new\nline",
        "tab\t",
        "100%",
        "%2e%2e",
        "%2F",
        "#",
        "?",
        "a?b#c",
        "...",
        ".hidden",
        "..a",
        "\u{1f980}",
        "\u{fc}",
        "u\u{308}",
        "\u{202e}txt",
        "\\",
        "c:\\x",
        "*",
        "[a]",
        "'\"",
        "CON",
        "~",
    ]
    .iter()
    .map(|name| name.as_bytes().to_vec())
    .collect();
    names.push(b"\xff\xfe".to_vec());
    names.push(b"half \xc3".to_vec());
    names.push(vec![b'x'; 255]);
    names.push(vec![0xff; 255]);
    names.push(b"\x01\x7f".to_vec());
    names
}
