//! The demo's folder. Only its owner has access, and it is removed when the demo ends, unless it is kept.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;

pub(super) struct DemoData {
    path: PathBuf,
    keep: bool,
}

impl DemoData {
    /// Creates a new folder among the temporary files.
    pub(super) fn make(keep: bool) -> candor::Result<Self> {
        let mut bytes = [0; 8];
        getrandom::fill(&mut bytes).map_err(candor::Error::new)?;
        let name = format!("candor-demo-{:016x}", u64::from_ne_bytes(bytes));
        let path = std::env::temp_dir().join(name);
        let mut builder = fs::DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        let refused = |error| {
            candor::Error::new(format!(
                "{}: {error}\n  the demo uses the folder for temporary files; set TMPDIR to use another",
                path.display()
            ))
        };
        // A folder that already exists belongs to another process, so it is an error.
        builder.create(&path).map_err(refused)?;
        Ok(Self { path, keep })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the path, and whether the folder is kept.
    pub(super) fn describe(&self) -> String {
        let fate = if self.keep { "kept" } else { "removed at the end" };
        format!("{} ({fate})", self.path.display())
    }

    fn remove(&self) -> std::io::Result<()> {
        let mut tries = 0;
        loop {
            match fs::remove_dir_all(&self.path) {
                // A thread that closes a database may still create a file next to it.
                Err(error) if error.kind() == ErrorKind::DirectoryNotEmpty && tries < 100 => {
                    tries += 1;
                    std::thread::sleep(Duration::from_millis(10));
                }
                other => return other,
            }
        }
    }
}

impl Drop for DemoData {
    fn drop(&mut self) {
        if self.keep {
            eprintln!("kept: {}", self.path.display());
            return;
        }
        if let Err(error) = self.remove() {
            eprintln!("{} could not be removed: {error}", self.path.display());
        }
    }
}
