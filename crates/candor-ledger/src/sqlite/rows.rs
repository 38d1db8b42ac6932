//! Records and audit rows, to and from the tables.

use std::time::Duration;

use rusqlite::types::{FromSqlError, Type, ValueRef};
use rusqlite::{Connection, OptionalExtension as _, Result, Row, Statement};

use super::unsigned::UnsignedInteger;
use crate::audit::{AuditContext, AuditRow, CallError, StateChange};
use crate::columns::{Columns, StartReasonName};
use crate::id::{Fence, Fingerprint, Key, Moment, RecordDigest, RecordId, Scope};
use crate::outcome::OutcomeKind;
use crate::record::{ApprovalChannel, Record, StateKind, UnknownReason};
use crate::turns::PendingApproval;

/// The store's clock, in SQL.
pub(super) const NOW: &str = "CAST(unixepoch('subsec') * 1000 AS INTEGER)";

/// The columns of a record, in the order in which [`record`] reads them.
macro_rules! record_columns {
    () => {
        "fingerprint, fence, attempt, by_nature, created, touched, state, lapses, owner, since, license, started_by, \
         reason, round, by_whom, outcome_kind, outcome_len, outcome_digest, outcome, binding, gated, decided_by, via, why, \
         refuses_until, error_code, error_message, arguments"
    };
}
pub(super) const FIND: &str = concat!(
    "SELECT ",
    record_columns!(),
    ", CAST(unixepoch('subsec') * 1000 AS INTEGER), row, last_row FROM records WHERE short = ? AND id = ?"
);
pub(super) const INSERT: &str = concat!(
    "INSERT INTO records (",
    record_columns!(),
    ", last_row, short, id, scope, key) \
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
);
pub(super) const UPDATE: &str = concat!(
    "UPDATE records SET (",
    record_columns!(),
    ", last_row) = (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) WHERE row = ?"
);
/// Lists records in their order. `CROSS JOIN` keeps SQLite from choosing another.
pub(super) const LIST: &str = concat!(
    "SELECT ",
    record_columns!(),
    ", row, principal, server, instance, tool, key FROM records CROSS JOIN scopes ON scopes.id = scope"
);

/// Lists records with a pending approval request. Their last row gives the order of the requests.
pub(super) const WAITING: &str = concat!(
    "SELECT ",
    record_columns!(),
    ", last_row, principal, server, instance, tool, key FROM records INDEXED BY records_waiting \
     CROSS JOIN scopes ON scopes.id = scope"
);
/// Selects pending approval requests, by turns of their principals. It uses only columns before `outcome`: to reach a column
/// after it, SQLite reads all of it.
pub(super) const TURNS: &str = "SELECT principal, server, instance, tool, key, fence, lapses, last_row, count(*) OVER (), \
     row_number() OVER (PARTITION BY principal ORDER BY last_row) AS turn \
     FROM records INDEXED BY records_waiting CROSS JOIN scopes ON scopes.id = scope \
     WHERE state = 'waiting' AND lapses >= ? ORDER BY turn, last_row LIMIT ?";
/// Counts the pending approval requests of a principal.
pub(super) const COUNT_WAITING: &str = "SELECT count(*) FROM scopes CROSS JOIN records ON scope = scopes.id \
     WHERE principal = ? AND state = 'waiting' AND lapses >= ?";

/// The index of the first column after a record's own columns.
pub(super) const BEHIND: usize = 28;

fn broken(at: usize) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(at, Type::Text, Box::new(FromSqlError::InvalidType))
}

/// Parses a word that must be one of ours, if there is one.
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
        license: word(row, 10, StartReasonName::from_word)?,
        started_by: row.get(11)?,
        reason: word(row, 12, UnknownReason::from_word)?,
        round: row.get(13)?,
        by_whom: row.get(14)?,
        outcome_kind: word(row, 15, OutcomeKind::from_word)?,
        outcome_len: row.get::<_, Option<UnsignedInteger>>(16)?.map(|UnsignedInteger(len)| len),
        outcome_digest: row.get(17)?,
        outcome: row.get_ref(18)?.as_blob_or_null()?.map(Into::into),
        binding: row.get(19)?,
        gated: row.get(20)?,
        decided_by: row.get(21)?,
        via: word(row, 22, ApprovalChannel::from_word)?,
        why: row.get(23)?,
        refuses_until: row.get(24)?,
    };
    Ok(Record {
        fingerprint: Fingerprint(row.get(0)?),
        fence: Fence(UnsignedInteger::read(row, 1)?),
        attempt: row.get(2)?,
        idempotent: row.get(3)?,
        created: Moment(row.get(4)?),
        touched: Moment(row.get(5)?),
        error: error(row, 25)?,
        arguments: row.get_ref(27)?.as_blob_or_null()?.map(Into::into),
        state: columns.state().ok_or_else(|| broken(6))?,
    })
}

/// Reads the error of a call, from this column on.
fn error(row: &Row<'_>, at: usize) -> Result<Option<CallError>> {
    let (code, message): (Option<_>, Option<_>) = (row.get(at)?, row.get(at + 1)?);
    Ok(code.zip(message).map(|(code, message)| CallError { code, message }))
}

/// A record, as found in the table.
pub(super) struct StoredRecord {
    pub(super) record: Record,
    /// The time of the read.
    pub(super) now: Moment,
    /// The number of its row.
    pub(super) place: i64,
    /// Its last audit row.
    pub(super) last_row: i64,
}

/// Returns the number by which records are indexed: the first eight bytes of the digest.
pub(super) fn short(digest: &RecordDigest) -> i64 {
    let [a, b, c, d, e, f, g, h, ..] = digest.0;
    i64::from_be_bytes([a, b, c, d, e, f, g, h])
}

/// Runs [`FIND`].
pub(super) fn find(
    statement: &mut Statement<'_>,
    digest: &RecordDigest,
) -> Result<Option<StoredRecord>> {
    statement
        .query_row((short(digest), &digest.0[..]), |row| {
            Ok(StoredRecord {
                record: record(row)?,
                now: Moment(row.get(BEHIND)?),
                place: row.get(BEHIND + 1)?,
                last_row: row.get(BEHIND + 2)?,
            })
        })
        .optional()
}

/// Reads scope and key, from this column on.
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

/// Reads a row of [`TURNS`]: the number of the request, the request, and the number of all requests.
pub(super) fn waits(row: &Row<'_>) -> Result<(u64, PendingApproval, u64)> {
    let (scope, key) = id(row, 0)?;
    let id = RecordId { scope, key: key.ok_or_else(|| broken(4))? };
    let waits = PendingApproval {
        id,
        fence: Fence(UnsignedInteger::read(row, 5)?),
        until: Moment(row.get(6)?),
    };
    Ok((UnsignedInteger::read(row, 7)?, waits, UnsignedInteger::read(row, 8)?))
}

macro_rules! audit_columns {
    () => {
        "seq, at, principal, server, instance, tool, key, event, came_from, came_to, fence, attempt, reason, \
         outcome_kind, by_whom, shape, digest, hints, duration, note, via, why, error_code, error_message"
    };
}
pub(super) const AUDIT: &str =
    concat!("SELECT ", audit_columns!(), " FROM audit CROSS JOIN scopes ON scopes.id = scope");
pub(super) const APPEND: &str = "INSERT INTO audit (at, previous, scope, key, event, came_from, came_to, fence, attempt, \
    reason, outcome_kind, by_whom, shape, digest, hints, duration, note, via, why, error_code, error_message) \
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";

/// Follows the rows of a record from the last one back to the first. `CROSS JOIN` keeps SQLite on that path: otherwise it
/// prefers to read the whole audit log in the requested order.
const CHAIN: &str = concat!(
    "WITH RECURSIVE chain (place) AS (SELECT last_row FROM records WHERE short = ? AND id = ? UNION ALL \
     SELECT previous FROM chain CROSS JOIN audit ON seq = place WHERE previous IS NOT NULL) SELECT ",
    audit_columns!(),
    " FROM chain CROSS JOIN audit ON seq = place CROSS JOIN scopes ON scopes.id = scope ORDER BY seq"
);

/// Returns all rows of a record, oldest first. If the record was purged, it searches all rows.
pub(super) fn story(db: &Connection, id: &RecordId) -> Result<Vec<AuditRow>> {
    let digest = id.digest();
    let rows: Vec<_> = db
        .prepare_cached(CHAIN)?
        .query_map((short(&digest), &digest.0[..]), audit_row)?
        .collect::<Result<_>>()?;
    if !rows.is_empty() {
        return Ok(rows);
    }
    let all = format!(
        "{AUDIT} WHERE key = ? AND came_to IS NOT NULL AND scope = (SELECT id FROM scopes \
         WHERE principal = ? AND server = ? AND instance = ? AND tool = ?) ORDER BY seq"
    );
    let Scope { principal, server, instance, tool } = &id.scope;
    db.prepare(&all)?
        .query_map([id.key.as_str(), principal, server, instance, tool], audit_row)?
        .collect()
}

pub(super) fn audit_row(row: &Row<'_>) -> Result<AuditRow> {
    let (scope, key) = id(row, 2)?;
    let from = word(row, 8, StateKind::from_word)?;
    let to = word(row, 9, StateKind::from_word)?;
    let change = match (from, to) {
        (Some(from), Some(to)) => Some(StateChange {
            from,
            to,
            fence: Fence(UnsignedInteger::read(row, 10)?),
            attempt: row.get(11)?,
        }),
        _ => None,
    };
    let text = |at: usize| -> Result<_> { Ok(row.get_ref(at)?.as_str_or_null()?.map(Into::into)) };
    let duration: Option<UnsignedInteger> = row.get(18)?;
    Ok(AuditRow {
        seq: UnsignedInteger::read(row, 0)?,
        at: Moment(row.get(1)?),
        scope,
        key,
        event: row.get(7)?,
        change,
        reason: word(row, 12, UnknownReason::from_word)?,
        outcome: word(row, 13, OutcomeKind::from_word)?,
        by: row.get(14)?,
        via: word(row, 20, ApprovalChannel::from_word)?,
        why: row.get(21)?,
        circumstances: AuditContext {
            shape: text(15)?,
            digest: row.get(16)?,
            hints: text(17)?,
            duration: duration.map(|UnsignedInteger(micros)| Duration::from_micros(micros)),
            note: text(19)?,
            error: error(row, 22)?,
            arguments: None,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pending_approvals_are_read_by_index() {
        let mut db = Connection::open_in_memory().unwrap();
        super::super::schema::migrate(&mut db).unwrap();
        let mut plan = db.prepare(&format!("EXPLAIN QUERY PLAN {TURNS}")).unwrap();
        let steps = plan.query_map((0, 0), |row| row.get::<_, String>(3)).unwrap();
        let steps: Vec<_> = steps.map(Result::unwrap).collect();
        let reads = |step: &&String| step.contains("records") || step.contains("scopes");
        let reads: Vec<_> = steps.iter().filter(reads).collect();
        assert!(
            matches!(&reads[..], [first, then] if first.contains("INDEX records_waiting")
                && then.starts_with("SEARCH scopes")),
            "{steps:?}"
        );
    }

    #[test]
    fn transitions_are_read_without_scanning_the_audit() {
        let mut db = Connection::open_in_memory().unwrap();
        super::super::schema::migrate(&mut db).unwrap();
        let mut plan = db.prepare(&format!("EXPLAIN QUERY PLAN {CHAIN}")).unwrap();
        let steps = plan.query_map((0, [0; 32]), |row| row.get::<_, String>(3)).unwrap();
        for step in steps {
            let step = step.unwrap();
            assert!(!step.starts_with("SCAN audit"), "{step}");
        }
    }

    #[test]
    fn pending_requests_are_counted_by_index() {
        let mut db = Connection::open_in_memory().unwrap();
        super::super::schema::migrate(&mut db).unwrap();
        let mut plan = db.prepare(&format!("EXPLAIN QUERY PLAN {COUNT_WAITING}")).unwrap();
        let steps = plan.query_map(("", 0), |row| row.get::<_, String>(3)).unwrap();
        let steps: Vec<_> = steps.map(Result::unwrap).collect();
        assert!(
            steps.iter().any(|step| step.contains("INDEX records_waiting_of (scope=?")),
            "{steps:?}"
        );
        assert!(!steps.iter().any(|step| step.starts_with("SCAN")), "{steps:?}");
    }
}
