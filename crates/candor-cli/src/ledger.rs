//! Which ledger is read. To look at one never makes one.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use candor_ledger::{Options, Place, Store, StoreError, default_path};

use candor::desk::shown::shown;

const OTHERS: &str = "--ledger or CANDOR_LEDGER names another";

/// What every command that reads a ledger is told.
#[derive(Debug, clap::Args)]
pub(crate) struct Reading {
    /// Which ledger: sqlite:PATH, a path, or postgres://… [default: ledger.db in the state directory]
    #[arg(long, value_name = "URL", env = "CANDOR_LEDGER", global = true)]
    ledger: Option<String>,

    /// One JSON object per line, for programs; a failure is one on stderr, {"error": {"code", "message"}}
    #[arg(long, global = true)]
    pub(crate) json: bool,
}

impl Reading {
    pub(crate) fn ledger(&self) -> candor::Result<Ledger> {
        Ledger::of(self.ledger.as_deref())
    }
}

/// A ledger that can be looked at.
pub(crate) struct Ledger(Place);

impl Ledger {
    /// What the flag says; the file in the state directory without it.
    pub(crate) fn of(flag: Option<&str>) -> candor::Result<Self> {
        let Some(flag) = flag.filter(|flag| !flag.is_empty()) else {
            return default_path().map(|path| Self(Place::File(path))).ok_or_else(|| {
                candor::Error::new(format!("there is no state directory here: {OTHERS}"))
            });
        };
        match Place::parse(flag) {
            Ok(Place::Memory) => Err(candor::Error::new(
                "memory: is the memory of the one process that uses it; nobody else can look into it. \
                 Start the server with --ledger sqlite:PATH to have a history",
            )),
            Ok(place) => Ok(Self(place)),
            Err(error) => Err(candor::Error::new(shown(&error.to_string()))),
        }
    }

    pub(crate) fn open(&self) -> candor::Result<Arc<dyn Store>> {
        if let Place::File(path) = &self.0 {
            self.exists(path)?;
        }
        let opened = self.0.open_existing(Options::default());
        opened.map_err(|error| match (&self.0, error.to_string()) {
            _ if error == StoreError::Absent => self.absent(),
            // Some errors of a file name it themselves.
            (Place::File(path), text) if text.contains(&*path.to_string_lossy()) => {
                candor::Error::new(shown(&text))
            }
            (_, text) => self.problem(&text),
        })
    }

    /// Whether a file is there, or what stands in its place, in words for people.
    fn exists(&self, path: &Path) -> candor::Result<()> {
        match fs::metadata(path) {
            Ok(found) if found.is_dir() => Err(self.problem("this is a folder, not a ledger")),
            Ok(found) if found.len() == 0 => {
                Err(self.problem(&format!("this file is empty, not a ledger; {OTHERS}")))
            }
            Ok(_) => Ok(()),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Err(self.absent()),
            Err(error) => Err(self.problem(&error.to_string())),
        }
    }

    fn absent(&self) -> candor::Error {
        self.problem(&format!(
            "there is no ledger here. A server makes it when it starts; {OTHERS}"
        ))
    }

    pub(crate) fn problem(&self, problem: &str) -> candor::Error {
        candor::Error::new(format!("{}: {}", self.name(), shown(problem)))
    }

    /// For people.
    pub(crate) fn name(&self) -> String {
        shown(&self.0.to_string()).to_string()
    }
}
