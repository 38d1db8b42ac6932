//! `candor history`, as a process, on ledgers that the ledger's own crate made.

#![allow(missing_docs)]

#[cfg(feature = "postgres")]
#[allow(dead_code)] // the tests of the store share this file
#[path = "../../candor-ledger-postgres/tests/postgres/database.rs"]
mod database;
#[path = "history/exporting.rs"]
mod exporting;
#[path = "history/finding.rs"]
mod finding;
#[path = "history/ledger.rs"]
mod ledger;
#[path = "history/listing.rs"]
mod listing;
#[path = "history/opening.rs"]
mod opening;
#[path = "history/place.rs"]
mod place;
#[cfg(feature = "postgres")]
#[path = "history/postgres.rs"]
mod postgres;
#[path = "history/resolving.rs"]
mod resolving;
#[path = "history/showing.rs"]
mod showing;
