//! Several events in one transaction.
//!
//! **Locks.** A record that does not exist yet has no row to lock, so what is locked is its *name*: an advisory lock, held until the
//! end of the transaction, of every record that the transaction touches. It is taken in a statement of its own before the record
//! is read; under READ COMMITTED each statement sees what was committed before it began, and a transaction is seen before it lets
//! go of its locks. So whoever gets the lock reads what the last holder has left, be it a row, another row, or none. `FOR UPDATE` comes on
//! top, against hands that do not know of the names. What a principal has in our slot (`usage`) is locked by name in the same way,
//! and only if one of the events may change it.
//!
//! **Order.** First the records, in the order of their names' numbers, then the principals, in the order of theirs. Everybody does so; nobody
//! waits in a circle. A sweep does not wait for records at all: what somebody holds is left to them.
//!
//! **Two flights.** Locks, time, records and usage are asked for in one go. What the machine says is then written, and committed,
//! in one go: if one of these statements is refused, the server turns the `COMMIT` behind it into a rollback.
//! Each is a file: `read` and `write`; `planned` between them is pure. `names` has the names of the locks.

mod names;
mod planned;
mod read;
mod write;

use std::collections::HashSet;

use futures_util::future;
use tokio_postgres::Error;

use super::error::{explain, is_of_one, is_refusal};
use super::grants::GrantChange;
use super::line::PgSession;
use super::rows;
use crate::audit::{AuditContext, CallNote};
use crate::event::{Event, EventReply};
use crate::grant::Grant;
use crate::id::{RecordDigest, RecordId};
use crate::rules::LedgerLimits;
use crate::store::{Clock, StoreError};

pub(super) use names::Names;
use planned::planned;
use read::lock_and_read;
use write::write;

/// What is to be done.
pub(super) enum PgWork {
    Apply {
        id: RecordId,
        digest: RecordDigest,
        event: Event,
        circumstances: AuditContext,
    },
    Note(CallNote),
    /// Always alone: see `grants`.
    Grants(GrantChange),
}

pub(super) enum PgReport {
    Answer(EventReply),
    Noted,
    Grant(Option<Grant>),
}

/// Why a transaction did not become one.
pub(super) enum Failure {
    /// The connection was lost before anything was written.
    LostBefore(StoreError),
    /// The connection was lost, and nobody knows whether it was written.
    Lost(StoreError),
    /// The server refused: nothing was written.
    Refused {
        error: StoreError,
        /// It may be the fault of one of several.
        of_one: bool,
    },
}

/// What came of it.
pub(super) struct TransactionResult {
    pub(super) reports: Vec<Result<PgReport, StoreError>>,
    pub(super) changed: Vec<RecordDigest>,
}

/// Whether to wait for records that others hold.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum LockMode {
    Wait,
    Skip,
}

/// What events are judged by, and under what names records are locked.
pub(super) struct StoreContext {
    pub(super) rules: LedgerLimits,
    pub(super) clock: Clock,
    pub(super) names: Names,
    /// Where this instance counts what principals have.
    pub(super) slot: i64,
}

/// All statements of a transaction, so that none is prepared in the middle of one: that would change the order of what goes out.
pub(super) async fn prepare(session: &PgSession) -> Result<(), Error> {
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

pub(super) fn begun() -> &'static str {
    static BEGUN: std::sync::LazyLock<String> = std::sync::LazyLock::new(rows::begun);
    &BEGUN
}

/// Lets all of it happen, or nothing.
pub(super) async fn run(
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
            // Time had more to do than the events, so what these principals have changes too. To lock them now would be out of
            // order: from the beginning, then, and nothing was written yet.
            Err(missing) => {
                roll_back(session).await?;
                principals.extend(missing);
            }
        }
    }
}

pub(super) async fn roll_back(session: &PgSession) -> Result<(), Failure> {
    match session.in_time(session.client.batch_execute("ROLLBACK")).await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(error)) => {
            session.give_up();
            Err(Failure::LostBefore(explain(&error)))
        }
        Err(silence) => Err(Failure::LostBefore(silence)),
    }
}

/// The transaction has failed before anything was written.
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

/// Of an event of which we do not know better, yes.
fn may_change_usage(event: &Event) -> bool {
    !matches!(event, Event::Dispatch(_) | Event::Heartbeat(_) | Event::Release(_))
}
