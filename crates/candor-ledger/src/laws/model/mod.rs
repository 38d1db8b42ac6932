//! Random callers, reviewers, operators and clocks, and an observer who knows what really happened and checks every reply.

#[cfg(test)]
mod bare;
mod ops;
mod truth;

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::time::Duration;

use proptest::strategy::{Strategy as _, ValueTree};
use proptest::test_runner::{Config, TestRunner};

use self::ops::{ACTORS, KEYLESS, KEYS, Op, ops};
use self::truth::Truth;
use crate::laws::case::{Bench, Case, id, say};
use crate::laws::ensure::{Checked, Observation, Required};
use crate::{
    ApprovalChannel, Binding, Event, EventReply, Fence, Fingerprint, Holder, LedgerLimits, Moment,
    OutcomeKind, Owner, Quotas, Record, RecordId, RecordState, RequestVersion, Resolution, Review,
    Round, StateChange, StateKind, StoredResult, UnknownReason,
};

/// What is under test.
trait Subject {
    async fn apply(&mut self, id: &RecordId, event: Event) -> Checked<EventReply>;
    async fn recall(
        &mut self,
        id: &RecordId,
        fingerprint: Fingerprint,
        idempotent: bool,
    ) -> Checked<Option<EventReply>>;
    /// Returns the record as it is written, whatever time has changed since.
    async fn stored(&mut self, id: &RecordId) -> Checked<Option<Record>>;
    async fn transitions(&mut self, id: &RecordId) -> Checked<Vec<StateRow>>;
    fn now(&mut self) -> Moment;
    fn jump(&mut self, millis: i64);
    /// The process ends, and another one opens the ledger.
    async fn restart(&mut self) -> Checked;
}

/// A change of state, as an audit row has it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct StateRow {
    event: String,
    from: StateKind,
    to: StateKind,
    fence: Fence,
    by: Option<String>,
    via: Option<ApprovalChannel>,
}

impl Subject for Case<'_> {
    async fn apply(&mut self, id: &RecordId, event: Event) -> Checked<EventReply> {
        say(&*self.store, id, event).await
    }

    async fn recall(
        &mut self,
        id: &RecordId,
        fingerprint: Fingerprint,
        idempotent: bool,
    ) -> Checked<Option<EventReply>> {
        Ok(self.store.recall(id, fingerprint, idempotent).await?)
    }

    async fn stored(&mut self, id: &RecordId) -> Checked<Option<Record>> {
        Ok(self.store.find(id).await?.map(|entry| entry.stored))
    }

    async fn transitions(&mut self, id: &RecordId) -> Checked<Vec<StateRow>> {
        let mut rows = Vec::new();
        for row in self.store.transitions(id).await? {
            let StateChange { from, to, fence, .. } = row.change.required("change in the row")?;
            rows.push(StateRow { event: row.event, from, to, fence, by: row.by, via: row.via });
        }
        Ok(rows)
    }

    fn now(&mut self) -> Moment {
        Case::now(self)
    }

    fn jump(&mut self, millis: i64) {
        self.clock.fetch_add(millis, Ordering::SeqCst);
    }

    async fn restart(&mut self) -> Checked {
        self.reopen().await
    }
}

fn limits() -> LedgerLimits {
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

fn key(number: usize) -> RecordId {
    id(&format!("key-{number}"))
}

fn binding(policy: u8) -> Binding {
    Binding([policy; 32])
}

fn fingerprint(args: u8) -> Fingerprint {
    Fingerprint([args; 32])
}

pub(super) async fn random_events_keep_the_ledger_laws(bench: &Bench<'_>) -> Checked {
    let mut ledgers = 0_u32;
    let mut run = async |events: Vec<Op>| {
        ledgers += 1;
        let name = format!("{}_{ledgers}", bench.law);
        let case = &mut bench.open_as(name, limits()).await?;
        Model::new(case).run(&events).await
    };
    let mut runner = TestRunner::new(Config { failure_persistence: None, ..Config::default() });
    for _ in 0..bench.ledgers.cases() {
        let new = ops().new_tree(&mut runner);
        let mut tree = new.map_err(|reason| Observation::new(reason.to_string()))?;
        if let Err(seen) = run(tree.current()).await {
            return Err(smallest(&mut tree, seen, &mut run).await);
        }
    }
    Ok(())
}

/// Finds fewer events that show the same.
async fn smallest(
    tree: &mut impl ValueTree<Value = Vec<Op>>,
    seen: Observation,
    run: &mut impl AsyncFnMut(Vec<Op>) -> Checked,
) -> Observation {
    let mut smallest = (tree.current(), seen);
    let mut goes_on = tree.simplify();
    for _ in 0..SHRINKS {
        if !goes_on {
            break;
        }
        goes_on = match run(tree.current()).await {
            Ok(()) => tree.complicate(),
            Err(seen) => {
                smallest = (tree.current(), seen);
                tree.simplify()
            }
        };
    }
    let (events, seen) = smallest;
    Observation::new(format!("{} after {events:?}", seen.text()))
}

/// The maximum number of attempts to find fewer events.
const SHRINKS: usize = 200;

/// What a caller believes that it holds.
#[derive(Clone, Copy)]
struct HeldRecord {
    key: usize,
    holder: Holder,
}

struct Model<'a, S> {
    subject: &'a mut S,
    rules: LedgerLimits,
    actors: [Option<HeldRecord>; ACTORS],
    truth: BTreeMap<usize, Truth>,
    said: Vec<(usize, Event)>,
    drawn: u64,
    /// The number of approvals that were used under each key since its record was created.
    used: [usize; KEYS],
}

impl<'a, S: Subject> Model<'a, S> {
    fn new(subject: &'a mut S) -> Self {
        Self {
            subject,
            rules: limits(),
            actors: [None; ACTORS],
            truth: BTreeMap::new(),
            said: Vec::new(),
            drawn: 0,
            used: [0; KEYS],
        }
    }

    async fn run(&mut self, ops: &[Op]) -> Checked {
        for op in ops {
            self.act(op).await?;
        }
        // In the end, every record has an outcome or is known to have none: no state outlasts its time.
        self.subject.jump(100_000);
        for number in 0..KEYS {
            self.say(number, Event::Sweep).await?;
            let stored = self.subject.stored(&key(number)).await?.map(|record| record.state.kind());
            // A denial is stored as long as audit rows, and refuses nothing.
            let ended = [StateKind::Indeterminate, StateKind::Denied];
            ensure!(
                stored.is_none_or(|kind| ended.contains(&kind)),
                "a record is left as {stored:?}"
            );
        }
        Ok(())
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

    #[allow(clippy::too_many_lines)] // one arm for each act
    async fn act(&mut self, op: &Op) -> Checked {
        let held = |actor: usize| self.actors[actor];
        match *op {
            Op::Claim { actor, key, args, idempotent } => {
                let owner = self.draw();
                let event = Event::Claim { fingerprint: fingerprint(args), owner, idempotent };
                if let EventReply::Claimed { fence, .. } = self.say(key, event).await? {
                    self.actors[actor] = Some(HeldRecord { key, holder: Holder { owner, fence } });
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
                )
                .await?;
            }
            Op::Decide { key, older, other_policy, by, via, approve } => {
                let Some(record) = self.subject.stored(&self::key(key)).await? else {
                    return Ok(());
                };
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
                    Review::Deny { reason: Some(format!("{by} disagrees")) }
                };
                self.say(key, Event::Decide { question, by: by.into(), via, decision }).await?;
            }
            Op::Start { actor, key, args, idempotent, approval } => {
                let owner = self.draw();
                let (fingerprint, approval) = (fingerprint(args), approval.map(binding));
                let event = Event::Start { fingerprint, owner, idempotent, approval };
                if let EventReply::Started { fence, .. } = self.say(key, event).await? {
                    self.actors[actor] = Some(HeldRecord { key, holder: Holder { owner, fence } });
                }
            }
            Op::Resume { actor, key, older } => {
                let Some(Record { fence, state, fingerprint, .. }) =
                    self.subject.stored(&self::key(key)).await?
                else {
                    return Ok(());
                };
                let round = match state {
                    RecordState::Suspended { round, .. } => round,
                    _ => Round(0),
                };
                let fence = Fence(fence.0.saturating_sub(older));
                let owner = self.draw();
                let event = Event::Resume { fingerprint, fence, round, owner };
                if let EventReply::Resumed { fence, .. } = self.say(key, event).await? {
                    self.actors[actor] = Some(HeldRecord { key, holder: Holder { owner, fence } });
                }
            }
            Op::Dispatch { actor } => {
                if let Some(HeldRecord { key, holder }) = held(actor) {
                    self.say(key, Event::Dispatch(holder)).await?;
                }
            }
            Op::Heartbeat { actor } => {
                if let Some(HeldRecord { key, holder }) = held(actor) {
                    self.say(key, Event::Heartbeat(holder)).await?;
                }
            }
            Op::Release { actor } => {
                if let Some(HeldRecord { key, holder }) = held(actor) {
                    self.say(key, Event::Release(holder)).await?;
                }
            }
            Op::Suspend { actor } => {
                if let Some(HeldRecord { key, holder }) = held(actor) {
                    let asked = self.bytes(false);
                    self.say(key, Event::Suspend { holder, asked }).await?;
                }
            }
            Op::Complete { actor, large } => {
                if let Some(HeldRecord { key, holder }) = held(actor) {
                    let outcome = self.bytes(large);
                    self.say(key, Event::Complete { holder, outcome }).await?;
                }
            }
            Op::Unknown { actor } => {
                if let Some(HeldRecord { key, holder }) = held(actor) {
                    self.say(key, Event::Unknown { holder, reason: UnknownReason::Panicked })
                        .await?;
                }
            }
            Op::Discard { actor, why } => {
                if let Some(HeldRecord { key, holder }) = held(actor) {
                    self.say(key, Event::Discard { holder, why }).await?;
                }
            }
            Op::Crash { actor } => self.actors[actor] = None,
            Op::Resolve { key, how } => {
                let resolution = match how {
                    0 => Resolution::Done(self.bytes(false)),
                    1 => Resolution::NotDone,
                    _ => Resolution::Abandon,
                };
                self.say(key, Event::Resolve { by: "olga".into(), resolution }).await?;
            }
            Op::Sweep { key } => {
                self.say(key, Event::Sweep).await?;
            }
            Op::Jump { millis } => self.subject.jump(millis),
            Op::Restart => self.subject.restart().await?,
            Op::Echo { which } => {
                if !self.said.is_empty() {
                    let (key, event) = self.said[which % self.said.len()].clone();
                    self.say(key, event).await?;
                }
            }
        }
        Ok(())
    }

    /// Sends an event, and checks the reply against the truth.
    async fn say(&mut self, number: usize, event: Event) -> Checked<EventReply> {
        let id = key(number);
        let before = self.subject.stored(&id).await?;
        let recalled = match &event {
            Event::Claim { fingerprint, idempotent, .. }
            | Event::Start { fingerprint, idempotent, .. } => {
                Some(self.subject.recall(&id, *fingerprint, *idempotent).await?)
            }
            _ => None,
        };
        let answer = self.subject.apply(&id, event.clone()).await?;
        let after = self.subject.stored(&id).await?;
        // Time does not go back within a record.
        let touched = [&before, &after].map(|record| record.as_ref().map(|record| record.touched));
        let now = touched.into_iter().flatten().fold(self.subject.now(), Moment::max);
        self.said.push((number, event.clone()));
        let needs = matches!(event, Event::Start { approval: Some(_), .. });
        let granted = matches!(answer, EventReply::Claimed { .. } | EventReply::Started { .. });
        match recalled {
            // A call that needs no approval does not wait for one.
            Some(Some(EventReply::Waiting { .. })) if granted => {
                ensure!(!needs, "a start without a review");
            }
            Some(Some(EventReply::Waiting { .. })) if answer == EventReply::NotApproved => {
                ensure!(needs);
            }
            Some(Some(recalled)) => ensure_eq!(recalled, answer, "the claim after this recall"),
            Some(None) => {
                ensure!(granted || needs && answer == EventReply::NotApproved, "{answer:?}");
            }
            None => {}
        }

        let rows = self.subject.transitions(&id).await?;
        // A new request has a row, also if it replaces another.
        if event.name() == "ask" && has_grown(before.as_ref(), after.as_ref()) {
            let row = rows.last().required("row of the request")?;
            let after = after.as_ref().required("record of the request")?;
            ensure_eq!(
                (row.event.as_str(), row.fence),
                ("ask", after.fence),
                "the last row after a request"
            );
        }
        // Another call without a key, for which the record is used again.
        let anew = event.name() == "ask"
            && number == KEYLESS
            && has_grown(before.as_ref(), after.as_ref())
            && rows.last().is_some_and(|row| {
                use StateKind::{Abandoned, Completed, Denied, Indeterminate, Open, Tombstone};
                [Open, Completed, Indeterminate, Tombstone, Abandoned, Denied].contains(&row.from)
            });
        let truth = self.truth.entry(number).or_default();
        if anew {
            *truth = truth.of_another_call();
        } else if let Some(before) = &before
            && truth.forget_if_gone(before, after.as_ref(), now, &self.rules)?
        {
            self.used[number] = 0;
        }
        let used = truth.used.len();
        truth.observe(&event, &answer, now, &self.rules)?;
        self.used[number] += truth.used.len() - used;
        the_audit_is_a_chain(&rows, after.as_ref())?;
        if after.is_some() {
            // Some stores also list the rows of earlier records under the key.
            let first = rows.iter().rposition(|row| row.from == StateKind::Absent).unwrap_or(0);
            each_used_approval_is_in_the_audit(&rows[first..], self.used[number])?;
        }
        Ok(answer)
    }
}

/// Each transition has its row, and the rows lead to the state of the record.
fn the_audit_is_a_chain(rows: &[StateRow], after: Option<&Record>) -> Checked {
    let mut at = StateKind::Absent;
    for row in rows {
        ensure_eq!(row.from, at, "a transition without a row");
        let asked_anew = row.event == "ask" && row.from == StateKind::Waiting;
        ensure!(row.from != row.to || asked_anew, "a row without a transition: {row:?}");
        at = row.to;
    }
    ensure_eq!(at, after.map_or(StateKind::Absent, |record| record.state.kind()));
    Ok(())
}

/// Right after an approval comes the one start that used it, with the same name on both.
fn each_used_approval_is_in_the_audit(rows: &[StateRow], used: usize) -> Checked {
    let mut starts = 0;
    for pair in rows.windows(2) {
        let [given, start] = pair else { unreachable!() };
        if start.event == "start" && start.by.is_some() {
            ensure_eq!((given.event.as_str(), given.to), ("decide", StateKind::Approved));
            ensure_eq!((&given.by, given.via), (&start.by, start.via));
            ensure!(start.fence > given.fence && start.via.is_some());
            starts += 1;
        }
    }
    ensure_eq!(starts, used);
    Ok(())
}

/// Returns true if the record has another fence.
fn has_grown(before: Option<&Record>, after: Option<&Record>) -> bool {
    before.zip(after).is_some_and(|(before, after)| after.fence > before.fence)
}
