//! Records in a SQLite file, which several processes may share.
//!
//! - `writer`: one thread per process, which puts all waiting commands into one transaction. `queue`: its commands. `tables`:
//!   its statements. `checkpoint`: its checkpoints, if SQLite's own are not safe.
//! - `reader`: connections beside it. A replay costs a few microseconds and never waits for the writer.
//! - `rows`, `grants`: records, audit rows and grants, to and from the tables.
//! - `schema`: tables and versions. `unsigned`: unsigned integers.
//! - `connect`, `file`: how a file is opened, and its permissions. `opened`: whether it is still the same file.

mod checkpoint;
mod connect;
mod error;
mod file;
mod grants;
mod opened;
mod queue;
mod reader;
mod rows;
mod schema;
mod tables;
mod unsigned;
mod writer;

use std::path::PathBuf;
use std::sync::Arc;
use std::thread::JoinHandle;

use tokio::sync::oneshot;

use self::checkpoint::Checkpoints;
use self::opened::OpenedFiles;
use self::queue::Queue;
use self::reader::Readers;
use self::writer::{Apply, SqliteCommand, SqliteReport, SqliteWork, SqliteWriter};
use crate::audit::{AuditContext, AuditRow, CallNote, Filter, Page, PageOf, RecordEntry};
use crate::event::{Event, EventReply};
use crate::grant::{Grant, NewGrant};
use crate::id::{DigestPrefix, Fingerprint, GrantId, Moment, RecordId, Scope};
use crate::machine;
use crate::rules::LedgerLimits;
use crate::store::{Options, RecordVersion, Store, StoreError, StoreFuture, SweepReport};
use crate::turns::PendingApprovals;
use crate::watchers::Watchers;

pub use self::file::default_path;

/// A store in a SQLite file.
pub struct SqliteStore {
    path: PathBuf,
    opened: Arc<OpenedFiles>,
    readers: Arc<Readers>,
    watchers: Arc<Watchers>,
    /// Closed first when the store is dropped. The writer then finishes its commands and ends.
    queue: Arc<Queue>,
    writer: Option<JoinHandle<()>>,
}

impl SqliteStore {
    /// Opens the file, or creates it so that only its owner can read it.
    ///
    /// # Errors
    /// Returns an error if the file cannot be created or opened, is not a ledger, or was written by a newer program.
    pub fn open(path: impl Into<PathBuf>, options: Options) -> Result<Self, StoreError> {
        let path = path.into();
        let Options { rules, clock, max_bytes } = options;
        let db = connect::connect_writer(&path, max_bytes)?;
        let checkpoints = Checkpoints::where_needed(&path)?;
        let opened = Arc::new(OpenedFiles::of(&path));
        let readers = Readers::new(path.clone(), Arc::clone(&opened), rules.clone(), clock.clone());
        let readers = Arc::new(readers);
        let watchers = {
            let readers = Arc::clone(&readers);
            Arc::new(Watchers::new(move |digest, seen| match readers.find(digest) {
                Ok(Some((record, now))) => seen.is_current(Some(record), now, &readers.rules),
                Ok(None) => false,
                // The state is not known, so the caller keeps waiting.
                Err(_) => true,
            }))
        };
        let queue: Arc<Queue> = Arc::default();
        let theirs = Arc::clone(&queue);
        let writer = SqliteWriter {
            db,
            checkpoints,
            opened: Arc::clone(&opened),
            rules,
            clock,
            watchers: Arc::clone(&watchers),
        };
        let writer = std::thread::Builder::new()
            .name("ledger-write".into())
            .spawn(move || {
                // However the thread ends, no caller waits for it in vain.
                let _ending = QueueCloser(&theirs);
                writer.run(&theirs);
            })
            .map_err(|error| StoreError::Unavailable(error.to_string()))?;
        Ok(Self { path, opened, readers, watchers, queue, writer: Some(writer) })
    }

    fn send(&self, work: SqliteWork) -> StoreFuture<'_, SqliteReport> {
        let (reply, answer) = oneshot::channel();
        self.queue.push(SqliteCommand { work, reply });
        Box::pin(async move {
            // A command that the writer does not take is dropped, and its reply with it.
            answer.await.map_err(|_| StoreError::Unavailable("its writer has ended".into()))?
        })
    }

    /// Runs a long read on its own thread, because the caller's thread may have other callers to serve.
    fn beside<T: Send + 'static>(
        &self,
        read: impl FnOnce(&Readers) -> Result<T, StoreError> + Send + 'static,
    ) -> StoreFuture<'_, T> {
        let readers = Arc::clone(&self.readers);
        Box::pin(async move {
            let (reply, answer) = oneshot::channel();
            std::thread::Builder::new()
                .name("ledger-read".into())
                .spawn(move || drop(reply.send(read(&readers))))
                .map_err(|error| StoreError::Unavailable(error.to_string()))?;
            answer.await.map_err(|_| StoreError::Unavailable("its reader has ended".into()))?
        })
    }
}

impl Store for SqliteStore {
    fn apply(
        &self,
        id: &RecordId,
        event: Event,
        circumstances: AuditContext,
    ) -> StoreFuture<'_, EventReply> {
        let report = self.send(SqliteWork::Apply(Box::new(Apply {
            digest: id.digest(),
            id: id.clone(),
            event,
            circumstances,
        })));
        Box::pin(async move {
            match report.await? {
                SqliteReport::Answer(answer) => Ok(answer),
                SqliteReport::Noted | SqliteReport::Swept(_) | SqliteReport::Grant(_) => {
                    Err(mixed_up())
                }
            }
        })
    }

    fn recall(
        &self,
        id: &RecordId,
        fingerprint: Fingerprint,
        idempotent: bool,
    ) -> StoreFuture<'_, Option<EventReply>> {
        let found = self.readers.find(&id.digest()).map(|found| {
            let (record, now) =
                found.map_or((None, Moment(0)), |(record, now)| (Some(record), now));
            machine::recall(record.as_ref(), fingerprint, idempotent, now, &self.readers.rules)
        });
        Box::pin(std::future::ready(found))
    }

    fn note(&self, note: CallNote) -> StoreFuture<'_, ()> {
        self.notes(vec![note])
    }

    fn notes(&self, notes: Vec<CallNote>) -> StoreFuture<'_, ()> {
        // Built here and not in the writer, because one writer serves all callers.
        let row = |note| AuditRow::of_note(note, Moment(0));
        let report = self.send(SqliteWork::Notes(notes.into_iter().map(row).collect()));
        Box::pin(async move { report.await.map(drop) })
    }

    fn watch(&self, id: &RecordId, seen: RecordVersion) -> StoreFuture<'_, ()> {
        let digest = id.digest();
        Box::pin(self.watchers.until(digest, seen, move || {
            std::future::ready(self.readers.find(&digest).map(|found| {
                found.is_some_and(|(record, now)| {
                    seen.is_current(Some(record), now, &self.readers.rules)
                })
            }))
        }))
    }

    fn sweep(&self, most: usize) -> StoreFuture<'_, SweepReport> {
        let report = self.send(SqliteWork::Sweep { most });
        Box::pin(async move {
            match report.await? {
                SqliteReport::Swept(swept) => Ok(swept),
                SqliteReport::Noted | SqliteReport::Answer(_) | SqliteReport::Grant(_) => {
                    Err(mixed_up())
                }
            }
        })
    }

    fn find(&self, id: &RecordId) -> StoreFuture<'_, Option<RecordEntry>> {
        let found = self.readers.find(&id.digest()).map(|found| {
            found
                .map(|(stored, now)| RecordEntry::new(id.clone(), stored, now, &self.readers.rules))
        });
        Box::pin(std::future::ready(found))
    }

    fn records(&self, filter: Filter, page: Page) -> StoreFuture<'_, PageOf<RecordEntry>> {
        self.beside(move |readers| readers.records(&filter, page))
    }

    fn waiting(&self, filter: Filter, page: Page) -> StoreFuture<'_, PageOf<RecordEntry>> {
        self.beside(move |readers| readers.waiting(&filter, page))
    }

    fn pending_approvals(&self, most: usize) -> StoreFuture<'_, PendingApprovals> {
        self.beside(move |readers| readers.turns(most))
    }

    fn grant(&self, granting: NewGrant) -> StoreFuture<'_, Grant> {
        let report = GrantId::random().map(|id| self.send(SqliteWork::Grant { id, granting }));
        Box::pin(async move {
            match report?.await? {
                SqliteReport::Grant(Some(grant)) => Ok(grant),
                _ => Err(mixed_up()),
            }
        })
    }

    fn revoke(&self, id: GrantId, by: String) -> StoreFuture<'_, Option<Grant>> {
        let report = self.send(SqliteWork::Revoke { id, by });
        Box::pin(async move {
            match report.await? {
                SqliteReport::Grant(grant) => Ok(grant),
                _ => Err(mixed_up()),
            }
        })
    }

    fn grants(&self, filter: Filter, page: Page) -> StoreFuture<'_, PageOf<Grant>> {
        self.beside(move |readers| readers.grants(&filter, page))
    }

    fn grants_in_force(&self, scope: &Scope) -> StoreFuture<'_, Vec<Grant>> {
        Box::pin(std::future::ready(self.readers.grants_in_force(scope)))
    }

    fn rows(&self, filter: Filter, page: Page) -> StoreFuture<'_, PageOf<AuditRow>> {
        self.beside(move |readers| readers.rows(&filter, page))
    }

    fn transitions(&self, id: &RecordId) -> StoreFuture<'_, Vec<AuditRow>> {
        let id = id.clone();
        self.beside(move |readers| readers.story(&id))
    }

    fn rules(&self) -> &LedgerLimits {
        &self.readers.rules
    }

    fn find_by_prefix(
        &self,
        prefix: DigestPrefix,
        most: usize,
    ) -> StoreFuture<'_, Vec<RecordEntry>> {
        self.beside(move |readers| readers.beginning(&prefix, most))
    }

    fn check(&self) -> Result<(), StoreError> {
        self.opened.check()
    }

    fn describe(&self) -> String {
        format!("SQLite file {}", self.path.display())
    }
}

struct QueueCloser<'a>(&'a Queue);

impl Drop for QueueCloser<'_> {
    fn drop(&mut self) {
        self.0.end();
    }
}

fn mixed_up() -> StoreError {
    StoreError::Unavailable("its writer mixed up two answers".into())
}

impl Drop for SqliteStore {
    fn drop(&mut self) {
        self.queue.close();
        if let Some(writer) = self.writer.take() {
            let _ = writer.join();
        }
    }
}
