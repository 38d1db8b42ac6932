//! Which ledger is read. To look at one never makes one.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use candor_ledger::{Options, SqliteStore, Store, StoreError, default_path};

use crate::shown::shown;

const OTHERS: &str = "--ledger or CANDOR_LEDGER names another";

pub(crate) enum Place {
    File(PathBuf),
    /// A server, by its URL.
    Url(String),
}

impl Place {
    /// What the flag says; the file in the state directory without it.
    pub(crate) fn of(flag: Option<&str>) -> candor::Result<Self> {
        let Some(flag) = flag.filter(|flag| !flag.is_empty()) else {
            return default_path().map(Self::File).ok_or_else(|| {
                candor::Error::new(format!("there is no state directory here: {OTHERS}"))
            });
        };
        match flag.split_once(':') {
            Some(("memory", _)) => Err(candor::Error::new(
                "memory: is the memory of the one process that uses it; nobody else can look into it. \
                 Start the server with --ledger sqlite:PATH to have a history",
            )),
            Some(("sqlite", path)) => {
                let path = path.strip_prefix("//").unwrap_or(path);
                if path.is_empty() {
                    return Err(candor::Error::new("sqlite: needs a path, as in sqlite:ledger.db"));
                }
                Ok(Self::File(path.into()))
            }
            Some((_, rest)) if rest.starts_with("//") => Ok(Self::Url(flag.to_owned())),
            _ => Ok(Self::File(flag.into())),
        }
    }

    pub(crate) fn open(&self) -> candor::Result<Arc<dyn Store>> {
        let opened: Result<Arc<dyn Store>, _> = match self {
            Self::File(path) => {
                self.exists(path)?;
                SqliteStore::open(path, Options::default()).map(|store| Arc::new(store) as _)
            }
            Self::Url(url) => candor_ledger::open(url, Options::default()),
        };
        opened.map_err(|error| match error {
            // Its text names the URL with whatever secret stands in it.
            StoreError::UnknownUrl(_) => {
                self.problem("this program knows no ledgers of that kind; use sqlite:PATH")
            }
            // Some errors of a file name it themselves.
            error => match (self, error.to_string()) {
                (Self::File(path), text) if text.contains(&*path.to_string_lossy()) => {
                    candor::Error::new(shown(&text))
                }
                (_, text) => self.problem(&text),
            },
        })
    }

    /// Opening a file that is not there would make it, and one that is empty would become a ledger.
    fn exists(&self, path: &Path) -> candor::Result<()> {
        match fs::metadata(path) {
            Ok(found) if found.is_dir() => Err(self.problem("this is a folder, not a ledger")),
            Ok(found) if found.len() == 0 => {
                Err(self.problem(&format!("this file is empty, not a ledger; {OTHERS}")))
            }
            Ok(_) => Ok(()),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Err(self.problem(
                &format!("there is no ledger here. A server makes it when it starts; {OTHERS}"),
            )),
            Err(error) => Err(self.problem(&error.to_string())),
        }
    }

    pub(crate) fn problem(&self, problem: &str) -> candor::Error {
        candor::Error::new(format!("{}: {}", self.name(), shown(problem)))
    }

    /// For people; without what stands before the host in a URL, which may be a password.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::File(path) => shown(&path.to_string_lossy()).to_string(),
            Self::Url(url) => {
                let (scheme, rest) = url.split_once("://").unwrap_or((url, ""));
                let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
                let host = rest[..end].rsplit_once('@').map_or(&rest[..end], |(_, host)| host);
                let path = rest[end..].split(['?', '#']).next().unwrap_or_default();
                shown(&format!("{scheme}://{host}{path}")).to_string()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(flag: &str) -> String {
        Place::of(Some(flag)).unwrap().name()
    }

    #[test]
    fn paths_and_urls() {
        assert_eq!(named("sqlite:a/b.db"), "a/b.db");
        assert_eq!(named("sqlite:///var/a.db"), "/var/a.db");
        assert_eq!(named("./odd:name.db"), "./odd:name.db");
        assert_eq!(named("C:\\state\\ledger.db"), "C:\\state\\ledger.db");
        assert!(matches!(Place::of(Some("postgres://db/x")), Ok(Place::Url(_))));
        assert!(Place::of(Some("memory:")).is_err());
        assert!(Place::of(Some("sqlite:")).is_err());
    }

    #[test]
    fn a_password_is_not_shown() {
        assert_eq!(named("postgres://ann:s3cr@t@db:5432/x?password=no"), "postgres://db:5432/x");
        assert_eq!(named("postgres://db"), "postgres://db");
    }
}
