//! Records and rows of the audit, to and from the tables.

use std::time::Duration;

use rusqlite::types::{FromSqlError, Type, ValueRef};
use rusqlite::{Connection, OptionalExtension as _, Result, Row, ToSql, params};

use crate::audit::{AuditRow, Change, Circumstances};
use crate::columns::{Columns, Licensed};
use crate::id::{Fence, Fingerprint, Key, Moment, RecordDigest, RecordId, Scope};
use crate::outcome::OutcomeKind;
use crate::record::{Reason, Record, StateKind};
use crate::rules::Usage;

/// The store's clock, in SQL.
pub(super) const NOW: &str = "CAST(unixepoch('subsec') * 1000 AS INTEGER)";

/// The columns of a record, in the order in which [`record`] reads them.
macro_rules! record_columns {
    () => {
        "fingerprint, fence, attempt, by_nature, created, touched, state, lapses, owner, since, license, started_by, \
         reason, round, by_whom, outcome_kind, outcome_len, outcome_digest, outcome"
    };
}
pub(super) const FIND: &str = concat!(
    "SELECT ",
    record_columns!(),
    ", CAST(unixepoch('subsec') * 1000 AS INTEGER), last_row FROM records WHERE id = ?"
);
pub(super) const LIST: &str = concat!(
    "SELECT ",
    record_columns!(),
    ", row, principal, server, instance, tool, key FROM records"
);

/// The place of what follows the record's own columns.
pub(super) const BEHIND: usize = 19;

fn broken(at: usize) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(at, Type::Text, Box::new(FromSqlError::InvalidType))
}

/// A word that must be one of ours, if there is one.
fn word<T>(row: &Row<'_>, at: usize, from_word: impl Fn(&str) -> Option<T>) -> Result<Option<T>> {
    match row.get_ref(at)? {
        ValueRef::Null => Ok(None),
        value => from_word(value.as_str()?).map(Some).ok_or_else(|| broken(at)),
    }
}

pub(super) fn record(row: &Row<'_>) -> Result<Record> {
    let columns = Columns {
        state: word(row, 6, StateKind::from_word)?,
        lapses: row.get(7)?,
        owner: row.get(8)?,
        since: row.get(9)?,
        license: word(row, 10, Licensed::from_word)?,
        started_by: row.get(11)?,
        reason: word(row, 12, Reason::from_word)?,
        round: row.get(13)?,
        by_whom: row.get(14)?,
        outcome_kind: word(row, 15, OutcomeKind::from_word)?,
        outcome_len: row.get(16)?,
        outcome_digest: row.get(17)?,
        outcome: row.get_ref(18)?.as_blob_or_null()?.map(Into::into),
    };
    Ok(Record {
        fingerprint: Fingerprint(row.get(0)?),
        fence: Fence(row.get(1)?),
        attempt: row.get(2)?,
        by_nature: row.get(3)?,
        created: Moment(row.get(4)?),
        touched: Moment(row.get(5)?),
        state: columns.state().ok_or_else(|| broken(6))?,
    })
}

/// A record as it was found.
pub(super) struct Found {
    pub(super) record: Record,
    /// What time it was.
    pub(super) now: Moment,
    /// The last row of the audit that is about it.
    pub(super) last_row: i64,
}

pub(super) fn find(db: &Connection, digest: &RecordDigest) -> Result<Option<Found>> {
    db.prepare_cached(FIND)?
        .query_row([&digest.0[..]], |row| {
            Ok(Found {
                record: record(row)?,
                now: Moment(row.get(BEHIND)?),
                last_row: row.get(BEHIND + 1)?,
            })
        })
        .optional()
}

/// Scope and key, from this column on.
pub(super) fn id(row: &Row<'_>, at: usize) -> Result<(Scope, Option<Key>)> {
    let scope = Scope {
        principal: row.get(at)?,
        server: row.get(at + 1)?,
        instance: row.get(at + 2)?,
        tool: row.get(at + 3)?,
    };
    let key: Option<String> = row.get(at + 4)?;
    let key = key.map(|key| Key::new(key).map_err(|_| broken(at + 4))).transpose()?;
    Ok((scope, key))
}

pub(super) fn put(
    db: &Connection,
    id: &RecordId,
    digest: &RecordDigest,
    record: &Record,
    last_row: i64,
    is_new: bool,
) -> Result<()> {
    const INSERT: &str = concat!(
        "INSERT INTO records (",
        record_columns!(),
        ", last_row, id, principal, server, instance, tool, key) \
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
    );
    const UPDATE: &str = concat!(
        "UPDATE records SET (",
        record_columns!(),
        ", last_row) = (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) WHERE id = ?"
    );
    let columns = Columns::of(&record.state);
    let mut statement = db.prepare_cached(if is_new { INSERT } else { UPDATE })?;
    // By place: to find a parameter by its name costs more than to bind it.
    let values: [&dyn ToSql; BEHIND] = [
        &&record.fingerprint.0[..],
        &record.fence.0,
        &record.attempt,
        &record.by_nature,
        &record.created.0,
        &record.touched.0,
        &columns.state.map(StateKind::as_str),
        &columns.lapses,
        &columns.owner.as_ref().map(|owner| &owner[..]),
        &columns.since,
        &columns.license.map(Licensed::as_str),
        &columns.started_by.as_ref().map(|owner| &owner[..]),
        &columns.reason.map(Reason::as_str),
        &columns.round,
        &columns.by_whom,
        &columns.outcome_kind.map(OutcomeKind::as_str),
        &columns.outcome_len,
        &columns.outcome_digest.as_ref().map(|digest| &digest[..]),
        &columns.outcome.as_deref(),
    ];
    for (at, value) in values.iter().enumerate() {
        statement.raw_bind_parameter(at + 1, value)?;
    }
    statement.raw_bind_parameter(BEHIND + 1, last_row)?;
    statement.raw_bind_parameter(BEHIND + 2, &digest.0[..])?;
    if is_new {
        let Scope { principal, server, instance, tool } = &id.scope;
        for (at, part) in [principal, server, instance, tool, id.key.as_str()].iter().enumerate() {
            statement.raw_bind_parameter(BEHIND + 3 + at, part)?;
        }
    }
    statement.raw_execute().map(drop)
}

pub(super) fn remove(db: &Connection, digest: &RecordDigest) -> Result<()> {
    db.prepare_cached("DELETE FROM records WHERE id = ?")?.execute([&digest.0[..]]).map(drop)
}

pub(super) fn usage(db: &Connection, principal: &str) -> Result<Usage> {
    db.prepare_cached("SELECT records, bytes, hour, fresh FROM usage WHERE principal = ?")?
        .query_row([principal], |row| {
            Ok(Usage {
                records: row.get(0)?,
                bytes: row.get(1)?,
                hour: row.get(2)?,
                fresh: row.get(3)?,
            })
        })
        .optional()
        .map(Option::unwrap_or_default)
}

pub(super) fn put_usage(db: &Connection, principal: &str, usage: Usage) -> Result<()> {
    db.prepare_cached("INSERT OR REPLACE INTO usage VALUES (?, ?, ?, ?, ?)")?
        .execute(params![principal, usage.records, usage.bytes, usage.hour, usage.fresh])
        .map(drop)
}

macro_rules! audit_columns {
    () => {
        "seq, at, principal, server, instance, tool, key, event, came_from, came_to, fence, attempt, reason, \
         outcome_kind, by_whom, shape, digest, hints, duration, note"
    };
}
pub(super) const AUDIT: &str = concat!("SELECT ", audit_columns!(), " FROM audit");

/// From a record's last row back to its first. `CROSS JOIN` keeps SQLite on that way: left alone, it prefers to read the whole
/// audit in the order that is asked for.
const CHAIN: &str = concat!(
    "WITH RECURSIVE chain (place) AS (SELECT last_row FROM records WHERE id = ?1 UNION ALL \
     SELECT previous FROM chain CROSS JOIN audit ON seq = place WHERE previous IS NOT NULL) SELECT ",
    audit_columns!(),
    " FROM chain CROSS JOIN audit ON seq = place ORDER BY seq"
);

/// All rows of a record, the earliest first. Of one that is forgotten, they are looked for among all.
pub(super) fn story(db: &Connection, digest: &RecordDigest) -> Result<Vec<AuditRow>> {
    let digest = [&digest.0[..]];
    let rows: Vec<_> =
        db.prepare_cached(CHAIN)?.query_map(digest, audit_row)?.collect::<Result<_>>()?;
    if !rows.is_empty() {
        return Ok(rows);
    }
    let all = format!("{AUDIT} WHERE record = ? ORDER BY seq");
    db.prepare(&all)?.query_map(digest, audit_row)?.collect()
}

/// Appends a row and returns its number. If it is about a record: which, and that record's last row before.
pub(super) fn append(
    db: &Connection,
    row: &AuditRow,
    record: Option<(&RecordDigest, Option<i64>)>,
) -> Result<i64> {
    let Circumstances { shape, digest, hints, duration, note } = &row.circumstances;
    db.prepare_cached(
        "INSERT INTO audit (at, record, previous, principal, server, instance, tool, key, event, came_from, came_to, fence, \
         attempt, reason, outcome_kind, by_whom, shape, digest, hints, duration, note) \
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    )?
    .insert(params![
        row.at.0,
        record.map(|(record, _)| &record.0[..]),
        record.and_then(|(_, previous)| previous),
        row.scope.principal,
        row.scope.server,
        row.scope.instance,
        row.scope.tool,
        row.key.as_ref().map(Key::as_str),
        row.event,
        row.change.map(|change| change.from.as_str()),
        row.change.map(|change| change.to.as_str()),
        row.change.map(|change| change.fence.0),
        row.change.map(|change| change.attempt),
        row.reason.map(Reason::as_str),
        row.outcome.map(OutcomeKind::as_str),
        row.by,
        shape.as_deref(),
        digest.as_ref().map(|digest| &digest[..]),
        hints.as_deref(),
        duration.map(|duration| i64::try_from(duration.as_micros()).unwrap_or(i64::MAX)),
        note.as_deref(),
    ])
}

pub(super) fn audit_row(row: &Row<'_>) -> Result<AuditRow> {
    let (scope, key) = id(row, 2)?;
    let from = word(row, 8, StateKind::from_word)?;
    let to = word(row, 9, StateKind::from_word)?;
    let change = match (from, to) {
        (Some(from), Some(to)) => {
            Some(Change { from, to, fence: Fence(row.get(10)?), attempt: row.get(11)? })
        }
        _ => None,
    };
    let text = |at: usize| -> Result<_> { Ok(row.get_ref(at)?.as_str_or_null()?.map(Into::into)) };
    let duration: Option<u64> = row.get(18)?;
    Ok(AuditRow {
        seq: row.get(0)?,
        at: Moment(row.get(1)?),
        scope,
        key,
        event: row.get(7)?,
        change,
        reason: word(row, 12, Reason::from_word)?,
        outcome: word(row, 13, OutcomeKind::from_word)?,
        by: row.get(14)?,
        circumstances: Circumstances {
            shape: text(15)?,
            digest: row.get(16)?,
            hints: text(17)?,
            duration: duration.map(Duration::from_micros),
            note: text(19)?,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_story_is_read_row_by_row_and_not_by_reading_all() {
        let mut db = Connection::open_in_memory().unwrap();
        super::super::schema::migrate(&mut db).unwrap();
        let mut plan = db.prepare(&format!("EXPLAIN QUERY PLAN {CHAIN}")).unwrap();
        let steps = plan.query_map([[0; 32]], |row| row.get::<_, String>(3)).unwrap();
        for step in steps {
            let step = step.unwrap();
            assert!(!step.starts_with("SCAN audit"), "{step}");
        }
    }
}
