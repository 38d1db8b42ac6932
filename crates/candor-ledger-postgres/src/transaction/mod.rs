//! Several events in one transaction.
//!
//! **Locks.** A record that does not exist yet has no row to lock. So a transaction locks the *name* of every record that it
//! touches, with an advisory lock that it holds until its end. It takes the locks in a separate statement, before it reads
//! the records. Under READ COMMITTED, a statement sees what was committed before it began, and a commit is visible before its
//! locks are released. So the next holder of a lock reads what the last one left: a row, another row, or none. `FOR UPDATE`
//! is an additional protection against programs that do not know the names. The usage of a principal in our slot (`usage`) is
//! locked by name in the same way, but only if an event may change it.
//!
//! **Order.** First the records, in the order of their names' numbers, then the principals, in the order of theirs. Every
//! transaction uses this order, so there are no deadlocks. A sweep does not wait for records: it skips those that others
//! hold.
//!
//! **Two batches.** The first takes the locks and reads the time, the records and the usage. The second writes what the state
//! machine returns, and commits. If the server refuses a statement of the second, it turns the `COMMIT` after it into a
//! rollback. Each batch is a file: `read` and `write`. `planned`, between them, is pure. `names` has the names of the locks.

mod names;
mod planned;
mod read;
mod write;

use std::collections::HashSet;

use candor_ledger::{
    AuditContext, CallNote, Clock, Event, EventReply, Grant, GrantId, LedgerLimits, NewGrant,
    RecordDigest, RecordId, StoreError,
};
use futures_util::future;
use tokio_postgres::Error;

use crate::error::{explain, is_of_one, is_refusal};
use crate::line::PgSession;
use crate::rows;

pub(crate) use self::names::Names;
use self::planned::planned;
use self::read::lock_and_read;
use self::write::write;

/// The work of one command.
pub(crate) enum PgWork {
    Apply {
        id: RecordId,
        digest: RecordDigest,
        event: Event,
        circumstances: AuditContext,
    },
    Note(CallNote),
    /// Always alone in its transaction: see `grants`.
    Grants(GrantChange),
}

/// A change of a grant.
pub(crate) enum GrantChange {
    Give { id: GrantId, granting: NewGrant },
    Revoke { id: GrantId, by: String },
}

pub(crate) enum PgReport {
    Answer(EventReply),
    Noted,
    Grant(Option<Grant>),
}

/// Why a transaction failed.
pub(crate) enum Failure {
    /// The connection was lost before anything was written.
    LostBefore(StoreError),
    /// The connection was lost, and the transaction may have been committed.
    Lost(StoreError),
    /// The server refused a statement, and nothing was written.
    Refused {
        error: StoreError,
        /// One of several commands may be the cause.
        of_one: bool,
    },
}

/// The result of a transaction.
pub(crate) struct TransactionResult {
    pub(crate) reports: Vec<Result<PgReport, StoreError>>,
    pub(crate) changed: Vec<RecordDigest>,
}

/// What to do about records that other transactions hold.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum LockMode {
    Wait,
    Skip,
}

/// The limits and the clock for events, the names of the locks, and our slot.
pub(crate) struct StoreContext {
    pub(crate) rules: LedgerLimits,
    pub(crate) clock: Clock,
    pub(crate) names: Names,
    /// The slot in which this replica counts usage.
    pub(crate) slot: i64,
}

/// Prepares all statements of a transaction. To prepare one in the middle would change the order in which they are sent.
pub(crate) async fn prepare(session: &PgSession) -> Result<(), Error> {
    let all = [
        rows::LOCK,
        rows::TRY_LOCK,
        rows::FIND_LOCKED,
        rows::USAGE,
        rows::COUNT_WAITING,
        rows::APPEND,
        rows::PUT,
        rows::REMOVE,
        rows::PUT_USAGE,
        begun(),
    ];
    let all = all.map(|sql| session.prepared(sql));
    future::try_join_all(all).await.map(drop)
}

pub(crate) fn begun() -> &'static str {
    static BEGUN: std::sync::LazyLock<String> = std::sync::LazyLock::new(rows::begun);
    &BEGUN
}

/// Applies all of the work, or nothing.
pub(crate) async fn run(
    session: &PgSession,
    judge: &StoreContext,
    work: &[PgWork],
    held: LockMode,
) -> Result<TransactionResult, Failure> {
    let mut principals: HashSet<String> = work
        .iter()
        .filter_map(|work| match work {
            PgWork::Apply { id, event, .. } if may_change_usage(event) => {
                Some(id.scope.principal.clone())
            }
            _ => None,
        })
        .collect();
    loop {
        let read = async {
            prepare(session).await?;
            lock_and_read(session, judge, work, &principals, held).await
        };
        let (read, locked) = match session.in_time(read).await {
            Err(silence) => return Err(Failure::LostBefore(silence)),
            Ok(Err(error)) => return Err(undone(session, &error).await),
            Ok(Ok(Err(corrupt))) => return Err(undone_for(session, corrupt).await),
            Ok(Ok(Ok(read))) => read,
        };
        match planned(judge, work, &locked, &read) {
            Ok(planned) => {
                write(session, judge.slot, &read, &planned).await?;
                let changed = planned.records.keys().copied().collect();
                return Ok(TransactionResult { reports: planned.reports, changed });
            }
            // Time alone also changed the usage of these principals. To lock it now would break the lock order. Nothing is
            // written yet, so start over.
            Err(missing) => {
                roll_back(session).await?;
                principals.extend(missing);
            }
        }
    }
}

pub(crate) async fn roll_back(session: &PgSession) -> Result<(), Failure> {
    match session.in_time(session.client.batch_execute("ROLLBACK")).await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(error)) => {
            session.give_up();
            Err(Failure::LostBefore(explain(&error)))
        }
        Err(silence) => Err(Failure::LostBefore(silence)),
    }
}

/// Ends a transaction that failed before anything was written.
async fn undone(session: &PgSession, error: &Error) -> Failure {
    if is_refusal(error) {
        let of_one = is_of_one(error);
        match undone_for(session, explain(error)).await {
            Failure::Refused { error, .. } => Failure::Refused { error, of_one },
            lost => lost,
        }
    } else {
        session.give_up();
        Failure::LostBefore(explain(error))
    }
}

async fn undone_for(session: &PgSession, error: StoreError) -> Failure {
    match roll_back(session).await {
        Ok(()) => Failure::Refused { error, of_one: false },
        Err(lost) => lost,
    }
}

/// Returns true unless the event is known not to change usage.
fn may_change_usage(event: &Event) -> bool {
    !matches!(event, Event::Dispatch(_) | Event::Heartbeat(_) | Event::Release(_))
}
