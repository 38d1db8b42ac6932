//! The ledger: keys, approvals, grants and history, and the stores that hold them.
//!
//! [`open`] opens the store that a URL names. With the feature `postgres`, this includes `postgres://USER@HOST/DATABASE`. All
//! else is that of the crate `candor-ledger`.

use std::sync::Arc;

#[cfg(feature = "postgres")]
pub use candor_ledger_postgres::PostgresStore;
pub use candor_server::store::*;

/// Opens the store that a text names, as [`LedgerAddress::parse`] reads it.
///
/// # Errors
/// Returns an error if the text names no known store, or as [`open_address`].
pub fn open(place: &str, options: Options) -> Result<Arc<dyn Store>, StoreError> {
    open_address(&LedgerAddress::parse(place)?, options)
}

/// Opens the ledger at an address, and creates it if it is missing. A database that cannot be reached fails here, within a few
/// seconds.
///
/// # Errors
/// Returns an error if the ledger cannot be opened, or if this program was built without its store.
pub fn open_address(
    address: &LedgerAddress,
    options: Options,
) -> Result<Arc<dyn Store>, StoreError> {
    match address {
        #[cfg(feature = "postgres")]
        LedgerAddress::Server(url) => Ok(Arc::new(PostgresStore::open(url, options)?)),
        address => candor_server::store::open_address(address, options),
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
        #[cfg(feature = "postgres")]
        LedgerAddress::Server(url) => Ok(Arc::new(PostgresStore::open_existing(url, options)?)),
        address => candor_server::store::open_existing(address, options),
    }
}
