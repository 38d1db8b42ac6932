//! What one event writes: the record, what its principal then has, and the rows of the audit. Pure, and the same for all
//! stores: each reads two rows, plans, and writes what the plan says in the same transaction. A refusal comes before anything
//! is written.

use crate::audit::{AuditRow, Circumstances};
use crate::event::{Answer, Event, Resolution};
use crate::id::{Moment, RecordId};
use crate::machine::{After, step};
use crate::record::{Record, StateKind};
use crate::rules::{Quota, Rules, Usage};

pub(crate) struct Plan {
    pub(crate) answer: Answer,
    pub(crate) after: After,
    pub(crate) usage: Usage,
    pub(crate) rows: Vec<AuditRow>,
}

pub(crate) fn plan(
    id: &RecordId,
    before: Option<&Record>,
    usage: Usage,
    event: Event,
    circumstances: &Circumstances,
    now: Moment,
    rules: &Rules,
) -> Result<Plan, Quota> {
    let step = match outcome_limit(&event, usage, rules) {
        None => step(before, event, now, rules),
        Some(max_outcome) => step(before, event, now, &Rules { max_outcome, ..rules.clone() }),
    };
    let usage = match &step.after {
        After::Unchanged => usage,
        After::Written(record) => {
            if step.transitions.iter().any(|change| change.from == StateKind::Absent) {
                usage.admit(&rules.quotas, now)?;
            }
            usage.changed(before, Some(record), now)
        }
        After::Removed => usage.changed(before, None, now),
    };
    let rows = step
        .transitions
        .into_iter()
        .map(|transition| AuditRow::of_transition(id, now, transition, circumstances.clone()))
        .collect();
    Ok(Plan { answer: step.answer, after: step.after, usage, rows })
}

/// An outcome for which there is no room is left out, and never a reason to fail.
fn outcome_limit(event: &Event, usage: Usage, rules: &Rules) -> Option<u64> {
    let brings_one = matches!(
        event,
        Event::Complete { .. }
            | Event::Suspend { .. }
            | Event::Resolve { resolution: Resolution::Done(_), .. }
    );
    let room = rules.quotas.bytes.saturating_sub(usage.bytes);
    (brings_one && room < rules.max_outcome).then_some(room)
}
