//! An operator's resolution of an unknown outcome.

use super::EventContext;
use crate::event::{EventError, EventReply, Resolution};
use crate::id::Moment;
use crate::record::{Record, RecordState, StartReason, StateKind};
use crate::rules::LedgerLimits;

pub(super) fn resolve(
    record: Option<&Record>,
    by: String,
    resolution: Resolution,
    now: Moment,
    rules: &LedgerLimits,
) -> EventContext {
    let refused = |kind| EventContext::stays(EventReply::Refused(EventError::NotUnknown(kind)));
    let Some(record) = record else { return refused(StateKind::Absent) };
    let RecordState::Indeterminate { owner, .. } = &record.state else {
        return refused(record.state.kind());
    };
    let state = match resolution {
        Resolution::Done(outcome) => RecordState::Completed {
            outcome: outcome.within(rules.max_outcome),
            completed: now,
            keep_until: now.after(rules.retention),
            resolved_by: Some(by),
        },
        Resolution::NotDone => RecordState::Open {
            license: StartReason::Operator { by, started_by: *owner },
            until: now.after(rules.retention),
        },
        Resolution::Abandon => {
            RecordState::Abandoned { by, until: now.after(rules.retention).after(rules.tombstone) }
        }
    };
    // There will never be a result that the arguments would explain.
    let closed = matches!(state, RecordState::Abandoned { .. });
    let arguments = record.arguments.clone().filter(|_| !closed);
    EventContext::becomes(Record { state, arguments, ..record.clone() }, EventReply::Done)
}
