//! What an operator says of a call of which nobody knows.

use super::Turn;
use crate::event::{Answer, Refusal, Resolution};
use crate::id::Moment;
use crate::record::{License, Record, State, StateKind};
use crate::rules::Rules;

pub(super) fn resolve(
    record: Option<&Record>,
    by: String,
    resolution: Resolution,
    now: Moment,
    rules: &Rules,
) -> Turn {
    let refused = |kind| Turn::stays(Answer::Refused(Refusal::NotUnknown(kind)));
    let Some(record) = record else { return refused(StateKind::Absent) };
    let State::Indeterminate { owner, .. } = &record.state else {
        return refused(record.state.kind());
    };
    let state = match resolution {
        Resolution::Done(outcome) => State::Completed {
            outcome: outcome.within(rules.max_outcome),
            completed: now,
            keep_until: now.after(rules.retention),
            resolved_by: Some(by),
        },
        Resolution::NotDone => State::Open {
            license: License::Operator { by, started_by: *owner },
            until: now.after(rules.retention),
        },
        Resolution::Abandon => {
            State::Abandoned { by, until: now.after(rules.retention).after(rules.tombstone) }
        }
    };
    // There will never be a result that they would explain.
    let closed = matches!(state, State::Abandoned { .. });
    let arguments = record.arguments.clone().filter(|_| !closed);
    Turn::becomes(Record { state, arguments, ..record.clone() }, Answer::Done)
}
