//! The seam between the machine and what keeps its records.
//!
//! A store reads a record, lets the machine step, and writes record and rows in *one transaction*, with the time of its own
//! clock. It answers when that is durable, not before.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use crate::audit::{AuditContext, AuditRow, CallNote, Filter, Order, Page, PageOf, RecordEntry};
use crate::event::{Event, EventReply};
use crate::grant::{Grant, NewGrant};
use crate::id::{DigestPrefix, Fence, Fingerprint, GrantId, Moment, RecordId, Scope};
use crate::record::StateKind;
use crate::rules::{LedgerLimits, Quota};
use crate::turns::{ApprovalSelection, PendingApprovals};

/// What the methods of a [`Store`] return.
pub type StoreFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, StoreError>> + Send + 'a>>;

/// What keeps the records.
pub trait Store: Send + Sync {
    /// Lets `event` happen to a record. What is answered is durable, and so are its rows in the audit. It is under way when this
    /// returns: who drops the future gives up the answer, not the event.
    fn apply(
        &self,
        id: &RecordId,
        event: Event,
        circumstances: AuditContext,
    ) -> StoreFuture<'_, EventReply>;

    /// What [`Event::Claim`] or [`Event::Start`] would be answered, without writing anything. `None`: it would be granted, so
    /// make it; another may be quicker, and then that is what it is answered. Whether it needs an approval is not known here: with `None` it
    /// may still have to ask for one, and [`EventReply::Waiting`] need not stop a call that needs none any more.
    fn recall(
        &self,
        id: &RecordId,
        fingerprint: Fingerprint,
        by_nature: bool,
    ) -> StoreFuture<'_, Option<EventReply>>;

    /// Writes a row for a call that has no record.
    fn note(&self, note: CallNote) -> StoreFuture<'_, ()>;

    /// Writes several rows for calls that have no record, in as few transactions as the store can.
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

    /// Ends when the record no longer stands where it was seen, be it by this process, by another, or by time. Within a
    /// process at once; otherwise within [`POLL`]. Has no end of its own: who waits knows for how long.
    ///
    /// [`POLL`]: crate::POLL
    fn watch(&self, id: &RecordId, seen: RecordVersion) -> StoreFuture<'_, ()>;

    /// Lets time do its work on at most so many records, and forgets rows of the audit that are too old.
    fn sweep(&self, most: usize) -> StoreFuture<'_, SweepReport>;

    /// One record.
    fn find(&self, id: &RecordId) -> StoreFuture<'_, Option<RecordEntry>>;

    /// Records, by when they were first seen.
    fn records(&self, filter: Filter, page: Page) -> StoreFuture<'_, PageOf<RecordEntry>>;

    /// Records that wait for a person, by when that was asked. Finds them without looking at others. [`Filter::state`] says nothing here.
    fn waiting(&self, filter: Filter, page: Page) -> StoreFuture<'_, PageOf<RecordEntry>>;

    /// Which records wait for a person, at most so many, and how many there are; without what is asked. They are chosen by turns: the
    /// oldest of every principal, then everybody's second, so that nobody's questions hide those of others. Goes through all questions, a
    /// page at a time, unless a store knows better.
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

    /// Gives a grant, with a row in the audit.
    fn grant(&self, granting: NewGrant) -> StoreFuture<'_, Grant>;

    /// Takes a grant back, with a row in the audit, and returns how it then stands. What has ended already stays as it is, without a row.
    /// `None`: there is no such grant.
    fn revoke(&self, id: GrantId, by: String) -> StoreFuture<'_, Option<Grant>>;

    /// All grants that are kept, in force or not, by when they were given. They are kept as long as the audit. [`Filter::state`] and
    /// [`Filter::key`] say nothing here; the times are when they were given.
    fn grants(&self, filter: Filter, page: Page) -> StoreFuture<'_, PageOf<Grant>>;

    /// The grants in force for exactly this scope, the latest first. Always read from the store, never from a copy: when a revocation has been
    /// answered, whoever asks after that does not find the grant, in this process or in another. A call that has asked before goes on. It
    /// costs what [`Store::find`] costs: microseconds in a file, one way to the server and back in PostgreSQL.
    fn grants_in_force(&self, scope: &Scope) -> StoreFuture<'_, Vec<Grant>>;

    /// Rows of the audit.
    fn rows(&self, filter: Filter, page: Page) -> StoreFuture<'_, PageOf<AuditRow>>;

    /// All changes of one record, the earliest first. What was only noted of calls under its key is not among them.
    fn transitions(&self, id: &RecordId) -> StoreFuture<'_, Vec<AuditRow>>;

    /// How long, how large, how many.
    fn rules(&self) -> &LedgerLimits;

    /// Records whose digest begins so, at most so many, in no order. Reads all of them unless a store knows better.
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

    /// Fails if it is known, without asking anybody, that nothing can be written. What a server's readiness depends on; cheap.
    ///
    /// # Errors
    /// Says why.
    fn check(&self) -> Result<(), StoreError> {
        Ok(())
    }

    /// What it is and where, for people.
    fn describe(&self) -> String;
}

/// Where a record was seen to stand; see [`EventReply::InFlight`] and [`EventReply::Waiting`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordVersion {
    /// Under which fence.
    pub fence: Fence,
    /// In which state.
    pub state: StateKind,
}

/// What a sweep has done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SweepReport {
    /// Records that time has changed.
    pub records: usize,
    /// Rows of the audit that were forgotten.
    pub rows: usize,
}

/// Rows of the audit one after the other, the earliest first, however many there are.
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
    /// Where the next part begins; `None` when there is none.
    from: Option<Page>,
    /// The last row that there was when it began: whoever writes faster than we read must not keep us here for ever.
    last: Option<u64>,
}

impl<'a> Export<'a> {
    /// Of the rows that the filter lets through.
    #[must_use]
    pub fn of(store: &'a dyn Store, filter: Filter) -> Self {
        let first = Page { from: None, most: 500, order: Order::Oldest };
        Self { store, filter, ready: Vec::new().into_iter(), from: Some(first), last: None }
    }

    /// The next one.
    ///
    /// # Errors
    /// The store cannot be read.
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

/// Where the time comes from.
#[derive(Clone, Default)]
pub enum Clock {
    /// From the store.
    #[default]
    Store,
    /// From a function, for tests: milliseconds since 1970.
    Given(Arc<dyn Fn() -> i64 + Send + Sync>),
}

impl Clock {
    pub(crate) fn given(&self) -> Option<Moment> {
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

/// How a store is opened.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// How long, how large, how many.
    pub rules: LedgerLimits,
    /// Where the time comes from.
    pub clock: Clock,
    /// The largest size of a store in a file, in bytes; none by default. Beyond it, new calls are refused.
    pub max_bytes: Option<u64>,
}

/// Why a store did not do what it was asked. Nothing was written, unless it says otherwise.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum StoreError {
    /// It cannot be reached, read or written just now. Whether a write that was under way has happened is not known.
    Unavailable(String),
    /// Its file was deleted or replaced while it was open. Nothing is written to it any more.
    Replaced(String),
    /// There is no room for more.
    Full(String),
    /// It was written by a later version.
    NewerSchema {
        /// The version that it has.
        found: u32,
        /// The latest that we know.
        known: u32,
    },
    /// A limit of the caller is reached.
    Quota(Quota),
    /// What is there is not a ledger, or no longer.
    Corrupt(String),
    /// There is no ledger yet, and nobody was asked to make one.
    Absent,
    /// No such store.
    UnknownUrl(String),
    /// The URL of a store that we know says something that cannot be.
    BadUrl(String),
    /// This program was built without that store.
    NotBuiltIn {
        /// What is missing.
        what: &'static str,
        /// The cargo feature of `candor-ledger` that brings it.
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
