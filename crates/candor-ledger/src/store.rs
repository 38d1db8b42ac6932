//! The seam between the state machine and the stores.
//!
//! A store reads a record, calls the state machine, and writes record and audit rows in *one transaction*, with its own
//! clock's time. It replies only when that is durable.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use crate::audit::{AuditContext, AuditRow, CallNote, Filter, Order, Page, PageOf, RecordEntry};
use crate::event::{Event, EventReply};
use crate::grant::{Grant, NewGrant};
use crate::id::{DigestPrefix, Fence, Fingerprint, GrantId, Moment, RecordId, Scope};
use crate::machine;
use crate::record::{Record, StateKind};
use crate::rules::{LedgerLimits, Quota};
use crate::turns::{ApprovalSelection, PendingApprovals};

/// The return type of a [`Store`]'s methods.
pub type StoreFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, StoreError>> + Send + 'a>>;

/// A store of records, grants and audit rows.
pub trait Store: Send + Sync {
    /// Applies `event` to a record. When the reply arrives, the change and its audit rows are durable. The event is under way
    /// when this function returns: a caller that drops the future gives up the reply, not the event.
    fn apply(
        &self,
        id: &RecordId,
        event: Event,
        circumstances: AuditContext,
    ) -> StoreFuture<'_, EventReply>;

    /// Returns what [`Event::Claim`] or [`Event::Start`] would receive, and writes nothing. `None` means that the claim would
    /// be granted, unless another one is quicker.
    ///
    /// This function does not know whether the call needs an approval. After `None`, the call may still have to ask for one.
    /// After [`EventReply::Waiting`], a call that no longer needs an approval may start.
    fn recall(
        &self,
        id: &RecordId,
        fingerprint: Fingerprint,
        idempotent: bool,
    ) -> StoreFuture<'_, Option<EventReply>>;

    /// Writes an audit row for a call that has no record.
    fn note(&self, note: CallNote) -> StoreFuture<'_, ()>;

    /// Writes audit rows for calls that have no record, in as few transactions as the store can.
    fn notes(&self, notes: Vec<CallNote>) -> StoreFuture<'_, ()> {
        let all: Vec<_> = notes.into_iter().map(|note| self.note(note)).collect();
        Box::pin(async move {
            let mut written = Ok(());
            for note in all {
                written = written.and(note.await);
            }
            written
        })
    }

    /// Waits until the record is no longer in the version that was seen. The change may come from this process, from another,
    /// or from time alone. A change by this process ends the wait at once, any other within [`POLL`]. There is no timeout:
    /// the caller sets one.
    ///
    /// [`POLL`]: crate::POLL
    fn watch(&self, id: &RecordId, seen: RecordVersion) -> StoreFuture<'_, ()>;

    /// Applies what time alone changes, to at most `most` records, and deletes audit rows and grants that are too old.
    fn sweep(&self, most: usize) -> StoreFuture<'_, SweepReport>;

    /// Finds one record.
    fn find(&self, id: &RecordId) -> StoreFuture<'_, Option<RecordEntry>>;

    /// Lists records, in the order in which they were first seen.
    fn records(&self, filter: Filter, page: Page) -> StoreFuture<'_, PageOf<RecordEntry>>;

    /// Lists records with a pending approval request, in the order of the requests. Reads no other records. Ignores
    /// [`Filter::state`].
    fn waiting(&self, filter: Filter, page: Page) -> StoreFuture<'_, PageOf<RecordEntry>>;

    /// Returns at most `most` pending approval requests, without their content, and the number of all. Principals take turns:
    /// the oldest request of each, then the second of each, and so on. So the requests of one principal do not hide those of
    /// another.
    ///
    /// The default implementation reads all requests, a page at a time.
    fn pending_approvals(&self, most: usize) -> StoreFuture<'_, PendingApprovals> {
        Box::pin(async move {
            let mut choice = ApprovalSelection::of(most);
            let mut page = Some(Page { from: None, most: 50, order: Order::Oldest });
            while let Some(this) = page {
                let paged = self.waiting(Filter::default(), this).await?;
                paged.items.into_iter().for_each(|entry| choice.look_at(entry));
                page = paged.next.map(|next| Page { from: Some(next), ..this });
            }
            Ok(choice.made())
        })
    }

    /// Gives a grant and writes an audit row.
    fn grant(&self, granting: NewGrant) -> StoreFuture<'_, Grant>;

    /// Revokes a grant, writes an audit row, and returns the grant. A grant that has already ended stays as it is, without a
    /// row. Returns `None` if there is no such grant.
    fn revoke(&self, id: GrantId, by: String) -> StoreFuture<'_, Option<Grant>>;

    /// Lists all stored grants, in force or not, in the order in which they were given. Grants are stored as long as audit
    /// rows. Ignores [`Filter::state`] and [`Filter::key`]. The times of the filter are those at which grants were given.
    fn grants(&self, filter: Filter, page: Page) -> StoreFuture<'_, PageOf<Grant>>;

    /// Returns the grants in force for exactly this scope, newest first.
    ///
    /// They are always read from the store, never from a copy. Once a revocation is answered, no later read returns the
    /// grant, in any process. A call that read the grant before keeps running. A read costs as much as [`Store::find`]:
    /// microseconds in a file, one round trip to the server in PostgreSQL.
    fn grants_in_force(&self, scope: &Scope) -> StoreFuture<'_, Vec<Grant>>;

    /// Lists audit rows.
    fn rows(&self, filter: Filter, page: Page) -> StoreFuture<'_, PageOf<AuditRow>>;

    /// Returns all state changes of one record, oldest first. Notes of calls under its key are not included.
    fn transitions(&self, id: &RecordId) -> StoreFuture<'_, Vec<AuditRow>>;

    /// Returns the limits of the ledger.
    fn rules(&self) -> &LedgerLimits;

    /// Finds at most `most` records whose digest has this prefix, in no order. The default implementation reads all records.
    fn find_by_prefix(
        &self,
        prefix: DigestPrefix,
        most: usize,
    ) -> StoreFuture<'_, Vec<RecordEntry>> {
        Box::pin(async move {
            let mut found = Vec::new();
            let mut page = Some(Page::default());
            while let Some(this) = page.filter(|_| found.len() < most) {
                let paged = self.records(Filter::default(), this).await?;
                found.extend(
                    paged.items.into_iter().filter(|entry| prefix.begins(&entry.id.digest())),
                );
                page = paged.next.map(|next| Page { from: Some(next), ..this });
            }
            found.truncate(most);
            Ok(found)
        })
    }

    /// Checks whether the ledger can be written, as far as this process knows without asking a database. It is cheap, because
    /// an MCP server's readiness depends on it.
    ///
    /// # Errors
    /// Returns the reason if it is known that nothing can be written.
    fn check(&self) -> Result<(), StoreError> {
        Ok(())
    }

    /// Describes the store and its location, for users.
    fn describe(&self) -> String;
}

/// The version of a record that a caller saw; see [`EventReply::InFlight`] and [`EventReply::Waiting`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordVersion {
    /// The fence.
    pub fence: Fence,
    /// The state.
    pub state: StateKind,
}

impl RecordVersion {
    /// Returns true if a stored record is now in this version.
    #[must_use]
    pub fn is_current(self, record: Option<Record>, now: Moment, limits: &LedgerLimits) -> bool {
        record
            .and_then(|record| machine::seen(record, now, limits))
            .is_some_and(|record| (record.fence, record.state.kind()) == (self.fence, self.state))
    }
}

/// The result of a sweep.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SweepReport {
    /// The number of records that time changed.
    pub records: usize,
    /// The number of audit rows that were deleted.
    pub rows: usize,
}

/// A reader of audit rows, one by one, oldest first, however many there are.
///
/// ```no_run
/// # async fn example(store: &dyn candor_ledger::Store) -> Result<(), candor_ledger::StoreError> {
/// let mut export = candor_ledger::Export::of(store, candor_ledger::Filter::default());
/// while let Some(row) = export.next().await? {
///     eprintln!("{} {} {}", row.at.0, row.scope.tool, row.event);
/// }
/// # Ok(()) }
/// ```
pub struct Export<'a> {
    store: &'a dyn Store,
    filter: Filter,
    ready: std::vec::IntoIter<AuditRow>,
    /// Where the next page begins. `None` after the last page.
    from: Option<Page>,
    /// The last row when the export began. The export ends there: otherwise a fast writer could keep it running forever.
    last: Option<u64>,
}

impl<'a> Export<'a> {
    /// Exports the rows that match the filter.
    #[must_use]
    pub fn of(store: &'a dyn Store, filter: Filter) -> Self {
        let first = Page { from: None, most: 500, order: Order::Oldest };
        Self { store, filter, ready: Vec::new().into_iter(), from: Some(first), last: None }
    }

    /// Returns the next row.
    ///
    /// # Errors
    /// Returns an error if the store cannot be read.
    pub async fn next(&mut self) -> Result<Option<AuditRow>, StoreError> {
        let last = match self.last {
            Some(last) => last,
            None => {
                let latest = Page { from: None, most: 1, order: Order::Newest };
                let latest = self.store.rows(self.filter.clone(), latest).await?.items.pop();
                *self.last.insert(latest.map_or(0, |row| row.seq))
            }
        };
        loop {
            if let Some(row) = self.ready.next() {
                return Ok(Some(row).filter(|row| row.seq <= last));
            }
            let Some(page) = self.from else { return Ok(None) };
            let paged = self.store.rows(self.filter.clone(), page).await?;
            self.ready = paged.items.into_iter();
            self.from = paged.next.map(|next| Page { from: Some(next), ..page });
        }
    }
}

/// The source of the time.
#[derive(Clone, Default)]
pub enum Clock {
    /// The store's clock.
    #[default]
    Store,
    /// A function that returns milliseconds since 1970, for tests.
    Given(Arc<dyn Fn() -> i64 + Send + Sync>),
}

impl Clock {
    /// Returns the time of [`Clock::Given`]. `None` means that the store reads its own clock.
    #[must_use]
    pub fn given(&self) -> Option<Moment> {
        match self {
            Self::Store => None,
            Self::Given(clock) => Some(Moment(clock())),
        }
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Store => "Store",
            Self::Given(_) => "Given",
        })
    }
}

/// Options for opening a store.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// The limits of the ledger.
    pub rules: LedgerLimits,
    /// The source of the time.
    pub clock: Clock,
    /// The maximum size of a store in a file, in bytes. No limit by default. Beyond it, new calls are refused.
    pub max_bytes: Option<u64>,
}

/// Why a store did not do what it was asked. Nothing was written, unless the variant says otherwise.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum StoreError {
    /// The store cannot be reached, read or written now. A write that was under way may have happened.
    Unavailable(String),
    /// The ledger file was deleted or replaced while it was open. Nothing more is written to it.
    Replaced(String),
    /// The store is full.
    Full(String),
    /// A later version of this program wrote the ledger.
    NewerSchema {
        /// The schema version of the ledger.
        found: u32,
        /// The latest schema version that this program knows.
        known: u32,
    },
    /// The principal has reached a limit.
    Quota(Quota),
    /// The data is not a ledger, or is damaged.
    Corrupt(String),
    /// There is no ledger yet, and the caller did not ask to create one.
    Absent,
    /// The URL names no known store.
    UnknownUrl(String),
    /// The URL of a known store is invalid.
    BadUrl(String),
    /// This program was built without that store.
    NotBuiltIn {
        /// The missing store.
        what: &'static str,
        /// The Cargo feature that adds it: of `candor`, or of `candor-ledger`.
        feature: &'static str,
    },
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unavailable(why) => write!(f, "the ledger cannot be used just now: {why}"),
            Self::Replaced(path) => write!(
                f,
                "the ledger file {path} was deleted or replaced while this process had it open: put it back, or restart this process"
            ),
            Self::Full(why) => write!(f, "the ledger has no room for more: {why}"),
            Self::NewerSchema { found, known } => write!(
                f,
                "the ledger has schema {found} and this program knows schemas up to {known}: use the newer program that wrote \
                 it, or another ledger; nothing was changed"
            ),
            Self::Quota(quota) => write!(f, "a limit is reached: {quota}"),
            Self::Corrupt(why) => write!(f, "the ledger is damaged or is no ledger: {why}"),
            Self::Absent => f.write_str("there is no ledger here"),
            Self::UnknownUrl(url) => write!(
                f,
                "there is no ledger `{url}`: use `sqlite:PATH`, `postgres://HOST/DATABASE`, or `memory:` to keep nothing"
            ),
            Self::BadUrl(why) => write!(f, "the URL of the ledger cannot be used: {why}"),
            Self::NotBuiltIn { what, feature } => write!(
                f,
                "this program was built without {what} for its ledger: build it with the feature `{feature}`"
            ),
        }
    }
}

impl std::error::Error for StoreError {}

impl From<Quota> for StoreError {
    fn from(quota: Quota) -> Self {
        Self::Quota(quota)
    }
}
