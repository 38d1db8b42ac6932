//! The same laws, with the same model, on every store. Their clock jumps as the model wants.

mod common;
mod model;

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use candor_ledger::*;
use common::{Folder, wait};
use model::{Row, Subject, World, ops, rules};
use proptest::prelude::*;

struct Stored {
    clock: Arc<AtomicI64>,
    url: String,
    store: Option<Arc<dyn Store>>,
}

impl Stored {
    fn new(url: String) -> Self {
        let mut this = Self { clock: Arc::new(AtomicI64::new(1_000_000)), url, store: None };
        this.open();
        this
    }

    fn open(&mut self) {
        let clock = Arc::clone(&self.clock);
        let clock = Clock::Given(Arc::new(move || clock.load(Ordering::SeqCst)));
        let options = Options { rules: rules(), clock, max_bytes: None };
        self.store = Some(open(&self.url, options).unwrap());
    }

    fn store(&self) -> &dyn Store {
        self.store.as_deref().unwrap()
    }
}

impl Subject for Stored {
    fn apply(&mut self, id: &RecordId, event: Event) -> EventReply {
        wait(self.store().apply(id, event, AuditContext::default())).unwrap()
    }

    fn recall(
        &mut self,
        id: &RecordId,
        fingerprint: Fingerprint,
        idempotent: bool,
    ) -> Option<EventReply> {
        wait(self.store().recall(id, fingerprint, idempotent)).unwrap()
    }

    fn stored(&mut self, id: &RecordId) -> Option<Record> {
        wait(self.store().find(id)).unwrap().map(|entry| entry.stored)
    }

    fn transitions(&mut self, id: &RecordId) -> Vec<Row> {
        let story = wait(self.store().transitions(id)).unwrap();
        let row = |row: AuditRow| {
            let StateChange { from, to, fence, .. } = row.change.unwrap();
            Row { event: row.event, from, to, fence, by: row.by, via: row.via }
        };
        story.into_iter().map(row).collect()
    }

    fn now(&mut self) -> Moment {
        Moment(self.clock.load(Ordering::SeqCst))
    }

    fn jump(&mut self, millis: i64) {
        self.clock.fetch_add(millis, Ordering::SeqCst);
    }

    fn restart(&mut self) {
        // What is in memory does not survive.
        if self.url != "memory:" {
            self.store = None;
            self.open();
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_events_keep_the_ledger_laws_in_memory(ops in ops()) {
        World::new(&mut Stored::new("memory:".into())).run(&ops);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_events_keep_the_ledger_laws_in_a_sqlite_file(ops in ops()) {
        let folder = Folder::new();
        let url = format!("sqlite:{}", folder.join("ledger.db").display());
        World::new(&mut Stored::new(url)).run(&ops);
    }
}

/// Fewer cases, because each needs a new schema and every restart a new connection.
#[cfg(feature = "postgres")]
#[test]
fn random_events_keep_the_ledger_laws_in_postgresql() {
    use common::database::Schema;
    if Schema::new("random_events_keep_the_ledger_laws_in_postgresql").is_none() {
        return;
    }
    let config =
        ProptestConfig { cases: 30, failure_persistence: None, ..ProptestConfig::default() };
    proptest!(config, |(ops in ops())| {
        let schema = Schema::new("random_events_keep_the_ledger_laws_in_postgresql").unwrap();
        World::new(&mut Stored::new(schema.url())).run(&ops);
    });
}
