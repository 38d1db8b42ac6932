//! What time alone does.

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

/// `None`: nothing. `Some(None)`: the record is gone.
pub(super) fn lapse(record: &Record, now: Moment, rules: &Rules) -> Option<Option<Record>> {
    // Nothing is to be swept, or claimed, or lost, before its time has *passed*.
    if record.state.lapses().is_none_or(|due| now <= due) {
        return None;
    }
    let state = match &record.state {
        // Nothing had happened: as if it had not been claimed.
        State::Claimed { lease, license, .. } => unused(license, lease.after(rules.retention)),
        // Nobody has decided, or nobody has made use of it: as if nobody had been asked.
        State::Waiting { until, license, .. }
        | State::Approved { until, license, .. }
        | State::Denied { until, license, .. } => unused(license, until.after(rules.retention)),
        State::Dispatched { owner, lease, .. } => {
            State::Indeterminate { reason: Reason::LeaseEnded, since: *lease, owner: Some(*owner) }
        }
        State::Suspended { until, .. } => {
            State::Indeterminate { reason: Reason::NotResumed, since: *until, owner: None }
        }
        State::Completed { keep_until, .. } => {
            State::Tombstone { until: keep_until.after(rules.tombstone) }
        }
        // Never started: there is nothing to remember.
        State::Open { license: License::First, .. }
        | State::Tombstone { .. }
        | State::Abandoned { .. } => return Some(None),
        State::Open { until, .. } => State::Tombstone { until: until.after(rules.tombstone) },
        State::Indeterminate { .. } => return None,
    };
    let next = Record { state, ..record.clone() };
    // Long enough, and it has lapsed twice since somebody looked. Each kind lapses into one that is nearer to the end.
    Some(lapse(&next, now, rules).unwrap_or(Some(next)))
}
