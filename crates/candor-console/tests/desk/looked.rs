//! A ledger that counts how often somebody looks at what waits.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use candor_server::store::{
    AuditContext, AuditRow, CallNote, Event, EventReply, Filter, Fingerprint, Grant, GrantId,
    LedgerLimits, NewGrant, Page, PageOf, RecordEntry, RecordId, RecordVersion, Scope, Store,
    StoreFuture, SweepReport,
};

use crate::desk::memory;

pub(crate) struct Looked {
    store: Arc<dyn Store>,
    times: AtomicUsize,
}

impl Looked {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self { store: memory(), times: AtomicUsize::new(0) })
    }

    pub(crate) fn times(&self) -> usize {
        self.times.load(Ordering::SeqCst)
    }
}

impl Store for Looked {
    fn apply(
        &self,
        id: &RecordId,
        event: Event,
        circumstances: AuditContext,
    ) -> StoreFuture<'_, EventReply> {
        self.store.apply(id, event, circumstances)
    }

    fn recall(
        &self,
        id: &RecordId,
        fingerprint: Fingerprint,
        idempotent: bool,
    ) -> StoreFuture<'_, Option<EventReply>> {
        self.store.recall(id, fingerprint, idempotent)
    }

    fn note(&self, note: CallNote) -> StoreFuture<'_, ()> {
        self.store.note(note)
    }

    fn watch(&self, id: &RecordId, seen: RecordVersion) -> StoreFuture<'_, ()> {
        self.store.watch(id, seen)
    }

    fn sweep(&self, most: usize) -> StoreFuture<'_, SweepReport> {
        self.store.sweep(most)
    }

    fn find(&self, id: &RecordId) -> StoreFuture<'_, Option<RecordEntry>> {
        self.store.find(id)
    }

    fn records(&self, filter: Filter, page: Page) -> StoreFuture<'_, PageOf<RecordEntry>> {
        self.store.records(filter, page)
    }

    fn waiting(&self, filter: Filter, page: Page) -> StoreFuture<'_, PageOf<RecordEntry>> {
        self.times.fetch_add(1, Ordering::SeqCst);
        self.store.waiting(filter, page)
    }

    fn grant(&self, granting: NewGrant) -> StoreFuture<'_, Grant> {
        self.store.grant(granting)
    }

    fn revoke(&self, id: GrantId, by: String) -> StoreFuture<'_, Option<Grant>> {
        self.store.revoke(id, by)
    }

    fn grants(&self, filter: Filter, page: Page) -> StoreFuture<'_, PageOf<Grant>> {
        self.store.grants(filter, page)
    }

    fn grants_in_force(&self, scope: &Scope) -> StoreFuture<'_, Vec<Grant>> {
        self.store.grants_in_force(scope)
    }

    fn rows(&self, filter: Filter, page: Page) -> StoreFuture<'_, PageOf<AuditRow>> {
        self.store.rows(filter, page)
    }

    fn transitions(&self, id: &RecordId) -> StoreFuture<'_, Vec<AuditRow>> {
        self.store.transitions(id)
    }

    fn rules(&self) -> &LedgerLimits {
        self.store.rules()
    }

    fn describe(&self) -> String {
        self.store.describe()
    }
}
