//! A small world around a ledger: callers that claim, ask, start, die and come back, people who decide, a clock that jumps, and an
//! observer who knows what really happened and holds every answer against it.
#![allow(dead_code, missing_docs, unreachable_pub)] // each test binary uses its own part

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use candor_ledger::*;
use proptest::prelude::*;

/// What is under test: the bare machine, or a store.
pub trait Subject {
    fn apply(&mut self, id: &RecordId, event: Event) -> EventReply;
    fn recall(
        &mut self,
        id: &RecordId,
        fingerprint: Fingerprint,
        idempotent: bool,
    ) -> Option<EventReply>;
    /// The record as it is written, whatever time has done since.
    fn stored(&mut self, id: &RecordId) -> Option<Record>;
    fn transitions(&mut self, id: &RecordId) -> Vec<Row>;
    fn now(&mut self) -> Moment;
    fn jump(&mut self, millis: i64);
    /// The process is gone, and another one opens the store.
    fn restart(&mut self);
}

/// A change of state, as the audit tells it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    pub event: String,
    pub from: StateKind,
    pub to: StateKind,
    pub fence: Fence,
    pub by: Option<String>,
    pub via: Option<ApprovalChannel>,
}

pub fn rules() -> LedgerLimits {
    LedgerLimits {
        lease: Duration::from_millis(100),
        retention: Duration::from_millis(1_000),
        tombstone: Duration::from_millis(5_000),
        suspended: Duration::from_millis(300),
        approval_wait: Duration::from_millis(300),
        approval_valid: Duration::from_millis(100),
        denied: Duration::from_millis(60),
        max_outcome: 64,
        audit: Duration::from_secs(100_000_000),
        quotas: Quotas {
            records: 1_000,
            bytes: 1 << 20,
            keys_per_hour: 1_000,
            ..Quotas::default()
        },
    }
}

pub fn id(key: usize) -> RecordId {
    RecordId {
        scope: Scope {
            principal: "ada".into(),
            server: "invoices".into(),
            instance: "file:data".into(),
            tool: "create_invoice".into(),
        },
        key: Key::new(format!("key-{key}")).unwrap(),
    }
}

pub fn binding(policy: u8) -> Binding {
    Binding([policy; 32])
}

pub fn fingerprint(args: u8) -> Fingerprint {
    Fingerprint([args; 32])
}

#[derive(Debug, Clone)]
pub enum Op {
    Claim {
        actor: usize,
        key: usize,
        args: u8,
        idempotent: bool,
    },
    Start {
        actor: usize,
        key: usize,
        args: u8,
        idempotent: bool,
        approval: Option<u8>,
    },
    Ask {
        key: usize,
        args: u8,
        policy: u8,
        idempotent: bool,
        large: bool,
    },
    /// On what is asked of this key, or was, or on something that nobody has asked.
    Decide {
        key: usize,
        older: u64,
        other_policy: bool,
        by: &'static str,
        via: ApprovalChannel,
        approve: bool,
    },
    Dispatch {
        actor: usize,
    },
    Heartbeat {
        actor: usize,
    },
    Release {
        actor: usize,
    },
    Suspend {
        actor: usize,
    },
    Complete {
        actor: usize,
        large: bool,
    },
    Unknown {
        actor: usize,
    },
    Discard {
        actor: usize,
        why: RetryReason,
    },
    /// The answer to the last question of this key, or to an older one.
    Resume {
        actor: usize,
        key: usize,
        older: u64,
    },
    Crash {
        actor: usize,
    },
    Resolve {
        key: usize,
        how: u8,
    },
    Sweep {
        key: usize,
    },
    Jump {
        millis: i64,
    },
    Restart,
    /// Something that was said before is said again, word for word: a zombie, or a message on two ways.
    Echo {
        which: usize,
    },
}

const ACTORS: usize = 4;
const KEYS: usize = 4;
/// The calls under this one have no key of their caller's.
const KEYLESS: usize = 3;

pub fn ops() -> impl Strategy<Value = Vec<Op>> {
    let actor = || 0..ACTORS;
    let key = || 0..KEYS;
    let args = || prop_oneof![9 => Just(0_u8), 1 => Just(1_u8)];
    let policy = || prop_oneof![9 => Just(0_u8), 1 => Just(1_u8)];
    let approval = prop_oneof![2 => Just(None), 3 => policy().prop_map(Some)];
    let why = prop_oneof![Just(RetryReason::Idempotent), Just(RetryReason::NothingHappened)];
    // Just before, just after, and far beyond each of the times in the rules.
    let millis = prop_oneof![
        4 => 0_i64..60,
        3 => 99_i64..103,
        2 => 55_i64..65,
        2 => 299_i64..303,
        1 => 999_i64..1_200,
        1 => 5_900_i64..7_000,
        2 => -2_000_i64..0,
    ];
    let op = prop_oneof![
        8 => (actor(), key(), args(), proptest::bool::weighted(0.4))
            .prop_map(|(actor, key, args, idempotent)| Op::Claim { actor, key, args, idempotent }),
        8 => (actor(), key(), args(), proptest::bool::weighted(0.4), approval)
            .prop_map(|(actor, key, args, idempotent, approval)| {
                Op::Start { actor, key, args, idempotent, approval }
            }),
        8 => (key(), args(), policy(), proptest::bool::weighted(0.4), proptest::bool::weighted(0.1))
            .prop_map(|(key, args, policy, idempotent, large)| {
                Op::Ask { key, args, policy, idempotent, large }
            }),
        6 => (
            key(),
            prop_oneof![5 => Just(0_u64), 1 => 1_u64..3],
            proptest::bool::weighted(0.1),
            prop_oneof![Just("olga"), Just("otto")],
            prop_oneof![3 => Just(ApprovalChannel::Operator), 1 => Just(ApprovalChannel::Client)],
            proptest::bool::weighted(0.8),
        )
            .prop_map(|(key, older, other_policy, by, via, approve)| {
                Op::Decide { key, older, other_policy, by, via, approve }
            }),
        8 => actor().prop_map(|actor| Op::Dispatch { actor }),
        2 => actor().prop_map(|actor| Op::Heartbeat { actor }),
        1 => actor().prop_map(|actor| Op::Release { actor }),
        2 => actor().prop_map(|actor| Op::Suspend { actor }),
        4 => (actor(), proptest::bool::weighted(0.2))
            .prop_map(|(actor, large)| Op::Complete { actor, large }),
        1 => actor().prop_map(|actor| Op::Unknown { actor }),
        2 => (actor(), why).prop_map(|(actor, why)| Op::Discard { actor, why }),
        3 => (actor(), key(), prop_oneof![4 => Just(0_u64), 1 => 1_u64..3])
            .prop_map(|(actor, key, older)| Op::Resume { actor, key, older }),
        2 => actor().prop_map(|actor| Op::Crash { actor }),
        2 => (key(), 0_u8..3).prop_map(|(key, how)| Op::Resolve { key, how }),
        1 => key().prop_map(|key| Op::Sweep { key }),
        5 => millis.prop_map(|millis| Op::Jump { millis }),
        1 => Just(Op::Restart),
        3 => (0_usize..64).prop_map(|which| Op::Echo { which }),
    ];
    proptest::collection::vec(op, 1..120)
}

/// What a caller believes that it holds.
#[derive(Clone, Copy)]
struct Held {
    key: usize,
    holder: Holder,
}

/// What really happened under one key.
#[derive(Default)]
struct Truth {
    /// Starts that may have had an effect, and whether to repeat them is harmless.
    starts: Vec<bool>,
    /// Under which fence and by whom there was a start (or a round of one).
    witnesses: HashSet<Holder>,
    arguments: Option<Fingerprint>,
    /// Whether the last claim was of a call that is harmless to repeat.
    idempotent: bool,
    fence: u64,
    outcome: Option<StoredResult>,
    closed: Option<Moment>,
    answered: HashSet<(Fence, Round)>,
    gate: Option<Gate>,
    /// Questions whose approval was used.
    used: HashSet<RequestVersion>,
}

/// What a person was asked, and has said.
#[derive(Debug, Clone)]
struct Gate {
    question: RequestVersion,
    asked: Arc<[u8]>,
    since: Moment,
    /// How long that holds.
    until: Moment,
    said: Option<(&'static str, ApprovalChannel, Review)>,
}

impl Gate {
    fn is_approved(&self) -> bool {
        matches!(self.said, Some((.., Review::Approve)))
    }

    fn is_denied(&self) -> bool {
        matches!(self.said, Some((.., Review::Deny { .. })))
    }
}

pub struct World<'a> {
    subject: &'a mut dyn Subject,
    rules: LedgerLimits,
    actors: [Option<Held>; ACTORS],
    truth: BTreeMap<usize, Truth>,
    said: Vec<(usize, Event)>,
    drawn: u64,
    /// How many approvals were used under each key, since its record is there.
    used: [usize; KEYS],
}

impl<'a> World<'a> {
    pub fn new(subject: &'a mut dyn Subject) -> Self {
        Self {
            subject,
            rules: rules(),
            actors: [None; ACTORS],
            truth: BTreeMap::new(),
            said: Vec::new(),
            drawn: 0,
            used: [0; KEYS],
        }
    }

    pub fn run(&mut self, ops: &[Op]) {
        for op in ops {
            self.act(op);
        }
        // In the end, every record is decided or known to be unknown: nothing hangs for longer than its time.
        self.subject.jump(100_000);
        for key in 0..KEYS {
            self.say(key, Event::Sweep);
            let stored = self.subject.stored(&id(key)).map(|record| record.state.kind());
            // A denial is shown for as long as the audit, and refuses nothing.
            let ended = [StateKind::Indeterminate, StateKind::Denied];
            assert!(stored.is_none_or(|kind| ended.contains(&kind)), "left as {stored:?}");
        }
    }

    fn draw(&mut self) -> Owner {
        self.drawn += 1;
        Owner(u128::from(self.drawn).to_be_bytes())
    }

    fn bytes(&mut self, large: bool) -> StoredResult {
        self.drawn += 1;
        let text =
            format!("outcome {}{}", self.drawn, if large { ".".repeat(80) } else { String::new() });
        StoredResult::new(OutcomeKind::Success, text.into_bytes())
    }

    fn act(&mut self, op: &Op) {
        let held = |actor: usize| self.actors[actor];
        match *op {
            Op::Claim { actor, key, args, idempotent } => {
                let owner = self.draw();
                let event = Event::Claim { fingerprint: fingerprint(args), owner, idempotent };
                if let EventReply::Claimed { fence, .. } = self.say(key, event) {
                    self.actors[actor] = Some(Held { key, holder: Holder { owner, fence } });
                }
            }
            Op::Ask { key, args, policy, idempotent, large } => {
                self.drawn += 1;
                let text =
                    format!("question {}{}", self.drawn, ".".repeat(80 * usize::from(large)));
                self.say(
                    key,
                    Event::Ask {
                        fingerprint: fingerprint(args),
                        binding: binding(policy),
                        asked: text.into_bytes().into(),
                        idempotent,
                        keyless: key == KEYLESS,
                    },
                );
            }
            Op::Decide { key, older, other_policy, by, via, approve } => {
                let Some(record) = self.subject.stored(&id(key)) else { return };
                let mut question = record.question().unwrap_or(RequestVersion {
                    fence: record.fence,
                    fingerprint: record.fingerprint,
                    binding: binding(0),
                });
                question.fence.0 = question.fence.0.saturating_sub(older);
                if other_policy {
                    question.binding = binding(7);
                }
                let decision = if approve {
                    Review::Approve
                } else {
                    Review::Deny { reason: Some(format!("{by} does not like it")) }
                };
                self.say(key, Event::Decide { question, by: by.into(), via, decision });
            }
            Op::Start { actor, key, args, idempotent, approval } => {
                let owner = self.draw();
                let (fingerprint, approval) = (fingerprint(args), approval.map(binding));
                let event = Event::Start { fingerprint, owner, idempotent, approval };
                if let EventReply::Started { fence, .. } = self.say(key, event) {
                    self.actors[actor] = Some(Held { key, holder: Holder { owner, fence } });
                }
            }
            Op::Resume { actor, key, older } => {
                let Some(Record { fence, state, fingerprint, .. }) = self.subject.stored(&id(key))
                else {
                    return;
                };
                let round = match state {
                    RecordState::Suspended { round, .. } => round,
                    _ => Round(0),
                };
                let fence = Fence(fence.0.saturating_sub(older));
                let owner = self.draw();
                let event = Event::Resume { fingerprint, fence, round, owner };
                if let EventReply::Resumed { fence, .. } = self.say(key, event) {
                    self.actors[actor] = Some(Held { key, holder: Holder { owner, fence } });
                }
            }
            Op::Dispatch { actor } => {
                if let Some(Held { key, holder }) = held(actor) {
                    self.say(key, Event::Dispatch(holder));
                }
            }
            Op::Heartbeat { actor } => {
                if let Some(Held { key, holder }) = held(actor) {
                    self.say(key, Event::Heartbeat(holder));
                }
            }
            Op::Release { actor } => {
                if let Some(Held { key, holder }) = held(actor) {
                    self.say(key, Event::Release(holder));
                }
            }
            Op::Suspend { actor } => {
                if let Some(Held { key, holder }) = held(actor) {
                    let asked = self.bytes(false);
                    self.say(key, Event::Suspend { holder, asked });
                }
            }
            Op::Complete { actor, large } => {
                // Only who has started can end: the pipeline's types say so, and the ledger checks it again.
                if let Some(Held { key, holder }) = held(actor) {
                    let outcome = self.bytes(large);
                    self.say(key, Event::Complete { holder, outcome });
                }
            }
            Op::Unknown { actor } => {
                if let Some(Held { key, holder }) = held(actor) {
                    self.say(key, Event::Unknown { holder, reason: UnknownReason::Panicked });
                }
            }
            Op::Discard { actor, why } => {
                if let Some(Held { key, holder }) = held(actor) {
                    self.say(key, Event::Discard { holder, why });
                }
            }
            Op::Crash { actor } => self.actors[actor] = None,
            Op::Resolve { key, how } => {
                let resolution = match how {
                    0 => Resolution::Done(self.bytes(false)),
                    1 => Resolution::NotDone,
                    _ => Resolution::Abandon,
                };
                self.say(key, Event::Resolve { by: "olga".into(), resolution });
            }
            Op::Sweep { key } => {
                self.say(key, Event::Sweep);
            }
            Op::Jump { millis } => self.subject.jump(millis),
            Op::Restart => self.subject.restart(),
            Op::Echo { which } => {
                if !self.said.is_empty() {
                    let (key, event) = self.said[which % self.said.len()].clone();
                    self.say(key, event);
                }
            }
        }
    }

    /// Says it to the subject, and holds the answer against the truth.
    #[allow(clippy::needless_pass_by_value)] // what is said is given away
    fn say(&mut self, key: usize, event: Event) -> EventReply {
        let id = id(key);
        let before = self.subject.stored(&id);
        let foretold = match &event {
            Event::Claim { fingerprint, idempotent, .. }
            | Event::Start { fingerprint, idempotent, .. } => {
                Some(self.subject.recall(&id, *fingerprint, *idempotent))
            }
            _ => None,
        };
        let answer = self.subject.apply(&id, event.clone());
        let after = self.subject.stored(&id);
        // Time does not go back within a record.
        let touched = [&before, &after].map(|record| record.as_ref().map(|record| record.touched));
        let now = touched.into_iter().flatten().fold(self.subject.now(), Moment::max);
        self.said.push((key, event.clone()));
        let needs = matches!(event, Event::Start { approval: Some(_), .. });
        let granted = matches!(answer, EventReply::Claimed { .. } | EventReply::Started { .. });
        match foretold {
            // Who needs no approval need not wait for one.
            Some(Some(EventReply::Waiting { .. })) if granted => {
                assert!(!needs, "nobody has decided");
            }
            Some(Some(EventReply::Waiting { .. })) if answer == EventReply::NotApproved => {
                assert!(needs);
            }
            Some(Some(foretold)) => assert_eq!(foretold, answer, "recall and claim agree"),
            Some(None) => {
                assert!(granted || needs && answer == EventReply::NotApproved, "{answer:?}");
            }
            None => {}
        }

        let rows = self.subject.transitions(&id);
        // 11: whoever is asked something new, and what that makes void, is told of.
        if event.name() == "ask" && has_grown(before.as_ref(), after.as_ref()) {
            let (row, after) = (rows.last().unwrap(), after.as_ref().unwrap());
            assert_eq!(
                (row.event.as_str(), row.fence),
                ("ask", after.fence),
                "asked without a row"
            );
        }
        // Another call of the same name, and a record that is used anew for it.
        let anew = event.name() == "ask"
            && key == KEYLESS
            && has_grown(before.as_ref(), after.as_ref())
            && rows.last().is_some_and(|row| {
                use StateKind::{Abandoned, Completed, Denied, Indeterminate, Open, Tombstone};
                [Open, Completed, Indeterminate, Tombstone, Abandoned, Denied].contains(&row.from)
            });
        let truth = self.truth.entry(key).or_default();
        if anew {
            *truth = Truth { fence: truth.fence, ..Truth::default() };
        } else if let Some(before) = &before
            && truth.forget_if_gone(before, after.as_ref(), now, &self.rules)
        {
            self.used[key] = 0;
        }
        let used = truth.used.len();
        truth.observe(&event, &answer, now, &self.rules);
        self.used[key] += truth.used.len() - used;
        the_audit_is_a_chain(&rows, after.as_ref());
        if after.is_some() {
            // Some stores tell of earlier records under the same key, too.
            let first = rows.iter().rposition(|row| row.from == StateKind::Absent).unwrap_or(0);
            each_start_that_used_an_approval_names_who_gave_it(&rows[first..], self.used[key]);
        }
        answer
    }
}

/// 11: each transition has its row, and the rows tell the whole way to where the record stands.
fn the_audit_is_a_chain(rows: &[Row], after: Option<&Record>) {
    let mut at = StateKind::Absent;
    for row in rows {
        assert_eq!(row.from, at, "a transition without a row");
        let asked_anew = row.event == "ask" && row.from == StateKind::Waiting;
        assert!(row.from != row.to || asked_anew, "a row without a transition: {row:?}");
        at = row.to;
    }
    assert_eq!(at, after.map_or(StateKind::Absent, |record| record.state.kind()));
}

/// 8, as the audit tells it: an approval, and right after it the one start that used it, with the same name on both.
fn each_start_that_used_an_approval_names_who_gave_it(rows: &[Row], used: usize) {
    let mut starts = 0;
    for pair in rows.windows(2) {
        let [given, start] = pair else { unreachable!() };
        if start.event == "start" && start.by.is_some() {
            assert_eq!((given.event.as_str(), given.to), ("decide", StateKind::Approved));
            assert_eq!((&given.by, given.via), (&start.by, start.via));
            assert!(start.fence > given.fence && start.via.is_some());
            starts += 1;
        }
    }
    assert_eq!(starts, used);
}

/// Whether a record has been given another fence.
fn has_grown(before: Option<&Record>, after: Option<&Record>) -> bool {
    before.zip(after).is_some_and(|(before, after)| after.fence > before.fence)
}

impl Truth {
    /// 12: what was started is not forgotten before its time, and what is not decided never. Whether it was forgotten.
    fn forget_if_gone(
        &mut self,
        before: &Record,
        after: Option<&Record>,
        now: Moment,
        rules: &LedgerLimits,
    ) -> bool {
        // Gone and claimed anew within one step shows in the time of its creation: a record's time does not go back.
        let anew = after.is_some_and(|after| after.created != before.created);
        if after.is_some() && !anew {
            return false;
        }
        let kind = before.state.kind();
        assert!(
            !matches!(
                kind,
                StateKind::Dispatched | StateKind::Suspended | StateKind::Indeterminate
            ),
            "{kind:?} was forgotten"
        );
        if before.attempt > 0 {
            let closed = self.closed.expect("what was started has ended somehow");
            assert!(
                now > closed.after(rules.retention).after(rules.tombstone),
                "forgotten too early"
            );
        }
        *self = Self::default();
        true
    }

    fn observe(&mut self, event: &Event, answer: &EventReply, now: Moment, rules: &LedgerLimits) {
        match (event, answer) {
            (
                Event::Claim { fingerprint, idempotent, .. },
                EventReply::Claimed { fence, attempt },
            ) => {
                self.claimed(*fingerprint, *idempotent, *fence, *attempt, now);
            }
            (
                Event::Ask { fingerprint, binding, asked, idempotent, .. },
                EventReply::Waiting { fence, since, until, asked: shown },
            ) => {
                let question =
                    RequestVersion { fence: *fence, fingerprint: *fingerprint, binding: *binding };
                if fence.0 == self.fence {
                    let gate = self.gate_in_force(now).expect("asked again what was never asked");
                    assert!(gate.said.is_none() && gate.question == question);
                    let first = (&gate.asked, gate.since, gate.until);
                    assert_eq!(first, (shown, *since, *until), "asked again in other words");
                    return;
                }
                self.fence_grows(*fence);
                assert!(self.may_start(*idempotent), "asked though it may have happened");
                if let Some(gate) = self.gate_in_force(now) {
                    assert_eq!(gate.question.fingerprint, *fingerprint, "another call's question");
                    assert!(!gate.is_denied(), "asked though denied");
                    assert_ne!(gate.question.binding, *binding, "8: a second prompt");
                }
                assert_eq!((shown, *since, *until), (asked, now, now.after(rules.approval_wait)));
                self.arguments = Some(*fingerprint);
                let (asked, since, until) = (Arc::clone(asked), *since, *until);
                self.gate = Some(Gate { question, asked, since, until, said: None });
            }
            (
                Event::Ask { fingerprint, binding, .. },
                EventReply::Approved { fence, by, via, until },
            ) => {
                let question =
                    RequestVersion { fence: *fence, fingerprint: *fingerprint, binding: *binding };
                let gate = self.gate_in_force(now).expect("approved by nobody");
                assert!(gate.is_approved() && gate.question == question && gate.until == *until);
                assert_eq!(gate.said.as_ref().map(|(by, via, _)| (*by, *via)), Some((&**by, *via)));
            }
            (Event::Ask { asked, .. }, EventReply::Refused(refusal)) => {
                let (len, most) = (asked.len() as u64, rules.max_outcome);
                assert_eq!(*refusal, EventError::TooLarge { len, most });
                assert!(len > most);
            }
            (Event::Decide { question, by, via, decision }, EventReply::Done) => {
                let gate = self.gate_in_force(now).expect("decided on nothing").clone();
                assert_eq!(gate.question, *question, "8: decided on something else");
                let said = (if by == "olga" { "olga" } else { "otto" }, *via, decision.clone());
                match &gate.said {
                    Some(first) => assert_eq!(*first, said, "8: decided twice"),
                    None => {
                        let lasts = match decision {
                            Review::Approve => rules.approval_valid,
                            Review::Deny { .. } => rules.denied,
                        };
                        let until = now.after(lasts);
                        self.gate = Some(Gate { said: Some(said), since: now, until, ..gate });
                    }
                }
            }
            (Event::Decide { question, .. }, EventReply::Refused(refusal)) => {
                let gate = self.gate_in_force(now);
                match refusal {
                    EventError::NotWaiting(_) => assert!(gate.is_none()),
                    EventError::AskedAnew => {
                        assert!(gate.is_some_and(|gate| gate.question != *question));
                    }
                    EventError::Decided { by, via, .. } => {
                        let said = gate.and_then(|gate| gate.said.as_ref());
                        assert_eq!(said.map(|(by, via, _)| (*by, *via)), Some((&**by, *via)));
                    }
                    other => panic!("{other:?} to a decision"),
                }
            }
            (
                Event::Start { fingerprint, owner, idempotent, approval },
                EventReply::Started { fence, attempt },
            ) => {
                // 8
                if let Some(needed) = approval {
                    let gate = self.gate_in_force(now).expect("started without an approval");
                    let question = gate.question;
                    assert!(gate.is_approved(), "started though nobody has approved");
                    assert_eq!((question.fingerprint, question.binding), (*fingerprint, *needed));
                    assert!(self.used.insert(question), "an approval was used twice");
                }
                self.claimed(*fingerprint, *idempotent, *fence, *attempt, now);
                self.started(Holder { owner: *owner, fence: *fence });
            }
            (Event::Resume { fence: asked, round, .. }, EventReply::Resumed { fence, .. }) => {
                self.fence_grows(*fence);
                assert!(self.answered.insert((*asked, *round)), "a question was answered twice");
                let Event::Resume { owner, .. } = event else { unreachable!() };
                self.witnesses.insert(Holder { owner: *owner, fence: *fence });
            }
            (Event::Start { fingerprint, approval: Some(needed), .. }, EventReply::NotApproved) => {
                let gate = self.gate_in_force(now);
                assert!(
                    !gate.is_some_and(|gate| {
                        let RequestVersion { fingerprint: asked, binding, .. } = gate.question;
                        !gate.is_denied() && (asked, binding) == (*fingerprint, *needed)
                    }),
                    "not approved, though it is or may yet be"
                );
            }
            (
                Event::Ask { fingerprint, .. }
                | Event::Claim { fingerprint, .. }
                | Event::Start { fingerprint, .. }
                | Event::Resume { fingerprint, .. },
                answer,
            ) => {
                self.refused(*fingerprint, answer, now, rules);
            }
            (Event::Dispatch(holder), EventReply::Done) => self.started(*holder),
            (
                Event::Heartbeat(holder) | Event::Release(holder) | Event::Unknown { holder, .. },
                EventReply::Done,
            )
            | (Event::Suspend { holder, .. }, EventReply::Suspended { .. }) => self.holds(*holder),
            (Event::Discard { holder, why }, EventReply::Done) => {
                self.holds(*holder);
                let last = self.starts.pop().expect("only what was started is discarded");
                assert!(
                    last || *why == RetryReason::NothingHappened,
                    "discarded though not harmless"
                );
                if last {
                    self.starts.push(last);
                }
                self.closed = Some(now);
            }
            (Event::Complete { holder, outcome }, EventReply::Done) => {
                self.holds(*holder);
                assert!(self.witnesses.contains(holder), "5: completed without a start");
                self.completes(outcome, now, rules);
            }
            (Event::Resolve { resolution, .. }, EventReply::Done) => match resolution {
                Resolution::Done(outcome) => {
                    assert!(self.outcome.is_none(), "2: resolved though known");
                    self.completes(outcome, now, rules);
                }
                Resolution::NotDone => {
                    assert!(!self.starts.is_empty());
                    self.starts.clear();
                    self.closed = Some(now);
                }
                Resolution::Abandon => self.closed = Some(now),
            },
            (Event::Sweep, EventReply::Done)
            | (Event::Resolve { .. } | Event::Discard { .. }, EventReply::Refused(_)) => {}
            (event, answer) => {
                assert_eq!(*answer, EventReply::Lost, "to {event:?}");
            }
        }
    }

    /// What a person was asked or has said, if its time has not passed.
    fn gate_in_force(&self, now: Moment) -> Option<&Gate> {
        self.gate.as_ref().filter(|gate| now <= gate.until)
    }

    fn claimed(
        &mut self,
        fingerprint: Fingerprint,
        idempotent: bool,
        fence: Fence,
        attempt: u32,
        now: Moment,
    ) {
        self.fence_grows(fence);
        assert!(!self.gate_in_force(now).is_some_and(Gate::is_denied), "claimed though denied");
        self.gate = None;
        // 1, 4
        assert!(self.may_start(idempotent), "claimed though it may have happened");
        if self.arguments.is_some() && !self.witnesses.is_empty() {
            assert_eq!(self.arguments, Some(fingerprint), "3: started with other arguments");
            assert!(attempt > 1);
        }
        self.arguments = Some(fingerprint);
        self.idempotent = idempotent;
    }

    fn started(&mut self, holder: Holder) {
        self.holds(holder);
        assert!(self.may_start(self.idempotent), "1: started twice");
        self.starts.push(self.idempotent);
        assert!(self.witnesses.insert(holder), "1: one claim, two starts");
        self.closed = None;
    }

    /// An answer that lets nothing start.
    fn refused(
        &mut self,
        asked: Fingerprint,
        answer: &EventReply,
        now: Moment,
        rules: &LedgerLimits,
    ) {
        match answer {
            EventReply::KeyReused => assert_ne!(self.arguments, Some(asked)),
            EventReply::Replay { outcome, .. } => {
                assert_eq!(self.arguments, Some(asked), "3: another call's outcome");
                assert_eq!(
                    self.outcome.as_ref(),
                    Some(outcome),
                    "2: another outcome than the first"
                );
            }
            // 7: nobody is told to wait for longer than a lease.
            EventReply::InFlight { retry_after, .. } => {
                assert!(*retry_after <= rules.lease);
                assert!(self.outcome.is_none());
            }
            EventReply::Suspended { until, .. } => {
                assert!(*until >= now && *until <= now.after(rules.suspended));
                assert!(self.outcome.is_none());
            }
            EventReply::OutcomeUnknown { .. } => {
                assert!(self.outcome.is_none() && !self.starts.is_empty(), "unknown though known");
            }
            EventReply::Expired { .. } | EventReply::Abandoned { .. } => {
                assert!(self.closed.is_some());
            }
            EventReply::Lost => {}
            EventReply::Waiting { fence, asked: shown, .. } => {
                let gate = self.gate_in_force(now).expect("waits though nobody is asked");
                assert!(gate.said.is_none() && gate.question.fingerprint == asked);
                assert_eq!((gate.question.fence, &gate.asked), (*fence, shown));
            }
            EventReply::Denied { by, via, until, reason } => {
                let gate = self.gate_in_force(now).expect("denied by nobody");
                assert!(gate.is_denied() && gate.until == *until);
                let decision = Review::Deny { reason: reason.clone() };
                assert_eq!(
                    gate.said.as_ref().map(|(by, via, said)| (*by, *via, said)),
                    Some((&**by, *via, &decision))
                );
            }
            other => panic!("{other:?} to a claim"),
        }
    }

    fn may_start(&self, idempotent: bool) -> bool {
        self.outcome.is_none()
            && (self.starts.is_empty() || (idempotent && self.starts.iter().all(|nature| *nature)))
    }

    fn completes(&mut self, outcome: &StoredResult, now: Moment, rules: &LedgerLimits) {
        let outcome = outcome.clone().within(rules.max_outcome);
        if let Some(first) = &self.outcome {
            assert_eq!(*first, outcome, "2: completed twice");
            return;
        }
        self.outcome = Some(outcome);
        self.closed = Some(now);
    }

    /// 6
    fn fence_grows(&mut self, fence: Fence) {
        assert!(fence.0 > self.fence, "the fence went back");
        self.fence = fence.0;
    }

    /// 6
    fn holds(&self, holder: Holder) {
        assert_eq!(holder.fence.0, self.fence, "a stale owner was heard");
    }
}
