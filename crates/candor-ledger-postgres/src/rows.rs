//! Records and audit rows, to and from the tables.
//!
//! A transaction sends what it writes as arrays: one statement per table, however many events there are.

use std::borrow::Cow;
use std::time::Duration;

use candor_ledger::storage::{Columns, StartReasonName};
use candor_ledger::{
    ApprovalChannel, AuditContext, AuditRow, CallError, Fence, Fingerprint, Key, Moment,
    OutcomeKind, PendingApproval, Record, RecordDigest, RecordId, Scope, StateChange, StateKind,
    StoreError, UnknownReason,
};
use tokio_postgres::Row;
use tokio_postgres::types::{FromSql, ToSql};

use crate::schema::SHIFT;
use crate::usage::UsageRow;

/// The store's clock, in SQL.
macro_rules! now {
    () => {
        "floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint"
    };
}

/// The columns of a record, in the order in which [`record`] reads them.
macro_rules! record_columns {
    () => {
        "fingerprint, fence, attempt, by_nature, created, touched, state, lapses, owner, since, license, started_by, \
         reason, round, by_whom, outcome_kind, outcome_len, outcome_digest, outcome, binding, gated, decided_by, via, why, \
         refuses_until, error_code, error_message, arguments"
    };
}

/// The index of the first column after a record's own columns. Scope and key, for [`id`], follow two columns later.
pub(crate) const BEHIND: usize = 28;

/// Selects records, and the time.
pub(crate) const FIND: &str =
    concat!("SELECT ", record_columns!(), ", id, ", now!(), " FROM records WHERE id = ANY ($1)");

pub(crate) const FIND_LOCKED: &str = concat!(
    "SELECT ",
    record_columns!(),
    ", id, last_row FROM records WHERE id = ANY ($1) FOR UPDATE"
);
pub(crate) const LIST: &str = concat!(
    "SELECT ",
    record_columns!(),
    ", id, row, principal, server, instance, tool, key FROM records"
);
/// Selects records whose digest lies between two others, in its order, which is that of its index.
pub(crate) const BETWEEN: &str = concat!(
    "SELECT ",
    record_columns!(),
    ", id, row, principal, server, instance, tool, key FROM records \
     WHERE id >= $1 AND id <= $2 ORDER BY id LIMIT $3"
);
/// Selects records with a pending approval request. Their last row gives the order of the requests.
pub(crate) const WAITING: &str = concat!(
    "SELECT ",
    record_columns!(),
    ", id, last_row, principal, server, instance, tool, key FROM records"
);
/// Selects pending approval requests, by turns of their principals.
pub(crate) const TURNS: &str = concat!(
    "SELECT principal, server, instance, tool, key, fence, lapses, last_row, count(*) OVER (), \
     row_number() OVER (PARTITION BY principal ORDER BY last_row) AS turn FROM records \
     WHERE state = 'waiting' AND lapses >= coalesce($1, ",
    now!(),
    ") ORDER BY turn, last_row LIMIT $2"
);
/// Counts the pending approval requests of these principals.
pub(crate) const COUNT_WAITING: &str = concat!(
    "SELECT principal, count(*) FROM records WHERE state = 'waiting' AND principal = ANY ($1) AND lapses >= coalesce($2, ",
    now!(),
    ") GROUP BY principal"
);
pub(crate) const NOW: &str = concat!("SELECT ", now!());

pub(crate) const DUE: &str = concat!(
    "SELECT principal, server, instance, tool, key FROM records WHERE lapses < coalesce($1, ",
    now!(),
    ") ORDER BY lapses LIMIT $2"
);

/// Takes locks in the given order. It is a statement of its own, so that the next one reads what the last holder wrote.
pub(crate) const LOCK: &str =
    "SELECT pg_advisory_xact_lock(name) FROM unnest($1::bigint[]) AS name";
/// Takes the locks that no transaction holds.
pub(crate) const TRY_LOCK: &str =
    "SELECT name FROM unnest($1::bigint[]) AS name WHERE pg_try_advisory_xact_lock(name)";

pub(crate) const USAGE: &str =
    "SELECT principal, slot, records, bytes, hour, fresh FROM usage WHERE principal = ANY ($1)";

pub(crate) const PUT_USAGE: &str = "INSERT INTO usage SELECT * FROM \
     unnest($1::text[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[]) \
     ON CONFLICT (principal, slot) DO UPDATE SET (records, bytes, hour, fresh) = \
     (excluded.records, excluded.bytes, excluded.hour, excluded.fresh)";

pub(crate) const REMOVE: &str = "DELETE FROM records WHERE id = ANY ($1)";

pub(crate) const PUT: &str = concat!(
    "INSERT INTO records (",
    record_columns!(),
    ", id, last_row, row, principal, server, instance, tool, key) SELECT * FROM unnest($1::bytea[], $2::bigint[], \
     $3::bigint[], $4::boolean[], $5::bigint[], $6::bigint[], $7::text[], $8::bigint[], $9::bytea[], $10::bigint[], \
     $11::text[], $12::bytea[], $13::text[], $14::bigint[], $15::text[], $16::text[], $17::bigint[], $18::bytea[], \
     $19::bytea[], $20::bytea[], $21::bigint[], $22::text[], $23::text[], $24::text[], $25::bigint[], $26::text[], \
     $27::text[], $28::bytea[], $29::bytea[], $30::bigint[], $31::bigint[], $32::text[], $33::text[], $34::text[], \
     $35::text[], $36::text[]) ON CONFLICT (id) DO UPDATE SET (",
    record_columns!(),
    ", last_row) = (excluded.fingerprint, excluded.fence, excluded.attempt, excluded.by_nature, excluded.created, \
     excluded.touched, excluded.state, excluded.lapses, excluded.owner, excluded.since, excluded.license, \
     excluded.started_by, excluded.reason, excluded.round, excluded.by_whom, excluded.outcome_kind, \
     excluded.outcome_len, excluded.outcome_digest, excluded.outcome, excluded.binding, excluded.gated, \
     excluded.decided_by, excluded.via, excluded.why, excluded.refuses_until, excluded.error_code, \
     excluded.error_message, excluded.arguments, excluded.last_row)"
);

macro_rules! audit_columns {
    () => {
        "seq, at, principal, server, instance, tool, key, event, came_from, came_to, fence, attempt, reason, \
         outcome_kind, by_whom, shape, digest, hints, duration, note, via, why, error_code, error_message"
    };
}
pub(crate) const AUDIT: &str = concat!("SELECT ", audit_columns!(), " FROM audit");

pub(crate) const APPEND: &str = concat!(
    "INSERT INTO audit (",
    audit_columns!(),
    ", record, previous) SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::text[], $5::text[], \
     $6::text[], $7::text[], $8::text[], $9::text[], $10::text[], $11::bigint[], $12::bigint[], $13::text[], $14::text[], \
     $15::text[], $16::text[], $17::bytea[], $18::text[], $19::bigint[], $20::text[], $21::text[], $22::text[], \
     $23::text[], $24::text[], $25::bytea[], $26::bigint[])"
);

/// Follows the rows of a record from the last one back to the first.
pub(crate) const CHAIN: &str = concat!(
    "WITH RECURSIVE chain (place) AS (SELECT last_row FROM records WHERE id = $1 UNION ALL \
     SELECT previous FROM audit JOIN chain ON seq = place WHERE previous IS NOT NULL) SELECT ",
    audit_columns!(),
    " FROM audit JOIN chain ON seq = place ORDER BY seq"
);
/// Searches all rows, for a record that was purged.
pub(crate) const AMONG_ALL: &str =
    concat!("SELECT ", audit_columns!(), " FROM audit WHERE record = $1 ORDER BY seq");

/// Reads only the oldest rows, so it needs no index on the time. Skips rows that another replica is deleting.
pub(crate) const FORGET: &str = "DELETE FROM audit USING \
     (SELECT seq, at FROM audit ORDER BY seq LIMIT $2 FOR UPDATE SKIP LOCKED) AS oldest \
     WHERE audit.seq = oldest.seq AND oldest.at < $1";

/// Returns the statement that reads the time and the number of this transaction's first row. It must run after all locks are
/// taken: see `schema`.
pub(crate) fn begun() -> String {
    format!(
        "SELECT {}, (base + pg_current_xact_id()::text::bigint) << {SHIFT} FROM candor_ledger",
        now!()
    )
}

fn broken(at: usize) -> StoreError {
    StoreError::Corrupt(format!("column {at} of a row is not as we write it"))
}

pub(crate) fn get<'a, T: FromSql<'a>>(row: &'a Row, at: usize) -> Result<T, StoreError> {
    row.try_get(at).map_err(|_| broken(at))
}

pub(crate) fn number<T: TryFrom<i64>>(row: &Row, at: usize) -> Result<T, StoreError> {
    T::try_from(get::<i64>(row, at)?).map_err(|_| broken(at))
}

fn number_if_any<T: TryFrom<i64>>(row: &Row, at: usize) -> Result<Option<T>, StoreError> {
    get::<Option<i64>>(row, at)?.map(|found| T::try_from(found).map_err(|_| broken(at))).transpose()
}

pub(crate) fn bytes<const LEN: usize>(
    row: &Row,
    at: usize,
) -> Result<Option<[u8; LEN]>, StoreError> {
    get::<Option<&[u8]>>(row, at)?.map(|found| found.try_into().map_err(|_| broken(at))).transpose()
}

/// Parses a word that must be one of ours, if there is one.
fn word<T>(
    row: &Row,
    at: usize,
    from_word: impl Fn(&str) -> Option<T>,
) -> Result<Option<T>, StoreError> {
    get::<Option<&str>>(row, at)?
        .map(|found| from_word(found).ok_or_else(|| broken(at)))
        .transpose()
}

pub(crate) fn record(row: &Row) -> Result<Record, StoreError> {
    let columns = Columns {
        state: word(row, 6, StateKind::from_word)?,
        lapses: get(row, 7)?,
        owner: bytes(row, 8)?,
        since: get(row, 9)?,
        license: word(row, 10, StartReasonName::from_word)?,
        started_by: bytes(row, 11)?,
        reason: word(row, 12, UnknownReason::from_word)?,
        round: number_if_any(row, 13)?,
        by_whom: get(row, 14)?,
        outcome_kind: word(row, 15, OutcomeKind::from_word)?,
        outcome_len: number_if_any(row, 16)?,
        outcome_digest: bytes(row, 17)?,
        outcome: get::<Option<&[u8]>>(row, 18)?.map(Into::into),
        binding: bytes(row, 19)?,
        gated: get(row, 20)?,
        decided_by: get(row, 21)?,
        via: word(row, 22, ApprovalChannel::from_word)?,
        why: get(row, 23)?,
        refuses_until: get(row, 24)?,
    };
    Ok(Record {
        fingerprint: Fingerprint(bytes(row, 0)?.ok_or_else(|| broken(0))?),
        fence: Fence(number(row, 1)?),
        attempt: number(row, 2)?,
        idempotent: get(row, 3)?,
        created: Moment(get(row, 4)?),
        touched: Moment(get(row, 5)?),
        error: error(row, 25)?,
        arguments: get::<Option<&[u8]>>(row, 27)?.map(Into::into),
        state: columns.state().ok_or_else(|| broken(6))?,
    })
}

/// Reads the error of a call, from this column on.
fn error(row: &Row, at: usize) -> Result<Option<CallError>, StoreError> {
    let (code, message): (Option<String>, Option<String>) = (get(row, at)?, get(row, at + 1)?);
    Ok(code.zip(message).map(|(code, message)| CallError { code, message }))
}

/// Reads the digest of the record, after its own columns, and what follows it: the time, its last row, or its own number.
pub(crate) fn name_and_number(row: &Row) -> Result<(RecordDigest, i64), StoreError> {
    let name = bytes(row, BEHIND)?.ok_or_else(|| broken(BEHIND))?;
    Ok((RecordDigest(name), get(row, BEHIND + 1)?))
}

/// Reads scope and key, from this column on.
pub(crate) fn id(row: &Row, at: usize) -> Result<(Scope, Option<Key>), StoreError> {
    let scope = Scope {
        principal: get(row, at)?,
        server: get(row, at + 1)?,
        instance: get(row, at + 2)?,
        tool: get(row, at + 3)?,
    };
    let key: Option<String> = get(row, at + 4)?;
    let key = key.map(|key| Key::new(key).map_err(|_| broken(at + 4))).transpose()?;
    Ok((scope, key))
}

/// Reads a row of [`TURNS`]: the number of the request, the request, and the number of all requests.
pub(crate) fn waits(row: &Row) -> Result<(u64, PendingApproval, u64), StoreError> {
    let (scope, key) = id(row, 0)?;
    let id = RecordId { scope, key: key.ok_or_else(|| broken(4))? };
    let waits = PendingApproval { id, fence: Fence(number(row, 5)?), until: Moment(get(row, 6)?) };
    Ok((number(row, 7)?, waits, number(row, 8)?))
}

/// Reads the principal, the slot, and the usage in it.
pub(crate) fn usage(row: &Row) -> Result<(String, i64, UsageRow), StoreError> {
    let part = UsageRow {
        records: get(row, 2)?,
        bytes: get(row, 3)?,
        hour: get(row, 4)?,
        fresh: get(row, 5)?,
    };
    Ok((get(row, 0)?, get(row, 1)?, part))
}

pub(crate) fn audit_row(row: &Row) -> Result<AuditRow, StoreError> {
    let (scope, key) = id(row, 2)?;
    let from = word(row, 8, StateKind::from_word)?;
    let to = word(row, 9, StateKind::from_word)?;
    let change = match (from, to) {
        (Some(from), Some(to)) => Some(StateChange {
            from,
            to,
            fence: Fence(number(row, 10)?),
            attempt: number(row, 11)?,
        }),
        _ => None,
    };
    let text =
        |at: usize| -> Result<_, StoreError> { Ok(get::<Option<&str>>(row, at)?.map(Into::into)) };
    let duration: Option<u64> = number_if_any(row, 18)?;
    Ok(AuditRow {
        seq: number(row, 0)?,
        at: Moment(get(row, 1)?),
        scope,
        key,
        event: get(row, 7)?,
        change,
        reason: word(row, 12, UnknownReason::from_word)?,
        outcome: word(row, 13, OutcomeKind::from_word)?,
        by: get(row, 14)?,
        via: word(row, 20, ApprovalChannel::from_word)?,
        why: get(row, 21)?,
        circumstances: AuditContext {
            shape: text(15)?,
            digest: bytes(row, 16)?,
            hints: text(17)?,
            duration: duration.map(Duration::from_micros),
            note: text(19)?,
            error: error(row, 22)?,
            arguments: None,
        },
    })
}

/// Replaces NUL with its symbol, in texts that only users read: PostgreSQL's texts cannot hold NUL.
pub(crate) fn readable(text: &str) -> Cow<'_, str> {
    if text.contains('\0') { text.replace('\0', "\u{2400}").into() } else { text.into() }
}

fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// Arrays, in the order in which they are bound.
pub(crate) type Arrays<'a> = Vec<Box<dyn ToSql + Sync + Send + 'a>>;

pub(crate) fn bind<'a>(arrays: &'a Arrays<'a>) -> Vec<&'a (dyn ToSql + Sync)> {
    arrays.iter().map(|array| &**array as &(dyn ToSql + Sync)).collect()
}

/// Builds one array from what `of` returns for each item.
fn array<'a, S, T>(all: &'a [S], of: impl FnMut(&'a S) -> T) -> Box<dyn ToSql + Sync + Send + 'a>
where
    T: ToSql + Sync + Send + 'a,
{
    Box::new(all.iter().map(of).collect::<Vec<T>>())
}

/// A record to write.
pub(crate) struct RecordRow<'a> {
    pub(crate) id: &'a RecordId,
    pub(crate) digest: RecordDigest,
    pub(crate) record: &'a Record,
    pub(crate) last_row: i64,
    /// The record's own number, if it is new.
    pub(crate) row: i64,
    pub(crate) columns: Columns,
}

/// Builds the arrays for [`PUT`].
pub(crate) fn puts<'a>(all: &'a [RecordRow<'a>]) -> Arrays<'a> {
    vec![
        array(all, |put| &put.record.fingerprint.0[..]),
        array(all, |put| signed(put.record.fence.0)),
        array(all, |put| i64::from(put.record.attempt)),
        array(all, |put| put.record.idempotent),
        array(all, |put| put.record.created.0),
        array(all, |put| put.record.touched.0),
        array(all, |put| put.columns.state.map(StateKind::as_str)),
        array(all, |put| put.columns.lapses),
        array(all, |put| put.columns.owner.as_ref().map(|owner| &owner[..])),
        array(all, |put| put.columns.since),
        array(all, |put| put.columns.license.map(StartReasonName::as_str)),
        array(all, |put| put.columns.started_by.as_ref().map(|owner| &owner[..])),
        array(all, |put| put.columns.reason.map(UnknownReason::as_str)),
        array(all, |put| put.columns.round.map(i64::from)),
        array(all, |put| put.columns.by_whom.as_deref().map(readable)),
        array(all, |put| put.columns.outcome_kind.map(OutcomeKind::as_str)),
        array(all, |put| put.columns.outcome_len.map(signed)),
        array(all, |put| put.columns.outcome_digest.as_ref().map(|digest| &digest[..])),
        array(all, |put| put.columns.outcome.as_deref()),
        array(all, |put| put.columns.binding.as_ref().map(|binding| &binding[..])),
        array(all, |put| put.columns.gated),
        array(all, |put| put.columns.decided_by.as_deref().map(readable)),
        array(all, |put| put.columns.via.map(ApprovalChannel::as_str)),
        array(all, |put| put.columns.why.as_deref().map(readable)),
        array(all, |put| put.columns.refuses_until),
        array(all, |put| put.record.error.as_ref().map(|error| readable(&error.code))),
        array(all, |put| put.record.error.as_ref().map(|error| readable(&error.message))),
        array(all, |put| put.record.arguments.as_deref()),
        array(all, |put| &put.digest.0[..]),
        array(all, |put| put.last_row),
        array(all, |put| put.row),
        array(all, |put| put.id.scope.principal.as_str()),
        array(all, |put| put.id.scope.server.as_str()),
        array(all, |put| put.id.scope.instance.as_str()),
        array(all, |put| put.id.scope.tool.as_str()),
        array(all, |put| put.id.key.as_str()),
    ]
}

/// Builds the arrays for [`PUT_USAGE`].
pub(crate) fn usages<'a>(all: &'a [(&'a str, UsageRow)], slot: i64) -> Arrays<'a> {
    vec![
        array(all, |(principal, _)| *principal),
        array(all, move |_| slot),
        array(all, |(_, part)| part.records),
        array(all, |(_, part)| part.bytes),
        array(all, |(_, part)| part.hour),
        array(all, |(_, part)| part.fresh),
    ]
}

/// An audit row to append, with its number. If it is about a record: also the digest and the previous last row of that
/// record.
pub(crate) struct AuditInsert {
    pub(crate) seq: i64,
    pub(crate) row: AuditRow,
    pub(crate) record: Option<RecordDigest>,
    pub(crate) previous: Option<i64>,
}

fn error_of(append: &AuditInsert) -> Option<&CallError> {
    append.row.circumstances.error.as_ref()
}

/// Builds the arrays for [`APPEND`].
pub(crate) fn appends(all: &[AuditInsert]) -> Arrays<'_> {
    vec![
        array(all, |append| append.seq),
        array(all, |append| append.row.at.0),
        array(all, |append| append.row.scope.principal.as_str()),
        array(all, |append| append.row.scope.server.as_str()),
        array(all, |append| append.row.scope.instance.as_str()),
        array(all, |append| append.row.scope.tool.as_str()),
        array(all, |append| append.row.key.as_ref().map(Key::as_str)),
        array(all, |append| readable(&append.row.event)),
        array(all, |append| append.row.change.map(|change| change.from.as_str())),
        array(all, |append| append.row.change.map(|change| change.to.as_str())),
        array(all, |append| append.row.change.map(|change| signed(change.fence.0))),
        array(all, |append| append.row.change.map(|change| i64::from(change.attempt))),
        array(all, |append| append.row.reason.map(UnknownReason::as_str)),
        array(all, |append| append.row.outcome.map(OutcomeKind::as_str)),
        array(all, |append| append.row.by.as_deref().map(readable)),
        array(all, |append| append.row.circumstances.shape.as_deref().map(readable)),
        array(all, |append| append.row.circumstances.digest.as_ref().map(|digest| &digest[..])),
        array(all, |append| append.row.circumstances.hints.as_deref().map(readable)),
        array(all, |append| {
            append
                .row
                .circumstances
                .duration
                .map(|duration| i64::try_from(duration.as_micros()).unwrap_or(i64::MAX))
        }),
        array(all, |append| append.row.circumstances.note.as_deref().map(readable)),
        array(all, |append| append.row.via.map(ApprovalChannel::as_str)),
        array(all, |append| append.row.why.as_deref().map(readable)),
        array(all, |append| error_of(append).map(|error| readable(&error.code))),
        array(all, |append| error_of(append).map(|error| readable(&error.message))),
        array(all, |append| append.record.as_ref().map(|record| &record.0[..])),
        array(all, |append| append.previous),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nul_in_text_becomes_a_visible_symbol() {
        assert_eq!(readable("a\0b"), "a␀b");
        assert!(matches!(readable("plain"), Cow::Borrowed("plain")));
    }
}
