//! The state machine: a pure and total function, without a clock, randomness or a store.
//!
//! Every store uses it the same way. In one transaction, the store reads the record, calls [`step`], and writes the new
//! record and its [`Transition`]s. What time alone changes comes before every event, so no event acts on an outdated state.

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

/// The result of an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// The reply, to be sent when `after` is durable.
    pub answer: EventReply,
    /// What to write.
    pub after: RecordWrite,
    /// The changes of state: first by time, then by the event. Each becomes one audit row.
    pub transitions: Vec<Transition>,
}

/// What to write.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(clippy::large_enum_variant)] // most are the large variant, and a box would cost an allocation per event
pub enum RecordWrite {
    /// Nothing.
    Unchanged,
    /// This record, which replaces the stored one.
    Written(Record),
    /// The removal of the record.
    Removed,
}

/// One change of state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transition {
    /// The event's name, or `lapse` if time alone made the change.
    pub event: &'static str,
    /// The state before the change.
    pub from: StateKind,
    /// The state after the change.
    pub to: StateKind,
    /// The fence after the change.
    pub fence: Fence,
    /// The number of attempts after the change.
    pub attempt: u32,
    /// Why the outcome is unknown, if it is.
    pub reason: Option<UnknownReason>,
    /// The kind of the outcome, if any.
    pub outcome: Option<OutcomeKind>,
    /// The operator or reviewer that acted. For a start: the reviewer that approved it.
    pub by: Option<String>,
    /// The approval channel, for an approval, a denial, or a start that used an approval.
    pub via: Option<ApprovalChannel>,
    /// The reason for a denial, if given.
    pub why: Option<String>,
}

/// The effect of an event on a record, after what time alone changes.
struct EventContext {
    answer: EventReply,
    /// The new record, if it changes.
    next: Option<Record>,
    /// The reviewer and the channel of the approval that the event used up, if any.
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

/// Applies `event` to `record` at the time `now`.
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
        Event::Ask { fingerprint, binding, asked, idempotent, keyless } => {
            let ask = RequestDraft { fingerprint, binding, asked, idempotent, keyless };
            approval::ask(seen, ask, now, rules)
        }
        Event::Decide { question, by, via, decision } => {
            approval::decide(seen, question, by, via, decision, now, rules)
        }
        Event::Claim { fingerprint, owner, idempotent } => {
            let call = Call { fingerprint, idempotent, approval: None };
            claim::claim(seen, call, owner, now, rules)
        }
        Event::Start { fingerprint, owner, idempotent, approval } => {
            let call = Call { fingerprint, idempotent, approval };
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

/// Returns what a claim or a start would receive, without making it. `None` means that it would be granted, unless it needs
/// an approval that is missing. A pending approval request is always returned. A caller that then finds that the call no
/// longer needs approval may start it.
#[must_use]
pub fn recall(
    record: Option<&Record>,
    fingerprint: Fingerprint,
    idempotent: bool,
    now: Moment,
    rules: &LedgerLimits,
) -> Option<EventReply> {
    let now = not_before(record, now);
    let lapsed = record.and_then(|record| lapse::lapse(record, now, rules));
    let seen = match &lapsed {
        None => record,
        Some(lapsed) => lapsed.as_ref(),
    };
    claim::foretell(seen, fingerprint, idempotent, now)
}

/// Returns the record as it is now, with what time alone has changed, or `None` if it is gone. Writes nothing.
#[must_use]
pub fn seen(record: Record, now: Moment, rules: &LedgerLimits) -> Option<Record> {
    match lapse::lapse(&record, not_before(Some(&record), now), rules) {
        None => Some(record),
        Some(lapsed) => lapsed,
    }
}

/// Returns `now`, but not before the record's last write: time never goes back within a record.
fn not_before(record: Option<&Record>, now: Moment) -> Moment {
    record.map_or(now, |record| record.touched.max(now))
}

/// Returns the change of state, if there is one. A heartbeat is none: it keeps state and fence. A request that replaces
/// another is one: it has a new fence.
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
