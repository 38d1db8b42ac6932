//! What time alone does.

use std::time::Duration;

use crate::id::Moment;
use crate::record::{Record, RecordState, StartReason, UnknownReason};
use crate::rules::LedgerLimits;

/// Where a claim, or a question to a person, leaves its record when nothing was started under it: where it found it.
pub(super) fn unused(license: &StartReason, until: Moment) -> RecordState {
    match license {
        // An unknown outcome stays unknown until somebody knows, however often it was about to be repeated.
        StartReason::ByNature { reason, since } if *reason != UnknownReason::Failed => {
            RecordState::Indeterminate { reason: *reason, since: *since, owner: None }
        }
        license => RecordState::Open { license: license.clone(), until },
    }
}

/// When a record leaves the state of a denial, which history shows for longer than it refuses the call.
pub(super) fn denial_kept(license: &StartReason, until: Moment, longer: Duration) -> Moment {
    match unused(license, until) {
        // An unknown outcome needs an operator, so the record returns to it without delay.
        RecordState::Indeterminate { .. } => until,
        _ => until.after(longer),
    }
}

/// `None`: nothing. `Some(None)`: the record is gone.
pub(super) fn lapse(record: &Record, now: Moment, rules: &LedgerLimits) -> Option<Option<Record>> {
    // Nothing is to be swept, or claimed, or lost, before its time has *passed*.
    if record.state.lapses().is_none_or(|due| now <= due) {
        return None;
    }
    let mut arguments = record.arguments.clone();
    let state = match &record.state {
        // Nothing had happened: as if it had not been claimed.
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
                // First the arguments go, with the time of results; then the denial, with the time of audit rows.
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
        // Never started: there is nothing to remember.
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
    // Long enough, and it has lapsed twice since somebody looked. Each kind lapses into one that is nearer to the end.
    Some(lapse(&next, now, rules).unwrap_or(Some(next)))
}
