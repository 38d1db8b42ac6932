//! Approval requests and decisions. A start (`claim`) uses an approval once.

use std::sync::Arc;

use super::{EventContext, claim, lapse};
use crate::event::{EventError, EventReply, Review};
use crate::id::{Binding, Fence, Fingerprint, Moment};
use crate::record::{ApprovalChannel, Record, RecordState, RequestVersion, StartReason, StateKind};
use crate::rules::LedgerLimits;

/// The fields of [`Event::Ask`](crate::Event::Ask).
pub(super) struct RequestDraft {
    pub(super) fingerprint: Fingerprint,
    pub(super) binding: Binding,
    pub(super) asked: Arc<[u8]>,
    pub(super) idempotent: bool,
    pub(super) keyless: bool,
}

/// Returns the reply to a call whose own request is pending or approved.
pub(super) fn told(record: &Record) -> Option<EventReply> {
    let fence = record.fence;
    match &record.state {
        RecordState::Waiting { asked, since, until, .. } => Some(EventReply::Waiting {
            fence,
            since: *since,
            until: *until,
            asked: Arc::clone(asked),
        }),
        RecordState::Approved { by, via, until, .. } => {
            Some(EventReply::Approved { fence, by: by.clone(), via: *via, until: *until })
        }
        _ => None,
    }
}

/// Returns true if another call of the same name may use the record. No owner holds it, and no request, approval or denial is
/// in force.
fn is_over(state: &RecordState, now: Moment) -> bool {
    match state {
        RecordState::Denied { until, .. } => now > *until,
        RecordState::Open { .. }
        | RecordState::Completed { .. }
        | RecordState::Indeterminate { .. }
        | RecordState::Tombstone { .. }
        | RecordState::Abandoned { .. } => true,
        RecordState::Waiting { .. }
        | RecordState::Approved { .. }
        | RecordState::Claimed { .. }
        | RecordState::Dispatched { .. }
        | RecordState::Suspended { .. } => false,
    }
}

pub(super) fn ask(
    record: Option<&Record>,
    ask: RequestDraft,
    now: Moment,
    rules: &LedgerLimits,
) -> EventContext {
    let RequestDraft { fingerprint, binding, asked, idempotent, keyless } = ask;
    let fence = record.map_or(Fence::FIRST, |record| record.fence.next());
    let over = record.filter(|record| keyless && is_over(&record.state, now));
    let (license, before) = match over {
        // Another call of the same name: only the fence of the last one counts.
        Some(over) if over.fingerprint == fingerprint => (StartReason::First, None),
        _ => match claim::license(record, fingerprint, idempotent, now) {
            Ok(license) => (license, record),
            Err(answer) => return EventContext::stays(answer),
        },
    };
    if let Some(record) = before
        && record.question().is_some_and(|question| question.binding == binding)
        && let Some(answer) = told(record)
    {
        return EventContext::stays(answer);
    }
    // The reviewer must see all of it. A result may be left out, because the call has already run.
    let len = asked.len() as u64;
    if len > rules.max_outcome {
        let refusal = EventError::TooLarge { len, most: rules.max_outcome };
        return EventContext::stays(EventReply::Refused(refusal));
    }
    let until = now.after(rules.approval_wait);
    let answer = EventReply::Waiting { fence, since: now, until, asked: Arc::clone(&asked) };
    let next = Record {
        fingerprint,
        fence,
        attempt: before.map_or(0, |record| record.attempt),
        idempotent,
        created: before.map_or(now, |record| record.created),
        touched: now,
        error: before.and_then(|record| record.error.clone()),
        arguments: None,
        state: RecordState::Waiting { asked, binding, since: now, until, license },
    };
    EventContext::becomes(next, answer)
}

pub(super) fn decide(
    record: Option<&Record>,
    question: RequestVersion,
    by: String,
    via: ApprovalChannel,
    decision: Review,
    now: Moment,
    rules: &LedgerLimits,
) -> EventContext {
    let refused = |refusal| EventContext::stays(EventReply::Refused(refusal));
    let Some(record) = record else { return refused(EventError::NotWaiting(StateKind::Absent)) };
    let stands = record.state.kind();
    if matches!(record.state, RecordState::Denied { until, .. } if now > until) {
        return refused(EventError::NotWaiting(stands));
    }
    match record.question() {
        None => return refused(EventError::NotWaiting(stands)),
        Some(asked) if asked != question => return refused(EventError::AskedAnew),
        Some(_) => {}
    }
    let state = match &record.state {
        RecordState::Waiting { binding, license, .. } => {
            let (binding, since, license) = (*binding, now, license.clone());
            match decision {
                Review::Approve => {
                    let until = now.after(rules.approval_valid);
                    RecordState::Approved { by, via, binding, since, until, license }
                }
                Review::Deny { reason } => {
                    let until = now.after(rules.denied);
                    let keep_until = lapse::denial_kept(&license, until, rules.retention);
                    RecordState::Denied {
                        by,
                        via,
                        reason,
                        binding,
                        since,
                        until,
                        keep_until,
                        license,
                    }
                }
            }
        }
        // A repeated decision, because the first reply was lost.
        RecordState::Approved { by: first, via: way, .. }
            if (first, *way) == (&by, via) && decision == Review::Approve =>
        {
            return EventContext::stays(EventReply::Done);
        }
        RecordState::Denied { by: first, via: way, reason, .. }
            if (first, *way) == (&by, via)
                && decision == (Review::Deny { reason: reason.clone() }) =>
        {
            return EventContext::stays(EventReply::Done);
        }
        RecordState::Approved { by, via, .. } | RecordState::Denied { by, via, .. } => {
            return refused(EventError::Decided { by: by.clone(), via: *via, stands });
        }
        _ => return refused(EventError::NotWaiting(stands)),
    };
    EventContext::becomes(Record { state, ..record.clone() }, EventReply::Done)
}
