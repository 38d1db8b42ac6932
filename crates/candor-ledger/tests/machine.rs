//! The laws of the ledger on the bare machine: no store, and a clock that nobody guards.

mod model;

use std::collections::HashMap;

use candor_ledger::machine::{After, recall, step};
use candor_ledger::*;
use model::{Subject, World, ops, rules};
use proptest::prelude::*;

#[derive(Default)]
struct Bare {
    now: i64,
    records: HashMap<RecordId, Record>,
    rows: HashMap<RecordId, Vec<(StateKind, StateKind)>>,
}

impl Subject for Bare {
    fn apply(&mut self, id: &RecordId, event: Event) -> Answer {
        let step = step(self.records.get(id), event, Moment(self.now), &rules());
        match step.after {
            After::Unchanged => {}
            After::Written(record) => {
                self.records.insert(id.clone(), record);
            }
            After::Removed => {
                self.records.remove(id);
            }
        }
        self.rows
            .entry(id.clone())
            .or_default()
            .extend(step.transitions.iter().map(|transition| (transition.from, transition.to)));
        step.answer
    }

    fn recall(
        &mut self,
        id: &RecordId,
        fingerprint: Fingerprint,
        by_nature: bool,
    ) -> Option<Answer> {
        recall(self.records.get(id), fingerprint, by_nature, Moment(self.now), &rules())
    }

    fn stored(&mut self, id: &RecordId) -> Option<Record> {
        self.records.get(id).cloned()
    }

    fn transitions(&mut self, id: &RecordId) -> Vec<(StateKind, StateKind)> {
        self.rows.get(id).cloned().unwrap_or_default()
    }

    fn now(&mut self) -> Moment {
        Moment(self.now)
    }

    fn jump(&mut self, millis: i64) {
        self.now += millis;
    }

    fn restart(&mut self) {}
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_happens_a_call_is_started_at_most_once_and_answered_honestly(ops in ops()) {
        World::new(&mut Bare::default()).run(&ops);
    }
}
