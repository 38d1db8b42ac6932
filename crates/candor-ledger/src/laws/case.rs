//! The ledger of one law, its clock, and what a law says to it.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use super::Ledgers;
use super::ensure::{Checked, Observation};
use crate::{
    ApprovalChannel, AuditContext, Binding, Clock, Event, EventReply, Fence, Fingerprint, Holder,
    Key, LedgerLimits, Moment, Options, OutcomeKind, Owner, Record, RecordId, RequestVersion,
    Review, Scope, Store, StoredResult,
};

/// Opens ledgers for one law.
pub(super) struct Bench<'a> {
    pub(super) ledgers: &'a dyn Ledgers,
    pub(super) law: &'static str,
}

impl<'a> Bench<'a> {
    /// Opens an empty ledger with a clock that the law sets.
    pub(super) async fn open(&self, limits: LedgerLimits) -> Checked<Case<'a>> {
        self.open_as(self.law.to_owned(), limits).await
    }

    /// Opens an empty ledger. A law that needs several gives each a name.
    pub(super) async fn open_as(&self, name: String, limits: LedgerLimits) -> Checked<Case<'a>> {
        let clock = Arc::new(AtomicI64::new(1_700_000_000_000));
        let time = Arc::clone(&clock);
        let given = Clock::Given(Arc::new(move || time.load(Ordering::SeqCst)));
        let options = Options { rules: limits, clock: given, max_bytes: None };
        Case::open(self.ledgers, name, clock, options).await
    }

    /// Opens an empty ledger with the store's own clock.
    pub(super) async fn open_in_real_time(&self, limits: LedgerLimits) -> Checked<Case<'a>> {
        let options = Options { rules: limits, ..Options::default() };
        Case::open(self.ledgers, self.law.to_owned(), Arc::default(), options).await
    }
}

/// A ledger and its clock.
pub(super) struct Case<'a> {
    ledgers: &'a dyn Ledgers,
    name: String,
    options: Options,
    pub(super) clock: Arc<AtomicI64>,
    pub(super) store: Arc<dyn Store>,
}

impl<'a> Case<'a> {
    pub(super) async fn open(
        ledgers: &'a dyn Ledgers,
        name: String,
        clock: Arc<AtomicI64>,
        options: Options,
    ) -> Checked<Self> {
        let store = ledgers.open(&name, options.clone()).await?;
        Ok(Self { ledgers, name, options, clock, store })
    }

    pub(super) fn now(&self) -> Moment {
        Moment(self.clock.load(Ordering::SeqCst))
    }

    pub(super) fn later(&self, time: Duration) {
        self.clock.fetch_add(time.as_millis() as i64, Ordering::SeqCst);
    }

    /// Returns another store of the same ledger, as another process has it. A ledger that is not shared has only one.
    pub(super) async fn another(&self) -> Checked<Arc<dyn Store>> {
        if self.ledgers.is_shared() {
            Ok(self.ledgers.open(&self.name, self.options.clone()).await?)
        } else {
            Ok(Arc::clone(&self.store))
        }
    }

    /// Closes the ledger and opens it again.
    pub(super) async fn reopen(&mut self) -> Checked {
        if self.ledgers.is_shared() {
            // Closed first: a file may be one process's at a time.
            self.store = Arc::new(crate::MemoryStore::new(Options::default()));
            self.store = self.ledgers.open(&self.name, self.options.clone()).await?;
        }
        Ok(())
    }
}

/// Fails if it takes longer than a store may need.
pub(super) async fn in_time<T>(what: &str, work: impl Future<Output = T>) -> Checked<T> {
    let timeout = tokio::time::timeout(Duration::from_secs(5), work).await;
    timeout.map_err(|_| Observation::new(format!("{what} takes longer than 5 s")))
}

pub(super) fn id(key: &str) -> RecordId {
    RecordId {
        scope: Scope {
            principal: "ada".into(),
            server: "invoices".into(),
            instance: "file:data".into(),
            tool: "create_invoice".into(),
        },
        key: Key::new(key).expect("the keys of the laws are valid"),
    }
}

pub(super) const SAME: Fingerprint = Fingerprint([7; 32]);

pub(super) const POLICY: Binding = Binding([3; 32]);

pub(super) fn outcome(text: &str) -> StoredResult {
    StoredResult::new(OutcomeKind::Success, text.as_bytes())
}

pub(super) async fn say(store: &dyn Store, id: &RecordId, event: Event) -> Checked<EventReply> {
    Ok(store.apply(id, event, AuditContext::default()).await?)
}

/// Claims, and returns the reply.
pub(super) async fn claims(store: &dyn Store, id: &RecordId) -> Checked<EventReply> {
    let owner = Owner::random()?;
    say(store, id, Event::Claim { fingerprint: SAME, owner, idempotent: false }).await
}

/// Claims. The claim must be granted.
pub(super) async fn claim(store: &dyn Store, id: &RecordId) -> Checked<Holder> {
    let owner = Owner::random()?;
    let event = Event::Claim { fingerprint: SAME, owner, idempotent: false };
    obtain!(EventReply::Claimed { fence, .. } = say(store, id, event).await?);
    Ok(Holder { owner, fence })
}

pub(super) async fn dispatched(store: &dyn Store, id: &RecordId) -> Checked<Holder> {
    let holder = claim(store, id).await?;
    ensure_eq!(say(store, id, Event::Dispatch(holder)).await?, EventReply::Done);
    Ok(holder)
}

/// Makes a call from its claim to its end.
pub(super) async fn call(store: &dyn Store, id: &RecordId, text: &str) -> Checked<Holder> {
    let holder = dispatched(store, id).await?;
    let ended = Event::Complete { holder, outcome: outcome(text) };
    ensure_eq!(say(store, id, ended).await?, EventReply::Done);
    Ok(holder)
}

pub(super) fn ask(text: &str) -> Event {
    Event::Ask {
        fingerprint: SAME,
        binding: POLICY,
        asked: text.as_bytes().into(),
        idempotent: false,
        keyless: false,
    }
}

/// Asks, and returns what a reviewer decides on.
pub(super) async fn asked(store: &dyn Store, id: &RecordId) -> Checked<RequestVersion> {
    obtain!(EventReply::Waiting { fence, .. } = say(store, id, ask("may it?")).await?);
    Ok(request(fence))
}

/// Returns a record as it is now.
pub(super) async fn seen(store: &dyn Store, id: &RecordId) -> Checked<Option<Record>> {
    Ok(store.find(id).await?.and_then(|entry| entry.seen))
}

pub(super) fn request(fence: Fence) -> RequestVersion {
    RequestVersion { fence, fingerprint: SAME, binding: POLICY }
}

pub(super) fn decide(question: RequestVersion, decision: Review) -> Event {
    Event::Decide { question, by: "olga".into(), via: ApprovalChannel::Operator, decision }
}

pub(super) async fn approved(store: &dyn Store, id: &RecordId) -> Checked<RequestVersion> {
    let question = asked(store, id).await?;
    ensure_eq!(say(store, id, decide(question, Review::Approve)).await?, EventReply::Done);
    Ok(question)
}

/// Returns a start that needs an approval.
pub(super) fn start() -> Checked<Event> {
    let owner = Owner::random()?;
    Ok(Event::Start { fingerprint: SAME, owner, idempotent: false, approval: Some(POLICY) })
}
