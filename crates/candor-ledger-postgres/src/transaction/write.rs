//! The second batch: writes the plan and commits.

use std::sync::atomic::{AtomicBool, Ordering};

use candor_ledger::storage::Columns;
use futures_util::future;

use super::planned::TransactionPlan;
use super::read::{LoadedRecord, TransactionReads};
use super::{Failure, roll_back};
use crate::error::{explain, is_of_one, is_refusal};
use crate::line::PgSession;
use crate::rows::{self, RecordRow};
use crate::usage::UsageRow;

pub(super) async fn write(
    session: &PgSession,
    slot: i64,
    read: &TransactionReads,
    planned: &TransactionPlan<'_>,
) -> Result<(), Failure> {
    let client = &session.client;
    let removed: Vec<&[u8]> = planned
        .records
        .iter()
        .filter(|(digest, (_, after))| after.is_none() && read.records.contains_key(digest))
        .map(|(digest, _)| &digest.0[..])
        .collect();
    let puts: Vec<RecordRow<'_>> = planned
        .records
        .iter()
        .filter_map(|(digest, (id, after))| {
            let LoadedRecord { record, last_row } = after.as_ref()?;
            // A record's own number is that of its first audit row.
            let first = planned.rows.iter().find(|row| row.record.as_ref() == Some(digest));
            let row = first.map_or(*last_row, |row| row.seq);
            let columns = Columns::of(&record.state);
            Some(RecordRow { id, digest: *digest, record, last_row: *last_row, row, columns })
        })
        .collect();
    let usages: Vec<(&str, UsageRow)> = planned
        .usage
        .iter()
        .filter_map(|(principal, after)| {
            let before = read.usage.get(*principal)?;
            (before.usage() != *after).then(|| (*principal, before.ours_for(*after)))
        })
        .collect();
    if planned.rows.is_empty() && removed.is_empty() && puts.is_empty() && usages.is_empty() {
        return roll_back(session).await;
    }

    // A commit must not follow if the driver cannot even send a statement. So all statements are sent before it, in order.
    let all_sent = AtomicBool::new(true);
    let send = async |is_needed: bool, sql: &'static str, arrays: &rows::Arrays<'_>| {
        if !is_needed {
            return Ok(());
        }
        let done = match session.prepared(sql).await {
            Ok(statement) => client.execute(&statement, &rows::bind(arrays)).await,
            Err(error) => Err(error),
        };
        if done.is_err() {
            all_sent.store(false, Ordering::Relaxed);
        }
        done.map(drop)
    };
    let (appends, put, usage) =
        (rows::appends(&planned.rows), rows::puts(&puts), rows::usages(&usages, slot));
    let gone: rows::Arrays<'_> = vec![Box::new(&removed)];
    let flight = future::join5(
        send(!planned.rows.is_empty(), rows::APPEND, &appends),
        send(!removed.is_empty(), rows::REMOVE, &gone),
        send(!puts.is_empty(), rows::PUT, &put),
        send(!usages.is_empty(), rows::PUT_USAGE, &usage),
        async {
            let end = if all_sent.load(Ordering::Relaxed) { "COMMIT" } else { "ROLLBACK" };
            client.batch_execute(end).await
        },
    );
    let (appended, removed, put, used, committed) = match session.in_time(flight).await {
        Ok(flight) => flight,
        Err(silence) => return Err(Failure::Lost(silence)),
    };
    let written = appended.and(removed).and(put).and(used);
    match (written, committed) {
        (Ok(()), Ok(())) => Ok(()),
        // The transaction ended with a rollback.
        (Err(error), Ok(())) if is_refusal(&error) => {
            Err(Failure::Refused { error: explain(&error), of_one: is_of_one(&error) })
        }
        (Err(error), _) | (Ok(()), Err(error)) => {
            session.give_up();
            Err(Failure::Lost(explain(&error)))
        }
    }
}
