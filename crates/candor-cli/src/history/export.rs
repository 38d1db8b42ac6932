//! `candor history export`: the rows of the audit as lines of JSON, the earliest first, page by page.

use candor_ledger::{Export, Store};

use super::filter::Filters;
use super::out::{Out, Problem};
use super::row;

/// One JSON object per line, all members always there, `null` where nothing is known:
///
/// `seq` (number, grows), `at` (RFC 3339), `id` (of the operation, 64 digits), `principal`, `server`, `instance`, `tool`, `key`,
/// `event` (claim, dispatch, complete, …, or what the server noted), `from` and `to` (states in the ledger's words: open, claimed,
/// dispatched, suspended, completed, indeterminate, tombstone, abandoned, absent), `fence`, `attempt`, `outcome` (success, failure,
/// invalid), `reason` (why nobody knows), `by` (an operator), `shape` (of the arguments; never their values), `digest` (of the
/// arguments, keyed), `hints`, `durationMs`, `note`.
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Args {
    #[command(flatten)]
    filters: Filters,
}

pub(crate) async fn run(store: &dyn Store, args: &Args, out: &mut Out) -> Result<(), Problem> {
    let mut rows = Export::of(store, args.filters.of_rows());
    while let Some(row) = rows.next().await? {
        if args.filters.has_row(&row) {
            out.value(&row::json(&row))?;
        }
    }
    Ok(())
}
