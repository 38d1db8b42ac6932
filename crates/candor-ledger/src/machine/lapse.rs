//! What time alone does.

use std::time::Duration;

use crate::id::Moment;
use crate::record::{License, Reason, Record, State};
use crate::rules::Rules;

/// Where a claim, or a question to a person, leaves its record when nothing was started under it: where it found it.
pub(super) fn unused(license: &License, until: Moment) -> State {
    match license {
        // An unknown outcome stays unknown until somebody knows, however often it was about to be repeated.
        License::ByNature { reason, since } if *reason != Reason::Failed => {
            State::Indeterminate { reason: *reason, since: *since, owner: None }
        }
        license => State::Open { license: license.clone(), until },
    }
}

/// When a record leaves the state of a denial, which history shows for longer than it refuses the call.
pub(super) fn denial_kept(license: &License, until: Moment, longer: Duration) -> Moment {
    match unused(license, until) {
        // An unknown outcome needs an operator, so the record returns to it without delay.
        State::Indeterminate { .. } => until,
        _ => until.after(longer),
    }
}

/// `None`: nothing. `Some(None)`: the record is gone.
pub(super) fn lapse(record: &Record, now: Moment, rules: &Rules) -> Option<Option<Record>> {
    // Nothing is to be swept, or claimed, or lost, before its time has *passed*.
    if record.state.lapses().is_none_or(|due| now <= due) {
        return None;
    }
    let mut arguments = record.arguments.clone();
    let state = match &record.state {
        // Nothing had happened: as if it had not been claimed.
        State::Claimed { lease, license, .. } => unused(license, lease.after(rules.retention)),
        // The request or the approval expired unused: restore the state before it.
        State::Waiting { until, license, .. } => {
            // Only arguments that a reviewer decided on, or that ran, are stored.
            arguments = arguments.filter(|_| record.attempt > 0);
            unused(license, until.after(rules.retention))
        }
        State::Approved { until, license, .. } => unused(license, until.after(rules.retention)),
        State::Denied { by, via, reason, binding, since, until, keep_until, license } => {
            arguments = None;
            let last = denial_kept(license, *until, rules.audit.max(rules.retention));
            if *keep_until < last {
                // First the arguments go, with the time of results; then the denial, with the time of audit rows.
                State::Denied {
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
        State::Dispatched { owner, lease, .. } => {
            State::Indeterminate { reason: Reason::LeaseEnded, since: *lease, owner: Some(*owner) }
        }
        State::Suspended { until, .. } => {
            State::Indeterminate { reason: Reason::NotResumed, since: *until, owner: None }
        }
        State::Completed { keep_until, .. } => {
            arguments = None;
            State::Tombstone { until: keep_until.after(rules.tombstone) }
        }
        // Never started: there is nothing to remember.
        State::Open { license: License::First, .. }
        | State::Tombstone { .. }
        | State::Abandoned { .. } => return Some(None),
        State::Open { until, .. } => {
            arguments = None;
            State::Tombstone { until: until.after(rules.tombstone) }
        }
        State::Indeterminate { .. } => return None,
    };
    let next = Record { state, arguments, ..record.clone() };
    // Long enough, and it has lapsed twice since somebody looked. Each kind lapses into one that is nearer to the end.
    Some(lapse(&next, now, rules).unwrap_or(Some(next)))
}
