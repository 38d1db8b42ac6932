//! A store that fails, forgets to answer and dawdles, when it is told to.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use candor_server::store::{
    AuditContext, AuditRow, CallNote, Event, EventReply, Filter, Fingerprint, Grant, GrantId,
    LedgerLimits, NewGrant, Page, PageOf, RecordEntry, RecordId, RecordVersion, Scope, Store,
    StoreError, StoreFuture, SweepReport,
};

use crate::bench;

/// Words for what is asked of a store: the names of events, `recall`, `watch` and `note`.
type Words = Mutex<BTreeSet<&'static str>>;

pub(crate) struct Moody {
    store: Arc<dyn Store>,
    refuses: Words,
    /// Does it, and says that it could not.
    loses: Words,
    dawdles: Mutex<Option<(&'static str, Duration)>>,
    error: Mutex<StoreError>,
    /// Everything that was asked of it.
    asked: Mutex<Vec<&'static str>>,
}

impl Moody {
    pub(crate) fn new(rules: LedgerLimits) -> Arc<Self> {
        Arc::new(Self {
            store: bench::memory(rules),
            refuses: Words::default(),
            loses: Words::default(),
            dawdles: Mutex::default(),
            error: Mutex::new(StoreError::Unavailable("a secret reason".to_owned())),
            asked: Mutex::default(),
        })
    }

    pub(crate) fn refuse(&self, words: &[&'static str]) {
        self.refuses.lock().unwrap().extend(words);
    }

    pub(crate) fn refuse_everything(&self) {
        self.refuse(&["start", "complete", "heartbeat", "suspend", "unknown", "discard"]);
        self.refuse(&["resume", "recall", "watch", "note"]);
    }

    pub(crate) fn refuse_with(&self, error: StoreError, words: &[&'static str]) {
        *self.error.lock().unwrap() = error;
        self.refuse(words);
    }

    pub(crate) fn lose_the_answer_to(&self, words: &[&'static str]) {
        self.loses.lock().unwrap().extend(words);
    }

    pub(crate) fn dawdle(&self, word: &'static str, time: Duration) {
        *self.dawdles.lock().unwrap() = Some((word, time));
    }

    pub(crate) fn heal(&self) {
        self.refuses.lock().unwrap().clear();
        self.loses.lock().unwrap().clear();
        *self.dawdles.lock().unwrap() = None;
    }

    /// How often it was asked that.
    pub(crate) fn asked(&self, word: &str) -> usize {
        self.asked.lock().unwrap().iter().filter(|asked| **asked == word).count()
    }

    fn moodily<'a, T: Send + 'a>(
        &'a self,
        word: &'static str,
        ask: impl FnOnce() -> StoreFuture<'a, T>,
    ) -> StoreFuture<'a, T> {
        self.asked.lock().unwrap().push(word);
        let error = self.error.lock().unwrap().clone();
        if self.refuses.lock().unwrap().contains(word) {
            return Box::pin(std::future::ready(Err(error)));
        }
        let loses = self.loses.lock().unwrap().contains(word);
        let pause = self.dawdles.lock().unwrap().filter(|(slow, _)| *slow == word);
        let asked = ask();
        Box::pin(async move {
            if let Some((_, pause)) = pause {
                tokio::time::sleep(pause).await;
            }
            let answer = asked.await;
            if loses { Err(error) } else { answer }
        })
    }
}

impl Store for Moody {
    fn apply(
        &self,
        id: &RecordId,
        event: Event,
        circumstances: AuditContext,
    ) -> StoreFuture<'_, EventReply> {
        let (id, word) = (id.clone(), event.name());
        self.moodily(word, move || self.store.apply(&id, event, circumstances))
    }

    fn recall(
        &self,
        id: &RecordId,
        fingerprint: Fingerprint,
        idempotent: bool,
    ) -> StoreFuture<'_, Option<EventReply>> {
        let id = id.clone();
        self.moodily("recall", move || self.store.recall(&id, fingerprint, idempotent))
    }

    fn note(&self, note: CallNote) -> StoreFuture<'_, ()> {
        self.moodily("note", move || self.store.note(note))
    }

    fn watch(&self, id: &RecordId, seen: RecordVersion) -> StoreFuture<'_, ()> {
        let id = id.clone();
        self.moodily("watch", move || self.store.watch(&id, seen))
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
