//! What time alone changes.

use std::time::Duration;

use crate::id::Moment;
use crate::record::{Record, RecordState, StartReason, UnknownReason};
use crate::rules::LedgerLimits;

/// Returns the state that an unused claim or approval request restores: the one before it.
pub(super) fn unused(license: &StartReason, until: Moment) -> RecordState {
    match license {
        // An unknown outcome stays unknown, however many unused claims follow.
        StartReason::Idempotent { reason, since } if *reason != UnknownReason::Failed => {
            RecordState::Indeterminate { reason: *reason, since: *since, owner: None }
        }
        license => RecordState::Open { license: license.clone(), until },
    }
}

/// Returns when a denial leaves the record. History shows it for longer than it refuses the call.
pub(super) fn denial_kept(license: &StartReason, until: Moment, longer: Duration) -> Moment {
    match unused(license, until) {
        // An unknown outcome needs an operator, so the record returns to it without delay.
        RecordState::Indeterminate { .. } => until,
        _ => until.after(longer),
    }
}

/// Applies what time alone changes. Returns `None` if nothing changes, and `Some(None)` if the record is removed.
pub(super) fn lapse(record: &Record, now: Moment, rules: &LedgerLimits) -> Option<Option<Record>> {
    // A state lasts until its time has *passed*. Before that, nothing is swept, claimed or lost.
    if record.state.lapses().is_none_or(|due| now <= due) {
        return None;
    }
    let mut arguments = record.arguments.clone();
    let state = match &record.state {
        // Nothing was started: restore the state before the claim.
        RecordState::Claimed { lease, license, .. } => {
            unused(license, lease.after(rules.retention))
        }
        // The request or the approval expired unused: restore the state before it.
        RecordState::Waiting { until, license, .. } => {
            // Only arguments that a reviewer decided on, or that ran, are stored.
            arguments = arguments.filter(|_| record.attempt > 0);
            unused(license, until.after(rules.retention))
        }
        RecordState::Approved { until, license, .. } => {
            unused(license, until.after(rules.retention))
        }
        RecordState::Denied { by, via, reason, binding, since, until, keep_until, license } => {
            arguments = None;
            let last = denial_kept(license, *until, rules.audit.max(rules.retention));
            if *keep_until < last {
                // The arguments go first, when results expire. The denial goes later, when audit rows expire.
                RecordState::Denied {
                    by: by.clone(),
                    via: *via,
                    reason: reason.clone(),
                    binding: *binding,
                    since: *since,
                    until: *until,
                    keep_until: last,
                    license: license.clone(),
                }
            } else {
                unused(license, keep_until.after(rules.retention))
            }
        }
        RecordState::Dispatched { owner, lease, .. } => RecordState::Indeterminate {
            reason: UnknownReason::LeaseEnded,
            since: *lease,
            owner: Some(*owner),
        },
        RecordState::Suspended { until, .. } => RecordState::Indeterminate {
            reason: UnknownReason::NotResumed,
            since: *until,
            owner: None,
        },
        RecordState::Completed { keep_until, .. } => {
            arguments = None;
            RecordState::Tombstone { until: keep_until.after(rules.tombstone) }
        }
        // The call never started, or its key expired: nothing is left to store.
        RecordState::Open { license: StartReason::First, .. }
        | RecordState::Tombstone { .. }
        | RecordState::Abandoned { .. } => return Some(None),
        RecordState::Open { until, .. } => {
            arguments = None;
            RecordState::Tombstone { until: until.after(rules.tombstone) }
        }
        RecordState::Indeterminate { .. } => return None,
    };
    let next = Record { state, arguments, ..record.clone() };
    // A record may lapse several times between two reads. The recursion ends, because each state lapses into one closer to
    // removal.
    Some(lapse(&next, now, rules).unwrap_or(Some(next)))
}
