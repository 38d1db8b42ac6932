//! Events of the owner of a claim. An event of any other sender changes nothing.

use super::EventContext;
use super::lapse::unused;
use crate::event::{EventError, EventReply, Holder, RetryReason};
use crate::id::{Moment, Owner};
use crate::outcome::StoredResult;
use crate::record::{Record, RecordState, StartReason, UnknownReason};
use crate::rules::LedgerLimits;

/// Returns the record if its last claim is this one.
fn of_claim(record: Option<&Record>, holder: Holder) -> Option<&Record> {
    record.filter(|record| record.fence == holder.fence)
}

fn written(record: &Record, state: RecordState) -> EventContext {
    EventContext::becomes(Record { state, ..record.clone() }, EventReply::Done)
}

pub(super) fn dispatch(
    record: Option<&Record>,
    holder: Holder,
    now: Moment,
    rules: &LedgerLimits,
) -> EventContext {
    match of_claim(record, holder) {
        // A second dispatch of the same claim finds it dispatched, and must not start the call again.
        Some(record) if matches!(record.state, RecordState::Claimed { owner, .. } if owner == holder.owner) =>
        {
            let state = RecordState::Dispatched {
                owner: holder.owner,
                lease: now.after(rules.lease),
                started: now,
                round: Default::default(),
            };
            let attempt = record.attempt + 1;
            let next = Record { attempt, error: None, state, ..record.clone() };
            EventContext::becomes(next, EventReply::Done)
        }
        _ => EventContext::stays(EventReply::Lost),
    }
}

pub(super) fn heartbeat(
    record: Option<&Record>,
    holder: Holder,
    now: Moment,
    rules: &LedgerLimits,
) -> EventContext {
    let Some(record) = of_claim(record, holder) else {
        return EventContext::stays(EventReply::Lost);
    };
    let mut next = record.clone();
    match &mut next.state {
        RecordState::Claimed { owner, lease, .. }
        | RecordState::Dispatched { owner, lease, .. }
            if *owner == holder.owner =>
        {
            *lease = (*lease).max(now.after(rules.lease));
            EventContext::becomes(next, EventReply::Done)
        }
        _ => EventContext::stays(EventReply::Lost),
    }
}

pub(super) fn release(
    record: Option<&Record>,
    holder: Holder,
    now: Moment,
    rules: &LedgerLimits,
) -> EventContext {
    let Some(record) = of_claim(record, holder) else {
        return EventContext::stays(EventReply::Lost);
    };
    match &record.state {
        RecordState::Claimed { owner, license, .. } if *owner == holder.owner => {
            written(record, unused(license, now.after(rules.retention)))
        }
        _ => EventContext::stays(EventReply::Lost),
    }
}

pub(super) fn suspend(
    record: Option<&Record>,
    holder: Holder,
    asked: StoredResult,
    now: Moment,
    rules: &LedgerLimits,
) -> EventContext {
    let Some(record) = of_claim(record, holder) else {
        return EventContext::stays(EventReply::Lost);
    };
    match &record.state {
        RecordState::Dispatched { owner, started, round, .. } if *owner == holder.owner => {
            let asked = asked.within(rules.max_outcome);
            let until = now.after(rules.suspended);
            let answer = EventReply::Suspended {
                fence: record.fence,
                round: *round,
                asked: asked.clone(),
                until,
            };
            let state = RecordState::Suspended { round: *round, asked, started: *started, until };
            EventContext::becomes(Record { state, ..record.clone() }, answer)
        }
        _ => EventContext::stays(EventReply::Lost),
    }
}

/// Returns the owner that started the call under the record's fence and can still report its outcome.
fn witness(record: &Record) -> Option<Owner> {
    match &record.state {
        RecordState::Dispatched { owner, .. } => Some(*owner),
        // Late, but no attempt has started since, and a known outcome is better than an unknown one.
        RecordState::Indeterminate { owner, .. }
        | RecordState::Open { license: StartReason::Operator { started_by: owner, .. }, .. } => {
            *owner
        }
        _ => None,
    }
}

pub(super) fn complete(
    record: Option<&Record>,
    holder: Holder,
    outcome: StoredResult,
    now: Moment,
    rules: &LedgerLimits,
) -> EventContext {
    let Some(record) = of_claim(record, holder) else {
        return EventContext::stays(EventReply::Lost);
    };
    let outcome = outcome.within(rules.max_outcome);
    match &record.state {
        // A repeated report, because the first reply was lost.
        RecordState::Completed { outcome: kept, resolved_by: None, .. } if *kept == outcome => {
            EventContext::stays(EventReply::Done)
        }
        _ if witness(record) == Some(holder.owner) => written(
            record,
            RecordState::Completed {
                outcome,
                completed: now,
                keep_until: now.after(rules.retention),
                resolved_by: None,
            },
        ),
        _ => EventContext::stays(EventReply::Lost),
    }
}

pub(super) fn unknown(
    record: Option<&Record>,
    holder: Holder,
    reason: UnknownReason,
    now: Moment,
) -> EventContext {
    let Some(record) = of_claim(record, holder) else {
        return EventContext::stays(EventReply::Lost);
    };
    match &record.state {
        RecordState::Dispatched { owner, .. } if *owner == holder.owner => written(
            record,
            RecordState::Indeterminate { reason, since: now, owner: Some(holder.owner) },
        ),
        RecordState::Indeterminate { owner, .. } if *owner == Some(holder.owner) => {
            EventContext::stays(EventReply::Done)
        }
        _ => EventContext::stays(EventReply::Lost),
    }
}

pub(super) fn discard(
    record: Option<&Record>,
    holder: Holder,
    why: RetryReason,
    now: Moment,
    rules: &LedgerLimits,
) -> EventContext {
    let Some(record) = of_claim(record, holder) else {
        return EventContext::stays(EventReply::Lost);
    };
    let theirs = match &record.state {
        RecordState::Dispatched { owner, .. } => *owner == holder.owner,
        RecordState::Indeterminate { owner, .. } => *owner == Some(holder.owner),
        _ => false,
    };
    let license = match why {
        _ if !theirs => return EventContext::stays(EventReply::Lost),
        RetryReason::Idempotent if !record.idempotent => {
            return EventContext::stays(EventReply::Refused(EventError::NotByNature));
        }
        // If the call is safe to retry, an earlier attempt may have had an effect, even if this one had none.
        _ if record.idempotent => {
            StartReason::Idempotent { reason: UnknownReason::Failed, since: now }
        }
        RetryReason::Idempotent | RetryReason::NothingHappened => StartReason::NothingHappened,
    };
    written(record, RecordState::Open { license, until: now.after(rules.retention) })
}
