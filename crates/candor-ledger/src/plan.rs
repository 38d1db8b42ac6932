//! What one event writes: the record, what its principal then has, and the rows of the audit. Pure, and the same for all
//! stores: each reads two rows, plans, and writes what the plan says in the same transaction. A refusal comes before anything
//! is written.

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
    /// How many questions wait then, for who plans several events before any is written.
    #[cfg_attr(not(feature = "postgres"), allow(dead_code))]
    pub(crate) waiting: u64,
    pub(crate) rows: Vec<AuditRow>,
}

/// `waiting`: how many questions of this principal wait for a person now. Only [`Event::Ask`] looks at it; others may say 0.
#[allow(clippy::too_many_arguments)] // each is another row, or another clock
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
            // Arguments for which there is no room are left out, and never a reason to refuse a call.
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
            // A record that was a tombstone and is used anew takes room again, too.
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
            // What time alone did before the event has no error.
            let error = error.clone().filter(|_| transition.event == name);
            let circumstances = AuditContext { error, arguments: None, ..circumstances.clone() };
            AuditRow::of_transition(id, now, transition, circumstances)
        })
        .collect();
    Ok(WritePlan { answer: step.answer, after: step.after, usage: after, waiting, rows })
}

/// Bytes of an error's code, and of its message, that are stored.
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

/// Whether the event itself, and not only time, changed the record.
fn has_changed(step: &Step, event: &str) -> bool {
    step.transitions.iter().any(|transition| transition.event == event)
}

/// 1 if it is a question that waits, and 0 if not.
fn waits(record: Option<&Record>, now: Moment) -> u64 {
    u64::from(record.is_some_and(
        |record| matches!(record.state, RecordState::Waiting { until, .. } if now <= until),
    ))
}

/// An outcome for which there is no room is left out, and never a reason to fail. A question for which there is none is not asked.
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
