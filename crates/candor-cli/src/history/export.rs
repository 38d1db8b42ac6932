//! `candor history export`: the rows of the audit as lines of JSON, the earliest first, page by page.

use candor::desk::row;
use candor_ledger::{Export, Store};

use super::filter::Filters;
use crate::out::{Out, Problem};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    filters: Filters,
}

pub(crate) async fn run(store: &dyn Store, args: &Args, out: &mut Out) -> Result<(), Problem> {
    let filters = args.filters.meant();
    let mut rows = Export::of(store, filters.of_rows());
    while let Some(row) = rows.next().await? {
        if filters.has_row(&row) {
            out.value(&row::json(&row))?;
        }
    }
    Ok(())
}
