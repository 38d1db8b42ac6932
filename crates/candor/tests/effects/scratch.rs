//! A folder for one test, what is in it, and what is outside.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// What is in a folder: each file with its contents, each folder with nothing.
pub(crate) type Picture = BTreeMap<String, String>;

/// A folder that is served, inside one that is not. Both are gone with the test.
pub(crate) struct Scratch {
    outside: PathBuf,
}

impl Scratch {
    pub(crate) fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("effects-{}-{number}", std::process::id());
        let scratch = Self { outside: Path::new(env!("CARGO_TARGET_TMPDIR")).join(name) };
        fs::create_dir_all(scratch.root().join("folder")).unwrap();
        fs::write(scratch.outside.join("secret.txt"), "secret").unwrap();
        scratch.set_up();
        scratch
    }

    /// The folder that is served.
    pub(crate) fn root(&self) -> PathBuf {
        self.outside.join("served")
    }

    /// What is not served, and must stay as it is.
    pub(crate) fn secret(&self) -> PathBuf {
        self.outside.join("secret.txt")
    }

    /// Two files, one of them in a folder, as if nothing had happened.
    pub(crate) fn set_up(&self) {
        let root = self.root();
        for entry in fs::read_dir(&root).unwrap() {
            let path = entry.unwrap().path();
            if !path.is_dir() {
                fs::remove_file(path).unwrap();
            }
        }
        fs::write(root.join("notes.txt"), "one\n").unwrap();
        fs::write(root.join("folder/more.txt"), "two\n").unwrap();
    }

    /// What is there now, inside and outside.
    pub(crate) fn look(&self) -> Picture {
        let mut picture = Picture::new();
        look(&self.outside, "", &mut picture);
        picture
    }
}

fn look(folder: &Path, name: &str, picture: &mut Picture) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = format!("{name}/{}", path.file_name().unwrap().to_string_lossy());
        if path.is_dir() {
            picture.insert(name.clone(), String::new());
            look(&path, &name, picture);
        } else {
            picture.insert(name, fs::read_to_string(path).unwrap());
        }
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.outside);
    }
}
