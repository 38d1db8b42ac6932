//! `candor history`: operations, the latest first; with `--rows`, audit rows.

use std::collections::{HashMap, HashSet};

use candor::operator::shown::shown;
use candor::operator::{Filters, OperationView, short_id};
use candor::operator::{row, when, words};
use candor_ledger::{AuditRow, Filter, Key, Moment, Page, RecordState, Scope, Store, StoreError};
use serde_json::Value;

use super::filter;
use crate::number;
use crate::out::{CommandEnd, Out};
use crate::width::{cut, end};

/// The JSON members that programs may rely on. `OperationView::json` in `candor-operator` writes them.
pub(crate) const MEMBERS: &str = "\
The members of each line with --json (null where nothing is known; with --rows, see export):
  id                  64 hexadecimal digits
  principal, server, instance, tool, key
                      who called what, where, with which key
  state               not_run, approval_required, approved, denied, starting, running, input_required,
                      succeeded, failed, result_invalid, outcome_unknown, result_expired, abandoned
                      or purged
  outcome             succeeded, failed or result_invalid, of the last attempt that ended
  error               of a failed call: an object with code and message
  review              the last approval or denial: decision, by, via, at, reason
  unknownReason       why the outcome is unknown: lease_ended, panicked, stopped, not_resumed, lost, failed
  by                  the operator who resolved, approved or denied it
  attempts            how often the call was started
  idempotent          whether the call is safe to retry without a key
  created, changed    when the key was first seen, when the record was last written
  since, until        when it entered this state, and when the state expires
  durationMs          how long it took, or has taken so far";

/// The number of records per page. Each record may be as large as a megabyte.
const AT_ONCE: usize = 50;

const LIMIT: usize = 50;

#[derive(Debug, Clone, Default, PartialEq, clap::Args)]
#[group(skip)] // flattened into the arguments of `history`, whose group has the same name
pub(crate) struct HistoryListArgs {
    #[command(flatten)]
    filters: filter::Filters,

    /// At most this many, 0 for all [default: 50]
    #[arg(long, value_name = "N", value_parser = number::many, allow_negative_numbers = true)]
    limit: Option<usize>,

    /// List audit rows instead: every state change, and calls without a key
    #[arg(long, alias = "calls")]
    rows: bool,
}

impl HistoryListArgs {
    fn most(&self) -> usize {
        match self.limit.unwrap_or(LIMIT) {
            0 => usize::MAX,
            most => most,
        }
    }
}

pub(crate) async fn run(
    store: &dyn Store,
    args: &HistoryListArgs,
    out: &mut Out,
) -> Result<(), CommandEnd> {
    if args.rows { rows(store, args, out).await } else { operations(store, args, out).await }
}

async fn operations(
    store: &dyn Store,
    args: &HistoryListArgs,
    out: &mut Out,
) -> Result<(), CommandEnd> {
    let (now, most, filters) = (when::now(), args.most(), args.filters.meant());
    let (mut lines, mut scopes) = (Vec::new(), Vec::new());
    let (mut listed, mut unknown, mut more) = (0, 0, false);
    let mut page = Some(Page { most: AT_ONCE, ..Page::default() });
    'pages: while let Some(this) = page {
        let paged = store.records(filters.of_records(), this).await?;
        for entry in paged.items.into_iter().filter(|entry| filters.has_entry(entry)) {
            if listed == most {
                more = true;
                break 'pages;
            }
            let operation = OperationView::brief(store, entry).await?;
            let needs_a_person =
                matches!(operation.state(), Some(RecordState::Indeterminate { .. }));
            listed += 1;
            unknown += usize::from(needs_a_person);
            if out.json {
                out.value(&Value::Object(operation.json(now)))?;
            } else {
                lines.push((needs_a_person, line(&operation, out.terminal, now)));
                scopes.push(operation.id.scope);
            }
        }
        page = paged.next.map(|next| Page { from: Some(next), ..this });
    }
    if out.json {
        return Ok(());
    }
    if listed == 0 {
        eprintln!("{}", nothing(store, &filters, false).await?);
        return Ok(());
    }
    let head = ["WHEN", "ID", "STATE", "TOOL", "KEY", "CALLER", SERVER, "ATTEMPTS", "DURATION"];
    name_instances(head, &mut lines, &scopes);
    out.table(head, &lines)?;
    out.flush()?;
    say_more(more, most);
    // Count those that are not listed, too: an unknown outcome does not resolve itself with age.
    let all_unknown = match filters.state.is_some() {
        true => unknown,
        false => count(store, filters.of_unknown()).await?,
    };
    if all_unknown > unknown {
        let elsewhere = all_unknown - unknown;
        eprintln!(
            "Not listed: {elsewhere} with an unknown outcome. See: candor history --unknown{}",
            out.same
        );
    }
    if unknown > 0 {
        eprintln!(
            "A call with an unknown outcome may have run. Check the external system, then record the outcome:\n  \
             candor history resolve ID --succeeded | --failed | --not-run | --abandoned{}",
            out.same
        );
    }
    Ok(())
}

fn line(operation: &OperationView, terminal: bool, now: Moment) -> [String; 9] {
    let scope = &operation.id.scope;
    [
        operation.created().map_or_else(String::new, |at| time(at, terminal, now)),
        operation.short(),
        operation.label().to_owned(),
        cut(&scope.tool, 24),
        cut(operation.id.key.as_str(), 24),
        cut(&scope.principal, 16),
        cut(&scope.server, 16),
        operation.record.as_ref().map_or_else(String::new, |record| record.attempt.to_string()),
        operation.took(now).map_or_else(String::new, when::length),
    ]
}

async fn rows(store: &dyn Store, args: &HistoryListArgs, out: &mut Out) -> Result<(), CommandEnd> {
    let (now, most, filters) = (when::now(), args.most(), args.filters.meant());
    let (mut lines, mut scopes, mut listed, mut more) = (Vec::new(), Vec::new(), 0, false);
    let mut page = Some(Page { most: 500, ..Page::default() });
    'pages: while let Some(this) = page {
        let paged = store.rows(filters.of_rows(), this).await?;
        for row in paged.items.iter().filter(|row| filters.has_row(row)) {
            if listed == most {
                more = true;
                break 'pages;
            }
            listed += 1;
            if out.json {
                out.value(&row::json(row))?;
            } else {
                let needs_a_person = row.reason.is_some();
                lines.push((needs_a_person, call(row, out.terminal, now)));
                scopes.push(row.scope.clone());
            }
        }
        page = paged.next.map(|next| Page { from: Some(next), ..this });
    }
    if out.json {
        return Ok(());
    }
    if listed == 0 {
        eprintln!("{}", nothing(store, &filters, true).await?);
        return Ok(());
    }
    let head = ["WHEN", "ID", "TOOL", "KEY", "CALLER", SERVER, "EVENT", "DURATION"];
    name_instances(head, &mut lines, &scopes);
    out.table(head, &lines)?;
    out.flush()?;
    say_more(more, most);
    Ok(())
}

fn call(row: &AuditRow, terminal: bool, now: Moment) -> [String; 8] {
    [
        time(row.at, terminal, now),
        row.record().map_or_else(|| "-".to_owned(), |id| short_id(&id)),
        cut(&row.scope.tool, 24),
        row.key.as_ref().map_or_else(|| "-".to_owned(), |key: &Key| cut(key.as_str(), 24)),
        cut(&row.scope.principal, 16),
        cut(&row.scope.server, 16),
        shown(&words::event(row)).to_string(),
        row.circumstances.duration.map_or_else(String::new, when::length),
    ]
}

const SERVER: &str = "SERVER";

/// Adds the instance to the server's name if the rows of one server belong to several instances. The instances of one server mostly
/// begin alike, so the end of each is shown.
fn name_instances<const N: usize>(
    head: [&str; N],
    lines: &mut [(bool, [String; N])],
    scopes: &[Scope],
) {
    let mut instances: HashMap<&str, HashSet<&str>> = HashMap::new();
    for Scope { server, instance, .. } in scopes {
        instances.entry(server).or_default().insert(instance);
    }
    let column = head.iter().position(|name| *name == SERVER);
    for ((_, cells), Scope { server, instance, .. }) in lines.iter_mut().zip(scopes) {
        let several = instances.get(&**server).is_some_and(|instances| instances.len() > 1);
        if let Some(cell) = column.and_then(|at| cells.get_mut(at)).filter(|_| several) {
            *cell = format!("{cell} {}", end(instance, 40));
        }
    }
}

/// Formats a time: at a terminal, how long ago it was; in a file, which is read later, the time itself.
fn time(at: Moment, terminal: bool, now: Moment) -> String {
    if terminal { when::ago(at, now) } else { when::written(at) }
}

fn say_more(more: bool, most: usize) {
    if more {
        eprintln!("Showing {most}. Use --limit N for more, --limit 0 for all.");
    }
}

/// Explains why there is nothing to list: an empty ledger is not the same as filters without a match.
async fn nothing(store: &dyn Store, filters: &Filters, rows: bool) -> Result<String, StoreError> {
    let one = Page { most: 1, ..Page::default() };
    let has_rows = !store.rows(Filter::default(), one).await?.items.is_empty();
    let has_records = !store.records(Filter::default(), one).await?.items.is_empty();
    let ledger = shown(&store.describe()).to_string();
    Ok(match (has_records, has_rows) {
        (false, false) => format!("Nothing has been recorded yet in the ledger ({ledger})."),
        (false, true) if !rows && *filters == Filters::default() => format!(
            "The ledger ({ledger}) has no operation with a key. For other calls: candor history --rows"
        ),
        _ if rows => "No audit row matches.".to_owned(),
        _ => "No operation matches.".to_owned(),
    })
}

async fn count(store: &dyn Store, filter: Filter) -> Result<usize, StoreError> {
    let mut count = 0;
    let mut page = Some(Page { most: 500, ..Page::default() });
    while let Some(this) = page {
        let paged = store.records(filter.clone(), this).await?;
        count += paged.items.len();
        page = paged.next.map(|next| Page { from: Some(next), ..this });
    }
    Ok(count)
}
