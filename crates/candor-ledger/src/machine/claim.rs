//! Incoming calls: the first one, a retry, or one that brings the answer to an input request.

use super::{EventContext, approval, owner};
use crate::event::{EventReply, Holder};
use crate::id::{Binding, Fence, Fingerprint, Moment, Owner};
use crate::record::{ApprovalChannel, Record, RecordState, Round, StartReason};
use crate::rules::LedgerLimits;

/// A call that asks to be claimed.
#[derive(Clone, Copy)]
pub(super) struct Call {
    pub(super) fingerprint: Fingerprint,
    pub(super) idempotent: bool,
    /// The binding that its approval must have, if it needs one.
    pub(super) approval: Option<Binding>,
}

/// Decides by the key alone, with or without an approval. Returns why the call may start, or the reply to it.
pub(super) fn license(
    record: Option<&Record>,
    fingerprint: Fingerprint,
    idempotent: bool,
    now: Moment,
) -> Result<StartReason, EventReply> {
    let Some(record) = record else { return Ok(StartReason::First) };
    let denial_ended = matches!(record.state, RecordState::Denied { until, .. } if now > until);
    // No owner holds the record and the call never ran, so the key belongs to no arguments yet.
    match record.state {
        RecordState::Open { license: StartReason::First, .. } => return Ok(StartReason::First),
        RecordState::Denied { license: StartReason::First, .. } if denial_ended => {
            return Ok(StartReason::First);
        }
        _ => {}
    }
    if record.fingerprint != fingerprint {
        return Err(EventReply::KeyReused);
    }
    let fence = record.fence;
    let in_flight = |since, lease| EventReply::InFlight {
        fence,
        state: record.state.kind(),
        since,
        retry_after: now.until(lease),
        silent_for: record.touched.until(now),
    };
    Err(match &record.state {
        // The earlier call was safe to retry, but this one is not. A reviewer who approved did so for a call that is safe to
        // retry.
        RecordState::Open { license: StartReason::Idempotent { reason, since }, .. }
        | RecordState::Waiting { license: StartReason::Idempotent { reason, since }, .. }
        | RecordState::Approved { license: StartReason::Idempotent { reason, since }, .. }
            if !idempotent =>
        {
            EventReply::OutcomeUnknown { reason: *reason, since: *since }
        }
        RecordState::Denied { license: StartReason::Idempotent { reason, since }, .. }
            if denial_ended && !idempotent =>
        {
            EventReply::OutcomeUnknown { reason: *reason, since: *since }
        }
        RecordState::Denied { license, .. } if denial_ended => return Ok(license.clone()),
        RecordState::Open { license, .. }
        | RecordState::Waiting { license, .. }
        | RecordState::Approved { license, .. } => return Ok(license.clone()),
        RecordState::Denied { by, via, reason, until, .. } => {
            EventReply::Denied { by: by.clone(), via: *via, reason: reason.clone(), until: *until }
        }
        RecordState::Claimed { lease, .. } => in_flight(record.created, *lease),
        RecordState::Dispatched { started, lease, .. } => in_flight(*started, *lease),
        RecordState::Suspended { round, asked, until, .. } => {
            EventReply::Suspended { fence, round: *round, asked: asked.clone(), until: *until }
        }
        RecordState::Completed { outcome, completed, resolved_by, .. } => EventReply::Replay {
            outcome: outcome.clone(),
            completed: *completed,
            attempt: record.attempt,
            resolved_by: resolved_by.clone(),
        },
        RecordState::Indeterminate { reason, since, .. } if record.idempotent && idempotent => {
            return Ok(StartReason::Idempotent { reason: *reason, since: *since });
        }
        RecordState::Indeterminate { reason, since, .. } => {
            EventReply::OutcomeUnknown { reason: *reason, since: *since }
        }
        RecordState::Tombstone { until } => EventReply::Expired { until: *until },
        RecordState::Abandoned { by, until } => {
            EventReply::Abandoned { by: by.clone(), until: *until }
        }
    })
}

/// Returns the reply to a call before it is known whether it needs an approval. `None` means that it may proceed.
pub(super) fn foretell(
    record: Option<&Record>,
    fingerprint: Fingerprint,
    idempotent: bool,
    now: Moment,
) -> Option<EventReply> {
    match license(record, fingerprint, idempotent, now) {
        Err(answer) => Some(answer),
        Ok(_) => record
            .filter(|record| matches!(record.state, RecordState::Waiting { .. }))
            .and_then(approval::told),
    }
}

/// Returns the reviewer and the channel of the approval that the call uses, if it needs one, or the reply to it.
fn approved(
    record: Option<&Record>,
    needed: Option<Binding>,
) -> Result<Option<(String, ApprovalChannel)>, EventReply> {
    let Some(needed) = needed else { return Ok(None) };
    match record.map(|record| (record, &record.state)) {
        Some((_, RecordState::Approved { by, via, binding, .. })) if *binding == needed => {
            Ok(Some((by.clone(), *via)))
        }
        Some((record, RecordState::Waiting { binding, .. })) if *binding == needed => {
            Err(approval::told(record).unwrap_or(EventReply::NotApproved))
        }
        _ => Err(EventReply::NotApproved),
    }
}

pub(super) fn claim(
    record: Option<&Record>,
    call: Call,
    owner: Owner,
    now: Moment,
    rules: &LedgerLimits,
) -> EventContext {
    let Call { fingerprint, idempotent, approval } = call;
    let granted = license(record, fingerprint, idempotent, now)
        .and_then(|license| Ok((license, approved(record, approval)?)));
    let (license, approval) = match granted {
        Ok(granted) => granted,
        Err(answer) => return EventContext::stays(answer),
    };
    let fence = record.map_or(Fence::FIRST, |record| record.fence.next());
    let attempt = record.map_or(0, |record| record.attempt);
    let same = record.filter(|record| record.fingerprint == fingerprint);
    let next = Record {
        fingerprint,
        fence,
        attempt,
        idempotent,
        created: record.map_or(now, |record| record.created),
        touched: now,
        error: same.and_then(|record| record.error.clone()),
        arguments: same.and_then(|record| record.arguments.clone()),
        state: RecordState::Claimed { owner, lease: now.after(rules.lease), license },
    };
    EventContext {
        approval,
        ..EventContext::becomes(next, EventReply::Claimed { fence, attempt: attempt + 1 })
    }
}

/// Claims and dispatches, with nothing in between.
pub(super) fn start(
    record: Option<&Record>,
    call: Call,
    owner: Owner,
    now: Moment,
    rules: &LedgerLimits,
) -> EventContext {
    let claimed = claim(record, call, owner, now, rules);
    let EventReply::Claimed { fence, attempt } = claimed.answer else { return claimed };
    let dispatched = owner::dispatch(claimed.next.as_ref(), Holder { owner, fence }, now, rules);
    let answer = EventReply::Started { fence, attempt };
    EventContext { answer, approval: claimed.approval, ..dispatched }
}

pub(super) fn resume(
    record: Option<&Record>,
    fingerprint: Fingerprint,
    asked_under: Fence,
    asked: Round,
    owner: Owner,
    now: Moment,
    rules: &LedgerLimits,
) -> EventContext {
    if let Some(record) = record
        && let RecordState::Suspended { round, started, .. } = &record.state
        && (record.fingerprint, record.fence, *round) == (fingerprint, asked_under, asked)
    {
        let fence = record.fence.next();
        let state = RecordState::Dispatched {
            owner,
            lease: now.after(rules.lease),
            started: *started,
            round: Round(round.0 + 1),
        };
        let answer = EventReply::Resumed { fence, attempt: record.attempt };
        return EventContext::becomes(Record { fence, state, ..record.clone() }, answer);
    }
    // The answer was sent twice, or too late. Its caller receives the state of the call, and nothing starts.
    EventContext::stays(foretell(record, fingerprint, false, now).unwrap_or(EventReply::Lost))
}
