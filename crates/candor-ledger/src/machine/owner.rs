//! What the owner of a claim says. Who does not hold the record changes nothing.

use super::Turn;
use super::lapse::unused;
use crate::event::{Answer, Harmless, Holder, Refusal};
use crate::id::{Moment, Owner};
use crate::outcome::Outcome;
use crate::record::{License, Reason, Record, State};
use crate::rules::Rules;

/// The record, if its last claim is this one.
fn of_claim(record: Option<&Record>, holder: Holder) -> Option<&Record> {
    record.filter(|record| record.fence == holder.fence)
}

fn written(record: &Record, state: State) -> Turn {
    Turn::becomes(Record { state, ..record.clone() }, Answer::Done)
}

pub(super) fn dispatch(
    record: Option<&Record>,
    holder: Holder,
    now: Moment,
    rules: &Rules,
) -> Turn {
    match of_claim(record, holder) {
        // A second dispatch of the same claim finds it dispatched, and is not licensed to start.
        Some(record) if matches!(record.state, State::Claimed { owner, .. } if owner == holder.owner) =>
        {
            let state = State::Dispatched {
                owner: holder.owner,
                lease: now.after(rules.lease),
                started: now,
                round: Default::default(),
            };
            let attempt = record.attempt + 1;
            let next = Record { attempt, error: None, state, ..record.clone() };
            Turn::becomes(next, Answer::Done)
        }
        _ => Turn::stays(Answer::Lost),
    }
}

pub(super) fn heartbeat(
    record: Option<&Record>,
    holder: Holder,
    now: Moment,
    rules: &Rules,
) -> Turn {
    let Some(record) = of_claim(record, holder) else { return Turn::stays(Answer::Lost) };
    let mut next = record.clone();
    match &mut next.state {
        State::Claimed { owner, lease, .. } | State::Dispatched { owner, lease, .. }
            if *owner == holder.owner =>
        {
            *lease = (*lease).max(now.after(rules.lease));
            Turn::becomes(next, Answer::Done)
        }
        _ => Turn::stays(Answer::Lost),
    }
}

pub(super) fn release(record: Option<&Record>, holder: Holder, now: Moment, rules: &Rules) -> Turn {
    let Some(record) = of_claim(record, holder) else { return Turn::stays(Answer::Lost) };
    match &record.state {
        State::Claimed { owner, license, .. } if *owner == holder.owner => {
            written(record, unused(license, now.after(rules.retention)))
        }
        _ => Turn::stays(Answer::Lost),
    }
}

pub(super) fn suspend(
    record: Option<&Record>,
    holder: Holder,
    asked: Outcome,
    now: Moment,
    rules: &Rules,
) -> Turn {
    let Some(record) = of_claim(record, holder) else { return Turn::stays(Answer::Lost) };
    match &record.state {
        State::Dispatched { owner, started, round, .. } if *owner == holder.owner => {
            let asked = asked.within(rules.max_outcome);
            let until = now.after(rules.suspended);
            let answer = Answer::Suspended {
                fence: record.fence,
                round: *round,
                asked: asked.clone(),
                until,
            };
            let state = State::Suspended { round: *round, asked, started: *started, until };
            Turn::becomes(Record { state, ..record.clone() }, answer)
        }
        _ => Turn::stays(Answer::Lost),
    }
}

/// Who has started the call under the record's fence and can still tell what came of it.
fn witness(record: &Record) -> Option<Owner> {
    match &record.state {
        State::Dispatched { owner, .. } => Some(*owner),
        // Late, but nobody has started it since: better known than unknown.
        State::Indeterminate { owner, .. }
        | State::Open { license: License::Operator { started_by: owner, .. }, .. } => *owner,
        _ => None,
    }
}

pub(super) fn complete(
    record: Option<&Record>,
    holder: Holder,
    outcome: Outcome,
    now: Moment,
    rules: &Rules,
) -> Turn {
    let Some(record) = of_claim(record, holder) else { return Turn::stays(Answer::Lost) };
    let outcome = outcome.within(rules.max_outcome);
    match &record.state {
        // Said twice, because the first answer was lost on the way.
        State::Completed { outcome: kept, resolved_by: None, .. } if *kept == outcome => {
            Turn::stays(Answer::Done)
        }
        _ if witness(record) == Some(holder.owner) => written(
            record,
            State::Completed {
                outcome,
                completed: now,
                keep_until: now.after(rules.retention),
                resolved_by: None,
            },
        ),
        _ => Turn::stays(Answer::Lost),
    }
}

pub(super) fn unknown(
    record: Option<&Record>,
    holder: Holder,
    reason: Reason,
    now: Moment,
) -> Turn {
    let Some(record) = of_claim(record, holder) else { return Turn::stays(Answer::Lost) };
    match &record.state {
        State::Dispatched { owner, .. } if *owner == holder.owner => {
            written(record, State::Indeterminate { reason, since: now, owner: Some(holder.owner) })
        }
        State::Indeterminate { owner, .. } if *owner == Some(holder.owner) => {
            Turn::stays(Answer::Done)
        }
        _ => Turn::stays(Answer::Lost),
    }
}

pub(super) fn discard(
    record: Option<&Record>,
    holder: Holder,
    why: Harmless,
    now: Moment,
    rules: &Rules,
) -> Turn {
    let Some(record) = of_claim(record, holder) else { return Turn::stays(Answer::Lost) };
    let theirs = match &record.state {
        State::Dispatched { owner, .. } => *owner == holder.owner,
        State::Indeterminate { owner, .. } => *owner == Some(holder.owner),
        _ => false,
    };
    let license = match why {
        _ if !theirs => return Turn::stays(Answer::Lost),
        Harmless::ByNature if !record.by_nature => {
            return Turn::stays(Answer::Refused(Refusal::NotByNature));
        }
        // Where nature licenses repetitions, an earlier start may have left something, even if this one did not.
        _ if record.by_nature => License::ByNature { reason: Reason::Failed, since: now },
        Harmless::ByNature | Harmless::NothingHappened => License::NothingHappened,
    };
    written(record, State::Open { license, until: now.after(rules.retention) })
}
