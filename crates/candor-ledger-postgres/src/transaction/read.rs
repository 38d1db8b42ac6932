//! The first batch: locks, the time, the records, and the usage of their principals.

use std::collections::{BTreeSet, HashMap, HashSet};

use candor_ledger::{Event, Moment, Record, RecordDigest, StoreError};
use futures_util::future;
use tokio_postgres::{Error, Row};

use super::{LockMode, PgWork, StoreContext, begun};
use crate::line::PgSession;
use crate::rows;
use crate::usage::PrincipalUsage;

/// A record during a transaction.
#[derive(Clone)]
pub(super) struct LoadedRecord {
    pub(super) record: Record,
    pub(super) last_row: i64,
}

/// What a transaction has read under its locks.
pub(super) struct TransactionReads {
    pub(super) now: Moment,
    pub(super) first_row: i64,
    pub(super) records: HashMap<RecordDigest, LoadedRecord>,
    pub(super) usage: HashMap<String, PrincipalUsage>,
    /// The number of pending approval requests of each principal that asks for another.
    pub(super) waiting: HashMap<String, u64>,
}

type QueryResult<T> = Result<Result<T, StoreError>, Error>;

/// The records that this transaction has locked. `None` means all of them, because it waited for them.
pub(super) type LockedRecords = Option<HashSet<RecordDigest>>;

pub(super) async fn lock_and_read(
    session: &PgSession,
    judge: &StoreContext,
    work: &[PgWork],
    principals: &HashSet<String>,
    held: LockMode,
) -> QueryResult<(TransactionReads, LockedRecords)> {
    let digests: BTreeSet<RecordDigest> = work
        .iter()
        .filter_map(|work| match work {
            PgWork::Apply { digest, .. } => Some(*digest),
            PgWork::Note(_) | PgWork::Grants(_) => None,
        })
        .collect();
    let names: HashMap<i64, Vec<RecordDigest>> = {
        let mut names: HashMap<i64, Vec<RecordDigest>> = HashMap::new();
        for digest in &digests {
            names.entry(judge.names.record(digest)).or_default().push(*digest);
        }
        names
    };
    let mut in_order: Vec<i64> = names.keys().copied().collect();
    in_order.sort_unstable();

    // Every one of them is also in `principals`.
    let askers: BTreeSet<&str> = work
        .iter()
        .filter_map(|work| match work {
            PgWork::Apply { id, event: Event::Ask { .. }, .. } => Some(id.scope.principal.as_str()),
            _ => None,
        })
        .collect();

    let client = &session.client;
    let begin = format!(
        "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE; SELECT pg_advisory_xact_lock_shared({})",
        judge.names.writing()
    );
    // Prepare first: the statements below are then sent in this order, without waiting.
    let begun = session.prepared(begun()).await?;
    let find = session.prepared(rows::FIND_LOCKED).await?;
    let (locked, now, found, usage) = match held {
        LockMode::Wait => {
            let lock = session.prepared(rows::LOCK).await?;
            let (begin, locks, usage, now, found) = future::join5(
                client.batch_execute(&begin),
                client.execute(&lock, &[&in_order]),
                lock_usage(session, judge, principals, &askers),
                client.query_one(&begun, &[]),
                find_locked(session, &find, &digests),
            )
            .await;
            begin?;
            locks?;
            (None, now?, found?, usage?)
        }
        LockMode::Skip => {
            let try_lock = session.prepared(rows::TRY_LOCK).await?;
            let (begin, granted) =
                future::join(client.batch_execute(&begin), client.query(&try_lock, &[&in_order]))
                    .await;
            begin?;
            let granted: Vec<i64> =
                granted?.iter().map(|row| row.try_get(0)).collect::<Result<_, _>>()?;
            let ours: BTreeSet<RecordDigest> =
                granted.iter().filter_map(|name| names.get(name)).flatten().copied().collect();
            let (usage, now, found) = future::join3(
                lock_usage(session, judge, principals, &askers),
                client.query_one(&begun, &[]),
                find_locked(session, &find, &ours),
            )
            .await;
            (Some(ours.into_iter().collect()), now?, found?, usage?)
        }
    };
    let first_row: i64 = now.try_get(1)?;
    let now = judge.clock.given().unwrap_or(Moment(now.try_get(0)?));
    Ok(records(&found).and_then(|records| {
        let (usage, waiting) = usage?;
        Ok((TransactionReads { now, first_row, records, usage, waiting }, locked))
    }))
}

async fn find_locked(
    session: &PgSession,
    find: &tokio_postgres::Statement,
    digests: &BTreeSet<RecordDigest>,
) -> Result<Vec<Row>, Error> {
    if digests.is_empty() {
        return Ok(Vec::new());
    }
    let digests: Vec<&[u8]> = digests.iter().map(|digest| &digest.0[..]).collect();
    session.client.query(find, &[&digests]).await
}

fn records(found: &[Row]) -> Result<HashMap<RecordDigest, LoadedRecord>, StoreError> {
    found
        .iter()
        .map(|row| {
            let (digest, last_row) = rows::name_and_number(row)?;
            Ok((digest, LoadedRecord { record: rows::record(row)?, last_row }))
        })
        .collect()
}

async fn lock_usage(
    session: &PgSession,
    judge: &StoreContext,
    principals: &HashSet<String>,
    askers: &BTreeSet<&str>,
) -> QueryResult<(HashMap<String, PrincipalUsage>, HashMap<String, u64>)> {
    if principals.is_empty() {
        return Ok(Ok(Default::default()));
    }
    let mut names: Vec<i64> =
        principals.iter().map(|name| judge.names.principal(judge.slot, name)).collect();
    names.sort_unstable();
    names.dedup();
    let principals: Vec<&str> = principals.iter().map(String::as_str).collect();
    let (lock, usage) = (session.prepared(rows::LOCK).await?, session.prepared(rows::USAGE).await?);
    let (locked, found, counted) = future::join3(
        session.client.execute(&lock, &[&names]),
        session.client.query(&usage, &[&principals]),
        count_waiting(session, judge, askers),
    )
    .await;
    locked?;
    let mut waiting: HashMap<String, u64> =
        askers.iter().map(|name| ((*name).to_owned(), 0)).collect();
    for row in &counted? {
        let counted: i64 = row.try_get(1)?;
        waiting.insert(row.try_get(0)?, u64::try_from(counted).unwrap_or(0));
    }
    // A principal without usage has no row.
    let mut usage: HashMap<String, PrincipalUsage> =
        principals.iter().map(|name| ((*name).to_owned(), PrincipalUsage::default())).collect();
    for row in &found? {
        match rows::usage(row) {
            Ok((principal, slot, part)) => {
                usage.entry(principal).or_default().add(part, slot == judge.slot);
            }
            Err(corrupt) => return Ok(Err(corrupt)),
        }
    }
    Ok(Ok((usage, waiting)))
}

async fn count_waiting(
    session: &PgSession,
    judge: &StoreContext,
    askers: &BTreeSet<&str>,
) -> Result<Vec<Row>, Error> {
    if askers.is_empty() {
        return Ok(Vec::new());
    }
    let askers: Vec<&str> = askers.iter().copied().collect();
    let given = judge.clock.given().map(|now| now.0);
    let count = session.prepared(rows::COUNT_WAITING).await?;
    session.client.query(&count, &[&askers, &given]).await
}
