//! What one event writes: the audit rows, the record, and the usage of its principal. What a grant writes.
//!
//! Planning is pure and the same for all stores. Each store reads, plans, and writes the plan, all in the same transaction. A
//! refusal comes before any write.

use std::sync::Arc;

use crate::audit::{AuditContext, AuditRow, CallError};
use crate::event::{Event, EventReply, Resolution};
use crate::grant::{Grant, NewGrant};
use crate::id::{GrantId, Moment, RecordId};
use crate::machine::{RecordWrite, Step, step};
use crate::record::{Record, RecordState, StateKind};
use crate::rules::{LedgerLimits, Quota, Usage};

/// What a transaction has read for an event, under locks that last until the transaction ends.
#[derive(Debug, Clone, Copy)]
pub struct EventInput<'a> {
    /// The record as stored, if it exists. Not as it is now: the plan applies what time alone changes.
    pub record: Option<&'a Record>,
    /// What the principal uses.
    pub usage: Usage,
    /// The number of the principal's pending approval requests that have not expired. Only [`Event::Ask`] reads it. For other
    /// events it may be 0.
    pub pending: u64,
    /// The time on the store's clock, read in this transaction.
    pub now: Moment,
}

/// The writes of one event, and the reply to send once they are durable.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "an event has happened only when its writes are durable"]
pub struct WritePlan {
    /// What to write, in this order, in one transaction. Empty if the event changes nothing.
    pub writes: Vec<LedgerWrite>,
    /// The reply, to be sent when the transaction is durable.
    pub reply: EventReply,
    /// The number of the principal's pending approval requests after the event, for a store that plans several events before
    /// it writes any.
    pub pending: u64,
}

/// One write of an event.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(clippy::large_enum_variant)] // most plans have a row and a record, and a box would cost an allocation for each
pub enum LedgerWrite {
    /// Appends this audit row, and numbers it after all rows before it.
    Append(AuditRow),
    /// Stores this record under the event's id, in place of an earlier one.
    Put(Record),
    /// Removes the record under the event's id.
    Remove,
    /// Stores what the principal of the event's id uses.
    SetUsage(Usage),
}

impl WritePlan {
    /// Plans the writes of one event.
    ///
    /// # Errors
    /// Returns the limit that forbids the event. Then nothing is written.
    pub fn of(
        id: &RecordId,
        event: Event,
        context: &AuditContext,
        input: EventInput<'_>,
        limits: &LedgerLimits,
    ) -> Result<Self, Quota> {
        let EventInput { record: before, usage, pending, now } = input;
        let name = event.name();
        let mut step = match outcome_limit(&event, usage, limits) {
            None => step(before, event, now, limits),
            Some(max_outcome) => {
                step(before, event, now, &LedgerLimits { max_outcome, ..limits.clone() })
            }
        };
        let made = has_changed(&step, name);
        let error = context.error.as_ref().filter(|_| made).map(within_limits);
        if let RecordWrite::Written(record) = &mut step.after
            && made
        {
            if matches!(name, "complete" | "discard") {
                record.error.clone_from(&error);
            }
            if let Some(arguments) = &context.arguments
                && matches!(name, "ask" | "start")
            {
                record.arguments = None;
                let used = usage.changed(before, Some(record), now).bytes;
                let room = limits.quotas.bytes.saturating_sub(used).min(limits.max_outcome);
                // Arguments beyond the quota are left out. They are never a reason to refuse a call.
                if arguments.len() as u64 <= room {
                    record.arguments = Some(Arc::clone(arguments));
                }
            }
        }
        let (after, pending) = match &step.after {
            RecordWrite::Unchanged => (usage, pending),
            RecordWrite::Written(record) => {
                let after = usage.changed(before, Some(record), now);
                let is_new = step.transitions.iter().any(|change| change.from == StateKind::Absent);
                // A tombstone that is used again counts as a record again.
                if is_new || after.records > usage.records {
                    usage.admit(&limits.quotas, now)?;
                }
                let (waited, waits) = (waits(before, now), waits(Some(record), now));
                if waits > waited && pending >= limits.quotas.waiting {
                    return Err(Quota::Waiting { most: limits.quotas.waiting });
                }
                (after, (pending + waits).saturating_sub(waited))
            }
            RecordWrite::Removed => {
                (usage.changed(before, None, now), pending.saturating_sub(waits(before, now)))
            }
        };
        let mut writes: Vec<LedgerWrite> = step
            .transitions
            .into_iter()
            .map(|transition| {
                // What time alone changed before the event has no error.
                let error = error.clone().filter(|_| transition.event == name);
                let context = AuditContext { error, arguments: None, ..context.clone() };
                LedgerWrite::Append(AuditRow::of_transition(id, now, transition, context))
            })
            .collect();
        match step.after {
            RecordWrite::Unchanged => {}
            RecordWrite::Written(record) => writes.push(LedgerWrite::Put(record)),
            RecordWrite::Removed => writes.push(LedgerWrite::Remove),
        }
        if after != usage {
            writes.push(LedgerWrite::SetUsage(after));
        }
        Ok(Self { writes, reply: step.answer, pending })
    }
}

/// A grant that is given or revoked, and the audit row to write with it in one transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "a grant is given or revoked only when it is written"]
pub struct GrantPlan {
    /// The grant after the change, which is also the reply.
    pub grant: Grant,
    /// The audit row. `None` if nothing changes: then nothing is written.
    pub row: Option<AuditRow>,
}

impl GrantPlan {
    /// Plans a new grant. `stored` has the grants of the same scope; it may also have others, and such as have ended.
    ///
    /// # Errors
    /// Returns the limit that forbids another grant. Then nothing is written.
    pub fn give(
        id: GrantId,
        granting: NewGrant,
        stored: &[Grant],
        now: Moment,
        limits: &LedgerLimits,
    ) -> Result<Self, Quota> {
        let most = limits.quotas.grants;
        let in_force = |grant: &&Grant| grant.scope == granting.scope && grant.is_in_force(now);
        if stored.iter().filter(in_force).count() as u64 >= most {
            return Err(Quota::Grants { most });
        }
        let grant = Grant::new(id, granting, now);
        let row = AuditRow::of_grant("grant", &grant, &grant.by, now);
        Ok(Self { grant, row: Some(row) })
    }

    /// Plans the revocation of a stored grant. A grant that has ended stays as it is.
    pub fn revoke(mut grant: Grant, by: String, now: Moment) -> Self {
        if grant.revoked.is_some() || now > grant.until {
            return Self { grant, row: None };
        }
        let row = AuditRow::of_grant("revoke", &grant, &by, now);
        grant.revoked = Some((by, now));
        Self { grant, row: Some(row) }
    }
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
fn outcome_limit(event: &Event, usage: Usage, limits: &LedgerLimits) -> Option<u64> {
    let brings_one = matches!(
        event,
        Event::Ask { .. }
            | Event::Complete { .. }
            | Event::Suspend { .. }
            | Event::Resolve { resolution: Resolution::Done(_), .. }
    );
    let room = limits.quotas.bytes.saturating_sub(usage.bytes);
    (brings_one && room < limits.max_outcome).then_some(room)
}
