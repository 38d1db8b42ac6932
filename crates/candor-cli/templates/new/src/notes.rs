//! Stores notes in a file, one per line.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

pub struct Notes {
    path: PathBuf,
    /// Locked during a write, so that two notes do not end up on one line.
    writing: Mutex<()>,
}

impl Notes {
    /// Returns the notes at this path. The first note creates the file.
    pub fn at(path: &Path) -> io::Result<Self> {
        Ok(Self {
            path: std::path::absolute(path)?,
            writing: Mutex::default(),
        })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns all notes, the earliest first.
    pub fn all(&self) -> io::Result<Vec<String>> {
        let mut text = String::new();
        match File::open(&self.path) {
            Ok(mut file) => file.read_to_string(&mut text)?,
            Err(error) if error.kind() == ErrorKind::NotFound => 0,
            Err(error) => return Err(error),
        };
        Ok(text.lines().map(str::to_owned).collect())
    }

    /// Adds a line, and returns the number of notes.
    pub fn add(&self, note: &str) -> io::Result<usize> {
        let _writing = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let mut file = OpenOptions::new()
            .create(true)
            .append(true)
            .open(&self.path)?;
        file.write_all(format!("{note}\n").as_bytes())?;
        file.sync_all()?;
        Ok(self.all()?.len())
    }
}
