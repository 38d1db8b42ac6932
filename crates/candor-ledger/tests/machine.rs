//! The state machine without a store. The random events of `laws::model` also run on it.

use std::time::Duration;

use candor_ledger::machine::{RecordWrite, Transition, recall, seen, step};
use candor_ledger::*;
use proptest::prelude::*;

fn rules() -> LedgerLimits {
    LedgerLimits {
        lease: Duration::from_millis(100),
        retention: Duration::from_millis(1_000),
        tombstone: Duration::from_millis(5_000),
        suspended: Duration::from_millis(300),
        approval_wait: Duration::from_millis(300),
        approval_valid: Duration::from_millis(100),
        denied: Duration::from_millis(60),
        max_outcome: 64,
        ..LedgerLimits::default()
    }
}

fn binding(policy: u8) -> Binding {
    Binding([policy; 32])
}

fn fingerprint(args: u8) -> Fingerprint {
    Fingerprint([args; 32])
}

/// One record, and its clock.
#[derive(Default)]
struct Bare {
    now: i64,
    record: Option<Record>,
}

impl Bare {
    fn jump(&mut self, millis: i64) {
        self.now += millis;
    }
}

fn licenses() -> impl Strategy<Value = StartReason> {
    prop_oneof![
        Just(StartReason::First),
        Just(StartReason::NothingHappened),
        Just(StartReason::Idempotent { reason: UnknownReason::Failed, since: Moment(10) }),
        Just(StartReason::Idempotent { reason: UnknownReason::LeaseEnded, since: Moment(10) }),
        Just(StartReason::Operator { by: "olga".into(), started_by: None }),
        Just(StartReason::Operator { by: "olga".into(), started_by: Some(Owner([1; 16])) }),
    ]
}

/// Every state, due or not.
fn states() -> impl Strategy<Value = RecordState> {
    let due = || (0_i64..12_000).prop_map(Moment);
    let (owner, started, round) = (Owner([1; 16]), Moment(20), Round(1));
    let outcome = StoredResult::new(OutcomeKind::Success, *b"first");
    let (asked, by) = (outcome.clone(), || "olga".to_owned());
    let gate = || (licenses(), due(), (0_u8..2).prop_map(binding));
    let way = || prop_oneof![Just(ApprovalChannel::Operator), Just(ApprovalChannel::Client)];
    prop_oneof![
        (licenses(), due()).prop_map(|(license, until)| RecordState::Open { license, until }),
        gate().prop_map(|(license, until, binding)| RecordState::Waiting {
            asked: b"may it?"[..].into(),
            binding,
            since: Moment(15),
            until,
            license,
        }),
        (gate(), way()).prop_map(move |((license, until, binding), via)| RecordState::Approved {
            by: by(),
            via,
            binding,
            since: Moment(15),
            until,
            license,
        }),
        (gate(), way(), due()).prop_map(move |((license, until, binding), via, kept)| {
            RecordState::Denied {
                by: by(),
                via,
                reason: None,
                binding,
                since: Moment(15),
                until,
                keep_until: until.max(kept),
                license,
            }
        }),
        (licenses(), due()).prop_map(move |(license, lease)| RecordState::Claimed {
            owner,
            lease,
            license
        }),
        due().prop_map(move |lease| RecordState::Dispatched { owner, lease, started, round }),
        due().prop_map(move |until| RecordState::Suspended {
            round,
            asked: asked.clone(),
            started,
            until
        }),
        (due(), any::<bool>()).prop_map(move |(keep_until, resolved)| RecordState::Completed {
            outcome: outcome.clone(),
            completed: started,
            keep_until,
            resolved_by: resolved.then(by),
        }),
        any::<bool>().prop_map(move |known| RecordState::Indeterminate {
            reason: UnknownReason::Panicked,
            since: started,
            owner: known.then_some(owner),
        }),
        due().prop_map(|until| RecordState::Tombstone { until }),
        due().prop_map(move |until| RecordState::Abandoned { by: by(), until }),
    ]
}

fn records() -> impl Strategy<Value = Option<Record>> {
    let record = (states(), 1_u64..9, 0_u32..5, any::<bool>(), 0_i64..8_000).prop_map(
        |(state, fence, attempt, idempotent, touched)| Record {
            fingerprint: fingerprint(0),
            fence: Fence(fence),
            attempt,
            idempotent,
            created: Moment(5),
            touched: Moment(touched),
            error: None,
            arguments: None,
            state,
        },
    );
    proptest::option::weighted(0.95, record)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 10_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn start_equals_claim_and_dispatch_in_one_row(
        record in records(),
        args in 0_u8..2,
        idempotent in any::<bool>(),
        now in (0_i64..20_000).prop_map(Moment),
    ) {
        let (fingerprint, owner) = (fingerprint(args), Owner([2; 16]));
        let started =
            step(record.as_ref(), Event::Start { fingerprint, owner, idempotent, approval: None }, now, &rules());
        let mut claimed =
            step(record.as_ref(), Event::Claim { fingerprint, owner, idempotent }, now, &rules());
        let foretold = recall(record.as_ref(), fingerprint, idempotent, now, &rules());
        let EventReply::Claimed { fence, attempt } = claimed.answer else {
            prop_assert_eq!(foretold.as_ref(), Some(&started.answer));
            prop_assert_eq!(started, claimed);
            return Ok(());
        };
        // A pending request is reported, and does not stop a call that needs no approval.
        prop_assert!(matches!(foretold, None | Some(EventReply::Waiting { .. })), "{foretold:?}");
        prop_assert_eq!(started.answer, EventReply::Started { fence, attempt });
        let RecordWrite::Written(held) = &claimed.after else { panic!("claimed and not written") };
        let mut dispatched =
            step(Some(held), Event::Dispatch(Holder { owner, fence }), now, &rules());
        prop_assert_eq!(&dispatched.answer, &EventReply::Done);
        prop_assert_eq!(started.after, dispatched.after);

        // One row from the start of the claim to the end of the dispatch, after any expiry.
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
    #![proptest_config(ProptestConfig { cases: 10_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn start_that_needs_an_approval_runs_only_with_that_approval(
        record in records(),
        args in 0_u8..2,
        policy in 0_u8..2,
        idempotent in any::<bool>(),
        now in (0_i64..20_000).prop_map(Moment),
    ) {
        let (fingerprint, owner, needed) = (fingerprint(args), Owner([2; 16]), binding(policy));
        let start = |approval| {
            let event = Event::Start { fingerprint, owner, idempotent, approval };
            step(record.as_ref(), event, now, &rules())
        };
        let (with, mut without) = (start(Some(needed)), start(None));
        let seen = record.clone().and_then(|record| seen(record, now, &rules()));
        let given = seen.as_ref().and_then(|record| match &record.state {
            RecordState::Approved { by, via, binding, .. } if *binding == needed => Some((by, *via)),
            _ => None,
        });
        match (&without.answer, given) {
            // With the approval, it is a plain start, and its row names the reviewer.
            (EventReply::Started { .. }, Some((by, via))) => {
                let row = without.transitions.last_mut().unwrap();
                (row.by, row.via) = (Some(by.clone()), Some(via));
                prop_assert_eq!(with, without);
            }
            // Only an expiry is written.
            (EventReply::Started { .. }, None) => {
                let refused = matches!(with.answer, EventReply::NotApproved | EventReply::Waiting { .. });
                prop_assert!(refused, "{:?}", with.answer);
                let swept = step(record.as_ref(), Event::Sweep, now, &rules());
                prop_assert_eq!((with.after, with.transitions), (swept.after, swept.transitions));
            }
            _ => prop_assert_eq!(with, without),
        }
    }

    #[test]
    fn only_the_pending_request_can_be_reviewed_once(
        record in records(),
        fence in 1_u64..9,
        args in 0_u8..2,
        policy in 0_u8..2,
        now in (0_i64..20_000).prop_map(Moment),
    ) {
        let question = RequestVersion { fence: Fence(fence), fingerprint: fingerprint(args), binding: binding(policy) };
        let decide = |record: Option<&Record>, by: &str, decision| {
            let event = Event::Decide { question, by: by.into(), via: ApprovalChannel::Operator, decision };
            step(record, event, now, &rules())
        };
        let seen = record.clone().and_then(|record| seen(record, now, &rules()));
        let waits = seen.as_ref().is_some_and(|record| {
            record.state.kind() == StateKind::Waiting && record.question() == Some(question)
        });
        let decided = decide(record.as_ref(), "otto", Review::Approve);
        if !waits {
            prop_assert!(matches!(decided.answer, EventReply::Refused(_)));
            let swept = step(record.as_ref(), Event::Sweep, now, &rules());
            prop_assert_eq!((decided.after, decided.transitions), (swept.after, swept.transitions));
            return Ok(());
        }
        prop_assert_eq!(decided.answer, EventReply::Done);
        let RecordWrite::Written(approved) = decided.after else { panic!("decided and not written") };
        prop_assert_eq!(decide(Some(&approved), "otto", Review::Approve).answer, EventReply::Done);
        let others = [("olga", Review::Approve), ("otto", Review::Deny { reason: None })];
        for (by, decision) in others {
            let stands = StateKind::Approved;
            let refused = EventError::Decided { by: "otto".into(), via: ApprovalChannel::Operator, stands };
            prop_assert_eq!(decide(Some(&approved), by, decision).answer, EventReply::Refused(refused));
        }
    }
}

const OWNER: Owner = Owner([1; 16]);
const OTHER: Owner = Owner([2; 16]);

impl Bare {
    fn say(&mut self, event: Event) -> EventReply {
        let step = step(self.record.as_ref(), event, Moment(self.now), &rules());
        match step.after {
            RecordWrite::Unchanged => {}
            RecordWrite::Written(record) => self.record = Some(record),
            RecordWrite::Removed => self.record = None,
        }
        step.answer
    }

    fn starts(&mut self, owner: Owner, idempotent: bool) -> Holder {
        let event = Event::Start { fingerprint: fingerprint(0), owner, idempotent, approval: None };
        match self.say(event) {
            EventReply::Started { fence, .. } => Holder { owner, fence },
            other => panic!("{other:?}"),
        }
    }

    fn stands(&mut self) -> StateKind {
        self.say(Event::Sweep);
        self.record.as_ref().map_or(StateKind::Absent, |record| record.state.kind())
    }
}

fn ended(text: &str) -> StoredResult {
    StoredResult::new(OutcomeKind::Success, text.as_bytes())
}

#[test]
fn answer_counts_only_for_its_own_arguments_and_question() {
    let mut bare = Bare::default();
    let asks = |bare: &mut Bare| {
        let holder = bare.starts(OWNER, true);
        match bare.say(Event::Suspend { holder, asked: ended("sure?") }) {
            EventReply::Suspended { fence, round, .. } => (fence, round),
            other => panic!("{other:?}"),
        }
    };
    let answers = |args, (fence, round)| Event::Resume {
        fingerprint: fingerprint(args),
        fence,
        round,
        owner: OTHER,
    };
    let first = asks(&mut bare);
    assert_eq!(bare.say(answers(1, first)), EventReply::KeyReused);
    // No answer arrives in time. The call is safe to retry, starts again and asks the same.
    bare.jump(301);
    let second = asks(&mut bare);
    assert_eq!(second.1, first.1, "the first question of its start, too");
    assert!(
        matches!(bare.say(answers(0, first)), EventReply::Suspended { fence, .. } if fence == second.0)
    );
    assert!(matches!(bare.say(answers(0, second)), EventReply::Resumed { .. }));
    assert!(matches!(bare.say(answers(0, second)), EventReply::InFlight { .. }));
}

#[test]
fn same_outcome_is_accepted_twice_but_no_other() {
    let mut bare = Bare::default();
    let holder = bare.starts(OWNER, false);
    let complete = |text| Event::Complete { holder, outcome: ended(text) };
    assert_eq!(bare.say(complete("paid")), EventReply::Done);
    assert_eq!(bare.say(complete("paid")), EventReply::Done);
    assert_eq!(bare.say(complete("not paid")), EventReply::Lost);
}

#[test]
fn late_outcome_is_accepted_until_the_next_attempt() {
    let resolved = || {
        let mut bare = Bare::default();
        let holder = bare.starts(OWNER, false);
        bare.jump(101);
        let not_done = Event::Resolve { by: "olga".into(), resolution: Resolution::NotDone };
        assert_eq!(bare.say(not_done), EventReply::Done);
        (bare, Event::Complete { holder, outcome: ended("paid") })
    };
    let (mut bare, late) = resolved();
    assert_eq!(bare.say(late), EventReply::Done, "the owner knows better than the operator");
    assert_eq!(bare.stands(), StateKind::Completed);
    let (mut bare, late) = resolved();
    bare.starts(OTHER, false);
    assert_eq!(bare.say(late), EventReply::Lost);
    assert_eq!(bare.stands(), StateKind::Dispatched);
}

/// A call that failed and is safe to retry has a known outcome. A claim that never starts it does not change that.
#[test]
fn unused_claim_does_not_make_a_safe_failure_unknown() {
    let mut bare = Bare::default();
    let holder = bare.starts(OWNER, true);
    assert_eq!(bare.say(Event::Discard { holder, why: RetryReason::Idempotent }), EventReply::Done);
    let claims = |bare: &mut Bare| {
        let (fingerprint, owner) = (fingerprint(0), OTHER);
        match bare.say(Event::Claim { fingerprint, owner, idempotent: true }) {
            EventReply::Claimed { fence, .. } => Holder { owner, fence },
            other => panic!("{other:?}"),
        }
    };
    let holder = claims(&mut bare);
    assert_eq!(bare.say(Event::Release(holder)), EventReply::Done);
    assert_eq!(bare.stands(), StateKind::Open);
    claims(&mut bare);
    bare.jump(101);
    assert_eq!(bare.stands(), StateKind::Open);
}
