//! `candor history export`: audit rows as lines of JSON, the earliest first, page by page.

use candor::operator::row;
use candor_ledger::{Export, Store};

use super::filter::Filters;
use crate::out::{CommandEnd, Out};

/// The JSON members that programs may rely on. `row::json` in `candor-operator` writes them.
pub(crate) const MEMBERS: &str = "\
The members of each line (null where nothing is known):
  seq                 number of the row; later rows have greater ones
  at                  when, RFC 3339 in UTC
  id                  of the operation, 64 hexadecimal digits; null for a call without a key
  principal, server, instance, tool, key
                      who called what, where, with which key
  event               ask, decide, start, claim, dispatch, release, suspend, resume, complete,
                      unknown, discard, resolve, lapse (time alone), grant, revoke, replayed, or
                      another event of the server
  from, to            state of the operation before and after: not_run, approval_required, approved,
                      denied, starting, running, input_required, succeeded, failed, result_invalid,
                      outcome_unknown, result_expired, abandoned, purged; from may be completed
  fence, attempt      number of the claim; how often the call was started
  outcome             succeeded, failed or result_invalid
  unknownReason       why the outcome is unknown: lease_ended, panicked, stopped, not_resumed, lost, failed
  by                  the operator; of a start, the reviewer who approved it
  via                 approval channel: operator or client
  denialReason        why the reviewer denied it
  argumentTypes, digest
                      of the arguments: names and types, and a keyed digest; never values
  hints               the effect of the call
  durationMs          how long it took
  note                anything else
  error               of a failed call: an object with code and message";

#[derive(Debug, clap::Args)]
pub(crate) struct HistoryExportArgs {
    #[command(flatten)]
    filters: Filters,
}

pub(crate) async fn run(
    store: &dyn Store,
    args: &HistoryExportArgs,
    out: &mut Out,
) -> Result<(), CommandEnd> {
    let filters = args.filters.meant();
    let mut rows = Export::of(store, filters.of_rows());
    while let Some(row) = rows.next().await? {
        if filters.has_row(&row) {
            out.value(&row::json(&row))?;
        }
    }
    Ok(())
}
