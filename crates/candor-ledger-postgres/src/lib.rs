//! The ledger of calls in a PostgreSQL database, which replicas on several machines may share.
//!
//! [`PostgresStore`] is a [`Store`]: the server, the console and the command line use it like any other. The crate uses only the
//! public parts of `candor-ledger`, and keeps the same laws as its stores.
//!
//! ```no_run
//! use std::sync::Arc;
//! use candor_ledger::{Options, Store};
//! use candor_ledger_postgres::PostgresStore;
//!
//! # fn main() -> Result<(), candor_ledger::StoreError> {
//! let store = PostgresStore::open("postgres://shop@db/shop", Options::default())?;
//! let ledger: Arc<dyn Store> = Arc::new(store);
//! # Ok(()) }
//! ```
//!
//! With `candor` and its feature `postgres`, `candor::store::open` opens such a URL.

// The modules:
//
// - `transaction`: several events in one transaction, under locks.
// - `usage`: what a principal uses, counted by several replicas at once.
// - `writer`: one task per process, which puts all waiting commands into one transaction. `sweep`: what time alone changes.
// - `reader`: single records, lists, transitions. `grants`: the table of grants.
// - `schema`: tables and versions, and the numbers of rows.
// - `line`: a connection that reconnects. `address`, `tls`: the server, and encryption.
//
// All of it runs on its own thread and runtime. So `PostgresStore::open` is a plain function, and the store works with
// any runtime. An event that was sent stays under way, whatever happens to the runtime of its caller.

mod address;
mod error;
mod grants;
mod line;
mod reader;
mod rows;
mod schema;
mod sweep;
mod tls;
mod transaction;
mod usage;
mod writer;

use std::future::Future;
use std::sync::Arc;
use std::thread::JoinHandle;

use candor_ledger::storage::Watchers;
use candor_ledger::{
    AuditContext, AuditRow, CallNote, DigestPrefix, Event, EventReply, Filter, Fingerprint, Grant,
    GrantId, LedgerLimits, Moment, NewGrant, Options, Owner, Page, PageOf, PendingApprovals,
    Record, RecordDigest, RecordEntry, RecordId, RecordVersion, Scope, Store, StoreError,
    StoreFuture, SweepReport, machine,
};
use tokio::runtime::Handle;
use tokio::sync::{Mutex, mpsc, oneshot};

use self::address::Address;
use self::line::PgConnection;
use self::reader::Reader;
use self::sweep::Sweeper;
use self::transaction::{GrantChange, Names, PgReport, PgWork, StoreContext};
use self::writer::{PgCommand, PgWriter};

/// A store in a PostgreSQL database.
///
/// It uses up to four connections: for events, single records, lists, and sweeps. It opens each one when it is first needed,
/// and again if it is lost. It needs PostgreSQL 13 or later. A pooler in between must keep sessions.
///
/// The URL accepts these options beyond those of libpq:
/// - `schema=NAME`: the schema of the tables, `candor_ledger` by default. The store creates it if the user may do so. It may
///   also exist already and be empty.
/// - `sslmode=disable|prefer|require|verify-full`: `prefer` and `require` encrypt without verifying, as in libpq.
///   `verify-full` verifies the certificate and the name, against the system's roots or those in `sslrootcert=FILE`.
///
/// If the server cannot be reached, every call fails with [`StoreError::Unavailable`] within about twenty seconds, mostly at
/// once. The promise of the ledger holds as far as the database keeps what it has committed. It does not hold after a
/// failover to a standby that was behind.
pub struct PostgresStore {
    shown: String,
    reader: Arc<Reader>,
    sweeper: Arc<Sweeper>,
    watchers: Arc<Watchers>,
    judge: Arc<StoreContext>,
    runtime: Handle,
    /// Closed first when the store is dropped. The writer then finishes its commands and ends, and its thread with it.
    commands: Option<mpsc::UnboundedSender<PgCommand>>,
    thread: Option<JoinHandle<()>>,
}

impl PostgresStore {
    /// Connects, and creates the tables if they are missing. Blocks for a few seconds at most.
    ///
    /// # Errors
    /// Returns an error if the URL is invalid, or the server cannot be reached or rejects the user. Also fails if the schema
    /// holds tables of another program, or a ledger that a newer program wrote.
    pub fn open(url: &str, options: Options) -> Result<Self, StoreError> {
        Self::start(url, options, true)
    }

    /// Connects, and does not create missing tables.
    ///
    /// # Errors
    /// Returns [`StoreError::Absent`] if there is no ledger. Otherwise as [`PostgresStore::open`].
    pub fn open_existing(url: &str, options: Options) -> Result<Self, StoreError> {
        Self::start(url, options, false)
    }

    fn start(url: &str, options: Options, makes: bool) -> Result<Self, StoreError> {
        let address = Arc::new(Address::parse(url)?);
        let Options { rules, clock, max_bytes: _ } = options;
        let names = Names::of_schema(&address.schema);
        let migration = names.migration();
        let slot = i64::from(Owner::random()?.0[0] % usage::SLOTS);
        let judge = Arc::new(StoreContext { rules, clock, names, slot });
        let quick = || PgConnection::quick(Arc::clone(&address));
        let writes = quick();

        let unavailable = |error: std::io::Error| StoreError::Unavailable(error.to_string());
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(unavailable)?;
        let handle = runtime.handle().clone();
        let reader = Arc::new(Reader {
            records: quick(),
            lists: PgConnection::slow(Arc::clone(&address)),
            judge: Arc::clone(&judge),
        });
        let sweeper =
            Arc::new(Sweeper { line: quick(), turn: Mutex::default(), judge: Arc::clone(&judge) });
        let watchers = Arc::new(look_through(handle.clone(), Arc::clone(&reader)));

        let (commands, waiting) = mpsc::unbounded_channel();
        let (ready, opened) = std::sync::mpsc::channel();
        let writer =
            PgWriter { line: writes, judge: Arc::clone(&judge), watchers: Arc::clone(&watchers) };
        let schema = address.schema.clone();
        let thread = std::thread::Builder::new()
            .name("ledger-postgres".into())
            .spawn(move || {
                runtime.block_on(async move {
                    let prepared = async {
                        let session = writer.line.session().await?;
                        let client = &session.client;
                        if !makes && !session.in_time(schema::exists(client, &schema)).await?? {
                            return Err(StoreError::Absent);
                        }
                        session.in_time(schema::migrate(client, &schema, migration)).await??;
                        // So that the first call does not wait for it.
                        let prepared = session.in_time(transaction::prepare(&session)).await?;
                        prepared.map_err(|error| error::explain(&error))
                    };
                    let prepared = prepared.await;
                    let is_ready = prepared.is_ok();
                    let _ = ready.send(prepared);
                    if is_ready {
                        writer.run(waiting).await;
                    }
                });
            })
            .map_err(unavailable)?;
        let gone = || Err(StoreError::Unavailable("its thread has ended".into()));
        let store = Self {
            shown: address.shown.clone(),
            reader,
            sweeper,
            watchers,
            judge,
            runtime: handle,
            commands: Some(commands),
            thread: Some(thread),
        };
        // From here on, dropping the store ends all that was started.
        opened.recv().unwrap_or_else(|_| gone())?;
        Ok(store)
    }

    fn send(&self, work: PgWork) -> StoreFuture<'_, PgReport> {
        let (reply, answer) = oneshot::channel();
        if let Some(commands) = &self.commands {
            // If the writer has ended, the reply is dropped with the command.
            let _ = commands.send(PgCommand { work, reply });
        }
        Box::pin(async move {
            answer.await.map_err(|_| StoreError::Unavailable("its writer has ended".into()))?
        })
    }

    /// Runs work on the store's own runtime, where its connections live.
    fn beside<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T, StoreError>> + Send + 'static,
    ) -> StoreFuture<'_, T> {
        let task = self.runtime.spawn(work);
        Box::pin(async move {
            task.await.map_err(|_| StoreError::Unavailable("its thread has ended".into()))?
        })
    }

    fn found(&self, digest: RecordDigest) -> StoreFuture<'_, Option<(Record, Moment)>> {
        let reader = Arc::clone(&self.reader);
        self.beside(async move { reader.find(&digest).await })
    }
}

/// Reads all watched records in one statement, every [`POLL`](candor_ledger::POLL). `NOTIFY` would be quicker, but it makes every
/// commit on the server wait for every other.
fn look_through(runtime: Handle, reader: Arc<Reader>) -> Watchers {
    Watchers::asking(move |watched| {
        let digests: Vec<RecordDigest> = watched.iter().map(|(digest, _)| *digest).collect();
        let (reply, answer) = oneshot::channel();
        let looking = Arc::clone(&reader);
        runtime.spawn(async move { reply.send(looking.find_all(&digests).await) });
        // Their state is not known, so their callers keep waiting.
        let Ok(Ok(found)) = answer.blocking_recv() else { return Vec::new() };
        let still = |digest: &RecordDigest, seen: RecordVersion| {
            found.iter().find(|(found, ..)| found == digest).is_some_and(|(_, record, now)| {
                seen.is_current(Some(record.clone()), *now, &reader.judge.rules)
            })
        };
        watched.into_iter().filter(|(digest, seen)| !still(digest, *seen)).collect()
    })
}

/// Checks a name for NUL, which PostgreSQL's texts cannot hold. A name must not be changed, so it is refused.
fn writable(scope: &Scope) -> Result<(), StoreError> {
    let Scope { principal, server, instance, tool } = scope;
    if [principal, server, instance, tool].iter().any(|text| text.contains('\0')) {
        return Err(StoreError::Unavailable(
            "a principal, server, instance or tool whose name has a NUL cannot be kept in PostgreSQL".into(),
        ));
    }
    Ok(())
}

/// Checks a pattern for NUL. A changed pattern would permit other calls, so it is refused.
fn exact(pattern: &str) -> Result<(), StoreError> {
    if pattern.contains('\0') {
        return Err(StoreError::Unavailable(
            "a pattern with a NUL cannot be kept in PostgreSQL".into(),
        ));
    }
    Ok(())
}

fn mixed_up() -> StoreError {
    StoreError::Unavailable("its writer mixed up two answers".into())
}

impl Store for PostgresStore {
    fn apply(
        &self,
        id: &RecordId,
        event: Event,
        circumstances: AuditContext,
    ) -> StoreFuture<'_, EventReply> {
        if let Err(error) = writable(&id.scope) {
            return Box::pin(std::future::ready(Err(error)));
        }
        let (id, digest) = (id.clone(), id.digest());
        let report = self.send(PgWork::Apply { id, digest, event, circumstances });
        Box::pin(async move {
            match report.await? {
                PgReport::Answer(answer) => Ok(answer),
                PgReport::Noted | PgReport::Grant(_) => Err(mixed_up()),
            }
        })
    }

    fn recall(
        &self,
        id: &RecordId,
        fingerprint: Fingerprint,
        idempotent: bool,
    ) -> StoreFuture<'_, Option<EventReply>> {
        let found = self.found(id.digest());
        Box::pin(async move {
            let (record, now) =
                found.await?.map_or((None, Moment(0)), |(record, now)| (Some(record), now));
            Ok(machine::recall(record.as_ref(), fingerprint, idempotent, now, &self.judge.rules))
        })
    }

    fn note(&self, note: CallNote) -> StoreFuture<'_, ()> {
        if let Err(error) = writable(&note.scope) {
            return Box::pin(std::future::ready(Err(error)));
        }
        let report = self.send(PgWork::Note(note));
        Box::pin(async move { report.await.map(drop) })
    }

    fn watch(&self, id: &RecordId, seen: RecordVersion) -> StoreFuture<'_, ()> {
        let digest = id.digest();
        Box::pin(self.watchers.until(digest, seen, move || async move {
            Ok(self
                .found(digest)
                .await?
                .is_some_and(|(record, now)| seen.is_current(Some(record), now, &self.judge.rules)))
        }))
    }

    fn sweep(&self, most: usize) -> StoreFuture<'_, SweepReport> {
        let (sweeper, watchers) = (Arc::clone(&self.sweeper), Arc::clone(&self.watchers));
        self.beside(async move { sweeper.sweep(most, &watchers).await })
    }

    fn find(&self, id: &RecordId) -> StoreFuture<'_, Option<RecordEntry>> {
        let (id, found) = (id.clone(), self.found(id.digest()));
        Box::pin(async move {
            Ok(found
                .await?
                .map(|(stored, now)| RecordEntry::new(id, stored, now, &self.judge.rules)))
        })
    }

    fn records(&self, filter: Filter, page: Page) -> StoreFuture<'_, PageOf<RecordEntry>> {
        let reader = Arc::clone(&self.reader);
        self.beside(async move { reader.records(filter, page).await })
    }

    fn waiting(&self, filter: Filter, page: Page) -> StoreFuture<'_, PageOf<RecordEntry>> {
        let reader = Arc::clone(&self.reader);
        self.beside(async move { reader.waiting(filter, page).await })
    }

    fn pending_approvals(&self, most: usize) -> StoreFuture<'_, PendingApprovals> {
        let reader = Arc::clone(&self.reader);
        self.beside(async move { reader.turns(most).await })
    }

    fn grant(&self, granting: NewGrant) -> StoreFuture<'_, Grant> {
        if let Err(error) = writable(&granting.scope).and(exact(&granting.pattern)) {
            return Box::pin(std::future::ready(Err(error)));
        }
        let report = GrantId::random()
            .map(|id| self.send(PgWork::Grants(GrantChange::Give { id, granting })));
        Box::pin(async move {
            match report?.await? {
                PgReport::Grant(Some(grant)) => Ok(grant),
                _ => Err(mixed_up()),
            }
        })
    }

    fn revoke(&self, id: GrantId, by: String) -> StoreFuture<'_, Option<Grant>> {
        let report = self.send(PgWork::Grants(GrantChange::Revoke { id, by }));
        Box::pin(async move {
            match report.await? {
                PgReport::Grant(grant) => Ok(grant),
                _ => Err(mixed_up()),
            }
        })
    }

    fn grants(&self, filter: Filter, page: Page) -> StoreFuture<'_, PageOf<Grant>> {
        let reader = Arc::clone(&self.reader);
        self.beside(async move { reader.grants(filter, page).await })
    }

    fn grants_in_force(&self, scope: &Scope) -> StoreFuture<'_, Vec<Grant>> {
        if writable(scope).is_err() {
            // No grant can have such a scope.
            return Box::pin(std::future::ready(Ok(Vec::new())));
        }
        let (reader, scope) = (Arc::clone(&self.reader), scope.clone());
        self.beside(async move { reader.grants_in_force(&scope).await })
    }

    fn rows(&self, filter: Filter, page: Page) -> StoreFuture<'_, PageOf<AuditRow>> {
        let reader = Arc::clone(&self.reader);
        self.beside(async move { reader.rows(filter, page).await })
    }

    fn transitions(&self, id: &RecordId) -> StoreFuture<'_, Vec<AuditRow>> {
        let (reader, digest) = (Arc::clone(&self.reader), id.digest());
        self.beside(async move { reader.story(digest).await })
    }

    fn rules(&self) -> &LedgerLimits {
        &self.judge.rules
    }

    fn find_by_prefix(
        &self,
        prefix: DigestPrefix,
        most: usize,
    ) -> StoreFuture<'_, Vec<RecordEntry>> {
        let reader = Arc::clone(&self.reader);
        self.beside(async move { reader.beginning(&prefix, most).await })
    }

    fn describe(&self) -> String {
        self.shown.clone()
    }
}

impl Drop for PostgresStore {
    fn drop(&mut self) {
        self.commands = None;
        // The runtime and all its tasks end with the thread. The watchers end after it, because their thread may wait for
        // such a task.
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
