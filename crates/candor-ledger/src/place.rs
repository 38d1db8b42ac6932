//! The address of a ledger, as given on a command line.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::memory::MemoryStore;
use crate::store::{Options, Store, StoreError};

/// The address of a ledger.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LedgerAddress {
    /// In the memory of one process.
    Memory,
    /// In a SQLite file.
    File(PathBuf),
    /// In a PostgreSQL database, by its URL.
    Server(String),
}

impl LedgerAddress {
    /// Parses `sqlite:PATH`, `postgres://…`, `memory:`, or a plain path.
    ///
    /// # Errors
    /// Returns an error if the text names no known store.
    ///
    /// ```
    /// use candor_ledger::LedgerAddress;
    /// assert_eq!(LedgerAddress::parse("sqlite:a/b.db"), Ok(LedgerAddress::File("a/b.db".into())));
    /// assert_eq!(LedgerAddress::parse("./ledger.db"), Ok(LedgerAddress::File("./ledger.db".into())));
    /// assert!(LedgerAddress::parse("mysql://db/x").is_err());
    /// ```
    pub fn parse(text: &str) -> Result<Self, StoreError> {
        match text.split_once(':') {
            Some(("memory", "")) => Ok(Self::Memory),
            Some(("sqlite", path)) => {
                let path = path.strip_prefix("//").unwrap_or(path);
                if path.is_empty() {
                    return Err(StoreError::BadUrl(
                        "sqlite: needs a path, as in sqlite:ledger.db".into(),
                    ));
                }
                Ok(Self::File(path.into()))
            }
            Some(("postgres" | "postgresql", _)) => Ok(Self::Server(text.to_owned())),
            Some((_, rest)) if rest.starts_with("//") => {
                Err(StoreError::UnknownUrl(without_secrets(text)))
            }
            // A plain word is more likely a mistake than a file.
            _ if text.contains(['/', '\\', '.']) => Ok(Self::File(text.into())),
            _ => Err(StoreError::UnknownUrl(text.to_owned())),
        }
    }
}

#[cfg(feature = "sqlite")]
fn file(path: &Path, options: Options) -> Result<Arc<dyn Store>, StoreError> {
    Ok(Arc::new(crate::sqlite::SqliteStore::open(path, options)?))
}

#[cfg(not(feature = "sqlite"))]
fn file(_: &Path, _: Options) -> Result<Arc<dyn Store>, StoreError> {
    Err(StoreError::NotBuiltIn { what: "SQLite", feature: "sqlite" })
}

fn server() -> StoreError {
    StoreError::NotBuiltIn { what: "PostgreSQL", feature: "postgres" }
}

impl fmt::Display for LedgerAddress {
    /// Writes the address for users, without anything that may be a password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Memory => f.write_str("memory:"),
            Self::File(path) => write!(f, "{}", path.display()),
            Self::Server(url) => f.write_str(&without_secrets(url)),
        }
    }
}

/// Returns a URL without what comes before its host and after its path: both may contain a password.
fn without_secrets(url: &str) -> String {
    let (scheme, rest) = url.split_once("://").unwrap_or((url, ""));
    // A password may contain any of `@/?#`, so only what follows the last `@` is certain not to be part of one.
    let place = rest.rsplit_once('@').map_or(rest, |(_, place)| place);
    let place = &place[..place.find(['?', '#']).unwrap_or(place.len())];
    format!("{scheme}://{place}")
}

/// Opens the store that a text names, as [`LedgerAddress::parse`] reads it.
///
/// # Errors
/// Returns an error if the text names no known store, or as [`open_address`].
pub fn open(place: &str, options: Options) -> Result<Arc<dyn Store>, StoreError> {
    open_address(&LedgerAddress::parse(place)?, options)
}

/// Opens a ledger in memory or in a file, and creates it if it is missing.
///
/// A ledger in PostgreSQL is in the crate `candor-ledger-postgres`. `candor::store`, with the feature `postgres`, has functions
/// of these names that also open it.
///
/// # Errors
/// Returns an error if the ledger cannot be opened, or [`StoreError::NotBuiltIn`] if this crate has no store for it.
pub fn open_address(
    address: &LedgerAddress,
    options: Options,
) -> Result<Arc<dyn Store>, StoreError> {
    match address {
        LedgerAddress::Memory => Ok(Arc::new(MemoryStore::new(options))),
        LedgerAddress::File(path) => file(path, options),
        LedgerAddress::Server(_) => Err(server()),
    }
}

/// Opens an existing ledger, and does not create a missing one. An older ledger is migrated, as when a server opens it.
///
/// # Errors
/// Returns [`StoreError::Absent`] if there is no ledger, and always for one in memory. Otherwise as [`open_address`].
pub fn open_existing(
    address: &LedgerAddress,
    options: Options,
) -> Result<Arc<dyn Store>, StoreError> {
    match address {
        LedgerAddress::Memory => Err(StoreError::Absent),
        LedgerAddress::File(path) => match std::fs::metadata(path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Err(StoreError::Absent),
            // SQLite opens an empty file as a new database.
            Ok(found) if found.is_file() && found.len() == 0 => Err(StoreError::Absent),
            _ => file(path, options),
        },
        LedgerAddress::Server(_) => Err(server()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ledger_address_accepts_paths_and_urls() {
        let named = |text: &str| LedgerAddress::parse(text).unwrap().to_string();
        assert_eq!(named("sqlite:///var/a.db"), "/var/a.db");
        assert_eq!(named("./odd:name.db"), "./odd:name.db");
        assert_eq!(named("C:\\state\\ledger.db"), "C:\\state\\ledger.db");
        assert_eq!(named("memory:"), "memory:");
        for bad in ["", "memory", "memory:x", "sqlite:", "ledger", "http://db/x"] {
            assert!(LedgerAddress::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn ledger_address_hides_the_password() {
        let named = |text: &str| LedgerAddress::parse(text).unwrap().to_string();
        assert_eq!(named("postgres://ann:s3cr@t@db:5432/x?password=no"), "postgres://db:5432/x");
        for password in ["a/b", "s3?cret", "s3#cret", "a@b?c"] {
            assert_eq!(named(&format!("postgres://ann:{password}@db/x")), "postgres://db/x");
        }
        let unknown = LedgerAddress::parse("mysql://ann:sec#ret@db/x").unwrap_err().to_string();
        assert!(!unknown.contains("sec"), "{unknown}");
    }
}
