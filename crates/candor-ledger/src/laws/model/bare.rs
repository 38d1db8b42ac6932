//! The laws on the bare state machine: no store, and a clock without limits.

use std::collections::HashMap;

use proptest::prelude::{ProptestConfig, proptest};

use super::ops::ops;
use super::{Model, StateRow, Subject, limits};
use crate::event::{Event, EventReply};
use crate::id::{Fingerprint, Moment, RecordId};
use crate::laws::ensure::Checked;
use crate::machine::{RecordWrite, Transition, recall, step};
use crate::record::Record;

#[derive(Default)]
struct BareMachine {
    now: i64,
    records: HashMap<RecordId, Record>,
    rows: HashMap<RecordId, Vec<StateRow>>,
}

impl Subject for BareMachine {
    async fn apply(&mut self, id: &RecordId, event: Event) -> Checked<EventReply> {
        let step = step(self.records.get(id), event, Moment(self.now), &limits());
        match step.after {
            RecordWrite::Unchanged => {}
            RecordWrite::Written(record) => {
                self.records.insert(id.clone(), record);
            }
            RecordWrite::Removed => {
                self.records.remove(id);
            }
        }
        let row = |change: Transition| {
            let Transition { event, from, to, fence, by, via, .. } = change;
            StateRow { event: event.to_owned(), from, to, fence, by, via }
        };
        self.rows.entry(id.clone()).or_default().extend(step.transitions.into_iter().map(row));
        Ok(step.answer)
    }

    async fn recall(
        &mut self,
        id: &RecordId,
        fingerprint: Fingerprint,
        idempotent: bool,
    ) -> Checked<Option<EventReply>> {
        let record = self.records.get(id);
        Ok(recall(record, fingerprint, idempotent, Moment(self.now), &limits()))
    }

    async fn stored(&mut self, id: &RecordId) -> Checked<Option<Record>> {
        Ok(self.records.get(id).cloned())
    }

    async fn transitions(&mut self, id: &RecordId) -> Checked<Vec<StateRow>> {
        Ok(self.rows.get(id).cloned().unwrap_or_default())
    }

    fn now(&mut self) -> Moment {
        Moment(self.now)
    }

    fn jump(&mut self, millis: i64) {
        self.now += millis;
    }

    async fn restart(&mut self) -> Checked {
        Ok(())
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_sequence_of_events_starts_a_call_at_most_once(events in ops()) {
        let mut machine = BareMachine::default();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        if let Err(seen) = runtime.block_on(Model::new(&mut machine).run(&events)) {
            panic!("{}", seen.text());
        }
    }
}
