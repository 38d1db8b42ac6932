//! `candor history`, as a process, on ledgers that the ledger's own crate made.

#![allow(missing_docs)]

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
#[path = "history/resolving.rs"]
mod resolving;
#[path = "history/showing.rs"]
mod showing;
