//! What one event writes: the record, the usage of its principal, and the audit rows.
//!
//! Planning is pure and the same for all stores. Each store reads two rows, plans, and writes the plan in the same
//! transaction. A refusal comes before any write.

use std::sync::Arc;

use crate::audit::{AuditContext, AuditRow, CallError};
use crate::event::{Event, EventReply, Resolution};
use crate::id::{Moment, RecordId};
use crate::machine::{RecordWrite, Step, step};
use crate::record::{Record, RecordState, StateKind};
use crate::rules::{LedgerLimits, Quota, Usage};

pub(crate) struct WritePlan {
    pub(crate) answer: EventReply,
    pub(crate) after: RecordWrite,
    pub(crate) usage: Usage,
    /// The number of pending approval requests after the event, for a caller that plans several events before it writes any.
    #[cfg_attr(not(feature = "postgres"), allow(dead_code))]
    pub(crate) waiting: u64,
    pub(crate) rows: Vec<AuditRow>,
}

/// Plans the writes of one event. `waiting` is the number of this principal's pending approval requests. Only [`Event::Ask`]
/// reads it; for other events it may be 0.
#[allow(clippy::too_many_arguments)] // each is a separate input
pub(crate) fn plan(
    id: &RecordId,
    before: Option<&Record>,
    usage: Usage,
    waiting: u64,
    event: Event,
    circumstances: &AuditContext,
    now: Moment,
    rules: &LedgerLimits,
) -> Result<WritePlan, Quota> {
    let name = event.name();
    let mut step = match outcome_limit(&event, usage, rules) {
        None => step(before, event, now, rules),
        Some(max_outcome) => {
            step(before, event, now, &LedgerLimits { max_outcome, ..rules.clone() })
        }
    };
    let made = has_changed(&step, name);
    let error = circumstances.error.as_ref().filter(|_| made).map(within_limits);
    if let RecordWrite::Written(record) = &mut step.after
        && made
    {
        if matches!(name, "complete" | "discard") {
            record.error.clone_from(&error);
        }
        if let Some(arguments) = &circumstances.arguments
            && matches!(name, "ask" | "start")
        {
            record.arguments = None;
            let used = usage.changed(before, Some(record), now).bytes;
            let room = rules.quotas.bytes.saturating_sub(used).min(rules.max_outcome);
            // Arguments beyond the quota are left out. They are never a reason to refuse a call.
            if arguments.len() as u64 <= room {
                record.arguments = Some(Arc::clone(arguments));
            }
        }
    }
    let (after, waiting) = match &step.after {
        RecordWrite::Unchanged => (usage, waiting),
        RecordWrite::Written(record) => {
            let after = usage.changed(before, Some(record), now);
            let is_new = step.transitions.iter().any(|change| change.from == StateKind::Absent);
            // A tombstone that is used again counts as a record again.
            if is_new || after.records > usage.records {
                usage.admit(&rules.quotas, now)?;
            }
            let (waited, waits) = (waits(before, now), waits(Some(record), now));
            if waits > waited && waiting >= rules.quotas.waiting {
                return Err(Quota::Waiting { most: rules.quotas.waiting });
            }
            (after, (waiting + waits).saturating_sub(waited))
        }
        RecordWrite::Removed => {
            (usage.changed(before, None, now), waiting.saturating_sub(waits(before, now)))
        }
    };
    let rows = step
        .transitions
        .into_iter()
        .map(|transition| {
            // What time alone changed before the event has no error.
            let error = error.clone().filter(|_| transition.event == name);
            let circumstances = AuditContext { error, arguments: None, ..circumstances.clone() };
            AuditRow::of_transition(id, now, transition, circumstances)
        })
        .collect();
    Ok(WritePlan { answer: step.answer, after: step.after, usage: after, waiting, rows })
}

/// The number of bytes that are stored of an error's code, and of its message.
const LONGEST_CODE: usize = 64;
const LONGEST_MESSAGE: usize = 2048;

fn within_limits(error: &CallError) -> CallError {
    let cut = |text: &str, most: usize| {
        if text.len() <= most {
            return text.to_owned();
        }
        let end = (0..=most).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
        format!("{}…", &text[..end])
    };
    CallError {
        code: cut(&error.code, LONGEST_CODE),
        message: cut(&error.message, LONGEST_MESSAGE),
    }
}

/// Returns true if the event itself changed the record, and not only time.
fn has_changed(step: &Step, event: &str) -> bool {
    step.transitions.iter().any(|transition| transition.event == event)
}

/// Returns 1 if the record has a pending approval request, otherwise 0.
fn waits(record: Option<&Record>, now: Moment) -> u64 {
    u64::from(record.is_some_and(
        |record| matches!(record.state, RecordState::Waiting { until, .. } if now <= until),
    ))
}

/// Returns the size limit, if the quota leaves less than usual. A result beyond it is left out and does not fail the call. An
/// approval request beyond it is refused.
fn outcome_limit(event: &Event, usage: Usage, rules: &LedgerLimits) -> Option<u64> {
    let brings_one = matches!(
        event,
        Event::Ask { .. }
            | Event::Complete { .. }
            | Event::Suspend { .. }
            | Event::Resolve { resolution: Resolution::Done(_), .. }
    );
    let room = rules.quotas.bytes.saturating_sub(usage.bytes);
    (brings_one && room < rules.max_outcome).then_some(room)
}
