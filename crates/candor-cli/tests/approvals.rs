//! `candor approvals`, as a process, on ledgers that the ledger's own crate made; decisions at a real pseudo-terminal.

#![allow(missing_docs)]

#[cfg(unix)]
#[path = "approvals/console.rs"]
mod console;
#[cfg(feature = "postgres")]
#[allow(dead_code)] // the tests of the store share this file
#[path = "../../candor-ledger-postgres/tests/postgres/database.rs"]
mod database;
#[cfg(unix)]
#[path = "approvals/deciding.rs"]
mod deciding;
#[cfg(unix)]
#[path = "approvals/end_to_end.rs"]
mod end_to_end;
#[cfg(unix)]
#[path = "approvals/expecting.rs"]
mod expecting;
#[cfg(unix)]
#[path = "approvals/holding.rs"]
mod holding;
#[cfg(unix)]
#[path = "../../candor/tests/run/http.rs"]
mod http;
#[cfg(unix)]
#[path = "approvals/law.rs"]
mod law;
#[allow(dead_code)] // the tests of history share this file
#[path = "history/ledger.rs"]
mod ledger;
#[path = "approvals/listing.rs"]
mod listing;
#[cfg(unix)]
#[path = "../../candor/tests/run/messages.rs"]
mod messages;
#[cfg(unix)]
#[path = "approvals/permitting.rs"]
mod permitting;
#[allow(dead_code)] // as above
#[path = "history/place.rs"]
mod place;
#[cfg(feature = "postgres")]
#[path = "approvals/postgres.rs"]
mod postgres;
#[cfg(unix)]
#[path = "approvals/previewed.rs"]
mod previewed;
#[cfg(unix)]
#[path = "../../candor/tests/run/process.rs"]
mod process;
#[path = "approvals/questions.rs"]
mod questions;
#[cfg(unix)]
#[path = "approvals/reviewed.rs"]
mod reviewed;
#[cfg(unix)]
#[path = "approvals/served.rs"]
mod served;
#[path = "approvals/showing.rs"]
mod showing;
#[cfg(unix)]
#[path = "approvals/terminal.rs"]
mod terminal;
#[cfg(all(unix, feature = "postgres"))]
#[path = "approvals/two_instances.rs"]
mod two_instances;
#[cfg(unix)]
#[path = "approvals/watching.rs"]
mod watching;
