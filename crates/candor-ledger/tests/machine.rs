//! The laws of the ledger on the bare machine: no store, and a clock that nobody guards.

mod model;

use std::collections::HashMap;

use candor_ledger::machine::{After, Transition, recall, step};
use candor_ledger::*;
use model::{Subject, World, fingerprint, ops, rules};
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

fn licenses() -> impl Strategy<Value = License> {
    prop_oneof![
        Just(License::First),
        Just(License::NothingHappened),
        Just(License::ByNature { reason: Reason::Failed, since: Moment(10) }),
        Just(License::ByNature { reason: Reason::LeaseEnded, since: Moment(10) }),
        Just(License::Operator { by: "olga".into(), started_by: None }),
        Just(License::Operator { by: "olga".into(), started_by: Some(Owner([1; 16])) }),
    ]
}

/// Every state, due or not.
fn states() -> impl Strategy<Value = State> {
    let due = || (0_i64..12_000).prop_map(Moment);
    let (owner, started, round) = (Owner([1; 16]), Moment(20), Round(1));
    let outcome = Outcome::new(OutcomeKind::Success, *b"first");
    let (asked, by) = (outcome.clone(), || "olga".to_owned());
    prop_oneof![
        (licenses(), due()).prop_map(|(license, until)| State::Open { license, until }),
        (licenses(), due()).prop_map(move |(license, lease)| State::Claimed {
            owner,
            lease,
            license
        }),
        due().prop_map(move |lease| State::Dispatched { owner, lease, started, round }),
        due().prop_map(move |until| State::Suspended {
            round,
            asked: asked.clone(),
            started,
            until
        }),
        (due(), any::<bool>()).prop_map(move |(keep_until, resolved)| State::Completed {
            outcome: outcome.clone(),
            completed: started,
            keep_until,
            resolved_by: resolved.then(by),
        }),
        any::<bool>().prop_map(move |known| State::Indeterminate {
            reason: Reason::Panicked,
            since: started,
            owner: known.then_some(owner),
        }),
        due().prop_map(|until| State::Tombstone { until }),
        due().prop_map(move |until| State::Abandoned { by: by(), until }),
    ]
}

fn records() -> impl Strategy<Value = Option<Record>> {
    let record = (states(), 1_u64..9, 0_u32..5, any::<bool>(), 0_i64..8_000).prop_map(
        |(state, fence, attempt, by_nature, touched)| Record {
            fingerprint: fingerprint(0),
            fence: Fence(fence),
            attempt,
            by_nature,
            created: Moment(5),
            touched: Moment(touched),
            state,
        },
    );
    proptest::option::weighted(0.95, record)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 10_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_start_is_a_claim_and_its_dispatch_in_one_row(
        record in records(),
        args in 0_u8..2,
        by_nature in any::<bool>(),
        now in (0_i64..20_000).prop_map(Moment),
    ) {
        let (fingerprint, owner) = (fingerprint(args), Owner([2; 16]));
        let started =
            step(record.as_ref(), Event::Start { fingerprint, owner, by_nature }, now, &rules());
        let mut claimed =
            step(record.as_ref(), Event::Claim { fingerprint, owner, by_nature }, now, &rules());
        let foretold = recall(record.as_ref(), fingerprint, by_nature, now, &rules());
        let Answer::Claimed { fence, attempt } = claimed.answer else {
            prop_assert_eq!(foretold.as_ref(), Some(&started.answer));
            prop_assert_eq!(started, claimed);
            return Ok(());
        };
        prop_assert_eq!(foretold, None);
        prop_assert_eq!(started.answer, Answer::Started { fence, attempt });
        let After::Written(held) = &claimed.after else { panic!("claimed and not written") };
        let mut dispatched =
            step(Some(held), Event::Dispatch(Holder { owner, fence }), now, &rules());
        prop_assert_eq!(&dispatched.answer, &Answer::Done);
        prop_assert_eq!(started.after, dispatched.after);

        // One row from where the claim began to where the dispatch ended, after what time had done.
        let claim = claimed.transitions.pop().unwrap();
        let dispatch = dispatched.transitions.pop().unwrap();
        prop_assert!(dispatched.transitions.is_empty());
        prop_assert_eq!((claim.to, dispatch.from), (StateKind::Claimed, StateKind::Claimed));
        let start = Transition { event: "start", from: claim.from, ..dispatch };
        claimed.transitions.push(start);
        prop_assert_eq!(started.transitions, claimed.transitions);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_happens_a_call_is_started_at_most_once_and_answered_honestly(ops in ops()) {
        World::new(&mut Bare::default()).run(&ops);
    }
}
