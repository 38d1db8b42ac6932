//! The state machine: a pure and total function. No clock, no randomness, no store.
//!
//! Every store does the same with it: read the record, [`step`], write what comes after and its [`Transition`]s, all in
//! one transaction. What time alone does comes before every event, so a record is never older than it looks.

mod approval;
mod claim;
mod lapse;
mod operator;
mod owner;

use self::approval::RequestDraft;
use self::claim::Call;
use crate::event::{Event, EventReply};
use crate::id::{Fence, Fingerprint, Moment};
use crate::outcome::OutcomeKind;
use crate::record::{ApprovalChannel, Record, RecordState, StartReason, StateKind, UnknownReason};
use crate::rules::LedgerLimits;

/// What an event does to a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// What is answered, once `after` is durable.
    pub answer: EventReply,
    /// What is to be written.
    pub after: RecordWrite,
    /// What has changed: first by time, then by the event. Each becomes one row of the audit.
    pub transitions: Vec<Transition>,
}

/// What is to be written.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(clippy::large_enum_variant)] // mostly it is the large one, and a box would cost every event an allocation
pub enum RecordWrite {
    /// Nothing.
    Unchanged,
    /// This record, in the place of what was there.
    Written(Record),
    /// There is no record any more.
    Removed,
}

/// One change of state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transition {
    /// The event's name, or `lapse` if it was time alone.
    pub event: &'static str,
    /// Where it stood.
    pub from: StateKind,
    /// Where it stands.
    pub to: StateKind,
    /// The fence after it.
    pub fence: Fence,
    /// How often the call was started, after it.
    pub attempt: u32,
    /// Why nobody knows what came of it, if so.
    pub reason: Option<UnknownReason>,
    /// What sort of outcome it brought, if any.
    pub outcome: Option<OutcomeKind>,
    /// The person who did it, if one did; of a start, who has approved it.
    pub by: Option<String>,
    /// On which way that was said, if it was an approval or a denial.
    pub via: Option<ApprovalChannel>,
    /// Why it was denied, if they said so.
    pub why: Option<String>,
}

/// What an event makes of a record that time has done its work on.
struct EventContext {
    answer: EventReply,
    /// The record after it, if it changes.
    next: Option<Record>,
    /// Whose approval it has used up, if it has.
    approval: Option<(String, ApprovalChannel)>,
}

impl EventContext {
    fn stays(answer: EventReply) -> Self {
        Self { answer, next: None, approval: None }
    }

    fn becomes(next: Record, answer: EventReply) -> Self {
        Self { answer, next: Some(next), approval: None }
    }
}

/// What `event` does to `record`, now.
#[must_use]
pub fn step(record: Option<&Record>, event: Event, now: Moment, rules: &LedgerLimits) -> Step {
    let now = not_before(record, now);
    let lapsed = record.and_then(|record| lapse::lapse(record, now, rules));
    let seen = match &lapsed {
        None => record,
        Some(lapsed) => lapsed.as_ref(),
    };
    let mut transitions = Vec::new();
    if lapsed.is_some() {
        transitions.extend(transition("lapse", record, seen));
    }

    let name = event.name();
    let turn = match event {
        Event::Ask { fingerprint, binding, asked, by_nature, keyless } => {
            let ask = RequestDraft { fingerprint, binding, asked, by_nature, keyless };
            approval::ask(seen, ask, now, rules)
        }
        Event::Decide { question, by, via, decision } => {
            approval::decide(seen, question, by, via, decision, now, rules)
        }
        Event::Claim { fingerprint, owner, by_nature } => {
            let call = Call { fingerprint, by_nature, approval: None };
            claim::claim(seen, call, owner, now, rules)
        }
        Event::Start { fingerprint, owner, by_nature, approval } => {
            let call = Call { fingerprint, by_nature, approval };
            claim::start(seen, call, owner, now, rules)
        }
        Event::Resume { fingerprint, fence, round, owner } => {
            claim::resume(seen, fingerprint, fence, round, owner, now, rules)
        }
        Event::Dispatch(holder) => owner::dispatch(seen, holder, now, rules),
        Event::Heartbeat(holder) => owner::heartbeat(seen, holder, now, rules),
        Event::Release(holder) => owner::release(seen, holder, now, rules),
        Event::Suspend { holder, asked } => owner::suspend(seen, holder, asked, now, rules),
        Event::Complete { holder, outcome } => owner::complete(seen, holder, outcome, now, rules),
        Event::Unknown { holder, reason } => owner::unknown(seen, holder, reason, now),
        Event::Discard { holder, why } => owner::discard(seen, holder, why, now, rules),
        Event::Resolve { by, resolution } => operator::resolve(seen, by, resolution, now, rules),
        Event::Sweep => EventContext::stays(EventReply::Done),
    };
    if turn.next.is_some() {
        let mut changed = transition(name, seen, turn.next.as_ref());
        if let (Some(changed), Some((by, via))) = (&mut changed, turn.approval) {
            (changed.by, changed.via) = (Some(by), Some(via));
        }
        transitions.extend(changed);
    }

    let after = match (turn.next, lapsed) {
        (Some(next), _) | (None, Some(Some(next))) => {
            RecordWrite::Written(Record { touched: now, ..next })
        }
        (None, Some(None)) => RecordWrite::Removed,
        (None, None) => RecordWrite::Unchanged,
    };
    Step { answer: turn.answer, after, transitions }
}

/// What a claim or a start would be answered, without making it. `None`: it would be granted, unless it needs an approval that is not
/// there. A question that waits is always told: who then finds that the call needs no approval any more may start it nevertheless.
#[must_use]
pub fn recall(
    record: Option<&Record>,
    fingerprint: Fingerprint,
    by_nature: bool,
    now: Moment,
    rules: &LedgerLimits,
) -> Option<EventReply> {
    let now = not_before(record, now);
    let lapsed = record.and_then(|record| lapse::lapse(record, now, rules));
    let seen = match &lapsed {
        None => record,
        Some(lapsed) => lapsed.as_ref(),
    };
    claim::foretell(seen, fingerprint, by_nature, now)
}

/// The record as it is now, time having done its work; nothing is written.
#[must_use]
pub fn seen(record: Record, now: Moment, rules: &LedgerLimits) -> Option<Record> {
    match lapse::lapse(&record, not_before(Some(&record), now), rules) {
        None => Some(record),
        Some(lapsed) => lapsed,
    }
}

/// Time does not go back within a record.
fn not_before(record: Option<&Record>, now: Moment) -> Moment {
    record.map_or(now, |record| record.touched.max(now))
}

/// A heartbeat changes a record but not its state: it is no transition. A new question in the place of another is one.
fn transition(
    event: &'static str,
    before: Option<&Record>,
    after: Option<&Record>,
) -> Option<Transition> {
    let kind =
        |record: Option<&Record>| record.map_or(StateKind::Absent, |record| record.state.kind());
    let (from, to) = (kind(before), kind(after));
    let last = after.or(before)?;
    let mut transition = Transition {
        event,
        from,
        to,
        fence: last.fence,
        attempt: last.attempt,
        reason: None,
        outcome: None,
        by: None,
        via: None,
        why: None,
    };
    match after.map(|record| &record.state) {
        Some(RecordState::Completed { outcome, resolved_by, .. }) => {
            transition.outcome = Some(outcome.kind);
            transition.by.clone_from(resolved_by);
        }
        Some(RecordState::Indeterminate { reason, .. }) => transition.reason = Some(*reason),
        Some(RecordState::Open { license: StartReason::Operator { by, .. }, .. })
            if event == "resolve" =>
        {
            transition.by = Some(by.clone());
        }
        Some(RecordState::Abandoned { by, .. }) => transition.by = Some(by.clone()),
        Some(RecordState::Approved { by, via, .. }) => {
            (transition.by, transition.via) = (Some(by.clone()), Some(*via));
        }
        Some(RecordState::Denied { by, via, reason, .. }) => {
            (transition.by, transition.via) = (Some(by.clone()), Some(*via));
            transition.why.clone_from(reason);
        }
        _ => {}
    }
    let fence = |record: Option<&Record>| record.map(|record| record.fence);
    (from != to || fence(before) != fence(after)).then_some(transition)
}
